/* One training run of the playground.

   const run = new Training(space, settings, weights?)   `settings` are SETTINGS, or others of the same names; `weights` those of a
                                                         model trained elsewhere, which writes and is not trained
     .step()              one update; returns its loss
     .steps, .rate()      updates made so far, and the rate of the next
     .norms               of the gradient of each layer at the last update, { "encoder.0": … }
     .exactness()         a generator, so that others may run between its steps; it returns the share of unseen words of which
                          the model writes every letter
     .copied()            its parameters, { name: { shape, data } };  .as(copied, act)  acts with earlier ones
     .write(ids)          what it writes by itself for a word, and where it looked: { ids, weights: { path: rows of each head } } */

import { random } from "../../twin/random.js";
import { Adam } from "./adam.js";
import { BOS, EOS, PAD, TASKS, batch } from "./tasks.js";
import { Tape } from "./tape.js";
import { Seq2Seq } from "./recurrent.js";
import { Transformer } from "./transformer.js";

export const SETTINGS = {
  machine: "transformer", task: "reverse", shortest: 2, longest: 8,
  d_model: 32, d_ff: 64, n_heads: 2, n_layers: 1, norm: "post", positions: "sinusoidal",
  scale: true, residuals: true, feed_forward: true, causal: true, padding: true,
  updates: 1500, batch: 32, rate: 0.004, warmup: 50, smoothing: 0, seed: 0,
};
const LEAST = 0.02; // of the rate, at the end
const MOST = 24; // tokens that a model of an unknown task writes
const AT_ONCE = 50; // words written together

export class Training {
  steps = 0;

  constructor(space, settings, weights) {
    space.reset();
    this.settings = settings;
    this.task = TASKS[settings.task] ?? { size: settings.vocab_size, answer: () => Array(MOST).fill(PAD) };
    this.tape = new Tape(space);
    this.model = made(this.tape, { ...settings, vocab_size: this.task.size }, weights);
    this.adam = new Adam(space, this.model.parameters);
    space.keep();
    if (weights) return;
    this.draw = random(settings.seed + 1); // the words; the weights are drawn by another
    this.unseen = this.task.unseen(settings);
    this.kept = new Set(this.unseen.map(String));
  }

  /* Up in a warm-up, then down along a line. */
  rate() {
    const { rate, warmup, updates } = this.settings;
    const step = this.steps + 1;
    return rate * Math.min(1, step / warmup) * Math.max(LEAST, 1 - step / updates);
  }

  step() {
    const { tape, model, settings } = this;
    const given = batch(this.words(settings.batch), this.task);
    const loss = tape.crossEntropy(model.forward(given), given.out, { smoothing: settings.smoothing, skip: PAD });
    tape.back(loss);
    const told = loss.data[0];
    this.norms = norms(model.parameters);
    this.adam.step(this.rate());
    this.steps++;
    tape.clear();
    return told;
  }

  words(count) {
    const found = [];
    while (found.length < count) {
      const ids = this.task.draw(this.draw, this.settings);
      if (!this.kept.has(String(ids))) found.push(ids);
    }
    return found;
  }

  *exactness() {
    let right = 0;
    for (let at = 0; at < this.unseen.length; at += AT_ONCE) {
      right += this.settings.causal || this.settings.machine !== "transformer" ? this.foretold(this.unseen.slice(at, at + AT_ONCE)) : this.spelled(this.unseen.slice(at, at + AT_ONCE));
      yield;
    }
    return right / this.unseen.length;
  }

  /* How many words it writes correctly, letter after letter. */
  spelled(words) {
    const answers = words.map((ids) => String(this.task.answer(ids)));
    return this.greedy(words).filter((ids, i) => String(ids) === answers[i]).length;
  }

  /* The same in one pass: behind a causal mask, a model writes a word correctly exactly if it names each next letter of the right
     answer. Without the mask this would count what it copies from there. */
  foretold(words) {
    const given = batch(words, this.task);
    const { data } = this.model.forward(given);
    const wrong = (at) => given.out[at] !== PAD && given.out[at] !== best(data, at, this.task.size);
    const right = words.filter((_, i) => !range(given.n).some((k) => wrong(i * given.n + k)));
    this.tape.clear();
    return right.length;
  }

  copied() {
    return Object.fromEntries(Object.entries(this.model.parameters).map(([name, { shape, data }]) => [name, { shape, data: data.slice() }]));
  }

  as(copied, act) {
    const now = this.copied();
    const put = (kept) => Object.entries(this.model.parameters).forEach(([name, { data }]) => data.set(kept[name].data));
    put(copied);
    try {
      return act();
    } finally {
      put(now);
    }
  }

  write(ids) {
    const [written] = this.greedy([ids], (path, { data, shape }) => {
      const [n, m] = shape.slice(-2);
      const rows = Array.from({ length: data.length / m }, (_, i) => Array.from(data.subarray(i * m, (i + 1) * m)));
      return Array.from({ length: rows.length / n }, (_, head) => rows.slice(head * n, (head + 1) * n));
    });
    return { ids: written, weights: this.seen };
  }

  /* Each model's own next token is fed back to it, until <eos> or one token too many. */
  greedy(words, look) {
    const { tape, model } = this;
    const given = batch(words, this.task);
    const memory = model.encode(given);
    const { end } = tape.space;
    let rows = words.map(() => [BOS]);
    for (let n = 1; n <= given.n; n++) {
      tape.clear(end);
      const logits = model.decode({ ...given, tgt: rows.flat(), n }, memory);
      rows = rows.map((ids, i) => [...ids, best(logits.data, i * n + n - 1, this.task.size)]);
    }
    if (look) this.seen = Object.fromEntries(Object.entries(model.weights).map(([path, weights]) => [path, look(path, weights)]));
    tape.clear();
    return rows.map((ids) => until(ids.slice(1), EOS));
  }
}

/* The machine that a config names. */
export const made = (tape, config, weights) => new (config.machine && config.machine !== "transformer" ? Seq2Seq : Transformer)(tape, config, weights);

/* The length of the gradient of each layer; a GRU is one. */
export function norms(parameters) {
  const squares = {};
  for (const [name, { grad }] of Object.entries(parameters)) {
    const [, side, layer = 0] = name.match(/^(encoder|decoder)(?:\.(\d))?\./) ?? [];
    if (!side) continue;
    let sum = squares[`${side}.${layer}`] ?? 0;
    for (let i = 0; i < grad.length; i++) sum += grad[i] * grad[i];
    squares[`${side}.${layer}`] = sum;
  }
  return Object.fromEntries(Object.entries(squares).map(([layer, sum]) => [layer, Math.sqrt(sum)]));
}

const range = (n) => [...Array(n).keys()];
const until = (ids, end) => (ids.includes(end) ? ids.slice(0, ids.indexOf(end)) : ids);

function best(numbers, row, size) {
  let top = 0;
  for (let j = 1; j < size; j++) if (numbers[row * size + j] > numbers[row * size + top]) top = j;
  return top;
}

/* Decode one token at a time, as tfm_lib.decoding: greedily, by beam search, or by sampling. Each is a generator that pauses
   after every token with the output so far, so that a page stays responsive and an outdated search can be dropped.

   greedy(model, src, special, maxLen)              yields ids; returns the same
   beamSearch(model, src, special, {beam, alpha}, maxLen)  yields the Beam, and returns it: found, best first
   sample(model, src, special, {temperature, topP, seed}, maxLen)                                                    */

import { random } from "./random.js";
import { rowsOf } from "./transformer.js";

/* Logits of the next token; the source is encoded once. */
export class NextToken {
  constructor(model, src) {
    this.model = model;
    this.memory = model.encode(src);
    this.rows = [model.caches()];
  }

  /* Return the logits after `ids`, the newest token of each row. */
  after(ids) {
    const Y = this.model.decode(ids, this.memory, this.rows);
    return rowsOf(this.model.unembed(Y), this.model.config.vocab_size);
  }

  /* Continue with these rows, in that order; a row may occur twice. */
  select(rows) {
    this.rows = rows.map((row) => copied(this.rows[row]));
  }
}

export const copied = ({ read, layers }) => ({ read, layers: layers.map(({ K, V }) => ({ K: [...K], V: [...V] })) });

export const greedy = (model, src, special, maxLen) => written(model, src, special, maxLen, best);

export const sample = (model, src, special, how, maxLen) => written(model, src, special, maxLen, draws(how));

function* written(model, src, { bos, eos }, maxLen, choose) {
  const next = new NextToken(model, src);
  const ids = [];
  let newest = bos;
  while (ids.length < maxLen) {
    newest = choose(next.after([newest])[0]);
    if (newest === eos) break;
    ids.push(newest);
    yield ids;
  }
  return ids;
}

export const best = (logits) => logits.reduce((top, x, i) => (x > logits[top] ? i : top), 0);

/* A function from logits to a token that is drawn from them. */
export function draws({ temperature = 1, topP = 1, seed = 0 }) {
  const chance = random(seed);
  return (logits) => drawn(logits, temperature, topP, chance());
}

/* The token at quantile `u` of softmax(logits / temperature), truncated to the most probable tokens that hold `topP`. */
function drawn(logits, temperature, topP, u) {
  const kept = nucleus(probabilities(logits, temperature), topP);
  let rest = u * kept.reduce((total, [, p]) => total + p, 0);
  for (const [id, p] of kept) if ((rest -= p) < 0) return id;
  return kept.at(-1)[0];
}

/* Ids and probabilities, best first: the fewest that sum to `topP`. */
export function nucleus(p, topP) {
  const order = [...p.keys()].sort((a, b) => p[b] - p[a] || a - b);
  let held = 0;
  const cut = topP < 1 ? order.findIndex((id) => ((held += p[id]) - p[id] >= topP)) : -1;
  return (cut < 0 ? order : order.slice(0, cut)).map((id) => [id, p[id]]);
}

export function probabilities(logits, temperature = 1) {
  const top = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = Float64Array.from(logits, (x) => Math.exp((x - top) / temperature));
  const total = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / total);
}

/* The divisor of a hypothesis' log-probability; `length` counts <eos>. */
export const lengthPenalty = (length, alpha) => ((5 + length) / 6) ** alpha;

export function* beamSearch(model, src, { bos, eos }, { beam = 4, alpha = 0.6 }, maxLen) {
  const next = new NextToken(model, src);
  const search = new Beam(bos, eos, beam, alpha, maxLen);
  while (!search.isOver) {
    const parents = search.advance(next.after(search.newest).map((logits) => likeliest(logits, beam)));
    next.select(parents);
    yield search;
  }
  return search;
}

/* The `most` likeliest tokens with their log-probabilities, best first. */
export function likeliest(logits, most) {
  const found = [];
  let floor = -Infinity;
  for (let id = 0; id < logits.length; id++) {
    if (logits[id] <= floor) continue;
    let at = found.length;
    while (at > 0 && logits[found[at - 1]] < logits[id]) at--;
    found.splice(at, 0, id);
    if (found.length > most) found.pop();
    if (found.length === most) floor = logits[found.at(-1)];
  }
  const top = logits[found[0]];
  let total = 0;
  for (const x of logits) total += Math.exp(x - top);
  return found.map((token) => ({ token, logP: logits[token] - top - Math.log(total) }));
}

/* Beam search for one translation; `steps` records what each step kept, for a figure. */
export class Beam {
  constructor(bos, eos, beam, alpha, maxLen) {
    Object.assign(this, { bos, eos, beam, alpha, maxLen });
    this.length = 0;
    this.open = [{ ids: [], logP: 0, score: 0 }];
    this.finished = [];
    this.steps = [];
  }

  get newest() {
    return this.open.map(({ ids }) => ids.at(-1) ?? this.bos);
  }

  /* Keep the best of all continuations; ways[i] are those of open[i]. Returns the row that each open hypothesis continues. */
  advance(ways) {
    this.length++;
    const all = ways.flatMap((own, row) => own.map(({ token, logP }) => ({ row, token, logP: this.open[row].logP + logP })));
    all.sort((a, b) => b.logP - a.logP);
    const [grown, parents, kept] = [[], [], []];
    for (const { row, token, logP } of all.slice(0, this.beam)) {
      kept.push({ token, logP, from: this.places?.[row] ?? 0, ended: token === this.eos });
      const { ids } = this.open[row];
      const score = logP / lengthPenalty(this.length, this.alpha);
      if (token === this.eos) this.finished.push({ ids, logP, score });
      else {
        grown.push({ ids: [...ids, token], logP, score });
        parents.push(row);
      }
    }
    this.places = kept.flatMap(({ ended }, place) => (ended ? [] : [place])); // indices of the open hypotheses among all that were kept
    this.steps.push(kept);
    this.open = grown;
    this.finished.sort((a, b) => b.score - a.score);
    return parents;
  }

  get isOver() {
    if (!this.open.length || this.length === this.maxLen) return true;
    const ceiling = this.open[0].logP / lengthPenalty(this.maxLen, this.alpha);
    return this.finished.length > 0 && ceiling <= this.finished[0].score;
  }

  get found() {
    return this.finished.length ? this.finished.slice(0, this.beam) : this.open;
  }
}

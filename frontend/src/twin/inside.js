/* Views of the model's internals for a sentence; see views.js. Numbers are not rounded.

   heads {}                     weights, src_tokens and tgt_tokens of Heads
   ablation { off }             own of HeadAblation: the greedy translations of the whole model, and of the model without the heads `off`
   follow { numbers, shapes }   the traits of FollowToken, as tfm_lib.widgets.transformer.follow; `shapes` are its templates     */

import { asRead } from "../kit/as_read.js";
import { likeliest } from "./decoding.js";
import { rowsOf } from "./transformer.js";

const BEAM = { by: "beam", beam: 4, alpha: 0.6 };
const [TOLD, SPECIAL] = [4, ["<pad>", "<bos>", "<eos>", "<unk>"]];

const plain = (piece) => piece.replaceAll("▁", "") || "␣";
const lists = (rows) => rows.map((row) => [...row]);

/* The queries are the decoder's input words, <bos> first. */
export function* heads(translator, _, { sentence }) {
  const { source, target, weights } = yield* translator.translate(sentence, BEAM);
  if (!target.length) return null;
  const kinds = Object.entries(weights).map(([kind, layers]) => [kind, layers.map((layer) => layer.map(lists))]);
  return { src_tokens: source.map(plain), tgt_tokens: ["<bos>", ...target.slice(0, -1).map(plain)], weights: Object.fromEntries(kinds) };
}

export function* ablation(translator, _, { sentence, off }) {
  const greedily = (broken) => translator.translate(sentence, { by: "greedy" }, broken);
  const whole = yield* greedily();
  const left = off.length ? yield* greedily({ heads: new Set(off) }) : whole;
  return whole.target.length ? { own: [whole.translation, left.translation] } : null;
}

export function* follow(translator, src, { sentence, numbers, shapes }) {
  const { model, tokenizer } = translator;
  const { ids } = yield* translator.translate(sentence, BEAM);
  if (!ids) return null;
  const tgt = [tokenizer.bos, ...ids];
  const seen = new Map();
  const note = (name, value) => seen.set(name, value);
  model.broken = {};
  const logits = model.unembed(model.decode(tgt, model.encode(src, note), undefined, note));
  yield;
  const pieces = [...src, ...tgt].filter((id) => id >= SPECIAL.length).map(tokenizer.piece);
  const read = (id) => SPECIAL[id] ?? asRead(tokenizer.piece(id), pieces);
  const up = new Stages(model, seen, shapes);
  const [encoder, decoder] = [up.of("encoder", src), up.of("decoder", tgt)];
  decoder.push(up.last(logits));
  const told = (ways, share) => ways.map(({ token, logP }) => [read(token), share(logP)]);
  const nearest = near(model);
  for (const stage of encoder) {
    stage.says = nearest(stage.state).map((row) => told(top(row), (x) => x));
    yield;
  }
  for (const stage of decoder) {
    const normed = stage.name === "last norm" ? stage.state : stage.name === "logits" ? null : model.decoderNorm(stage.state);
    const rows = rowsOf(normed ? model.unembed(normed) : stage.state, model.config.vocab_size);
    stage.says = rows.map((row) => told(likeliest(row, TOLD), Math.exp));
    yield;
  }
  const [src_tokens, tgt_tokens] = [src.map(read), tgt.map(read)];
  const carried = (stage) => shown(stage, numbers, model.config);
  return { src_tokens, tgt_tokens, encoder: encoder.map(carried), decoder: decoder.map(carried) };
}

/* The output of each stage, as tfm_lib.widgets.transformer.Stage: state, what was added to it, weights, active units. */
class Stages {
  constructor(model, seen, shapes) {
    Object.assign(this, { model, seen, shapes });
  }

  of(side, ids) {
    const { model, seen, shapes } = this;
    const { d_model, norm } = model.config;
    const rows = new Float32Array(ids.length * d_model);
    ids.forEach((id, i) => rows.set(model.products.row(model.tokens, id).map((x) => x * Math.sqrt(d_model)), i * d_model));
    const whole = shape(1, ids.length, d_model);
    const X = model.embed(ids, [...ids.keys()]);
    const stages = [
      { name: "embedding", layer: 0, state: rows, shapes: filled(shapes.ids, { ids: shape(1, ids.length), d_model, rows: whole }) },
      { name: "+ position", layer: 0, state: X, added: minus(X, rows), shapes: `${whole} + PE → ${whole}` },
    ];
    const names = side === "encoder" ? ["self-attention", "feed-forward"] : ["masked self-attention", "cross-attention", "feed-forward"];
    model[side].forEach((_, l) => names.forEach((name, k) => stages.push(this.#climbed(`${side}.${l}`, name, k, stages.at(-1).state, whole))));
    if (norm === "pre") stages.push({ name: "last norm", layer: 0, state: seen.get(`${side}_norm.output`), shapes: `${whole} → ${whole}` });
    return stages;
  }

  #climbed(path, name, k, before, whole) {
    const { d_model, d_ff, n_heads, norm } = this.model.config;
    const sublayer = `${path}.${name.replace("masked ", "").replace("-", "_")}`;
    const [added, weights, hidden] = ["output", "weights", "hidden"].map((part) => this.seen.get(`${sublayer}.${part}`));
    const state = norm === "post" ? this.seen.get(`${path}.residuals.${k}.norm.output`) : before.map((x, i) => x + added[i]);
    const stage = { name, layer: Number(path.split(".")[1]) + 1, state, added };
    const n = state.length / d_model;
    if (!weights) {
      const active = rowsOf(hidden, d_ff).map((row) => row.filter((x) => x > 0).length);
      return { ...stage, active, shapes: `${whole} → ${shape(1, n, d_ff)} → ${whole}` };
    }
    const m = weights[0][0].length;
    const [Q, K] = [n, m].map((rows) => shape(1, n_heads, rows, d_model / n_heads));
    return { ...stage, weights, shapes: filled(this.shapes.heads, { Q, K, weights: shape(1, n_heads, n, m), whole }) };
  }

  last(logits) {
    const { d_model, vocab_size } = this.model.config;
    const n = logits.length / vocab_size;
    return { name: "logits", layer: 0, state: logits, shapes: `${shape(1, n, d_model)} · Eᵀ → ${shape(1, n, vocab_size)}` };
  }
}

const shape = (...sizes) => `(${sizes.join(", ")})`;
const filled = (template, values) => template.replace(/{(\w+)}/g, (_, name) => values[name]);
const minus = (X, Y) => X.map((x, i) => x - Y[i]);
const lengthOf = (row) => Math.sqrt(row.reduce((total, x) => total + x * x, 0));

/* Cosines of each row with the embedding of every token. */
function near({ config: { d_model, vocab_size }, products, tokens }) {
  const lengths = Float32Array.from({ length: vocab_size }, (_, id) => lengthOf(products.row(tokens, id)));
  return (X) => rowsOf(products.linear(X, tokens), vocab_size).map((row, i) => {
    const own = lengthOf(X.subarray(i * d_model, (i + 1) * d_model));
    return row.map((x, id) => x / own / lengths[id]);
  });
}

/* The tokens with the largest values. */
const top = (row) => likeliest(row, TOLD).map(({ token }) => ({ token, logP: row[token] }));

/* The data of a stage that the widget draws. */
function shown({ name, layer, shapes, state, added, weights = [], active = [], says }, numbers, { d_model, vocab_size }) {
  const isLogits = name === "logits";
  const rows = rowsOf(state, isLogits ? vocab_size : d_model).map((row) => (isLogits ? row.slice().sort().reverse() : row));
  const changes = added ? rowsOf(added, d_model) : [];
  const few = (them) => lists(them.map((row) => row.subarray(0, numbers)));
  return {
    name, layer, shapes, says, active,
    vectors: few(rows), added: few(changes), added_lengths: changes.map(lengthOf), lengths: isLogits ? [] : rows.map(lengthOf),
    weights: weights.map(lists),
  };
}

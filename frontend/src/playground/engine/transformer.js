/* The Transformer on a tape, as tfm_lib.transformer, .layers and .multihead; names and shapes of the weights are the library's.

   new Transformer(tape, config, weights?)      `weights` are { name: numbers }; without them they are drawn, by config.seed
     .parameters                                { name: value }
     .forward(batch)                            logits (batch, n, v); what attention weighed is in .weights, { path: value }
     .encode(batch), .decode(batch, memory)     its two halves
   A batch is { size, src, m, tgt, n, pad }: ids row by row, m of each source and n of each target.
   A config is { vocab_size, d_model, n_heads, d_ff, n_layers, seed } with these switches, each of which may be left out:
     norm: "pre", "post" or "none"              positions: "sinusoidal", "learned", "rotary" or "none"
     scale, residuals, feed_forward, causal, padding: false switches √d_k, the residual connections … off                     */

import { Machine } from "./machine.js";

const LONGEST = 64; // positions that are learned

export class Transformer extends Machine {
  constructor(tape, config, weights) {
    super(tape, { norm: "pre", positions: "sinusoidal", scale: true, residuals: true, feed_forward: true, causal: true, padding: true, ...config }, weights);
    const { vocab_size, d_model, n_layers, positions, norm } = this.config;
    this.tokens = this.parameter("embedding.tokens.weight", [vocab_size, d_model], () => this.normal() / Math.sqrt(d_model));
    if (positions === "learned") this.places = this.parameter("embedding.places.weight", [LONGEST, d_model], () => this.normal() / Math.sqrt(d_model));
    const stack = (side, make) => Array.from({ length: n_layers }, (_, i) => make(`${side}.${i}`));
    this.encoder = stack("encoder", (path) => new EncoderLayer(this, path));
    this.decoder = stack("decoder", (path) => new DecoderLayer(this, path));
    [this.encoderNorm, this.decoderNorm] = ["encoder_norm", "decoder_norm"].map((path) => (norm === "pre" ? layerNorm(this, path) : same));
  }

  encode({ size, src, m, pad }) {
    const hidden = this.config.padding ? mask(size, m, m, (b, _, j) => src[b * m + j] === pad) : undefined;
    let X = this.embed(src, [size, m]);
    for (const layer of this.encoder) X = layer.forward(X, hidden);
    return this.encoderNorm(X);
  }

  decode({ size, src, m, tgt, n, pad }, memory) {
    const { tape, config: { vocab_size, causal, padding } } = this;
    const later = causal ? mask(size, n, n, (_, i, j) => j > i) : undefined;
    const hidden = padding ? mask(size, n, m, (b, _, j) => src[b * m + j] === pad) : undefined;
    let Y = this.embed(tgt, [size, n]);
    for (const layer of this.decoder) Y = layer.forward(Y, memory, later, hidden);
    Y = this.decoderNorm(Y);
    return tape.product(Y, this.tokens, { transposed: true }); // (batch, n, v)
  }

  /* Token embeddings times √d_model, plus positions. */
  embed(ids, [size, n]) {
    const { tape, config: { d_model, positions } } = this;
    const X = tape.scale(tape.gather(this.tokens, ids, [size, n]), Math.sqrt(d_model));
    if (positions === "learned") return tape.add(X, tape.gather(this.places, [...Array(n).keys()], [n]));
    return positions === "sinusoidal" ? tape.add(X, tape.value([n, d_model], waves(n, d_model))) : X;
  }

  /* xWᵀ + b, with W (outputs, inputs) drawn as Xavier and Glorot did. */
  linear(path, inputs, outputs) {
    const most = Math.sqrt(6 / (inputs + outputs));
    const W = this.parameter(`${path}.weight`, [outputs, inputs], () => most * (2 * this.draw() - 1));
    const b = this.parameter(`${path}.bias`, [outputs], () => 0);
    return (X) => this.tape.add(this.tape.product(X, W, { transposed: true }), b);
  }
}

class EncoderLayer {
  constructor(model, path) {
    this.selfAttention = new MultiHeadAttention(model, `${path}.self_attention`, true);
    this.feedForward = feedForward(model, `${path}.feed_forward`);
    this.residuals = [0, 1].map((i) => residual(model, `${path}.residuals.${i}`));
  }

  forward(X, hidden) {
    const [aroundAttention, aroundFeedForward] = this.residuals;
    X = aroundAttention(X, (inner) => this.selfAttention.forward(inner, inner, hidden));
    return this.feedForward ? aroundFeedForward(X, this.feedForward) : X;
  }
}

class DecoderLayer {
  constructor(model, path) {
    this.selfAttention = new MultiHeadAttention(model, `${path}.self_attention`, true);
    this.crossAttention = new MultiHeadAttention(model, `${path}.cross_attention`);
    this.feedForward = feedForward(model, `${path}.feed_forward`);
    this.residuals = [0, 1, 2].map((i) => residual(model, `${path}.residuals.${i}`));
  }

  forward(Y, memory, later, hidden) {
    const [aroundSelf, aroundCross, aroundFeedForward] = this.residuals;
    Y = aroundSelf(Y, (inner) => this.selfAttention.forward(inner, inner, later));
    Y = aroundCross(Y, (inner) => this.crossAttention.forward(inner, memory, hidden));
    return this.feedForward ? aroundFeedForward(Y, this.feedForward) : Y;
  }
}

/* Concat(head₁, …, head_h) W^O, headᵢ = softmax(QKᵀ / √d_k) V. */
class MultiHeadAttention {
  constructor(model, path, isSelf = false) {
    const { d_model, positions } = model.config;
    [this.model, this.path] = [model, path];
    this.turns = isSelf && positions === "rotary";
    [this.W_Q, this.W_K, this.W_V, this.W_O] = ["W_Q", "W_K", "W_V", "W_O"].map((name) => model.linear(`${path}.${name}`, d_model, d_model));
  }

  forward(X, memory, hidden) {
    const { tape, config: { d_model, n_heads, scale } } = this.model;
    const d_k = d_model / n_heads;
    let Q = tape.split(this.W_Q(X), n_heads); // (batch, n_heads, n, d_k)
    let K = tape.split(this.W_K(memory), n_heads); // (batch, n_heads, m, d_k)
    const V = tape.split(this.W_V(memory), n_heads);
    if (this.turns) [Q, K] = [Q, K].map((each) => tape.rotate(each, (row, pair) => (row % each.shape[2]) / 10000 ** ((2 * pair) / d_k)));
    const dots = tape.product(Q, K, { transposed: true }); // (batch, n_heads, n, m)
    const weights = tape.softmax(scale ? tape.scale(dots, 1 / Math.sqrt(d_k)) : dots, hidden);
    this.model.weights[this.path] = weights;
    return this.W_O(tape.join(tape.product(weights, V), n_heads)); // (batch, n, d_model)
  }
}

/* max(0, xW₁ + b₁)W₂ + b₂ */
function feedForward(model, path) {
  const { tape, config: { d_model, d_ff, feed_forward } } = model;
  if (!feed_forward) return null;
  const [first, second] = [model.linear(`${path}.W_1`, d_model, d_ff), model.linear(`${path}.W_2`, d_ff, d_model)];
  return (X) => second(tape.relu(first(X)));
}

/* LayerNorm(x + Sublayer(x)), or "pre": x + Sublayer(LayerNorm(x)). */
function residual(model, path) {
  const { tape, config: { norm, residuals } } = model;
  const normed = norm === "none" ? same : layerNorm(model, `${path}.norm`);
  return (X, sublayer) => {
    const change = sublayer(norm === "pre" ? normed(X) : X);
    const sum = residuals ? tape.add(X, change) : change;
    return norm === "post" ? normed(sum) : sum;
  };
}

function layerNorm(model, path) {
  const [gain, bias] = [model.parameter(`${path}.gain`, [model.config.d_model], () => 1), model.parameter(`${path}.bias`, [model.config.d_model], () => 0)];
  return (X) => model.tape.layerNorm(X, gain, bias);
}

const same = (X) => X;

/* (batch, n, m): 1 where query i of sentence b must not see key j. */
export function mask(size, n, m, isHidden) {
  const made = new Uint8Array(size * n * m);
  for (let b = 0, at = 0; b < size; b++) for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) made[at++] = isHidden(b, i, j) ? 1 : 0;
  return made;
}

/* PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i + 1) = cos of the same. */
const waves = (n, d) =>
  Float64Array.from({ length: n * d }, (_, at) => {
    const [place, j] = [Math.floor(at / d), at % d];
    const angle = place / 10000 ** ((j - (j % 2)) / d);
    return j % 2 ? Math.cos(angle) : Math.sin(angle);
  });

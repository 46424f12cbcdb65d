/* The forward pass of a decoder alone, built as today: tfm_lib.descendants.decoder_of_today with a key head for each head.

   new DecoderOnly(config, weights, products)
     .hidden(ids, cache?, seen?)   → the last layer's vectors; with a cache, `ids` are the new tokens only
     .unembed(X)                   → logits
     .cache()                      → an empty cache; its `read` counts the tokens
   `seen` and `broken` are those of transformer.js                                                                   */

import { Model, places } from "./transformer.js";

const EPSILON = 1e-6;

export class DecoderOnly extends Model {
  constructor(config, weights, products) {
    super({ ...config, norm: "pre" }, weights, products, { linear, norm: rmsNorm, feedForward: swiGLU, wave: () => 0, turned: rotary });
    this.layers = this.stack("layers");
    this.norm = this.lastNorm("norm");
  }

  hidden(ids, cache, seen) {
    const caches = cache && ids.map(() => cache);
    const positions = places(ids, caches);
    let X = this.embed(ids, positions);
    seen?.("embedding.output", X);
    this.layers.forEach((layer, l) => {
      const own = caches?.map(({ layers }) => layers[l]);
      X = layer.forward(X, { positions, caches: own, isCausal: !this.broken.causal }, seen);
    });
    X = this.norm(X);
    seen?.("norm.output", X);
    return X;
  }

  cache = () => this.cacheOf(this.layers);
}

function linear(model, path) {
  const W = model.part(path)("weight");
  return (X) => model.products.linear(X, W);
}

/* γ · x / √(mean(x²) + ε), for each row. */
function rmsNorm(part) {
  const gain = part("gain");
  const d = gain.length;
  return (X) => {
    const Y = new Float32Array(X.length);
    for (let at = 0; at < X.length; at += d) {
      let square = 0;
      for (let j = 0; j < d; j++) square += X[at + j] ** 2 / d;
      const root = Math.sqrt(square + EPSILON);
      for (let j = 0; j < d; j++) Y[at + j] = (gain[j] * X[at + j]) / root;
    }
    return Y;
  };
}

/* (silu(xW_gate) · xW₁)W₂, silu(x) = x · σ(x) */
function swiGLU(model, path) {
  const [W_1, W_gate, W_2] = ["W_1", "W_gate", "W_2"].map((name) => linear(model, `${path}.${name}`));
  return (X, seen) => {
    const gate = W_gate(X);
    const hidden = W_1(X).map((x, i) => (x * gate[i]) / (1 + Math.exp(-gate[i])));
    seen?.(`${path}.hidden`, hidden);
    const found = W_2(hidden);
    seen?.(`${path}.output`, found);
    return found;
  };
}

/* Turn each pair (x_2i, x_2i+1) of every head by the angle pos / 10000^(2i/d_k); a row of X is at positions[row]. */
function rotary(X, positions, { d_model, n_heads }) {
  const d_k = d_model / n_heads;
  const Y = new Float32Array(X.length);
  positions.forEach((position, row) => {
    for (let k = 0; k < d_k; k += 2) {
      const angle = position / 10000 ** (k / d_k);
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      for (let at = row * d_model + k; at < (row + 1) * d_model; at += d_k) {
        Y[at] = X[at] * cos - X[at + 1] * sin;
        Y[at + 1] = X[at] * sin + X[at + 1] * cos;
      }
    }
  });
  return Y;
}

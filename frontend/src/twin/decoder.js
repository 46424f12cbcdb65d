/* The forward pass of a decoder alone, built as today but for its positions: tfm_lib.engine.writer.writer.

   new DecoderOnly(config, weights, products)
     .hidden(ids, cache?, seen?)   → the last layer's vectors; with a cache, `ids` are the new tokens only
     .unembed(X)                   → logits
     .cache()                      → an empty cache; its `read` counts the tokens
   `seen` and `broken` are those of transformer.js                                                                   */

import { linear, Model, places } from "./transformer.js";

const EPSILON = 1e-6;

export class DecoderOnly extends Model {
  constructor(config, weights, products) {
    super({ ...config, norm: "pre" }, weights, products, { linear, norm: rmsNorm, feedForward: swiGLU, wave: () => 0, slopes });
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

function unbiased(model, path) {
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
  const [W_1, W_gate, W_2] = ["W_1", "W_gate", "W_2"].map((name) => unbiased(model, `${path}.${name}`));
  return (X, seen) => {
    const gate = W_gate(X);
    const hidden = W_1(X).map((x, i) => (x * gate[i]) / (1 + Math.exp(-gate[i])));
    seen?.(`${path}.hidden`, hidden);
    const found = W_2(hidden);
    seen?.(`${path}.output`, found);
    return found;
  };
}

/* By how much the scores of each head fall with each step of distance (ALiBi), for a power of two of heads. */
const slopes = (n_heads) => Array.from({ length: n_heads }, (_, h) => 2 ** ((-8 * (h + 1)) / n_heads));

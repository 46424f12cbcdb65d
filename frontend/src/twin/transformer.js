/* The Transformer's forward pass, as tfm_lib.transformer, .layers and .multihead; a matrix is a row-major Float32Array.

   new Transformer(config, weights, products)
     .encode(ids, seen?)                   → the memory: the encoder's vectors, and the decoder's keys and values of them
     .decode(ids, memory, caches?, seen?)  → the decoder's vectors; ids of one sentence, or with caches one of each row
     .unembed(Y)                           → logits
     .broken                               what is switched off: { positions, scale, causal, cross, residuals } : true, and
                                           layers and heads, sets of "encoder.0" and "encoder.0.self_attention.3"
   `seen(name, value)` receives the values by the names of tfm_lib's traces; weights are one Float32Array per query and head.
   A Model is also what decoder.js has, with other `parts`: { linear, norm, feedForward, wave, slopes }.                     */

const EPSILON = 1e-5;

/* What an encoder-decoder and a decoder alone have in common. */
export class Model {
  constructor(config, weights, products, parts) {
    this.config = config;
    this.products = products;
    this.parts = parts;
    this.broken = {};
    const kept = new Map();
    for (const [name, { shape, numbers }] of weights) kept.set(name, shape.length === 2 ? products.keep(numbers, shape[0]) : numbers);
    this.part = (path) => (name) => {
      if (!kept.has(`${path}.${name}`)) throw new Error(`The model's file lacks ${path}.${name}.`);
      return kept.get(`${path}.${name}`);
    };
    this.tokens = this.part("embedding.tokens")("weight");
  }

  /* The layers of `side`; with `cross`, each also attends to a memory. */
  stack = (side, cross) => Array.from({ length: this.config.n_layers }, (_, i) => new Layer(this, `${side}.${i}`, cross));

  lastNorm = (path) => (this.config.norm === "pre" ? this.parts.norm(this.part(path)) : (X) => X);

  /* Token embeddings times √d_model, plus positions; positions[i] is that of ids[i]. */
  embed(ids, positions) {
    const d = this.config.d_model;
    const X = new Float32Array(ids.length * d);
    ids.forEach((id, i) => {
      const row = this.products.row(this.tokens, id);
      for (let j = 0; j < d; j++) {
        const wave = this.broken.positions ? 0 : this.parts.wave(positions[i], j, d);
        X[i * d + j] = row[j] * Math.sqrt(d) + wave;
      }
    });
    return X;
  }

  unembed = (Y) => this.products.linear(Y, this.tokens);

  /* The cache of one text: number of tokens read, and for each of `layers` keys and values, a vector per position. */
  cacheOf = (layers) => ({ read: 0, layers: layers.map(() => ({ K: [], V: [] })) });
}

/* Where the new ids stand: after what the cache of each has read, which advances. */
export const places = (ids, caches) => ids.map((_, i) => (caches ? caches[i].read++ : i));

export class Transformer extends Model {
  constructor(config, weights, products) {
    super(config, weights, products, { linear, norm: layerNorm, feedForward, wave });
    this.encoder = this.stack("encoder");
    this.decoder = this.stack("decoder", true);
    this.encoderNorm = this.lastNorm("encoder_norm");
    this.decoderNorm = this.lastNorm("decoder_norm");
  }

  encode(ids, seen) {
    let X = this.embed(ids, [...ids.keys()]);
    seen?.("embedding.output", X);
    for (const layer of this.encoder) X = layer.forward(X, {}, seen);
    const H = this.encoderNorm(X);
    seen?.("encoder_norm.output", H);
    return { H, kept: this.decoder.map((layer) => layer.crossAttention.keysAndValues(H)) };
  }

  /* Without caches, the whole sentence at once, with a mask that hides later positions. */
  decode(ids, memory, caches, seen) {
    const positions = places(ids, caches);
    let Y = this.embed(ids, positions);
    this.decoder.forEach((layer, l) => {
      const own = caches?.map(({ layers }) => layers[l]);
      Y = layer.forward(Y, { positions, caches: own, memory: memory.kept[l], isCausal: !this.broken.causal }, seen);
    });
    Y = this.decoderNorm(Y);
    seen?.("decoder_norm.output", Y);
    return Y;
  }

  caches = () => this.cacheOf(this.decoder);
}

/* Self-attention, with `cross` attention to a memory, and a feed-forward network, each within its residual connection. */
class Layer {
  constructor(model, path, cross) {
    this.model = model;
    this.path = path;
    this.selfAttention = new MultiHeadAttention(model, `${path}.self_attention`);
    this.crossAttention = cross && new MultiHeadAttention(model, `${path}.cross_attention`);
    this.feedForward = model.parts.feedForward(model, `${path}.feed_forward`);
    this.residuals = Array.from({ length: cross ? 3 : 2 }, (_, i) => new Residual(model, `${path}.residuals.${i}`));
  }

  /* `memory` are keys and values of the encoder's vectors. With `caches`, one per row, each row extends its own; rows may
     share one. With `isCausal`, a row at positions[row] sees nothing after it.                                          */
  forward(X, { positions, caches, memory, isCausal }, seen) {
    const { broken } = this.model;
    if (broken.layers?.has(this.path)) return X;
    const around = [...this.residuals];
    X = around.shift().forward(X, (inner) => {
      const own = this.selfAttention.keysAndValues(inner, seen);
      caches?.forEach((cache, row) => {
        cache.K.push(own.K[row]);
        cache.V.push(own.V[row]);
      });
      const visible = isCausal ? (row) => positions[row] + 1 : undefined;
      return this.selfAttention.forward(inner, (row) => caches?.[row] ?? own, visible, seen);
    }, seen);
    if (this.crossAttention) X = around.shift().forward(X, (inner) => {
      const change = this.crossAttention.forward(inner, () => memory, undefined, seen);
      return broken.cross ? change.fill(0) : change;
    }, seen);
    X = around.shift().forward(X, (inner) => this.feedForward(inner, seen), seen);
    seen?.(`${this.path}.output`, X);
    return X;
  }
}

/* LayerNorm(x + Sublayer(x)), or "pre": x + Sublayer(LayerNorm(x)). */
class Residual {
  constructor(model, path) {
    this.model = model;
    this.path = path;
    this.norm = model.parts.norm(model.part(`${path}.norm`));
    this.isPost = model.config.norm === "post";
  }

  forward(X, sublayer, seen) {
    const normed = (Y) => {
      const found = this.norm(Y);
      seen?.(`${this.path}.norm.output`, found);
      return found;
    };
    const change = sublayer(this.isPost ? X : normed(X));
    const sum = this.model.broken.residuals ? change : change.map((x, i) => X[i] + x);
    return this.isPost ? normed(sum) : sum;
  }
}

/* Concat(head₁, …, head_h) W^O, headᵢ = Attention(QWᵢ^Q, KWᵢ^K, VWᵢ^V). */
class MultiHeadAttention {
  constructor(model, path) {
    this.model = model;
    this.path = path;
    this.W = Object.fromEntries(["W_Q", "W_K", "W_V", "W_O"].map((name) => [name, model.parts.linear(model, `${path}.${name}`)]));
  }

  /* Keys and values, a vector per position with all heads concatenated, as a cache stores them. */
  keysAndValues(X, seen) {
    const [K, V] = [this.W.W_K(X), this.W.W_V(X)];
    seen?.(`${this.path}.keys`, K);
    seen?.(`${this.path}.values`, V);
    return { K: rowsOf(K, this.model.config.d_model), V: rowsOf(V, this.model.config.d_model) };
  }

  /* X are the queries; of(row) are the keys and values of a row, which sees the first visible(row) of them, or all. */
  forward(X, of, visible, seen) {
    const { path, model: { broken, config: { d_model, n_heads } } } = this;
    const d_k = d_model / n_heads;
    const scale = broken.scale ? 1 : Math.sqrt(d_k);
    const slopes = this.model.parts.slopes?.(n_heads);
    const Q = this.W.W_Q(X);
    const heads = new Float32Array(X.length); // (n, d_model)
    const weights = Array.from({ length: n_heads }, () => []);
    for (let i = 0; i < X.length / d_model; i++) {
      const { K, V } = of(i);
      const m = visible?.(i) ?? K.length;
      for (let h = 0; h < n_heads; h++) {
        const at = i * d_model + h * d_k;
        const p = new Float32Array(K.length);
        for (let j = 0; j < m; j++) {
          const key = K[j];
          let score = 0;
          for (let k = 0; k < d_k; k++) score += Q[at + k] * key[h * d_k + k];
          p[j] = score / scale - (slopes ? slopes[h] * (m - 1 - j) : 0);
        }
        softmax(p, m);
        weights[h].push(p);
        if (broken.heads?.has(`${path}.${h}`)) continue; // its output is 0
        for (let j = 0; j < m; j++) {
          const value = V[j];
          for (let k = 0; k < d_k; k++) heads[at + k] += p[j] * value[h * d_k + k];
        }
      }
    }
    seen?.(`${path}.queries`, Q);
    seen?.(`${path}.weights`, weights);
    seen?.(`${path}.heads`, heads);
    const found = this.W.W_O(heads);
    seen?.(`${path}.output`, found);
    return found;
  }
}

/* max(0, xW₁ + b₁)W₂ + b₂ */
function feedForward(model, path) {
  const [first, second] = ["W_1", "W_2"].map((name) => linear(model, `${path}.${name}`));
  return (X, seen) => {
    const hidden = first(X).map((x) => Math.max(0, x));
    seen?.(`${path}.hidden`, hidden);
    const found = second(hidden);
    seen?.(`${path}.output`, found);
    return found;
  };
}

export function linear(model, path) {
  const [W, b] = ["weight", "bias"].map(model.part(path));
  return (X) => model.products.linear(X, W, b);
}

/* PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(the same) */
function wave(position, j, d) {
  const angle = position / 10000 ** ((j - (j % 2)) / d);
  return j % 2 ? Math.cos(angle) : Math.sin(angle);
}

/* γ · (x − μ) / √(σ² + ε) + β, for each row. */
function layerNorm(part) {
  const [gain, bias] = [part("gain"), part("bias")];
  const d = gain.length;
  return (X) => {
    const Y = new Float32Array(X.length);
    for (let at = 0; at < X.length; at += d) {
      let [mean, variance] = [0, 0];
      for (let j = 0; j < d; j++) mean += X[at + j] / d;
      for (let j = 0; j < d; j++) variance += (X[at + j] - mean) ** 2 / d;
      const deviation = Math.sqrt(variance + EPSILON);
      for (let j = 0; j < d; j++) Y[at + j] = (gain[j] * (X[at + j] - mean)) / deviation + bias[j];
    }
    return Y;
  };
}

export const rowsOf = (X, d) => Array.from({ length: X.length / d }, (_, i) => X.subarray(i * d, (i + 1) * d));

/* Softmax of the first m of `scores`, in place; the others are 0. */
export function softmax(scores, m = scores.length) {
  let [top, total] = [-Infinity, 0];
  for (let j = 0; j < m; j++) top = Math.max(top, scores[j]);
  for (let j = 0; j < m; j++) total += scores[j] = Math.exp(scores[j] - top);
  for (let j = 0; j < m; j++) scores[j] /= total;
  return scores;
}

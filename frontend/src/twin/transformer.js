/* The Transformer's forward pass, as tfm_lib.transformer, .layers and .multihead; a matrix is a row-major Float32Array.

   new Transformer(config, weights, products)
     .encode(ids, seen?)                   → the memory: the encoder's vectors, and the decoder's keys and values of them
     .decode(ids, memory, caches?, seen?)  → the decoder's vectors; ids of one sentence, or with caches one of each row
     .unembed(Y)                           → logits
     .broken                               what is switched off: { positions, scale, causal, cross, residuals } : true, and
                                           layers and heads, sets of "encoder.0" and "encoder.0.self_attention.3"
   `seen(name, value)` receives the values by the names of tfm_lib's traces; weights are one Float32Array per query and head. */

const EPSILON = 1e-5;

export class Transformer {
  constructor(config, weights, products) {
    this.config = config;
    this.products = products;
    this.broken = {};
    const kept = new Map();
    for (const [name, { shape, numbers }] of weights) kept.set(name, shape.length === 2 ? products.keep(numbers, shape[0]) : numbers);
    const part = (path) => (name) => {
      if (!kept.has(`${path}.${name}`)) throw new Error(`The model's file lacks ${path}.${name}.`);
      return kept.get(`${path}.${name}`);
    };
    const stack = (side, make) => Array.from({ length: config.n_layers }, (_, i) => make(this, `${side}.${i}`, part));
    this.tokens = part("embedding.tokens")("weight");
    this.encoder = stack("encoder", (...args) => new EncoderLayer(...args));
    this.decoder = stack("decoder", (...args) => new DecoderLayer(...args));
    const ends = config.norm === "pre";
    this.encoderNorm = ends ? layerNorm(part("encoder_norm")) : same;
    this.decoderNorm = ends ? layerNorm(part("decoder_norm")) : same;
  }

  /* Token embeddings times √d_model, plus positions; positions[i] is that of ids[i]. */
  embed(ids, positions) {
    const d = this.config.d_model;
    const X = new Float32Array(ids.length * d);
    ids.forEach((id, i) => {
      const row = this.products.row(this.tokens, id);
      for (let j = 0; j < d; j++) {
        const angle = positions[i] / 10000 ** ((j - (j % 2)) / d);
        const wave = this.broken.positions ? 0 : j % 2 ? Math.cos(angle) : Math.sin(angle);
        X[i * d + j] = row[j] * Math.sqrt(d) + wave;
      }
    });
    return X;
  }

  encode(ids, seen) {
    let X = this.embed(ids, [...ids.keys()]);
    seen?.("embedding.output", X);
    for (const layer of this.encoder) X = layer.forward(X, seen);
    const H = this.encoderNorm(X);
    seen?.("encoder_norm.output", H);
    return { H, kept: this.decoder.map((layer) => layer.crossAttention.keysAndValues(H)) };
  }

  /* Without caches, the whole sentence at once, with a mask that hides later positions. */
  decode(ids, memory, caches, seen) {
    const positions = ids.map((_, i) => (caches ? caches[i].read++ : i));
    let Y = this.embed(ids, positions);
    this.decoder.forEach((layer, l) => (Y = layer.forward(Y, memory.kept[l], caches?.map(({ layers }) => layers[l]), seen)));
    Y = this.decoderNorm(Y);
    seen?.("decoder_norm.output", Y);
    return Y;
  }

  unembed = (Y) => this.products.linear(Y, this.tokens);

  /* The cache of one row of a search: number of tokens read, and for each layer keys and values, a vector per position. */
  caches = () => ({ read: 0, layers: this.decoder.map(() => ({ K: [], V: [] })) });
}

class EncoderLayer {
  constructor(model, path, part) {
    this.model = model;
    this.path = path;
    this.selfAttention = new MultiHeadAttention(model, `${path}.self_attention`, part);
    this.feedForward = feedForward(model, `${path}.feed_forward`, part);
    this.residuals = [0, 1].map((i) => new Residual(model, `${path}.residuals.${i}`, part));
  }

  forward(X, seen) {
    if (this.model.broken.layers?.has(this.path)) return X;
    const [aroundAttention, aroundFeedForward] = this.residuals;
    X = aroundAttention.forward(X, (inner) => {
      const own = this.selfAttention.keysAndValues(inner, seen);
      return this.selfAttention.forward(inner, () => own, undefined, seen);
    }, seen);
    X = aroundFeedForward.forward(X, (inner) => this.feedForward(inner, seen), seen);
    seen?.(`${this.path}.output`, X);
    return X;
  }
}

class DecoderLayer {
  constructor(model, path, part) {
    this.model = model;
    this.path = path;
    this.selfAttention = new MultiHeadAttention(model, `${path}.self_attention`, part);
    this.crossAttention = new MultiHeadAttention(model, `${path}.cross_attention`, part);
    this.feedForward = feedForward(model, `${path}.feed_forward`, part);
    this.residuals = [0, 1, 2].map((i) => new Residual(model, `${path}.residuals.${i}`, part));
  }

  /* `kept` are keys and values of the memory; with `caches`, one per row, each row extends its own. */
  forward(Y, kept, caches, seen) {
    const { broken } = this.model;
    if (broken.layers?.has(this.path)) return Y;
    const [aroundSelf, aroundCross, aroundFeedForward] = this.residuals;
    Y = aroundSelf.forward(Y, (inner) => {
      const own = this.selfAttention.keysAndValues(inner, seen);
      caches?.forEach((cache, row) => {
        cache.K.push(own.K[row]);
        cache.V.push(own.V[row]);
      });
      const visible = caches || broken.causal ? undefined : (row) => row + 1; // a cache holds no later positions
      return this.selfAttention.forward(inner, (row) => caches?.[row] ?? own, visible, seen);
    }, seen);
    Y = aroundCross.forward(Y, (inner) => {
      const change = this.crossAttention.forward(inner, () => kept, undefined, seen);
      return broken.cross ? change.fill(0) : change;
    }, seen);
    Y = aroundFeedForward.forward(Y, (inner) => this.feedForward(inner, seen), seen);
    seen?.(`${this.path}.output`, Y);
    return Y;
  }
}

/* LayerNorm(x + Sublayer(x)), or "pre": x + Sublayer(LayerNorm(x)). */
class Residual {
  constructor(model, path, part) {
    this.model = model;
    this.path = path;
    this.norm = layerNorm(part(`${path}.norm`));
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
  constructor(model, path, part) {
    this.model = model;
    this.path = path;
    this.W = Object.fromEntries(["W_Q", "W_K", "W_V", "W_O"].map((name) => [name, linear(model, part(`${path}.${name}`))]));
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
          let score = 0;
          for (let k = 0; k < d_k; k++) score += Q[at + k] * K[j][h * d_k + k];
          p[j] = score / scale;
        }
        softmax(p, m);
        weights[h].push(p);
        if (broken.heads?.has(`${path}.${h}`)) continue; // its output is 0
        for (let j = 0; j < m; j++) for (let k = 0; k < d_k; k++) heads[at + k] += p[j] * V[j][h * d_k + k];
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
function feedForward(model, path, part) {
  const [first, second] = ["W_1", "W_2"].map((name) => linear(model, part(`${path}.${name}`)));
  return (X, seen) => {
    const hidden = first(X).map((x) => Math.max(0, x));
    seen?.(`${path}.hidden`, hidden);
    const found = second(hidden);
    seen?.(`${path}.output`, found);
    return found;
  };
}

function linear(model, part) {
  const [W, b] = [part("weight"), part("bias")];
  return (X) => model.products.linear(X, W, b);
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

const same = (X) => X;

export const rowsOf = (X, d) => Array.from({ length: X.length / d }, (_, i) => X.subarray(i * d, (i + 1) * d));

/* Softmax of the first m of `scores`, in place; the others are 0. */
export function softmax(scores, m = scores.length) {
  let [top, total] = [-Infinity, 0];
  for (let j = 0; j < m; j++) top = Math.max(top, scores[j]);
  for (let j = 0; j < m; j++) total += scores[j] = Math.exp(scores[j] - top);
  for (let j = 0; j < m; j++) scores[j] /= total;
  return scores;
}

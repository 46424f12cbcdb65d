/* A tape: every operation computes its value at once, and notes how a derivative travels back through it.

   A value is { shape, data, grad }: its numbers, row by row, and the derivative of the loss by each of them, which `back` fills.
   Rows are the vectors along the last axis; "rows" below counts all of them, whatever the axes before.

   const tape = new Tape(space)         a Space or a Doubles, which hold the numbers
   tape.value(shape, numbers?)          a value that depends on nothing: a constant, or a parameter
   tape.back(loss)                      the derivatives of `loss`, from the last operation to the first
   tape.clear(end?)                     forget the operations, and take back their numbers (see space.js)

   product(X, Y, { transposed })        XY, or XYᵀ; Y is one matrix, or has a matrix for each of X
   add(X, Y)                            element by element; Y may be shorter and is then repeated, as a bias is
   multiply(X, Y)                       element by element, of equal shapes
   scale(X, number), relu(X), tanh(X), sigmoid(X)
   softmax(X, hidden)                   along rows; what is hidden (1 in a Uint8Array, shorter than X if heads share it) gets weight 0
   layerNorm(X, gain, bias)             γ (x − μ) / √(σ² + ε) + β
   gather(X, ids, shape)                rows of a table
   split(X, heads), join(X, heads)      (batch, n, heads · d) to (batch, heads, n, d), and back
   columns(X, from, to)                 some of the numbers of each row
   concat(X, Y)                         rows of X, each followed by the row of Y
   stack(states)                        n values (batch, d) as one (batch, n, d)
   rotate(X, angle)                     pairs of numbers of each row turned by angle(row, pair), as rotary positions do
   crossEntropy(X, ids, { smoothing, skip })   mean over all rows but those whose id is `skip`                            */

const EPSILON = 1e-5;

export const sizeOf = (shape) => shape.reduce((a, b) => a * b, 1);

export class Tape {
  #back = [];

  constructor(space) {
    this.space = space;
  }

  value(shape, numbers) {
    const n = sizeOf(shape);
    const made = { shape, data: this.space.floats(n), grad: this.space.floats(n) };
    if (numbers) made.data.set(numbers);
    return made;
  }

  back(loss) {
    loss.grad[0] = 1;
    for (const step of this.#back.reverse()) step();
    this.#back = [];
  }

  clear(end) {
    this.#back = [];
    this.space.clear(end);
  }

  /* The derivatives of Z = XY are dZ Yᵀ for X, and Xᵀ dZ for Y; those of Z = XYᵀ are dZ Y, and dZᵀ X. */
  product(X, Y, { transposed = false } = {}) {
    const { space } = this;
    const n = X.shape.at(-1);
    const outputs = Y.shape.at(transposed ? -2 : -1);
    const many = sizeOf(Y.shape) / (n * outputs);
    const rows = sizeOf(X.shape) / (n * many);
    const Z = this.value([...X.shape.slice(0, -1), outputs]);
    if (transposed) space.dots(X.data, Y.data, Z.data, { many, rows, n, outputs });
    else space.product(X.data, Y.data, Z.data, { many, rows, n, columns: outputs });
    this.#back.push(() => {
      if (transposed) {
        space.product(Z.grad, Y.data, X.grad, { many, rows, n: outputs, columns: n });
        space.product(Z.grad, X.data, Y.grad, { many, rows: outputs, n: rows, columns: n, turned: true });
      } else {
        space.dots(Z.grad, Y.data, X.grad, { many, rows, n: outputs, outputs: n });
        space.product(X.data, Z.grad, Y.grad, { many, rows: n, n: rows, columns: outputs, turned: true });
      }
    });
    return Z;
  }

  add(X, Y) {
    const [n, many] = [X.data.length, Y.data.length];
    const Z = this.value(X.shape, X.data);
    for (let at = 0; at < n; at += many) for (let j = 0; j < many; j++) Z.data[at + j] += Y.data[j];
    this.#back.push(() => {
      for (let i = 0; i < n; i++) X.grad[i] += Z.grad[i];
      for (let at = 0; at < n; at += many) for (let j = 0; j < many; j++) Y.grad[j] += Z.grad[at + j];
    });
    return Z;
  }

  multiply(X, Y) {
    const Z = this.value(X.shape);
    const n = X.data.length;
    for (let i = 0; i < n; i++) Z.data[i] = X.data[i] * Y.data[i];
    this.#back.push(() => {
      for (let i = 0; i < n; i++) {
        X.grad[i] += Z.grad[i] * Y.data[i];
        Y.grad[i] += Z.grad[i] * X.data[i];
      }
    });
    return Z;
  }

  scale = (X, number) => this.#one(X, (x) => number * x, () => number);
  relu = (X) => this.#one(X, (x) => (x > 0 ? x : 0), (y) => (y > 0 ? 1 : 0));

  tanh = (X) => this.#one(X, Math.tanh, (y) => 1 - y * y);
  sigmoid = (X) => this.#one(X, (x) => 1 / (1 + Math.exp(-x)), (y) => y * (1 - y));

  /* A function of one number, whose slope can be told from its result. */
  #one(X, f, slope) {
    const Z = this.value(X.shape);
    const n = X.data.length;
    for (let i = 0; i < n; i++) Z.data[i] = f(X.data[i]);
    this.#back.push(() => {
      for (let i = 0; i < n; i++) X.grad[i] += Z.grad[i] * slope(Z.data[i]);
    });
    return Z;
  }

  /* Of a row p the derivative is p (dp − Σ p dp). */
  softmax(X, hidden) {
    const m = X.shape.at(-1);
    const n = X.shape.at(-2);
    const heads = hidden ? X.data.length / hidden.length : 1;
    const Z = this.value(X.shape);
    for (let r = 0; r < X.data.length / m; r++) {
      const from = r * m;
      const mask = (Math.floor(r / n / heads) * n + (r % n)) * m;
      let [top, total] = [-Infinity, 0];
      for (let j = 0; j < m; j++) if (!hidden?.[mask + j]) top = Math.max(top, X.data[from + j]);
      for (let j = 0; j < m; j++) if (!hidden?.[mask + j]) total += Z.data[from + j] = Math.exp(X.data[from + j] - top);
      for (let j = 0; j < m; j++) Z.data[from + j] /= total;
    }
    this.#back.push(() => {
      for (let from = 0; from < X.data.length; from += m) {
        let mean = 0;
        for (let j = 0; j < m; j++) mean += Z.data[from + j] * Z.grad[from + j];
        for (let j = 0; j < m; j++) X.grad[from + j] += Z.data[from + j] * (Z.grad[from + j] - mean);
      }
    });
    return Z;
  }

  /* What a row gets back is free of its mean and of the row's own direction, since the norm takes out both. */
  layerNorm(X, gain, bias) {
    const d = X.shape.at(-1);
    const n = X.data.length;
    const Z = this.value(X.shape);
    const standard = this.space.floats(n); // (x − μ) / √(σ² + ε)
    const scales = this.space.floats(n / d); // 1 / √(σ² + ε)
    for (let r = 0; r < n / d; r++) {
      const from = r * d;
      let [mean, variance] = [0, 0];
      for (let j = 0; j < d; j++) mean += X.data[from + j] / d;
      for (let j = 0; j < d; j++) variance += (X.data[from + j] - mean) ** 2 / d;
      const scale = (scales[r] = 1 / Math.sqrt(variance + EPSILON));
      for (let j = 0; j < d; j++) {
        const s = (standard[from + j] = (X.data[from + j] - mean) * scale);
        Z.data[from + j] = gain.data[j] * s + bias.data[j];
      }
    }
    this.#back.push(() => {
      for (let r = 0; r < n / d; r++) {
        const from = r * d;
        let [mean, along] = [0, 0];
        for (let j = 0; j < d; j++) {
          const back = Z.grad[from + j];
          const s = standard[from + j];
          gain.grad[j] += back * s;
          bias.grad[j] += back;
          mean += (back * gain.data[j]) / d;
          along += (back * gain.data[j] * s) / d;
        }
        for (let j = 0; j < d; j++) X.grad[from + j] += scales[r] * (Z.grad[from + j] * gain.data[j] - mean - standard[from + j] * along);
      }
    });
    return Z;
  }

  gather(X, ids, shape) {
    const d = X.shape.at(-1);
    const Z = this.value([...shape, d]);
    ids.forEach((id, i) => Z.data.set(X.data.subarray(id * d, (id + 1) * d), i * d));
    this.#back.push(() => ids.forEach((id, i) => {
      for (let j = 0; j < d; j++) X.grad[id * d + j] += Z.grad[i * d + j];
    }));
    return Z;
  }

  columns(X, from, to) {
    const d = X.shape.at(-1);
    const Z = this.value([...X.shape.slice(0, -1), to - from]);
    this.#moved(X, Z, X.data.length / d, (r) => [r * d + from, r * (to - from)], to - from);
    return Z;
  }

  concat(X, Y) {
    const [dX, dY] = [X.shape.at(-1), Y.shape.at(-1)];
    const Z = this.value([...X.shape.slice(0, -1), dX + dY]);
    const rows = X.data.length / dX;
    this.#moved(X, Z, rows, (r) => [r * dX, r * (dX + dY)], dX);
    this.#moved(Y, Z, rows, (r) => [r * dY, r * (dX + dY) + dX], dY);
    return Z;
  }

  stack(states) {
    const [batch, d] = states[0].shape;
    const Z = this.value([batch, states.length, d]);
    states.forEach((X, t) => this.#moved(X, Z, batch, (b) => [b * d, (b * states.length + t) * d], d));
    return Z;
  }

  /* Pieces of d numbers from X into Z; places(i) gives where each begins in both. */
  #moved(X, Z, pieces, places, d) {
    for (let i = 0; i < pieces; i++) {
      const [from, to] = places(i);
      for (let j = 0; j < d; j++) Z.data[to + j] = X.data[from + j];
    }
    this.#back.push(() => {
      for (let i = 0; i < pieces; i++) {
        const [from, to] = places(i);
        for (let j = 0; j < d; j++) X.grad[from + j] += Z.grad[to + j];
      }
    });
  }

  split(X, heads) {
    const [batch, n, d] = X.shape;
    return this.#turned(X, [batch, heads, n, d / heads], [batch, n, heads, d / heads]);
  }

  join(X, heads) {
    const [batch, , n, d] = X.shape;
    return this.#turned(X, [batch, n, heads * d], [batch, heads, n, d]);
  }

  /* (batch, a, b, d) to (batch, b, a, d). */
  #turned(X, shape, [batch, a, b, d]) {
    const Z = this.value(shape);
    this.#moved(X, Z, batch * a * b, (at) => {
      const [i, j, k] = [Math.floor(at / (a * b)), Math.floor(at / b) % a, at % b];
      return [at * d, ((i * b + k) * a + j) * d];
    }, d);
    return Z;
  }

  /* A rotation's derivative turns back. */
  rotate(X, angle) {
    const d = X.shape.at(-1);
    const Z = this.value(X.shape);
    const turn = (from, to, sign) => {
      for (let r = 0; r < X.data.length / d; r++) {
        for (let k = 0; k < d; k += 2) {
          const [c, s, i] = [Math.cos(angle(r, k / 2)), sign * Math.sin(angle(r, k / 2)), r * d + k];
          const [x, y] = [from[i], from[i + 1]];
          to[i] += c * x - s * y;
          to[i + 1] += s * x + c * y;
        }
      }
    };
    turn(X.data, Z.data, 1);
    this.#back.push(() => turn(Z.grad, X.grad, -1));
    return Z;
  }

  /* −Σ q log p with q = (1 − ε) of the right token and ε / v of each; its derivative by the logits is p − q. */
  crossEntropy(X, ids, { smoothing = 0, skip = -1 } = {}) {
    const v = X.shape.at(-1);
    const counted = ids.filter((id) => id !== skip).length;
    const Z = this.value([1]);
    const p = this.space.floats(X.data.length);
    ids.forEach((id, r) => {
      if (id === skip) return;
      const from = r * v;
      let [top, total, sum] = [-Infinity, 0, 0];
      for (let j = 0; j < v; j++) top = Math.max(top, X.data[from + j]);
      for (let j = 0; j < v; j++) total += p[from + j] = Math.exp(X.data[from + j] - top);
      for (let j = 0; j < v; j++) {
        p[from + j] /= total;
        sum += X.data[from + j];
      }
      const level = top + Math.log(total); // log p = x − level
      Z.data[0] += (level - (1 - smoothing) * X.data[from + id] - (smoothing * sum) / v) / counted;
    });
    this.#back.push(() => ids.forEach((id, r) => {
      if (id === skip) return;
      for (let j = 0; j < v; j++) X.grad[r * v + j] += (Z.grad[0] * (p[r * v + j] - smoothing / v - (j === id ? 1 - smoothing : 0))) / counted;
    }));
    return Z;
  }
}

/* X Wᵀ + b, the product in which a model spends its time: four numbers at a time in WebAssembly, else in JavaScript.
   new Products(kernel).keep(numbers, outputs) → a matrix W; .linear(X, W, b) → a new Float32Array
   `kernel` are the bytes of kernel.wat, assembled; without them, or without SIMD, it runs in JavaScript                        */

const PAGE = 65536;
const IN_STEP = 4; // numbers per instruction

export class Products {
  #memory = new WebAssembly.Memory({ initial: 1 });
  #end = 0; // bytes in use
  #work = { at: 0, bytes: 0 }; // buffer for X and Y
  #fast;

  constructor(kernel) {
    const can = kernel && WebAssembly.validate(kernel);
    this.#fast = can && new WebAssembly.Instance(new WebAssembly.Module(kernel), { twin: { memory: this.#memory } }).exports.linear;
  }

  get isFast() {
    return Boolean(this.#fast);
  }

  /* Keep W of (outputs, n) for the lifetime of the model. */
  keep(numbers, outputs) {
    const at = this.#room(numbers.length * 4);
    this.#floats(at, numbers.length).set(numbers);
    return { at, outputs, n: numbers.length / outputs };
  }

  /* Return a row of W. */
  row({ at, n }, i) {
    return this.#floats(at + 4 * n * i, n).slice();
  }

  /* X (rows, n) → (rows, outputs); `b` has a number for each output. */
  linear(X, W, b) {
    const rows = X.length / W.n;
    if (!this.#fast || W.n % IN_STEP || W.outputs % IN_STEP) return plain(X, this.#floats(W.at, W.n * W.outputs), b, rows, W);
    const x = this.#through(4 * (X.length + rows * W.outputs));
    const y = x + 4 * X.length;
    this.#floats(x, X.length).set(X);
    const Y = this.#floats(y, rows * W.outputs);
    if (b) for (let r = 0; r < rows; r++) Y.set(b, r * W.outputs);
    else Y.fill(0);
    this.#fast(x, W.at, y, rows, W.n, W.outputs);
    return Y.slice();
  }

  #floats(at, length) {
    return new Float32Array(this.#memory.buffer, at, length);
  }

  #room(bytes) {
    const at = this.#end;
    this.#end = at + Math.ceil(bytes / 16) * 16;
    const missing = this.#end - this.#memory.buffer.byteLength;
    if (missing > 0) this.#memory.grow(Math.ceil(missing / PAGE));
    return at;
  }

  #through(bytes) {
    if (bytes > this.#work.bytes) this.#work = { at: this.#room(2 * bytes), bytes: 2 * bytes };
    return this.#work.at;
  }
}

function plain(X, W, b, rows, { n, outputs }) {
  const Y = new Float32Array(rows * outputs);
  for (let r = 0; r < rows; r++) {
    for (let j = 0; j < outputs; j++) {
      let total = b ? b[j] : 0;
      for (let i = 0; i < n; i++) total += X[r * n + i] * W[j * n + i];
      Y[r * outputs + j] = total;
    }
  }
  return Y;
}

/* Where a machine's numbers live, and the two products in which training spends its time.

   new Space(kernel)    numbers in 32 bits, products by kernel.wat, which works on the memory in which they lie
   new Doubles()        the same in 64 bits and in JavaScript, to be held against the library

   .floats(n)           n numbers, all 0
   .reset()             take all of them back
   .keep()              what was made up to here stays; the rest is taken back by .clear(), or by .clear(end) what was made since .end
   .dots(A, B, C, { rows, n, outputs, many })               C (rows, outputs) += A (rows, n) · B (outputs, n)ᵀ
   .product(A, B, C, { rows, n, columns, many, turned })    C (rows, columns) += A (rows, n) · B (n, columns); `turned`: A lies as (n, rows)
   `many` matrices lie one behind the other in each of A, B and C                                                         */

const PAGE = 65536;
const MOST = 192 * 1024 * 1024; // bytes
const STEP = 4; // numbers per instruction

/* Both products of one matrix each, whatever the numbers, from a, b and c on. */
function dots(A, B, C, { rows, n, outputs }, a, b, c) {
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < outputs; j++) {
      let sum = 0;
      for (let k = 0; k < n; k++) sum += A[a + i * n + k] * B[b + j * n + k];
      C[c + i * outputs + j] += sum;
    }
  }
}

function product(A, B, C, { rows, n, columns, turned }, a, b, c) {
  const [down, right] = turned ? [1, rows] : [n, 1];
  for (let i = 0; i < rows; i++) {
    for (let k = 0; k < n; k++) {
      const x = A[a + i * down + k * right];
      for (let j = 0; j < columns; j++) C[c + i * columns + j] += x * B[b + k * columns + j];
    }
  }
}

const each = (work) => (A, B, C, sizes) => {
  const { many, rows, n, outputs, columns = outputs } = sizes;
  for (let m = 0; m < many; m++) work(A, B, C, sizes, m * rows * n, m * n * columns, m * rows * columns);
};

export class Doubles {
  floats = (n) => new Float64Array(n);
  reset() {}
  keep() {}
  clear() {}
  dots = each(dots);
  product = each(product);
}

export class Space {
  #memory = new WebAssembly.Memory({ initial: 1, maximum: MOST / PAGE });
  end = 0; // bytes in use
  #kept = 0;
  #fast;

  constructor(kernel) {
    this.#memory.grow(MOST / PAGE - 1); // at once: a memory that grows leaves its arrays behind
    if (kernel && WebAssembly.validate(kernel)) this.#fast = new WebAssembly.Instance(new WebAssembly.Module(kernel), { space: { memory: this.#memory } }).exports;
  }

  get isFast() {
    return Boolean(this.#fast);
  }

  floats(n) {
    const at = this.end;
    this.end += Math.ceil(n / STEP) * STEP * 4;
    if (this.end > MOST) throw new RangeError(`The machine needs more than ${MOST / 1024 / 1024} MB. Make it smaller, or its batches.`);
    return new Float32Array(this.#memory.buffer, at, n).fill(0);
  }

  reset() {
    this.end = this.#kept = 0;
  }

  keep() {
    this.#kept = this.end;
  }

  clear(end = this.#kept) {
    this.end = end;
  }

  dots = each((A, B, C, sizes, a, b, c) => {
    const { rows, n, outputs } = sizes;
    if (!this.#fast || n % STEP) return dots(A, B, C, sizes, a, b, c);
    this.#fast.dots(A.byteOffset + 4 * a, B.byteOffset + 4 * b, C.byteOffset + 4 * c, rows, n, outputs);
  });

  product = each((A, B, C, sizes, a, b, c) => {
    const { rows, n, columns, turned } = sizes;
    if (!this.#fast || columns % STEP) return product(A, B, C, sizes, a, b, c);
    this.#fast.product(A.byteOffset + 4 * a, B.byteOffset + 4 * b, C.byteOffset + 4 * c, rows, n, columns, ...(turned ? [1, rows] : [n, 1]));
  });
}

/* Where a machine's numbers live, and the two products in which training spends its time.

   new Space(kernel)    numbers in 32 bits, products by kernel.wat, which works on the memory in which they lie
   new Doubles()        the same in 64 bits and in JavaScript, to be held against the library

   .floats(n)           n numbers, all 0
   .keep()              what was made up to here stays; the rest is taken back by .clear()
   .dots(A, B, C, rows, n, outputs)                         C (rows, outputs) += A (rows, n) · B (outputs, n)ᵀ
   .product(A, B, C, rows, inner, columns, transposed)      C (rows, columns) += A (rows, inner) · B (inner, columns);
                                                            `transposed`: A lies as (inner, rows)                  */

const PAGE = 65536;
const MOST = 96 * 1024 * 1024; // bytes
const STEP = 4; // numbers per instruction

/* Both products, whatever the numbers; the loops run along the rows of memory. */
function dots(A, B, C, rows, n, outputs) {
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < outputs; j++) {
      let sum = 0;
      for (let k = 0; k < n; k++) sum += A[i * n + k] * B[j * n + k];
      C[i * outputs + j] += sum;
    }
  }
}

function product(A, B, C, rows, inner, columns, transposed) {
  const [down, right] = transposed ? [1, rows] : [inner, 1];
  for (let i = 0; i < rows; i++) {
    for (let k = 0; k < inner; k++) {
      const a = A[i * down + k * right];
      for (let j = 0; j < columns; j++) C[i * columns + j] += a * B[k * columns + j];
    }
  }
}

export class Doubles {
  floats = (n) => new Float64Array(n);
  keep() {}
  clear() {}
  dots = dots;
  product = product;
}

export class Space {
  #memory = new WebAssembly.Memory({ initial: 1, maximum: MOST / PAGE });
  #end = 0; // bytes in use
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
    const at = this.#end;
    this.#end += Math.ceil(n / STEP) * STEP * 4;
    if (this.#end > MOST) throw new RangeError(`The machine needs more than ${MOST / 1024 / 1024} MB. Make it smaller, or its batches.`);
    return new Float32Array(this.#memory.buffer, at, n).fill(0);
  }

  keep() {
    this.#kept = this.#end;
  }

  clear() {
    this.#end = this.#kept;
  }

  dots(A, B, C, rows, n, outputs) {
    if (!this.#fast || n % STEP) return dots(A, B, C, rows, n, outputs);
    this.#fast.dots(A.byteOffset, B.byteOffset, C.byteOffset, rows, n, outputs);
  }

  product(A, B, C, rows, inner, columns, transposed) {
    if (!this.#fast || columns % STEP) return product(A, B, C, rows, inner, columns, transposed);
    this.#fast.product(A.byteOffset, B.byteOffset, C.byteOffset, rows, inner, columns, ...(transposed ? [1, rows] : [inner, 1]));
  }
}

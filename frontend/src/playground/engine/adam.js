/* Adam, as torch.optim.Adam, with the paper's β and ε. new Adam(space, parameters).step(rate) moves them and clears their derivatives. */

const [B1, B2, EPSILON] = [0.9, 0.98, 1e-9];

export class Adam {
  #steps = 0;

  constructor(space, parameters) {
    this.each = Object.values(parameters).map((value) => ({ value, m: space.floats(value.data.length), v: space.floats(value.data.length) }));
  }

  step(rate) {
    this.#steps++;
    const [one, two] = [1 - B1 ** this.#steps, 1 - B2 ** this.#steps];
    for (const { value: { data, grad }, m, v } of this.each) {
      for (let i = 0; i < data.length; i++) {
        const g = grad[i];
        m[i] = B1 * m[i] + (1 - B1) * g;
        v[i] = B2 * v[i] + (1 - B2) * g * g;
        data[i] -= (rate * (m[i] / one)) / (Math.sqrt(v[i] / two) + EPSILON);
        grad[i] = 0;
      }
    }
  }
}

/* What all machines have: parameters, given or drawn, by the library's names; and `weights`, what attention weighed, by its path. */

import { random } from "../../twin/random.js";
import { sizeOf } from "./tape.js";

export class Machine {
  constructor(tape, config, weights) {
    Object.assign(this, { tape, config, given: weights, parameters: {}, weights: {}, draw: random(config.seed ?? 0) });
  }

  forward(batch) {
    return this.decode(batch, this.encode(batch));
  }

  parameter(name, shape, draw) {
    const numbers = this.given ? this.given[name] : Float64Array.from({ length: sizeOf(shape) }, draw);
    if (numbers?.length !== sizeOf(shape)) throw new Error(`The weights lack ${name} of ${shape.join(" × ")}.`);
    return (this.parameters[name] = this.tape.value(shape, numbers));
  }

  normal() {
    return Math.sqrt(-2 * Math.log(1 - this.draw())) * Math.cos(2 * Math.PI * this.draw());
  }
}

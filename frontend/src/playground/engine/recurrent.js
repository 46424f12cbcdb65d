/* The rivals on a tape: a GRU reads, another writes, and with "gru attention" it looks back at every state of the first.
   As tfm_lib.recurrence.Seq2Seq and tfm_lib.alignment.AttentiveSeq2Seq (score "dot"); names and shapes of the weights are theirs.
   Used as the Transformer is, with the config { machine, vocab_size, d_model, seed }.                                     */

import { Machine } from "./machine.js";
import { mask } from "./transformer.js";

export class Seq2Seq extends Machine {
  constructor(tape, config, weights) {
    super(tape, config, weights);
    const { vocab_size: v, d_model: d } = config;
    [this.read, this.written] = ["src", "tgt"].map((side) => this.parameter(`${side}_embedding.weight`, [v, d], () => this.normal()));
    [this.encoder, this.decoder] = ["encoder", "decoder"].map((side) => new GRU(this, side, d));
    this.output = this.linear("output", d, v);
    this.W_c = config.machine === "gru attention" && this.linear("W_c", 2 * d, d);
  }

  /* Every state of the encoder, and the last one before each padding. */
  encode({ size, src, m, pad }) {
    const { tape, config: { d_model } } = this;
    const start = tape.value([size, d_model]);
    const H = this.encoder.forward(tape.gather(this.read, src, [size, m]), start); // (batch, m, d_model)
    const lengths = Array.from({ length: size }, (_, b) => src.slice(b * m, (b + 1) * m).filter((id) => id !== pad).length);
    return { H, last: tape.gather(H, lengths.map((length, b) => b * m + length - 1), [size]) };
  }

  decode({ size, src, m, tgt, n, pad }, { H, last }) {
    const { tape } = this;
    const h = this.decoder.forward(tape.gather(this.written, tgt, [size, n]), last); // (batch, n, d_model)
    return this.output(this.W_c ? this.attend(h, H, mask(size, n, m, (b, _, j) => src[b * m + j] === pad)) : h);
  }

  /* tanh([h; c]W_c), c = softmax(hHᵀ)H */
  attend(h, H, hidden) {
    const { tape } = this;
    const weights = tape.softmax(tape.product(h, H, { transposed: true }), hidden); // (batch, n, m)
    this.weights.attention = weights;
    return tape.tanh(this.W_c(tape.concat(h, tape.product(weights, H))));
  }

  /* Drawn as PyTorch draws them: uniform up to 1 / √inputs. */
  affine(weight, bias, inputs, outputs) {
    const draw = () => (2 * this.draw() - 1) / Math.sqrt(inputs);
    const [W, b] = [this.parameter(weight, [outputs, inputs], draw), this.parameter(bias, [outputs], draw)];
    return (X) => this.tape.add(this.tape.product(X, W, { transposed: true }), b);
  }

  linear = (path, inputs, outputs) => this.affine(`${path}.weight`, `${path}.bias`, inputs, outputs);
}

/* r = σ(…), z = σ(…), n = tanh(W x + r ⊙ U h), and the next state n + z ⊙ (h − n). */
class GRU {
  constructor(model, path, d) {
    Object.assign(this, { tape: model.tape, d });
    [this.input, this.state] = ["ih", "hh"].map((kind) => model.affine(`${path}.weight_${kind}_l0`, `${path}.bias_${kind}_l0`, d, 3 * d));
  }

  forward(X, h) {
    const { tape, d } = this;
    const [size, n] = X.shape;
    const inputs = this.input(X); // (batch, n, 3 · d): for r, z and n, of all steps at once
    const states = [];
    for (let t = 0; t < n; t++) {
      const given = tape.gather(inputs, Array.from({ length: size }, (_, b) => b * n + t), [size]);
      const own = this.state(h);
      const [r, z] = [0, d].map((from) => tape.sigmoid(tape.add(tape.columns(given, from, from + d), tape.columns(own, from, from + d))));
      const fresh = tape.tanh(tape.add(tape.columns(given, 2 * d, 3 * d), tape.multiply(r, tape.columns(own, 2 * d, 3 * d))));
      h = tape.add(fresh, tape.multiply(z, tape.add(h, tape.scale(fresh, -1))));
      states.push(h);
    }
    return tape.stack(states);
  }
}

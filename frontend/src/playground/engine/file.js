/* A trained model as a file that the library reads (tfm_lib.engine.trained): safetensors, with the sizes and tokens in its head.

   isLibrarys(settings)        whether the library has such a machine
   bytesOf(weights, settings)  the file; `weights` are { name: { shape, data } }                                               */

import { FIRST, LETTERS, PAD, TASKS } from "./tasks.js";

export const isLibrarys = ({ machine, norm, positions, scale, residuals, feed_forward, causal }) =>
  machine === "transformer" && norm !== "none" && positions === "sinusoidal" && scale && residuals && feed_forward && causal;

export function bytesOf(weights, { task, d_model, n_heads, d_ff, n_layers, norm }) {
  const { tokens, size } = TASKS[task];
  const model = { vocab_size: size + 1, d_model, n_heads, d_ff, n_layers, norm, max_len: 64 };
  const head = { __metadata__: { model: JSON.stringify(model), ...(tokens === LETTERS ? { letters: tokens.join("") } : { words: JSON.stringify(tokens) }), task } };
  const parts = [];
  let end = 0;
  for (const [name, value] of Object.entries(weights)) {
    const { shape, data } = name === "embedding.tokens.weight" ? withUnknown(value) : value;
    head[name] = { dtype: "F32", shape, data_offsets: [end, (end += 4 * data.length)] };
    parts.push(new Float32Array(data));
  }
  const text = JSON.stringify(head);
  const words = new TextEncoder().encode(text + " ".repeat(-text.length & 7)); // the numbers begin at a multiple of eight
  return new Blob([new BigUint64Array([BigInt(words.length)]), words, ...parts]);
}

/* The library has an id for unknown tokens before the tokens; its row is that of the padding, which is never written either. */
function withUnknown({ shape: [size, d], data }) {
  const rows = [...data];
  return { shape: [size + 1, d], data: [...rows.slice(0, FIRST * d), ...rows.slice(PAD * d, (PAD + 1) * d), ...rows.slice(FIRST * d)] };
}

/* A trained model as a file that the library reads (tfm_lib.engine.trained): safetensors, with the sizes and tokens in its head.

   isLibrarys(settings)        whether the library has such a machine
   bytesOf(weights, settings)  the file; `weights` are { name: { shape, data } }
   opened(files)               a promise of the model in such a file, or in the three of a folder that `tfm train` wrote:
                               { name, task, settings, weights, count }; it rejects with a sentence                            */

import { Tokenizer } from "../../twin/tokenizer.js";
import { read } from "../../twin/weights.js";
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

const MOST = 2_000_000; // parameters, which the worker has room for
const WORDS = {
  choose: "Choose a file that the playground saved, or model.safetensors, config.json and tokenizer.json of a folder of tfm train together.",
  damaged: "{name} can't be read: it isn't a whole .safetensors file.",
  large: "{name} has {count} parameters, and 2,000,000 are the most that this page opens.",
};
const said = (words, holes) => words.replace(/\{(\w+)\}/g, (_, hole) => holes[hole]);

export async function opened(files) {
  const named = (end) => files.find(({ name }) => name.endsWith(end));
  const [file, config, tokenizer] = [".safetensors", "config.json", "tokenizer.json"].map(named);
  if (!file) throw new Error(WORDS.choose);
  const { name } = file;
  let head, found;
  try {
    const bytes = new Uint8Array(await file.arrayBuffer());
    head = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true))))).__metadata__;
    found = read(bytes);
  } catch {
    throw new Error(said(WORDS.damaged, { name }));
  }
  if (!head?.model && !(config && tokenizer)) throw new Error(WORDS.choose);
  const model = head?.model ? JSON.parse(head.model) : JSON.parse(await config.text()).model;
  const task = head?.model ? TASKS[head.task] : ofTokenizer(new Tokenizer(JSON.parse(await tokenizer.text())));
  const weights = Object.fromEntries([...found].map(([path, { shape, numbers }]) => [path, head?.model && path === "embedding.tokens.weight" ? withoutUnknown(shape, numbers) : numbers]));
  const count = [...found.values()].reduce((sum, { numbers }) => sum + numbers.length, 0);
  if (count > MOST) throw new Error(said(WORDS.large, { name, count: count.toLocaleString("en") }));
  const { d_model, n_heads, d_ff, n_layers, norm = "post" } = model;
  return { name, task, settings: { machine: "transformer", task: head?.model && head.task, d_model, n_heads, d_ff, n_layers, norm }, weights, count };
}

const withoutUnknown = ([, d], numbers) => Float32Array.from([...numbers.subarray(0, FIRST * d), ...numbers.subarray((FIRST + 1) * d)]);

/* A task of whose answers nothing is known: sub-words, each with a mark where a word begins. */
const ofTokenizer = (tokenizer) => ({
  size: tokenizer.length,
  read: tokenizer.encode,
  unknown: tokenizer.unknown,
  written: (ids) => ids.map((id) => tokenizer.piece(id) ?? "·"),
});

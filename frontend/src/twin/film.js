/* The numbers of the film for a sentence of the reader's own, as tfm_lib.widgets._film.record. */

import { asRead } from "../kit/as_read.js";
import { likeliest } from "./decoding.js";
import { rowsOf } from "./transformer.js";

const BEAM = { by: "beam", beam: 4, alpha: 0.6 };
const [FOCUS, KEPT, OF_EACH, WAYS, UNITS] = ["cat", 12, 2, 4, 32];

const rounded = (X, digits = 2) => (typeof X === "number" ? Number(X.toFixed(digits)) : Array.from(X, (x) => rounded(x, digits)));
const heaviest = (row) => row.indexOf(Math.max(...row));
const meanOf = (heads) => heads[0].map((row, i) => Array.from(row, (_, j) => heads.reduce((total, head) => total + head[i][j], 0) / heads.length));
const dot = (p, q) => p.reduce((total, x, i) => total + x * q[i], 0);
/* The first `count` numbers of the rows' mixture. */
const mixed = (share, rows, count) => Array.from({ length: count }, (_, k) => rows.reduce((total, row, j) => total + share[j] * row[k], 0));
const isWord = (text) => /^\p{L}+$/u.test(text);

/* { film: { one, plain } }, null if nothing is written, or undefined for a sentence of more than `most` tokens, <eos> not counted. */
export function* film(translator, src, { sentence, most }) {
  const { model, tokenizer, config } = translator;
  const { ids, translation } = yield* translator.translate(sentence, BEAM);
  if (!ids?.length) return null;
  if (src.length > most + 1 || ids.length > most) return undefined;
  const tgt = [tokenizer.bos, ...ids];
  const seen = new Map();
  const note = (name, value) => seen.set(name, value);
  model.broken = {};
  const memory = model.encode(src, note);
  const entered = { encoder: model.embed(src, [...src.keys()]), decoder: model.embed(tgt, [...tgt.keys()]) };
  const logits = rowsOf(model.unembed(model.decode(tgt, memory, undefined, note)), config.vocab_size);
  yield;
  const d = config.d_model;
  const rows = (X) => rowsOf(X, d).map((row) => row.subarray(0, KEPT));
  const add = (X, Y) => X.map((x, i) => x + Y[i]);
  const pieces = (all) => all.map(tokenizer.piece);
  const named = (all) => pieces(all).map((piece) => asRead(piece, pieces(all)));
  const [words, written] = [[...named(src.slice(0, -1)), "<eos>"], ["<bos>", ...named(ids), "<eos>"]];
  const top = config.n_layers - 1;
  const paths = { first: "encoder.0.self_attention", last: `encoder.${top}.self_attention`, own: "decoder.0.self_attention", cross: `decoder.${top}.cross_attention` };
  const weights = (name) => seen.get(`${paths[name]}.weights`);
  const size = d / config.n_heads;
  const slice = (row, head) => row.subarray(head * size, (head + 1) * size);
  const partOf = (X, head) => rowsOf(X, d).map((row) => slice(row, head));
  const crossed = meanOf(weights("cross"));
  const [focus, head] = followed(weights("first"), words);
  const step = crossing(crossed, written);
  const looked = heaviest(crossed[step].slice(0, -1));
  const largestOf = (name, value) => heaviest(weights(name).map(value));
  const heads = {
    first: head,
    last: largestOf("last", (each) => Math.max(...each[focus].map((x, j) => (j === focus ? 0 : x)))),
    own: largestOf("own", (each) => Math.max(...each[step].slice(0, Math.max(1, step)))),
    cross: largestOf("cross", (each) => each[step][looked]),
  };
  const looks = Object.fromEntries(Object.entries(paths).map(([name, path]) => {
    const queries = partOf(seen.get(`${path}.queries`), heads[name]);
    const keys = (name === "cross" ? memory.kept[top].K : rowsOf(seen.get(`${path}.keys`), d)).map((row) => slice(row, heads[name]));
    const dots = queries.map((q) => keys.map((k) => dot(q, k)));
    return [name, { head: heads[name], queries: rounded(queries), keys: rounded(keys), dots: rounded(dots, 3), weights: rounded(weights(name)[heads[name]]) }];
  }));
  const values = seen.get(`${paths.first}.values`);
  const [Q, K, V] = [...["queries", "keys"].map((part) => seen.get(`${paths.first}.${part}`)), values].map((X) => partOf(X, head));
  const share = weights("first")[head][focus];
  const rise = (side) => [entered[side], ...model[side].map((_, l) => seen.get(`${side}.${l}.output`))].map((X) => rounded(rows(X)));
  const added = seen.get(`${paths.first}.output`);
  const hidden = rowsOf(seen.get("encoder.0.feed_forward.hidden"), config.d_ff)[focus];
  const embedded = src.map((id) => model.products.row(model.tokens, id).map((x) => x * Math.sqrt(d)));
  const one = {
    sentence, translation, words, written, focus, step,
    names: {
      focus: words[focus], seen: words[heaviest(share)], read: written[step], next: written[step + 1], looked: words[looked],
      before: step ? words[heaviest(crossed[step - 1].slice(0, -1))] : "",
      kept: KEPT, d_model: d.toLocaleString("en"), heads: config.n_heads, layers: top + 1, hidden: hidden.length.toLocaleString("en"),
    },
    embedded: rounded(embedded.map((row) => row.subarray(0, KEPT))),
    position: rounded(rows(entered.encoder).map((row, i) => row.map((x, j) => x - embedded[i][j]))),
    states: rise("encoder"),
    values: rounded(V.map((row) => row.subarray(0, KEPT))),
    scores: rounded(K.map((row) => dot(row, Q[focus]) / Math.sqrt(size))),
    mixed: rounded(mixed(share, V, KEPT)),
    heads: rounded(weights("first").map((each) => each[focus])),
    joined: rounded(weights("first").flatMap((each, head) => mixed(each[focus], partOf(values, head), OF_EACH))),
    added: rounded(rows(added)[focus]),
    between: rounded(rows(add(entered.encoder, added))),
    thought: rounded(rows(seen.get("encoder.0.feed_forward.output"))[focus]),
    units: Array.from({ length: UNITS }, (_, k) => hidden.slice((k * hidden.length) / UNITS, ((k + 1) * hidden.length) / UNITS).filter((x) => x > 0).length),
    around: rounded(model.encoder.map((_, l) => meanOf(seen.get(`encoder.${l}.self_attention.weights`)))),
    memory: rounded(rows(memory.H)),
    looks_back: rounded(meanOf(weights("own"))),
    rising: rise("decoder"),
    crossed: rounded(crossed),
    asked: rounded(model.decoder.map((_, l) => meanOf(seen.get(`decoder.${l}.cross_attention.weights`))[step])),
    looks,
    next: logits.map((row) => likeliest(row, WAYS).map(({ token, logP }) => [token === tokenizer.eos ? "<eos>" : asRead(tokenizer.piece(token), pieces(ids)), rounded(Math.exp(logP), 3)])),
  };
  const { translation: plain } = yield* translator.translate(sentence, BEAM, { positions: true });
  return { film: { one, plain } };
}

/* The word that is followed, and the head in which it looks most at the word before it. */
function followed(weights, words) {
  const after = [...words.keys()].filter((i) => i && i < words.length - 1 && isWord(words[i]) && isWord(words[i - 1]));
  const cat = words.indexOf(FOCUS);
  let best = [0, 0, -1];
  for (const i of after.includes(cat) ? [cat] : after) weights.forEach((each, head) => each[i][i - 1] > best[2] && (best = [i, head, each[i][i - 1]]));
  return best;
}

/* The first step that looks, with more than half its weight, further left in the source than the step before; or the one with the
   largest weight of those that begin a word, if there is one. */
function crossing(crossed, written) {
  const rows = crossed.slice(0, -1).map((row) => row.slice(0, -1));
  const [largest, place] = [rows.map((row) => Math.max(...row)), rows.map(heaviest)];
  const found = rows.findIndex((_, j) => j && place[j] < place[j - 1] && largest[j] > 0.5 && largest[j - 1] > 0.5);
  return found < 0 ? heaviest(largest.map((weight, j) => weight - written[j + 1].startsWith("-"))) : found;
}

/* Compute a recorded widget's data for the reader's own sentence: view(translator, { do, sentence, … }), a generator that pauses
   regularly and returns { doubts, found }; `found` is null for a sentence that is too long, else what VIEWS[do] returns.
   A view returns null if the model writes nothing, and undefined for a sentence with too many words for its picture.

   A view gets the translator, the ids of the source, and the rest of the request. Nothing of the model is switched off while a view runs.

   heads, ablation, follow      see inside.js; film see film.js
   tree { widest }              the traits of BeamTree, as tfm_lib.widgets.decoding.translator_tree
   sampling { place, named }    logits, best first, and names of the next token after `place` tokens of the greedy translation, as
                                translator_sampling; by default at the place where the best token is least probable: { logits, tokens, written, place, places }
   pieces                       the sentence's sub-words as the model reads them, and the vocabulary size: { read, known }
   smoothing                    for each token of the greedy translation, as tfm_lib.widgets.training.translator_smoothing: its name, its
                                probability, and the mean −log p of all others: { written, sure, others, known }, known tokens in all */

import { film } from "./film.js";
import * as inside from "./inside.js";
import { Beam, NextToken, copied, greedy, likeliest, probabilities } from "./decoding.js";
import { rowsOf } from "./transformer.js";

export function* view(translator, { do: name, sentence, ...asked }) {
  const { ids, doubts } = translator.look(sentence);
  if (doubts.includes("long")) return { doubts, found: null };
  const going = VIEWS[name](translator, [...ids, translator.tokenizer.eos], { sentence, ...asked });
  for (;;) {
    translator.model.broken = {}; // another widget may have used the model meanwhile
    const step = going.next();
    if (step.done) return step.value ? { doubts, found: step.value } : { doubts: [step.value === null ? "empty" : "many"], found: null };
    yield {};
  }
}

const [END, SPARE, MOST_ALPHA] = ["<eos>", 8, 1]; // tokens by which a translation may be longer than its source

/* tokens: names; tree[i]: [[token index, log-probability, node index or −1]] after path i, the first of which is empty. */
function* tree({ model, tokenizer }, src, { sentence, widest }) {
  const next = new NextToken(model, src);
  const [tokens, places, known, maxLen] = [[END], new Map([[tokenizer.eos, 0]]), new Map(), src.length + SPARE];
  const place = (id) => {
    if (!places.has(id)) places.set(id, tokens.push(tokenizer.piece(id)) - 1);
    return places.get(id);
  };
  const behind = (path) => (path.length ? copied(known.get(path.slice(0, -1).join()).row) : model.caches());
  let depth = 0;
  for (let width = 1; width <= widest; width++) {
    const search = new Beam(tokenizer.bos, tokenizer.eos, width, MOST_ALPHA, maxLen);
    while (!search.isOver) {
      const paths = search.open.map(({ ids }) => ids);
      const unread = paths.filter((path) => !known.has(path.join()));
      next.rows = unread.map(behind);
      const logits = unread.length ? next.after(unread.map((path) => path.at(-1) ?? tokenizer.bos)) : [];
      unread.forEach((path, i) => {
        const ways = likeliest(logits[i], widest).map(({ token, logP }) => ({ token, logP: +logP.toFixed(5) }));
        ways.forEach(({ token }) => place(token));
        known.set(path.join(), { path, ways, row: next.rows[i], node: known.size });
      });
      search.advance(paths.map((path) => known.get(path.join()).ways));
      yield;
    }
    depth = Math.max(depth, search.length);
  }
  const nodes = [...known.values()].map(({ path, ways }) =>
    ways.map(({ token, logP }) => [place(token), logP, known.get([...path, token].join())?.node ?? -1]));
  return { tree: nodes, tokens, source: sentence, max_len: maxLen, depth };
}

const nameOf = (tokenizer, id) => (id === tokenizer.eos ? END : tokenizer.piece(id));

/* The model's greedy translation, and its logits after each token of it. */
function* writtenBy({ model, tokenizer, config }, src) {
  const ids = [...(yield* greedy(model, src, tokenizer, Math.min(2 * src.length + 20, config.max_len - 1)))];
  const Y = model.decode([tokenizer.bos, ...ids], model.encode(src));
  return { ids, logits: rowsOf(model.unembed(Y), config.vocab_size) };
}

function* sampling(translator, src, { place, named }) {
  const { tokenizer } = translator;
  const { ids, logits } = yield* writtenBy(translator, src);
  const best = logits.map((row) => Math.max(...probabilities(row)));
  const at = Math.min(place ?? best.indexOf(Math.min(...best)), ids.length);
  const order = [...logits[at].keys()].sort((a, b) => logits[at][b] - logits[at][a] || a - b);
  const written = ids.slice(0, at).map(tokenizer.piece).join("").replaceAll("▁", " ").trim();
  return { logits: order.map((id) => logits[at][id]), tokens: order.slice(0, named).map((id) => nameOf(tokenizer, id)), written, place: at, places: ids.length };
}

function* smoothing(translator, src) {
  const { tokenizer } = translator;
  const { ids, logits } = yield* writtenBy(translator, src);
  const tokens = [...ids, tokenizer.eos];
  const told = tokens.map((id, i) => {
    const logP = logProbabilities(logits[i]);
    return [Math.exp(logP[id]), (logP[id] - logP.reduce((a, b) => a + b, 0)) / (logP.length - 1)];
  });
  return { written: tokens.map((id) => nameOf(tokenizer, id)), sure: told.map(([p]) => p), others: told.map(([, rest]) => rest), known: logits[0].length };
}

function logProbabilities(logits) {
  const top = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const total = logits.reduce((sum, x) => sum + Math.exp(x - top), 0);
  return Float64Array.from(logits, (x) => x - top - Math.log(total));
}

function* pieces({ tokenizer }, src) {
  return { read: src.slice(0, -1).map(tokenizer.piece), known: tokenizer.length };
}

const VIEWS = { tree, sampling, smoothing, pieces, film, ...inside };

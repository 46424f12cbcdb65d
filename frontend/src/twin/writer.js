/* Write a text word by word, as tfm_lib.engine.writer, and look or reach inside the model while it reads.

   new Writer({ config, bytes }, kernel)    config = { model, words }: sizes, and the tokens in the order of their ids
     .encode(text)         → { ids, unknown }: <bos> and the text's words and signs, in lower case; those that become <unk>
     .decode(ids)          → the words up to the first <eos>, without <pad> and <bos>
     .tell(ids, how)       a generator: yields { id, word, p, rivals: [{ word, p }, …] } of each written token, the likeliest
                           tokens as rivals; returns the same of <eos>, or nothing if the text is cut off. It is greedy,
                           or if how = { temperature, topP, seed } sampled; how.most limits the number of tokens
     .run(ids, { seen, patched })   → the logits after each token; seen(name, value) as in transformer.js
   patched = { heads: [[layer, head], …], values, position }: what these heads say at `position` (the last, or from the end
   if negative) is replaced by what they say in another run, whose `values` are by name, as tfm_lib.assistant.patched_heads.
   A run or a story begins with at most config.model.max_len tokens, and nothing is written after as many.                */

import { DecoderOnly } from "./decoder.js";
import { best, draws, likeliest, probabilities } from "./decoding.js";
import { Products } from "./products.js";
import { rowsOf } from "./transformer.js";
import { read } from "./weights.js";
import { wordsOf } from "./words.js";

const RIVALS = 6;
const SPECIAL = ["<pad>", "<bos>", "<eos>", "<unk>"]; // ids 0 to 3

export class Writer {
  #ids;

  constructor({ config: { model, words }, bytes }, kernel) {
    this.config = model;
    this.words = words;
    this.#ids = new Map(words.map((word, id) => [word, id]));
    [this.pad, this.bos, this.eos, this.unk] = SPECIAL.map((token) => this.#ids.get(token));
    this.model = new DecoderOnly(model, read(bytes), new Products(kernel));
  }

  encode(text) {
    const tokens = wordsOf(text);
    const ids = tokens.map((token) => this.#ids.get(token.toLowerCase()) ?? this.unk);
    return { ids: [this.bos, ...ids], unknown: tokens.filter((_, i) => ids[i] === this.unk) };
  }

  decode(ids) {
    const end = ids.indexOf(this.eos);
    return (end < 0 ? ids : ids.slice(0, end)).filter((id) => id !== this.pad && id !== this.bos).map((id) => this.words[id]);
  }

  *tell(ids, { most = Infinity, ...how } = {}) {
    this.#require(ids);
    const choose = how.temperature ? draws(how) : best;
    const cache = this.model.cache();
    let unread = ids;
    for (let written = 0; written < most && cache.read + unread.length <= this.config.max_len; written++) {
      const X = this.model.hidden(unread, cache);
      const logits = this.model.unembed(X.subarray(-this.config.d_model));
      const told = this.#told(logits, choose(logits));
      if (told.id === this.eos) return told;
      yield told;
      unread = [told.id];
    }
  }

  run(ids, { seen, patched } = {}) {
    this.#require(ids);
    const patch = patched && patching(patched, this.config);
    const X = this.model.hidden(ids, undefined, (name, value) => {
      patch?.(name, value);
      seen?.(name, value);
    });
    return rowsOf(this.model.unembed(X), this.config.vocab_size);
  }

  #told(logits, id) {
    const p = probabilities(logits);
    const named = (token) => ({ word: this.words[token], p: p[token] });
    return { id, ...named(id), rivals: likeliest(logits, RIVALS).map(({ token }) => named(token)) };
  }

  #require(ids) {
    const { max_len } = this.config;
    if (!ids.length || ids.length > max_len) throw new RangeError(`This model reads from 1 to ${max_len} tokens, not ${ids.length}.`);
  }
}

/* A function that writes into `heads` as they pass: the next product reads what it has changed. */
function patching({ heads, values, position = -1 }, { d_model, n_heads }) {
  const d_k = d_model / n_heads;
  return (name, value) => {
    for (const [, head] of heads.filter(([layer]) => name === `layers.${layer}.self_attention.heads`)) {
      const [here, there] = [value, values[name]].map((X) => rowsOf(X, d_model).at(position).subarray(head * d_k, (head + 1) * d_k));
      here.set(there);
    }
  };
}

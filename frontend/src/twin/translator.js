/* Translate a sentence, as tfm_lib.engine.translator, and report the intermediate results that a page shows.

   new Translator({ config, tokenizer, bytes }, kernel)
     .look(sentence)                      → { sentence, ids, source, unknown, doubts }; `doubts` are names of problems
     .translate(sentence, how, broken)    a generator: yields { target } as it grows, returns the fields of `Found`
   how = { by: "greedy" }, { by: "beam", beam, alpha } or { by: "sample", temperature, topP, seed }
   broken: what is switched off, as Transformer.broken                                                                 */

import { beamSearch, greedy, likeliest, sample } from "./decoding.js";
import { Products } from "./products.js";
import { Tokenizer } from "./tokenizer.js";
import { rowsOf, Transformer } from "./transformer.js";
import { read } from "./weights.js";

const NEARLY = 6; // alternatives reported for each written word
const ENDLESS = 10_000; // letters; only the beginning of longer text is tokenised, so that nobody waits
const SHOUTED = 4; // a text of more letters than this, none in lower case, counts as all capitals
const WEIGHTS = /^(encoder|decoder)\.(\d+)\.(self|cross)_attention\.weights$/;

export class Translator {
  constructor({ config, tokenizer, bytes }, kernel) {
    const { model, typed } = config;
    this.typed = typed;
    this.config = model;
    this.tokenizer = new Tokenizer(tokenizer);
    this.model = new Transformer(model, read(bytes), new Products(kernel));
  }

  look(sentence) {
    const begun = sentence.slice(0, ENDLESS);
    const given = this.#asRead(begun);
    const { tokenizer } = this;
    const ids = tokenizer.encode(given);
    const unknown = tokenizer.unknown(begun);
    return { sentence, ids, source: [...tokenizer.pieces(given), tokenizer.piece(tokenizer.eos)], unknown, doubts: this.#doubts(sentence, ids, unknown) };
  }

  *translate(sentence, how, broken = {}) {
    const { tokenizer, model } = this;
    const seen = this.look(sentence);
    if (!seen.ids.length || seen.doubts.includes("long")) return { ...seen, target: [], translation: "" };
    const src = [...seen.ids, tokenizer.eos];
    model.broken = broken;
    const search = { greedy, beam: beamSearch, sample }[how.by];
    const settings = how.by === "greedy" ? [] : [how];
    const going = search(model, src, tokenizer, ...settings, Math.min(2 * src.length + 20, this.config.max_len));
    let step = going.next();
    for (; !step.done; step = going.next()) {
      const ids = how.by === "beam" ? step.value.found[0].ids : step.value;
      yield { target: ids.map(tokenizer.piece) };
      model.broken = broken; // another sentence may have been translated meanwhile
    }
    const hypotheses = how.by === "beam" ? step.value.found : [{ ids: step.value }];
    const kept = how.by === "beam" ? step.value.steps : [];
    const text = (ids) => tokenizer.decode(ids, seen.unknown);
    return {
      ...seen,
      ...this.#behind(src, hypotheses[0].ids),
      translation: text(hypotheses[0].ids),
      hypotheses: hypotheses.map(({ ids, ...rest }) => ({ ...rest, ids, text: text(ids) })),
      steps: kept.map((ways) => ways.map(({ token, ...rest }) => ({ ...rest, piece: tokenizer.piece(token) }))),
    };
  }

  /* All weights and the alternatives of each written token, from one pass over the whole translation: Found. */
  #behind(src, ids) {
    const { model, tokenizer, config } = this;
    const weights = { encoder: [], decoder: [], cross: [] };
    const seen = (name, value) => {
      const [, stack, layer, kind] = name.match(WEIGHTS) ?? [];
      if (stack) weights[kind === "cross" ? kind : stack][layer] = value;
    };
    const logits = (broken) => {
      model.broken = broken;
      const Y = model.decode([tokenizer.bos, ...ids], model.encode(src, seen), undefined, seen);
      return rowsOf(model.unembed(Y), config.vocab_size);
    };
    const { causal, ...others } = model.broken; // step by step, the causal mask has nothing to hide
    const written = [...ids, tokenizer.eos];
    const told = logits(others).map((row, i) => {
      const rivals = likeliest(row, NEARLY);
      const own = rivals.find(({ token }) => token === written[i]) ?? likeliest(row, row.length).find(({ token }) => token === written[i]);
      return { p: Math.exp(own.logP), rivals: rivals.map(({ token, logP }) => ({ piece: tokenizer.piece(token), p: Math.exp(logP) })) };
    });
    return { target: written.map(tokenizer.piece), ids, told, weights };
  }

  /* Lower a text in all capitals if the model was trained to raise it again. */
  #asRead(sentence) {
    const shouted = /\p{Uppercase}/u.test(sentence) && !/[\p{Lowercase}\p{Lt}]/u.test(sentence) && (sentence.match(/\p{L}/gu) ?? []).length > SHOUTED;
    return shouted && this.typed ? sentence.toLowerCase() : sentence;
  }

  /* Why this model cannot translate a sentence: "long", "script" of another alphabet, "signs" that it does not know. */
  #doubts(sentence, ids, unknown) {
    const count = (signs) => signs.filter((sign) => /\S/u.test(sign)).length;
    const strange = [...unknown.join("")].some((sign) => /\p{L}/u.test(sign) && !/\p{Script=Latin}/u.test(sign));
    const few = count(unknown) > count([...sentence.slice(0, ENDLESS)]) / 2;
    return [(ids.length >= this.config.max_len || sentence.length > ENDLESS) && "long", strange && "script", !strange && few && "signs"].filter(Boolean);
  }
}

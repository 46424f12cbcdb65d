/* node tests/twin_run.mjs job.json folder: what the twin makes of sentences, for those who hold it against the library.

   A job is { model, plain, tasks }: the folder of a model or the shipped one, with or without the fast kernel.             */

import { readFile } from "node:fs/promises";
import { done, ended, files, twin } from "./twin.mjs";

const [, , job, folder] = process.argv;
const { model, plain, tasks } = JSON.parse(await readFile(job, "utf8"));
const { Translator, greedy, kernel, likeliest, nucleus, probabilities, sample, view } = await twin();
const translator = new Translator(await files(model ?? undefined), plain ? undefined : kernel);
const { tokenizer } = translator;

const broken = ({ layers = [], heads = [], ...parts } = {}) => ({ ...parts, layers: new Set(layers), heads: new Set(heads) });

/* The logits after each token of a translation that is given. */
function forced(src, ids, off, seen) {
  translator.model.broken = broken(off);
  const Y = translator.model.decode([tokenizer.bos, ...ids], translator.model.encode(src, seen), undefined, seen);
  return translator.model.unembed(Y);
}

const DO = {
  about: () => ({ fast: translator.model.products.isFast, special: [tokenizer.pad, tokenizer.bos, tokenizer.eos, tokenizer.unk] }),

  read: ({ sentences }) => sentences.map((sentence) => [tokenizer.encode(sentence), tokenizer.pieces(sentence), tokenizer.unknown(sentence)]),

  look: ({ sentences }) => sentences.map((sentence) => translator.look(sentence)),

  /* With `forced`, the weights behind each translation and its logits follow as floats. */
  translate({ sentences, how, off, forced: asked }, floats) {
    return sentences.map((sentence) => {
      const found = ended(translator.translate(sentence, how, broken(off)));
      const { ids, translation, hypotheses, target, told } = found;
      if (!hypotheses) return { translation, target };
      if (asked) {
        for (const kind of ["encoder", "decoder", "cross"]) floats.push(...found.weights[kind].flat(2));
        floats.push(forced([...translator.look(sentence).ids, tokenizer.eos], ids, off));
      }
      return { ids, translation, target, told, hypotheses: hypotheses.map(({ ids: own, logP, score, text }) => ({ ids: own, logP, score, text })) };
    });
  },

  force({ pairs, off }, floats) {
    for (const [src, ids] of pairs) floats.push(forced(src, ids, off));
  },

  /* All that passes, by name. */
  trace({ pair: [src, ids] }, floats) {
    const names = [];
    forced(src, ids, undefined, (name, value) => {
      const numbers = Array.isArray(value) ? value.flat() : [value];
      names.push([name, numbers.reduce((total, { length }) => total + length, 0)]);
      floats.push(...numbers.map((some) => some.slice()));
    });
    return names;
  },

  /* What recorded widgets are given of a sentence. */
  view: ({ sentences, ...asked }) => sentences.map((sentence) => ended(view(translator, { do: asked.view, ...asked.how, sentence }))),

  nucleus: ({ logits, temperature, topP }) => nucleus(probabilities(Float32Array.from(logits), temperature), topP),

  likeliest: ({ logits, most }) => likeliest(Float32Array.from(logits), most),

  /* `count` tokens of a model that always says `logits`. */
  write({ logits, how, count }) {
    const constant = { config: { vocab_size: logits.length }, encode() {}, caches() {}, decode() {}, unembed: () => Float32Array.from(logits) };
    const settings = how.by === "sample" ? [how] : [];
    return ended({ greedy, sample }[how.by](constant, [], { bos: -1, eos: -2 }, ...settings, count));
  },
};

await done(DO, tasks, folder);

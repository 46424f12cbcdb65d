/* node tests/writer_run.mjs job.json folder: what the writer makes of texts, for those who hold it against the library.

   A job is { model, plain, tasks }: the folder of a model, with or without the fast kernel.                             */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { done, twin } from "./twin.mjs";

const [, , job, folder] = process.argv;
const { model, plain, tasks } = JSON.parse(await readFile(job, "utf8"));
const { Writer, kernel } = await twin();
const config = JSON.parse(await readFile(join(model, "config.json"), "utf8"));
const bytes = new Uint8Array(await readFile(join(model, "model.safetensors")));
const writer = new Writer({ config, bytes }, plain ? undefined : kernel);

const told = (generator) => {
  const all = [];
  for (let step = generator.next(); ; step = generator.next()) {
    if (step.done) return { all, ended: step.value ?? null };
    all.push(step.value);
  }
};

const DO = {
  about: () => ({ fast: writer.model.products.isFast }),

  read: ({ texts }) => texts.map((text) => writer.encode(text)),

  words: ({ ids }) => writer.decode(ids),

  run({ prompts }, floats) {
    for (const ids of prompts) floats.push(...writer.run(ids));
  },

  /* The logits, where of prompt i the first begun[i] tokens are read at once and each of the others alone, with a cache. */
  cached({ prompts, begun }, floats) {
    for (const [i, ids] of prompts.entries()) {
      const cache = writer.model.cache();
      for (const some of [ids.slice(0, begun[i]), ...ids.slice(begun[i]).map((id) => [id])]) floats.push(writer.model.unembed(writer.model.hidden(some, cache)));
    }
  },

  tell: ({ prompts, how }) => prompts.map((ids, i) => told(writer.tell(ids, { ...how, seed: i }))),

  /* All that passes, by name; then the logits. */
  trace({ ids, from, ...patch }, floats) {
    const [names, values] = [[], {}];
    if (from) writer.run(from, { seen: (name, value) => (values[name] = value) });
    const logits = writer.run(ids, { patched: from && { ...patch, values }, seen(name, value) {
      const numbers = Array.isArray(value) ? value.flat() : [value];
      names.push([name, numbers.reduce((total, { length }) => total + length, 0)]);
      floats.push(...numbers.map((some) => some.slice()));
    } });
    floats.push(...logits);
    return names;
  },

  refused: ({ ids }) => [() => writer.run(ids), () => writer.tell(ids).next()].map((act) => {
    try {
      return act() && null;
    } catch (error) {
      return error.message;
    }
  }),

  /* Milliseconds: a prompt at once, then each token after it. */
  time({ ids, most }) {
    const going = writer.tell(ids, { most, temperature: 1 });
    const times = [];
    for (let begun = performance.now(); !going.next().done; begun = performance.now()) times.push(performance.now() - begun);
    return times;
  },
};

await done(DO, tasks, folder);

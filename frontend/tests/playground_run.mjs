/* node tests/playground_run.mjs job.json result.json: what the playground's engine makes of given weights and batches, for those
   who hold it against the library.

   A job is { config, weights, batches, doubles, plain, smoothing, rate }: in 64 bits with `doubles`, in 32 without the kernel with
   `plain`. The result has the loss of each batch, with an update of Adam after each, the gradients of the first, and the weights
   in the end.

   A job { train, every, look } is a whole run by these settings: what it looks at every so many updates, the word `look` among it.
   With { save, spell } its weights are written to the file `save`, and what it writes for the words `spell` is told as `spelt`. */

import { build } from "esbuild";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { assembled } from "../wat.mjs";

const here = import.meta.dirname ?? new URL(".", import.meta.url).pathname;
const [, , from, to] = process.argv;

const folder = await mkdtemp(join(tmpdir(), "playground-"));
const outfile = join(folder, "playground.mjs");
await build({ entryPoints: [join(here, "../src/playground/engine/index.js")], bundle: true, format: "esm", target: "es2022", outfile, plugins: [assembled], logLevel: "warning" });
const { Adam, bytesOf, Doubles, kernel, made, SETTINGS, Space, Tape, Training } = await import(pathToFileURL(outfile));
await rm(folder, { recursive: true });

const numbers = (parameters, of) => Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, [...value[of]]]));

function run({ config, weights, batches, doubles, plain, smoothing, rate }) {
  const space = doubles ? new Doubles() : new Space(plain ? undefined : kernel);
  const tape = new Tape(space);
  const model = made(tape, config, weights);
  const adam = new Adam(space, model.parameters);
  space.keep();
  const result = { fast: Boolean(space.isFast), losses: [] };
  for (const batch of batches) {
    const loss = tape.crossEntropy(model.forward(batch), batch.out, { smoothing, skip: batch.pad });
    tape.back(loss);
    result.losses.push(loss.data[0]);
    result.gradients ??= numbers(model.parameters, "grad");
    adam.step(rate);
    tape.clear();
  }
  return { ...result, weights: numbers(model.parameters, "data") };
}

async function trained({ train, every, look, save, spell = [] }) {
  const settings = { ...SETTINGS, ...train };
  const run = new Training(space, settings);
  const moments = [];
  const judged = () => {
    const judging = run.exactness();
    for (;;) {
      const { done, value } = judging.next();
      if (done) return value;
    }
  };
  const seen = (loss) => {
    const { ids, weights } = run.write(run.task.read(look));
    moments.push({ step: run.steps, loss, exact: judged(), written: run.task.written(ids), weights, norms: run.norms });
  };
  let [sum, count, seconds] = [0, 0, 0];
  seen(null);
  while (run.steps < settings.updates) {
    const before = performance.now();
    sum += run.step();
    seconds += (performance.now() - before) / 1000;
    count++;
    if (run.steps % every) continue;
    seen(sum / count);
    [sum, count] = [0, 0];
  }
  if (save) await writeFile(save, Buffer.from(await bytesOf(run.model.parameters, settings).arrayBuffer()));
  const spelt = spell.length ? run.greedy(spell.map(run.task.read)).map(run.task.written) : [];
  return { settings, moments, seconds, spelt, spelled: run.spelled(run.unseen) / run.unseen.length };
}

const space = new Space(kernel);
const jobs = JSON.parse(await readFile(from, "utf8"));
const told = [];
for (const job of jobs) told.push(await (job.train ? trained : run)(job));
await writeFile(to, JSON.stringify(told));

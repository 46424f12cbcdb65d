/* The playground's worker: it trains while the page stays free. What the page says is

   { train: settings, serial, ids }   begin a run, whose answers bear that number, and look at the word `ids` on the way
   { go: true or false }      go on, or rest; { once: true } makes a single update
   { ids, at? }               look at another word, with the parameters after the kept update `at`
   { open: weights, settings, serial, ids }   look at a model that was trained elsewhere, with so many tokens: vocab_size
   { save: true }             answer with { weights }, as bytesOf in file.js takes them

   What it answers: { step, loss, rate, pace, word, look, exact?, norms?, rests } after each slice of time; `loss` is the mean
   since the last of the KEPT updates, `look` is as Training.write gives it for `word`, `exact` and `norms` come with each of
   those, `rests` when nothing runs any more. An answer about a kept update bears `past`.
   { failed } where the machine does not start.                                                                             */

import { pause } from "../../twin/pause.js";
import kernel from "./kernel.wat";
import { Space } from "./space.js";
import { Training } from "./training.js";

export const KEPT = 25;
const SLICE = 60; // milliseconds

const space = new Space(kernel);
let [run, ids, going, turning, losses, serial, kept] = []; // `kept`: the parameters after each of the KEPT updates
const post = (told) => globalThis.postMessage({ serial, ...told });
const fail = (error) => ([going, turning] = [], post({ failed: String(error.message ?? error) }));

async function turn(once) {
  if (turning) return;
  turning = true;
  do {
    const mine = run;
    const [from, before] = [run.steps, performance.now()];
    if (from % KEPT === 0) losses = [];
    do losses.push(run.step());
    while (!once && run.steps % KEPT && performance.now() - before < SLICE);
    const pace = (1000 * (run.steps - from)) / (performance.now() - before);
    const told = { step: run.steps, loss: losses.reduce((a, b) => a + b) / losses.length, rate: run.rate(), pace };
    if (run.steps % KEPT === 0) {
      const judging = run.exactness();
      let next;
      while (!(next = judging.next()).done && mine === run) await pause();
      Object.assign(told, { exact: next.value, norms: run.norms });
      if (mine === run) kept.set(run.steps, run.copied());
    }
    await pause();
    if (mine !== run) continue; // another run has begun meanwhile
    going &&= Number.isFinite(told.loss) && run.steps < run.settings.updates;
    post({ ...told, word: ids, look: run.write(ids), rests: !going });
    await pause();
  } while (going);
  turning = false;
}

globalThis.onmessage = ({ data }) => {
  try {
    if (data.save) return post({ weights: run.copied() });
    if (data.ids) ids = data.ids;
    if (data.train || data.open) [run, serial, going] = [new Training(space, data.train ?? data.settings, data.open), data.serial];
    if (data.train || data.open) kept = new Map([[0, run.copied()]]);
    if (!turning && kept.has(data.at)) return post({ step: data.at, past: true, word: ids, look: run.as(kept.get(data.at), () => run.write(ids)), rests: true });
    if ("go" in data) going = data.go;
    if (data.train || data.open || !turning) post({ step: run.steps, word: ids, look: run.write(ids), rests: !going });
    if (data.once || going) turn(data.once).catch(fail);
  } catch (error) {
    fail(error);
  }
};

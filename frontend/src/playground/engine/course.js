/* A training in a worker, as a page follows it, and what is kept of it.

   const course = new Course(worker, heard)   `heard(course)` after each word from the worker
     .run                                     { settings, moments, now, broken }: what was kept, the newest moment, and the
                                              update after which the loss was no longer a number
     .going, .pace, .trouble                  whether it trains; updates a second; why it doesn't
     .tell({ go, once, text, at }, settings?) to the worker, with what a reader typed; with `settings`, a new run begins; `at` asks
                                              the model as it was after that update, if it rests
     .doubts(text)                            what of it the run can't read: { unknown, most, none }: tokens, how many it reads,
                                              whether nothing is left
     .save(name)                              downloads the weights, where .canSave
     .open(files, text)                       a model from files, see opened in file.js; the run then has its name in .opened,
                                              and its number of parameters in .count; rejects with a sentence
     .rest()                                  it stops, and the run is given up
     .close()                                 the worker ends
   A moment is { step, loss, rate, exact, norms, word, right, written, weights, maps }, where `weights` are those of maps.cross.
   What it reads, should write and writes are words where tokens are letters, otherwise arrays.                                                                           */

import { bytesOf, isLibrarys, opened } from "./file.js";
import { LETTERS, TASKS } from "./tasks.js";
import { SETTINGS } from "./training.js";

const LONGEST = 16; // tokens

export class Course {
  #serial = 0;
  going = false;

  constructor(worker, heard) {
    Object.assign(this, { worker, heard });
    worker.onmessage = ({ data }) => this.#hear(data);
    worker.onerror = ({ message }) => this.#hear({ failed: message });
  }

  tell({ text, ...message }, settings) {
    this.trouble = undefined;
    if ("go" in message || message.once) this.going = Boolean(message.go);
    if (settings) this.run = { settings: { ...settings, d_ff: 2 * settings.d_model } };
    const typed = text == null ? [] : this.#task.read(text).slice(0, this.#longest);
    const ids = typed.length || !settings ? typed : this.#task.unseen(SETTINGS)[0];
    if (ids.length) message.ids = ids;
    if (settings) {
      this.run.moments = [{ step: 0, exact: 0, ...this.#read(ids), written: "", weights: [] }];
      Object.assign(message, { serial: ++this.#serial, train: { ...SETTINGS, ...this.run.settings } });
    }
    this.worker.postMessage(message);
  }

  get #task() {
    return this.run.task ?? TASKS[this.run.settings.task];
  }

  get #longest() {
    return this.#task.tokens === LETTERS ? this.run.settings.longest ?? LONGEST : LONGEST;
  }

  /* What nothing is known to be right for, is right as it is written. */
  #read = (ids, written = []) => ({ word: this.#task.written(ids), right: this.#task.answer ? this.#task.written(this.#task.answer(ids)) : this.#task.written(written) });

  doubts(text) {
    const count = this.#task.read(text).length;
    return { unknown: this.#task.unknown(text).filter((token) => token.trim()), most: count > this.#longest && this.#longest, none: !count };
  }

  /* Each attention of the last layer: the weights of its heads, what asks (rows) and what is looked at (columns). */
  #maps(word, { ids, weights }) {
    const [source, target] = [word, ids].map((found) => [...this.#task.written(found)]);
    const last = this.run.settings.n_layers - 1;
    const [ends, begins] = [[...source, "·"], ["▸", ...target]];
    const cut = (rows) => (this.run.opened ? rows.length : undefined); // a run keeps the rows of the longest right answer, so that nothing jumps
    const of = (found, rows, cols) => found && { weights: found.map((head) => head.slice(0, cut(rows))), rows, cols };
    return {
      cross: of(weights[`decoder.${last}.cross_attention`] ?? weights.attention, [...target, "·"], ends),
      encoder: of(weights[`encoder.${last}.self_attention`], ends, ends),
      decoder: of(weights[`decoder.${last}.self_attention`], [...target, "·"], begins),
    };
  }

  get canSave() {
    return Boolean(this.run && !this.run.opened && !this.going && !this.run.broken && isLibrarys(this.run.settings));
  }

  async open(files, text) {
    const { name, task, settings, weights, count } = await opened(files);
    this.run = { opened: name, task, settings, count };
    const typed = task.read(text).slice(0, this.#longest);
    this.run.moments = [{ step: 0, ...this.#read(typed), written: "", weights: [] }];
    this.worker.postMessage({ open: weights, settings: { ...SETTINGS, ...settings, task: "", vocab_size: task.size }, serial: ++this.#serial, ids: typed });
  }

  save(name) {
    this.name = name;
    this.worker.postMessage({ save: true });
  }

  #hear({ failed, weights: kept, serial, step, word, look, rests, past, ...told }) {
    const { run } = this;
    if (!failed && (!run || serial !== this.#serial)) return; // of a run that has ended
    if (kept) return download(this.name, bytesOf(kept, run.settings));
    if (failed) [this.trouble, this.going] = [failed, false];
    else if (Number.isNaN(told.loss)) [run.broken, run.now, this.going] = [step, undefined, false];
    else {
      if (rests) this.going = false;
      this.pace = told.pace ?? this.pace;
      const maps = this.#maps(word, look);
      const looked = { ...this.#read(word, look.ids), written: this.#task.written(look.ids), weights: maps.cross?.weights ?? [], maps };
      if (past) run.moments = run.moments.map((moment) => (moment.step === step ? { ...moment, ...looked } : moment));
      else run.now = { ...(run.now ?? run.moments.at(-1)), step, ...told, ...looked };
      if (told.exact != null) run.moments = [...run.moments.filter((moment) => moment.step < step), run.now];
    }
    this.heard(this);
  }

  rest() {
    this.worker.postMessage({ go: false });
    Object.assign(this, { run: undefined, going: false, trouble: undefined });
  }

  close() {
    this.worker.terminate();
  }
}

function download(name, blob) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

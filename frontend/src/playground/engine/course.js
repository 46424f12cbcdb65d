/* A training in a worker, as a page follows it, and what is kept of it.

   const course = new Course(worker, heard)   `heard(course)` after each word from the worker
     .run                                     { settings, moments, now, broken }: what was kept, the newest moment, and the
                                              update after which the loss was no longer a number
     .going, .pace, .trouble                  whether it trains; updates a second; why it doesn't
     .tell({ go, once, ids }, settings?)      to the worker; with `settings`, a new run begins
     .save(name)                              downloads the weights, where .canSave
     .rest()                                  it stops, and the run is given up
     .close()                                 the worker ends
   A moment is { step, loss, rate, exact, norms, word, written, weights }.                                              */

import { bytesOf, isLibrarys } from "./file.js";
import { written } from "./tasks.js";
import { SETTINGS } from "./training.js";

export class Course {
  #serial = 0;
  going = false;

  constructor(worker, heard) {
    Object.assign(this, { worker, heard });
    worker.onmessage = ({ data }) => this.#hear(data);
    worker.onerror = ({ message }) => this.#hear({ failed: message });
  }

  tell(message, settings) {
    this.trouble = undefined;
    if ("go" in message || message.once) this.going = Boolean(message.go);
    if (settings) {
      this.run = { settings: { ...settings, d_ff: 2 * settings.d_model }, moments: [{ step: 0, exact: 0, word: written(message.ids), written: "", weights: [] }] };
      message = { ...message, serial: ++this.#serial, train: { ...SETTINGS, ...this.run.settings } };
    }
    this.worker.postMessage(message);
  }

  get canSave() {
    return Boolean(this.run && !this.going && !this.run.broken && isLibrarys(this.run.settings));
  }

  save(name) {
    this.name = name;
    this.worker.postMessage({ save: true });
  }

  #hear({ failed, weights: kept, serial, step, word, look, rests, ...told }) {
    const { run } = this;
    if (!failed && (!run || serial !== this.#serial)) return; // of a run that has ended
    if (kept) return download(this.name, bytesOf(kept, run.settings));
    if (failed) [this.trouble, this.going] = [failed, false];
    else if (Number.isNaN(told.loss)) [run.broken, run.now, this.going] = [step, undefined, false];
    else {
      if (rests) this.going = false;
      this.pace = told.pace ?? this.pace;
      const weights = look.weights[`decoder.${run.settings.n_layers - 1}.cross_attention`] ?? look.weights.attention ?? [];
      run.now = { ...(run.now ?? run.moments.at(-1)), step, ...told, word: written(word), written: written(look.ids), weights };
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

/* What the playground and its experiments in the chapters share.

   await opened(ui, heard)        a training, see engine/course.js; a page loads the engine once, in Jupyter the kernel sends it
   guesses(ui, begin)             three buttons, which call begin(guess): { el, show(guess) }
   verdict(guess, exact, count)   what came of a guess, or of none, −1, in a sentence
   tried(), tried(more)           the experiments for which a guess was judged, with one more; kept by the browser
   last(run), curve(run, name, scale)   its newest moment; its points
   spell(node, tokens, right)     letters side by side; those that differ from the right ones are marked */

import { h, lazy, range, set, told, WORDS as KIT } from "../../kit/index.js";

export const WORDS = {
  outcomes: ["almost every", "some", "hardly any"],
  guess: "It will write {outcome}",
  as: "As you guessed, {found}: {exact} of {count}.",
  against: "You guessed {guess}, but it is {found}: {exact} of {count}.",
  found: "It is {found}: {exact} of {count}.",
  nothing: "(nothing)",
  end: "·",
  broken: "After update {step} the loss is no longer a number. You see the last kept update.",
  failed: "The training stopped: {error}",
  damaged: "engine.js is not the one of this book.",
};

const PATIENCE = 20_000; // milliseconds to wait for a kernel
const TRIED = "tfm-experiments"; // where a browser keeps them
const BOUNDS = [0.97, 0.2]; // of the outcomes: shares of exact words
const STYLE = ".tfm-guesses{grid-column:1/-1;display:grid;grid-template-columns:repeat(3,1fr);gap:8px}.tfm-card .tfm-guess{justify-self:stretch;padding:6px;font-size:1em;color:var(--tfm-ink);border-color:var(--tfm-soft)}.tfm-card .tfm-guess[aria-pressed=true]{color:var(--tfm-card);background:var(--tfm-ink)}";
export const SPELLED = "font:700 22px var(--tfm-mono, monospace);letter-spacing:3px";

export const percent = (share) => Math.round(100 * share);
export const last = ({ now, moments }) => now ?? moments.at(-1);
export const curve = ({ moments }, name, scale) => moments.filter((moment) => moment[name] != null).map((moment) => [moment.step, scale(moment[name])]);

export async function opened(ui, heard) {
  if (!globalThis.tfmPlayground) await (globalThis.tfmKit ? lazy("engine.js") : fromKernel(ui));
  if (!globalThis.tfmPlayground) throw new Error(WORDS.damaged);
  return globalThis.tfmPlayground.course(heard);
}

function fromKernel(ui) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => (ui.set({ wanted: false }), reject(new Error(KIT.silent))), PATIENCE);
    ui.on("engine", () => {
      if (!ui.get("engine")) return;
      clearTimeout(late);
      (0, globalThis.eval)(ui.get("engine"));
      ui.set({ wanted: false, engine: "" });
      resolve();
    });
    ui.set({ wanted: true });
  });
}

export function guesses(ui, begin) {
  const buttons = WORDS.outcomes.map((outcome, guess) => {
    const { el } = ui.button(`guess-${guess}`, { label: outcome, onclick: () => begin(guess) });
    return set(el, { class: "tfm-button tfm-guess", "data-process": "", "aria-label": told(WORDS.guess, { outcome }) });
  });
  const el = h("div", { class: "tfm-guesses" }, buttons, h("style", {}, STYLE));
  ui.bar.append(el);
  return { el, show: (guess) => buttons.forEach((button, i) => set(button, { "aria-pressed": String(i === guess) })) };
}

export function verdict(guess, share, count) {
  const found = BOUNDS.filter((bound) => share < bound).length;
  const way = guess < 0 ? "found" : guess === found ? "as" : "against";
  return told(WORDS[way], { guess: WORDS.outcomes[guess], found: WORDS.outcomes[found], exact: String(Math.round(count * share)), count });
}

/* Nothing where the browser keeps nothing. */
export function tried(more) {
  try {
    const done = new Set(JSON.parse(localStorage.getItem(TRIED)) ?? []);
    if (more !== undefined) localStorage.setItem(TRIED, JSON.stringify([...done.add(more)]));
    return done;
  } catch {
    return new Set();
  }
}

export function spell(line, tokens, right) {
  const found = range(Math.max(tokens.length, right.length)).map((i) => h("span", tokens[i] === right[i] ? {} : { class: "tfm-bad" }, tokens[i] ?? WORDS.end));
  line.replaceChildren(...(tokens.length ? found : [h("i", { class: "tfm-caption" }, WORDS.nothing)]));
}

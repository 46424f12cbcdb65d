/* Run the reader's own sentence in a recorded widget: while the input line is empty it shows the recorded data, else the model's
   result for the sentence. Call it before other controls; `sentence` must be in the card's `state`, so that a link keeps it.
   The Python side is a tfm_lib.widgets._live.Live.

   const own = live(ui, { ask, take?, into?, says?, watch?, beside? });
     ask(typed)           the request: { do: "tree", widest: 6 }, a name of twin/views.js with its settings; `typed` is true if
                          the sentence was typed and not brought by a link
     take(found, typed)   the traits to set from the result, by default all of it.
                          They are restored when the line is emptied, by hand or by Reset
     into                 where the line goes that tells what is shown; the stage, if it is not given
     says                 what is shown until a sentence is typed
     watch                traits whose change repeats the request
     beside               { of, label, says }: the widget has its own input line, the trait `of`, which works without a model;
                          a toggle, the trait `beside`, also runs the model
   own()                  whether the reader's own sentence is shown; without a model there is no input line */

import { h, retext, told } from "./dom.js";
import { megabytes, twinFor } from "./lazy.js";
import { WORDS } from "./words.js";

const WAIT = 120; // milliseconds between key presses, until the model is loaded

/* In quarters, since a screen reader announces each. */
export const arriving = (share) => told(WORDS.coming, { percent: 25 * Math.floor(4 * share) });

export function live(ui, { ask, take = (found) => found, into = ui.stage, beside, says = beside?.says ?? WORDS.recorded, watch = beside ? ["beside", beside.of] : [] }) {
  const which = ui.get("machine");
  if (!which || (globalThis.tfmKit && which !== "shipped")) return () => false; // a page has only the shipped model
  const state = h("p", { class: "tfm-caption tfm-state", role: "status" });
  if (beside) ui.toggle("beside", { label: beside.label });
  else ui.text("sentence", { label: WORDS.own, most: 600 });
  into.append(state);
  const recorded = {};
  let [wish, shown, typed, setting, machine, timer] = [0, false];
  const sentence = () => String(beside ? (ui.get("beside") && ui.get(beside.of)) || "" : ui.get("sentence")).trim();

  function put(traits) {
    for (const trait of Object.keys(traits)) if (!(trait in recorded)) recorded[trait] = ui.first[trait] ?? ui.get(trait);
    setting = true;
    ui.set(traits);
    setting = false;
  }
  function settle(text, isOwn) {
    shown = isOwn;
    put(isOwn ? {} : recorded);
    delete ui.stage.dataset.busy;
    retext(state, text);
  }
  const rest = (why) => settle(why ? [why, ...(beside ? [] : [WORDS.stays])].join(" ") : told(says, { size: megabytes(ui.get("size")) }), false);

  /* Only the newest request counts; results of older ones are dropped. */
  async function answer() {
    const mine = ++wish;
    const tell = (share) => mine === wish && retext(state, arriving(share));
    try {
      machine ??= twinFor(ui, tell).then(([twin, files]) => twin.start(files));
      const there = await machine;
      const asked = ask(typed);
      const reply = mine === wish && (await there.ask({ ...asked, sentence: sentence() }));
      if (mine !== wish || !reply) return;
      const { found, doubts } = reply;
      const doubt = doubts.length && told(WORDS.doubts[doubts[0]], asked);
      if (!found) return rest(doubt);
      shown = true;
      put(take(found, typed));
      typed = false;
      settle(doubt || WORDS.running, true);
    } catch (error) {
      machine = null; // it may be tried again
      if (mine === wish) rest(told(WORDS.failed, { error: error.message }));
    }
  }

  function changed() {
    clearTimeout(timer);
    wish++;
    if (!sentence()) return rest();
    ui.stage.dataset.busy = "";
    timer = setTimeout(answer, machine ? 0 : WAIT);
  }
  ui.on("sentence", () => ((typed = document.activeElement.type === "text"), changed())); // otherwise a link brought it
  for (const trait of watch) ui.on(trait, () => !setting && (beside || sentence()) && changed());
  ui.until(() => (clearTimeout(timer), wish++));
  changed(); // a link may have brought a sentence
  return () => shown;
}

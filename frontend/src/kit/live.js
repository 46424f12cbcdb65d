/* The reader's own sentence in a recorded widget: while the line is empty it shows what is recorded, else what the machine
   makes of the sentence. Call it before other controls; `sentence` stands in the card's `state`, so that a link keeps it.
   The Python side is a tfm_lib.widgets._live.Live.

   const own = live(ui, { ask, take?, watch?, beside? });
     ask(typed)           what the machine is asked: { do: "tree", widest: 6 }, a name of twin/views.js with its settings; `typed` where
                          the sentence is fresh and no link has brought it
     take(found, typed)   the traits to set of what that found, all of it unless told.
                          They are as they were recorded once the line is empty again, by hand or by Reset
     watch                traits upon whose change it is asked again
     beside               { of, label, says }: the widget has a line of its own, the trait `of`, and shows without a machine what is typed;
                          a toggle, the trait `beside`, asks the machine too. `says` stands there before
   own()                  whether a sentence of the reader's own is shown; without a machine there is no line to type in */

import { h, retext, told } from "./dom.js";
import { megabytes, twinFor } from "./lazy.js";
import { WORDS } from "./words.js";

const WAIT = 120; // milliseconds between keys, while there is no machine

/* In quarters: a screen reader says each. */
export const arriving = (share) => told(WORDS.coming, { percent: 25 * Math.floor(4 * share) });

export function live(ui, { ask, take = (found) => found, beside, watch = beside ? ["beside", beside.of] : [] }) {
  const which = ui.get("machine");
  if (!which || (globalThis.tfmKit && which !== "shipped")) return () => false; // a page has the shipped model only
  const state = h("p", { class: "tfm-caption tfm-state", role: "status" });
  ui.stage.append(state);
  if (beside) ui.toggle("beside", { label: beside.label });
  else ui.text("sentence", { label: WORDS.own, most: 600 });
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
  const rest = (why) => settle(why ? [why, ...(beside ? [] : [WORDS.stays])].join(" ") : told(beside?.says ?? WORDS.recorded, { size: megabytes(ui.get("size")) }), false);

  /* The newest wish counts; what is on its way for an older one is dropped. */
  async function answer() {
    const mine = ++wish;
    const tell = (share) => mine === wish && retext(state, arriving(share));
    try {
      machine ??= twinFor(ui, tell).then(([twin, files]) => twin.start(files));
      const there = await machine;
      const reply = mine === wish && (await there.ask({ ...ask(typed), sentence: sentence() }));
      if (mine !== wish || !reply) return;
      const { found, doubts } = reply;
      const doubt = WORDS.doubts[doubts[0]];
      if (!found) return rest(doubt);
      shown = true;
      put(take(found, typed));
      typed = false;
      settle(doubt ?? WORDS.running, true);
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
  ui.on("sentence", () => ((typed = document.activeElement.type === "text"), changed())); // else a link brings it
  for (const trait of watch) ui.on(trait, () => !setting && (beside || sentence()) && changed());
  ui.until(() => (clearTimeout(timer), wish++));
  changed(); // a link may have brought a sentence
  return () => shown;
}

/* The widget's card: name and question · controls · stage · readout · Link, and behind a sign Save and Reset.
   Controls are placed above everything that grows or shrinks with them, so that they do not move while in use; those of a stage
   of constant height may be `below` it, as under a film.

   const ui = card({ model, el, state: ["value", "focus"] });   // the traits that a link and Reset restore; `grows` names those
                                                                // whose lists may become longer or shorter, `fits` gives,
                                                                // for those without a control, the allowed values
   ui.stage.append(…);                                          // your drawing
   ui.slider("value", { … }); ui.select(…); ui.toggle(…);       // see controls.js; bound to the trait in both directions
   ui.get("value"); ui.set({ value: 3, focus: 0 });             // read; change and send to the kernel
   ui.say("it → animal 0.44", …nodes)                           // the readout, also announced by a screen reader
   ui.tip(node, "text") / ui.tip()                              // tooltip above a mark, or none
   ui.on("preset", listen)                                      // called on a trait's change at once, before the drawing
   ui.until(stop)                                               // run `stop` when the widget goes away
   return ui.start(draw, { watch: ["weights"], csv: () => rows });

   A widget's texts are in `const WORDS` at the head of its file, templates for `told`; texts shared with Python come
   from Python, as ui.get("shared"). The module exports them: { render, words: WORDS }.

   `draw` runs once at the start and once after every event in which a trait of `state` or `watch` changed, whatever
   changed it (a control, Python, a link); let it only change attributes. `csv` returns rows, the header first. */

import { h, indexed, onWidth, renew } from "./dom.js";
import * as controls from "./controls.js";
import { savers } from "./save.js";
import { hashFor, keyOf, linked, linkTo } from "./link.js";
import { WORDS } from "./words.js";

export function card({ model, el, state, grows, fits = {}, below }) {
  const stops = [];
  const heard = (event, listener) => {
    model.on(event, listener);
    stops.push(() => model.off(event, listener));
  };

  const title = h("b", {});
  const question = h("span", {});
  const stage = h("div", { class: "tfm-stage", "data-stage": true });
  const readout = h("div", { class: "tfm-readout", role: "status", "aria-live": "polite" });
  const bar = h("div", { class: "tfm-bar" });
  const foot = h("div", { class: "tfm-foot" });
  const note = h("span", { class: "tfm-note", role: "status" });
  const bubble = h("div", { class: "tfm-tip", "aria-hidden": "true", hidden: true });
  const root = h("div", { class: "tfm-card", role: "group" }, h("header", {}, title, question), !below && bar, stage, readout, below && bar, foot, bubble);
  el.append(root);
  // In JupyterLab, arrow keys and Enter move among cells, unless the focused node itself has this attribute.
  root.addEventListener("keydown", ({ key }) => key === "Escape" && tip());
  root.addEventListener("focusin", ({ target }) => target.closest(".jp-Notebook") && target.setAttribute("data-lm-suppress-shortcuts", "true"));

  const name = () => {
    title.textContent = model.get("title");
    question.replaceChildren(...indexed(model.get("question")));
    root.setAttribute("aria-label", model.get("title"));
  };
  name();
  heard("change:title", name);
  heard("change:question", name);

  const first = snapshot();
  const key = keyOf(model, el);
  const allowed = { ...fits }; // plus, for each control's trait, the values that the control can show
  const opened = linked(key, first, { grows });
  let strange = opened?.strange; // a link asked for a value that is not allowed, which the readout says until Reset
  set(opened?.changes ?? {});

  function snapshot() {
    return Object.fromEntries(state.map((trait) => [trait, structuredClone(model.get(trait))]));
  }
  function set(changes) {
    for (const [trait, value] of Object.entries(changes)) model.set(trait, value);
    if (Object.keys(changes).length) model.save_changes();
  }
  /* Check a value that a link brought, once the allowed values are known. */
  function examine(trait) {
    if (!opened || model.get(trait) === first[trait] || allowed[trait](model.get(trait))) return;
    strange = true;
    set({ [trait]: structuredClone(first[trait]) });
  }
  function bound(kind, trait, options) {
    if (!(trait in fits)) {
      allowed[trait] = controls.allows[kind](options);
      examine(trait);
    }
    const made = controls[kind](trait, model.get(trait), (value) => set({ [trait]: value }), options);
    heard(`change:${trait}`, () => made.show(model.get(trait)));
    bar.append(made.el);
    return made;
  }
  /* Measure in the next frame, so that no event waits for a layout. */
  let tipFrame;
  function tip(mark, text) {
    cancelAnimationFrame(tipFrame);
    if (!mark || !text) return void (bubble.hidden = true);
    tipFrame = requestAnimationFrame(() => {
      bubble.hidden = false;
      bubble.textContent = text;
      const [at, home] = [mark.getBoundingClientRect(), root.getBoundingClientRect()];
      const half = bubble.offsetWidth / 2;
      const x = Math.min(home.width - half - 4, Math.max(half + 4, at.left + at.width / 2 - home.left));
      bubble.style.transform = `translate(calc(${x}px - 50%), calc(${at.top - home.top - 6}px - 100%))`;
    });
  }
  /* From its first use on the card does not shrink, so that the page below it stays, until its width changes or Reset. */
  const hold = (height) => (root.style.minHeight = height);
  const tall = () => hold(`${root.offsetHeight}px`);
  stops.push(onWidth(root, () => (tip(), hold("")))); // a tip's position depends on the width
  const grown = new ResizeObserver(() => root.style.minHeight && tall());
  grown.observe(root);
  stops.push(() => grown.disconnect());

  let noteTimer;
  function tell(text) {
    note.textContent = text;
    clearTimeout(noteTimer);
    noteTimer = setTimeout(() => (note.textContent = ""), 4000);
  }
  function say(...parts) {
    renew(readout, ...parts, strange && h("span", { class: "tfm-bad" }, WORDS.strange));
  }

  function start(draw, { watch = [], csv } = {}) {
    let waiting, gone;
    let inBar; // whether the address bar holds a link to the current state
    let before; // the state that a link has replaced, until the widget is drawn with the link's
    const back = () => {
      strange = true;
      set(before);
    };
    const later = () => {
      if (waiting) return;
      waiting = true;
      root.style.minHeight || tall();
      queueMicrotask(() => {
        waiting = false;
        if (gone) return;
        if (inBar) history.replaceState(null, "", location.pathname + location.search); // otherwise a reload would restore it
        inBar = false;
        try {
          draw();
          before = null;
        } catch (error) {
          if (!before) throw error;
          back();
        }
      });
    };
    for (const trait of [...state, ...watch]) heard(`change:${trait}`, later);
    const restore = () => {
      const found = linked(key, first, { grows, fits: allowed });
      if (!found) return;
      strange = found.strange;
      before = snapshot();
      try {
        [first, found.changes, found.changes].forEach((each) => set(structuredClone(each))); // twice, since one trait may depend on another
      } catch {
        back();
      }
      later();
    };
    addEventListener("hashchange", restore);
    const asLink = () => hashFor(key, snapshot(), first);
    const reset = action("reset", WORDS.reset, WORDS.resetHint, () => ((strange = false), set(structuredClone(first)), later(), hold("")));
    foot.append(
      note,
      action("link", WORDS.link, WORDS.linkHint, async () => (inBar = await linkTo(asLink(), tell))),
      savers({ root, stage, name: () => model.get("title"), csv, tell, reset }),
    );
    root.tfmLink = asLink; // for a report of a mistake
    Object.keys(fits).forEach(examine);
    draw();
    if (opened) {
      const show = () => root.scrollIntoView({ block: root.offsetHeight > innerHeight ? "start" : "center" }); // a tall widget's answer is at its top
      show();
      document.fonts?.ready.then(() => setTimeout(show, 100)); // fonts and drawings above have changed the heights
    }
    return () => {
      gone = true;
      removeEventListener("hashchange", restore);
      clearTimeout(noteTimer);
      cancelAnimationFrame(tipFrame);
      stops.forEach((stop) => stop());
      root.remove();
    };
  }

  return {
    model,
    stage,
    bar,
    first, // the traits of `state` before a link was applied
    get: (trait) => model.get(trait),
    set,
    say,
    tip,
    on: (trait, listen) => heard(`change:${trait}`, listen),
    until: (stop) => stops.push(stop),
    start,
    slider: (trait, options) => bound("slider", trait, options),
    select: (trait, options) => bound("select", trait, options),
    toggle: (trait, options) => bound("toggle", trait, options),
    text: (trait, options) => bound("text", trait, options),
    button(label, options) {
      const made = controls.button(label, options);
      bar.append(made.el);
      return made;
    },
  };
}

export const action = (name, label, title, onclick) =>
  h("button", { type: "button", class: "tfm-button", "data-action": name, title, onclick }, label);

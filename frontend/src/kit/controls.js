/* Controls that the card binds to a trait: ui.slider("d_k", { … }). Each carries data-control="<trait>".
   slider  { label, min, max, step, values?, log?, format?, heard?, open? }   `values: [1, 2, 4, …]` sets the stops;
                                                                `open`: a link may bring more than max, which upTo moves;
                                                                `log: true` makes the scale logarithmic; `heard` formats a value
                                                                for a screen reader, with its unit: "6 layers"
   select  { label, options: ["a", "b"] or [[value, "words"], …] }   where ["words", [[value, "words"], …]] is a group
   toggle  { label }
   text    { label, most, rows? }                             a line, or a field of `rows` lines, of at most `most` letters
   button  { label, onclick }        (a name, not a trait)
   A browser that restores a page must not change a control without notifying the widget: each has autocomplete="off".
   Each call returns { el, show(value), enable(yes) }, a slider upTo(max, value) too; labels may be nodes, e.g. sub("d", "k").                        */

import { h, set } from "./dom.js";
import { clamp, general } from "./math.js";
import { WORDS } from "./words.js";

export const sub = (base, index) => h("span", {}, base, h("sub", {}, index));

const LOG_STEPS = 200;
const MOST = 120; // letters in a line
const SLOP = 8; // pixels of jitter of a resting finger

export function slider(name, value, change, { label, min, max, step = 1, values, log = false, format = general, heard = format }) {
  const stops = values?.length - 1;
  const toPosition = (x) => {
    if (values) return values.reduce((best, v, i) => (Math.abs(v - x) < Math.abs(values[best] - x) ? i : best), 0);
    return log ? (LOG_STEPS * Math.log(x / min)) / Math.log(max / min) : x;
  };
  const toValue = (position) => {
    if (values) return values[position];
    if (!log) return position;
    const exact = min * (max / min) ** (position / LOG_STEPS);
    return clamp(step >= 1 ? Math.round(exact / step) * step : +exact.toPrecision(3), min, max);
  };
  const output = h("output", { "aria-hidden": "true" }); // a screen reader announces the slider itself; an <output> would repeat it
  /* The browser moves a slider as soon as a finger touches it, which may want to scroll the page: the value counts once the finger
     moved sideways or was lifted; if the page scrolls, the value is restored. */
  let landed = null;
  const commit = () => {
    landed = null;
    const now = toValue(Number(input.value));
    tell(now);
    change(now);
  };
  const input = h("input", {
    type: "range",
    min: values || log ? 0 : min,
    max: values ? stops : log ? LOG_STEPS : max,
    autocomplete: "off",
    step: values || log ? 1 : step,
    "data-control": name,
    oninput: () => landed || commit(),
    onpointerdown: ({ pointerType, clientX: x, clientY: y }) => (landed = pointerType === "touch" ? { x, y, value: input.value } : null),
    onpointermove({ clientX, clientY }) {
      if (!landed) return;
      const aside = Math.abs(clientX - landed.x);
      if (aside > SLOP && aside > Math.abs(clientY - landed.y)) commit();
    },
    onpointerup: () => landed && commit(),
    onpointercancel() {
      if (landed) input.value = landed.value;
      landed = null;
    },
  });
  const tell = (now) => {
    output.textContent = format(now);
    set(input, { "aria-valuetext": heard(now) });
  };
  const widest = [min ?? values[0], max ?? values.at(-1), value].map((x) => format(x).length);
  output.style.minWidth = `min(${Math.max(...widest)}ch, 40cqw)`; // of the card
  const show = (now) => {
    input.value = toPosition(now);
    tell(now);
  };
  show(value);
  const made = control(h("label", { class: "tfm-control" }, h("span", {}, label), input, output), input, show);
  return Object.assign(made, { upTo: (most, now) => (set(input, { max: most }), show(now)) });
}

export function select(name, value, change, { label, options }) {
  const pairs = pairsOf(options);
  const shown = (words) => h("option", {}, String(words));
  const input = h(
    "select",
    { "data-control": name, autocomplete: "off", onchange: () => change(pairs[input.selectedIndex][0]) },
    options.map((option) => (isGroup(option) ? h("optgroup", { label: option[0] }, option[1].map(([, words]) => shown(words))) : shown(Array.isArray(option) ? option[1] : option))),
  );
  const show = (now) => (input.selectedIndex = pairs.findIndex(([option]) => option === now));
  show(value);
  return control(h("label", { class: "tfm-control" }, h("span", {}, label), input), input, show);
}

const isGroup = (option) => Array.isArray(option[1]);
const pairsOf = (options) => options.flatMap((option) => (isGroup(option) ? option[1] : [Array.isArray(option) ? option : [option, option]]));

export function toggle(name, value, change, { label }) {
  const input = h("input", { type: "checkbox", autocomplete: "off", "data-control": name, onchange: () => change(input.checked) });
  const show = (now) => (input.checked = now);
  show(value);
  return control(h("label", { class: "tfm-control tfm-toggle" }, input, h("span", {}, label)), input, show);
}

export function text(name, value, change, { label, most = MOST, rows }) {
  /* While an on-screen keyboard covers much of the screen, the bar shows only this line, at the top. */
  const typing = () => line.classList.toggle("tfm-typing", document.activeElement === input && visualViewport.height < 0.6 * screen.height) && line.scrollIntoView();
  const input = h(rows ? "textarea" : "input", { rows, type: !rows && "text", maxlength: most, autocomplete: "off", spellcheck: "false", "data-control": name, onfocus: () => (visualViewport.onresize = typing), onblur: typing, oninput: () => change(input.value) });
  const line = h("label", { class: "tfm-control tfm-text" }, h("span", {}, label), input);
  const show = (now) => {
    if (input.value !== String(now)) input.value = now; // setting the same text again would move the cursor
  };
  show(value);
  return control(line, input, show);
}

export function button(name, { label, onclick }) {
  const el = h("button", { type: "button", class: "tfm-button", "data-control": name, onclick }, label);
  return control(el, el, () => {});
}

const control = (el, input, show) => ({
  el,
  show,
  enable(yes) {
    input.disabled = !yes;
    el.classList.toggle("tfm-off", !yes);
  },
});

/* Of a card with many controls, fold those after the first `most`. */
export function fold({ bar }, most = 3) {
  const rest = [...bar.children].filter((control) => control.matches(".tfm-control")).slice(most);
  bar.append(h("details", { class: "tfm-more" }, h("summary", { "data-action": "others" }, WORDS.others), h("div", {}, rest)));
}

/* For each kind of control, whether it can show a value: a link may ask for another. */
export const allows = {
  slider({ min, max, step = 1, values = [min, max], open }) {
    const whole = [step, ...values].every(Number.isInteger); // Python may have set values between the stops
    return (x) => x >= Math.min(...values) && (open || x <= Math.max(...values)) && (Number.isInteger(x) || !whole);
  },
  select: ({ options }) => (x) => pairsOf(options).some(([option]) => option === x),
  toggle: () => () => true,
  text: ({ most = MOST }) => (x) => x.length <= most,
};

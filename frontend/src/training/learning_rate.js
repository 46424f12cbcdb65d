/* Learning-rate widget: the paper's schedule with its peak, miscounted by micro-batches, and compared with other schedules. */

import { card, clamp, fixed, fold, general, h, linspace, logspace, player, plot, range, s, set, sub, told } from "../kit/index.js";

const WORDS = {
  rivals: { constant: "constant", "inverse root": "inverse root, no warm-up", cosine: "cosine", linear: "linear" },
  model: "model",
  warmup: "warm-up",
  factor: "factor",
  accumulate: "micro-batches",
  steps: "total steps",
  compare: "compare with",
  none: "nothing",
  all: "all four",
  log: "logarithmic axes",
  step: "step",
  linearPlane: "Learning rate against the step, linear axes",
  logPlane: "Learning rate against the step, logarithmic axes",
  top: "peak {rate}",
  peak: "the peak is {rate} at step {step}{late} · the first step has {first}",
  late: ", after the last step",
  told: "{step} → {rate}",
  here: "step {step}",
  micro: " · micro-batches {from} to {to}",
  wrong: "stepped for each micro-batch → {rate}, with the peak at update {peak}",
  rival: "{name} → {rate} · the first step has {first}",
  stepped: "stepped for each micro-batch",
};

const RIVALS = ["constant", "inverse root", "cosine", "linear"];
const LOOKS = { constant: ["soft", "2 3"], "inverse root": ["two", "8 4"], cosine: ["one", "9 3 2 3"], linear: ["ink", "5 3"] };
const [POINTS, STOPS] = [240, 60];
const ROOM = 0.00145; // least height of the linear axis; at its doubles too, the labels of the ticks are short

/* The top of the linear axis: it doubles when the peak would come near, so that up to there the peak visibly rises; as in
   tfm_lib.widgets.training. */
export const top = (peak) => ROOM * 2 ** Math.max(0, Math.ceil(Math.log2((1.2 * peak) / ROOM)));

/* The rate at a step of every schedule, as tfm_lib.widgets.training.rates; the others have the paper's peak. */
export function rates(step, { d_model, warmup, factor, steps, accumulate }) {
  const paper = (at) => factor * d_model ** -0.5 * Math.min(at ** -0.5, at * warmup ** -1.5);
  const peak = factor * (d_model * warmup) ** -0.5;
  const rise = Math.min(1, step / warmup);
  const left = Math.max(0, 1 - step / steps);
  return {
    paper: paper(step),
    miscounted: paper(accumulate * step),
    constant: peak,
    "inverse root": factor * (d_model * step) ** -0.5,
    cosine: peak * rise * 0.5 * (1 - Math.cos(Math.PI * left)),
    linear: warmup < steps ? peak * Math.min(rise, left / (1 - warmup / steps)) : peak * rise,
  };
}

/* Integer steps from 1 to the end; denser where the curve bends. */
export const stepsOf = (end) => [...new Set([...logspace(1, end, POINTS), ...linspace(1, end, POINTS)].map(Math.round))].sort((a, b) => a - b);

const whole = (x) => Math.round(x).toLocaleString("en");
const rate = (x) => (x >= 0.001 ? String(+x.toPrecision(3)) : general(x));

function render({ model, el }) {
  const traits = ["d_model", "warmup", "factor", "accumulate", "steps", "compare", "log", "value"];
  const ui = card({ model, el, state: traits, fits: { value: (step) => step >= 1 && step <= 1e6 } });
  const now = () => {
    const [d_model, warmup, factor, accumulate, steps] = traits.map(ui.get);
    const safe = { d_model, warmup: clamp(warmup, 10, 16000), factor, accumulate: clamp(accumulate, 1, 16), steps };
    return { ...safe, step: clamp(ui.get("value"), 1, steps), log: Boolean(ui.get("log")), compare: ui.get("compare") };
  };
  const rivals = (compare) => RIVALS.filter((name) => compare === name || compare === "all");

  const box = h("div", {});
  const planes = [false, true].map((log) => build(ui, log));
  const key = legend(ui.get("shared").paper);
  ui.stage.append(box, key.el);

  const looks = () => linspace(1, now().steps, STOPS).map(Math.round); // training runs along the curve
  player(ui, "value", { steps: () => STOPS, at: () => looks().findLastIndex((step) => step <= now().step), go: (k) => ui.set({ value: looks()[k] }), pace: 150 });
  ui.slider("d_model", { label: sub("d", WORDS.model), values: [64, 128, 256, 512, 1024], format: String });
  ui.slider("warmup", { label: WORDS.warmup, min: 10, max: 16000, step: 10, log: true, format: whole });
  ui.slider("factor", { label: WORDS.factor, min: 0.1, max: 4, step: 0.1, format: fixed(1) });
  ui.slider("accumulate", { label: WORDS.accumulate, min: 1, max: 16, format: String });
  ui.slider("steps", { label: WORDS.steps, values: [1000, 2000, 5000, 10000, 20000, 50000, 100000], format: whole });
  ui.select("compare", { label: WORDS.compare, options: [["none", WORDS.none], ...Object.entries(WORDS.rivals), ["all", WORDS.all]] });
  ui.toggle("log", { label: WORDS.log });
  fold(ui);

  function draw() {
    const state = now();
    const plane = planes[Number(state.log)];
    if (box.firstChild !== plane.el) box.replaceChildren(plane.el);
    plane.update(state, rivals(state.compare));
    key.update(state.accumulate > 1, rivals(state.compare));
    const peak = state.factor * (state.d_model * state.warmup) ** -0.5;
    const here = rates(state.step, state);
    const first = rates(1, state);
    const begin = (state.step - 1) * state.accumulate + 1;
    const wrong = { rate: rate(here.miscounted), peak: whole(Math.ceil(state.warmup / state.accumulate)) };
    const batches = { from: whole(begin), to: whole(begin + state.accumulate - 1) };
    const miscounted = state.accumulate > 1 ? [told(WORDS.micro, batches), h("span", { class: "tfm-bad" }, told(WORDS.wrong, wrong))] : [];
    ui.say(
      h("div", {}, told(WORDS.peak, { rate: h("b", {}, rate(peak)), step: whole(state.warmup), late: state.warmup > state.steps && WORDS.late, first: rate(first.paper) })),
      h("div", {}, told(WORDS.told, { step: h("b", { class: "tfm-three" }, told(WORDS.here, { step: whole(state.step) })), rate: rate(here.paper) }), ...miscounted),
      ...rivals(state.compare).map((name) => h("div", {}, told(WORDS.rival, { name: WORDS.rivals[name], rate: rate(here[name]), first: rate(first[name]) }))),
    );
  }

  const csv = () => {
    const state = now();
    const names = ["paper", "miscounted", ...RIVALS];
    return [["step", ...names], ...stepsOf(state.steps).map((step) => [step, ...names.map((name) => rates(step, state)[name])])];
  };
  return ui.start(draw, { csv });
}

/* One plot with linear axes, one with logarithmic ones: the kit's axes cannot change their kind. */
function build(ui, log) {
  const plane = plot(ui, {
    x: { label: WORDS.step, domain: [1, 1000], log },
    y: { label: ui.get("shared").rate, domain: log ? [1e-6, 1] : [0, 1], log },
    height: 300,
    most: 700,
    label: log ? WORDS.logPlane : WORDS.linearPlane,
  });
  const others = Object.fromEntries(RIVALS.map((name) => [name, plane.line({ colour: LOOKS[name][0], dash: LOOKS[name][1] })]));
  const miscounted = plane.line({ colour: "broken", dash: "10 3" });
  const paper = plane.line({ colour: "three" });
  const highest = plane.dot({ colour: "ink", r: 5 });
  const drag = plane.handle({ control: "value", colour: "three", label: WORDS.step, along: "x", r: 7, onmove: ([x]) => ui.set({ value: Math.max(1, Math.round(x)) }) });
  const words = plane.layer.lastChild.firstChild; // the handle's label, left out where it would meet that of the peak
  let [here, peaks] = [];
  const spare = ({ x, y }) => {
    if (!x || !here) return;
    const [aside, above] = [x(here[0]) - x(peaks[0]), y(here[1]) - y(peaks[1])];
    set(words, { display: aside > -60 && aside < 120 && Math.abs(above) < 24 ? "none" : null });
  };
  plane.custom(spare);
  return {
    el: plane.el,
    update(state, names) {
      const peak = state.factor * (state.d_model * state.warmup) ** -0.5;
      const lowest = rates(1, state).paper;
      const low = log ? 10 ** Math.floor(Math.log10(lowest) + 0.001) : 0;
      const high = log ? 10 ** Math.ceil(Math.log10(names.includes("inverse root") ? rates(1, state)["inverse root"] : peak) + 0.02) : top(peak);
      plane.domain({ x: [1, state.steps], y: [low, high] });
      const all = stepsOf(state.steps).map((at) => [at, rates(at, state)]);
      const points = (name) => all.map(([at, found]) => [at, found[name]]).filter(([, y]) => low <= y && y <= high);
      paper(points("paper"));
      miscounted(state.accumulate > 1 ? points("miscounted") : []);
      for (const name of RIVALS) others[name](names.includes(name) ? points(name) : []);
      highest(state.warmup <= state.steps ? [state.warmup, peak] : null, told(WORDS.top, { rate: rate(peak) }));
      [here, peaks] = [[state.step, rates(state.step, state).paper], [state.warmup, peak]];
      drag(here);
      spare(plane.at);
    },
  };
}

function legend(paperName) {
  const line = (colour, dash) => s("svg", { width: 34, height: 12, "aria-hidden": "true" }, s("path", { d: "M1 6H33", class: "tfm-line", style: `--c:var(--tfm-${colour})`, "stroke-dasharray": dash }));
  const seen = "display:inline-flex;gap:6px;align-items:center;margin-right:14px";
  const entry = (mark, words) => h("span", { style: seen }, mark, h("span", {}, words));
  const show = (el, on) => el.setAttribute("style", on ? seen : "display:none");
  const wrong = entry(line("broken", "10 3"), WORDS.stepped);
  const rest = RIVALS.map((name) => entry(line(...LOOKS[name]), WORDS.rivals[name]));
  return {
    el: h("div", { class: "tfm-legend" }, entry(line("three"), paperName), wrong, rest),
    update(miscounted, names) {
      range(RIVALS.length).forEach((k) => show(rest[k], names.includes(RIVALS[k])));
      show(wrong, miscounted);
    },
  };
}

export default { render, words: WORDS };

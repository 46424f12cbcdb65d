/* Gradient through depth: how long an error of length 1 still is at every layer on its way from the top to the bottom. */

import { card, general, h, plot, told } from "../kit/index.js";

const WORDS = {
  plane: "Length of the gradient at each layer, on its way from the top, on the right, to the bottom.",
  caption: "Thick: the chosen stack, dotted: its least and greatest seed. Grey, dashed: the same stack with residuals switched the other way.",
  layers: "layers",
  residual: "residual connections",
  norm: "norm",
  norms: { none: "none", pre: "before the sub-layer", post: "after the sum" },
  told: "{stack}: of an error of length 1 at the top, {middle} arrives at the bottom (seeds from {least} to {most}). {rival}",
  stack: "{depth} layers, {residuals}, {norm}",
  with: "With residuals: {length}.",
  without: "Without residuals: {length}.",
};

export const nearest = (depths, depth) =>
  depths.reduce((best, d, i) => (Math.abs(d - depth) < Math.abs(depths[best] - depth) ? i : best), 0);

/* [low, middle, high] at each layer, bottom first, of the chosen stack. */
export const chosen = (measured, depths, { value, residual, norm }) => measured[`${residual ? "with" : "without"} ${norm}`][nearest(depths, value)];

/* Whole decades that hold all the numbers, and 1. */
export function decades(rows) {
  const all = rows.flat(2).filter((x) => x > 0);
  return [10 ** Math.floor(Math.log10(Math.min(0.1, ...all))), 10 ** Math.ceil(Math.log10(Math.max(10, ...all)))];
}

const number = (x) => (x >= 0.01 && x < 100 ? String(+x.toPrecision(2)) : general(x));

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "residual", "norm"] });
  const depths = ui.get("depths");
  const state = () => ({ value: depths[nearest(depths, ui.get("value"))], residual: Boolean(ui.get("residual")), norm: WORDS.norms[ui.get("norm")] ? ui.get("norm") : "post" });
  const rowsOf = (now) => chosen(ui.get("measured"), depths, now);

  const plane = plot(ui, {
    x: { label: ui.get("shared").layer, domain: [0, depths[0]] },
    y: { label: ui.get("shared").length, domain: [0.1, 10], log: true },
    height: 280,
    most: 684,
    label: WORDS.plane,
  });
  const other = plane.line({ colour: "soft", dash: "7 4" });
  const [high, low] = [0, 1].map(() => plane.line({ colour: "ink", dash: "1 3" }));
  const lines = { true: plane.line({ colour: "query" }), false: plane.line({ colour: "broken", dash: "10 3" }) };
  const bottom = plane.dot({ colour: "ink", r: 6 });
  ui.stage.append(plane.el, h("p", { class: "tfm-caption" }, WORDS.caption));

  ui.slider("value", { label: WORDS.layers, values: depths, format: String });
  ui.toggle("residual", { label: WORDS.residual });
  ui.select("norm", { label: WORDS.norm, options: Object.entries(WORDS.norms) });

  function draw() {
    const now = state();
    const [rows, rival] = [rowsOf(now), rowsOf({ ...now, residual: !now.residual })];
    plane.domain({ x: [0, now.value], y: decades([rows, rival]) });
    const points = (from, k) => from.map((row, layer) => [layer, row[k]]);
    other(points(rival, 1));
    low(points(rows, 0));
    high(points(rows, 2));
    lines[now.residual](points(rows, 1));
    lines[!now.residual]([]);
    const [least, middle, most] = rows[0];
    bottom([0, middle], number(middle));
    const { norms, residuals } = ui.get("shared");
    ui.say(
      ...told(WORDS.told, {
        stack: h("b", {}, told(WORDS.stack, { depth: now.value, residuals: residuals[now.residual ? "with" : "without"], norm: norms[now.norm] })),
        middle: number(middle),
        least: number(least),
        most: number(most),
        rival: told(now.residual ? WORDS.without : WORDS.with, { length: number(rival[0][1]) }),
      }),
    );
  }

  const csv = () => [
    ["layer", "least", "geometric mean", "greatest"],
    ...rowsOf(state()).map((row, layer) => [layer, ...row]),
  ];
  return ui.start(draw, { watch: ["measured"], csv });
}

export default { render, words: WORDS };

/* Gradient through depth: how long an error of length 1 still is at every layer on its way from the top to the bottom. */

import { card, general, h, plot } from "../kit/index.js";

const NORMS = [["none", "none"], ["pre", "before the sub-layer"], ["post", "after the sum"]];
const words = { none: "no norm", pre: "norm before the sub-layer", post: "norm after the sum" };

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
  const state = () => ({ value: depths[nearest(depths, ui.get("value"))], residual: Boolean(ui.get("residual")), norm: words[ui.get("norm")] ? ui.get("norm") : "post" });
  const rowsOf = (now) => chosen(ui.get("measured"), depths, now);

  const plane = plot(ui, {
    x: { label: "layer, 0 is the bottom", domain: [0, depths[0]] },
    y: { label: "length of the gradient", domain: [0.1, 10], log: true },
    height: 280,
    most: 684,
    label: "Length of the gradient at each layer, on its way from the top, on the right, to the bottom.",
  });
  const other = plane.line({ colour: "soft", dash: "7 4" });
  const [high, low] = [0, 1].map(() => plane.line({ colour: "ink", dash: "1 3" }));
  const lines = { true: plane.line({ colour: "query" }), false: plane.line({ colour: "broken", dash: "10 3" }) };
  const bottom = plane.dot({ colour: "ink", r: 6 });
  ui.stage.append(plane.el, h("p", { class: "tfm-caption" }, "Thick: the chosen stack, dotted: its least and greatest seed. Grey, dashed: the same stack with residuals switched the other way."));

  ui.slider("value", { label: "layers", values: depths, format: String });
  ui.toggle("residual", { label: "residual connections" });
  ui.select("norm", { label: "norm", options: NORMS });

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
    ui.say(
      h("b", {}, `${now.value} layers, ${now.residual ? "with" : "without"} residuals, ${words[now.norm]}`),
      `: of an error of length 1 at the top, ${number(middle)} arrives at the bottom (seeds from ${number(least)} to ${number(most)}). ${now.residual ? "Without" : "With"} residuals: ${number(rival[0][1])}.`,
    );
  }

  const csv = () => [
    ["layer", "least", "geometric mean", "greatest"],
    ...rowsOf(state()).map((row, layer) => [layer, ...row]),
  ];
  return ui.start(draw, { watch: ["measured"], csv });
}

export default { render };

/* Rank-collapse widget: how similar the words of a sentence become through a stack, with and without its parts. */

import { card, clamp, fixed, general, h, player, plot, range, s, set, sum, told } from "../kit/index.js";

const WORDS = {
  cosines: "Cosines of all pairs of words at layer {layer}: from {least} to {most}",
  caption: "Cosines of {words} words at layer {layer}. Pale: orthogonal. Dark: the same direction, or the opposite one.",
  plane: "Difference of the words, as a share of their length, at each layer; the scale is the same for every stack.",
  key: "Dotted: lowest and highest seed.",
  before: " Dashed: the previous stack.",
  residual: "residual connections",
  think: "feed-forward network",
  norm: "norm",
  told: "{stack}: layer {layer} of {depth}",
  apart: "The words differ by {difference} of their length (seeds {least} to {most}).",
  pairs: "Two words have a mean cosine of {cosine}.{former}",
  former: " In the previous stack they differed by {difference}.",
};

const [DECADE, SMALLEST, ROUNDING] = [1000, 1e-17, 1e-15]; // the first two as in tfm_lib.widgets.layers

/* Geometric mean, minimum and maximum over the seeds at each layer, the bottom first, and the cosines at each, of which a page has
   those of a word with the words before it. */
export function chosen(measured, { residual, think, norm }) {
  const { apart, cosines } = measured[`${+residual} ${+think} ${norm}`];
  const [mean, least, most] = apart.map((row) => row.map((x) => 10 ** (x / DECADE)));
  return { mean, least, most, cosines: cosines.map((rows) => rows.map((_, i) => rows.map((_, j) => rows[Math.max(i, j)][Math.min(i, j)] / 100))) };
}

/* The mean over all pairs of different words. */
export const meanCosine = (rows) => (sum(rows.flat()) - sum(rows.map((row, i) => row[i]))) / (rows.length * (rows.length - 1));

const number = (x) => (x >= 0.001 ? String(+x.toPrecision(2)) : general(x));
const CELL = 26;

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "residual", "think", "norm", "former", "before"] });
  const measured = ui.get("measured");
  const { norms, residuals, thinks, stack: named, layer, difference } = ui.get("shared");
  const known = (norm) => (norms[norm] ? norm : "none");
  const stack = () => ({ residual: Boolean(ui.get("residual")), think: Boolean(ui.get("think")), norm: known(ui.get("norm")) });
  const past = () => ({ residual: Boolean(ui.get("former")[0]), think: Boolean(ui.get("former")[1]), norm: known(ui.get("before")) });
  const first = chosen(measured, stack());
  const [depth, count] = [first.mean.length - 1, first.cosines[0].length];

  const cells = range(count).map((i) => range(count).map((j) => s("rect", { class: "tfm-cell", x: j * CELL, y: i * CELL, width: CELL - 1, height: CELL - 1, rx: 3 })));
  const grid = s("svg", { width: count * CELL, height: count * CELL, role: "img", style: "display:block;margin-top:12px" }, cells.flat());
  const title = h("p", { class: "tfm-caption" });
  const plane = plot(ui, { x: { label: layer, domain: [0, depth] }, y: { label: difference, domain: [SMALLEST, 1], log: true }, height: 270, label: WORDS.plane });
  const ghost = plane.line({ colour: "soft", dash: "6 4" });
  const [low, high] = [0, 1].map(() => plane.line({ colour: "one", dash: "1 3" }));
  const line = plane.line({ colour: "one" });
  const rule = plane.rule({ colour: "soft" });
  const dot = plane.dot({ colour: "one", r: 6 });
  const dashed = h("span", {}, WORDS.before);
  ui.stage.append(h("div", { class: "tfm-columns" }, h("div", {}, title, grid), h("div", {}, plane.el, h("p", { class: "tfm-caption" }, WORDS.key, dashed))));

  /* Play ends where only the rounding error is left. */
  const end = () => chosen(measured, stack()).most.findIndex((x) => x < ROUNDING);
  player(ui, "value", { label: layer, min: 0, max: depth, stops: () => range(1 + (end() < 0 ? depth : end())), format: String });
  ui.toggle("residual", { label: WORDS.residual });
  ui.toggle("think", { label: WORDS.think });
  ui.select("norm", { label: WORDS.norm, options: Object.entries(norms) });

  /* After any change of the stack, the previous curve stays as a ghost; a link brings its own. */
  let last = stack();
  const leave = () => {
    const was = last;
    last = stack();
    ui.set({ former: [was.residual, was.think], before: was.norm });
  };
  for (const name of ["residual", "think", "norm"]) ui.on(name, leave);

  function draw() {
    const now = stack();
    const at = clamp(Math.round(ui.get("value")) || 0, 0, depth);
    const { mean, least, most, cosines } = chosen(measured, now);
    const former = chosen(measured, past()).mean;
    const same = JSON.stringify(now) === JSON.stringify(past());
    cosines[at].forEach((row, i) => row.forEach((x, j) => cells[i][j].style.setProperty("--w", Math.abs(x).toFixed(2))));
    const pairs = cosines[at].flatMap((row, i) => row.slice(0, i));
    set(grid, { "aria-label": told(WORDS.cosines, { layer: at, least: fixed(2)(Math.min(...pairs)), most: fixed(2)(Math.max(...pairs)) }) });
    title.textContent = told(WORDS.caption, { words: count, layer: at });
    const points = (row) => row.map((x, k) => [k, x]);
    ghost(same ? [] : points(former));
    set(dashed, { hidden: same });
    low(points(least));
    high(points(most));
    line(points(mean));
    rule({ x: at });
    dot([at, mean[at]]);
    ui.say(
      h("div", {}, told(WORDS.told, { stack: h("b", {}, told(named, { thinks: thinks[+now.think], residuals: residuals[+now.residual], norm: norms[now.norm] })), layer: at, depth })),
      h("div", {}, told(WORDS.apart, { difference: number(mean[at]), least: number(least[at]), most: number(most[at]) })),
      h("div", {}, told(WORDS.pairs, { cosine: fixed(2)(meanCosine(cosines[at])), former: same ? "" : told(WORDS.former, { difference: number(former[at]) }) })),
    );
  }

  const csv = () => {
    const { mean, least, most } = chosen(measured, stack());
    const former = chosen(measured, past()).mean;
    return [["layer", "geometric mean", "least", "greatest", "before"], ...mean.map((x, k) => [k, x, least[k], most[k], former[k]])];
  };
  return ui.start(draw, { watch: ["measured"], csv });
}

export default { render, words: WORDS };

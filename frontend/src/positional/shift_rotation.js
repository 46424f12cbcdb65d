/* Shift-rotation widget: from any position, a shift by k is the same rotation of every pair of features. */

import { below, card, fixed, general, h, player, radios, range, s, set, sum, told, uid } from "../kit/index.js";
import { frequencies } from "./encoding.js";

const WORDS = {
  pairs: "Pairs of components; the matrix of the chosen pair is below",
  pair: "pair {pair}",
  position: "position",
  shift: "shift k",
  base: "base",
  told: "{pair}, at position {position}, turns by k·ω = {k} · {omega} = {angle} rad = {degrees}",
  product: "{here}·{there} = {product}, of at most {most}",
  turn: "turn {degrees}°",
  heads: { matrix: "Rₖ, this pair", before: "pos", after: "pos + k" },
  equation: "The matrix of shift {k} for this pair, rows {first} and {second}, times sine {sine} and cosine {cosine}, is {x} and {y}",
};

/* The block of R_k for one pair (sine, cosine), a rotation by `angle`. */
export const turn = (angle) => [
  [Math.cos(angle), Math.sin(angle)],
  [-Math.sin(angle), Math.cos(angle)],
];

export const hand = (angle) => [Math.sin(angle), Math.cos(angle)];

export const turned = (R, [x, y]) => R.map(([a, b]) => a * x + b * y);

export const product = (k, omegas) => sum(omegas.map((omega) => Math.cos(k * omega)));

const [SIZE, R] = [132, 46];
const number = fixed(2);
const degrees = (angle) => fixed(angle && Math.abs(angle) < 0.1 ? 1 : 0)((angle * 180) / Math.PI);

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "shift", "base", "pair"], fits: { pair: below(() => model.get("d_model") / 2) } });
  const d = ui.get("d_model");
  const faces = range(d / 2).map((i) => face(i));
  const row = h("div", { role: "radiogroup", "aria-label": WORDS.pairs, style: "display:grid;grid-template-columns:repeat(auto-fit,minmax(132px,1fr));gap:10px" }, faces.map(({ el }) => el));
  const group = radios(row, { name: "pair", onFocus: (i) => ui.set({ pair: i }) });
  group.adopt(faces.map(({ el }) => el), faces.map((_, pair) => told(WORDS.pair, { pair })));
  const written = equation();
  ui.stage.append(row, written.el);
  player(ui, "value", { pace: 250, label: WORDS.position, min: 20, max: 120 });
  ui.slider("shift", { label: WORDS.shift, min: -20, max: 20 });
  ui.slider("base", { label: WORDS.base, values: ui.get("bases"), format: String });

  function draw() {
    const [pos, k, base] = ["value", "shift", "base"].map(ui.get);
    const pair = Math.min(Math.max(0, ui.get("pair") | 0), d / 2 - 1);
    const omegas = frequencies(d, base);
    faces.forEach((each, i) => each.update(pos, k, omegas[i], i === pair));
    group.check(pair);
    const angle = k * omegas[pair];
    written.update(turn(angle), hand(pos * omegas[pair]), k);
    ui.say(
      h("div", {}, told(WORDS.told, { pair: h("b", {}, told(WORDS.pair, { pair })), k: general(k), omega: general(omegas[pair]), angle: general(angle), degrees: h("b", {}, `${degrees(angle)}°`), position: pos })),
      h("div", {}, told(WORDS.product, { here: h("b", { class: "tfm-one" }, `PE(${pos})`), there: h("b", { class: "tfm-two" }, `PE(${pos + k})`), product: number(product(k, omegas)), most: d / 2 })),
    );
  }
  const csv = () => {
    const [pos, k, base] = ["value", "shift", "base"].map(ui.get);
    const cells = frequencies(d, base).map((omega, i) => [i, omega, k * omega, ...hand(pos * omega), ...hand((pos + k) * omega)]);
    return [["pair", "omega", "turn", "sin pos", "cos pos", "sin pos+k", "cos pos+k"], ...cells];
  };
  return ui.start(draw, { csv });
}

/* Draw one pair as a clock: sine to the right, cosine up; the arc goes from the hand of pos to the hand of pos + k. */
function face(i) {
  const c = SIZE / 2;
  const tip = uid("tip");
  const arrow = s("marker", { id: tip, viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 4.5, markerHeight: 4.5, orient: "auto-start-reverse" }, s("path", { d: "M0 0L8 4L0 8z", style: "fill:var(--tfm-ink)" }));
  const hands = ["one", "two"].map((colour) => s("g", { style: `--c:var(--tfm-${colour})` }, s("path", { class: "tfm-line" }), s("circle", { class: "tfm-dot", r: 5.5 })));
  const arc = s("path", { fill: "none", "stroke-width": 1.8, style: "stroke:var(--tfm-ink)", "marker-end": `url(#${tip})` });
  const name = s("text", { x: c, y: 14, "text-anchor": "middle", "font-weight": 650 }, told(WORDS.pair, { pair: i }));
  const says = s("text", { class: "tfm-axis", x: c, y: SIZE + 12, "text-anchor": "middle" });
  const ring = s("circle", { cx: c, cy: c + 6, r: R, fill: "none", style: "stroke:var(--tfm-line)", "stroke-width": 1.5 });
  const svg = s("svg", { viewBox: `0 0 ${SIZE} ${SIZE + 18}`, style: "width:100%;max-width:180px", "aria-hidden": "true" }, s("defs", {}, arrow), ring, arc, hands, name, says);
  const el = h("div", { style: "border:2px solid var(--tfm-line);border-radius:8px;cursor:pointer;line-height:0;text-align:center" }, svg);
  const at = (angle, r = R) => `${(c + r * Math.sin(angle)).toFixed(1)} ${(c + 6 - r * Math.cos(angle)).toFixed(1)}`;
  return {
    el,
    update(pos, k, omega, chosen) {
      const [from, by] = [pos * omega, k * omega];
      [from, from + by].forEach((angle, which) => {
        const [line, dot] = hands[which].children;
        set(line, { d: `M${c} ${c + 6}L${at(angle)}`, "stroke-dasharray": which ? "5 3" : null });
        const [x, y] = at(angle).split(" ");
        set(dot, { cx: x, cy: y });
      });
      const part = by % (2 * Math.PI); // the remainder after whole turns
      const large = Math.abs(part) > Math.PI ? 1 : 0;
      set(arc, { d: Math.abs(part) > 0.2 ? `M${at(from, R - 16)}A${R - 16} ${R - 16} 0 ${large} ${part > 0 ? 1 : 0} ${at(from + part, R - 16)}` : "" });
      says.textContent = told(WORDS.turn, { degrees: degrees(by) });
      el.style.borderColor = `var(--tfm-${chosen ? "ink" : "line"})`;
    },
  };
}

/* Show R_k (sin, cos of pos) = (sin, cos of pos + k), in numbers. */
function equation() {
  const mono = "font-family:var(--tfm-mono);font-size:13px";
  const cell = (kind) => s("text", { "text-anchor": "end", style: mono, class: kind });
  const [matrix, before, after] = [range(4).map(() => cell()), range(2).map(() => cell("tfm-one")), range(2).map(() => cell("tfm-two"))];
  const bracket = (x, wide) => s("path", { class: "tfm-axis-line", d: `M${x + 5} 22h-5v46h5M${x + wide - 5} 22h5v46h-5` });
  const heads = [[WORDS.heads.matrix, 58], [WORDS.heads.before, 162], [WORDS.heads.after, 252]].map(([words, x]) => s("text", { class: "tfm-axis", x, y: 14, "text-anchor": "middle" }, words));
  const equals = s("text", { x: 204, y: 50, "text-anchor": "middle" }, "=");
  const svg = s("svg", { role: "img", viewBox: "0 0 282 74", style: "width:100%;max-width:440px;margin:auto" }, heads, bracket(0, 118), bracket(132, 58), bracket(220, 58), equals, matrix, before, after);
  const put = (node, x, line, value) => {
    set(node, { x, y: 40 + 22 * line });
    node.textContent = number(value);
  };
  return {
    el: h("div", { class: "tfm-figure-box" }, svg),
    update(block, from, k) {
      const to = turned(block, from);
      block.flat().forEach((value, c) => put(matrix[c], c % 2 ? 108 : 52, c >> 1, value));
      from.forEach((value, line) => put(before[line], 182, line, value));
      to.forEach((value, line) => put(after[line], 270, line, value));
      const [[first, second], [sine, cosine], [x, y]] = [block.map((line) => line.map(number).join(" ")), from.map(number), to.map(number)];
      set(svg, { "aria-label": told(WORDS.equation, { k, first, second, sine, cosine, x, y }) });
    },
  };
}

export default { render, words: WORDS };

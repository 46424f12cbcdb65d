/* Gradient-depth widget: a stack of layers, the norm of a gradient of length 1 on its way down, and residual connections to cut. */

import { below, card, clamp, general, h, player, plot, range, retext, s, set, told, write } from "../kit/index.js";

const WORDS = {
  plane: "Length of the gradient at each layer, on its way from the top to the bottom; the scale is the same for every stack.",
  caption: "Press a layer to cut its residual connections, or press it again to restore them. The grey bar spans the results of all seeds.{dashed}",
  dashed: " The dashed curve is the previous stack.",
  gradient: "length 1 ↓",
  words: "words",
  press: "Cut the residual connections of layer {layer}",
  every: "cut all layers",
  none: "restore all layers",
  norm: "norm",
  told: "{stack}: of a gradient of length 1 at the top, {middle} arrives at the bottom ({least} to {most}, depending on the seed).{former}",
  way: "{stack}: a gradient of length 1 at the top has length {middle} after {passed} of {depth} layers.{former}",
  stack: "{depth} layers, {norm}, {cuts}",
  former: " In the previous stack: {middle}.",
};

const DECADE = 1000; // as in tfm_lib.widgets.layers

/* Geometric means at each layer, the bottom's first, and the minimum and maximum over the seeds at the bottom. */
export function lengths(measured, { value, norm }) {
  const row = measured[norm][value.reduce((k, cut, i) => k + (cut ? 2 ** i : 0), 0)].map((x) => 10 ** (x / DECADE));
  return { middle: row.slice(0, -2), least: row.at(-2), most: row.at(-1) };
}

/* Whole decades that contain every length, and 1. */
export function ends(measured) {
  const all = Object.values(measured).flat(2);
  const [low, high] = [all.reduce((a, b) => Math.min(a, b), 0), all.reduce((a, b) => Math.max(a, b), 0)];
  return [10 ** Math.floor(low / DECADE), 10 ** Math.ceil(high / DECADE)];
}

const number = (x) => (x >= 0.001 && x < 1e5 ? String(+x.toPrecision(2)) : general(x));
/* The lengths, bottom first, when the gradient has passed so many layers: the layers that it has not reached hold its present place. */
export const far = (middle, passed) => {
  const front = middle.length - 1 - passed;
  return middle.map((_, level) => [middle[Math.max(level, front)], Math.max(level, front)]);
};

const [WIDE, STEP, TOP, BOTTOM] = [98, 36, 26, 40]; // TOP and BOTTOM equal those of the kit's plot, whose height the tower has
const [TRUNK, BOX, AROUND, THICK] = [64, 54, 10, 12];

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "norm", "former", "before", "passed"], fits: { passed: below(() => model.get("value").length + 1) } });
  const measured = ui.get("measured");
  const { norms, cuts, names, layer: layerName, length } = ui.get("shared");
  const depth = ui.get("value").length;
  const known = (norm) => (norms[norm] ? norm : "none");
  const now = () => ({ value: ui.get("value"), norm: known(ui.get("norm")) });
  const past = () => ({ value: ui.get("former"), norm: known(ui.get("before")) });

  const high = TOP + depth * STEP + BOTTOM;
  const y = (level) => TOP + (depth - level) * STEP;
  const layers = range(depth).map((i) => {
    const [up, down] = [y(i + 1) + 3, y(i) - 3];
    const box = s("rect", { x: TRUNK - BOX / 2, y: up + 6, width: BOX, height: STEP - 18, rx: 4, style: "fill:var(--tfm-card);stroke:var(--tfm-encoder);stroke-width:1.5" });
    const name = s("text", { class: "tfm-axis", x: TRUNK, y: up + STEP / 2 + 1, "text-anchor": "middle" }, told(names[0], { layers: i + 1 }));
    const around = s("path", { class: "tfm-line", d: `M${TRUNK} ${up}H${AROUND + 6}Q${AROUND} ${up} ${AROUND} ${up + 6}V${down - 6}Q${AROUND} ${down} ${AROUND + 6} ${down}H${TRUNK}` });
    const mark = s("text", { class: "tfm-mark-label tfm-strong", x: AROUND, y: up + STEP / 2 + 1, "text-anchor": "middle", style: "--c:var(--tfm-broken)" });
    const node = s("g", {}, around, s("path", { class: "tfm-line", d: `M${TRUNK} ${up}V${down}`, style: "--c:var(--tfm-encoder)" }), box, name, mark);
    const press = h("button", {
      type: "button", class: "tfm-cut", "data-control": `cut-${i + 1}`, "aria-label": told(WORDS.press, { layer: i + 1 }),
      style: `top:${y(i + 1)}px;width:${WIDE}px;height:${STEP}px`,
      onclick: () => ui.set({ value: ui.get("value").map((cut, k) => (k === i ? !cut : cut)) }),
    });
    return { node, around, mark, press };
  });
  const signals = range(depth + 1).map((level) => s("rect", { class: "tfm-signal", height: THICK, rx: 3, style: `--wait:${depth - level}` }));
  const [above, under] = [[WORDS.gradient, y(depth) - 13, -18], [WORDS.words, y(0) + 23, 0]].map(([words, at, aside]) => s("text", { class: "tfm-axis", x: TRUNK + aside, y: at, "text-anchor": "middle" }, words));
  const tower = s("svg", { width: WIDE, height: high, "aria-hidden": "true", style: "display:block" }, layers.map(({ node }) => node), signals, above, under);
  const plane = plot(ui, { x: { label: length, domain: ends(measured), log: true }, y: { label: layerName, domain: [0, depth] }, height: high, label: WORDS.plane });
  plane.rule({ colour: "soft" })({ x: 1 });
  const caption = h("p", { class: "tfm-caption" });
  const ghost = plane.line({ colour: "soft", dash: "6 4" });
  const spread = plane.line({ colour: "soft" });
  plane.layer.lastChild.firstChild.style.cssText += "stroke-width:7;stroke-opacity:.45;stroke-linecap:round";
  const line = plane.line({ colour: "ink" });
  const dots = range(depth).map(() => plane.dot({ colour: "ink", r: 3.5 }));
  const bottom = plane.dot({ colour: "ink", r: 6 });
  plane.el.style.flex = "1 1 0";
  ui.stage.append(
    h("div", { style: "position:relative;display:flex" }, h("div", { class: "tfm-tower" }, tower, layers.map(({ press }) => press).reverse()), plane.el),
    caption,
  );

  player(ui, "passed", { steps: () => depth + 1 });
  ui.select("norm", { label: WORDS.norm, options: Object.entries(norms) });
  const all = ui.button("all", { label: WORDS.every, onclick: () => ui.set({ value: ui.get("value").map(() => !ui.get("value").some(Boolean)) }) });
  all.el.style.minWidth = "9em";

  /* After any change of the stack, the previous curve stays as a ghost; a link brings its own. */
  let last = now();
  const tempo = (wait) => ui.stage.parentElement.style.setProperty("--tempo", wait);
  ui.on("passed", () => tempo("0s"));
  const leave = () => {
    tempo("60ms");
    const was = last;
    last = now();
    ui.set({ former: was.value, before: was.norm });
  };
  ui.on("value", leave);
  ui.on("norm", leave);

  function draw() {
    const state = now();
    const { middle, least, most } = lengths(measured, state);
    const same = JSON.stringify(state) === JSON.stringify(past());
    const former = lengths(measured, past()).middle;
    const passed = clamp(ui.get("passed"), 0, depth);
    const front = depth - passed;
    const seen = far(middle, passed);
    const [low, top] = ends(measured).map(Math.log10);
    layers.forEach(({ node, around, mark, press }, i) => {
      const cut = state.value[i];
      set(node, { opacity: i < front ? 0.3 : null });
      set(around, { style: `--c:var(--tfm-${cut ? "broken" : "encoder"})`, "stroke-dasharray": cut ? "5 7" : null });
      write(mark, cut ? "✕" : "");
      set(press, { "aria-pressed": String(Boolean(cut)) });
    });
    signals.forEach((bar, level) => {
      const [length, at] = seen[level];
      const wide = 2 + (44 * (Math.log10(length) - low)) / (top - low);
      set(bar, { x: (TRUNK - wide / 2).toFixed(1), y: y(at) - THICK / 2, width: wide.toFixed(1) });
    });
    const points = (row) => row.map((x, level) => [x, level]);
    ghost(same ? [] : points(former));
    retext(caption, told(WORDS.caption, { dashed: same ? "" : WORDS.dashed }));
    line(seen);
    spread(front ? [] : [[least, 0], [most, 0]]);
    dots.forEach((dot, i) => dot(seen[i + 1]));
    bottom(seen[0], number(seen[0][0]), seen[0][0] < 1); // away from the line at 1
    const every = state.value.some(Boolean) ? WORDS.none : WORDS.every;
    retext(all.el, every);
    const gone = range(depth).filter((i) => state.value[i]).map((i) => i + 1);
    const kind = !gone.length ? "none" : gone.length === depth ? "all" : "some";
    const these = told(names[gone.length === 1 ? 0 : 1], { layers: gone.join(", ") });
    ui.say(
      ...told(front ? WORDS.way : WORDS.told, {
        stack: h("b", {}, told(WORDS.stack, { depth, norm: norms[state.norm], cuts: told(cuts[kind], { layers: these }) })),
        passed,
        depth,
        middle: number(seen[0][0]),
        least: number(least),
        most: number(most),
        former: same ? "" : told(WORDS.former, { middle: number(former[front]) }),
      }),
    );
  }

  const csv = () => {
    const [{ middle }, { middle: former }] = [now(), past()].map((state) => lengths(measured, state));
    return [["layer", "geometric mean", "before"], ...middle.map((x, level) => [level, x, former[level]])];
  };
  return ui.start(draw, { watch: ["measured"], csv });
}

export default { render, words: WORDS };

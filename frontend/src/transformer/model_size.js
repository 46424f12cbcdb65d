/* Model-size widget: the model drawn with areas proportional to parameter counts; its memory, and its operations per word. */

import { card, clamp, fixed, fold, h, indexed, many, onWidth, range, retext, s, set, sub, sum, told, uid, write } from "../kit/index.js";

const WORDS = {
  parts: {
    "words, E": "words, E",
    "encoder attention": "encoder attention",
    "encoder feed-forward": "encoder feed-forward",
    "decoder attention": "decoder attention",
    "cross-attention": "cross-attention",
    "decoder feed-forward": "decoder feed-forward",
    norms: "norms, too thin to draw",
  },
  encoder: "encoder",
  decoder: "decoder",
  table: "words",
  unit: "{count} parameters",
  key: "Area: number of parameters. One side of every part is d_model. Dashed: {base}.",
  drawn: "Encoder and decoder, of {layers}, on their table of words",
  layers: ["{count} layer", "{count} layers"],
  preset: "model",
  presets: { base: "the paper's base", big: "the paper's big", translator: "this book's translator", own: "your own" },
  model: "model",
  ff: "ff",
  words: "words",
  depth: "layers N",
  split: "heads h",
  norm: "norm",
  norms: { post: "after the sum", pre: "before the sub-layer" },
  length: "length n",
  total: "{total} parameters",
  against: "{times} × {base}",
  times: "× {times}",
  work: "{operations} operations for a word, in sentences of {words}",
  heads: ["{count} head", "{count} heads"],
  told: "{total} · {against} · in 32 bits {held}B, in 16 bits {half}B, to train with Adam {trained}B and what the layers must remember · {heads} of {wide} · all attention together holds {weights} weights for a pair of sentences",
};

const FIELDS = ["n_layers", "value", "d_ff", "n_heads", "vocab_size", "norm"];
const CHOICES = {
  value: [64, 128, 256, 512, 1024, 2048, 4096],
  d_ff: [128, 256, 512, 1024, 2048, 4096, 8192, 16384],
  n_heads: [1, 2, 4, 8, 16, 32],
};

/* Parameter counts, as tfm_lib.transformer.count_parameters. */
export function parts({ n_layers: N, value: d, d_ff, vocab_size, norm }) {
  const attention = N * 4 * (d * d + d);
  const network = N * (2 * d * d_ff + d_ff + d);
  return {
    "words, E": vocab_size * d,
    "encoder attention": attention,
    "encoder feed-forward": network,
    "decoder attention": attention,
    "cross-attention": attention,
    "decoder feed-forward": network,
    norms: (5 * N + (norm === "pre" ? 2 : 0)) * 2 * d,
  };
}

/* Operations per word, as tfm_lib.widgets.transformer.flops_per_word. */
export function work({ n_layers: N, value: d, d_ff, vocab_size, length }) {
  return { "attention, matrices": 24 * N * d * d, "feed-forward": 8 * N * d * d_ff, "scores and means": 12 * N * length * d, logits: 2 * d * vocab_size };
}

export const weightsHeld = ({ n_layers: N, n_heads, length }) => 3 * N * n_heads * length * length;

/* Pixels per feature and per row of numbers, and the available space. */
const [ACROSS, ROW] = [0.11, 1 / 370];
const [WIDEST, TALLEST, LOW, GAP, STACKS] = [340, 270, 113, 36, -135];
export const AREA = ACROSS * ROW; // area of one parameter at full scale

/* Lay out the model as rectangles [x, y, width, height], the centre of its base at (0, 0), y pointing down: the embedding table
   lies on its side, and each stack stands on it, layer on layer. If the space is too small, it is drawn 2, 4, … times smaller. */
export function machine(sizes, room = WIDEST) {
  const { n_layers: N, value: d, vocab_size } = sizes;
  const counted = parts(sizes);
  const rows = (name) => (counted[name] / d / N) * ROW;
  const decoder = ["decoder attention", "cross-attention", "decoder feed-forward"];
  const high = N * sum(decoder.map(rows));
  let shrunk = 1;
  while (2 * d * ACROSS > shrunk * (room - GAP) || vocab_size * ROW > shrunk * room || high > shrunk * TALLEST || d * ACROSS > shrunk * LOW) shrunk *= 2;
  const [wide, long] = [(d * ACROSS) / shrunk, (vocab_size * ROW) / shrunk];
  const boxes = { "words, E": [[-long / 2, -wide, long, wide]] };
  const stack = (names, x) => {
    let y = STACKS;
    for (const name of range(N).flatMap(() => names)) {
      const tall = rows(name) / shrunk;
      y -= tall;
      (boxes[name] ??= []).push([x, y, wide, tall]);
    }
    return [x, y, wide, STACKS - y];
  };
  const whole = [stack(["encoder attention", "encoder feed-forward"], -GAP / 2 - wide), stack(decoder, GAP / 2), boxes["words, E"][0]];
  return { boxes, whole, shrunk };
}

/* Format with three digits, 63.1 M; as _short in tfm_lib.widgets.transformer. */
export function short(x) {
  const [size, name] = [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"]].find(([size]) => x >= size) ?? [1, ""];
  return `${+(x / size).toPrecision(3)}${name}`;
}

const grouped = (x) => String(x).replace(/\B(?=(\d{3})+$)/g, ",");
const percent = (x) => `${fixed(1)(100 * x)} %`;
const times = (x) => (x >= 100 ? grouped(Math.round(x)) : String(+x.toPrecision(2)));
const [FILLS, HIGH, FOOT] = [["ink", "encoder", "encoder", "decoder", "decoder", "decoder"], TALLEST - STACKS + 44, 22];
const FAINT = ["encoder feed-forward", "decoder feed-forward"];

function render({ model, el }) {
  const ui = card({ model, el, state: ["preset", ...FIELDS, "length"] });
  const presets = ui.get("presets");
  const known = (name, otherwise, lo, hi) => {
    const x = ui.get(name);
    if (CHOICES[name]) return CHOICES[name].includes(x) ? x : otherwise;
    return Number.isFinite(x) ? clamp(Math.round(x), lo, hi) : otherwise;
  };
  const sizes = () => ({
    n_layers: known("n_layers", 6, 1, 24),
    value: known("value", 512),
    d_ff: known("d_ff", 2048),
    n_heads: known("n_heads", 8),
    vocab_size: known("vocab_size", 37000, 100, 200000),
    norm: ui.get("norm") === "pre" ? "pre" : "post",
    length: known("length", 32, 1, 4096),
  });
  const names = Object.keys(parts(sizes()));
  const baseParts = parts(presets.base);

  const hatch = uid("hatch");
  const paint = (name, i) => (name === "cross-attention" ? `fill:url(#${hatch});stroke:var(--tfm-decoder);stroke-width:.6` : `fill:var(--tfm-${FILLS[i]});fill-opacity:${i ? (FAINT.includes(name) ? 0.4 : 0.85) : 0.6};stroke:var(--tfm-card);stroke-width:.6`);
  const drawn = names.slice(0, -1).map((name, i) => s("path", { "data-part": name, style: paint(name, i) }));
  const ghost = s("path", { style: "fill:none;stroke:var(--tfm-soft);stroke-width:1.2;stroke-dasharray:4 3" });
  const feet = s("path", { class: "tfm-axis-line" });
  const label = (words, anchor = "middle") => s("text", { class: "tfm-axis", "text-anchor": anchor }, words);
  const [over, beside, below, unit] = [label(WORDS.encoder, "end"), label(WORDS.decoder, "start"), label(WORDS.table), label("", "start")];
  const square = s("rect", { x: 2, y: 4, width: Math.sqrt(1e6 * AREA).toFixed(1), height: Math.sqrt(1e6 * AREA).toFixed(1), style: "fill:none;stroke:var(--tfm-soft)" });
  set(unit, { x: 26, y: 17 });
  const svg = s("svg", { height: HIGH, role: "img" }, s("pattern", { id: hatch, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("rect", { width: 5, height: 5, style: "fill:var(--tfm-card)" }), s("path", { d: "M0 0V5", style: "stroke:var(--tfm-decoder);stroke-width:4" })), feet, drawn, ghost, over, beside, below, square, unit);
  const box = h("div", { class: "tfm-figure-box" }, svg);

  const list = (names, words, swatches, columns) => {
    const rows = names.map((name, i) => {
      const swatch = swatches > 0 && s("svg", { width: 12, height: 12, "aria-hidden": "true", style: "flex:none" }, i < swatches && s("rect", { width: 12, height: 12, rx: 2, style: paint(name, i) }));
      const values = range(columns).map(() => h("span", { style: "text-align:right;font-family:var(--tfm-mono);font-size:.9em;white-space:nowrap" }));
      return { values, cells: [h("span", { style: "display:flex;gap:7px;align-items:center" }, swatch, words[name]), ...values] };
    });
    return {
      el: h("div", { style: `display:grid;grid-template-columns:1fr repeat(${columns},auto);gap:2px 12px;align-items:center;font-size:.93em` }, rows.flatMap(({ cells }) => cells)),
      update: (all) => all.forEach((texts, i) => texts.forEach((text, k) => retext(rows[i].values[k], text))),
    };
  };
  const partList = list(names, WORDS.parts, names.length - 1, 3);
  const workList = list(Object.keys(work(sizes())), ui.get("shared").work, 0, 2);
  const [partTitle, workTitle] = ["", "margin-top:14px"].map((style) => h("p", { class: "tfm-caption", style }));
  const key = h("p", { class: "tfm-caption" }, indexed(told(WORDS.key, { base: WORDS.presets.base })));
  ui.stage.append(h("div", { class: "tfm-columns" }, h("div", {}, box), h("div", {}, partTitle, partList.el, workTitle, workList.el)), key);

  ui.select("preset", { label: WORDS.preset, options: Object.entries(WORDS.presets) });
  ui.slider("value", { label: sub("d", WORDS.model), values: CHOICES.value, format: String });
  ui.slider("d_ff", { label: sub("d", WORDS.ff), values: CHOICES.d_ff, format: String });
  ui.slider("n_layers", { label: WORDS.depth, min: 1, max: 24, format: String });
  ui.slider("vocab_size", { label: WORDS.words, min: 100, max: 200000, log: true, step: 100, format: grouped });
  ui.slider("n_heads", { label: WORDS.split, values: CHOICES.n_heads, format: String });
  ui.slider("length", { label: WORDS.length, min: 1, max: 4096, log: true, step: 1, format: String });
  ui.select("norm", { label: WORDS.norm, options: Object.entries(WORDS.norms) });
  fold(ui);

  /* A preset sets the sizes; another size changes the preset to "own". */
  ui.on("preset", () => presets[ui.get("preset")] && ui.set({ ...presets[ui.get("preset")] }));
  const leave = () => {
    const preset = presets[ui.get("preset")];
    if (preset && FIELDS.some((name) => preset[name] !== ui.get(name))) ui.set({ preset: "own" });
  };
  let settling = false;
  for (const name of FIELDS) {
    ui.on(name, () => {
      if (settling) return;
      settling = true;
      queueMicrotask(() => {
        settling = false;
        leave();
      });
    });
  }

  let room = 0;
  function picture(now) {
    if (!room) return;
    const middle = Math.min(room, WIDEST) / 2;
    const at = ([x, y, wide, tall]) => `M${(x + middle).toFixed(2)} ${(y + HIGH - FOOT).toFixed(2)}h${wide.toFixed(2)}v${tall.toFixed(2)}h${(-wide).toFixed(2)}z`;
    const { boxes, whole, shrunk } = machine(now, middle * 2);
    drawn.forEach((path, i) => set(path, { d: boxes[names[i]].map(at).join("") }));
    const base = machine(presets.base, middle * 2);
    const outline = base.whole.map(([, , wide, tall], k) => {
      const [w, t] = [wide, tall].map((side) => (side * base.shrunk) / shrunk); // the base model at the scale of this model
      return [[-GAP / 2 - w, GAP / 2, -w / 2][k], (k < 2 ? STACKS : 0) - t, w, t];
    });
    const same = ["n_layers", "value", "d_ff", "vocab_size"].every((name) => now[name] === presets.base[name]);
    set(ghost, { d: same ? "" : outline.map(at).join("") });
    const [encoder, decoder, table] = whole;
    const y = (at) => (at + HIGH - FOOT).toFixed(1);
    set(feet, { d: [encoder, decoder].map(([x, , wide]) => `M${(x + wide / 2 + middle).toFixed(1)} ${y(STACKS)}V${y(STACKS + 11)}H${middle}V${y(table[1])}`).join("") });
    [over, beside].forEach((words, k) => set(words, { x: middle + (k ? 8 : -8), y: y(Math.min(whole[k][1], outline[k][1]) - 6) }));
    set(below, { x: middle, y: HIGH - 7 });
    write(unit, told(WORDS.unit, { count: short(1e6 * shrunk * shrunk) }));
    set(svg, { width: middle * 2, "aria-label": told(WORDS.drawn, { layers: many(WORDS.layers, now.n_layers) }) });
  }

  function draw() {
    const now = sizes();
    const [found, flops] = [parts(now), work(now)];
    const [total, operations] = [sum(Object.values(found)), sum(Object.values(flops))];
    const ratio = times(total / sum(Object.values(baseParts)));
    picture(now);
    partTitle.textContent = told(WORDS.total, { total: grouped(total) });
    partList.update(names.map((name) => [short(found[name]), percent(found[name] / total), told(WORDS.times, { times: times(found[name] / baseParts[name]) })]));
    workTitle.textContent = told(WORDS.work, { operations: short(operations), words: now.length });
    workList.update(Object.values(flops).map((x) => [short(x), percent(x / operations)]));
    ui.say(
      ...told(WORDS.told, {
        total: h("b", {}, told(WORDS.total, { total: grouped(total) })),
        against: told(WORDS.against, { times: ratio, base: WORDS.presets.base }),
        held: short(4 * total),
        half: short(2 * total),
        trained: short(16 * total),
        heads: many(WORDS.heads, now.n_heads),
        wide: now.value / now.n_heads,
        weights: short(weightsHeld(now)),
      }),
    );
  }
  ui.until(
    onWidth(box, (width) => {
      room = width;
      picture(sizes());
    }),
  );

  const csv = () => {
    const now = sizes();
    return [["what", "part", "number"], ...Object.entries(parts(now)).map(([name, x]) => ["parameters", name, x]), ...Object.entries(work(now)).map(([name, x]) => ["operations", name, x])];
  };
  return ui.start(draw, { csv });
}

export default { render, words: WORDS };

/* Model size: the parameters of a Transformer part by part, its memory, and its work for a word. */

import { card, clamp, fixed, h, many, range, s, set, sub, sum, told } from "../kit/index.js";

const WORDS = {
  parts: {
    "words, E": "words, E",
    "encoder attention": "encoder attention",
    "encoder feed-forward": "encoder feed-forward",
    "decoder attention": "decoder attention",
    "cross-attention": "cross-attention",
    "decoder feed-forward": "decoder feed-forward",
    norms: "norms",
  },
  preset: "model",
  presets: { base: "the paper's base", big: "the paper's big", translator: "this book's translator", own: "your own" },
  model: "model",
  ff: "ff",
  words: "words",
  norm: "norm",
  norms: { post: "after the sum", pre: "before the sub-layer" },
  length: "length n",
  total: "{total} parameters",
  work: "{operations} operations for a word, in sentences of {words}",
  heads: ["{count} head", "{count} heads"],
  told: "{total} · in 32 bits {held}B, in 16 bits {half}B, to train with Adam {trained}B and what the layers must remember · {heads} of {wide} · all attention together holds {weights} weights for a pair of sentences · scores and means are {share} of the work",
};

const FIELDS = ["n_layers", "value", "d_ff", "n_heads", "vocab_size", "norm"];
const CHOICES = {
  value: [64, 128, 256, 512, 1024, 2048, 4096],
  d_ff: [128, 256, 512, 1024, 2048, 4096, 8192, 16384],
  n_heads: [1, 2, 4, 8, 16, 32],
};

/* As tfm_lib.transformer.count_parameters counts them. */
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

/* As tfm_lib.widgets.transformer.flops_per_word. */
export function work({ n_layers: N, value: d, d_ff, vocab_size, length }) {
  return { "attention, matrices": 24 * N * d * d, "feed-forward": 8 * N * d * d_ff, "scores and means": 12 * N * length * d, logits: 2 * d * vocab_size };
}

export const weightsHeld = ({ n_layers: N, n_heads, length }) => 3 * N * n_heads * length * length;

/* 63.1 M: three digits, as _short in tfm_lib.widgets.transformer. */
export function short(x) {
  const [size, name] = [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"]].find(([size]) => x >= size) ?? [1, ""];
  return `${+(x / size).toPrecision(3)}${name}`;
}

const grouped = (x) => String(x).replace(/\B(?=(\d{3})+$)/g, ",");
const percent = (x) => `${fixed(1)(100 * x)} %`;

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

  const bars = (names, colours, words) => {
    const rows = names.map((name, i) => {
      const bar = s("rect", { y: 2, height: 12, rx: 2, style: `fill:var(--tfm-${colours[i]})` });
      const svg = s("svg", { viewBox: "0 0 200 16", preserveAspectRatio: "none", "aria-hidden": "true", style: "width:100%;height:16px;display:block" }, s("rect", { y: 2, height: 12, width: 200, rx: 2, style: "fill:var(--tfm-line);fill-opacity:.6" }), bar);
      const value = h("span", { style: "text-align:right;font-family:var(--tfm-mono);font-size:.9em;white-space:nowrap" });
      return { bar, value, cells: [h("span", {}, words[name]), svg, value] };
    });
    const grid = h("div", { style: "display:grid;grid-template-columns:fit-content(40%) minmax(30px,1fr) 8.6em;gap:2px 10px;align-items:center;font-size:.93em" }, rows.flatMap(({ cells }) => cells));
    return {
      el: grid,
      update(found, tell) {
        const total = sum(Object.values(found));
        Object.values(found).forEach((x, i) => {
          set(rows[i].bar, { width: Math.max(0.6, (200 * x) / total).toFixed(2) });
          rows[i].value.textContent = tell(x, x / total);
        });
      },
    };
  };
  const partBars = bars(Object.keys(parts(sizes())), ["ink", "encoder", "encoder", "decoder", "decoder", "decoder", "soft"], WORDS.parts);
  const workBars = bars(Object.keys(work(sizes())), range(4).map(() => "ink"), ui.get("shared").work);
  const [partTitle, workTitle] = [0, 1].map(() => h("p", { class: "tfm-caption" }));
  ui.stage.append(h("div", {}, partTitle, partBars.el), h("div", {}, workTitle, workBars.el));

  ui.select("preset", { label: WORDS.preset, options: Object.entries(WORDS.presets) });
  ui.slider("n_layers", { label: "N", min: 1, max: 24, format: String });
  ui.slider("value", { label: sub("d", WORDS.model), values: CHOICES.value, format: String });
  ui.slider("d_ff", { label: sub("d", WORDS.ff), values: CHOICES.d_ff, format: String });
  ui.slider("n_heads", { label: "h", values: CHOICES.n_heads, format: String });
  ui.slider("vocab_size", { label: WORDS.words, min: 100, max: 200000, log: true, step: 100, format: grouped });
  ui.select("norm", { label: WORDS.norm, options: Object.entries(WORDS.norms) });
  ui.slider("length", { label: WORDS.length, min: 1, max: 4096, log: true, step: 1, format: String });

  /* A preset sets the sizes; another size makes it your own. */
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

  function draw() {
    const now = sizes();
    const [found, flops] = [parts(now), work(now)];
    const [total, operations] = [sum(Object.values(found)), sum(Object.values(flops))];
    partTitle.textContent = told(WORDS.total, { total: grouped(total) });
    partBars.update(found, (x, share) => `${short(x)} · ${percent(share)}`);
    workTitle.textContent = told(WORDS.work, { operations: short(operations), words: now.length });
    workBars.update(flops, (x, share) => `${short(x)} · ${percent(share)}`);
    ui.say(
      ...told(WORDS.told, {
        total: h("b", {}, told(WORDS.total, { total: grouped(total) })),
        held: short(4 * total),
        half: short(2 * total),
        trained: short(16 * total),
        heads: many(WORDS.heads, now.n_heads),
        wide: now.value / now.n_heads,
        weights: short(weightsHeld(now)),
        share: percent(flops["scores and means"] / operations),
      }),
    );
  }

  const csv = () => {
    const now = sizes();
    return [["what", "part", "number"], ...Object.entries(parts(now)).map(([name, x]) => ["parameters", name, x]), ...Object.entries(work(now)).map(([name, x]) => ["operations", name, x])];
  };
  return ui.start(draw, { csv });
}

export default { render, words: WORDS };

/* Sparsity-patterns widget: the attention pattern of one layer, and how many layers information needs between any two words. */

import { card, h, heatmap, legend, player, range, told } from "../kit/index.js";

const WORDS = {
  map: "Number of layers until each column’s word reaches each row’s word",
  caption: "Layers until a column’s word reaches a row’s",
  cell: "{key} reaches {query}: {hops}",
  direct: "through 1 layer",
  later: "through {hops}",
  never: "not within {layers}",
  pattern: "pattern",
  size: "size",
  rounds: "rounds",
  layers: "layers",
  causal: "causal mask",
  hidden: "not reached",
  told: "A layer compares {pairs} of {all} pairs ({share} %). Within {layers}, {query} is reached by {heard} of {words} words; by the first, {first}, {far}.",
  one: "1 layer",
  many: "{layers} layers",
};

const PATTERNS = ["window", "strided", "global", "hashing", "full"];
const STEPS = [1, 2, 4, 8]; // numbers of layers in the legend
export const CHUNK = 4; // positions per chunk, as in tfm_lib.widgets.efficient

/* Sort positions by bucket and cut them into chunks: true if two share a bucket, in one chunk or the one before. */
export function hashed(buckets, chunk = CHUNK) {
  const order = range(buckets.length).sort((a, b) => buckets[a] - buckets[b] || a - b);
  const where = [];
  order.forEach((position, place) => (where[position] = Math.floor(place / chunk)));
  return (i, j) => buckets[i] === buckets[j] && (where[i] === where[j] || where[i] === where[j] + 1);
}

/* mask[i][j]: whether word i attends to word j in one layer; each attends to itself. */
export function pattern(name, n, { size = 1, rounds = 1, causal = false, buckets = [] }) {
  const tests = name === "hashing" ? buckets.slice(0, rounds).map((each) => hashed(each)) : [];
  const rules = {
    window: (i, j) => Math.abs(i - j) <= size,
    strided: (i, j) => Math.abs(i - j) <= 1 || (i - j) % size === 0,
    global: (i, j) => Math.abs(i - j) <= size || i === 0 || j === 0,
    hashing: (i, j) => i === j || tests.some((meet) => meet(i, j)),
    full: () => true,
  };
  return range(n).map((i) => range(n).map((j) => rules[name](i, j) && !(causal && j > i)));
}

/* hops[i][j]: the fewest layers through which j reaches i, 0 if that takes more than `layers`. */
export function reach(mask, layers) {
  let now = mask;
  const hops = mask.map((row) => row.map(Number));
  for (let layer = 2; layer <= layers; layer += 1) {
    now = now.map((row) => mask.map((_, j) => row.some((heard, k) => heard && mask[k][j])));
    now.forEach((row, i) => row.forEach((heard, j) => heard && !hops[i][j] && (hops[i][j] = layer)));
  }
  return hops;
}

function render({ model, el }) {
  const ui = card({ model, el, state: ["pattern", "size", "rounds", "causal", "value", "focus"] });
  const tokens = () => ui.get("tokens");
  const { patterns: names, reached, lost } = ui.get("shared");
  let hops = [];
  const layers = (count) => told(count === 1 ? WORDS.one : WORDS.many, { layers: count });
  const words = (i, j) => (hops[i][j] === 1 ? WORDS.direct : hops[i][j] ? told(WORDS.later, { hops: layers(hops[i][j]) }) : told(WORDS.never, { layers: layers(ui.get("value")) }));
  const map = heatmap(ui, {
    rows: tokens(),
    cols: tokens(),
    name: "reach",
    label: WORDS.map,
    onFocus: (i) => ui.set({ focus: i }),
    text: (i, j) => hops[i][j] || "",
    describe: (i, j) => told(WORDS.cell, { query: tokens()[i], key: tokens()[j], hops: words(i, j) }),
    most: 25,
  });
  ui.stage.append(h("p", { class: "tfm-caption" }, WORDS.caption), map.el, legend({ unit: WORDS.layers, steps: STEPS.map((n) => [1 / n, String(n)]), masked: WORDS.hidden }));
  ui.select("pattern", { label: WORDS.pattern, options: PATTERNS.map((name) => [name, names[name]]) });
  const size = ui.slider("size", { label: WORDS.size, min: 1, max: 8 });
  const rounds = ui.slider("rounds", { label: WORDS.rounds, min: 1, max: ui.get("buckets").length });
  player(ui, "value", { pace: 900, label: WORDS.layers, min: 1, max: 8 });
  ui.toggle("causal", { label: WORDS.causal });

  const settings = () => ({ size: ui.get("size"), rounds: ui.get("rounds"), causal: ui.get("causal"), buckets: ui.get("buckets") });

  function draw() {
    const [n, name, i] = [tokens().length, ui.get("pattern"), ui.get("focus")];
    hops = reach(pattern(name, n, settings()), ui.get("value"));
    map.update({
      values: hops.map((row) => row.map((hop) => (hop ? 1 / hop : 0))),
      hidden: hops.map((row) => row.map((hop) => !hop)),
      row: i,
    });
    size.enable(["window", "strided", "global"].includes(name));
    rounds.enable(name === "hashing");
    const pairs = hops.flat().filter((hop) => hop === 1).length;
    ui.say(
      ...told(WORDS.told, {
        pairs,
        all: n * n,
        share: Math.round((100 * pairs) / (n * n)),
        layers: layers(ui.get("value")),
        query: h("b", { class: "tfm-q" }, tokens()[i]),
        heard: hops[i].filter(Boolean).length,
        words: n,
        first: h("b", { class: "tfm-k" }, tokens()[0]),
        far: hops[i][0] ? told(reached, { hops: layers(hops[i][0]) }) : lost,
      }),
    );
  }

  const csv = () => [["query", "key", "layers"], ...hops.flatMap((row, i) => row.map((hop, j) => [tokens()[i], tokens()[j], hop]))];
  return ui.start(draw, { watch: ["buckets"], csv });
}

export default { render, words: WORDS };

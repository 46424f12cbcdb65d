/* Mask editor: decide which query may see which key; the weights renormalise at once. */

import { card, entropy, fixed, h, heatmap, legend, range, softmax, told } from "../kit/index.js";

const WORDS = {
  scoreMap: "Scores under the mask: queries down, keys across. Enter shows or hides a key.",
  weightMap: "Weights after the softmax: queries down, keys across.",
  cell: "query {query}, key {key}: {what}",
  score: "score {score}",
  hidden: "hidden, −∞",
  empty: "no weight, the row is empty",
  weight: "weight {weight}",
  change: "{scores} · click or drag to change",
  masked: "hidden",
  mask: "mask",
  size: "size",
  padding: "and hide padding",
  none: "{query} sees no key. ",
  told: "{query} sees {seen} of {keys} keys → {shares} · sum 1.00 · entropy {entropy} nats ",
  broken: [
    "Row {rows} may see nothing: every score is −∞, and the softmax divides 0 by 0. Each query needs at least one key.",
    "Rows {rows} may see nothing: every score is −∞, and the softmax divides 0 by 0. Each query needs at least one key.",
  ],
};

const PRESETS = ["causal", "strict", "padding", "window", "block", "full"];
const SIZED = ["window", "block"];
const PAD = "<pad>";
const MOST_TOLD = 8; // keys that the readout names, the heaviest first to be kept

/* mask[i][j] is true where query i may see key j, as in tfm_lib.masking. */
export function presetMask(preset, tokens, size, hidePadding = false) {
  const rules = {
    causal: (i, j) => j <= i,
    strict: (i, j) => j < i,
    padding: (i, j) => tokens[j] !== PAD,
    window: (i, j) => Math.abs(i - j) <= size,
    block: (i, j) => Math.floor(i / size) === Math.floor(j / size),
    full: () => true,
  };
  const places = range(tokens.length);
  return places.map((i) => places.map((j) => rules[preset](i, j) && !(hidePadding && tokens[j] === PAD)));
}

export const maskedWeights = (scores, mask) => scores.map((row, i) => softmax(row, mask[i]));

export const withCell = (mask, i, j, seen) => mask.map((row, r) => (r === i ? row.map((old, c) => (c === j ? seen : old)) : row));

const score = fixed(1);
const share = fixed(2);

function render({ model, el }) {
  const ui = card({ model, el, state: ["preset", "size", "hide_padding", "value", "focus"] });
  const tokens = () => ui.get("tokens");
  const mask = () => ui.get("value");
  const seen = (i, j) => mask()[i][j];
  const empty = (i) => !mask()[i].some(Boolean);
  let weights = [];
  let pen = true; // what a drag writes: the state the first cell was given

  const put = (i, j, to) => ui.set({ value: withCell(mask(), i, j, to), preset: "own" });
  const apply = () => {
    const preset = ui.get("preset");
    if (preset !== "own") ui.set({ value: presetMask(preset, tokens(), ui.get("size"), ui.get("hide_padding")) });
  };
  const focus = (i) => ui.set({ focus: i });
  const words = { rows: tokens(), cols: tokens(), onFocus: focus };
  const cell = (i, j, what) => told(WORDS.cell, { query: tokens()[i], key: tokens()[j], what });
  const { presets, scores, weights: heading } = ui.get("shared");

  const scoreMap = heatmap(ui, {
    ...words,
    name: "mask",
    label: WORDS.scoreMap,
    onToggle: (i, j) => put(i, j, (pen = !seen(i, j))),
    onPaint: (i, j) => seen(i, j) !== pen && put(i, j, pen),
    text: (i, j) => (seen(i, j) ? score(ui.get("scores")[i][j]) : "−∞"),
    describe: (i, j) => cell(i, j, seen(i, j) ? told(WORDS.score, { score: score(ui.get("scores")[i][j]) }) : WORDS.hidden),
  });
  const weightMap = heatmap(ui, {
    ...words,
    name: "weights",
    label: WORDS.weightMap,
    text: (i, j) => (empty(i) ? "?" : seen(i, j) ? share(weights[i][j]) : ""),
    describe: (i, j) => cell(i, j, empty(i) ? WORDS.empty : told(WORDS.weight, { weight: share(weights[i][j]) })),
  });
  ui.stage.append(
    h(
      "div",
      { class: "tfm-columns" },
      h("div", {}, h("p", { class: "tfm-caption" }, told(WORDS.change, { scores })), scoreMap.el),
      h("div", {}, h("p", { class: "tfm-caption" }, heading), weightMap.el, legend({ masked: WORDS.masked })),
    ),
  );

  const padded = tokens().includes(PAD);
  ui.select("preset", { label: WORDS.mask, options: [...PRESETS.filter((name) => padded || name !== "padding"), "own"].map((name) => [name, presets[name]]) });
  const size = ui.slider("size", { label: WORDS.size, min: 1, max: Math.max(2, tokens().length - 1) });
  if (padded) ui.toggle("hide_padding", { label: WORDS.padding });
  for (const trait of ["preset", "size", "hide_padding"]) ui.on(trait, apply);

  function draw() {
    weights = maskedWeights(ui.get("scores"), mask());
    const hidden = mask().map((row) => row.map((visible) => !visible));
    const broken = mask().map((_, i) => empty(i));
    const row = ui.get("focus");
    const now = { rows: tokens(), cols: tokens(), hidden, row };
    scoreMap.update({ ...now, values: weights.map((line) => line.map(() => 0)) });
    weightMap.update({ ...now, values: weights, broken });
    size.enable(SIZED.includes(ui.get("preset")));
    ui.say(...sentence(row), ...warning(broken));
  }

  function sentence(i) {
    const visible = range(tokens().length).filter((j) => seen(i, j));
    const query = h("b", { class: "tfm-q" }, tokens()[i]);
    if (!visible.length) return told(WORDS.none, { query });
    const heaviest = [...visible].sort((a, b) => weights[i][b] - weights[i][a]).slice(0, MOST_TOLD).sort((a, b) => a - b);
    const shares = heaviest.map((j) => `${tokens()[j]} ${share(weights[i][j])}`).join(" · ");
    const rest = visible.length > heaviest.length ? " · …" : "";
    return told(WORDS.told, { query, seen: visible.length, keys: tokens().length, shares: shares + rest, entropy: share(entropy(weights[i])) });
  }

  function warning(broken) {
    const names = tokens().filter((_, i) => broken[i]).map((word) => `“${word}”`);
    if (!names.length) return [];
    return [h("span", { class: "tfm-bad" }, told(WORDS.broken[names.length > 1 ? 1 : 0], { rows: names.join(", ") }))];
  }

  const csv = () => {
    const row = (i, j) => [tokens()[i], tokens()[j], seen(i, j), ui.get("scores")[i][j], weights[i][j]];
    return [["query", "key", "visible", "score", "weight"], ...weights.flatMap((line, i) => line.map((_, j) => row(i, j)))];
  };

  return ui.start(draw, { watch: ["tokens", "scores"], csv });
}

export default { render, words: WORDS };

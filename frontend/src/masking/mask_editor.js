/* Mask-editor widget: set which query may see which key; the weights renormalise at once. */

import { below, card, clamp, entropy, fixed, h, heatmap, legend, many, player, range, softmax, told, typed } from "../kit/index.js";

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
  sentence: "your own words",
  same: "The words are yours, but the scores are still the example's{again}. ",
  again: ", repeated from word {next} on",
  cut: "Only the first {most} words are shown, because the cells of more would be too small to hit. ",
  none: "{query} sees no key. ",
  told: "{query} sees {seen} of {keys} keys → {shares} · sum 1.00 · entropy {entropy} nats ",
  laid: ["So far the mask covers {count} row. ", "So far the mask covers {count} rows. "],
  broken: [
    "Row {rows} may see nothing: every score is −∞, and the softmax divides 0 by 0. Each query needs at least one key.",
    "Rows {rows} may see nothing: every score is −∞, and the softmax divides 0 by 0. Each query needs at least one key.",
  ],
};

const PRESETS = ["causal", "strict", "padding", "window", "block", "full"];
const SIZED = ["window", "block"];
const PAD = "<pad>";
const MOST = 8; // words of the reader's own
const MOST_TOLD = 8; // keys named in the readout, those with the largest weights

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

/* The scores of n typed words: those of the example, repeated if there are more words. */
export const scoresFor = (scores, n) => range(n).map((i) => range(n).map((j) => scores[i % scores.length][j % scores.length]));

/* Resize a mask to n words: existing cells keep their value, new ones are visible. */
export const resized = (mask, n) => range(n).map((i) => range(n).map((j) => mask[i]?.[j] ?? true));

export const withCell = (mask, i, j, seen) => mask.map((row, r) => (r === i ? row.map((old, c) => (c === j ? seen : old)) : row));

/* The mask with its last rows not covered yet. */
export const laid = (mask, bare) => mask.map((line, i) => (i < mask.length - bare ? line : line.map(() => true)));

const score = fixed(1);
const share = fixed(2);

function render({ model, el }) {
  const ui = card({ model, el, state: ["sentence", "preset", "size", "hide_padding", "value", "focus", "bare"], grows: ["value"], fits: { focus: below(MOST), bare: below(1000) } });
  const said = () => typed(ui.get("sentence"), ui.get("tokens"), MOST);
  let now = said();
  const tokens = () => now.words;
  const whole = () => {
    const [value, n] = [ui.get("value"), tokens().length];
    return value.length === n && value.every((line) => line.length === n) ? value : resized(value, n); // a link may hold any value
  };
  const bare = () => clamp(ui.get("bare"), 0, tokens().length); // rows that the mask does not cover yet, from the last up
  const row = () => Math.min(ui.get("focus"), tokens().length - 1);
  const mask = () => laid(whole(), bare());
  const seen = (i, j) => mask()[i][j];
  const empty = (i) => !mask()[i].some(Boolean);
  let weights = [];
  let points = []; // scores
  let pen = true; // the value that a drag writes: that of its first cell

  const put = (i, j, to) => ui.set({ value: withCell(mask(), i, j, to), preset: "own", bare: 0 });
  const apply = () => {
    const preset = ui.get("preset");
    ui.set({ bare: 0, value: preset === "own" ? whole() : presetMask(preset, tokens(), ui.get("size"), ui.get("hide_padding")) });
  };
  const focus = (i) => ui.set({ focus: i });
  const words = { rows: tokens(), cols: tokens(), onFocus: focus };
  const cell = (i, j, what) => told(WORDS.cell, { query: tokens()[i], key: tokens()[j], what });
  const { presets, scores, weights: heading } = ui.get("shared");

  const scoreMap = heatmap(ui, {
    ...words,
    name: "mask",
    slides: true,
    label: WORDS.scoreMap,
    onToggle: (i, j) => put(i, j, (pen = !seen(i, j))),
    onPaint: (i, j) => seen(i, j) !== pen && put(i, j, pen),
    text: (i, j) => (seen(i, j) ? score(points[i][j]) : "−∞"),
    describe: (i, j) => cell(i, j, seen(i, j) ? told(WORDS.score, { score: score(points[i][j]) }) : WORDS.hidden),
  });
  const weightMap = heatmap(ui, {
    ...words,
    name: "weights",
    slides: true,
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

  const rows = () => tokens().length;
  player(ui, "bare", { steps: () => rows() + 1, at: () => rows() - bare(), go: (k) => ui.set({ bare: rows() - k, focus: Math.max(0, k - 1) }), pace: 1000 });
  ui.text("sentence", { label: WORDS.sentence });
  const padded = ui.get("tokens").includes(PAD);
  ui.select("preset", { label: WORDS.mask, options: [...PRESETS.filter((name) => padded || name !== "padding"), "own"].map((name) => [name, presets[name]]) });
  const size = ui.slider("size", { label: WORDS.size, min: 1, max: Math.max(2, tokens().length - 1) });
  if (padded) ui.toggle("hide_padding", { label: WORDS.padding });
  for (const trait of ["preset", "size", "hide_padding"]) ui.on(trait, apply);
  ui.on("sentence", () => {
    now = said();
    apply();
    ui.set({ focus: row() });
  });

  function draw() {
    now = said();
    points = scoresFor(ui.get("scores"), tokens().length);
    weights = maskedWeights(points, mask());
    const hidden = mask().map((line) => line.map((visible) => !visible));
    const broken = mask().map((_, i) => empty(i));
    const look = { rows: tokens(), cols: tokens(), hidden, row: row() };
    scoreMap.update({ ...look, values: weights.map((line) => line.map(() => 0)) });
    weightMap.update({ ...look, values: weights, broken });
    size.enable(SIZED.includes(ui.get("preset")));
    ui.say(bare() ? many(WORDS.laid, rows() - bare()) : "", ...sentence(row()), ...own(), ...warning(broken));
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

  function own() {
    const given = ui.get("tokens").length;
    const again = tokens().length > given ? told(WORDS.again, { next: given + 1 }) : "";
    return now.own ? [told(WORDS.same, { again }), now.cut && told(WORDS.cut, { most: MOST })].filter(Boolean) : [];
  }

  function warning(broken) {
    const names = tokens().filter((_, i) => broken[i]).map((word) => `“${word}”`);
    if (!names.length) return [];
    return [h("span", { class: "tfm-bad" }, told(WORDS.broken[names.length > 1 ? 1 : 0], { rows: names.join(", ") }))];
  }

  const csv = () => {
    const row = (i, j) => [tokens()[i], tokens()[j], seen(i, j), points[i][j], weights[i][j]];
    return [["query", "key", "visible", "score", "weight"], ...weights.flatMap((line, i) => line.map((_, j) => row(i, j)))];
  };

  return ui.start(draw, { watch: ["tokens", "scores"], csv });
}

export default { render, words: WORDS };

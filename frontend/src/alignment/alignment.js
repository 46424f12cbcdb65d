/* Alignment widget: a translation's attention weights over its source, by score function, with the true links on request. */

import { below, card, clamp, fixed, h, heatmap, legend, links, player, range, s, told } from "../kit/index.js";

const WORDS = {
  map: "Weights: target words down, source words across.",
  net: "Target words: choose one to see its weights",
  cell: "{target} looks at {source}: {weight}{truth}",
  truth: { links: ", a true link", possible: ", a possible link" },
  key: { links: "true link", possible: "possible link" },
  caption: "{target} → {source} · thicker means more weight",
  target: "target",
  source: "source",
  all: "All target words · each row sums to 1",
  sentence: "sentence",
  score: "score",
  show: "show the true links",
  hardest: "{target} looks most at {source}, with weight {weight}",
  verdict: { links: ", which is a true link", possible: ", which is a possible link" },
  wrong: ", but its true link is {words}",
  none: ", but it has no counterpart in the source",
  rate: ". The alignment error rate of this sentence is {rate}.",
};

const share = fixed(2);

/* Return the index of the largest weight, the first of ties. */
export const heaviest = (row) => row.indexOf(Math.max(...row));

/* Alignment error rate of one sentence, 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|); null if no sure link is known.
   A links each target word that has a sure link to its heaviest source word. */
export function errorRate(weights, sure, possible = []) {
  if (!sure.length) return null;
  const has = (pairs, i, j) => pairs.some(([a, b]) => a === i && b === j);
  const linked = range(weights.length).filter((i) => sure.some(([a]) => a === i));
  let found = 0;
  for (const i of linked) {
    const j = heaviest(weights[i]);
    found += has(sure, i, j) ? 2 : has(possible, i, j) ? 1 : 0;
  }
  return 1 - found / (linked.length + sure.length);
}

function render({ model, el }) {
  const ui = card({ model, el, state: ["sentence", "score", "truth", "value"], fits: { value: below(() => example().tgt.length) } });
  const example = () => ui.get("examples")[clamp(ui.get("sentence") | 0, 0, ui.get("examples").length - 1)];
  const scores = () => Object.keys(example().weights);
  const weights = () => example().weights[ui.get("score")] ?? example().weights[scores()[0]];
  const row = () => clamp(ui.get("value") | 0, 0, example().tgt.length - 1);
  const focus = (i) => ui.set({ value: i });
  const kindOf = (i, j) => ["links", "possible"].find((kind) => example()[kind].some(([a, b]) => a === i && b === j));
  const named = (i, j) => (ui.get("truth") ? WORDS.truth[kindOf(i, j)] ?? "" : "");

  const map = heatmap(ui, {
    rows: example().tgt,
    cols: example().src,
    name: "weights",
    label: WORDS.map,
    onFocus: focus,
    text: (i, j) => share(weights()[i][j]),
    describe: (i, j) => told(WORDS.cell, { target: example().tgt[i], source: example().src[j], weight: share(weights()[i][j]), truth: named(i, j) }),
  });
  const net = links(ui, {
    queries: example().tgt,
    keys: example().src,
    name: "value",
    label: WORDS.net,
    onFocus: focus,
  });
  const frame = (kind) => `stroke:var(--tfm-two);stroke-width:2.6;stroke-dasharray:${kind === "links" ? "none" : "3 3"}`;
  const swatch = (kind) => s("svg", { width: 16, height: 16, "aria-hidden": "true" }, s("rect", { x: 2, y: 2, width: 12, height: 12, rx: 2, fill: "none", style: frame(kind) }));
  const key = h("div", { class: "tfm-legend" }, swatch("links"), h("span", {}, WORDS.key.links), swatch("possible"), h("span", {}, WORDS.key.possible));
  ui.stage.append(
    h(
      "div",
      { class: "tfm-columns" },
      h("div", {}, h("p", { class: "tfm-caption" }, told(WORDS.caption, { target: h("span", { class: "tfm-q" }, WORDS.target), source: h("span", { class: "tfm-k" }, WORDS.source) })), net.el),
      h("div", {}, h("p", { class: "tfm-caption" }, WORDS.all), map.el, legend({}), key),
    ),
  );

  player(ui, "value", { steps: () => example().tgt.length, pace: 1000 });
  const plain = (words) => words.filter((word) => word !== "<eos>").join(" ");
  if (ui.get("examples").length > 1) {
    ui.select("sentence", { label: WORDS.sentence, options: ui.get("examples").map((each, k) => [k, plain(each.src)]) });
  }
  if (scores().length > 1) ui.select("score", { label: WORDS.score, options: scores() });
  const known = ui.get("examples").some((each) => each.links.length);
  if (known) ui.toggle("truth", { label: WORDS.show });

  function mark() {
    const shown = known && ui.get("truth");
    key.hidden = !shown;
    for (const cell of map.el.querySelectorAll("[data-j]")) {
      const kind = shown && kindOf(Number(cell.dataset.i), Number(cell.dataset.j));
      const style = kind ? frame(kind) : "";
      if (cell.look !== style) cell.firstChild.setAttribute("style", (cell.look = style));
    }
  }

  function draw() {
    const { src, tgt } = example();
    const i = row();
    map.update({ rows: tgt, cols: src, values: weights(), row: i });
    net.update({ focus: i, weights: weights()[i], queries: tgt, keys: src });
    mark();
    ui.say(...sentence(i));
  }

  function sentence(i) {
    const { src, tgt, links: sure, possible } = example();
    const j = heaviest(weights()[i]);
    const said = told(WORDS.hardest, { target: h("b", { class: "tfm-q" }, tgt[i]), source: h("b", { class: "tfm-k" }, src[j]), weight: share(weights()[i][j]) });
    if (!ui.get("truth") || !sure.length) return said;
    const due = sure.filter(([a]) => a === i).map(([, b]) => src[b]);
    const verdict = WORDS.verdict[kindOf(i, j)] ?? told(WORDS.wrong, { words: due.join(" ") });
    return [...said, due.length ? verdict : WORDS.none, told(WORDS.rate, { rate: share(errorRate(weights(), sure, possible)) })];
  }

  const csv = () => [
    ["score", "target", "source", "weight", "truth"],
    ...scores().flatMap((score) =>
      example().weights[score].flatMap((line, i) =>
        line.map((weight, j) => [score, example().tgt[i], example().src[j], weight, { links: "sure", possible: "possible" }[kindOf(i, j)] ?? "none"]),
      ),
    ),
  ];

  return ui.start(draw, { watch: ["examples"], csv });
}

export default { render, words: WORDS };

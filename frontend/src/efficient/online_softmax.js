/* Online-softmax widget: one row of scores read tile by tile, and the running values. */

import { card, fixed, h, player, plot, range, s, set, sum, told } from "../kit/index.js";

const WORDS = {
  scores: "Scores of one query. The dashed line is the largest so far.",
  kept: "Numerator of each key’s weight: e to the power of its score minus the line",
  order: "order of keys",
  tile: "keys in a tile",
  steps: "tiles read",
  colours: { two: "read before", one: "this tile", soft: "not yet read" },
  none: "Nothing is read yet. ",
  told: "Tile {step} of {tiles}: the largest score is {top} · {rescaled}sum of the numerators {total} · weighted sum of the values {mixed} → output {output}. ",
  rescaled: "earlier terms are multiplied by {shrink} · ",
  ready: "The whole row at once gives {output}.",
};

const TILES = [1, 2, 4, 8];
export const ORDERS = {
  given: (scores) => range(scores.length),
  rising: (scores) => range(scores.length).sort((a, b) => scores[a] - scores[b] || a - b),
  falling: (scores) => range(scores.length).sort((a, b) => scores[b] - scores[a] || a - b),
};

/* After each tile: the maximum so far, the factor that rescaled the previous sums, and the sums. */
export function online(scores, values, tile) {
  let [top, total, mixed] = [-Infinity, 0, 0];
  return range(scores.length / tile).map((step) => {
    const keys = range(tile).map((k) => step * tile + k);
    const higher = Math.max(top, ...keys.map((j) => scores[j]));
    const shrink = Math.exp(top - higher);
    const counts = keys.map((j) => Math.exp(scores[j] - higher));
    total = total * shrink + sum(counts);
    mixed = mixed * shrink + sum(counts.map((count, k) => count * values[keys[k]]));
    top = higher;
    return { top, shrink, total, mixed, output: mixed / total };
  });
}

const [two, three] = [fixed(2), fixed(3)];

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "tile", "order"] });
  const { key, score, counts, orders } = ui.get("shared");
  const n = ui.get("scores").length;
  const order = () => ORDERS[ui.get("order")](ui.get("scores"));
  const ordered = (trait) => order().map((j) => ui.get(trait)[j]);
  const tiles = () => n / ui.get("tile");
  const step = () => Math.min(ui.get("value"), tiles());
  const last = () => online(ordered("scores"), ordered("values"), ui.get("tile")).slice(0, step()).at(-1);

  const axis = { label: key, domain: [0.4, n + 0.6] };
  const left = plot(ui, { x: axis, y: { label: score, domain: [-4, 4] }, label: WORDS.scores });
  const right = plot(ui, { x: axis, y: { label: counts, domain: [0, 1.1] }, label: WORDS.kept });
  const rule = left.rule({ colour: "ink" });
  const dots = range(n).map(() => left.dot({ r: 6 })); // a dot and a bar for each key, which keep their places
  const bars = range(n).map(() => right.bars({}));
  const inks = [left.layer.querySelectorAll(".tfm-dot"), right.layer.querySelectorAll(".tfm-bars")];
  ui.stage.append(
    h("div", { class: "tfm-columns" },
      h("div", {}, h("p", { class: "tfm-caption" }, WORDS.scores), left.el),
      h("div", {}, h("p", { class: "tfm-caption" }, WORDS.kept), right.el)),
    h("div", { class: "tfm-legend" }, Object.entries(WORDS.colours).flatMap(([colour, words]) => [
      s("svg", { width: 14, height: 12, "aria-hidden": "true" }, s("circle", { class: "tfm-dot", cx: 7, cy: 6, r: 6, style: `--c:var(--tfm-${colour})` })),
      h("span", {}, words),
    ])),
  );
  const clock = player(ui, "value", { label: WORDS.steps, min: 0, max: n, pace: 1200 });
  ui.select("tile", { label: WORDS.tile, options: TILES });
  ui.select("order", { label: WORDS.order, options: Object.keys(ORDERS).map((name) => [name, orders[name]]) });
  for (const trait of ["value", "tile"]) ui.on(trait, () => ui.get("value") > tiles() && ui.set({ value: tiles() }));

  function draw() {
    clock.upTo(tiles(), step());
    const [scores, tile, now] = [ordered("scores"), ui.get("tile"), last()];
    const read = step() * tile;
    rule(now ? { y: now.top } : null);
    scores.forEach((each, j) => {
      const kind = Object.keys(WORDS.colours)[j >= read ? 2 : j >= read - tile ? 1 : 0];
      for (const ink of inks) set(ink[j], { style: `--c:var(--tfm-${kind})` });
      dots[j]([j + 1, each]);
      bars[j]([[j + 0.6, j + 1.4, j < read ? Math.exp(each - now.top) : 0]]);
    });
    ui.say(...sentence(now));
  }

  function sentence(now) {
    if (!now) return [WORDS.none];
    const done = step() === tiles();
    return [
      ...told(WORDS.told, {
        step: step(),
        tiles: tiles(),
        top: two(now.top),
        rescaled: step() > 1 && told(WORDS.rescaled, { shrink: three(now.shrink) }),
        total: two(now.total),
        mixed: two(now.mixed),
        output: h("b", { class: "tfm-v" }, three(now.output)),
      }),
      done ? told(WORDS.ready, { output: three(whole()) }) : "",
    ];
  }

  const whole = () => online(ordered("scores"), ordered("values"), n)[0].output;
  const csv = () => [
    ["tile", "largest", "shrink", "total", "mixed", "output"],
    ...online(ordered("scores"), ordered("values"), ui.get("tile")).map((row, i) => [i + 1, row.top, row.shrink, row.total, row.mixed, row.output]),
  ];
  return ui.start(draw, { watch: ["scores", "values"], csv });
}

export default { render, words: WORDS };

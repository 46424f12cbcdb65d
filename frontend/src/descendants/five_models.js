/* Five-models widget: one sentence as input, targets and mask of each model family. */

import { below, card, clamp, h, heatmap, player, radios, range, s, set, told } from "../kit/index.js";

const WORDS = {
  models: "Models: choose one to see its mask with words",
  map: "Who sees whom: positions that look down, positions that they may see across.",
  cell: "{query} and {key}: {what}",
  seen: "seen",
  hidden: "not seen",
  reads: "{query} → {target}",
  sentence: "sentence",
  epoch: "epoch",
  tile: "{name}: {seen} of {cells} cells seen, {asked} to predict",
  told: "{name}: {how} It predicts {asked} of {words} words{which}. ",
  which: ": {words}",
  row: "Row “{row}” sees {seen} of {keys}.",
  turn: "Turn {turn} of {turns}: row “{row}” sees {seen} of {keys}.",
  empty: "Type a word.",
};

export const MODELS = ["bert", "roberta", "xlnet", "gpt2", "t5"];
const ATONCE = ["bert", "roberta"]; // these have no turns
export const LONGEST = 12; // words; a longer sentence is truncated
const [PRIME, STEP, FIRST] = [101, 53, 12]; // no order is almost from left to right

export const wordsOf = (sentence) => sentence.split(/\s+/).filter(Boolean).slice(0, LONGEST);

/* Order of n positions in a pass, permuted by multiples modulo a prime: the same on every machine. */
export function orderOf(n, epoch) {
  const key = (i) => ((i + 1) * (epoch * STEP + FIRST)) % PRIME;
  return range(n).sort((a, b) => key(a) - key(b));
}

const share = (n, part, most) => clamp(Math.round(n * part), 1, most);

/* A model's input, its target at each position ("" for none), and mask[i][j]: row i sees column j. */
export function family(words, model, epoch, signs) {
  const n = words.length;
  const order = orderOf(n, model === "bert" ? 1 : epoch);
  const square = (size, rule) => range(size).map((i) => range(size).map((j) => rule(i, j)));
  if (model === "gpt2") return { rows: [signs.bos, ...words], cols: [signs.bos, ...words], targets: [...words, signs.eos], mask: square(n + 1, (i, j) => j <= i) };
  if (model === "xlnet") {
    const turn = range(n).map((i) => order.indexOf(i));
    const mask = range(n).map((i) => [...range(n).map((j) => turn[j] < turn[i]), true]);
    return { rows: words.map(() => signs.asks), cols: [...words, signs.asks], targets: words, mask };
  }
  if (model === "t5") {
    const lost = Math.min(share(n, 0.25, 3), Math.max(1, n - 1));
    const from = order[0] % (n - lost + 1);
    const src = [...words.slice(0, from), signs.first, ...words.slice(from + lost)];
    const tgt = [signs.first, ...words.slice(from, from + lost), signs.second];
    const read = [...src, signs.bos, ...tgt.slice(0, -1)];
    return { rows: read, cols: read, targets: [...src.map(() => ""), ...tgt], mask: square(read.length, (i, j) => j < src.length || j <= i) };
  }
  const asked = order.slice(0, share(n, 0.15, n));
  const read = words.map((word, i) => (asked.includes(i) ? signs.mask : word));
  return { rows: read, cols: read, targets: words.map((word, i) => (asked.includes(i) ? word : "")), mask: square(n, () => true) };
}

const seenIn = (mask) => mask.flat().filter(Boolean).length;

/* Draw the mask as a small square, whose cells stay so that they ease from mask to mask. */
function draft(svg, mask) {
  const m = mask[0].length;
  const cells = mask.flat();
  const shape = `0 0 ${m} ${mask.length}`;
  if (svg.getAttribute("viewBox") !== shape) svg.replaceChildren(s("rect", { width: m, height: mask.length, style: "fill:var(--tfm-w0)" }), ...cells.map((_, at) => s("rect", { x: at % m, y: Math.floor(at / m), width: 0.9, height: 0.9 })));
  set(svg, { viewBox: shape });
  cells.forEach((seen, at) => set(svg.childNodes[at + 1], { opacity: seen ? 1 : 0 }));
}

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "sentence", "epoch", "focus"], fits: { value: (name) => Object.hasOwn(model.get("shared").names, name), focus: below(100) } });
  const { names, how, signs } = ui.get("shared");
  const words = () => wordsOf(String(ui.get("sentence")));
  const now = (name = ui.get("value")) => family(words(), name, ui.get("epoch"), signs);
  const labels = ({ rows, targets }) => rows.map((read, i) => (targets[i] ? told(WORDS.reads, { query: read, target: targets[i] }) : read));
  let shown = now();
  /* The rows that predict a word, in the order of their turns. */
  const turns = () => {
    const asked = range(shown.targets.length).filter((i) => shown.targets[i]);
    return ui.get("value") === "xlnet" ? orderOf(asked.length, ui.get("epoch")) : asked;
  };

  const thumbnails = MODELS.map(() => s("svg", { "aria-hidden": "true", style: "fill:var(--tfm-w1)" }));
  const tiles = MODELS.map((name, k) => h("div", { class: "tfm-head" }, thumbnails[k], h("small", {}, names[name])));
  const row = h("div", { role: "radiogroup", "aria-label": WORDS.models }, h("div", { class: "tfm-heads-grid", style: "grid-template-columns:repeat(5,minmax(0,92px))" }, tiles));
  const group = radios(row, { name: "value", onFocus: (i) => ui.set({ value: MODELS[i] }) });
  group.adopt(tiles, MODELS.map((name) => names[name]), MODELS.length);
  const map = heatmap(ui, {
    rows: labels(shown),
    cols: shown.cols,
    name: "mask",
    label: WORDS.map,
    most: 34,
    letters: 16,
    onFocus: (i) => ui.set({ focus: i }),
    describe: (i, j) => told(WORDS.cell, { query: labels(shown)[i], key: shown.cols[j], what: shown.mask[i][j] ? WORDS.seen : WORDS.hidden }),
  });
  ui.stage.append(row, map.el);
  ui.text("sentence", { label: WORDS.sentence, most: 90 });
  player(ui, "focus", { steps: () => turns().length, at: () => turns().indexOf(ui.get("focus")), go: (turn) => ui.set({ focus: turns()[turn] }), pace: 1000 });
  ui.slider("epoch", { label: WORDS.epoch, min: 1, max: 9 });

  function draw() {
    const name = ui.get("value");
    const empty = !words().length;
    for (const part of [row, map.el]) part.hidden = empty;
    if (empty) return ui.say(WORDS.empty);
    MODELS.forEach((each, k) => {
      const { mask, targets } = now(each);
      draft(thumbnails[k], mask);
      set(tiles[k], { "aria-label": told(WORDS.tile, { name: names[each], seen: seenIn(mask), cells: mask.flat().length, asked: targets.filter(Boolean).length }) });
    });
    group.check(MODELS.indexOf(name));
    shown = now();
    const { mask, cols, targets } = shown;
    const focus = clamp(ui.get("focus"), 0, mask.length - 1);
    map.update({ rows: labels(shown), cols, values: mask.map((line) => line.map(Number)), hidden: mask.map((line) => line.map((seen) => !seen)), row: focus });
    const asked = targets.filter((target) => target && !Object.values(signs).includes(target));
    const which = asked.length < words().length ? told(WORDS.which, { words: asked.join(" ") }) : "";
    const read = labels(shown)[focus];
    const turn = turns().indexOf(focus) + 1;
    ui.say(
      h("b", {}, told(WORDS.told, { name: names[name], how: how[name], asked: asked.length, words: words().length, which })),
      told(turn && !ATONCE.includes(name) ? WORDS.turn : WORDS.row, { turn, turns: turns().length, row: read, seen: mask[focus].filter(Boolean).length, keys: cols.length }),
    );
  }

  const csv = () => [["reads", "says", "key", "seen"], ...shown.mask.flatMap((line, i) => line.map((seen, j) => [shown.rows[i], shown.targets[i], shown.cols[j], seen]))];
  return ui.start(draw, { csv });
}

export default { render, words: WORDS };

/* Attention-weights widget: links and a heat-map of the attention weights of any model. */

import { below, card, clamp, entropy, fixed, h, heatmap, legend, links, player, range, softmax, tokenRow, told, typed } from "../kit/index.js";

const WORDS = {
  map: "Weights: queries down, keys across.",
  cell: "query {query}, key {key}: {weight}",
  all: "All queries · each row sums to 1",
  one: "{one} of {all}",
  head: "head",
  told: "{query} → {shares} · entropy {entropy} nats",
  sentence: "your own sentence",
  kind: "“{word}” counts as {kind}. The weights depend only on these kinds and on the example’s matrices. ",
  unknown: "Not in this small dictionary, so read as {kind}: {words}. ",
  cut: "Only the first {most} words are shown. ",
  net: "Queries: choose one to see its weights",
  caption: "{query} → {keys} · thicker means more weight",
  query: "query",
  keys: "keys",
  alone: "query, and the weight of each word as a key",
  queries: "queries",
  shares: "Keys with their weights",
  weighted: "keys, with their weights",
};

const MOST_LINKED = 16; // words per side; longer texts are rows that wrap, with the weights under their words
const MOST = 12; // words of the reader's own
const MOST_TOLD = 4; // keys named in the readout
const TALLEST = 560; // pixels, height of the heat-map of a long text

/* Indices of the largest weights, largest first; ties in reading order. */
export const heaviest = (weights, most) => range(weights.length).sort((a, b) => weights[b] - weights[a]).slice(0, most);

/* The weight drawn in the darkest colour: the largest of all heads, rounded up to a tenth, so that heads can be compared. */
export const darkest = (heads) => Math.ceil(10 * Math.max(...heads.flat(2)) - 1e-9) / 10;

/* Index of a word's kind in the lexicon, whose entries are words separated by spaces; −1 if it has none. */
export function kindOf(word, lexicon) {
  const bare = word.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");
  return lexicon.findIndex((words) => words.split(" ").includes(bare));
}

/* Weights of a text in which the scores of words depend on their kinds. */
export const kindWeights = (kinds, scores) => kinds.map((i) => softmax(kinds.map((j) => scores[i][j])));

const share = fixed(2);

function render({ model, el }) {
  const ui = card({ model, el, state: ["sentence", "value", "head"], fits: { value: below(100) } });
  const kinds = ui.get("kinds");
  let now, own; // the typed words, and their kinds and weights
  let guess = ui.get("guess"); // the row that is hidden until it is chosen
  function read() {
    now = typed(ui.get("sentence"), ui.get("tokens"), MOST);
    own = null;
    if (!now.own || !kinds.length) return;
    const found = now.words.map((word) => kindOf(word, ui.get("lexicon")));
    const each = found.map((kind) => (kind < 0 ? kinds.length - 1 : kind)); // an unknown word is of the last kind
    own = { kinds: each, unknown: now.words.filter((_, i) => found[i] < 0), weights: kindWeights(each, ui.get("scores")) };
  }
  read();
  const tokens = () => (own ? now.words : ui.get("tokens"));
  const keys = () => (own ? now.words : ui.get("key_tokens"));
  const heads = ui.get("weights").length;
  const within = (trait, count) => clamp(ui.get(trait) | 0, 0, count - 1); // a link may hold any value
  const all = () => (own ? [own.weights] : ui.get("weights"));
  const weights = () => all()[within("head", all().length)];
  const said = (i, j) => (i === guess ? "?" : share(weights()[i][j]));
  const focus = (i) => ui.set({ value: i });
  const longest = Math.max(tokens().length, keys().length);
  const long = longest > MOST_LINKED;

  const map = heatmap(ui, {
    rows: tokens(),
    cols: keys(),
    name: "weights",
    label: WORDS.map,
    most: long ? clamp(Math.floor(TALLEST / longest), 3, 30) : undefined,
    onFocus: focus,
    text: long ? undefined : said,
    describe: (i, j) => told(WORDS.cell, { query: tokens()[i], key: keys()[j], weight: said(i, j) }),
  });
  const words = (long ? rows : net)(ui, { tokens, keys, focus });
  const scale = h("div", {});
  ui.stage.append(
    h(
      "div",
      { class: long ? null : "tfm-columns" },
      words.el,
      h("div", { style: long ? "margin-top:18px" : null }, h("p", { class: "tfm-caption" }, WORDS.all), map.el, scale),
    ),
  );

  player(ui, "value", { steps: () => tokens().length, pace: 1000 });
  if (kinds.length) ui.text("sentence", { label: WORDS.sentence });
  ui.on("sentence", () => {
    read();
    focus(within("value", tokens().length));
  });
  if (heads > 1) ui.select("head", { label: WORDS.head, options: range(heads).map((i) => [i, told(WORDS.one, { one: i + 1, all: heads })]) });

  let max;
  function draw() {
    read();
    const i = within("value", tokens().length);
    if (own || i === guess) guess = -1;
    const values = weights().map((row, k) => (k === guess ? row.map(() => 0) : row));
    const top = darkest(all());
    if (top !== max) scale.replaceChildren(legend({ max: (max = top) }));
    map.update({ rows: tokens(), cols: keys(), values, row: i, max });
    words.update(i, weights()[i]);
    const largest = heaviest(weights()[i], MOST_TOLD).map((j) => `${keys()[j]} ${share(weights()[i][j])}`);
    const rest = keys().length > largest.length ? " · …" : "";
    ui.say(...told(WORDS.told, { query: h("b", { class: "tfm-q" }, tokens()[i]), shares: largest.join(" · ") + rest, entropy: share(entropy(weights()[i])) }), ...madeOf(i));
  }

  function madeOf(i) {
    if (!own) return [];
    const unknown = [...new Set(own.unknown)];
    return [
      h("br", {}),
      told(WORDS.kind, { word: now.words[i], kind: kinds[own.kinds[i]] }),
      unknown.length > 0 && told(WORDS.unknown, { kind: kinds.at(-1), words: unknown.join(", ") }),
      now.cut && told(WORDS.cut, { most: MOST }),
    ].filter(Boolean);
  }

  const csv = () => [
    ["head", "query", "key", "weight"],
    ...all().flatMap((head, k) => head.flatMap((row, i) => row.map((weight, j) => [k + 1, tokens()[i], keys()[j], weight]))),
  ];

  return ui.start(draw, { watch: ["tokens", "key_tokens", "weights"], csv });
}

function net(ui, { tokens, keys, focus }) {
  const lines = links(ui, { queries: tokens(), keys: keys(), name: "value", label: WORDS.net, onFocus: focus });
  const caption = h("p", { class: "tfm-caption" }, told(WORDS.caption, { query: h("span", { class: "tfm-q" }, WORDS.query), keys: h("span", { class: "tfm-k" }, WORDS.keys) }));
  return {
    el: h("div", {}, caption, lines.el),
    update: (i, row) => lines.update({ focus: i, weights: row, queries: tokens(), keys: keys() }),
  };
}

/* One row for self-attention, else the queries above their keys. */
function rows(ui, { tokens, keys, focus }) {
  const alone = tokens().join("\n") === keys().join("\n");
  const queries = tokenRow(ui, { tokens: tokens(), name: "value", label: WORDS.net, onFocus: focus, hover: true });
  const caption = (kind, text) => h("p", { class: "tfm-caption" }, h("span", { class: `tfm-${kind}` }, text));
  if (alone) {
    return {
      el: h("div", {}, caption("q", WORDS.alone), queries.el),
      update: (i, row) => queries.update({ focus: i, weights: row, tokens: tokens() }),
    };
  }
  const shares = tokenRow(ui, { tokens: keys(), label: WORDS.shares, kind: "k", onFocus: () => {} });
  return {
    el: h("div", {}, caption("q", WORDS.queries), queries.el, h("div", { style: "height:14px" }), caption("k", WORDS.weighted), shares.el),
    update(i, row) {
      queries.update({ focus: i, tokens: tokens() });
      shares.update({ focus: -1, weights: row, tokens: keys() });
      shares.el.setAttribute("role", "list"); // read-only, not a choice
      for (const word of shares.el.children) {
        word.setAttribute("role", "listitem");
        word.removeAttribute("aria-checked");
        word.style.cursor = "default";
      }
    },
  };
}

export default { render, words: WORDS };

/* Attention weights: whom does each word look at? Links and a heat-map of the weights of any model. */

import { card, clamp, entropy, fixed, h, heatmap, legend, links, range, tokenRow, told } from "../kit/index.js";

const WORDS = {
  map: "Weights: queries down, keys across.",
  cell: "query {query}, key {key}: {weight}",
  all: "All queries · each row sums to 1",
  one: "{one} of {all}",
  told: "{query} → {shares} · entropy {entropy} nats",
  net: "Queries: choose one to see its weights",
  caption: "{query} → {keys} · thicker is more",
  query: "query",
  keys: "keys",
  alone: "query, and the weight of each word as its key",
  queries: "queries",
  shares: "Keys with their weights",
  weighted: "keys, with their weights",
};

const MOST_LINKED = 16; // words a side; longer texts are rows that wrap, with the weights under their words
const MOST_TOLD = 4; // keys that the readout names
const TALLEST = 560; // pixels of the heat-map of a long text

/* The places of the largest weights, largest first; equal ones in reading order. */
export const heaviest = (weights, most) => range(weights.length).sort((a, b) => weights[b] - weights[a]).slice(0, most);

/* The weight that gets the darkest colour: the largest of all heads, up to the next tenth, so that heads compare. */
export const darkest = (heads) => Math.ceil(10 * Math.max(...heads.flat(2)) - 1e-9) / 10;

const share = fixed(2);

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "head"] });
  const tokens = () => ui.get("tokens");
  const keys = () => ui.get("key_tokens");
  const heads = ui.get("weights").length;
  const within = (trait, count) => clamp(ui.get(trait) | 0, 0, count - 1); // a link may say anything
  const weights = () => ui.get("weights")[within("head", heads)];
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
    text: long ? undefined : (i, j) => share(weights()[i][j]),
    describe: (i, j) => told(WORDS.cell, { query: tokens()[i], key: keys()[j], weight: share(weights()[i][j]) }),
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

  if (heads > 1) ui.select("head", { label: ui.get("one_is"), options: range(heads).map((i) => [i, told(WORDS.one, { one: i + 1, all: heads })]) });

  let max;
  function draw() {
    const i = within("value", tokens().length);
    const top = darkest(ui.get("weights"));
    if (top !== max) scale.replaceChildren(legend({ max: (max = top) }));
    map.update({ rows: tokens(), cols: keys(), values: weights(), row: i, max });
    words.update(i, weights()[i]);
    const largest = heaviest(weights()[i], MOST_TOLD).map((j) => `${keys()[j]} ${share(weights()[i][j])}`);
    const rest = keys().length > largest.length ? " · …" : "";
    ui.say(...told(WORDS.told, { query: h("b", { class: "tfm-q" }, tokens()[i]), shares: largest.join(" · ") + rest, entropy: share(entropy(weights()[i])) }));
  }

  const csv = () => [
    [ui.get("one_is"), "query", "key", "weight"],
    ...ui.get("weights").flatMap((head, k) => head.flatMap((row, i) => row.map((weight, j) => [k + 1, tokens()[i], keys()[j], weight]))),
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

/* One row where a text asks itself, else the queries above their keys. */
function rows(ui, { tokens, keys, focus }) {
  const alone = tokens().join("\n") === keys().join("\n");
  const queries = tokenRow(ui, { tokens: tokens(), name: "value", label: WORDS.net, onFocus: focus });
  queries.el.addEventListener("pointerover", (event) => {
    const word = event.pointerType === "mouse" && event.target.closest(".tfm-token");
    if (word) focus([...queries.el.children].indexOf(word));
  });
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
      shares.el.setAttribute("role", "list"); // to be read, not chosen
      for (const word of shares.el.children) {
        word.setAttribute("role", "listitem");
        word.removeAttribute("aria-checked");
        word.style.cursor = "default";
      }
    },
  };
}

export default { render, words: WORDS };

/* Heads widget: every layer and head of an attention as small squares, and the selected one as links and as a matrix. */

import { below, card, clamp, entropy, fixed, h, heatmap, legend, links, live, mean, player, radios, range, s, sum, told } from "../kit/index.js";

const WORDS = {
  map: "Weights of the chosen head: queries down, keys across.",
  cell: "query {query}, key {key}: {weight}",
  hidden: "hidden",
  net: "Queries: choose one to see its weights",
  caption: "{query} → {keys} · thicker means more weight",
  query: "query",
  keys: "keys",
  attention: "attention",
  head: "Head {head} · each row sums to 1",
  layer: "Layer {layer}, head {head} · each row sums to 1",
  told: "{query} → {shares}",
  average: "head {head} on average: {habits} nats",
  grid: "Heads: choose one",
  row: "layer {layer}",
  place: "layer {layer}, head {head}",
};

const MOST_LINKED = 18; // words per side; longer texts are shown in the matrix
const MOST_TOLD = 4; // keys named in the readout
const FINEST = 16; // cells per side of a small square; a longer text is drawn in blocks
const SHADES = 5;

const share = fixed(2);

/* Queries and keys of each kind of attention. */
export const wordsOf = (kind, src, tgt) => [kind === "decoder" || kind === "cross" ? tgt : src, kind === "decoder" ? tgt : src];

/* Averages of a head over its queries, as tfm_lib.widgets.multihead.habits. */
export function habits(weights, asksItself) {
  const line = (offset) => weights.flatMap((row, i) => (row[i + offset] === undefined ? [] : [row[i + offset] / sum(row)]));
  const lines = asksItself ? { itself: line(0), before: line(-1), after: line(1) } : {};
  const means = Object.entries(lines).flatMap(([name, shares]) => (shares.length ? [[name, mean(shares)]] : []));
  return { ...Object.fromEntries(means), entropy: mean(weights.map((row) => entropy(row.map((weight) => weight / sum(row))))) };
}

/* Reduce to at most `most` rows and columns: each block of cells becomes its largest weight. */
export function shrink(weights, most) {
  const [n, m] = [weights.length, weights[0].length];
  if (Math.max(n, m) <= most) return weights;
  const block = Math.ceil(Math.max(n, m) / most);
  const small = range(Math.ceil(n / block)).map(() => new Array(Math.ceil(m / block)).fill(0));
  weights.forEach((row, i) => row.forEach((weight, j) => {
    const [a, b] = [Math.floor(i / block), Math.floor(j / block)];
    small[a][b] = Math.max(small[a][b], weight);
  }));
  return small;
}

/* Whether no head of any layer looks ahead. */
export const causal = (layers) => layers.every((heads) => heads.every((rows) => rows.every((row, i) => row.every((weight, j) => j <= i || weight === 0))));

export const darkest = (layers) => Math.ceil(10 * Math.max(...layers.flat(2).map((row) => Math.max(...row))) - 1e-9) / 10;

function render({ model, el }) {
  const ui = card({ model, el, state: ["sentence", "kind", "layer", "value", "focus"], fits: { layer: below(() => layers().length), value: below(() => layers()[0].length), focus: below(1000) } });
  const layers = () => ui.get("weights")[ui.get("kind")];
  const words = () => wordsOf(ui.get("kind"), ui.get("src_tokens"), ui.get("tgt_tokens"));
  const place = () => {
    const [l, k] = [clamp(ui.get("layer"), 0, layers().length - 1), clamp(ui.get("value"), 0, layers()[0].length - 1)];
    return { l, k, i: clamp(ui.get("focus"), 0, layers()[0][0].length - 1), head: layers()[l][k] };
  };
  const focus = (i) => ui.set({ focus: i });
  let hidden; // the future positions, if no head looks ahead
  let shown, max;
  let [queries, keys, head] = [...words(), place().head]; // of the last drawing: the matrix asks for each cell

  live(ui, { ask: () => ({ do: "heads" }), take: (found, typed) => ({ ...found, ...(typed && { focus: 0 }) }) });
  const overview = squares(ui.get("shared").head, (layer, value) => ui.set({ layer, value }));
  const map = heatmap(ui, {
    rows: queries,
    cols: keys,
    name: "weights",
    label: WORDS.map,
    onFocus: focus,
    text: (i, j) => (hidden?.[i][j] ? "" : share(head[i][j])),
    describe: (i, j) => told(WORDS.cell, { query: queries[i], key: keys[j], weight: hidden?.[i][j] ? WORDS.hidden : share(head[i][j]) }),
  });
  const net = links(ui, { queries, keys, name: "focus", label: WORDS.net, onFocus: focus });
  const caption = h("p", { class: "tfm-caption" }, told(WORDS.caption, { query: h("span", { class: "tfm-q" }, WORDS.query), keys: h("span", { class: "tfm-k" }, WORDS.keys) }));
  const linked = h("div", {}, caption, net.el);
  const scale = h("div", {});
  const title = h("p", { class: "tfm-caption" });
  ui.stage.append(overview.el, h("div", { class: "tfm-columns" }, linked, h("div", {}, title, map.el, scale)));

  const across = () => layers()[0].length;
  player(ui, "value", { steps: () => layers().length * across(), at: () => place().l * across() + place().k, go: (k) => ui.set({ layer: Math.floor(k / across()), value: k % across() }), pace: 1200 });
  const kinds = Object.keys(ui.get("weights"));
  if (kinds.length > 1) ui.select("kind", { label: WORDS.attention, options: kinds.map((kind) => [kind, ui.get("shared").kinds[kind]]) });
  ui.on("kind", () => {
    const { l, k, i } = place();
    ui.set({ layer: l, value: k, focus: i });
  });

  function draw() {
    const { l, k, i } = place();
    [queries, keys, head] = [...words(), place().head];
    if (shown !== layers()) {
      shown = layers();
      max = darkest(shown);
      hidden = ui.get("kind") === "decoder" && causal(shown) ? queries.map((_, i) => keys.map((_, j) => j > i)) : undefined;
      overview.build(shown, max);
      scale.replaceChildren(legend({ max, masked: hidden && WORDS.hidden }));
      linked.hidden = Math.max(queries.length, keys.length) > MOST_LINKED;
    }
    overview.choose(l, k);
    title.textContent = told(shown.length > 1 ? WORDS.layer : WORDS.head, { layer: l + 1, head: k + 1 });
    map.update({ rows: queries, cols: keys, values: head, row: i, max, hidden });
    if (!linked.hidden) net.update({ focus: i, weights: head[i], queries, keys });
    ui.say(...sentence(queries[i], keys, head[i]), h("br", {}), told(WORDS.average, { head: k + 1, habits: habit(head) }));
  }

  function sentence(query, keys, row) {
    const heaviest = range(keys.length).sort((a, b) => row[b] - row[a]).slice(0, MOST_TOLD);
    const rest = keys.length > heaviest.length ? " · …" : "";
    return told(WORDS.told, { query: h("b", { class: "tfm-q" }, query), shares: heaviest.map((j) => `${keys[j]} ${share(row[j])}`).join(" · ") + rest });
  }

  function habit(head) {
    const said = ui.get("shared").habits;
    const all = habits(head, ui.get("kind") !== "cross");
    return Object.entries(all).map(([name, x]) => `${said[name]} ${share(x)}`).join(" · ");
  }

  const csv = () => {
    const line = (kind, l, k, i, row) => row.map((weight, j) => {
      const [queries, keys] = wordsOf(kind, ui.get("src_tokens"), ui.get("tgt_tokens"));
      return [kind, l + 1, k + 1, queries[i], keys[j], weight];
    });
    const all = Object.entries(ui.get("weights"));
    return [
      ["attention", "layer", "head", "query", "key", "weight"],
      ...all.flatMap(([kind, heads]) => heads.flatMap((layer, l) => layer.flatMap((head, k) => head.flatMap((row, i) => line(kind, l, k, i, row))))),
    ];
  };

  return ui.start(draw, { watch: ["weights", "src_tokens", "tgt_tokens"], csv });
}

/* A row of small squares per layer, one square per head: a radio group in which all arrow keys work. */
function squares(headName, onChoose) {
  const el = h("div", { role: "radiogroup", "aria-label": WORDS.grid });
  let across = 1;
  const drawn = new WeakMap(); // who compares two kinds of attention goes to and fro
  const group = radios(el, { name: "value", onFocus: (at) => onChoose(Math.floor(at / across), at % across) });
  return {
    el,
    build(layers, max) {
      across = layers[0].length;
      if (!drawn.has(layers)) {
        const items = layers.map((heads) => heads.map((head, k) => h("div", { class: "tfm-head" }, square(shrink(head, FINEST), max), h("small", {}, String(k + 1)))));
        const name = (l) => layers.length > 1 && h("span", { class: "tfm-caption" }, told(WORDS.row, { layer: l + 1 }));
        const style = `grid-template-columns:${layers.length > 1 ? "auto " : ""}repeat(${across},minmax(0,66px))`;
        drawn.set(layers, { items, grid: h("div", { class: "tfm-heads-grid", style }, items.flatMap((row, l) => [name(l), ...row])) });
      }
      const { items, grid } = drawn.get(layers);
      el.replaceChildren(grid);
      const label = (l, k) => told(layers.length > 1 ? WORDS.place : headName, { layer: l + 1, head: k + 1 });
      group.adopt(items.flat(), layers.flatMap((heads, l) => heads.map((_, k) => label(l, k))), across);
    },
    choose: (l, k) => group.check(l * across + k),
  };
}

/* Draw the weights as one path per shade. */
function square(weights, max) {
  const [n, m] = [weights.length, weights[0].length];
  const shades = range(SHADES).map(() => []);
  weights.forEach((row, i) => row.forEach((weight, j) => {
    const shade = Math.min(SHADES, Math.ceil((SHADES * weight) / max - 0.25));
    if (shade > 0) shades[shade - 1].push(`M${j} ${i}h1v1h-1z`);
  }));
  const cell = (attrs, w) => s(attrs.d === undefined ? "rect" : "path", { class: "tfm-cell", style: `--w:${w}`, ...attrs });
  const paths = shades.flatMap((parts, k) => (parts.length ? [cell({ d: parts.join("") }, (k + 1) / SHADES)] : []));
  return s("svg", { viewBox: `0 0 ${m} ${n}`, class: "tfm-tiny", "aria-hidden": "true" }, cell({ width: m, height: n }, 0), paths);
}

export default { render, words: WORDS };

/* A word in its sentence: its vector is an arrow in a plane, pulled by the words beside it, which can be dragged. */

import { card, dot, fixed, h, player, plot, range, s, set, short, softmax, told, tokenRow, transpose, typed, write } from "../kit/index.js";

const WORDS = {
  plane: "Plane of the words’ vectors",
  sentence: "sentence",
  caption: "{asked} attends to:",
  row: "Words: choose the one that asks",
  handle: "vector of {word}",
  rest: "other words",
  now: "{word}, now",
  told: "{word} gathers {shares}.",
  turned: " It turns {angle} towards {axis}.",
  kept: " It keeps its direction.",
};
const MOST = 12; // words of a sentence
const MOST_TOLD = 3;
const WIDEST = 16; // pixels, width of the pull of a weight of 1
const KEPT = 2; // degrees that are no turn
const HEAD = [9, 0.45]; // length of an arrow's head in pixels, and half its angle

const bare = (word) => word.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");

/* Bare self-attention in the plane: query, key and value of a word are its vector; a word without a place is the origin. */
export function gathered({ words, focus, names, places }) {
  const at = words.map((word) => names.indexOf(bare(word)));
  const X = at.map((i) => (i < 0 ? [0, 0] : places[i]));
  const known = words.findIndex((word) => bare(word) === focus);
  const asked = known < 0 ? Math.max(0, at.findIndex((i) => i >= 0)) : known;
  const weights = softmax(X.map((key) => dot(X[asked], key) / Math.SQRT2));
  return { at, X, asked, weights, output: transpose(X).map((column) => dot(weights, column)) };
}

/* Degrees by which the direction of `after` is turned from that of `before`, against the clock; NaN if one has no direction. */
export function turn(before, after) {
  if (Math.hypot(...before) < 1e-9 || Math.hypot(...after) < 1e-9) return NaN;
  const cross = before[0] * after[1] - before[1] * after[0];
  return (180 / Math.PI) * Math.atan2(cross, dot(before, after));
}

const two = fixed(2);

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "focus", "places"] });
  const [names, axes, sentences] = ["names", "axes", "sentences"].map((trait) => ui.get(trait));
  let now;
  const read = () => {
    const words = typed(ui.get("value"), sentences[0].split(" "), MOST).words;
    now = { words, places: ui.get("places"), ...gathered({ words, focus: ui.get("focus"), names, places: ui.get("places") }) };
  };
  read();

  const plane = plot(ui, { square: true, most: 430, x: { label: axes[0], domain: [-0.7, 2.7] }, y: { label: axes[1], domain: [-0.7, 2.7] }, label: WORDS.plane });
  const pulls = range(MOST).map(() => s("path", { class: "tfm-line", "stroke-opacity": 0.35, "stroke-linecap": "round" }));
  const shaft = (colour, wide) => s("path", { class: "tfm-line", style: `--c:var(--tfm-${colour});stroke-width:${wide}px`, "stroke-linejoin": "round" });
  const [before, after] = [shaft("query", 2), shaft("value", 4)];
  const label = (colour) => s("text", { class: "tfm-mark-label tfm-strong", style: `--c:var(--tfm-${colour})` });
  const [tip, rest] = [label("value"), label("soft")];
  const map = names.map((word) => s("g", { "fill-opacity": 0.55 }, s("circle", { r: 2.5, fill: "var(--tfm-soft)" }), s("text", { class: "tfm-mark-label", style: "--c:var(--tfm-soft)", x: 6, y: 4 }, word)));
  plane.layer.append(...map, ...pulls, before, after, rest);
  const handles = names.map((word, i) => {
    const onmove = (place) => ui.set({ places: now.places.map((old, k) => (k === i ? place : old)) });
    const drag = plane.handle({ control: word, colour: "key", label: word, name: told(WORDS.handle, { word }), onmove });
    return { drag, node: plane.layer.lastChild };
  });
  plane.layer.append(tip);

  const row = tokenRow(ui, { tokens: now.words, name: "focus", label: WORDS.row, onFocus: (i) => ui.set({ focus: bare(now.words[i]) }) });
  const caption = h("p", { class: "tfm-caption" });
  set(plane.el, { style: "flex:3 1 18rem;min-width:0" });
  ui.stage.append(h("div", { style: "display:flex;flex-wrap:wrap;gap:14px 26px" }, plane.el, h("div", { style: "flex:2 1 13rem" }, caption, row.el)));

  const shown = () => Math.max(0, sentences.indexOf(ui.get("value")));
  player(ui, "value", { steps: () => sentences.length, at: shown, go: (k) => ui.set({ value: sentences[k] }), pace: 2400 });
  ui.text("value", { label: WORDS.sentence });

  const redraw = ({ x, y }) => {
    if (!x) return;
    const { X, asked, weights, output, words, at } = now;
    const on = ([a, b]) => [x(a), y(b)];
    for (const [path, to] of [[before, X[asked]], [after, output]]) set(path, { d: arrow(on([0, 0]), on(to)), "stroke-opacity": Math.hypot(...to) > 0.05 ? 1 : 0 });
    pulls.forEach((path, j) => {
      const wide = (WIDEST * (weights[j] ?? 0)).toFixed(1);
      set(path, { d: `M${pixel(on(X[j] ?? output))}L${pixel(on(output))}`, style: `--c:var(--tfm-value);stroke-width:${wide}px` });
    });
    const place = (node, [a, b], [right, down]) => set(node, { transform: `translate(${(x(a) + right).toFixed(1)} ${(y(b) + down).toFixed(1)})` });
    map.forEach((node, i) => place(node, now.places[i], [0, 0]));
    const left = turn(X[asked], output) > 0; // the name stands on the side away from where the arrow was
    place(tip, output, left ? [-12, 4] : [4, 22]);
    set(tip, { "text-anchor": left ? "end" : "middle" });
    write(tip, told(WORDS.now, { word: short(words[asked], 12) }));
    place(rest, [0, 0], [4, 17]);
    write(rest, at.includes(-1) ? WORDS.rest : "");
  };
  plane.custom(redraw);

  function draw() {
    read();
    const { at, X, asked, weights, output, words } = now;
    let next = tip; // what is in the sentence can be dragged; in the order of the names, whatever was shown before
    for (const i of range(names.length).reverse()) {
      const { drag, node } = handles[i];
      set(map[i], { display: at.includes(i) ? "none" : null });
      if (!at.includes(i)) {
        node.remove();
        continue;
      }
      if (!node.isConnected) next.before(node);
      next = node;
      for (const part of node.children) set(part, { style: `--c:var(--tfm-${i === at[asked] ? "query" : "key"})` });
      drag(now.places[i]);
    }
    redraw(plane.at);
    row.update({ tokens: words, focus: asked, weights });
    caption.replaceChildren(...told(WORDS.caption, { asked: h("b", { class: "tfm-q" }, words[asked]) }));
    const top = range(words.length).sort((a, b) => weights[b] - weights[a]).slice(0, MOST_TOLD);
    const word = h("b", { class: "tfm-q" }, words[asked]);
    const angle = turn(X[asked], output);
    const towards = axes[angle > 0 ? 1 : 0];
    const turned = Number.isNaN(angle) ? "" : Math.abs(angle) < KEPT ? WORDS.kept : told(WORDS.turned, { angle: `${Math.round(Math.abs(angle))}°`, axis: towards });
    ui.say(...told(WORDS.told, { word, shares: top.map((j) => `${words[j]} ${two(weights[j])}`).join(" · ") }), turned);
  }

  const csv = () => [["word", "x", "y", "weight"], ...now.words.map((word, j) => [word, ...now.X[j], now.weights[j]])];
  return ui.start(draw, { csv });
}

const pixel = ([a, b]) => `${a.toFixed(1)} ${b.toFixed(1)}`;

/* An arrow from one point to another, in one path. */
function arrow(from, to) {
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  const [left, right] = [HEAD[1], -HEAD[1]].map((side) => [to[0] - HEAD[0] * Math.cos(angle + side), to[1] - HEAD[0] * Math.sin(angle + side)]);
  return `M${pixel(from)}L${pixel(to)}M${pixel(left)}L${pixel(to)}L${pixel(right)}`;
}

export default { render, words: WORDS };

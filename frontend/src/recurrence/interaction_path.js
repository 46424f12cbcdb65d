/* Interaction-path widget: the hops between two words, in a chain, in windows, in dilated convolutions, in attention. */

import { below, card, clamp, h, many, onWidth, player, radios, range, s, set, short, told, widthOf } from "../kit/index.js";

const WORDS = {
  row: "The later word",
  distance: "distance",
  window: "window",
  k: "kernel size k",
  told: "From {first} to {last}, {words} apart: an RNN needs {rnn}; windows of {window} on each side, {windows}; dilated convolutions with k = {k}, {dilated}; attention, {attention}.",
  drawn: "{kind}: {hops}",
  hops: ["{count} hop", "{count} hops"],
  hop: "hop",
  under: "{hop} of {all}",
  arrived: "{all}, arrived",
};

const KINDS = ["rnn", "window", "dilated", "attention"];

/* Position of a word's signal after each hop, relative to that word: the first entry is 0, the last the distance. */
export const path = {
  rnn: (distance) => range(distance + 1),
  window: (distance, { window }) => range(Math.ceil(distance / window) + 1).map((hop) => Math.min(distance, hop * window)),
  /* Layer ℓ hops by multiples of k^ℓ: the digits of the distance in base k. */
  dilated(distance, { k }) {
    const places = [0];
    for (let step = 1; places.at(-1) < distance; step *= k) places.push(places.at(-1) + (Math.floor(distance / step) % k) * step);
    return places;
  },
  attention: (distance) => [0, distance],
};

const EDGE = 10;
const [TILT, LEAN, RISE] = [60, 0.5, 0.87]; // degrees of a word, its cosine and its sine

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "word", "window", "k", "hop"], fits: { word: below(() => tokens().length) } });
  const tokens = () => ui.get("tokens");
  const shared = ui.get("shared");
  /* A link may ask for more words than there are. */
  const distance = () => clamp(Math.round(ui.get("value")), 1, tokens().length - 1);
  const last = () => clamp(Math.round(ui.get("word")), distance(), tokens().length - 1);
  const first = () => last() - distance();
  const hop = () => clamp(Math.round(ui.get("hop")), 0, distance());

  const row = s("svg", { role: "radiogroup", "aria-label": WORDS.row });
  const box = h("div", { class: "tfm-figure-box" }, row);
  const group = radios(row, { name: "word", onFocus: (word) => ui.set({ word: Math.max(1, word) }) });
  const panels = KINDS.map((kind) => panel(kind, shared));
  ui.stage.append(box, ...panels.map((one) => one.el));
  let [width, names, words] = [0, [], []];

  /* The words stand slanted over the columns of the dots; the last ones need room on their right. */
  function layout() {
    if (names.join() !== tokens().join()) {
      names = tokens();
      words = names.map((word) => s("g", { style: "cursor:pointer" }, s("rect", { x: -3, y: -12, height: 16, fill: "transparent" }), s("text", {}, short(word, 10))));
      row.replaceChildren(...words);
      group.adopt(words, names);
    }
    const end = names.length - 1;
    const step = (width - 2 * EDGE) / end;
    const size = step < 18 ? 12 : 13;
    const wide = names.map((word) => widthOf([short(word, 10)], size) + 4);
    const right = Math.max(EDGE, ...wide.map((w, i) => LEAN * w + 8 - (end - i) * step));
    const x = (i) => EDGE + (i * (width - EDGE - right)) / end;
    const height = Math.ceil(RISE * Math.max(...wide)) + 14;
    set(row, { width, height });
    words.forEach((word, i) => {
      const colour = { [last()]: "one", [first()]: "two" }[i];
      set(word, { transform: `translate(${(x(i) + 3).toFixed(1)} ${height - 4}) rotate(${-TILT})` });
      set(word.firstChild, { width: wide[i] + 4 });
      set(word.lastChild, { style: `font-size:${size}px;fill:var(--tfm-${colour ?? "soft"})${colour ? ";font-weight:700" : step < 9 ? ";opacity:0" : ""}` });
    });
    return x;
  }

  const clock = player(ui, "hop", { label: WORDS.hop, min: 0, max: tokens().length - 1, open: true, pace: 450, format: String });
  ui.slider("value", { label: WORDS.distance, min: 1, max: tokens().length - 1, format: (d) => many(shared.word, d) });
  ui.slider("window", { label: WORDS.window, min: 1, max: 4 });
  ui.slider("k", { label: WORDS.k, min: 2, max: 5 });
  /* The trait that was not changed follows. */
  ui.on("value", () => ui.get("word") < distance() && ui.set({ word: distance() }));
  ui.on("word", () => ui.get("word") < distance() && ui.set({ value: Math.max(1, ui.get("word")) }));

  const sizes = () => ({ window: clamp(ui.get("window"), 1, 4), k: clamp(Math.round(ui.get("k")), 2, 5) });
  const hops = (kind) => path[kind](distance(), sizes()).length - 1;

  function draw() {
    clock.upTo(distance(), hop());
    const x = layout();
    group.check(last());
    panels.forEach((one) => one.update({ width, x, first: first(), last: last(), count: names.length, places: path[one.kind](distance(), sizes()), hop: hop() }));
    ui.say(
      ...told(WORDS.told, {
        first: h("b", { class: "tfm-two" }, tokens()[first()]),
        last: h("b", { class: "tfm-one" }, tokens()[last()]),
        words: many(shared.word, distance()),
        rnn: many(shared.step, hops("rnn")),
        window: sizes().window,
        windows: many(shared.layer, hops("window")),
        k: sizes().k,
        dilated: many(shared.layer, hops("dilated")),
        attention: many(shared.layer, hops("attention")),
      }),
    );
  }

  ui.until(
    onWidth(box, (now) => {
      width = Math.min(now, 684);
      draw();
    }),
  );
  const csv = () => [
    ["model", "distance", "hops"],
    ...KINDS.map((kind) => [shared.kinds[kind], distance(), hops(kind)]),
  ];
  return ui.start(draw, { watch: ["tokens"], csv });
}

/* Draw one model: its words below, its path above, and the signal on its way. The RNN hops along one row, the others one layer
   up at a time. */
function panel(kind, { kinds, step, layer }) {
  const caption = h("p", { class: "tfm-caption" });
  const grid = s("path", { style: "fill:var(--tfm-soft);fill-opacity:.4" });
  const [whole, gone] = [0.3, 1].map((opacity) => s("path", { class: "tfm-line", style: "--c:var(--tfm-encoder)", "stroke-opacity": opacity }));
  const [start, end, signal] = ["two", "one", "encoder"].map((colour) => s("circle", { class: "tfm-dot", r: 5.5, style: `--c:var(--tfm-${colour})` }));
  const svg = s("svg", { role: "img" }, grid, whole, gone, start, end, signal);
  const box = h("div", { class: "tfm-figure-box" }, svg);

  function layout({ width, x, first, last, count, places, hop }) {
    const levels = kind === "rnn" ? 1 : places.length - 1;
    const up = Math.min(20, 66 / levels);
    const height = levels * up + 2 * EDGE;
    const y = (level) => height - EDGE - level * up;
    const at = places.map((place, i) => [x(first + place), y(kind === "rnn" ? Math.min(i, 1) : i)]);
    if (kind === "rnn") at.splice(0, 1, [x(first), y(0)], [x(first), y(1)]);
    const now = hop && Math.min(at.length - 1, hop + (kind === "rnn"));
    const way = (points) => points.map(([a, b], i) => `${i ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("");
    const r = Math.min(3.4, up / 3.2, (width - 2 * EDGE) / count / 3.2) / 1.7;
    const dots = range((levels + 1) * count).map((i) => [x(i % count), y(Math.floor(i / count))]);
    const put = (dot, [cx, cy]) => set(dot, { cx: cx.toFixed(1), cy: cy.toFixed(1) });
    set(svg, { width, height, "aria-label": told(WORDS.drawn, { kind: kinds[kind], hops: many(WORDS.hops, places.length - 1) }) });
    set(grid, { d: dots.map(([a, b]) => `M${(a - r).toFixed(1)} ${b.toFixed(1)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`).join("") });
    set(whole, { d: way(at) });
    set(gone, { d: way(at.map((point, i) => at[Math.min(i, now)])) }); // as many points at each hop, so that the way can grow
    put(start, at[0]);
    put(end, at.at(-1));
    put(signal, at[now]);
  }

  return {
    kind,
    el: h("div", {}, caption, box),
    update(now) {
      const hops = now.places.length - 1;
      const all = many(kind === "rnn" ? step : layer, hops);
      const words = now.hop >= hops ? told(WORDS.arrived, { all }) : told(WORDS.under, { hop: now.hop, all });
      caption.replaceChildren(h("b", {}, kinds[kind]), ` · ${words}`);
      if (now.width) layout(now);
    },
  };
}

export default { render, words: WORDS };

/* Cost explorer: counted and measured costs of layers against the number of words, and where two of them cross. */

import { card, clamp, fixed, fold, h, player, plot, range, s, set, told } from "../kit/index.js";

const WORDS = {
  quantity: "quantity",
  guess: "your guess",
  d: "width d",
  k: "kernel k",
  r: "window r",
  projections: "projections",
  joined: "join any two words",
  reveal: "show the curves",
  asked: "cost",
  plane: "Cost of a layer against the number of words, logarithmic axes",
  words: "{n} words",
  hidden: "d = {d}, k = {k}, r = {r}. Your guess: attention and the GRU cross at {n}. Then tick “{reveal}”.",
  here: "At {n}: {rows}",
  measured: " (measured at d = {d}, k = {k}, r = 64)",
  row: "{name} {x}",
  cross: "Attention and the GRU cross at {n}",
  apart: "Attention and the GRU do not cross here",
  guessed: " · your guess {guess}",
};

/* Where curves coincide, the dashes of each leave the others visible. */
const LOOKS = { attention: ["one"], gru: ["decoder", "8 4"], stacked: ["two", "10 6"], dilated: ["encoder", "0 11 4 1"], window: ["ink", "2 6"] };
const CHOICES = { d: [16, 32, 64, 128, 256, 512, 1024], k: [2, 3, 5, 7, 9, 15], r: [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] };
const QUANTITIES = ["multiplications", "memory", "sequential", "path", "time"]; // a page's JSON may hold their labels in another order
const MOST = 65536;
const GRID = range(31).map((i) => Math.round(2 ** (i / 2 + 1)));
const BEGINNING = 16;

/* Layer counts and costs, as in tfm_lib.cost. */
export const stackedLayers = (n, k) => Math.max(1, Math.ceil((n - 1) / (k - 1)));
export function dilatedLayers(n, k) {
  let layers = 1;
  while (k ** layers < n) layers += 1;
  return layers;
}
export function costs(n, { d, k, r, projections: p }) {
  const convolution = (path) => ({ multiplications: k * n * d * d, sequential: 1, path, memory: n * d });
  const attention = (seen, path) => ({ multiplications: 2 * seen * n * d + p * n * d * d, sequential: 1, path, memory: seen * n + p * n * d });
  return {
    attention: attention(n, 1),
    gru: { multiplications: 6 * n * d * d, sequential: n, path: n, memory: 7 * n * d },
    stacked: convolution(stackedLayers(n, k)),
    dilated: convolution(dilatedLayers(n, k)),
    window: attention(Math.min(r, n), stackedLayers(n, r)),
  };
}

/* One quantity of every row: of a layer, or of as many layers as connect any two words. */
export function asked(n, state) {
  const each = Object.entries(costs(n, state)).map(([name, row]) => [name, row[state.quantity] * (state.joined && state.quantity !== "path" ? row.path / row.sequential : 1)]);
  return Object.fromEntries(each);
}

const nearest = (all, x) => all.reduce((best, y) => (Math.abs(Math.log(y / x)) < Math.abs(Math.log(best / x)) ? y : best));

/* Measured milliseconds, at the nearest width and filter. */
export function times({ n, layers }, { d, k, projections }) {
  const found = layers[nearest(Object.keys(layers).map(Number), d)];
  const names = { attention: projections ? "projected" : "attention", gru: "gru", stacked: k < 5 ? "convolution 3" : "convolution 7", window: "window" };
  return Object.fromEntries(Object.entries(names).map(([row, name]) => [row, n.map((at, i) => [at, found[name][i]])]));
}

/* Return where attention overtakes the GRU, or null. */
export function crossing(state, measured) {
  if (state.quantity === "multiplications") return ((6 - state.projections) * state.d) / 2;
  if (state.quantity === "memory") return (7 - state.projections) * state.d;
  if (state.quantity !== "time") return null;
  const { attention, gru } = times(measured, state);
  const gaps = attention.map(([, t], i) => Math.log(t / gru[i][1]));
  const i = gaps.findIndex((gap, i) => i > 0 && gaps[i - 1] < 0 && gap >= 0);
  if (i < 0) return null;
  const share = gaps[i - 1] / (gaps[i - 1] - gaps[i]);
  return attention[i - 1][0] ** (1 - share) * attention[i][0] ** share;
}

/* Format with three digits, 12.6 M; as short in tfm_lib.widgets.cost. */
export function short(x) {
  const [size, name] = [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"]].find(([size]) => x >= size) ?? [1, ""];
  return `${+(x / size).toPrecision(3)}${name}`;
}

const grouped = (x) => String(Math.round(x)).replace(/\B(?=(\d{3})+$)/g, ",");

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "quantity", "d", "k", "r", "projections", "joined", "reveal", "guess"] });
  const { rows, quantities, n: axis } = ui.get("shared");
  const measured = () => ui.get("measured");
  const choice = (name, otherwise) => (CHOICES[name].includes(ui.get(name)) ? ui.get(name) : otherwise);
  const now = () => ({
    n: clamp(Math.round(ui.get("value")) || 64, 2, MOST),
    quantity: quantities[ui.get("quantity")] ? ui.get("quantity") : "multiplications",
    d: choice("d", 64),
    k: choice("k", 3),
    r: choice("r", 64),
    projections: ui.get("projections") === 3 ? 3 : 0,
    joined: Boolean(ui.get("joined")),
    reveal: Boolean(ui.get("reveal")),
    guess: clamp(Math.round(ui.get("guess")) || 0, 0, MOST),
  });
  const curves = (state) => {
    if (state.quantity === "time") return state.reveal ? times(measured(), state) : {};
    const grid = GRID.filter((n) => state.reveal || n <= BEGINNING).map((n) => [n, asked(n, state)]);
    return Object.fromEntries(Object.keys(LOOKS).map((name) => [name, grid.map(([n, row]) => [n, row[name]])]));
  };

  const plane = plot(ui, { x: { label: axis, domain: [2, MOST], log: true }, y: { label: WORDS.asked, domain: [1, 1e12], log: true }, height: 300, most: 684, label: WORDS.plane });
  const cover = s("rect", { style: "fill:var(--tfm-w0)" }); // over what the reader is to guess
  plane.layer.append(cover);
  plane.custom(({ x, y }) => {
    const [low, high] = y.domain.map(y);
    set(cover, { x: x(BEGINNING), y: high, width: x(MOST) - x(BEGINNING), height: low - high });
  });
  const lines = Object.fromEntries(Object.entries(LOOKS).map(([name, [colour, dash]]) => [name, plane.line({ colour, dash })]));
  const guess = plane.rule({ colour: "soft" });
  const place = plane.line({ colour: "ink" });
  const named = plane.dot({ colour: "ink", r: 0, name: WORDS.guess }); // above the plane, where no curve is
  const cross = plane.line({ colour: "ink", dash: "1 4" });
  const dots = Object.fromEntries(Object.entries(LOOKS).map(([name, [colour]]) => [name, plane.dot({ colour, r: 4 })]));
  const mark = ([colour, dash]) => s("svg", { width: 34, height: 12, "aria-hidden": "true" }, s("path", { d: "M1 6H33", class: "tfm-line", style: `--c:var(--tfm-${colour})`, "stroke-dasharray": dash }));
  const entry = (name) => h("span", { style: "display:inline-flex;gap:6px;align-items:center;margin-right:14px" }, mark(LOOKS[name]), h("span", {}, rows[name]));
  ui.stage.append(plane.el, h("div", { class: "tfm-legend" }, Object.keys(LOOKS).map(entry)));

  const stops = () => (ui.get("reveal") ? range(Math.log2(MOST)).map((k) => 2 ** (k + 1)) : [ui.get("value")]); // before, n is the guess
  const n = player(ui, "value", { stops, pace: 500, label: axis, min: 2, max: MOST, step: 1, log: true, format: grouped });
  ui.toggle("reveal", { label: WORDS.reveal });
  const joined = ui.toggle("joined", { label: WORDS.joined });
  ui.select("quantity", { label: WORDS.quantity, options: QUANTITIES.map((name) => [name, quantities[name]]) });
  const d = ui.slider("d", { label: WORDS.d, values: CHOICES.d, format: String });
  const k = ui.slider("k", { label: WORDS.k, values: CHOICES.k, format: String });
  const r = ui.slider("r", { label: WORDS.r, values: CHOICES.r, format: String });
  const projections = ui.slider("projections", { label: WORDS.projections, values: [0, 3], format: String });
  fold(ui);
  ui.on("reveal", () => ui.get("reveal") && !ui.get("guess") && ui.set({ guess: now().n }));

  function draw() {
    const state = now();
    const drawn = curves(state);
    const timed = state.quantity === "time";
    const many = state.joined && state.quantity !== "path" && !timed; // filter and window determine the number of layers
    const one = (...names) => many || names.includes(state.quantity);
    d.enable(state.quantity !== "sequential" && state.quantity !== "path");
    k.enable(one("multiplications", "path", "time"));
    r.enable(one("multiplications", "memory", "path"));
    projections.enable(state.quantity !== "sequential" && state.quantity !== "path");
    joined.enable(state.quantity !== "path" && !timed);
    for (const button of n.el.parentElement.querySelectorAll("button")) button.disabled = !state.reveal;
    const all = Object.values(curves({ ...state, reveal: true })).flat().map(([, y]) => y); // the same before and after
    const [least, most] = [Math.min(...all), Math.max(...all)];
    const [low, high] = [10 ** Math.floor(Math.log10(least)), 10 ** Math.max(1, Math.ceil(Math.log10(most)))];
    plane.domain({ y: [low, high] });
    const full = (line) => line.concat(Array(GRID.length - line.length).fill(line.at(-1))); // as many points, so that they ease
    for (const name in lines) lines[name](drawn[name] ? full(drawn[name]) : []);
    const words = (n) => told(WORDS.words, { n: grouped(n) });
    const where = state.reveal ? crossing(state, measured()) : null;
    set(cover, { opacity: state.reveal ? 0 : 1 });
    place([[state.n, low], [state.n, high]]);
    cross(where === null || where > MOST ? [] : [[where, low], [where, high]]);
    const guessed = state.reveal ? state.guess : state.n;
    guess(guessed ? { x: guessed } : null);
    named(guessed ? [guessed, high] : null);
    for (const name in dots) dots[name](state.reveal || !drawn[name] ? null : drawn[name].at(-1));
    if (!state.reveal) return ui.say(...told(WORDS.hidden, { ...state, n: h("b", {}, words(state.n)), reveal: WORDS.reveal }));
    const at = timed ? nearest(measured().n, state.n) : state.n;
    const found = timed ? Object.entries(drawn).map(([name, line]) => [name, line.find(([n]) => n === at)[1]]) : Object.entries(asked(at, state));
    for (const [name, y] of found) dots[name]([at, y]);
    const widths = Object.keys(measured().layers).map(Number);
    const note = timed ? told(WORDS.measured, { d: nearest(widths, state.d), k: state.k < 5 ? 3 : 7 }) : "";
    ui.say(
      h("div", {}, h("b", {}, where === null ? WORDS.apart : told(WORDS.cross, { n: words(where) })), guessed ? told(WORDS.guessed, { guess: grouped(guessed) }) : ""),
      h("div", {}, told(WORDS.here, { n: words(at), rows: found.map(([name, x]) => told(WORDS.row, { name: rows[name], x: short(x) })).join(" · ") }), note),
    );
  }

  const csv = () => {
    const drawn = Object.entries(curves(now()));
    return [["n", ...drawn.map(([name]) => name)], ...(drawn[0]?.[1] ?? []).map(([n], i) => [n, ...drawn.map(([, line]) => line[i][1])])];
  };
  return ui.start(draw, { watch: ["measured"], csv });
}

export default { render, words: WORDS };

/* Soft look-up widget: a query among keys in the plane; every key gets a weight, the output is the weighted mean of the values. */

import { card, clamp, dot, fixed, h, onWidth, player, plot, range, s, set, short, softmax, told, transpose, widthOf } from "../kit/index.js";

const WORDS = {
  plane: "Plane of the keys and the query",
  compare: "Compare · drag the query, or use the arrow keys",
  share: "Share · the softmax of the scores",
  even: "Share · 1/{keys} each, whatever the score",
  mix: "Mix · the weighted mean of the values",
  score: "score",
  temperature: "temperature",
  uniform: "same share for every key",
  told: "{query} {place} → {shares} → {output} {mean}",
  broken: "Every key has the same share, so the output doesn’t move.",
  hard: " · nearly hard",
  axis: "{axis} of the value",
  values: "Plane of the values and the output",
  weight: "weight",
  line: "The weights over the number line of the values, and the output",
  key: "key",
  bars: "Scores and weights",
  scores: { dot: "dot", "scaled dot": "scaled dot", bilinear: "bilinear", additive: "additive" },
};

/* Score functions of a query and a key, as in tfm_lib.attention; p holds the matrices sent by Python. */
export const SCORES = {
  dot,
  "scaled dot": (q, k) => dot(q, k) / Math.sqrt(q.length),
  bilinear: (q, k, p) => dot(q, p.W.map((row) => dot(row, k))),
  additive: (q, k, p) => dot(p.v, p.W_1.map((row, i) => Math.tanh(dot(row, q) + dot(p.W_2[i], k)))),
};

export function lookUp({ value, K, V, score, parameters, temperature, uniform }) {
  const scores = K.map((key) => SCORES[score](value, key, parameters));
  const weights = uniform ? K.map(() => 1 / K.length) : softmax(scores.map((x) => x / temperature));
  return { scores, weights, output: transpose(V).map((column) => dot(weights, column)) };
}

/* Return the corners of the convex hull of points in the plane (Andrew's monotone chain). */
export function hull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const left = ([ax, ay], [bx, by], [cx, cy]) => (bx - ax) * (cy - ay) - (by - ay) * (cx - ax) > 0;
  const chain = (path) => {
    const corners = [];
    for (const point of path) {
      while (corners.length > 1 && !left(corners.at(-2), corners.at(-1), point)) corners.pop();
      corners.push(point);
    }
    return corners.slice(0, -1);
  };
  return points.length < 3 ? sorted : [...chain(sorted), ...chain(sorted.reverse())];
}

const STATE = ["value", "score", "temperature", "uniform"];
const DATA = ["K", "V", "parameters"];
const WIDEST = 16; // pixels, width of a link of weight 1
const LINE = 14; // pixels between two names
const [HARD, WAY] = [0.995, 36];
const MOST_TOLD = 8;
const DIAMOND = "M0-8L8 0L0 8L-8 0Z";
const SQUARE = "M-6-6H6V6H-6Z";

const two = fixed(2);
const point = (place) => (place.length > 1 ? `(${place.map(two).join(", ")})` : two(place[0]));
const tint = (colour) => `--c:var(--tfm-${colour})`;
const largest = (rows) => Math.max(...rows.flat().map(Math.abs)) || 1;
const around = (numbers) => {
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const room = 0.35 * (high - low || 2);
  return [low - room, high + room];
};

function render({ model, el }) {
  const ui = card({ model, el, state: STATE });
  const names = ui.get("labels");
  const flat = ui.get("V")[0].length === 1;
  const [across, up] = ui.get("axes");
  const square = { square: true, most: 360 };
  let now;
  let reach = 1; // half the plane's width; it may grow, so that Python can put the query anywhere

  const plane = plot(ui, { ...square, x: { label: across, domain: [-1, 1] }, y: { label: up, domain: [-1, 1] }, label: WORDS.plane });
  const origin = s("path", { class: "tfm-axis-line", "stroke-dasharray": "1 4" });
  plane.layer.append(origin);
  plane.custom(({ x, y }) => set(origin, { d: `M${x(0)} ${y(-reach)}V${y(reach)}M${x(-reach)} ${y(0)}H${x(reach)}` }));
  const keys = star(plane, names, DIAMOND, "key");
  const query = plane.handle({ control: "value", colour: "query", label: ui.get("shared").query, onmove: (value) => ui.set({ value }) });

  const mixture = flat ? balance(ui, names) : polygon(ui, names, square);
  const shares = bars(ui, names);
  const step = (words, mark, style) => h("div", { style }, h("p", { class: "tfm-caption" }, words), mark.el);
  const compare = step(WORDS.compare, plane);
  const share = step("", shares, !flat && "grid-column:1/-1");
  const mix = step(WORDS.mix, mixture, flat && "margin-top:14px");
  /* Two planes side by side above the weights; if they stack, the weights are placed between them. */
  ui.stage.append(h("div", { class: "tfm-columns", style: "grid-auto-flow:dense" }, compare, ...(flat ? [h("div", {}, share, mix)] : [share, mix])));

  /* The query wanders once around the keys. */
  const way = () => range(WAY).map((k) => [Math.cos, Math.sin].map((f) => +(0.8 * largest(ui.get("K")) * f((2 * Math.PI * k) / WAY)).toFixed(3)));
  const far = ([x, y]) => (x - ui.get("value")[0]) ** 2 + (y - ui.get("value")[1]) ** 2;
  const nearest = () => way().reduce((best, place, k, all) => (far(place) < far(all[best]) ? k : best), 0);
  player(ui, "value", { steps: () => WAY, at: nearest, go: (k) => ui.set({ value: way()[k] }), pace: 220 });
  const score = ui.select("score", { label: WORDS.score, options: Object.entries(WORDS.scores) });
  const temperature = ui.slider("temperature", { label: WORDS.temperature, min: 0.05, max: 20, step: 0.01, log: true, format: two });
  ui.toggle("uniform", { label: WORDS.uniform });

  function draw() {
    now = Object.fromEntries([...STATE, ...DATA].map((trait) => [trait, ui.get(trait)]));
    Object.assign(now, lookUp(now));
    reach = Math.max(reach, 1.5 * largest(now.K), 1.05 * largest(now.value));
    plane.domain({ x: [-reach, reach], y: [-reach, reach] });
    keys(links(now.K, now.value, now, "query", 0));
    query(now.value);
    mixture.update(now, reach);
    shares.update(now);
    share.firstChild.textContent = now.uniform ? told(WORDS.even, { keys: names.length }) : WORDS.share;
    score.enable(!now.uniform);
    temperature.enable(!now.uniform);
    ui.say(...sentence());
  }

  function sentence() {
    const { value, weights, output, uniform } = now;
    const top = range(names.length).sort((a, b) => weights[b] - weights[a]);
    const heaviest = top.slice(0, MOST_TOLD).sort((a, b) => a - b).map((j) => `${names[j]} ${two(weights[j])}`);
    const rest = names.length > MOST_TOLD ? " · …" : "";
    const [query, mixed] = [["tfm-q", "query"], ["tfm-v", "output"]].map(([kind, word]) => h("b", { class: kind }, ui.get("shared")[word]));
    const parts = told(WORDS.told, { query, place: point(value), shares: heaviest.join(" · ") + rest, output: mixed, mean: point(output) });
    if (uniform) parts.push(h("span", { class: "tfm-bad" }, WORDS.broken));
    else if (weights[top[0]] > HARD) parts.push(WORDS.hard);
    return parts;
  }

  const csv = () => {
    const head = ["label", "key x", "key y", ...now.output.map((_, i) => `value ${i + 1}`), "score", "weight"];
    return [head, ...names.map((name, j) => [name, ...now.K[j], ...now.V[j], now.scores[j], now.weights[j]])];
  };
  return ui.start(draw, { watch: DATA, csv });
}

/* Named points, each linked to its end point. Names are placed away from `centre` if there is room, and avoid each other. */
function star(plane, names, shape, colour) {
  const ties = names.map(() => s("path", { class: "tfm-line", "stroke-opacity": 0.5 }));
  const words = names.map((name) => s("text", { class: "tfm-mark-label tfm-strong", style: "stroke-width:7px" }, name)); // lines pass behind it
  const points = words.map((word) => s("g", { style: tint(colour) }, s("path", { class: "tfm-dot", d: shape }), word));
  plane.layer.append(...ties, ...points);
  let last;
  const redraw = ({ x, y, width }) => {
    if (!last || !x) return;
    const { places, ends, wide, link, dash, centre } = last;
    const taken = [];
    const widths = names.map((name) => widthOf([name]) + 12);
    places.forEach(([a, b], j) => {
      const [px, py] = [x(a), y(b)];
      set(ties[j], { style: `${tint(link)};stroke-width:${wide[j]}px`, "stroke-dasharray": dash, d: `M${px} ${py}L${x(ends[j][0])} ${y(ends[j][1])}` });
      set(points[j], { transform: `translate(${px.toFixed(1)} ${py.toFixed(1)})` });
      const left = a < centre ? px - x(x.domain[0]) > widths[j] : px + widths[j] > width;
      const from = left ? px - widths[j] : px;
      const free = (up) => !taken.some(([start, end, line]) => start < from + widths[j] && end > from && Math.abs(line - py - up) < LINE);
      const up = [0, -LINE, LINE].find(free) ?? 0;
      taken.push([from, from + widths[j], py + up]);
      set(words[j], { x: left ? -12 : 12, y: 4 + up, "text-anchor": left && "end" });
    });
  };
  plane.custom(redraw);
  return (next) => {
    last = next;
    redraw(plane.at);
  };
}

/* Links to one point, as wide as the weights; if every key has the same weight, they are marked as broken. */
const links = (places, end, { weights, uniform }, colour, centre) => ({
  places,
  centre,
  ends: places.map(() => end),
  wide: weights.map((weight) => Math.max(0.6, WIDEST * weight).toFixed(1)),
  link: uniform ? "broken" : colour,
  dash: uniform && "7 5",
});

/* Values in two dimensions: the output stays in their convex hull. */
function polygon(ui, names, square) {
  const axis = (word) => ({ label: told(WORDS.axis, { axis: word }), domain: [-1, 1] });
  const plane = plot(ui, { ...square, x: axis(ui.get("shared").axes[0]), y: axis(ui.get("shared").axes[1]), label: WORDS.values });
  const area = s("polygon", { style: "fill:var(--tfm-value);fill-opacity:.1" });
  let corners = [];
  const fence = ({ x, y }) => x && set(area, { points: corners.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ") });
  plane.layer.append(area);
  plane.custom(fence);
  const values = star(plane, names, SQUARE, "value");
  const mean = plane.dot({ colour: "value", r: 9 });
  return {
    el: plane.el,
    update(now, reach) {
      const { K, V, output } = now;
      const same = JSON.stringify(K) === JSON.stringify(V);
      const [x, y] = transpose(V).map((column) => (same ? [-reach, reach] : around(column)));
      plane.domain({ x, y });
      corners = hull(V);
      fence(plane.at);
      values(links(V, output, now, "value", (x[0] + x[1]) / 2));
      mean(output, ui.get("shared").output);
    },
  };
}

/* Values in one dimension: each weight is drawn at its value, and the output is their balance point. */
function balance(ui, names) {
  const line = plot(ui, { x: { label: ui.get("worth"), domain: [0, 1] }, y: { label: WORDS.weight, domain: [0, 1.15] }, height: 230, label: WORDS.line });
  const mean = line.rule({ colour: "value" });
  const stems = star(line, names, SQUARE, "value"); // above the rule, which must not cross a name
  return {
    el: line.el,
    update({ V, weights, output }) {
      line.domain({ x: around(V.flat()) });
      const [places, ends] = [weights, weights.map(() => 0)].map((heights) => V.map(([value], j) => [value, heights[j]]));
      stems({ places, ends, wide: weights.map(() => 4), link: "value", centre: output[0] });
      mean({ x: output[0] }, ui.get("shared").output);
    },
  };
}

/* One row per key: its score, and its weight as a bar. */
function bars(ui, names) {
  const ROW = 23;
  const rows = names.map((name, j) => {
    const y = ROW * (j + 1) + 15;
    const text = (anchor, kind, words) => s("text", { y, x: 0, "text-anchor": anchor, class: kind }, words);
    const box = (fill) => s("rect", { y: y - 12, height: 15, rx: 3, style: `fill:var(--tfm-${fill})` });
    return { word: text("start", "tfm-k tfm-strong", short(name, 14)), number: text("end"), weight: text("end"), track: box("w0"), bar: box("w1") };
  });
  const heads = [WORDS.key, WORDS.score, WORDS.weight].map((word, i) => s("text", { class: "tfm-axis", y: 13, x: 0, "text-anchor": i === 1 && "end" }, word));
  const svg = s("svg", { role: "group", "aria-label": WORDS.bars, height: ROW * (names.length + 1) }, heads, rows.flatMap(Object.values));
  const el = h("div", { class: "tfm-figure-box" }, svg);
  let [width, now] = [0];
  const redraw = () => {
    if (!width || !now) return;
    const first = Math.min(130, Math.ceil(widthOf([...names, WORDS.key])) + 12);
    const [middle, start] = [first + 44, first + 66];
    const room = width - start - 48;
    set(svg, { width });
    [0, middle, start].forEach((x, i) => set(heads[i], { x }));
    rows.forEach(({ number, weight, track, bar }, j) => {
      number.textContent = two(now.scores[j]);
      weight.textContent = two(now.weights[j]);
      set(number, { x: middle });
      set(weight, { x: width - 4 });
      set(track, { x: start, width: room });
      const look = now.uniform ? "fill:var(--tfm-broken);fill-opacity:.3;stroke:var(--tfm-broken);stroke-dasharray:4 3" : "fill:var(--tfm-w1)";
      set(bar, { x: start, width: (room * clamp(now.weights[j], 0, 1)).toFixed(1), style: look });
    });
  };
  ui.until(onWidth(el, (to) => ((width = to), redraw())));
  return { el, update: (next) => ((now = next), redraw()) };
}

export default { render, words: WORDS };

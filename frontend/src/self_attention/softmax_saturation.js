/* Softmax-saturation widget: wider vectors spread their scores, and without the scale 1/√d_k the softmax saturates. */

import { card, clamp, entropy, fixed, general, h, linspace, onWidth, player, plot, range, s, set, softmax, sub, sum, told } from "../kit/index.js";

const WORDS = {
  scores: "Histogram of the scores that the softmax gets, under the normal curve that theory expects",
  nats: "entropy in nats",
  gradient: "gradient norm",
  gets: "Scores that the softmax gets · curve: expected",
  makes: "Weights of the chosen query",
  entropy: "Entropy · lines: median of {queries} queries",
  norm: "Norm of the softmax’s Jacobian · lines: median",
  temperature: "temperature",
  size: "size ",
  query: "query",
  some: "{query} of {queries}",
  divide: "divide by √",
  spread: "The scores have standard deviation √{d_k}{divided} {equals} {spread}",
  own: "{query} → largest weight {weight} · entropy {nats} of {most} nats · gradient norm {norm}",
  middle: "median of {queries} queries → entropy {nats} nats · gradient norm {norm}",
  curve: "{measure} against d_k, with the scale and without",
  key: "{key} {number}",
  weights: "Weights of the keys: {weights}",
  now: "with these settings",
  this: "this query",
  others: "the other queries",
};

const TEMPERATURES = range(15).map((i) => +(2 ** (i / 2 - 2)).toPrecision(3)); // 0.25 … 32
const [HEIGHT, LOW] = [220, 160]; // on a wide card and on a narrow one

/* The divisor of the scores before the softmax. */
export const divisor = (d_k, scaled, temperature) => temperature * (scaled ? Math.sqrt(d_k) : 1);

export const weightsOf = (scores, by) => softmax(scores.map((score) => score / by));

/* Frobenius norm of the Jacobian, whose entries are pᵢ(1 − pᵢ) and −pᵢpⱼ;
   1 − pᵢ is the sum of the others, which keeps its precision when p is nearly one-hot. */
export function gradientNorm(p) {
  const rows = p.map((a, i) => {
    let [others, squares] = [0, 0];
    for (let j = 0; j < p.length; j++) {
      if (j === i) continue;
      others += p[j];
      squares += p[j] * p[j];
    }
    return a * a * (others * others + squares);
  });
  return Math.sqrt(sum(rows));
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export const bell = (x, spread) => Math.exp(-((x / spread) ** 2) / 2) / (spread * Math.sqrt(2 * Math.PI));

const MEASURES = [entropy, gradientNorm];
const share = fixed(2);
const fine = (x) => (x > 0 && x < 0.01 ? general(+x.toPrecision(1)) : share(x));

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "scaled", "temperature", "query"] });
  const sizes = ui.get("sizes");
  const scores = ui.get("scores"); // [size][query][key]
  const [queries, keys] = [scores[0].length, scores[0][0].length];
  const measured = (at, by, measure) => scores[at].map((row) => measure(weightsOf(row, by)));
  const curve = (measure, by) => sizes.map((d_k, at) => [d_k, median(measured(at, by(d_k), measure))]);

  const spreads = plot(ui, {
    x: { label: ui.get("shared").score, domain: [-1, 1] },
    y: { label: ui.get("shared").density, domain: [0, 1] },
    height: HEIGHT,
    low: LOW,
    label: WORDS.scores,
  });
  const bars = spreads.bars({ colour: "one" });
  const normal = spreads.line({ colour: "ink" });
  const rules = [-1, 1].map((side) => ({ side, put: spreads.rule({ colour: "ink" }) }));
  const shares = weightBars(ui, keys);
  const curves = [
    { label: WORDS.nats, domain: [0, 2.5] },
    { label: WORDS.gradient, domain: [0, 0.6] },
  ].map((y, k) => curvePlot(ui, y, curve(MEASURES[k], Math.sqrt), curve(MEASURES[k], () => 1), queries));

  const { legend, now: dotted } = key(ui.get("shared"));
  const box = (caption, figure) => h("div", {}, h("p", { class: "tfm-caption" }, caption), figure.el);
  ui.stage.append(
    h(
      "div",
      { class: "tfm-columns" },
      box(WORDS.gets, spreads),
      box(WORDS.makes, shares),
      box(told(WORDS.entropy, { queries }), curves[0]),
      box(WORDS.norm, curves[1]),
    ),
    legend,
  );
  /* Play goes from the narrowest vectors to the d_k that the widget opens with, so its first press begins at the left. */
  const stops = sizes.slice(0, 1 + (sizes.indexOf(model.get("value")) || sizes.length));
  player(ui, "value", { pace: 900, stops: () => stops, label: [WORDS.size, sub("d", "k")], values: sizes, format: String });
  ui.slider("temperature", { label: WORDS.temperature, values: TEMPERATURES });
  ui.slider("query", { label: WORDS.query, min: 0, max: queries - 1, format: (i) => told(WORDS.some, { query: i + 1, queries }) });
  ui.toggle("scaled", { label: h("span", {}, WORDS.divide, sub("d", "k")) });

  function draw() {
    const [scaled, temperature] = [ui.get("scaled"), Math.max(0.01, ui.get("temperature"))]; // a link may hold any value
    const at = Math.max(0, sizes.indexOf(ui.get("value")));
    const d_k = sizes[at];
    const query = clamp(ui.get("query") | 0, 0, queries - 1);
    const by = divisor(d_k, scaled, temperature);
    const spread = Math.sqrt(d_k) / by;

    const shape = columns(ui.get("histogram")[at], ui.get("reach"), spread);
    const half = 3 * Math.max(Math.sqrt(sizes.at(-1)), spread); // the same for every d_k, so that the spread visibly grows
    spreads.domain({ x: [-half, half], y: [0, 1.15 * Math.max(bell(0, spread), ...shape.map(([, , top]) => top))] });
    bars(shape.filter(([a, b]) => a >= -half && b <= half));
    normal(linspace(-1, 1, 121).map((t) => Math.min(half, 4 * spread) * t).map((x) => [x, bell(x, spread)]));
    const root = scaled || temperature !== 1 ? general(spread) : "√d_k";
    rules.forEach(({ side, put }) => put({ x: side * spread }, side > 0 ? `±${root}` : ""));

    const row = scores[at][query];
    const p = weightsOf(row, by);
    shares.update(row.map((x) => x / by), p);
    const values = MEASURES.map((measure) => measured(at, by, measure));
    dotted.style.display = temperature === 1 ? "none" : "inline-flex";
    curves.forEach((each, k) => {
      const now = temperature === 1 ? [] : curve(MEASURES[k], (size) => divisor(size, scaled, temperature));
      each.update({ d_k, values: values[k], query, now });
    });
    const [nats, gradient] = values.map((each) => each[query]);
    const [middleNats, middleGradient] = values.map(median);
    const divided = `${scaled ? ` / √${d_k}` : ""}${temperature === 1 ? "" : ` / ${general(temperature)}`}`;
    const whole = Math.sqrt(d_k) % 1 === 0 && !divided;
    ui.say(
      h("div", {}, told(WORDS.spread, { d_k, divided, equals: whole || spread === 1 ? "=" : "≈", spread: h("b", {}, general(spread)) })),
      h("div", {}, told(WORDS.own, { query: h("b", { class: "tfm-q" }, told(ui.get("shared").query, { query: query + 1 })), weight: share(Math.max(...p)), nats: fine(nats), most: share(Math.log(keys)), norm: fine(gradient) })),
      h("div", {}, told(WORDS.middle, { queries, nats: fine(middleNats), norm: fine(middleGradient) })),
    );
  }

  const csv = () => {
    const { scaled, temperature } = { scaled: ui.get("scaled"), temperature: ui.get("temperature") };
    const columns = [Math.sqrt, () => 1, (d_k) => divisor(d_k, scaled, temperature)].flatMap((by) => MEASURES.map((measure) => curve(measure, by)));
    const names = ["with scale", "without", "as set"].flatMap((which) => [`entropy ${which}`, `gradient norm ${which}`]);
    return [["d_k", ...names], ...sizes.map((d_k, at) => [d_k, ...columns.map((column) => column[at][1])])];
  };

  return ui.start(draw, { csv });
}

/* Counts of scores in units of √d_k, from −reach to reach, as bars of total area 1. */
export function columns(counts, reach, spread) {
  const width = (2 * reach * spread) / counts.length;
  const total = sum(counts);
  return counts.map((count, i) => [i * width - reach * spread, (i + 1) * width - reach * spread, count / total / width]);
}

/* A measure against d_k: with the scale, without it, and with the current settings; at the current d_k every query's value. */
function curvePlot(ui, y, withScale, without, queries) {
  const plane = plot(ui, { x: { label: "d_k", domain: [1, 1024], log: true }, y, height: HEIGHT, low: LOW, label: told(WORDS.curve, { measure: y.label }) });
  const here = plane.rule({ colour: "soft" });
  plane.line({ colour: "one" })(withScale);
  plane.line({ colour: "broken", dash: "7 4" })(without);
  const present = plane.line({ colour: "ink", dash: "2 3" });
  const others = range(queries).map(() => plane.dot({ colour: "soft", r: 3.5 }));
  const own = plane.dot({ colour: "ink", r: 5.5 });
  return {
    el: plane.el,
    update({ d_k, values, query, now }) {
      here({ x: d_k }, "");
      present(now);
      others.forEach((dot, i) => dot([d_k, values[i]]));
      own([d_k, values[query]]);
    },
  };
}

const [LINE, MOST] = [19, 420]; // pixels: height of a bar, and largest width

/* One line per key: its score, its weight as a bar and as a number. */
function weightBars(ui, keys) {
  const mono = "font-family:var(--tfm-mono);font-size:12px";
  const lines = range(keys).map((j) => {
    const y = 22 + j * LINE;
    const words = [s("text", { class: "tfm-k", x: 0, y: y + 13 }, told(WORDS.key, { key: ui.get("shared").key, number: j + 1 })), s("text", { x: 92, y: y + 13, "text-anchor": "end", style: mono })];
    const bars = ["w0", "w1"].map((colour) => s("rect", { x: 104, y: y + 3, height: LINE - 6, rx: 3, style: `fill:var(--tfm-${colour})` }));
    const number = s("text", { y: y + 13, "text-anchor": "end", style: mono });
    return { words, bars, number };
  });
  const heads = [ui.get("shared").score, ui.get("shared").weight].map((word, i) => s("text", { class: "tfm-axis", x: [92, 104][i], y: 13, "text-anchor": i ? "start" : "end" }, word));
  const svg = s("svg", { role: "img", height: 24 + keys * LINE }, heads, lines.flatMap(({ words, bars, number }) => [...words, ...bars, number]));
  const el = h("div", { class: "tfm-figure-box" }, svg);
  let [room, last] = [0, null];
  const update = (scores, weights) => {
    last = [scores, weights];
    const score = fixed(Math.max(...scores.map(Math.abs)) < 10 ? 2 : 1);
    lines.forEach(({ words, bars, number }, j) => {
      words[1].textContent = score(scores[j]);
      number.textContent = share(weights[j]);
      set(bars[0], { width: room });
      set(bars[1], { width: (room * weights[j]).toFixed(1) });
    });
    set(svg, { "aria-label": told(WORDS.weights, { weights: weights.map(share).join(", ") }) });
  };
  ui.until(
    onWidth(el, (total) => {
      const width = Math.min(total, MOST);
      room = width - 104 - 40;
      set(svg, { width });
      for (const { number } of lines) set(number, { x: width });
      if (last) update(...last);
    }),
  );
  return { el, update };
}

function key(shared) {
  const line = (colour, dash) => s("svg", { width: 30, height: 12, "aria-hidden": "true" }, s("path", { d: "M1 6H29", class: "tfm-line", style: `--c:var(--tfm-${colour})`, "stroke-dasharray": dash }));
  const dot = (colour, r) => s("svg", { width: 14, height: 12, "aria-hidden": "true" }, s("circle", { cx: 7, cy: 6, r, class: "tfm-dot", style: `--c:var(--tfm-${colour})` }));
  const entry = (mark, ...words) => h("span", { style: "display:inline-flex;gap:6px;align-items:center;margin-right:14px" }, mark, h("span", {}, words));
  const now = entry(line("ink", "2 3"), WORDS.now);
  const legend = h(
    "div",
    { class: "tfm-legend" },
    entry(line("one"), shared.with),
    entry(line("broken", "7 4"), shared.without),
    now,
    entry(dot("ink", 5.5), WORDS.this),
    entry(dot("soft", 3.5), WORDS.others),
  );
  return { legend, now };
}

export default { render, words: WORDS };

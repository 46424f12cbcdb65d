/* Rotary widget: each pair of features rotates with its position; the angle between query and key depends only on their distance. */

import { card, fixed, h, many, player, plot, range, s, set, signed, sum, told } from "../kit/index.js";
import { frequencies } from "./encoding.js";

const WORDS = {
  pair: "pair {pair}",
  angle: "angle {degrees}°",
  gives: "adds {product}",
  face: "Pair {pair}: query at {query}°, key at {key}°, {degrees}° between them; adds {product} to the score",
  plane: "The score against the distance, at every position",
  legend: "{query} solid, {key} dashed; the arc is the angle from key to query",
  position: "position of both",
  distance: "distance to the key",
  places: ["{count} place", "{count} places"],
  told: "{query} at {a}, {key} at {b}, {distance} apart · score {score} = {shares}",
};

/* Rotate each pair of x by its angle at that position, as tfm_lib.positional.rotary. */
export function turned(x, position, omegas) {
  return omegas.map((omega, i) => {
    const [cos, sin, even, odd] = [Math.cos(position * omega), Math.sin(position * omega), x[2 * i], x[2 * i + 1]];
    return [even * cos - odd * sin, even * sin + odd * cos];
  });
}

/* The contribution of each pair to the score of a query and a key. */
export const products = (query, key) => query.map(([a, b], i) => a * key[i][0] + b * key[i][1]);

/* The angle from key to query in each pair, from −π to π. */
export const between = (query, key) => query.map(([a, b], i) => Math.atan2(key[i][0] * b - key[i][1] * a, products(query, key)[i]));

const [SIZE, R] = [132, 50];
const number = signed(2);
const degrees = (angle) => fixed(0)((angle * 180) / Math.PI);
const turn = ([x, y]) => Math.atan2(y, x);

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "distance"] });
  const [q, k] = [ui.get("query"), ui.get("key")];
  const { query: queryWord, key: keyWord, distance: distanceWord, score: scoreWord } = ui.get("shared");
  const omegas = frequencies(q.length, ui.get("base"));
  const longest = Math.max(...[q, k].flatMap((x) => turned(x, 0, omegas).map((pair) => Math.hypot(...pair))));
  const faces = omegas.map((_, i) => face(i, longest));
  const named = (kind, word) => h("b", { class: `tfm-${kind}` }, word);
  const [first, last] = ui.get("positions");
  const farthest = ui.get("farthest");
  const scoreOf = (position, distance) => sum(products(turned(q, position, omegas), turned(k, position - distance, omegas)));
  const curve = range(4 * farthest + 1).map((step) => [step / 4, scoreOf(0, step / 4)]);
  const highest = Math.ceil(Math.max(...curve.map(([, y]) => Math.abs(y))));
  const plane = plot(ui, { x: { label: distanceWord, domain: [0, farthest] }, y: { label: scoreWord, domain: [-highest, highest] }, height: 190, most: 684, label: WORDS.plane });
  const line = plane.line({ colour: "ink" });
  const dot = plane.dot({ colour: "query", r: 6 });
  ui.stage.append(
    h("div", { style: "display:grid;grid-template-columns:repeat(auto-fit,minmax(132px,1fr));gap:10px" }, faces.map(({ el }) => el)),
    h("p", { class: "tfm-caption" }, told(WORDS.legend, { query: named("q", queryWord), key: named("k", keyWord) })),
    plane.el,
  );
  player(ui, "value", { pace: 350, label: WORDS.position, min: first, max: last });
  ui.slider("distance", { label: WORDS.distance, min: 0, max: farthest, heard: (count) => many(WORDS.places, count) });

  const pairs = () => {
    const [a, distance] = [ui.get("value"), ui.get("distance")];
    return [turned(q, a, omegas), turned(k, a - distance, omegas)];
  };

  function draw() {
    const [a, distance] = [ui.get("value"), ui.get("distance")];
    const [query, key] = pairs();
    const [shares, angles] = [products(query, key), between(query, key)];
    faces.forEach((each, i) => each.update(query[i], key[i], angles[i], shares[i]));
    line(curve);
    dot([distance, sum(shares)]);
    const each = shares.map((share, i) => `${i ? (share < 0 ? " − " : " + ") : share < 0 ? "−" : ""}${fixed(2)(Math.abs(share))}`).join("");
    ui.say(...told(WORDS.told, { query: named("q", queryWord), key: named("k", keyWord), a, b: a - distance, score: fixed(2)(sum(shares)), shares: each, distance }));
  }

  const csv = () => {
    const [query, key] = pairs();
    const [shares, angles] = [products(query, key), between(query, key)];
    return [["pair", "query x", "query y", "key x", "key y", "angle", "product"], ...query.map((pair, i) => [i, ...pair, ...key[i], angles[i], shares[i]])];
  };
  return ui.start(draw, { csv });
}

/* Draw one pair in its plane: x to the right, y upwards. */
function face(i, longest) {
  const [c, middle] = [SIZE / 2, SIZE / 2 + 8];
  const at = (angle, r) => [c + r * Math.cos(angle), middle - r * Math.sin(angle)].map((x) => x.toFixed(1));
  const hands = ["query", "key"].map((colour) => s("g", { style: `--c:var(--tfm-${colour})` }, s("path", { class: "tfm-line" }), s("circle", { class: "tfm-dot", r: 5 })));
  const arc = s("path", { fill: "none", "stroke-width": 2, style: "stroke:var(--tfm-ink)" });
  const ring = s("circle", { cx: c, cy: middle, r: R, fill: "none", style: "stroke:var(--tfm-line)", "stroke-width": 1.5 });
  const words = [14, SIZE + 10, SIZE + 27].map((y, row) => s("text", { class: row ? "tfm-axis" : null, x: c, y, "text-anchor": "middle", "font-weight": row ? null : 650 }));
  words[0].textContent = told(WORDS.pair, { pair: i });
  const svg = s("svg", { viewBox: `0 0 ${SIZE} ${SIZE + 33}`, style: "width:100%", role: "img" }, ring, arc, hands, words);
  return {
    el: svg,
    update(query, key, angle, product) {
      [query, key].forEach((pair, which) => {
        const [x, y] = at(turn(pair), (R * Math.hypot(...pair)) / longest);
        const [path, dot] = hands[which].children;
        set(path, { d: `M${c} ${middle}L${x} ${y}`, "stroke-dasharray": which ? "5 3" : null });
        set(dot, { cx: x, cy: y });
      });
      const [from, to, r] = [turn(key), turn(key) + angle, 16];
      set(arc, { d: `M${at(from, r).join(" ")}A${r} ${r} 0 0 ${angle > 0 ? 0 : 1} ${at(to, r).join(" ")}` });
      words[1].textContent = told(WORDS.angle, { degrees: degrees(angle) });
      words[2].textContent = told(WORDS.gives, { product: number(product) });
      set(svg, { "aria-label": told(WORDS.face, { pair: i, query: degrees(turn(query)), key: degrees(turn(key)), degrees: degrees(angle), product: number(product) }) });
    },
  };
}

export default { render, words: WORDS };

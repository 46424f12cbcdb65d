/* Rotary widget: each pair of features rotates with its position, so the angle between query and key depends only on
   their distance. Switched, it shows the same of the sinusoidal encoding: the hands of two positions. */

import { card, fixed, h, many, player, plot, range, s, set, signed, sum, told } from "../kit/index.js";
import { frequencies } from "./encoding.js";

const WORDS = {
  pair: "pair {pair}",
  angle: "angle {degrees}°",
  gives: "adds {product}",
  face: "Pair {pair}: {query} at {from}°, {key} at {to}°, {degrees}° between them; adds {product}",
  plane: "The dot product against the distance, at every position",
  legend: "{query} solid, {key} dashed; the arc is the angle between them",
  position: "position of both",
  distance: "distance",
  places: ["{count} place", "{count} places"],
  encoding: "the sinusoidal encoding instead",
  hand: "PE({place})",
  told: "{query} at {a}, {key} at {b}, {distance} apart · score {score} = {shares}",
  hands: "{query} · {key} = {score} = {shares}, {distance} apart",
};

/* Rotate each pair of x by its angle at that position, as tfm_lib.positional.rotary. */
export function turned(x, position, omegas) {
  return omegas.map((omega, i) => {
    const [cos, sin, even, odd] = [Math.cos(position * omega), Math.sin(position * omega), x[2 * i], x[2 * i + 1]];
    return [even * cos - odd * sin, even * sin + odd * cos];
  });
}

/* The pairs of the encoding of a position as clock hands: sine to the right, cosine up. */
export const hands = (position, omegas) => omegas.map((omega) => [Math.sin(position * omega), Math.cos(position * omega)]);

/* The contribution of each pair to the score of a query and a key. */
export const products = (query, key) => query.map(([a, b], i) => a * key[i][0] + b * key[i][1]);

/* The angle from key to query in each pair, from −π to π. */
export const between = (query, key) => query.map(([a, b], i) => Math.atan2(key[i][0] * b - key[i][1] * a, products(query, key)[i]));

const [SIZE, R] = [132, 50];
const number = signed(2);
const degrees = (angle) => fixed(0)((angle * 180) / Math.PI);
const turn = ([x, y]) => Math.atan2(y, x);

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "distance", "encoding"] });
  const [q, k] = [ui.get("query"), ui.get("key")];
  const { query: queryWord, key: keyWord, distance: distanceWord, product: productWord } = ui.get("shared");
  const omegas = frequencies(q.length, ui.get("base"));
  const longest = Math.max(...[q, k].flatMap((x) => turned(x, 0, omegas).map((pair) => Math.hypot(...pair))));
  const faces = omegas.map((_, i) => face(i));
  const [first, last] = ui.get("positions");
  const farthest = ui.get("farthest");
  const pairs = (a, distance, encoding) => (encoding ? [hands(a, omegas), hands(a - distance, omegas)] : [turned(q, a, omegas), turned(k, a - distance, omegas)]);
  const curves = [false, true].map((encoding) => range(4 * farthest + 1).map((step) => [step / 4, sum(products(...pairs(0, step / 4, encoding)))]));
  const highest = Math.ceil(Math.max(...curves.flat().map(([, y]) => Math.abs(y))));
  const plane = plot(ui, { x: { label: distanceWord, domain: [0, farthest] }, y: { label: productWord, domain: [-highest, highest] }, height: 190, most: 684, label: WORDS.plane });
  const line = plane.line({ colour: "ink" });
  const dot = plane.dot({ colour: "one", r: 6 });
  const legend = h("p", { class: "tfm-caption" });
  ui.stage.append(h("div", { style: "display:grid;grid-template-columns:repeat(auto-fit,minmax(132px,1fr));gap:10px" }, faces.map(({ el }) => el)), legend, plane.el);
  player(ui, "value", { pace: 350, label: WORDS.position, min: first, max: last });
  ui.slider("distance", { label: WORDS.distance, min: 0, max: farthest, heard: (count) => many(WORDS.places, count) });
  ui.toggle("encoding", { label: WORDS.encoding });
  const now = () => {
    const encoding = Boolean(ui.get("encoding"));
    const [query, key] = pairs(ui.get("value"), ui.get("distance"), encoding);
    const sense = encoding ? -1 : 1; // clock hands turn clockwise
    return { encoding, query, key, sense, shares: products(query, key), angles: between(query, key).map((angle) => sense * angle) };
  };

  function draw() {
    const [a, distance] = [ui.get("value"), ui.get("distance")];
    const { encoding, query, key, sense, shares, angles } = now();
    const [b, score] = [a - distance, fixed(2)(sum(shares))];
    const names = encoding ? [a, b].map((place) => told(WORDS.hand, { place })) : [queryWord, keyWord];
    const look = { names, sense, colours: encoding ? ["one", "two"] : ["query", "key"], longest: encoding ? 1 : longest };
    const named = (which) => h("b", { style: `color:var(--tfm-${look.colours[which]})` }, names[which]);
    faces.forEach((each, i) => each.update(query[i], key[i], angles[i], shares[i], look));
    legend.replaceChildren(...told(WORDS.legend, { query: named(0), key: named(1) }));
    line(curves[Number(encoding)]);
    dot([distance, sum(shares)]);
    const each = shares.map((share, i) => `${i ? (share < 0 ? " − " : " + ") : share < 0 ? "−" : ""}${fixed(2)(Math.abs(share))}`).join("");
    ui.say(...told(encoding ? WORDS.hands : WORDS.told, { query: named(0), key: named(1), a, b, score, shares: each, distance }));
  }

  const csv = () => {
    const { query, key, shares, angles } = now();
    return [["pair", "query x", "query y", "key x", "key y", "angle", "product"], ...query.map((pair, i) => [i, ...pair, ...key[i], angles[i], shares[i]])];
  };
  return ui.start(draw, { csv });
}

/* Draw one pair in its plane: x to the right, y upwards. */
function face(i) {
  const [c, middle] = [SIZE / 2, SIZE / 2 + 8];
  const at = (angle, r) => [c + r * Math.cos(angle), middle - r * Math.sin(angle)].map((x) => x.toFixed(1));
  const hands = range(2).map(() => s("g", {}, s("path", { class: "tfm-line" }), s("circle", { class: "tfm-dot", r: 5 })));
  const arc = s("path", { fill: "none", "stroke-width": 2, style: "stroke:var(--tfm-ink)" });
  const ring = s("circle", { cx: c, cy: middle, r: R, fill: "none", style: "stroke:var(--tfm-line)", "stroke-width": 1.5 });
  const words = [14, SIZE + 10, SIZE + 27].map((y, row) => s("text", { class: row ? "tfm-axis" : null, x: c, y, "text-anchor": "middle", "font-weight": row ? null : 650 }));
  words[0].textContent = told(WORDS.pair, { pair: i });
  const svg = s("svg", { viewBox: `0 0 ${SIZE} ${SIZE + 33}`, style: "width:100%", role: "img" }, ring, arc, hands, words);
  return {
    el: svg,
    update(query, key, angle, product, { names, sense, colours, longest }) {
      [query, key].forEach((pair, which) => {
        const [x, y] = at(turn(pair), (R * Math.hypot(...pair)) / longest);
        set(hands[which], { style: `--c:var(--tfm-${colours[which]})` });
        const [path, dot] = hands[which].children;
        set(path, { d: `M${c} ${middle}L${x} ${y}`, "stroke-dasharray": which ? "5 3" : null });
        set(dot, { cx: x, cy: y });
      });
      const [from, to, r] = [turn(key), turn(key) + sense * angle, 16];
      set(arc, { d: `M${at(from, r).join(" ")}A${r} ${r} 0 0 ${sense * angle > 0 ? 0 : 1} ${at(to, r).join(" ")}` });
      words[1].textContent = told(WORDS.angle, { degrees: degrees(angle) });
      words[2].textContent = told(WORDS.gives, { product: number(product) });
      set(svg, { "aria-label": told(WORDS.face, { pair: i, query: names[0], key: names[1], from: degrees(turn(query)), to: degrees(turn(key)), degrees: degrees(angle), product: number(product) }) });
    },
  };
}

export default { render, words: WORDS };

/* The film's closest look: the dot product of one query and one key, number by number.

   product(close, stage, words)   { names, draw() }; close as closeUp of film.js, names for the caption                  */

import { fixed, range } from "../../kit/index.js";

const [CELL, HIGH, LEFT] = [46, 28, 94]; // size of a number's cell; room for the names of the rows
const GAP = 14; // between the bands
const two = fixed(2);

export function product({ queries, keys, dots, weights, rows, cols, query, key }, stage, say) {
  const [q, k] = [queries[query], keys[key]];
  const products = q.map((x, i) => x * k[i]);
  const [dot, root] = [dots[query][key], Math.sqrt(q.length)]; // the products are rounded, their sum is the model's
  const names = { query: rows[query], key: cols[key], d_k: q.length, dot: two(dot), score: two(dot / root), weight: two(weights[query][key]) };
  const largest = Math.max(...products.map(Math.abs), 1e-9);

  function draw() {
    const across = Math.min(q.length, stage.pixels[0] < 640 ? 8 : 16);
    const bands = Math.ceil(q.length / across);
    const tall = 3 * HIGH + GAP;
    stage.look([0, 0, LEFT + across * CELL + 12, bands * tall + 14]);
    range(bands).forEach((band) => {
      const y = 12 + band * tall;
      [[say.rows.query, "query"], [say.rows.key, "key"], [say.rows.product, "ink"]].forEach(([text, colour], r) =>
        stage.word(`row ${band} ${r}`, { x: LEFT - 10, y: y + r * HIGH + 20, text, colour, size: 14, anchor: "end", weight: 600 }));
    });
    const cell = (kind, r, colour, top) => (x, i) => {
      const [band, at] = [Math.floor(i / across), i % across];
      const [left, y] = [LEFT + at * CELL, 12 + band * tall + r * HIGH];
      stage.bar(`${kind} ${i}`, { x: left + 1, y: y + 1, width: CELL - 2, height: HIGH - 2, colour: x < 0 ? "soft" : colour, opacity: 0.08 + 0.5 * Math.min(1, Math.abs(x) / top) });
      stage.word(`${kind} number ${i}`, { x: left + CELL / 2, y: y + 20, text: fixed(stage.isNarrow() ? 1 : 2)(x), size: 13 });
    };
    q.forEach(cell("q", 0, "query", 2));
    k.forEach(cell("k", 1, "key", 2));
    products.forEach(cell("product", 2, "w1", largest));
  }
  return { names, draw };
}

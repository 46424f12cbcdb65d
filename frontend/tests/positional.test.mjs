import assert from "node:assert/strict";
import { test } from "node:test";

import { frequencies, likeness, row, turn as rotation, wavelength } from "../src/positional/encoding.js";
import { between, hands, products, turned as rotated } from "../src/positional/rotary_pairs.js";
import { sum } from "../src/kit/math.js";
import { close, golden } from "./golden.mjs";

const { encodings, pairs } = golden("positional");

test("a hand is turned clockwise, by a matrix that is the same after a full circle", () => {
  assert.equal(rotation(Math.PI / 2), "matrix(0 1 -1 0 0 0)");
  assert.equal(rotation(1), "matrix(0.5403 0.8415 -0.8415 0.5403 0 0)");
  assert.equal(rotation(1 + 2 * Math.PI), rotation(1));
});

test("frequencies and rows of the encoding are those of tfm_lib.positional", () => {
  assert.equal(encodings.length, 5);
  for (const { d, base, omegas, rows } of encodings) {
    close(frequencies(d, base), omegas, 1e-12, `d ${d}, base ${base}`);
    for (const [pos, expected] of Object.entries(rows)) {
      close(row(+pos, frequencies(d, base)), expected, 1e-9, `d ${d}, position ${pos}`);
      close(hands(+pos, frequencies(d, base)).flat(), expected, 1e-9, `hands, d ${d}, position ${pos}`);
    }
  }
});

test("the likeness of two positions depends on their distance as in Python", () => {
  for (const { d, base, likeness: expected } of encodings) {
    const omegas = frequencies(d, base);
    close(expected.map((_, pos) => likeness(pos - 20, omegas)), expected, 1e-9, `d ${d}`);
  }
});

test("the fastest hand is round in 2π places", () => {
  close(wavelength(frequencies(16, 10000)[0]), 2 * Math.PI);
});

test("queries and keys are turned as by tfm_lib.positional.rotary, and their score and angles are those of Python", () => {
  assert.equal(pairs.length, 4);
  for (const { places, base, vectors, turned: expected, score, angles } of pairs) {
    const omegas = frequencies(8, base);
    const [query, key] = vectors.map((x, i) => rotated(x, places[i], omegas));
    close([query, key], expected, 1e-12);
    close(sum(products(query, key)), score, 1e-12);
    close(between(query, key), angles, 1e-12);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { hull, lookUp } from "../src/attention/soft_lookup.js";
import { close, golden } from "./golden.mjs";

const { cases, attention } = golden("attention");

test("scores, weights and output are those of tfm_lib, for every score, temperature and kind of value", () => {
  assert.ok(cases.length >= 100);
  for (const { given, scores, weights, output } of cases) {
    const actual = lookUp(given);
    close(actual.scores, scores, 1e-9, `${given.score}: scores`);
    close(actual.weights, weights, 1e-9, `${given.score}: weights`);
    close(actual.output, output, 1e-9, `${given.score}: output`);
  }
});

const { query, K, V } = attention;
const plain = { value: query, K, V, score: "scaled dot", parameters: {}, temperature: 1, uniform: false };

test("at temperature 1 the scaled dot product is attention", () => {
  const { weights, output } = lookUp(plain);
  close(weights, attention.weights);
  close(output, attention.output);
});

test("a low temperature makes a hard look-up, a high one the plain mean", () => {
  const best = attention.weights.indexOf(Math.max(...attention.weights));
  close(lookUp({ ...plain, temperature: 0.01 }).output, V[best], 1e-6);
  close(lookUp({ ...plain, temperature: 1e9 }).weights, [1 / 3, 1 / 3, 1 / 3], 1e-6);
});

test("with the same share for every key the query no longer matters", () => {
  const one = lookUp({ ...plain, uniform: true });
  const other = lookUp({ ...plain, uniform: true, value: [-8, 3] });
  assert.deepEqual(one.output, other.output);
  close(one.weights, [1 / 3, 1 / 3, 1 / 3]);
});

test("the hull has the outer points only, in order", () => {
  const corners = hull([[0, 0], [2, 0], [1, 1], [2, 2], [0, 2], [1, 0]]);
  assert.deepEqual(corners, [[0, 0], [2, 0], [2, 2], [0, 2]]);
  assert.deepEqual(hull([[1, 1], [0, 0]]), [[0, 0], [1, 1]]);
  assert.equal(hull([[0, 0], [1, 1], [2, 2]]).length, 2);
});

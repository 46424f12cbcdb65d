import assert from "node:assert/strict";
import { test } from "node:test";

import { asked, costs, crossing, dilatedLayers, short, stackedLayers, times } from "../src/cost/cost_explorer.js";
import { close, golden } from "./golden.mjs";

const { measured, rows, shown, crossings } = golden("cost");

test("every row of the table is the one of tfm_lib", () => {
  assert.equal(rows.length, 24);
  for (const { n, state, rows: expected } of rows) assert.deepEqual(costs(n, state), expected);
});

test("one layer, or as many as join any two words", () => {
  assert.equal(shown.length, 64);
  for (const { n, state, asked: expected } of shown) assert.deepEqual(asked(n, state), expected);
});

test("attention and the GRU cross where tfm_lib says", () => {
  assert.equal(crossings.length, 20);
  for (const { state, crossing: expected, times: lines } of crossings) {
    const found = crossing(state, measured);
    if (expected === null) assert.equal(found, null);
    else close(found, expected, 1e-9);
    if (lines) assert.deepEqual(times(measured, state), lines);
  }
});

test("where the counts cross, they are equal", () => {
  for (const quantity of ["multiplications", "memory"]) {
    const state = { d: 64, k: 3, r: 64, projections: 0, quantity, joined: false };
    const { attention, gru } = asked(crossing(state, measured), state);
    assert.equal(attention, gru);
  }
});

test("layers that join, at the powers of the filter and beyond", () => {
  assert.deepEqual([1, 3, 4, 9, 10, 243, 244].map((n) => dilatedLayers(n, 3)), [1, 1, 2, 2, 3, 5, 6]);
  assert.deepEqual([1, 3, 4, 5, 6].map((n) => stackedLayers(n, 3)), [1, 1, 2, 2, 3]);
});

test("large numbers in three digits", () => {
  assert.deepEqual([2.5e13, 63082496, 999, 30720, 0.0712].map(short), ["25 T", "63.1 M", "999", "30.7 k", "0.0712"]);
});

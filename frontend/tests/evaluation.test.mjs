import assert from "node:assert/strict";
import { test } from "node:test";

import { gains, off } from "../src/evaluation/ablation_table.js";
import { best, points, power } from "../src/evaluation/bleu_cost.js";
import { close, golden } from "./golden.mjs";

const { systems, shown, tables, gains: expected, off: judged, powers } = golden("evaluation");

test("the points of the table, and the best that a budget pays", () => {
  assert.equal(shown.length, 32);
  for (const { state, points: wanted, best: top } of shown) {
    const found = points(systems, state.language, state.ensembles, state.reveal);
    assert.deepEqual(found, wanted);
    assert.deepEqual(best(found, state.value), top);
  }
});

test("what rows gain over the mean of the whole model", () => {
  for (const [name, table] of Object.entries(tables)) {
    gains(table).forEach((row, i) => row.forEach((gain, k) => close(gain, expected[name][i][k], 1e-9)));
    assert.deepEqual(gains(table).map((row) => row.length), expected[name].map((row) => row.length));
  }
});

test("how far guesses are off", () => {
  assert.equal(judged.length, 24);
  for (const { table, guesses, open, off: wanted } of judged) {
    const found = off(gains(tables[table]), guesses, open);
    if (wanted === null) assert.equal(found, null);
    else {
      assert.equal(found.count, wanted.count);
      close(found.off, wanted.off, 1e-9);
    }
  }
});

test("powers of ten", () => {
  for (const [x, words] of powers) assert.equal(power(x), words);
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { errorRate, heaviest } from "../src/alignment/alignment.js";
import { path } from "../src/alignment/memory_hops.js";
import { golden } from "./golden.mjs";

const { sentences, walks } = golden("alignment");

test("the error rate of a sentence is that of tfm_lib.alignment", () => {
  assert.ok(sentences.length > 100);
  assert.ok(new Set(sentences.map(({ rate }) => rate)).size > 5);
  for (const { weights, links, possible, rate } of sentences) {
    assert.ok(Math.abs(errorRate(weights, links, possible) - rate) < 1e-12);
  }
});

test("without a known link there is no rate", () => {
  assert.equal(errorRate([[1, 0]], []), null);
});

test("the heaviest word is the first of equals", () => {
  assert.equal(heaviest([0.2, 0.4, 0.4]), 1);
});

test("a question walks along the largest weights that tfm_lib.alignment computes", () => {
  assert.equal(walks.length, 60);
  assert.ok(walks.some(({ path: [first, second] }) => second !== undefined && first !== second));
  for (const { weights, path: expected } of walks) assert.deepEqual(path(weights), expected);
});

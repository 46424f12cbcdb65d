import assert from "node:assert/strict";
import { test } from "node:test";

import { ends, far, lengths } from "../src/layers/gradient_depth.js";
import { close, golden } from "./golden.mjs";

const { measured, picks, ends: wholeDecades } = golden("layers");

test("the lengths of each stack are those of tfm_lib", () => {
  assert.equal(picks.length, 24);
  for (const { state, middle, least, most } of picks) {
    const found = lengths(measured, state);
    close([...found.middle, found.least, found.most], [...middle, least, most], 1e-9);
  }
});

test("two ways to cut a stack are two stacks", () => {
  const bottoms = picks.map(({ state }) => lengths(measured, state).middle[0]);
  assert.equal(new Set(bottoms).size, picks.length);
});

test("an error on its way down has its length at the layer it has come to", () => {
  assert.deepEqual(far([0.1, 0.2, 0.5, 1], 0).map(([length]) => length), [1, 1, 1, 1]);
  assert.deepEqual(far([0.1, 0.2, 0.5, 1], 2), [[0.2, 1], [0.2, 1], [0.5, 2], [1, 3]]);
  assert.deepEqual(far([0.1, 0.2, 0.5, 1], 3), [[0.1, 0], [0.2, 1], [0.5, 2], [1, 3]]);
});

test("the axis holds every length, and does not depend on the stack", () => {
  assert.deepEqual(ends(measured), wholeDecades);
  assert.deepEqual(ends({ none: [[-2001, 0, -2700, 999]] }), [0.001, 10]);
  assert.deepEqual(ends({ none: [[500]] }), [1, 10]);
});

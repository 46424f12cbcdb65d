import assert from "node:assert/strict";
import { test } from "node:test";

import { chosen, decades, nearest } from "../src/layers/gradient_depth.js";
import { standardise, together } from "../src/layers/layer_norm.js";
import { close, golden } from "./golden.mjs";

const { normed, depths, measured, picks } = golden("layers");

test("the norm in the browser is that of tfm_lib.layers", () => {
  assert.ok(normed.length >= 24);
  for (const { x, eps, out } of normed) close(standardise(x, eps).out, out, 1e-9);
});

test("its mean and variance are those of four numbers, and not of a sample", () => {
  const { mu, variance, spread } = standardise([1, 3, 3, 9], 0);
  assert.deepEqual([mu, variance, spread], [4, 9, 3]);
});

test("the chosen stack is the one that tfm_lib measured", () => {
  assert.equal(picks.length, 12);
  for (const { lengths, ...state } of picks) assert.deepEqual(chosen(measured, depths, state), lengths);
});

test("a depth that was not measured becomes the nearest", () => {
  assert.equal(nearest([2, 4, 8], 5), 1);
  assert.equal(nearest([2, 4, 8], -1e9), 0);
  assert.equal(nearest([2, 4, 8], NaN), 0);
});

test("features move together, or not at all where one would leave the picture", () => {
  assert.deepEqual(together([1, 2], (x) => x + 1), [2, 3]);
  assert.equal(together([1, 12], (x) => x + 1), null);
});

test("the axis holds all numbers in whole decades, and 1", () => {
  assert.deepEqual(decades([[[0.5, 1, 2]], [[1, 1, 1]]]), [0.1, 10]);
  const [low, high] = decades([[[3e-5, 1, 2e3]]]);
  close([Math.log10(low), Math.log10(high)], [-5, 4], 1e-9);
});

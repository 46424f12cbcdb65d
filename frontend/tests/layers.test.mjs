import assert from "node:assert/strict";
import { test } from "node:test";

import { ends, far, lengths } from "../src/layers/gradient_depth.js";
import { stages, standardise, together } from "../src/layers/layer_norm.js";
import { chosen, meanCosine } from "../src/layers/rank_collapse.js";
import { close, golden } from "./golden.mjs";

const { normed, steps, alike, stacks, measured, picks, ends: wholeDecades } = golden("layers");

test("the norm in the browser is that of tfm_lib.layers", () => {
  assert.ok(normed.length >= 24);
  for (const { x, eps, out } of normed) close(standardise(x, eps).out, out, 1e-9);
});

test("its steps are those of tfm_lib", () => {
  const { x, eps, gain, bias, stages: wanted } = steps;
  assert.notDeepEqual(wanted[2], wanted[3]);
  close(stages(x, eps, gain, bias), wanted, 1e-9);
});

test("its mean and variance are those of four numbers, and not of a sample", () => {
  const { mu, variance, spread } = standardise([1, 3, 3, 9], 0);
  assert.deepEqual([mu, variance, spread], [4, 9, 3]);
});

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

test("features move together, or not at all where one would leave the picture", () => {
  assert.deepEqual(together([1, 2], (x) => x + 1), [2, 3]);
  assert.equal(together([1, 12], (x) => x + 1), null);
});

test("differences and cosines of each stack are those of tfm_lib", () => {
  assert.equal(stacks.length, 36);
  for (const { state, value, mean, least, most, cosines, pair } of stacks) {
    const found = chosen(alike, state);
    close([...found.mean, ...found.least, ...found.most], [...mean, ...least, ...most], 1e-9);
    close(found.cosines[value].flat(), cosines.flat(), 1e-9);
    close([meanCosine(found.cosines[value])], [pair], 1e-9);
  }
});

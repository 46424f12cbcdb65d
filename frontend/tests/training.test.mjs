import assert from "node:assert/strict";
import { test } from "node:test";

import { loss, target } from "../src/training/label_smoothing.js";
import { rates, stepsOf, top } from "../src/training/learning_rate.js";
import { best, weightsOf } from "../src/training/training_replay.js";
import { close, golden } from "./golden.mjs";

const { curves, smoothed, looks } = golden("training");

test("every schedule is the one of tfm_lib", () => {
  assert.equal(curves.length, 24);
  for (const { state, step, rates: expected } of curves) {
    const found = rates(step, state);
    assert.deepEqual(Object.keys(found).sort(), Object.keys(expected).sort());
    for (const [name, rate] of Object.entries(expected)) close(found[name], rate, 1e-12);
  }
});

test("the peak lies at the warm-up, as high as one over the root of width times warm-up", () => {
  const state = { d_model: 16, warmup: 4, factor: 1, steps: 100, accumulate: 1 };
  const paper = [1, 2, 3, 4, 5, 16].map((step) => rates(step, state).paper);
  close(paper, [1 / 32, 1 / 16, 3 / 32, 1 / 8, 0.25 / Math.sqrt(5), 1 / 16], 1e-12);
});

test("half the warm-up raises the peak on the same axis, which then grows in steps of 2", () => {
  const peaks = [8000, 4000, 2000].map((warmup) => (512 * warmup) ** -0.5);
  assert.equal(new Set(peaks.map(top)).size, 1);
  for (const peak of [1e-5, ...peaks, 0.002, 0.15]) assert.ok(1.2 * peak <= top(peak) && Number.isInteger(Math.log2(top(peak) / top(0))));
});

test("counted by micro-batches the peak comes too soon", () => {
  const state = { d_model: 16, warmup: 4, factor: 1, steps: 100, accumulate: 4 };
  close(rates(1, state).miscounted, 1 / 8, 1e-12);
});

test("steps are whole, rise, and reach both ends", () => {
  for (const end of [1000, 100000]) {
    const steps = stepsOf(end);
    assert.deepEqual([steps[0], steps.at(-1)], [1, end]);
    assert.ok(steps.every((step, i) => Number.isInteger(step) && (i === 0 || step > steps[i - 1])));
  }
});

test("target and loss are those of tfm_lib.training", () => {
  assert.equal(smoothed.length, 48);
  for (const { p, vocabulary, epsilon, target: shares, loss: expected } of smoothed) {
    close(target(vocabulary, epsilon, "all"), shares, 1e-6);
    close(loss(p, vocabulary, epsilon, "all"), expected, 1e-9);
  }
});

test("the loss is least at the target, in both conventions", () => {
  for (const convention of ["all", "others"]) {
    const [right, wrong] = target(5, 0.1, convention);
    close(right + 4 * wrong, 1, 1e-12);
    for (const away of [-0.03, 0.03]) assert.ok(loss(right + away, 5, 0.1, convention) > loss(right, 5, 0.1, convention));
  }
  assert.equal(target(5, 0.1, "others")[0], 0.9);
  close(target(5, 0.1, "all")[0], 0.92, 1e-12);
});

test("certainty costs nothing without smoothing and everything with it", () => {
  assert.ok(Math.abs(loss(1, 5, 0, "all")) < 1e-12);
  assert.equal(loss(1, 5, 0.1, "all"), Infinity);
});

test("the weights shown are one head's, or the mean of all", () => {
  for (const { head, heads, matrix } of looks) weightsOf(heads, head).forEach((row, i) => close(row, matrix[i], 1e-9));
  assert.equal(best([0.1, 0.7, 0.2]), 1);
});

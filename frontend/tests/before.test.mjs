import assert from "node:assert/strict";
import { test } from "node:test";

import { descended, slopes, stepped, surprise } from "../src/before/next_word.js";
import { close, golden } from "./golden.mjs";

const { cases, start, ways } = golden("before");

test("surprise and slopes are those that PyTorch finds by going back", () => {
  assert.equal(cases.length, 12);
  for (const { scores, answer, loss, slopes: expected } of cases) {
    close(surprise(scores, answer), loss);
    close(slopes(scores, answer), expected);
  }
});

test("a step goes against the slope, and stops at the end of the sliders", () => {
  for (const { scores, answer, rate, stepped: expected } of cases) close(stepped(scores, answer, rate), expected, 6e-4);
  assert.deepEqual(stepped([6, 6], 0, 4), [6, 4]);
});

test("scores after several steps are those of tfm_lib", () => {
  assert.equal(ways.length, 4);
  for (const { taken, scores } of ways) close(descended(start.value, start.answer, start.rate, taken), scores, 1e-9);
});

test("steps downhill lower the surprise", () => {
  let scores = [0.5, 1, 0.5, 0];
  for (let k = 0; k < 20; k++) {
    const next = stepped(scores, 0, 1);
    assert.ok(surprise(next, 0) < surprise(scores, 0));
    scores = next;
  }
});

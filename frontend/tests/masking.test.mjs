import assert from "node:assert/strict";
import { test } from "node:test";

import { maskedWeights, presetMask, withCell } from "../src/masking/mask_editor.js";
import { entropy } from "../src/kit/math.js";
import { close, golden } from "./golden.mjs";

const { masks, scores, weights } = golden("masking");

test("each preset is the mask that tfm_lib makes", () => {
  assert.ok(masks.length >= 72);
  for (const { preset, tokens, size, hide_padding, mask } of masks) {
    assert.deepEqual(presetMask(preset, tokens, size, hide_padding), mask, `${preset}, size ${size}`);
  }
});

test("the weights under a mask are those of tfm_lib.attention, and so is their entropy", () => {
  assert.ok(weights.length > 10);
  for (const expected of weights) {
    const actual = maskedWeights(scores, expected.mask);
    close(actual, expected.weights);
    close(actual.map(entropy), expected.entropy);
  }
});

test("a row without a key has no weights, and leaves the other rows alone", () => {
  const [empty, other] = maskedWeights([[1, 2], [3, 3]], [[false, false], [true, true]]);
  assert.ok(empty.every(Number.isNaN));
  close(other, [0.5, 0.5]);
});

test("changing a cell makes a new mask", () => {
  const mask = [[true, false], [true, true]];
  assert.deepEqual(withCell(mask, 0, 1, true), [[true, true], [true, true]]);
  assert.deepEqual(mask, [[true, false], [true, true]]);
});

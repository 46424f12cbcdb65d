import assert from "node:assert/strict";
import { test } from "node:test";

import { laid, maskedWeights, presetMask, resized, scoresFor, withCell } from "../src/masking/mask_editor.js";
import { entropy } from "../src/kit/math.js";
import { typed } from "../src/kit/tokens.js";
import { close, golden } from "./golden.mjs";

const { masks, own, part, scores, weights } = golden("masking");

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

test("a mask that covers some rows is that of tfm_lib", () => {
  assert.equal(part.length, 4);
  for (const { value, bare, mask } of part) assert.deepEqual(laid(value, bare), mask);
});

test("changing a cell makes a new mask", () => {
  const mask = [[true, false], [true, true]];
  assert.deepEqual(withCell(mask, 0, 1, true), [[true, true], [true, true]]);
  assert.deepEqual(mask, [[true, false], [true, true]]);
});

test("words of a reader's own have the example's scores, and keep what was hidden, as in tfm_lib", () => {
  assert.equal(own.length, 5);
  for (const { sentence, words, scores: expected, mask } of own) {
    const said = typed(sentence, ["a", "b"], 8);
    assert.deepEqual(said.words, words);
    assert.deepEqual(scoresFor([[0.5, -1], [2, 0]], words.length), expected);
    assert.deepEqual(resized([[true, false], [true, true]], words.length), mask);
  }
  assert.deepEqual(own.map(({ sentence }) => typed(sentence, ["a", "b"], 8)).map(({ own, cut }) => [own, cut]), [[false, false], [false, false], [true, false], [true, false], [true, true]]);
});

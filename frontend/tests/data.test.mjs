import assert from "node:assert/strict";
import { test } from "node:test";

import { byWord, cut, isUnknown, merged, trace, wordsOf } from "../src/data/merge_steps.js";
import { golden } from "./golden.mjs";

const { merges, letters, cuts, own } = golden("data");
const table = merges.map((pair) => pair.split(" "));
const known = new Set(letters);

test("words, pieces and counts are those of tfm_lib", () => {
  assert.ok(cuts.length >= 25);
  for (const { value, used, words, pieces, counts } of cuts) {
    assert.deepEqual(wordsOf(value), words);
    const found = trace(words, table, used);
    assert.deepEqual(found.pieces.map((word) => word.map((piece) => (isUnknown(piece, known) ? "<unk>" : piece))), pieces);
    assert.deepEqual(found.counts, counts);
  }
});

test("a merge that fires makes fewer pieces, the others change nothing", () => {
  const { counts, firing } = trace(["the", "keeper"], table, 0);
  for (const k of table.keys()) assert.equal(counts[k + 1] < counts[k], firing.includes(k + 1));
});

test("a word is cut by replaying its merges in their order", () => {
  const pairs = own.merges.map((pair) => pair.split(" "));
  assert.deepEqual(wordsOf(own.value).map((word) => cut(word, pairs)), own.pieces);
});

test("the translator's pieces stand by words", () => {
  assert.deepEqual(byWord(["▁un", "happi", "est", "▁", "☃", "▁is", "."]), [["▁un", "happi", "est"], ["▁", "☃"], ["▁is", "."]]);
  assert.deepEqual(byWord([]), []);
});

test("equal letters are merged from the left", () => {
  assert.deepEqual(merged(["a", "a", "a", "b·"], ["a", "a"]), ["aa", "a", "b·"]);
  assert.deepEqual(merged(["a", "a", "a", "a"], ["a", "a"]), ["aa", "aa"]);
});

test("without an alphabet no letter is unknown", () => {
  assert.equal(isUnknown("j", new Set()), false);
  assert.equal(isUnknown("j", known), true);
  assert.equal(isUnknown("the·", known), false);
});

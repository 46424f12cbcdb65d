import assert from "node:assert/strict";
import { test } from "node:test";

import { begun, packed, RULES, waste } from "../src/data/batch_packer.js";
import { byWord, cut, isUnknown, merged, trace, wordsOf } from "../src/data/merge_steps.js";
import { close, golden } from "./golden.mjs";

const { merges, letters, cuts, own, packs, part, core } = golden("data");
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

test("batches and their waste are those of tfm_lib", () => {
  assert.ok(packs.length >= 18);
  for (const { lengths, groups, waste: share, ...state } of packs) {
    assert.deepEqual(packed(lengths, state), groups);
    close(waste(lengths, groups), share, 1e-12);
  }
});

test("batches that are being filled, and their waste, are those of tfm_lib", () => {
  for (const { count, groups, waste: share } of part.steps) {
    assert.deepEqual(begun(part.whole, count), groups);
    close(waste(part.lengths, groups), share, 1e-12);
  }
});

test("sorted as a whole, by tokens, it is what the core's batches waste", () => {
  const state = { value: "by tokens", size: 1, places: core.places, pool: core.lengths.length };
  close(waste(core.lengths, packed(core.lengths, state)), core.waste, 1e-12);
});

test("every sentence is in one batch, whatever the rule", () => {
  const lengths = [3, 1, 9, 9, 2];
  for (const value of RULES) {
    const groups = packed(lengths, { value, size: 2, places: 10, pool: 3 });
    assert.deepEqual(groups.flat().sort(), [0, 1, 2, 3, 4]);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { said, share } from "../src/assistant/patch.js";
import { world } from "../src/assistant/shared/world.js";
import { golden } from "./golden.mjs";

const { whole, parts, wrong, asked, words, patched } = golden("assistant");

function agrees({ words, people, where, colours, love }) {
  const found = world(words);
  assert.deepEqual({ people: found.people, where: found.where, colours: found.colours }, { people, where, colours }, words.join(" "));
  assert.deepEqual(found.loves ?? ["", ""], love);
  assert.deepEqual(found.faults, []);
}

test("what is true in a story, and in its beginnings, is what the library says", () => {
  assert.deepEqual([whole.length, parts.length], [60, 180]);
  [...whole, ...parts].forEach(agrees);
});

test("a contradiction is found at its word, with what is so instead", () => {
  assert.ok(wrong.length > 50);
  for (const { words, at, instead } of wrong) assert.deepEqual(world(words).faults[0], { at, instead: [instead] }, words.join(" "));
});

test("an answer is right, wrong or invented as the library judges it", () => {
  const kinds = {};
  for (const { words, verdict } of asked) {
    kinds[verdict] = (kinds[verdict] ?? 0) + 1;
    assert.equal(world(words).asked.verdict, verdict, words.join(" "));
  }
  assert.ok(kinds.right > 20 && kinds.wrong > 20 && kinds.invented > 3, JSON.stringify(kinds));
});

test("an instruction is no part of the story, and a text of the reader's own is taken at its word", () => {
  const { people, where, faults } = world("tell a story in which anna loves the ball : a red ball was with anna . the ball went from anna to ben .".split(" "));
  assert.deepEqual([people, where, faults], [["anna", "ben"], { ball: "ben" }, []]);
  assert.equal(world("question : who knows ? answer : nobody .".split(" ")).asked, null);
});

test("what a run says of two names, and how far a patch goes, are the library's numbers", () => {
  for (const { logits, ids, said: known, share: far } of patched) {
    const runs = logits.map((row) => said(row, ids, words));
    runs.forEach((run, k) => run.forEach((each, i) => (i === 2 ? assert.equal(each, known[k][i]) : assert.ok(Math.abs(each - known[k][i]) < 1e-3))));
    assert.ok(Math.abs(share(...runs) - far) < 1e-3 * Math.max(1, Math.abs(far)));
  }
});

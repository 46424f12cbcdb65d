import assert from "node:assert/strict";
import { test } from "node:test";

import { world } from "../src/assistant/shared/world.js";
import { golden } from "./golden.mjs";

const { whole, parts, wrong, asked } = golden("assistant");

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

/* The playground's words and answers are the library's. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { COUNT, LETTERS, PAD, TASKS, batch, random, read, unseen, word, written } from "../src/playground/engine/tasks.js";
import { norms } from "../src/playground/engine/training.js";
import { golden } from "./golden.mjs";

const { drawn, unseen: kept, long, answers } = golden("playground");
const sizes = { shortest: 2, longest: 8 };

test("words are drawn as the library draws them", () => {
  for (const [seed, words] of Object.entries(drawn)) {
    const draw = random(Number(seed));
    assert.deepEqual(words.map(() => written(word(draw, sizes))), words);
    assert.deepEqual([...new Set(words.join(""))].sort(), LETTERS);
  }
});

test("the unseen words are different, and the library's", () => {
  assert.deepEqual(unseen(sizes).map(written), kept);
  assert.deepEqual(unseen({ shortest: 5, longest: 16 }).map(written), long);
  assert.equal(new Set(kept).size, COUNT);
});

test("the answers are the library's", () => {
  for (const [task, right] of Object.entries(answers)) assert.deepEqual(drawn[0].map((text) => written(TASKS[task](read(text)))), right);
});

test("a batch is rows of one length, shifted by one", () => {
  const { size, src, m, tgt, n, out, pad } = batch([read("red"), read("pastel")], "reverse");
  assert.deepEqual([size, m, n, pad], [2, 7, 7, PAD]);
  const rows = (ids) => [ids.slice(0, 7), ids.slice(7)].map((row) => written(row));
  assert.deepEqual(rows(src), ["red····", "pastel·"]);
  assert.deepEqual(rows(tgt), ["·der···", "·letsap"]);
  assert.deepEqual(rows(out), ["der····", "letsap·"]);
});

test("letters that the alphabet lacks are left out", () => assert.equal(written(read("Quiz: Stressed!")), "istressed"));

test("the gradient of a layer is as long as those of all its parameters together", () => {
  const of = (...grad) => ({ grad });
  const parameters = { "embedding.tokens.weight": of(7), "encoder.0.W": of(3, 0), "encoder.0.b": of(4), "encoder.1.W": of(-2), "decoder.0.W": of(0), "encoder_norm.gain": of(9) };
  assert.deepEqual(norms(parameters), { "encoder.0": 5, "encoder.1": 2, "decoder.0": 0 });
  assert.deepEqual(norms({ "encoder.weight_ih_l0": of(6), "encoder.bias_ih_l0": of(8), "output.weight": of(1) }), { "encoder.0": 10 });
});

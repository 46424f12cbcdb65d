/* The playground's words and answers are the library's. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { COUNT, LETTERS, PAD, TASKS, batch, random } from "../src/playground/engine/tasks.js";
import { norms } from "../src/playground/engine/training.js";
import { golden } from "./golden.mjs";

const { drawn, unseen: kept, long, answers, phrases, kept: phrasesKept } = golden("playground");
const { read, written } = TASKS.reverse;
const sizes = { shortest: 2, longest: 8 };

test("words are drawn as the library draws them", () => {
  for (const [seed, words] of Object.entries(drawn)) {
    const draw = random(Number(seed));
    assert.deepEqual(words.map(() => written(TASKS.copy.draw(draw, sizes))), words);
    assert.deepEqual([...new Set(words.join(""))].sort(), LETTERS);
  }
});

test("the unseen words are different, and the library's", () => {
  assert.deepEqual(TASKS.reverse.unseen(sizes).map(written), kept);
  assert.deepEqual(TASKS.sort.unseen({ shortest: 5, longest: 16 }).map(written), long);
  assert.equal(new Set(kept).size, COUNT);
});

test("the answers are the library's", () => {
  for (const [task, right] of Object.entries(answers)) assert.deepEqual(drawn[0].map((text) => written(TASKS[task].answer(read(text)))), right);
});

test("numbers and dates are drawn and answered as in the library, and its words are all known", () => {
  for (const [task, pairs] of Object.entries(phrases)) {
    const [draw, { written, answer, read, unknown, ...of }] = [random(5), TASKS[task]];
    for (const [words, right] of pairs) {
      const ids = of.draw(draw, sizes);
      assert.deepEqual(written(ids), words);
      assert.deepEqual(written(answer(ids)), right);
      assert.deepEqual([read(words.join(" ")), unknown(words.join(" "))], [ids, []]);
    }
    assert.deepEqual(TASKS[task].unseen(sizes).map(written), phrasesKept[task]);
  }
});

test("a number may be typed in digits, a date in any order of its parts", () => {
  const { numbers, dates } = TASKS;
  assert.deepEqual(numbers.written(numbers.read("2047")), "two thousand and forty seven".split(" "));
  assert.deepEqual(numbers.written(numbers.read("Twenty-one")), ["twenty", "one"]);
  assert.deepEqual(numbers.unknown("a dozen or 20000"), ["a", "dozen", "or", "20000"]);
  assert.deepEqual(dates.written(dates.answer(dates.read("MARCH 5 2031"))), ["2031", "-", "03", "-", "05"]);
  assert.deepEqual(dates.answer(dates.read("March")), []);
});

test("a batch is rows of one length, shifted by one", () => {
  const { size, src, m, tgt, n, out, pad } = batch([read("red"), read("pastel")], TASKS.reverse);
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

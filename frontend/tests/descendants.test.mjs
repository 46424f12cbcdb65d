import assert from "node:assert/strict";
import { test } from "node:test";

import { family, LONGEST, MODELS, orderOf, wordsOf } from "../src/descendants/five_models.js";
import { golden } from "./golden.mjs";

const { cases, orders, signs } = golden("descendants");

test("each family reads, says and sees what tfm_lib says", () => {
  assert.ok(cases.length >= 60);
  for (const { sentence, model, epoch, read } of cases) {
    assert.deepEqual(family(wordsOf(sentence), model, epoch, signs), read, `${model}, “${sentence}”, pass ${epoch}`);
  }
});

test("the order of a pass is that of tfm_lib, and names each position once", () => {
  for (const { n, epoch, order } of orders) {
    assert.deepEqual(orderOf(n, epoch), order);
    assert.equal(new Set(order).size, n);
  }
});

test("RoBERTa hides other words in another pass, BERT the same ones", () => {
  const words = wordsOf("a b c d e f g h");
  const hidden = (model, epoch) => family(words, model, epoch, signs).targets.join();
  assert.equal(hidden("bert", 1), hidden("bert", 5));
  assert.ok(new Set([1, 2, 3, 4, 5].map((epoch) => hidden("roberta", epoch))).size > 1);
});

test("no row is empty, whatever the sentence", () => {
  for (const n of [1, 2, 3, 7, 40]) {
    for (const model of MODELS) {
      const { mask, rows } = family(wordsOf("w ".repeat(n)), model, 2, signs);
      assert.ok(rows.length <= 2 * LONGEST + 4);
      assert.ok(mask.every((row) => row.some(Boolean)), model);
    }
  }
});

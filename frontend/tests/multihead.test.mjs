import assert from "node:assert/strict";
import { test } from "node:test";

import { causal, darkest, habits, shrink, wordsOf } from "../src/multihead/heads.js";
import { cost, nameOf, stateOf, worth } from "../src/multihead/head_ablation.js";
import { close, golden } from "./golden.mjs";

const { cases, ablation } = golden("multihead");

test("what a head does on average is what tfm_lib computes", () => {
  assert.ok(cases.length >= 6);
  for (const { heads, asks_itself, habits: expected } of cases) {
    heads.forEach((head, k) => {
      const actual = habits(head, asks_itself);
      assert.deepEqual(Object.keys(actual), Object.keys(expected[k]));
      close(Object.values(actual), Object.values(expected[k]));
    });
  }
});

test("a future that no head looks at is known as hidden, and only that", () => {
  for (const { heads, causal: expected } of cases) assert.equal(causal([heads]), expected);
});

test("the darkest colour is the same in the page and on paper", () => {
  for (const { heads, darkest: expected } of cases) close(darkest([heads]), expected);
});

test("in cross-attention target words ask and source words answer", () => {
  const [src, tgt] = [["le", "chat"], ["the", "cat"]];
  assert.deepEqual(wordsOf("cross", src, tgt), [tgt, src]);
  assert.deepEqual(wordsOf("decoder", src, tgt), [tgt, tgt]);
  assert.deepEqual(wordsOf("encoder", src, tgt), [src, src]);
  assert.deepEqual(wordsOf("self", src, []), [src, src]);
});

test("a small square keeps the largest weight of each block", () => {
  const weights = [[0, 1, 2], [3, 4, 5], [6, 7, 8]];
  assert.equal(shrink(weights, 3), weights);
  assert.deepEqual(shrink(weights, 2), [[4, 5], [7, 8]]);
});

test("what is off, and what it costs, is what tfm_lib computes", () => {
  const { measured, states } = ablation;
  assert.ok(states.length >= 5);
  for (const { mode, value, removed, off, cost: expected, said } of states) {
    const now = stateOf(measured, mode, value, removed);
    assert.deepEqual(now.off, off);
    const actual = cost(measured, now.entry, now.off);
    assert.deepEqual(Object.keys(actual), Object.keys(expected));
    close(Object.values(actual), Object.values(expected));
    assert.deepEqual(now.entry[2].map((text, k) => text ?? measured.whole[2][k]), said);
  }
});

test("heads that cost more than 1 BLEU are counted as tfm_lib counts them", () => assert.equal(worth(ablation.measured), ablation.worth));

test("a head has the same name in the page and in Python", () => {
  ablation.names.forEach((name, i) => {
    const { head, layer } = nameOf(ablation.measured, i, ablation.shared);
    assert.equal(`head ${head} of ${layer}`, name);
  });
});

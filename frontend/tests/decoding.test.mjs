import assert from "node:assert/strict";
import { test } from "node:test";

import { penalty, phrase, search } from "../src/decoding/beam_tree.js";
import { cut, logitsOf } from "../src/decoding/sampling.js";
import { chosen } from "../src/decoding/translator.js";
import { differing } from "../src/twin/differing.js";
import { close, golden } from "./golden.mjs";

const { cases, cuts, looked_at } = golden("decoding");

test("the weights of a head, and the mean of all heads", () => {
  for (const [layer, head, rows] of looked_at.chosen) {
    const weight = chosen(looked_at.layers, layer, head);
    close(rows.flatMap((row, i) => row.map((_, j) => weight(i, j))), rows.flat());
  }
  assert.equal(chosen([], 1, 0), null); // a layer that is switched off has none
});

test("what differs is what the longest sequence in both does not hold", () => {
  const marked = (a, b) => differing(a.split(" "), b.split(" ")).map((side) => side.map(Number).join(""));
  assert.deepEqual(marked("le chat noir dort", "le chat dort"), ["0010", "000"]);
  assert.deepEqual(marked("a b c d", "a x c d"), ["0100", "0100"]);
  assert.deepEqual(marked("un deux", "trois"), ["11", "1"]);
});

test("every step keeps and drops what the library's beam does", () => {
  assert.ok(cases.length >= 6);
  for (const { tree, max_len, runs } of cases) {
    for (const { width, alpha, kept, fallen } of runs) {
      const { steps } = search(tree, width, alpha, max_len);
      assert.equal(steps.length, kept.length);
      steps.forEach((step, i) => {
        for (const [mine, theirs] of [[step.kept, kept[i]], [step.pruned, fallen[i]]]) {
          assert.deepEqual(mine.map((way) => way.path), theirs.map(([path]) => path));
          close(mine.map((way) => way.total), theirs.map(([, total]) => total));
        }
      });
    }
  }
});

test("the sentences found, their order and their scores are the library's", () => {
  for (const { tree, tokens, max_len, runs } of cases) {
    for (const { width, alpha, found } of runs) {
      const mine = search(tree, width, alpha, max_len).found;
      assert.deepEqual(mine.map((way) => way.path.filter((token) => token !== 0)), found.map(([ids]) => ids));
      close(mine.map((way) => way.total), found.map(([, total]) => total));
      close(mine.map((way) => way.score), found.map(([, , score]) => score));
      assert.deepEqual(mine.map((way) => phrase(tokens, way.path)), found.map(([, , , words]) => words));
    }
  }
});

test("a step's ways know where they come from, and add up", () => {
  const { tree, max_len } = cases[1];
  for (const { kept, pruned } of search(tree, 3, 0.6, max_len).steps) {
    for (const way of [...kept, ...pruned]) {
      close(way.total, way.from.total + way.more);
      assert.deepEqual(way.path, [...way.from.path, way.token]);
    }
  }
});

test("the penalty in round numbers", () => {
  close([penalty(1, 0.6), penalty(7, 1), penalty(19, 0.5), penalty(30, 0)], [1, 2, 2, 1]);
});

test("a tree that ends nowhere ends the search", () => {
  const { steps, found } = search([[[1, -0.5, -1]]], 2, 0.6, 9);
  assert.equal(steps.length, 2);
  assert.deepEqual(found, []);
});

test("what temperature, top-k and top-p leave is what filter_logits leaves", () => {
  assert.ok(cuts.length >= 15);
  for (const { steps, value, top_k, top_p, p } of cuts) {
    const mine = cut(logitsOf(steps), value, top_k, top_p);
    close(mine, p);
    assert.equal(mine.filter((x) => x > 0).length, p.filter((x) => x > 0).length);
  }
});

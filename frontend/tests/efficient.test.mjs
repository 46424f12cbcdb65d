import assert from "node:assert/strict";
import { test } from "node:test";

import { ORDERS, online } from "../src/efficient/online_softmax.js";
import { hashed, pattern, reach } from "../src/efficient/sparsity.js";
import { range } from "../src/kit/math.js";
import { close, golden } from "./golden.mjs";

const { buckets, masks, pairs, scores, values, rows, whole } = golden("efficient");

test("each pattern is the mask that tfm_lib makes, and word gets around in as many layers", () => {
  assert.equal(masks.length, 40);
  for (const { pattern: name, settings, mask, reach: hops } of masks) {
    const made = pattern(name, mask.length, { ...settings, buckets });
    assert.deepEqual(made, mask, `${name} ${JSON.stringify(settings)}`);
    for (const [layers, expected] of Object.entries(hops)) assert.deepEqual(reach(made, Number(layers)), expected, name);
  }
});

test("who meets by hashing is what tfm_lib.efficient.lsh_pairs says", () => {
  const meet = hashed(buckets[0]);
  assert.deepEqual(range(20).map((i) => range(20).map((j) => i === j || meet(i, j))), pairs);
});

test("the online softmax keeps what tfm_lib keeps, and ends where attention does", () => {
  for (const [tile, expected] of Object.entries(rows)) {
    const actual = online(scores, values, Number(tile));
    assert.equal(actual.length, 8 / Number(tile));
    actual.forEach((row, i) => Object.entries(expected[i]).forEach(([name, value]) => close(row[name], value, 1e-12)));
    close(actual.at(-1).output, whole, 1e-12);
  }
});

test("keys come as they are, or by their scores", () => {
  assert.deepEqual(ORDERS.given([2, 1, 3]), [0, 1, 2]);
  assert.deepEqual(ORDERS.rising([2, 1, 3]), [1, 0, 2]);
  assert.deepEqual(ORDERS.falling([2, 1, 2]), [0, 2, 1]);
});

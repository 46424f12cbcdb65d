import assert from "node:assert/strict";
import { test } from "node:test";

import { placeOf, reach, weightsOf } from "../src/transformer/follow_token.js";
import { AREA, machine, parts, short, weightsHeld, work } from "../src/transformer/model_size.js";
import { close, golden } from "./golden.mjs";

const { state, looks, sizes } = golden("transformer");

test("stage, word and weights in the browser are those of the widget in Python", () => {
  assert.ok(looks.length > 200);
  for (const { word, value, head, name, i, source, weights, asked } of looks) {
    const at = placeOf(state, { word, value });
    assert.deepEqual([at.stage.name, at.i, at.source], [name, i, source]);
    close(weightsOf(at.stage, at.i, head), weights, 1e-9);
    if (weights.length) assert.deepEqual(at.asked, asked);
  }
});

test("nonsense from a link leads to some word and some stage", () => {
  for (const [word, value] of [["x", null], [-1e9, 1e9], [1e9, -3], [NaN, 0.5]]) {
    const at = placeOf(state, { word, value });
    assert.ok(at.stage.vectors[at.i].length === 6 && at.token.length > 0);
    for (const head of ["x", -5, 99]) assert.ok(Array.isArray(weightsOf(state.decoder[3], 0, head)));
  }
});

test("the drawing reaches as far as the largest number", () => {
  assert.equal(reach([1, -3], [2]), 3);
  assert.equal(reach([0], []), 0.01);
});

test("parameters and operations are those that tfm_lib counts", () => {
  assert.equal(sizes.length, 15);
  for (const { state: sized, parts: counted, flops, weights } of sizes) {
    const order = ["embedding.tokens", "encoder.self_attention", "encoder.feed_forward", "decoder.self_attention", "decoder.cross_attention", "decoder.feed_forward", "norms"];
    assert.deepEqual(Object.values(parts(sized)), order.map((name) => counted[name]));
    assert.deepEqual(work(sized), flops);
    assert.equal(weightsHeld(sized), weights);
  }
});

test("each area of the drawn machine is its number of parameters", () => {
  for (const { state: sized, parts: counted } of sizes) {
    const names = { "words, E": "embedding.tokens", "encoder attention": "encoder.self_attention", "encoder feed-forward": "encoder.feed_forward", "decoder attention": "decoder.self_attention", "cross-attention": "decoder.cross_attention", "decoder feed-forward": "decoder.feed_forward" };
    const { boxes, shrunk } = machine(sized);
    assert.deepEqual(Object.keys(boxes).sort(), Object.keys(names).sort());
    for (const [name, all] of Object.entries(boxes)) {
      assert.equal(all.length, name === "words, E" ? 1 : sized.n_layers);
      const area = all.reduce((sum, [, , wide, tall]) => sum + wide * tall, 0);
      close([((area / AREA) * shrunk ** 2) / counted[names[name]]], [1], 1e-9);
    }
  }
});

test("whatever its sizes, the machine has room, and is drawn no smaller than it must be", () => {
  for (const room of [280, 340]) {
    for (const value of [64, 512, 4096]) for (const d_ff of [128, 16384]) for (const n_layers of [1, 24]) for (const vocab_size of [100, 200000]) {
      const { whole, shrunk } = machine({ n_layers, value, d_ff, vocab_size, norm: "post" }, room);
      for (const [x, y, wide, tall] of whole) {
        assert.ok(x >= -room / 2 && x + wide <= room / 2 && y + tall <= 0, `${[x, y, wide, tall]}`);
        assert.ok(tall <= 270);
      }
      assert.ok(shrunk === 1 || whole.some(([, , wide, tall]) => wide > (room - 36) / 4 || tall > 113 / 2));
    }
  }
});

test("large numbers in three digits", () => {
  assert.deepEqual([63082496, 252329984, 1009319936, 999, 30720, 0].map(short), ["63.1 M", "252 M", "1.01 G", "999", "30.7 k", "0"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { strength, heard, nearest, scientific, summary } from "../src/recurrence/gradient_reach.js";
import { path } from "../src/recurrence/interaction_path.js";
import { close, golden } from "./golden.mjs";

const { paths, layers, summaries, faded, dark } = golden("recurrence");

test("each path is the one that tfm_lib finds", () => {
  assert.equal(paths.length, 120);
  for (const { kind, distance, window, k, path: expected } of paths) {
    assert.deepEqual(path[kind](distance, { window, k }), expected, `${kind}, distance ${distance}, window ${window}, k ${k}`);
  }
});

test("a path has as many hops as the core's own layers need", () => {
  assert.equal(layers.length, 10);
  for (const { kind, distance, window, k, layers: expected } of layers) {
    assert.equal(path[kind](distance, { window, k }).length - 1, expected, `${kind}, distance ${distance}`);
  }
});

test("every hop of a path is one that its layer allows", () => {
  for (const { kind, distance, window, k, path: places } of paths) {
    assert.equal(places[0], 0);
    assert.equal(places.at(-1), distance);
    places.slice(1).forEach((place, layer) => {
      const hop = place - places[layer];
      if (kind === "rnn") assert.equal(hop, 1);
      if (kind === "window") assert.ok(hop >= 0 && hop <= window);
      if (kind === "dilated") assert.ok(hop % k ** layer === 0 && hop >= 0 && hop / k ** layer < k);
    });
  }
});

test("seeds are summed up as in tfm_lib", () => {
  for (const { rows, summary: expected } of summaries) {
    const found = summary(rows);
    for (const key of ["mean", "low", "high"]) close(found.map((one) => one[key] / expected[key][found.indexOf(one)]), found.map(() => 1));
  }
});

test("words have the norms, and norms the strength, of tfm_lib", () => {
  for (const { stage, count, distances, norms } of faded) {
    const mean = summaries[stage].summary.mean;
    assert.equal(norms.length, count - 1);
    close(heard(mean, distances, count).map((norm, i) => norm / norms[i]), norms.map(() => 1));
  }
  assert.equal(dark.length, 7);
  for (const [norm, share] of dark) close([strength(norm)], [share], 1e-9);
});

test("the distance that is shown is the nearest one that was measured", () => {
  assert.equal(nearest([1, 3, 5], 4), 1);
  assert.equal(nearest([1, 3, 5], 63), 2);
});

test("numbers far from 1 are written as powers of ten", () => {
  assert.deepEqual([0.0468, 5.6, 3.2e-11, 0.0012].map(scientific), ["0.047", "5.6", "3.2·10⁻¹¹", "0.0012"]);
});

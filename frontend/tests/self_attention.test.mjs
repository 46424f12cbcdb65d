import assert from "node:assert/strict";
import { test } from "node:test";

import { darkest, heaviest, kindOf, kindWeights } from "../src/self_attention/attention_weights.js";
import { bell, columns, divisor, gradientNorm, median, weightsOf } from "../src/self_attention/softmax_saturation.js";
import { gathered, turn } from "../src/self_attention/word_in_context.js";
import { entropy, sum } from "../src/kit/math.js";
import { typed } from "../src/kit/tokens.js";
import { close, golden } from "./golden.mjs";

const { context, distributions, normal, order, own, queries, scores, states } = golden("self_attention");

test("the norm of the Jacobian and the entropy are those of tfm_lib.self_attention", () => {
  assert.ok(distributions.length > 8);
  for (const { p, jacobian: expected, entropy: nats } of distributions) {
    close(gradientNorm(p), Math.hypot(...expected.flat()));
    close(entropy(p), nats);
  }
});

test("weights, entropy and gradient norm of each state of softmax saturation are those of Python", () => {
  assert.equal(states.length, 44);
  for (const { d_k, scaled, temperature, spread, weights, entropy: nats, norm, middle } of states) {
    const by = divisor(d_k, scaled, temperature);
    const p = scores[Math.log2(d_k)].map((row) => weightsOf(row, by));
    const at = `d_k ${d_k}, scaled ${scaled}, temperature ${temperature}`;
    close(p.slice(0, 3), weights, 1e-9, at);
    close(p.map(entropy), nats, 1e-9, at);
    close(p.map(gradientNorm), norm, 1e-9, at);
    close([median(p.map(entropy)), median(p.map(gradientNorm))], middle, 1e-9, at);
    close(Math.sqrt(d_k) / by, spread, 1e-9, at);
    assert.equal(p.length, queries);
  }
});

test("a nearly one-hot row keeps a gradient that is small, not noise", () => {
  const p = [1 - 2 ** -60, 2 ** -60]; // the first is 1 in floating point
  close(gradientNorm(p) * 2 ** 59, 1, 1e-9);
});

test("the normal curve is the density with that standard deviation", () => {
  for (const { spread, x, density } of normal) close(x.map((each) => bell(each, spread)), density);
});

test("the bars of a histogram have area 1 and lie symmetrically", () => {
  const bars = columns([1, 4, 3, 0], 4, 8);
  close(sum(bars.map(([a, b, top]) => (b - a) * top)), 1);
  assert.deepEqual(bars.map(([a]) => a), [-32, -16, 0, 16]);
});

test("the heaviest keys come first, equal ones in reading order", () => {
  for (const { weights, places } of order) assert.deepEqual(heaviest(weights, 3), places);
});

test("the darkest colour stands for the largest weight of all heads, up to the next tenth", () => {
  assert.equal(darkest([[[0.3, 0.7]], [[0.55, 0.45]]]), 0.7);
  assert.equal(darkest([[[0.34, 0.33, 0.33]]]), 0.4);
  assert.equal(darkest([[[1, 0]]]), 1);
});

test("the median of an even number of values lies between the two in the middle", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
});

test("words of a reader's own get the weights of their kinds, as in tfm_lib", () => {
  assert.equal(own.typed.length, 4);
  for (const { sentence, words, weights } of own.typed) {
    assert.deepEqual(typed(sentence, ["a", "b"], 12).words, words);
    const kinds = words.map((word) => kindOf(word, own.lexicon)).map((kind) => (kind < 0 ? 2 : kind));
    close(kindWeights(kinds, own.scores), weights, 1e-9, sentence);
  }
  assert.deepEqual(["Dog!", "saw", ""].map((word) => kindOf(word, own.lexicon)), [0, -1, -1]);
});

test("a word in its sentence gathers and turns as in tfm_lib", () => {
  assert.equal(context.seen.length, 8);
  for (const { words, focus, asked, weights, output, turn: angle } of context.seen) {
    const found = gathered({ words, focus, ...context });
    assert.equal(found.asked, asked);
    close(found.weights, weights, 1e-9, words.join(" "));
    close(found.output, output, 1e-9, words.join(" "));
    const turned = turn(found.X[asked], found.output);
    if (angle === null) assert.ok(Number.isNaN(turned));
    else close(turned, angle, 1e-9, words.join(" "));
  }
});

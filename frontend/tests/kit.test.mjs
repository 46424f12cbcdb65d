import assert from "node:assert/strict";
import { test } from "node:test";

import { entropy, fixed, general, logspace, range, signed, softmax, sum, variance } from "../src/kit/math.js";
import { random } from "../src/twin/random.js";
import { scale } from "../src/kit/scale.js";
import { many, told } from "../src/kit/dom.js";
import { hashFor, linkTo, linked, sameForm } from "../src/kit/link.js";
import { table } from "../src/kit/save.js";

const near = (a, b, tolerance = 1e-12) => assert.ok(Math.abs(a - b) <= tolerance, `${a} is not ${b}`);

test("softmax shares 1 among what is allowed, and gives exactly 0 to the rest", () => {
  const weights = softmax([1, 2, 1000, 3], [true, true, false, true]);
  near(sum(weights), 1);
  assert.equal(weights[2], 0);
  assert.deepEqual(softmax([5, -Infinity]), [1, 0]);
  near(softmax([1000, 1000])[0], 0.5);
});

test("softmax over nothing is not a number", () => {
  assert.ok(softmax([1, 2], [false, false]).every(Number.isNaN));
});

test("entropy is 0 for one-hot and log n for uniform", () => {
  near(entropy([0, 1, 0]), 0);
  near(entropy([0.25, 0.25, 0.25, 0.25]), Math.log(4));
});

test("a seed gives the same draws, and they are uniform", () => {
  assert.deepEqual(range(3).map(random(7)), range(3).map(random(7)));
  const draws = range(20000).map(random(1));
  near(sum(draws) / draws.length, 1 / 2, 0.01);
  near(variance(draws), 1 / 12, 0.003);
});

test("spaces are even", () => {
  logspace(1, 1000, 4).forEach((x, i) => near(x, 10 ** i, 1e-9));
});

test("numbers are written with a true minus, and never as −0.00", () => {
  assert.equal(fixed(2)(-1.234), "−1.23");
  assert.equal(fixed(2)(-0.001), "0.00");
  assert.equal(fixed(2)(NaN), "not a number");
  assert.equal(signed(1)(0.5), "+0.5");
  assert.deepEqual([0, 1024, 0.00012, 1e-4, -2.5e7, -Infinity].map(general), ["0", "1,020", "1.2·10⁻⁴", "10⁻⁴", "−2.5·10⁷", "−∞"]);
});

test("scales go there and back, and tick at round numbers", () => {
  const linear = scale([0, 10], [100, 200]);
  near(linear(5), 150);
  near(linear.invert(150), 5);
  assert.deepEqual(linear.ticks(5), [0, 2, 4, 6, 8, 10]);
  const log = scale([1, 1000], [0, 300], true);
  near(log(10), 100, 1e-9);
  near(log.invert(200), 100, 1e-9);
  assert.deepEqual(log.ticks(), [1, 10, 100, 1000]);
  assert.deepEqual(scale([2, 8], [0, 1], true).ticks(3), [2, 4, 6, 8]);
});

test("a link brings back what it was made of, whatever signs a sentence holds", async () => {
  const first = { sentence: "", value: 0, weights: [0, 0], open: false };
  const state = { sentence: "Is 100% of #1 mine & yours + his = ours? 안녕", value: -1.5e-7, weights: [1, 0.25], open: true };
  let copied;
  globalThis.location = { href: "file:///a book/page.html", hash: "" };
  Object.defineProperty(globalThis, "navigator", { value: { clipboard: { writeText: async (text) => (copied = text) } }, configurable: true });
  await linkTo(hashFor("decoding/translator.0", state, first), () => {});
  location.hash = new URL(copied).hash;
  assert.deepEqual(linked("decoding/translator.0", first), { changes: state, strange: false });
  assert.equal(linked("decoding/translator.1", first), null);
});

test("a link brings back only a state of the same form", () => {
  assert.ok(sameForm([[true, false]], [[false, false]]));
  assert.ok(!sameForm([[true]], [[false, false]]));
  assert.ok(sameForm([[true]], [[false, false]], true));
  assert.ok(!sameForm([[1]], [[false, false]], true));
  assert.ok(sameForm([[1, 2]], [], true) && !sameForm(3, [], true) && !sameForm([1], [])); // of an empty list, `fits` says what it takes
  assert.ok(!sameForm("3", 3));
  assert.ok(!sameForm(NaN, 3));
  assert.ok(!sameForm(undefined, 3));
});

test("CSV quotes what needs it", () => {
  assert.equal(table([["a", 'say "hi"'], ["x,y", 2]]), 'a,"say ""hi"""\r\n"x,y",2');
});

test("a template is filled with words, or with nodes among words", () => {
  assert.equal(told("{n} of {all}{rest}", { n: 0, all: 3, rest: false }), "0 of 3");
  const node = { is: "a node" };
  assert.deepEqual(told("{node} is {what}", { node, what: "bold" }), [node, " is ", "bold"]);
  assert.deepEqual([0, 1, 2].map((count) => many(["{count} word", "{count} words"], count)), ["0 words", "1 word", "2 words"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { captionAt, placeOf } from "../src/transformer/film/film.js";
import { scenes } from "../src/transformer/film/scenes.js";
import { golden } from "./golden.mjs";

const { film, shared } = golden("film");
const finite = (value) => (Array.isArray(value) ? value.every(finite) : typeof value !== "number" || Number.isFinite(value));

/* A stage that notes what is asked of it. */
function noted() {
  const seen = [];
  const note = (kind) => (key, what) => seen.push([kind, key, what]);
  return { seen, look: (view) => seen.push(["look", "", { view }]), ...Object.fromEntries(["word", "strip", "line", "box", "bar"].map((kind) => [kind, note(kind)])) };
}

test("every scene draws finite numbers at every moment, and has captions from its start", () => {
  const stage = noted();
  for (const { name, draw, says, seconds } of scenes(film, stage, shared)) {
    assert.ok(seconds > 0 && says[0][0] === 0, name);
    for (let u = 0; u <= 1; u += 1 / 64) {
      stage.seen.length = 0;
      draw(u);
      assert.ok(stage.seen.length > 10, `${name} at ${u} is empty`);
      for (const [kind, key, what] of stage.seen) for (const [trait, value] of Object.entries(what)) assert.ok(finite(value) && value !== undefined, `${name} at ${u}: ${kind} ${key}, ${trait}`);
      assert.equal(new Set(stage.seen.map(([kind, key]) => `${kind} ${key}`)).size, stage.seen.length, `${name} at ${u} draws something twice`);
    }
  }
});

test("a moment depends on nothing but the time", () => {
  const stage = noted();
  const all = scenes(film, stage, shared);
  const drawn = (k, u) => {
    stage.seen.length = 0;
    all[k].draw(u);
    return JSON.stringify(stage.seen);
  };
  const first = all.map((_, k) => drawn(k, 0.37));
  all.map((_, k) => drawn(k, 0.9)).reverse();
  assert.deepEqual(all.map((_, k) => drawn(k, 0.37)), first);
});

test("weights, scores and words on the stage are those of tfm_lib", () => {
  const stage = noted();
  const all = Object.fromEntries(scenes(film, stage, shared).map((scene) => [scene.name, scene]));
  const texts = (name, u, prefix) => {
    stage.seen.length = 0;
    all[name].draw(u);
    return stage.seen.filter(([kind, key]) => kind === "word" && key.startsWith(prefix)).map(([, , { text }]) => text);
  };
  assert.deepEqual(texts("asks", 0.8, "score "), film.one.scores.map((x) => x.toFixed(1)));
  assert.deepEqual(texts("asks", 1, "share "), film.one.weights.map((x) => x.toFixed(2)));
  assert.deepEqual(texts("word", 0.5, "chance p"), film.one.next[2].map(([, p]) => p.toFixed(3)));
  assert.deepEqual(texts("removed", 1, "plain french"), [film.plain, film.plain]);
  assert.equal(texts("hook", 1, "french").join(" ").replace(" .", "."), film.one.translation);
});

test("a time is found in its scene, and a caption once it has begun", () => {
  const all = [{ seconds: 10 }, { seconds: 5 }];
  assert.deepEqual([0, 9.9, 10, 15, 99].map((time) => placeOf(all, time)), [{ k: 0, u: 0 }, { k: 0, u: 0.99 }, { k: 1, u: 0 }, { k: 1, u: 1 }, { k: 1, u: 1 }]);
  assert.deepEqual([0, 0.49, 0.5, 1].map((u) => captionAt([[0, "a"], [0.5, "b"]], u)), ["a", "a", "b", "b"]);
});

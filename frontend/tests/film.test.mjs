import assert from "node:assert/strict";
import { test } from "node:test";

import { captionAt, closeUp, momentsOf, placeOf } from "../src/transformer/film.js";
import { scenes } from "../src/transformer/film/scenes.js";
import { product } from "../src/transformer/film/product.js";
import { fixed } from "../src/kit/math.js";
import { close, golden } from "./golden.mjs";

const { film, shared } = golden("film");
const finite = (value) => (Array.isArray(value) ? value.every(finite) : typeof value !== "number" || Number.isFinite(value));

/* A stage that notes what is asked of it. */
function noted() {
  const seen = [];
  const note = (kind) => (key, what) => seen.push([kind, key, what]);
  return { seen, pixels: [760, 425], isNarrow: () => false, look: (view) => seen.push(["look", "", { view }]), ...Object.fromEntries(["word", "strip", "line", "box", "bar"].map((kind) => [kind, note(kind)])) };
}

test("every scene draws finite numbers at every moment, and has captions from its start", () => {
  const stage = noted();
  for (const shown of [film, { one: film.own, plain: film.plain }])
  for (const { name, draw, says, seconds, look } of scenes(shown, stage, shared)) {
    assert.ok(seconds > 0 && says[0][0] === 0, name);
    assert.ok(says.every(([, ...text]) => !/[{}*]|undefined/.test(text.flat().join(""))), name);
    for (let u = 0; u <= 1; u += 1 / 64) {
      const { rows, cols, query, key, weights } = closeUp(look(u), "");
      assert.ok(rows[query] && cols[key] && weights.length === rows.length && weights[0].length === cols.length, `${name} at ${u}`);
      stage.seen.length = 0;
      draw(u);
      assert.ok(stage.seen.length > 10, `${name} at ${u} is empty`);
      for (const [kind, key, what] of stage.seen) for (const [trait, value] of Object.entries(what)) assert.ok(finite(value) && value !== undefined, `${name} at ${u}: ${kind} ${key}, ${trait}`);
      assert.equal(new Set(stage.seen.map(([, key]) => key)).size, stage.seen.length, `${name} at ${u} draws something twice`);
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
  assert.deepEqual(texts("asks", 0.8, "score "), film.one.scores.map(fixed(1)));
  assert.deepEqual(texts("asks", 1, "share "), film.one.looks.first.weights[film.one.focus].map((x) => x.toFixed(2)));
  assert.deepEqual(texts("word", 0.5, "chance p"), film.one.next[2].map(([, p]) => p.toFixed(3)));
  assert.deepEqual(texts("removed", 1, "plain french"), [film.plain, film.plain]);
  assert.equal(texts("hook", 1, "french").join(" ").replace(" .", "."), film.one.translation);
});

test("the closest look multiplies a query and a key of the head, and comes to its score and weight", () => {
  for (const name of Object.keys(film.one.looks)) {
    const { weights } = film.one.looks[name];
    const rows = weights.map((row, i) => row.map((_, j) => product(closeUp({ of: film.one, name, query: 0, key: 0 }, `${name}.${i}.${j}`), noted(), shared).names));
    rows.forEach((row, i) => {
      const scores = row.map(({ score }) => Number(score.replace("−", "-"))).slice(0, name === "own" ? i + 1 : undefined);
      const total = scores.reduce((sum, x) => sum + Math.exp(x), 0);
      scores.forEach((score, j) => assert.ok(Math.abs(Math.exp(score) / total - weights[i][j]) < 0.02, `${name} ${i} ${j}`));
      assert.deepEqual(row.map(({ weight }) => weight), weights[i].map(fixed(2)));
    });
  }
});

test("another pair can be picked only in the head that is at work", () => {
  const at = { of: film.one, name: "first", query: 2, key: 1 };
  const found = (pick) => ["query", "key"].map((part) => closeUp(at, pick)[part]);
  assert.deepEqual([found(""), found("first.4.3"), found("cross.4.3"), found("first.40.3")], [[2, 1], [4, 3], [2, 1], [2, 1]]);
});

test("a time is found in its scene, and a caption once it has begun", () => {
  const all = [{ seconds: 10 }, { seconds: 5 }];
  assert.deepEqual([0, 9.9, 10, 15, 99].map((time) => placeOf(all, time)), [{ k: 0, u: 0 }, { k: 0, u: 0.99 }, { k: 1, u: 0 }, { k: 1, u: 1 }, { k: 1, u: 1 }]);
  assert.deepEqual([0, 0.49, 0.5, 1].map((u) => captionAt([[0, "a"], [0.5, "b"]], u)[1]), ["a", "a", "b", "b"]);
});

test("there is a moment for each caption, at which it is shown", () => {
  const all = scenes(film, noted(), shared);
  const shown = momentsOf(all).map((time) => {
    const { k, u } = placeOf(all, time);
    return captionAt(all[k].says, u);
  });
  assert.deepEqual(shown, all.flatMap(({ says }) => says));
});

test("at moments drawn at random, every number and word on the stage is the record's", () => {
  const { one, two, plain } = film;
  const numbers = [one.scores.map(fixed(1)), one.looks.first.weights[one.focus].map(fixed(2)), one.next.flat().map(([, p]) => p.toFixed(3))].flat();
  const words = [one.words, one.written, one.next.flat().map(([word]) => word), one.sentence, one.translation, two.translation, two.words, plain, shared.future, shared.head_column, "+", "mordu"].flat();
  const counted = [...one.words.keys(), ...one.heads.keys()].flatMap((i) => [String(i), String(i + 1)]);
  const known = new Set([...numbers, ...words, ...counted, ...[1, 2, 3].map((layer) => shared.layer.replace("{layer}", layer))]);
  const stage = noted();
  const all = scenes(film, stage, shared);
  const total = all.reduce((sum, { seconds }) => sum + seconds, 0);
  let [state, seen] = [12345, 0];
  for (let k = 0; k < 40; k++) {
    state = (1103515245 * state + 12345) % 2147483648;
    const { k: scene, u } = placeOf(all, (total * state) / 2147483648);
    stage.seen.length = 0;
    all[scene].draw(u);
    const texts = stage.seen.filter(([kind]) => kind === "word").map(([, , { text }]) => text);
    assert.deepEqual(texts.filter((text) => !known.has(text)), [], `${all[scene].name} at ${u}`);
    seen += texts.filter((text) => numbers.includes(text)).length;
    for (const [kind, key, { numbers: column }] of stage.seen.filter(([kind]) => kind === "strip")) assert.equal(column.length, key === "joined" ? 2 * one.heads.length : key.startsWith("result") ? 2 : 12, `${kind} ${key}`);
  }
  assert.ok(seen > 20);
});

test("in each layer of the tower, the words look at each other with the layer's mean weights", () => {
  const stage = noted();
  const tower = scenes(film, stage, shared).find(({ name }) => name === "tower");
  const widths = new Map();
  for (let u = 0; u <= 1; u += 0.01) tower.draw(u);
  for (const [, key, { wide }] of stage.seen.filter(([kind, key]) => kind === "line" && key.startsWith("around"))) widths.set(key, wide);
  const wanted = film.one.around.flatMap((rows, l) => rows.flatMap((row, i) => row.flatMap((weight, j) => (weight > 0.1 ? [[`around ${l} ${i} ${j}`, weight]] : []))));
  assert.equal(film.one.around.length, 3);
  assert.deepEqual([...widths.keys()].sort(), wanted.map(([key]) => key).sort());
  const ratios = wanted.map(([key, weight]) => widths.get(key) / weight);
  assert.ok(Math.max(...ratios) - Math.min(...ratios) < 1e-9);
});

test("a layer adds the difference of its rows, and the last scene rests on everything that passed through", () => {
  const stage = noted();
  const { one } = film;
  scenes(film, stage, shared).at(-1).draw(1);
  const strips = Object.fromEntries(stage.seen.filter(([kind]) => kind === "strip").map(([, key, { numbers }]) => [key, numbers]));
  for (const [name, states] of [["around", one.states], ["back", one.rising.map((rows) => rows.slice(0, -1))]])
    states.forEach((rows, l) => rows.forEach((row, i) => {
      close(strips[`${name} ${l} ${i}`], row);
      if (l) strips[`adds ${name} ${l - 1} ${i}`].forEach((x, k) => assert.ok(Math.abs(states[l - 1][i][k] + x - row[k]) < 1e-9));
    }));
  const texts = stage.seen.filter(([kind]) => kind === "word").map(([, , { text, opacity }]) => opacity === 1 && text);
  assert.ok(texts.includes(one.sentence) && texts.includes(one.translation));
});

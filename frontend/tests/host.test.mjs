import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { test } from "node:test";
import { transformSync } from "esbuild";
import { Model, modelsOf, same, show, start, withBuffers } from "../host/host.js";

const anywidget = (state, more = {}) => ({ model_name: "AnyModel", state, ...more });

test("a change is told once, with its value, and only when it is one", () => {
  const model = new Model({ a: 1, list: [1, 2] });
  const heard = [];
  model.on("change:a", (_model, value) => heard.push(["a", value]));
  model.on("change:list", () => heard.push(["list"]));
  model.on("change", () => heard.push(["any"]));
  model.set("a", 1);
  model.set("list", [1, 2]);
  assert.deepEqual(heard, []);
  model.set({ a: 2, list: [1] });
  assert.deepEqual(heard, [["a", 2], ["list"], ["any"]]);
  model.save_changes();
  model.send({});
});

test("off takes away one listener, one event or all", () => {
  const model = new Model({ a: 1, b: 1 });
  let count = 0;
  const listener = () => count++;
  model.on("change:a change:b", listener);
  model.on("change:a", () => (count += 10));
  model.off("change:a", listener);
  model.set("a", 2);
  assert.equal(count, 10);
  model.off("change:a");
  model.set("a", 3);
  assert.equal(count, 10);
  model.set("b", 2);
  assert.equal(count, 11);
  model.off();
  model.set("b", 3);
  assert.equal(count, 11);
});

test("a listener may remove itself or set another trait while it is told", () => {
  const model = new Model({ a: 1, b: 1 });
  const heard = [];
  const once = () => {
    model.off("change:a", once);
    model.set("b", 5);
  };
  model.on("change:a", once);
  model.on("change:a", () => heard.push(model.get("b")));
  model.set("a", 2);
  model.set("a", 3);
  assert.deepEqual(heard, [5, 5]);
});

test("bytes come back as DataViews, at any depth, from base64 and hex", () => {
  const state = withBuffers({
    state: { weights: { deep: [null, null] }, plain: 1 },
    buffers: [
      { path: ["bytes"], data: btoa("\x00\x00\x80\x3f"), encoding: "base64" },
      { path: ["weights", "deep", 1], data: "0102ff", encoding: "hex" },
    ],
  });
  assert.equal(state.bytes.getFloat32(0, true), 1);
  assert.equal(state.weights.deep[1].getUint8(2), 255);
  assert.equal(state.plain, 1);
});

test("equality is by value for JSON and for bytes", () => {
  const bytes = (...values) => new DataView(Uint8Array.from(values).buffer);
  assert.ok(same({ a: [1, null] }, { a: [1, null] }));
  assert.ok(!same([1], { 0: 1 }));
  assert.ok(same(NaN, NaN));
  assert.ok(same(bytes(1, 2), bytes(1, 2)));
  assert.ok(!same(bytes(1, 2), bytes(1, 3)));
  assert.ok(!same(bytes(1), [1]));
  assert.ok(!same(null, {}));
});

test("jslink works in both directions, jsdlink in one, and neither goes round for ever", () => {
  const link = (name, a, b) => ({ model_name: name, state: { source: [`IPY_MODEL_${a}`, "x"], target: [`IPY_MODEL_${b}`, "x"] } });
  const models = modelsOf({
    state: {
      a: anywidget({ x: [1] }), b: anywidget({ x: [2] }), c: anywidget({ x: [3] }),
      l: link("LinkModel", "a", "b"), d: link("DirectionalLinkModel", "b", "c"), lost: link("LinkModel", "a", "gone"),
    },
  });
  const x = () => ["a", "b", "c"].map((id) => models.get(id).get("x")[0]);
  assert.deepEqual(x(), [1, 1, 1]);
  models.get("b").set("x", [7]);
  assert.deepEqual(x(), [7, 7, 7]);
  models.get("c").set("x", [9]);
  assert.deepEqual(x(), [7, 7, 9]);
});

/* As much of a page as the host needs. */
function fakePage(state, boxes) {
  const made = boxes.map((model) => {
    const stills = [{ removed: false, remove() { this.removed = true; } }];
    return {
      dataset: { model }, children: [], stills, attributes: { role: "group", "aria-label": "A widget" },
      removeAttribute(name) { delete this.attributes[name]; },
      append(child) { this.children.push(child); },
      querySelectorAll: () => stills,
      getBoundingClientRect: () => ({ top: 0, bottom: 10 }),
    };
  });
  globalThis.document = { createElement: (tag) => ({ tag, remove() { this.gone = true; }, setAttribute() {} }), head: { append() {} } };
  globalThis.innerHeight = 100;
  const script = { textContent: JSON.stringify({ state }) };
  return { boxes: made, querySelector: () => script, querySelectorAll: () => made };
}

test("a page's widgets start, views of one model share it, initialize runs once a model", async () => {
  const seen = { initialized: 0, models: [] };
  const registry = {
    "x/y": { initialize: () => seen.initialized++, render: ({ model, el }) => { el.shown = model.get("v"); seen.models.push(model); } },
  };
  const page = fakePage({ w1: anywidget({ _module: "x/y", v: 4 }) }, ["w1", "w1"]);
  await start(page, registry);
  assert.deepEqual(page.boxes.map((box) => box.dataset.state), ["live", "live"]);
  assert.equal(seen.initialized, 1);
  assert.equal(seen.models[0], seen.models[1]);
  assert.equal(page.boxes[0].children[0].shown, 4);
  assert.ok(page.boxes[0].stills[0].removed);
  assert.deepEqual(page.boxes[0].attributes, {}, "the card inside is the group");
});

test("a module is also taken from its text", async () => {
  const page = fakePage({ w1: anywidget({ _esm: "export default { render({ model, el }) { el.shown = model.get('v') + 1; } }", v: 4 }) }, ["w1"]);
  const create = URL.createObjectURL; // Node cannot import a blob: URL
  URL.createObjectURL = () => "data:text/javascript,export default { render({ model, el }) { el.shown = model.get('v') + 1; } }";
  await start(page, {});
  URL.createObjectURL = create;
  assert.equal(page.boxes[0].dataset.state, "live");
  assert.equal(page.boxes[0].children[0].shown, 5);
});

test("what fails keeps its still picture and says so, and does not stop the next", async (context) => {
  context.mock.method(console, "warn", () => {});
  const registry = { bad: { render() { throw new Error("no"); } }, good: { render() {} } };
  const states = { w1: anywidget({ _module: "bad" }), w2: anywidget({ _module: "none" }), w3: anywidget({ _esm: "https://elsewhere/x.js" }), w4: anywidget({ _module: "good" }) };
  const page = fakePage(states, ["w1", "w2", "w3", "w9", "w4"]);
  await start(page, registry);
  assert.deepEqual(page.boxes.map((box) => box.dataset.state), ["failed", "failed", "failed", "failed", "live"]);
  for (const box of page.boxes.slice(0, 4)) {
    assert.ok(!box.stills[0].removed);
    assert.match(box.children.at(-1).textContent, /picture/);
  }
});

test("show waits for an asynchronous render", async () => {
  const page = fakePage({}, ["w1"]);
  let done = false;
  const registry = { slow: { render: async () => { await new Promise((go) => setTimeout(go, 5)); done = true; } } };
  await show(page.boxes[0], new Model({ _module: "slow" }), registry);
  assert.ok(done);
});

test("the host is at most 5 KB gzipped", () => {
  const source = readFileSync(fileURLToPath(new URL("../host/host.js", import.meta.url)), "utf8");
  const size = gzipSync(transformSync(source, { minify: true }).code).length;
  assert.ok(size <= 5 * 1024, `${size} bytes`);
});

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { draft } from "../src/write/drafts.js";

const ID = "masking.triangle", STUB = "def triangle(n):\n    ...";
const wait = () => new Promise((done) => setTimeout(done, 1150)); // a moment after the last key

let file, said, puts, broken;
const cells = (answer) => [{ cell_type: "markdown", source: "" }, { cell_type: "code", source: answer }, { cell_type: "code", source: `check("${ID}", triangle)` }];
const ask = async (path, method = "GET", body = undefined) => {
  if (broken) throw new Error("The server answers 507.");
  if (method === "PUT") { puts += 1; file = body.content.cells[1].source; }
  return { content: { cells: cells(file) } };
};
const told = (...words) => (said = words);
const opened = () => draft({ ask, chapter: "masking", id: ID, original: `${STUB}\n`, told });

beforeEach(() => {
  const kept = new Map();
  globalThis.localStorage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) };
  [file, said, puts, broken] = [STUB, null, 0, false];
});

test("what is written goes into the notebook, once, a moment after the last key", async () => {
  const kept = opened();
  assert.equal(await kept.load(), `${STUB}\n`);
  for (const text of ["a", "ab", "abc"]) kept.keep(text);
  await wait();
  assert.deepEqual([file, puts], ["abc", 1]);
  assert.equal(await opened().load(), "abc");
});

test("what was changed in the notebook alone is shown; what was changed here alone is written", async () => {
  file = "theirs";
  assert.equal(await opened().load(), "theirs");
  const kept = opened();
  broken = true;
  kept.keep("mine");
  await wait();
  assert.match(said[0], /kept in this browser only/);
  broken = false;
  assert.equal(await opened().load(), "mine");
  await wait();
  assert.equal(file, "mine");
});

test("where both were changed, both are there until the reader has chosen", async () => {
  const kept = opened();
  await kept.load();
  file = "theirs";
  kept.keep("mine");
  await wait();
  assert.deepEqual([file, said[1].map(([, text]) => text)], ["theirs", ["theirs", "mine"]]);
  said = null;
  assert.equal(await opened().load(), "mine", "also after the page is loaded again");
  assert.equal(said[1].length, 2);
  await kept.settle("mine");
  await wait();
  assert.equal(file, "mine");
});

test("without storage the notebook remembers, without the notebook the browser does", async () => {
  globalThis.localStorage = { getItem() { throw new Error(); }, setItem() { throw new Error(); } };
  const kept = opened();
  await kept.load();
  kept.keep("mine");
  await wait();
  assert.equal(await opened().load(), "mine");
});

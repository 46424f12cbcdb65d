import assert from "node:assert/strict";
import test from "node:test";
import { beside } from "../src/write/beside.js";

const SOLUTION = "def f(n):\n    p = arange(n)\n    return p <= p[:, None]\n";
const only = (kind, rows) => rows.filter(([each]) => each === kind).map(([, line]) => line);

test("lines of both stand once, in order, and those of one have its name", () => {
  const written = "def f(n):\n    return p < p[:, None]   \n";
  const rows = beside(written, SOLUTION);
  assert.deepEqual(rows.map(([kind]) => kind), ["same", "written", "solution", "solution"]);
  assert.deepEqual(only("written", rows), ["    return p < p[:, None]"]);
});

test("either text can be read back, whatever they share", () => {
  for (const written of ["", "x", SOLUTION, `import math\n\n${SOLUTION}\n# end`, SOLUTION.split("\n").reverse().join("\n")]) {
    const rows = beside(written, SOLUTION);
    const back = (kind) => rows.filter(([each]) => each === "same" || each === kind).map(([, line]) => line).join("\n");
    assert.equal(back("written"), written.trim().split("\n").map((line) => line.trimEnd()).join("\n"));
    assert.equal(back("solution"), SOLUTION.trim());
  }
});

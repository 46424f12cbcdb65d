/* golden("masking"): the numbers that tfm_lib wrote for that chapter (pytest tests/widgets/test_frontend.py writes them). */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

export const golden = (stem) => JSON.parse(readFileSync(new URL(`golden/${stem}.json`, import.meta.url), "utf8"));

/* Nested arrays of numbers, equal up to `tolerance`. */
export function close(actual, expected, tolerance = 1e-9, at = "") {
  if (!Array.isArray(expected)) return assert.ok(Math.abs(actual - expected) <= tolerance, `${at}: ${actual} is not ${expected}`);
  assert.equal(actual.length, expected.length, `${at}: ${actual.length} entries, not ${expected.length}`);
  expected.forEach((value, i) => close(actual[i], value, tolerance, `${at}[${i}]`));
}

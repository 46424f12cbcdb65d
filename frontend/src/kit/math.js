/* Pure mathematics; no DOM, so that tests run it in node against numbers that tfm_lib wrote.
   softmax(scores, allowed?)     weights; a score of −∞ or a false in `allowed` gives exactly 0; nothing allowed gives NaN
   entropy(p)                    in nats
   dot(a, b), norm(a), mean(xs), variance(xs)  (of the population)
   transpose(A)                  nested arrays
   linspace(a, b, n), logspace(a, b, n), range(n), clamp(x, lo, hi)
   below(n)                      whether a value is an index into a list of length n; n is a number or a function without arguments
   fixed(2)(x), signed(1)(x)     formatters with a true minus sign; general(x) for 0.0012, 12.3, 4.5e+9              */

import { WORDS } from "./words.js";

export const range = (n) => Array.from({ length: n }, (_, i) => i);
export const below = (n) => (i) => Number.isInteger(i) && i >= 0 && i < (typeof n === "function" ? n() : n);
export const clamp = (x, lo, hi) => Math.min(hi, Math.max(lo, x));
export const linspace = (a, b, n) => range(n).map((i) => a + ((b - a) * i) / (n - 1));
export const logspace = (a, b, n) => linspace(Math.log(a), Math.log(b), n).map(Math.exp);

export const sum = (xs) => xs.reduce((total, x) => total + x, 0);
export const mean = (xs) => sum(xs) / xs.length;
export const variance = (xs) => mean(xs.map((x) => x * x)) - mean(xs) ** 2;
export const dot = (a, b) => a.reduce((total, x, i) => total + x * b[i], 0);
export const norm = (a) => Math.sqrt(dot(a, a));
export const transpose = (A) => A[0].map((_, j) => A.map((row) => row[j]));

export function softmax(scores, allowed) {
  const seen = scores.map((score, j) => (!allowed || allowed[j] ? score : -Infinity));
  const top = Math.max(...seen);
  if (top === -Infinity) return seen.map(() => NaN);
  const powers = seen.map((score) => Math.exp(score - top));
  const total = sum(powers);
  return powers.map((power) => power / total);
}

export const entropy = (p) => -sum(p.map((x) => (x > 0 ? x * Math.log(x) : 0)));

const minus = (text) => text.replace("-", "−").replace(/^−(0\.?0*)$/, "$1");
const written = (digits) => (x) => (Number.isFinite(x) ? minus(digits(x)) : Number.isNaN(x) ? WORDS.nothing : x > 0 ? "∞" : "−∞");
export const fixed = (digits) => written((x) => x.toFixed(digits));
export const signed = (digits) => (x) => (x > 0 ? "+" : "") + fixed(digits)(x);
export const general = written((x) => {
  const size = Math.abs(x);
  if (size && (size < 1e-3 || size >= 1e5)) {
    const [digits, power] = x.toExponential(1).replace(".0", "").split("e");
    return `${digits === "1" ? "" : `${digits}·`}10${String(+power).replace(/./g, (c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻")}`;
  }
  return String(+x.toPrecision(3)).replace(/^(-?\d+)(\d{3})$/, "$1,$2");
});

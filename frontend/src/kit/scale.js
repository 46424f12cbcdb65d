/* Scales: data → pixels and back.
   scale([0, 1], [40, 300])            linear; scale([1, 1024], [40, 300], true) logarithmic
   .invert(pixel), .ticks(count)       round numbers (powers of ten where the axis is logarithmic)
   ramp(node, t)                       colours a mark between weight 0 and weight 1 (CSS mixes --tfm-w0 and --tfm-w1) */

import { ticks } from "d3-array";
import { clamp } from "./math.js";

export function scale([a, b], [p, q], log = false) {
  const f = log ? Math.log : Number;
  const g = log ? Math.exp : Number;
  const slope = (q - p) / (f(b) - f(a) || 1);
  const to = (x) => p + (f(x) - f(a)) * slope;
  to.invert = (pixel) => g(f(a) + (pixel - p) / slope);
  to.ticks = (count = 5) => (log ? powers(a, b, count) : ticks(a, b, count));
  to.domain = [a, b];
  return to;
}

function powers(a, b, count) {
  const [first, last] = [Math.ceil(Math.log10(a) - 1e-9), Math.floor(Math.log10(b) + 1e-9)];
  if (last <= first) return ticks(a, b, count); // less than a decade
  return ticks(first, last, count).filter(Number.isInteger).map((power) => 10 ** power);
}

export const ramp = (node, t) => node.style.setProperty("--w", clamp(t || 0, 0, 1).toFixed(3));

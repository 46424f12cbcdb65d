/* The kit: what the book's widgets share. Read the comment at the top of each file for its part of the surface. */
export { card } from "./card.js";
export { sub } from "./controls.js";
export { asRead, h, indexed, many, onWidth, s, set, short, told, uid, widthOf, write } from "./dom.js";
export { heatmap, legend, stripes } from "./heatmap.js";
export { lazy, twinFor } from "./lazy.js";
export { plot } from "./plot.js";
export { switches } from "./switches.js";
export { links, radios, tokenRow } from "./tokens.js";
export { ramp, scale } from "./scale.js";
export * from "./math.js";
export { WORDS } from "./words.js";

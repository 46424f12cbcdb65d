/* The kit: code shared by the book's widgets. The comment at the top of each file describes its interface. */
export { asRead } from "./as_read.js";
export { card } from "./card.js";
export { fold, sub } from "./controls.js";
export { h, indexed, many, morph, onWidth, renew, retext, s, set, short, told, uid, widthOf, write } from "./dom.js";
export { refuse } from "./link.js";
export { heatmap, legend } from "./heatmap.js";
export { lazy, megabytes, storyteller, twinFor } from "./lazy.js";
export { arriving, live } from "./live.js";
export { player } from "./player.js";
export { plot } from "./plot.js";
export { links, radios, tokenRow, typed } from "./tokens.js";
export { ramp, scale } from "./scale.js";
export * from "./math.js";
export { WORDS } from "./words.js";

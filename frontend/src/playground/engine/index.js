/* The playground's engine: machines that learn in a page. */

export { Adam } from "./adam.js";
export { bytesOf } from "./file.js";
export { Doubles, Space } from "./space.js";
export * as tasks from "./tasks.js";
export { Tape } from "./tape.js";
export { made, SETTINGS, Training } from "./training.js";
export { default as kernel } from "./kernel.wat";

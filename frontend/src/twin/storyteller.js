/* The decoder that a page loads on request, as globalThis.tfmStoryteller: open({ config, bytes }) → a Writer (writer.js). */

import kernel from "./kernel.wat";
import { Writer } from "./writer.js";

export const open = (files) => new Writer(files, kernel);

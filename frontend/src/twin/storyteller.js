/* The decoder that a page loads on request, as globalThis.tfmStoryteller.

   shipped(lazy, damaged, onProgress, stage)   the files of one of the four shipped stages, see files.js
   open({ config, bytes })                     a Writer, see writer.js                                   */

import { files } from "./files.js";
import kernel from "./kernel.wat";
import { Writer } from "./writer.js";

const MODELS = "stories"; // a folder for each stage

export const shipped = (lazy, damaged, onProgress, stage) => files(`${MODELS}/${stage}`, lazy, damaged, onProgress);
export const open = (files) => new Writer(files, kernel);

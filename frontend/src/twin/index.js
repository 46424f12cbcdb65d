/* The translator that a page loads on request, as globalThis.tfmTwin. The kit is passed to it.

   shipped(lazy, damaged, onProgress)   the files of the shipped model, see files.js
   start(files)                → { ask(request, onGrown) → the result, or null if this widget has made a newer request };
                               the model is started once for all callers with the same files
   broken, switches, tree      parts of a live translator: names that are off, their switches, the tree of a beam
   compared(a, b)              the words of two translations, each with whether the other lacks it                          */

import code from "twin-worker"; // worker.js as text, which defines tfmTwinWorker
import { files } from "./files.js";

export { compared } from "./differing.js";
export { switches } from "./switches.js";
export { tree } from "./tree.js";

const MODEL = "en-fr";
const PARTS = ["positions", "scale", "causal", "cross", "residuals"];

export function broken(names) {
  const parts = PARTS.map((part) => [part, names.includes(part)]);
  const [layers, heads] = [2, 4].map((depth) => new Set(names.filter((name) => name.split(".").length === depth)));
  return { ...Object.fromEntries(parts), layers, heads };
}

export const shipped = (lazy, damaged, onProgress) => files(MODEL, lazy, damaged, onProgress);

const machines = new WeakMap(); // by their files
let count = 0;
export async function start(files) {
  if (!machines.has(files)) machines.set(files, opened(files));
  const { tell, hearers } = await machines.get(files);
  const who = ++count;
  let waiting;
  let serial = 0;
  hearers.set(who, ({ id, grown, found, error }) => {
    if (id !== waiting?.id) return;
    if (grown) return waiting.onGrown?.(grown);
    const { resolve, reject } = waiting;
    waiting = null;
    if (error) reject(new Error(error));
    else resolve(found);
  });
  return {
    ask: (request, onGrown) => new Promise((resolve, reject) => {
      waiting?.resolve(null);
      waiting = { id: ++serial, resolve, reject, onGrown };
      tell({ ...request, who, id: serial });
    }),
  };
}

async function opened(files) {
  const hearers = new Map();
  const hear = (message) => hearers.get(message.who)(message);
  const tell = await inWorker(files, hear).catch(async () => (await besidePage()).open(files, hear));
  return { tell, hearers };
}

/* A page opened from a folder can start a worker only from a text that it holds; and no page of the book may evaluate a text. */
const address = () => URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
function besidePage() {
  return new Promise((resolve, reject) => {
    const script = Object.assign(document.createElement("script"), { src: address(), onerror: reject });
    script.onload = () => resolve(globalThis.tfmTwinWorker);
    document.head.append(script);
  });
}

function inWorker(files, hear) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(address());
    worker.onerror = (event) => reject(event);
    worker.onmessage = ({ data }) => {
      if (data.failed) reject(new Error(data.failed));
      else if (data.ready) resolve((request) => worker.postMessage(request));
      else hear(data);
    };
    worker.postMessage(files);
  });
}

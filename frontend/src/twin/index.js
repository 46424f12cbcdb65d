/* What a page loads on the reader's wish, as globalThis.tfmTwin. It needs the kit, and is given it.

   shipped(lazy, onProgress)   the files of the shipped model, from scripts that lie beside this one; `lazy` loads one
   start(files)                → { ask(request, onGrown) → what Translator.translate found, or null if a newer one came }
   switches, tree              what a live translator shows: switches.js, tree.js                                       */

import code from "twin-worker"; // worker.js as text, which defines tfmTwinWorker

export { tree } from "./tree.js";

const MODEL = "en-fr";
const PARTS = ["positions", "scale", "causal", "cross", "residuals"];

export function broken(names) {
  const parts = PARTS.map((part) => [part, names.includes(part)]);
  const [layers, heads] = [2, 4].map((depth) => new Set(names.filter((name) => name.split(".").length === depth)));
  return { ...Object.fromEntries(parts), layers, heads };
}

export function shipped(lazy, onProgress) {
  globalThis.tfmModel ??= fetched(lazy, onProgress).catch((error) => {
    delete globalThis.tfmModel; // it may be tried again
    throw error;
  });
  return globalThis.tfmModel;
}

/* Each script hands over its part: the first says what there is, the others hold the weights. */
async function fetched(lazy, onProgress) {
  let part;
  globalThis.tfmPart = (given) => (part = given);
  const load = async (name) => (await lazy(`${MODEL}/${name}.js`), part);
  const { parts, size, ...files } = await load("about");
  const bytes = new Uint8Array(size);
  let at = 0;
  for (let i = 0; i < parts; i++) {
    const text = atob(await load(String(i)));
    for (let k = 0; k < text.length; k++) bytes[at + k] = text.charCodeAt(k);
    at += text.length;
    onProgress(at / size);
  }
  if (at !== size) throw new Error(`The model's file has ${at} bytes of ${size}.`);
  return { ...files, bytes };
}

export async function start(files) {
  let waiting;
  let serial = 0;
  const hear = ({ id, grown, found, error }) => {
    if (id !== waiting?.id) return;
    if (grown) return waiting.onGrown?.(grown);
    const { resolve, reject } = waiting;
    waiting = null;
    if (error) reject(new Error(error));
    else resolve(found);
  };
  const tell = await inWorker(files, hear).catch(() => globalThis.eval(`${code};tfmTwinWorker`).open(files, hear));
  return {
    ask: (request, onGrown) => new Promise((resolve, reject) => {
      waiting?.resolve(null);
      waiting = { id: ++serial, resolve, reject, onGrown };
      tell({ ...request, id: serial });
    }),
  };
}

/* A page from a folder may start a worker only from text that it holds. */
function inWorker(files, hear) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
    worker.onerror = (event) => reject(event);
    worker.onmessage = ({ data }) => {
      if (data.failed) reject(new Error(data.failed));
      else if (data.ready) resolve((request) => worker.postMessage(request));
      else hear(data);
    };
    worker.postMessage(files);
  });
}

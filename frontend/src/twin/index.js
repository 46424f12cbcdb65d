/* The translator that a page loads on request, as globalThis.tfmTwin. The kit is passed to it.

   shipped(lazy, damaged, onProgress)   the files of the shipped model, from scripts in the same folder; `lazy` loads one,
                               damaged(path) gives the message for a file that differs from the build's
   start(files)                → { ask(request, onGrown) → the result, or null if this widget has made a newer request };
                               the model is started once for all callers with the same files
   broken, switches, tree      parts of a live translator: names that are off, their switches, the tree of a beam
   compared(a, b)              the words of two translations, each with whether the other lacks it                          */

import code from "twin-worker"; // worker.js as text, which defines tfmTwinWorker

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

const hearers = new Set();
export function shipped(lazy, damaged, onProgress) {
  hearers.add(onProgress);
  globalThis.tfmModel ??= fetched(lazy, damaged, (share) => hearers.forEach((hear) => hear(share)))
    .catch((error) => {
      delete globalThis.tfmModel; // it may be tried again
      throw error;
    })
    .finally(() => hearers.clear());
  return globalThis.tfmModel;
}

/* Each script delivers its part: the first the list of parts, the others the weights. Complete parts are kept if another fails. */
const come = new Map();
async function fetched(lazy, damaged, onProgress) {
  const load = async (name, made) => {
    const path = `${MODEL}/${name}.js`;
    let part;
    globalThis.tfmPart = (given) => (part = given);
    await lazy(path, () => {
      const whole = made(part);
      if (!whole) throw new Error(damaged(path));
      come.set(name, whole);
    });
    return come.get(name);
  };
  const { sums, size, ...files } = await load("about", (about) => about?.sums && about);
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const [i, sum] of sums.entries()) {
    const part = await load(String(i), (text) => decoded(text, sum));
    bytes.set(part, at);
    at += part.length;
    onProgress(at / size);
  }
  come.clear();
  return { ...files, bytes };
}

/* The bytes of a part, or null if they differ from the build's. */
function decoded(text, sum) {
  try {
    const letters = atob(text);
    const bytes = new Uint8Array(letters.length);
    for (let k = 0; k < letters.length; k++) bytes[k] = letters.charCodeAt(k);
    return crc32(bytes) === sum ? bytes : null;
  } catch {
    return null;
  }
}

const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});
export function crc32(bytes) {
  let sum = -1;
  for (const byte of bytes) sum = CRC[(sum ^ byte) & 255] ^ (sum >>> 8);
  return ~sum >>> 0;
}

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

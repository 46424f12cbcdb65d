/* Fetch the files of a shipped model, from scripts in the folder of the widgets.

   files(model, lazy, damaged, onProgress)   → { config, …, bytes } of `model`, a folder: "en-fr". `lazy` loads a script, damaged(path)
                               gives the message for one that differs from the build's. A page fetches a model once, whoever asks */

const coming = (globalThis.tfmModels ??= {}); // by their folders; the bundles of a page share them
const hearers = {};

export function files(model, lazy, damaged, onProgress) {
  (hearers[model] ??= new Set()).add(onProgress);
  coming[model] ??= inTurn(() => fetched(model, lazy, damaged, (share) => hearers[model].forEach((hear) => hear(share))))
    .catch((error) => {
      delete coming[model]; // it may be tried again
      throw error;
    })
    .finally(() => hearers[model].clear());
  return coming[model];
}

/* One model after another, since all their scripts call tfmPart. */
function inTurn(load) {
  const made = Promise.resolve(globalThis.tfmTurn).then(load);
  globalThis.tfmTurn = made.catch(() => {});
  return made;
}

/* Each script delivers its part: the first the list of parts, the others the weights. Complete parts are kept if another fails. */
const come = new Map();
async function fetched(model, lazy, damaged, onProgress) {
  const load = async (name, made) => {
    const path = `${model}/${name}.js`;
    let part;
    globalThis.tfmPart = (given) => (part = given);
    await lazy(path, () => {
      const whole = made(part);
      if (!whole) throw new Error(damaged(path));
      come.set(path, whole);
    });
    return come.get(path);
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

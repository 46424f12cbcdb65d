/* lazy("twin.js", check)  loads a script from the kit's folder, once; from a server or a local folder. If it cannot be
                         loaded, or `check` throws because it is damaged, the next call fetches it again
   megabytes(size)       download size
   twinFor(ui, onShare)  the model of a widget: its code and files, in a page from scripts, in Jupyter from the kernel,
                         which sends them in the trait `files` when `wanted` is set                              */

import { told } from "./dom.js";
import { WORDS } from "./words.js";

const PATIENCE = 20_000; // milliseconds to wait for a kernel
const base = globalThis.document?.currentScript?.src;
const loaded = new Map();
const tries = new Map();

export function lazy(path, check = () => {}) {
  if (!base) return Promise.reject(new Error("There is no folder to load from."));
  if (!loaded.has(path)) {
    const coming = fetched(path).then(check);
    loaded.set(path, coming);
    coming.catch(() => {
      loaded.delete(path);
      tries.set(path, (tries.get(path) ?? 0) + 1);
    });
  }
  return loaded.get(path);
}

/* Download size in megabytes of a model: a page loads it as text, six bits per letter. */
export const megabytes = (size) => (globalThis.tfmKit ? Math.round((size * 8) / 6) : size);

/* After a failure, fetch under another address, or the browser would return its cached copy. */
function fetched(path) {
  return new Promise((resolve, reject) => {
    const again = tries.get(path);
    const script = document.createElement("script");
    script.src = new URL(again ? `${path}?${again}` : path, base).href;
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${path} could not be loaded.`));
    document.head.append(script);
  });
}

export async function twinFor(ui, onShare) {
  if (!globalThis.tfmKit) return fromKernel(ui);
  const damaged = (path) => told(WORDS.damaged, { path });
  await lazy("twin.js", () => {
    if (!globalThis.tfmTwin) throw new Error(damaged("twin.js"));
  });
  return [globalThis.tfmTwin, await globalThis.tfmTwin.shipped(lazy, damaged, onShare)];
}

/* Clear the received files at once: a saved notebook must not contain them. */
function fromKernel(ui) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      ui.set({ wanted: false });
      reject(new Error(WORDS.silent));
    }, PATIENCE);
    ui.on("files", () => {
      const { twin, bytes, ...files } = ui.get("files");
      if (!twin) return;
      clearTimeout(late);
      if (!globalThis.tfmTwin) (0, globalThis.eval)(twin);
      resolve([globalThis.tfmTwin, { ...files, bytes: new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength).slice() }]);
      ui.set({ wanted: false, files: {} });
    });
    ui.set({ wanted: true });
  });
}

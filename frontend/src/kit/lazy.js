/* lazy("twin.js") loads a script that lies beside the kit's, once; from a server or from a folder.
   twinFor(ui, onShare)  the machine of a widget: its code and files, in a page from scripts, in Jupyter from the kernel,
                         which hands them over in the trait `files` when `wanted` is set                              */

import { WORDS } from "./words.js";

const PATIENCE = 20_000; // milliseconds that a kernel has
const base = globalThis.document?.currentScript?.src;
const loaded = new Map();

export function lazy(path) {
  if (!base) return Promise.reject(new Error("This page has no folder of its own to load from."));
  if (!loaded.has(path)) {
    loaded.set(path, new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = new URL(path, base).href;
      script.onload = resolve;
      script.onerror = () => {
        loaded.delete(path); // it may be tried again
        reject(new Error(`${path} could not be loaded.`));
      };
      document.head.append(script);
    }));
  }
  return loaded.get(path);
}

export async function twinFor(ui, onShare) {
  if (!globalThis.tfmKit) return fromKernel(ui);
  await lazy("twin.js");
  return [globalThis.tfmTwin, await globalThis.tfmTwin.shipped(lazy, onShare)];
}

/* What has come is let go at once: a saved notebook must not carry it. */
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

/* lazy("twin.js", check)  loads a script from the kit's folder, once; from a server or a local folder. If it cannot be
                         loaded, or `check` throws because it is damaged, the next call fetches it again
   megabytes(size)       download size
   twinFor(ui, onShare)  the translator of a widget: its code and files, in a page from scripts, in Jupyter from the kernel,
                         which sends them in the trait `files` when `wanted` is set
   storyteller(ui, onShare, stage)   the same of the writer of stories, whose `wanted` is one of its stages       */

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

export const twinFor = (ui, onShare) => modelFor(ui, onShare, "twin.js", "tfmTwin", true);
export const storyteller = (ui, onShare, stage) => modelFor(ui, onShare, "storyteller.js", "tfmStoryteller", stage);

async function modelFor(ui, onShare, script, api, which) {
  if (!globalThis.tfmKit) return fromKernel(ui, api, which);
  const damaged = (path) => told(WORDS.damaged, { path });
  await lazy(script, () => {
    if (!globalThis[api]) throw new Error(damaged(script));
  });
  return [globalThis[api], await globalThis[api].shipped(lazy, damaged, onShare, which)];
}

/* Clear the received files at once: a saved notebook must not contain them. */
function fromKernel(ui, api, which) {
  return new Promise((resolve, reject) => {
    const end = (found) => {
      clearTimeout(late);
      ui.model.off("change:files", take);
      ui.set({ wanted: typeof which === "string" ? "" : false, ...found });
    };
    const late = setTimeout(() => {
      end();
      reject(new Error(WORDS.silent));
    }, PATIENCE);
    const take = () => {
      const { twin, bytes, error, ...files } = ui.get("files");
      if (!twin && !error) return;
      if (twin && !globalThis[api]) (0, globalThis.eval)(twin);
      if (error) reject(new Error(error));
      else resolve([globalThis[api], { ...files, bytes: new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength).slice() }]);
      end({ files: {} });
    };
    ui.model.on("change:files", take);
    ui.set({ wanted: which });
  });
}

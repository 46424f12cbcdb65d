/* lazy("twin.js") loads a script that lies beside the kit's, once; from a server or from a folder.
   twinFor(ui, onShare)  the machine of a widget: its code and files, in a page from scripts, in Jupyter from the kernel,
                         which hands them over in the trait `files` when `wanted` is set                              */

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

function fromKernel(ui) {
  return new Promise((resolve) => {
    ui.on("files", () => {
      const files = ui.get("files");
      if (!globalThis.tfmTwin) (0, globalThis.eval)(files.twin);
      const { buffer, byteOffset, byteLength } = files.bytes;
      resolve([globalThis.tfmTwin, { ...files, bytes: new Uint8Array(buffer, byteOffset, byteLength) }]);
    });
    ui.set({ wanted: true });
  });
}

/* lazy("twin.js") loads a script that lies beside the kit's, once; from a server or from a folder. */

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

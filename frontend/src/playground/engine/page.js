/* What a page loads on its reader's wish, as globalThis.tfmPlayground: open(hear) starts a worker and returns { tell, close }.
   The worker's messages are in worker.js; SETTINGS are the default. */

import code from "playground-worker"; // worker.js as text: a page from a folder may start a worker only from that

export { SETTINGS } from "./training.js";

export function open(hear) {
  const worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  worker.onmessage = ({ data }) => hear(data);
  worker.onerror = ({ message }) => hear({ failed: message });
  return { tell: (message) => worker.postMessage(message), close: () => worker.terminate() };
}

/* Entry point of the translator's worker: open(files, post) serves it, and in a worker the first message brings the files. */

import kernel from "./kernel.wat";
import { serve } from "./serve.js";
import { Translator } from "./translator.js";

export const open = (files, post) => serve(new Translator(files, kernel), post);

if (typeof document === "undefined") {
  let answer;
  const post = (message) => globalThis.postMessage(message);
  globalThis.onmessage = ({ data }) => {
    try {
      if (answer) return void answer(data);
      answer = open(data, post);
      post({ ready: true });
    } catch (error) {
      post({ failed: String(error.message ?? error) });
    }
  };
}

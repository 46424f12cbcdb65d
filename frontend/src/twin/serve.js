/* Serve one translator to all widgets of a page, in a worker or in the page. For each widget, `who`, only the newest request counts,
   an older one is dropped. A request asks for a translation, or for the view that `do` names.
   serve(translator, post) → (request) => …; post gets { who, id, grown }, then { who, id, found } or { who, id, error }       */

import { pause } from "./pause.js";
import { view } from "./views.js";

export function serve(translator, post) {
  const newest = new Map();
  return async ({ who, id, ...request }) => {
    newest.set(who, id);
    try {
      const going = request.do ? view(translator, request) : translator.translate(request.sentence, request.how, request.broken);
      for (let step = going.next(); ; step = going.next()) {
        post(step.done ? { who, id, found: step.value } : { who, id, grown: step.value });
        if (step.done) return;
        await pause(); // handle messages that have arrived meanwhile
        if (newest.get(who) !== id) return;
      }
    } catch (error) {
      post({ who, id, error: String(error.message ?? error) });
    }
  };
}

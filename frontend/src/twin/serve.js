/* One translator at work for a page, in a worker or beside it: the newest request counts, an older one is dropped.
   serve(translator, post) → (request) => …; post gets { id, grown }, then { id, found } or { id, error }               */

const pause = () => new Promise((go) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => (port1.close(), go());
  port2.postMessage(0);
});

export function serve(translator, post) {
  let newest;
  return async ({ id, sentence, how, broken }) => {
    newest = id;
    try {
      const going = translator.translate(sentence, how, broken);
      for (let step = going.next(); ; step = going.next()) {
        post(step.done ? { id, found: step.value } : { id, grown: step.value });
        if (step.done) return;
        await pause(); // what else has come is heard first
        if (newest !== id) return;
      }
    } catch (error) {
      post({ id, error: String(error.message ?? error) });
    }
  };
}

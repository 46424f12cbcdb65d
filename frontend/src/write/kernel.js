/* Where a kernel comes from: the Jupyter server that serves the page. PyTorch compiled for the browser would need a second
   function with what `local` returns; none is in the registries from which this book is made. */
import { KernelConnection } from "@jupyterlab/services/lib/kernel/default.js";

const AT_ONCE = 2; // chapters that keep a kernel; each holds PyTorch
const SECONDS = 14; // that an answer may run; its check ends a loop in it after ten, with a better sentence
const GRACE = 2000; // milliseconds after an interrupt

/* A kernel for `chapter`, in which `setup` has been run; `ask` and `settings` are the server's. */
export async function local({ ask, settings }, chapter, setup) {
  const path = `${chapter}.page`;
  const others = (await ask("api/sessions")).filter((session) => session.path.endsWith(".page") && session.path !== path);
  others.sort((a, b) => a.kernel.last_activity.localeCompare(b.kernel.last_activity));
  for (const session of others.slice(0, Math.max(0, others.length - AT_ONCE + 1))) await ask(`api/sessions/${session.id}`, "DELETE");
  const session = await ask("api/sessions", "POST", { path, name: chapter, type: "page", kernel: { name: "python3" } });
  const connection = new KernelConnection({ model: session.kernel, serverSettings: settings });
  let running = null; // what is being run, and how to give it up
  const ready = async () => {
    if ((await run({ code: setup, silent: true })) === "error") throw new Error("What the chapter imports cannot be imported.");
  };

  /* Run `code`; `hear` is given each output as it comes. Resolves with "ok", "error" or "stopped". */
  async function run({ code, silent = false, seconds = Infinity, hear = () => {} }) {
    const future = connection.requestExecute({ code, silent, store_history: !silent, stop_on_error: true });
    const ended = future.done.then(({ content }) => content.status, () => "stopped");
    let clock;
    future.onIOPub = ({ header: { msg_type: kind }, content }) => {
      if (kind === "status" && content.execution_state === "busy" && seconds < Infinity) clock = setTimeout(() => end(), seconds * 1000);
      if (["stream", "execute_result", "display_data", "error"].includes(kind)) hear(kind, content);
    };
    const overtaken = new Promise((resolve) => (running = { ended, give_up: () => resolve("stopped") }));
    connection.statusChanged.connect(notice);
    try {
      return await Promise.race([ended, overtaken]);
    } finally {
      clearTimeout(clock);
      connection.statusChanged.disconnect(notice);
      running = null;
    }
  }

  function notice(_, status) { // a kernel that died answers nothing more
    if (["dead", "restarting", "autorestarting"].includes(status)) running?.give_up();
  }

  /* Interrupt what runs; what does not end by that is ended with its kernel. */
  async function end() {
    const own = running;
    if (!own) return;
    await ask(`api/kernels/${session.kernel.id}/interrupt`, "POST");
    const late = await Promise.race([own.ended, new Promise((resolve) => setTimeout(resolve, GRACE, "late"))]);
    if (late !== "late" || own !== running) return;
    own.give_up();
    await restart();
  }

  async function restart() {
    running?.give_up();
    await connection.restart();
    await ready();
  }

  await connection.info;
  await ready();
  return { run, end, restart, seconds: SECONDS, complete: (code, at) => connection.requestComplete({ code, cursor_pos: at }) };
}

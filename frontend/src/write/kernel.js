/* Where a kernel comes from: the Jupyter server that serves the page. PyTorch compiled for the browser would need a second
   function with what `local` returns; none is in the registries from which this book is made. */
import { KernelConnection } from "@jupyterlab/services/lib/kernel/default.js";

const AT_ONCE = 2; // chapters that keep a kernel; each holds PyTorch
const SECONDS = 14; // that an answer may run; its check ends a loop in it after ten, with a better sentence
const PATIENT = 60; // seconds for which what another page runs is waited for, such as its import of PyTorch
const SILENCE = 8000; // milliseconds without a connection, after which it is told
const GRACE = 2000; // milliseconds after an interrupt

/* A kernel for `chapter`, in which `setup` has been run; `ask` and `settings` are the server's. */
export async function local({ ask, settings }, chapter, setup) {
  const path = `${chapter}.page`;
  const others = (await ask("api/sessions")).filter((session) => session.path.endsWith(".page") && session.path !== path);
  others.sort((a, b) => a.kernel.last_activity.localeCompare(b.kernel.last_activity));
  for (const session of others.slice(0, Math.max(0, others.length - AT_ONCE + 1))) await ask(`api/sessions/${session.id}`, "DELETE");
  const session = await ask("api/sessions", "POST", { path, name: chapter, type: "page", kernel: { name: "python3" } });
  const answers = () => ask(`api/kernels/${session.kernel.id}`).then(({ execution_state: state }) => state !== "busy");
  for (let waited = 0; !(await answers()); waited += 1) { // an answer of another page is being run, or was left running
    if (waited < PATIENT) await new Promise((resolve) => setTimeout(resolve, 1000));
    else await ask(`api/kernels/${session.kernel.id}/restart`, "POST");
  }
  const connection = new KernelConnection({ model: session.kernel, serverSettings: settings });
  let [running, prepared, lost] = [null, false, null]; // what is being run; whether `setup` has been; why nothing can be
  const give_up = (outcome) => running?.give_up(outcome);
  const interrupt = () => ask(`api/kernels/${session.kernel.id}/interrupt`, "POST", undefined, true); // sent also by a page that goes
  addEventListener("pagehide", () => running?.limited && interrupt()); // an endless loop does not outlive its page
  connection.statusChanged.connect((_, status) => { // a kernel that died answers nothing more; another may take its place
    if (!["dead", "restarting", "autorestarting"].includes(status)) return;
    prepared = false;
    if (status === "dead") lost = "Python has ended.";
    give_up("ended");
  });
  let silence;
  connection.connectionStatusChanged.connect((_, status) => {
    clearTimeout(silence);
    if (status === "connected") return;
    silence = setTimeout(() => { lost = "the connection is lost."; give_up("lost"); }, SILENCE);
  });

  async function prepare() {
    prepared = true;
    if ((await execute({ code: setup, silent: true })) !== "error") return;
    prepared = false;
    throw new Error("What the chapter imports cannot be imported.");
  }

  /* Run `code`; `hear` is given each output as it comes. `names` are forgotten before, so that no earlier answer is judged.
     Resolves with "ok", "error", "stopped", "ended" or "lost". */
  async function run({ names = [], ...what }) {
    if (!prepared) await prepare();
    const forgotten = names.length ? await execute({ code: `[globals().pop(name, None) for name in ${JSON.stringify(names)}]`, silent: true }) : "ok";
    if (forgotten === "error") return "stopped"; // it was stopped that early
    return forgotten === "ok" ? execute(what) : forgotten;
  }

  /* What waits behind a request that is interrupted, such as one of a page that has gone, is aborted: it is asked again. */
  async function execute(what, tries = 3) {
    const ended = await request(what);
    return ended === "aborted" && tries > 1 ? execute(what, tries - 1) : ended;
  }

  async function request({ code, silent = false, seconds = Infinity, hear = () => {} }) {
    const future = connection.requestExecute({ code, silent, store_history: !silent, stop_on_error: true, allow_stdin: false });
    const ended = future.done.then(({ content }) => content.status, () => "stopped");
    let clock;
    future.onIOPub = ({ header: { msg_type: kind }, content }) => {
      if (kind === "status" && content.execution_state === "busy" && seconds < Infinity) clock = setTimeout(end, seconds * 1000);
      if (["stream", "execute_result", "display_data", "error"].includes(kind)) hear(kind, content);
    };
    const given_up = new Promise((resolve) => (running = { ended, give_up: resolve, limited: seconds < Infinity }));
    try {
      return await Promise.race([ended, given_up]);
    } finally {
      clearTimeout(clock);
      running = null;
    }
  }

  /* Interrupt what runs; what does not end by that is ended with its kernel. */
  async function end() {
    const own = running;
    if (!own) return;
    await interrupt();
    const late = await Promise.race([own.ended, new Promise((resolve) => setTimeout(resolve, GRACE, "late"))]);
    if (late === "late" && own === running) await restart();
  }

  async function restart() {
    give_up("stopped");
    await connection.restart();
    await prepare();
  }

  /* Whether it has ended, as when another chapter's has taken its place: the connection may not tell. */
  const gone = () => ask(`api/kernels/${session.kernel.id}`).then(() => lost !== null, () => true);

  await connection.info;
  await prepare();
  const completed = async (code, at) => (await connection.requestComplete({ code, cursor_pos: at })).content;
  async function complete(code, at) {
    const found = await completed(code, at);
    const method = /[\w)\]]\.(\w*)$/.exec(code.slice(0, at))?.[1];
    if (found.matches.length || method === undefined) return found;
    const tensors = `torch.Tensor.${method}`; // Python does not know what an argument is; here it is a tensor
    return { matches: (await completed(tensors, tensors.length)).matches, cursor_start: at - method.length };
  }
  return { run, end, restart, complete, seconds: SECONDS, lost: () => lost, gone };
}

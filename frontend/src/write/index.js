/* The stub of an exercise becomes an editor, and its check a button: loaded when a reader first writes. */
import { beside } from "./beside.js";
import { attempts, draft } from "./drafts.js";
import { editor } from "./editor.js";
import { local } from "./kernel.js";
import { server } from "./server.js";

const MINUTE = 60_000; // milliseconds
const CAP = 20_000; // characters of an answer's own output that are shown
const VERDICT = "application/vnd.tfm.verdict+json";
const plain = (text) => text.replace(/\x1b\[[0-9;]*[A-Za-z]/g, "");

let own, kernel; // server and kernel of this page, for all its exercises
async function theKernel(chapter, setup) {
  if (kernel && (await kernel).lost()) kernel = undefined;
  kernel ??= local(own, chapter, setup);
  try {
    return await kernel;
  } catch (error) {
    kernel = undefined;
    throw error;
  }
}

/* Run `code` in the kernel of this page; `hear` is given its outputs. Resolves as a kernel's `run` does. */
export async function run({ base, chapter, setup, code, seconds, hear }) {
  own ??= server(base);
  return (await theKernel(chapter, setup)).run({ code, seconds, hear });
}

const make = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};
/* `text` with what stands between backticks as code. */
const words = (text) => text.split(/`([^`\n]+)`/).map((part, i) => (i % 2 ? make("code", { textContent: part }) : part));

/* What may stand at `at` in `code`; what Python knows nothing about, as an argument, is taken for a tensor. */
async function suggestions(python, code, at) {
  const { content } = await python.complete(code, at);
  const [, begun] = /\w\.(\w*)$/.exec(code.slice(0, at)) ?? [];
  if (content.matches.length || begun === undefined) return content;
  const tensor = `torch.Tensor.${begun}`;
  const { content: { matches } } = await python.complete(tensor, tensor.length);
  return { matches: matches.map((match) => match.split(".").pop()), cursor_start: at - begun.length };
}

/* `text` as words; a page has no cell in which the machine could be drawn, but a chapter where it is. */
const linked = (text) => text.split("mine.machine()").flatMap((part, i) => [i ? make("a", { href: "mine.html", textContent: "Your own machine" }) : "", ...words(part)]);

/* Open `stub` in `card`: `check` is the line that asks for a verdict; `base`, `chapter` and `setup` are the kernel's. */
export async function open({ card, stub, original, check, base, chapter, setup, id }) {
  own ??= server(base);
  const keys = "Ctrl+Enter checks, Tab completes or indents, Escape and then Tab leaves";
  const box = make("div", { className: "tfm-editor" });
  const [go, stop, restart] = [["Check", "Ctrl+Enter"], ["Stop"], ["Restart Python"]].map(([textContent, title = ""]) => make("button", { type: "button", textContent, title }));
  go.classList.add("tfm-go");
  const state = make("span", { className: "tfm-state", role: "status" });
  const out = make("div", { className: "tfm-out", role: "status" });
  const tried = attempts(id);
  const save = make("button", { type: "button", className: "tfm-forget", textContent: "Save my attempts", title: "All that was checked here, with what was said to it, as a file", hidden: !tried.written() });
  save.addEventListener("click", () => {
    const href = URL.createObjectURL(new Blob([tried.written()], { type: "text/x-python" }));
    make("a", { href, download: `${id}.py` }).click();
    setTimeout(() => URL.revokeObjectURL(href), MINUTE);
  });
  const bar = make("div", { className: "tfm-answer-bar" }, go, stop, restart, state, save, make("span", { className: "tfm-keyboard", textContent: `${keys}.` }));
  const note = make("p", { className: "tfm-note", role: "status" });
  const printed = make("pre", { className: "tfm-printed", tabIndex: 0, hidden: true });
  const busy = (what) => {
    state.textContent = what;
    go.ariaDisabled = String(!!what); // and not disabled, which would take the focus from it
    if (!what && [stop, restart].includes(document.activeElement)) go.focus();
    stop.hidden = restart.hidden = !what;
  };
  busy("");
  const got = () => theKernel(chapter, setup);
  const warm = async () => {
    if (kernel) return;
    state.textContent = "Starting Python …";
    try { await got(); state.textContent = ""; } catch (error) { state.replaceChildren(...words(lost(error))); }
  };
  const told = (sentence, ways = []) => {
    note.replaceChildren(sentence);
    for (const [textContent, text] of ways) {
      const button = make("button", { type: "button", textContent, title: text });
      button.addEventListener("click", () => { note.replaceChildren(); written.replace(text); kept.settle(text); written.focus(); });
      note.append(" ", button);
    }
  };
  const kept = draft({ ask: own.ask, chapter, id, original, told });
  const text = await kept.load();
  stub.replaceWith(box);
  box.after(bar, note, out, printed);
  const written = editor(box, {
    text, label: `Your answer to ${id}; ${keys}`,
    changed: kept.keep,
    submit,
    complete: async (code, at) => (kernel ? suggestions(await kernel, code, at) : null),
  });
  box.addEventListener("focusin", warm);
  const solution = card.querySelector("details.solution");
  const both = make("pre", { className: "tfm-compared", tabIndex: 0 });
  solution?.addEventListener("toggle", () => { // what was written, beside what the book has; the untouched stub is nothing to compare
    const [mine, theirs] = [written.text(), solution.querySelector(".highlight pre")?.textContent];
    both.remove();
    if (!solution.open || !theirs || mine.trim() === original.trim()) return;
    const line = { same: (text) => `  ${text}\n`, written: (text) => make("del", {}, `− ${text}\n`), solution: (text) => make("ins", {}, `+ ${text}\n`) };
    both.replaceChildren("Your answer beside it: − only in yours, + only in the solution. Both may be right.\n\n", ...beside(mine, theirs).map(([kind, text]) => line[kind](text)));
    solution.append(both);
  });
  go.addEventListener("click", submit);
  stop.addEventListener("click", async () => (await got()).end());
  restart.addEventListener("click", async () => {
    try {
      const started = (await got()).restart();
      await judged; // which tells that it was stopped
      busy("Starting Python …");
      await started;
      busy("");
    } catch (error) {
      busy("");
      state.replaceChildren(...words(lost(error)));
    }
  });

  let judged;
  const names = JSON.stringify([...original.matchAll(/^(?:def|class) (\w+)/gm)].map(([, name]) => name));
  const forget = `[globals().pop(n) for n in ${names} if getattr(globals().get(n), "__module__", "") == "__main__"]`; // no earlier answer is judged in this one's place
  function submit() {
    if (go.ariaDisabled !== "true") judged = judge();
    return true;
  }

  async function judge() {
    busy(kernel ? "Checking …" : "Starting Python …");
    written.point(null);
    out.replaceChildren();
    printed.replaceChildren();
    printed.hidden = true;
    const text = written.text().trimEnd().replace(/^\s*\n/, (blank) => blank.replace(/.*\n/g, "#\n")); // IPython drops empty lines, and miscounts
    const code = `${text || "#"}\n\n${check}`;
    let [said, verdict, shown] = [null, null, 0];
    const hear = (kind, content) => {
      if (kind === "stream") {
        const text = plain(content.text).slice(0, CAP - shown);
        shown += text.length;
        printed.append(text);
        if (shown >= CAP && text) printed.append("\n… the rest is not shown.");
      } else if (kind === "error") said = content;
      else if (content.data?.[VERDICT]) verdict = content.data[VERDICT];
    };
    try {
      const python = await got();
      busy("Checking …");
      const ready = await python.run({ code: forget, silent: true });
      const ended = ready === "ok" ? await python.run({ code, seconds: python.seconds, hear }) : ready;
      if (ended === "lost") throw new Error(python.lost());
      if (ended === "ended") tell("stopped", "Python has ended.", [], "This answer has ended it, or the system has, for want of memory. The next check starts it again.");
      else if (ended === "stopped" || said?.ename === "KeyboardInterrupt") tell("stopped", "Stopped.", [], "It had run for some seconds, or you have told it to. Does every loop in it end?");
      else if (said) tell("refused", "Not yet.", [], raised(said));
      else if (verdict?.message.startsWith("The cell above")) tell(verdict.status, verdict.word, [], "The stub still stands here. Write your answer in the place of `...`, and check again.");
      else if (verdict) tell(verdict.status, verdict.word, verdict.held, verdict.message, verdict.kept);
      else tell("refused", "No verdict.", [], "The check was not reached.");
    } catch (error) {
      tell("refused", "No kernel.", [], lost(error));
    }
    printed.hidden = !printed.firstChild;
    busy("");
  }

  /* An error outside of the check: in a sentence, with its line marked. */
  function raised({ ename, evalue, traceback }) {
    const lines = [...plain(`${traceback.join("\n")}\n${evalue}`).matchAll(/(?:Cell In\[\d+\]|<tokenize>), line (\d+)/g)].map(([, line]) => Number(line));
    const line = lines.filter((number) => number <= written.text().split("\n").length).pop();
    written.point(line ?? null);
    const missing = !line && /^name '(\w+)' is not defined/.exec(evalue)?.[1];
    if (missing) return `The check asks for \`${missing}\`, which your answer does not define. Is it spelt the same?`;
    return `${ename}${line ? ` in line ${line}` : ""}: ${plain(evalue).split("\n")[0].replace(/ \((?:\d+\.py|<tokenize>), line \d+\)$/, "")}`;
  }

  function tell(status, word, held, message, kept = "") {
    const arrow = status === "refused" ? "→ " : "";
    const said = make("div", { className: `tfm-verdict tfm-${status}` }, make("p", {}, make("strong", { textContent: `${{ passed: "✓ ", refused: "✗ " }[status] ?? ""}${word}` })));
    said.append(...held.map((text) => make("div", { className: "tfm-held" }, "✓ ", ...words(text))));
    for (const text of [message && arrow + message.replaceAll("your cell", "your answer"), kept]) if (text) said.append(make("p", {}, ...linked(text)));
    out.append(said);
    const line = /in line (\d+) of your cell/.exec(message)?.[1];
    if (line) written.point(Number(line));
    tried.add(written.text(), said.innerText);
    save.hidden = false;
    card.dispatchEvent(new CustomEvent("tfm-verdict", { bubbles: true, detail: { id, status } }));
  }

  written.focus();
  warm();
}

const lost = (error) => `The server that runs Python does not answer: ${error.message} Is \`make read\` still running in its terminal? Where it was started again, open the address that it prints. What you wrote is kept.`;

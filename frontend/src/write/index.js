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
  const known = kernel;
  if (known && (await (await known).gone()) && kernel === known) kernel = undefined;
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

/* Open `stub` in `card`: `check` is the line that asks for a verdict; `base`, `chapter` and `setup` are the kernel's. */
export async function open({ card, stub, original, check, base, chapter, setup, id }) {
  own ??= server(base);
  const names = [...original.matchAll(/^(?:def|class) (\w+)|^(\w+)(?:: [^=\n]+)? = /gm)].map(([, defined, given]) => defined ?? given);
  const label = `Your answer to ${id}; Tab indents, or completes a name; Escape and then Tab leaves`;
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
  const again = make("button", { type: "button", className: "tfm-forget", textContent: "Start over", title: "Puts the stub back; Ctrl+Z undoes it", hidden: true });
  again.addEventListener("click", () => { written.replace(original); written.focus(); });
  const bar = make("div", { className: "tfm-answer-bar" }, go, stop, restart, state, again, save);
  const note = make("p", { className: "tfm-note", role: "status" });
  const printed = make("pre", { className: "tfm-printed", tabIndex: 0, hidden: true });
  let held = false; // whether the keyboard is at these buttons, of which some go
  const busy = (what) => {
    held ||= bar.contains(document.activeElement);
    state.textContent = what;
    go.disabled = !!what;
    stop.hidden = restart.hidden = !what;
    if (what) return;
    if (held && (stop === document.activeElement || restart === document.activeElement || document.activeElement === document.body)) go.focus();
    held = false;
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
    text, label,
    changed: (text) => { kept.keep(text); again.hidden = text.trim() === original.trim(); },
    submit: () => go.disabled || judge(),
    complete: async (code, at) => (kernel ? (await kernel).complete(code, at) : null),
  });
  again.hidden = text.trim() === original.trim();
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
  go.addEventListener("click", () => judge());
  let by_reader = false;
  stop.addEventListener("click", async () => { by_reader = true; (await got()).end(); });
  restart.addEventListener("click", async () => { busy("Starting Python …"); await (await got()).restart(); busy(""); });

  async function judge() {
    busy(kernel ? "Checking …" : "Starting Python …");
    by_reader = false;
    written.point(null);
    out.replaceChildren();
    printed.replaceChildren();
    printed.hidden = true;
    const text = written.text().trimEnd().replace(/^\s*\n/, (blank) => blank.replace(/.*\n/g, "#\n")); // IPython drops empty lines, and miscounts
    const code = `${text || "#"}\n\n${check}`;
    let [said, verdict, shown] = [null, null, 0];
    const hear = (kind, content) => {
      if (kind === "stream") {
        const text = plain(content.text).replace(/\S*ipykernel_\d+\S*\.py:(\d+)/g, "line $1").slice(0, CAP - shown);
        shown += text.length;
        printed.append(text);
        if (shown >= CAP && text) printed.append("\n… the rest is not shown.");
      } else if (kind === "error") said = content;
      else if (content.data?.[VERDICT]) verdict = content.data[VERDICT];
    };
    try {
      const python = await got();
      busy("Checking …");
      const ended = await python.run({ code, names, seconds: python.seconds, hear });
      if (ended === "lost") throw new Error(python.lost());
      if (ended === "ended") tell("stopped", "Python has ended.", [], "This answer has ended it, or the system has, for want of memory. The next check starts it again.");
      else if (ended === "stopped" || said?.ename === "KeyboardInterrupt") tell("stopped", "Stopped.", [], `${by_reader ? "You stopped it." : `It was still running after ${python.seconds} seconds.`} Does every loop in it end?`);
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
    const missing = ename === "NameError" && names.find((name) => evalue === `name '${name}' is not defined`);
    if (missing) return `This answer does not define \`${missing}\`, for which the check asks. Keep the stub's first line.`;
    const line = lines.filter((number) => number <= written.text().trimEnd().split("\n").length).pop();
    written.point(line ?? Number(/ on line (\d+) \(/.exec(evalue)?.[1] ?? 0)); // the line that lacks what should follow
    return `${ename}${line ? ` in line ${line}` : ""}: ${plain(evalue).split("\n")[0].replace(/ \((?:\d+\.py|<tokenize>), line \d+\)$/, "")}`;
  }

  function tell(status, word, held, message, kept = "") {
    const arrow = status === "refused" ? "→ " : "";
    const said = make("div", { className: `tfm-verdict tfm-${status}` }, make("p", {}, make("strong", { textContent: `${{ passed: "✓ ", refused: "✗ " }[status] ?? ""}${word}` })));
    said.append(...held.map((text) => make("div", { className: "tfm-held" }, "✓ ", ...words(text))));
    for (const text of [message && arrow + message.replaceAll("your cell", "your answer"), kept]) if (text) said.append(make("p", {}, ...words(text)));
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

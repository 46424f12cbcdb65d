// Exercises that are answered in the page: by a kernel where `make read` serves the book; elsewhere the page says how.
(() => {
  const served = /^(.*\/)tfm-read\//.exec(location.pathname);
  const root = document.documentElement.dataset.content_root;
  const setup = document.querySelector("meta[name=tfm-setup]")?.content ?? "";
  const chapter = location.pathname.split("/").pop().replace(/\.html$/, "");
  const make = (tag, properties, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };
  if (!served) return;
  document.head.append(make("link", { rel: "stylesheet", href: `${root}_tfm/write.css` }));
  const how = document.querySelector(".tfm-how");
  if (how) how.textContent = "Write your answers below: Python on this machine checks them. They are kept in the notebook too.";

  // What is solved, here or in a notebook, has its mark; the head of the exercises counts, and leads to the next.
  const cards = new Map();
  const solved = new Set();
  const count = make("p", { className: "tfm-count" });
  how?.parentElement.after(count);
  function mark() {
    for (const [id, card] of cards) card.classList.toggle("tfm-solved", solved.has(id));
    const [done, next] = [[...cards.keys()].filter((id) => solved.has(id)).length, [...cards.keys()].find((id) => !solved.has(id))];
    count.replaceChildren(`${done} of ${cards.size} solved. `);
    if (next) count.append(make("a", { href: `#${next}`, textContent: done ? "Next exercise" : "First exercise" }));
  }
  document.addEventListener("tfm-verdict", ({ detail: { id, status } }) => { if (status === "passed") { solved.add(id); mark(); } });
  fetch(`${served[1]}tfm-read/_solved`).then((answer) => answer.json()).then((ids) => { ids.forEach((id) => solved.add(id)); mark(); }, () => {});

  let script;
  const load = () => (script ??= import(new URL(`${root}_tfm/editor.js`, location.href)));

  for (const card of document.querySelectorAll(".tfm-exercise")) {
    const cells = [...card.querySelectorAll(":scope > .cell")];
    const last = cells.find((cell) => /^check\(/m.test(cell.textContent));
    const stub = cells[cells.indexOf(last) - 1];
    if (!stub) continue; // its answer is a text
    const id = card.querySelector(".exercise").id;
    cards.set(id, card);
    const original = `${stub.querySelector("pre").textContent.trimEnd()}\n`;
    const button = make("button", { type: "button", className: "tfm-go", textContent: "Write your answer" });
    const bar = make("div", { className: "tfm-answer-bar" }, button);
    stub.after(bar);
    last.hidden = true;
    const open = async () => {
      button.disabled = true;
      button.textContent = "Opening …";
      try {
        const { open } = await load();
        const check = last.querySelector("pre").textContent.trim();
        await open({ card, stub, original, check, base: location.origin + served[1], chapter, setup, id });
        bar.remove();
      } catch (error) {
        button.disabled = false;
        button.textContent = "Write your answer";
        bar.append(` The editor could not be loaded: ${error.message}`);
      }
    };
    button.addEventListener("click", open);
  }
})();

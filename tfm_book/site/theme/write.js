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
  const checkOf = (card) => [...card.querySelectorAll(":scope > .cell")].find((cell) => /^check\(/m.test(cell.textContent));
  const dress = () => document.head.append(make("link", { rel: "stylesheet", href: `${root}_tfm/write.css` }));
  if (!served) return inOrder();
  dress();
  const how = document.querySelector(".tfm-how");
  if (how) how.textContent = "Write your answers below: Python on this machine checks them. They are kept in the notebook too.";

  // What is solved, here or in a notebook, has its mark; the head of the exercises counts, and leads to the next.
  const [cards, solved, failed] = [new Map(), new Set(), new Map()];
  const count = make("p", { className: "tfm-count" });
  how?.parentElement.after(count);
  const chapters = [...document.querySelectorAll(".tfm-chapters a[href$='.html'], .tfm-chapters a[href='#']")];
  const nextLink = (textContent) => {
    const next = [...cards.keys()].find((id) => !solved.has(id));
    return next ? [make("a", { href: `#${next}`, textContent })] : [];
  };
  function mark() {
    for (const [id, card] of cards) card.classList.toggle("tfm-solved", solved.has(id));
    const done = [...cards.keys()].filter((id) => solved.has(id)).length;
    count.replaceChildren(`${done} of ${cards.size} solved. `, ...nextLink(done ? "Next exercise" : "First exercise"));
    for (const link of chapters) {
      const stem = new URL(link.href).pathname.split("/").pop().replace(/html$/, "");
      const many = [...solved].filter((id) => id.startsWith(stem)).length;
      link.querySelector(".tfm-solved-here")?.remove();
      if (many) link.append(make("span", { className: "tfm-solved-here", textContent: ` ✓ ${many}`, title: `${many} exercises solved` }));
    }
    colour();
  }

  // The machine of *Your own machine*: a block is coloured in once what runs in it is solved; the reader's parts translate.
  const machine = document.querySelector(".tfm-mine-box");
  const order = (id) => chapters.findIndex((link) => link.href.includes(`/${id.split(".")[0]}.html`));
  const yours = make("p", { role: "status" });
  function colour() {
    if (!machine) return;
    const [own, missing] = [new Set(), []];
    for (const block of machine.querySelectorAll("[data-needs]")) {
      const has = block.dataset.needs.split(" ").every((id) => solved.has(id));
      block.classList.toggle("mine-yours", has);
      block.classList.toggle("mine-library", !has);
      const title = block.querySelector(":scope > title");
      title.textContent = title.textContent.replace(/(library|✓ yours)$/, has ? "✓ yours" : "library");
      const { part, needs } = block.dataset;
      if (part && has) own.add(part);
      else if (part) missing.push(needs);
    }
    for (const text of machine.querySelectorAll(".mine-count")) text.textContent = text.textContent.replace(/^\d+/, own.size);
    const [next] = missing.sort((a, b) => order(a) - order(b));
    yours.replaceChildren(`${own.size} parts are yours. `, ...(next ? ["Next: ", make("a", { href: `${next.split(".")[0]}.html#${next}`, textContent: next }), "."] : ["The machine is finished."]));
  }
  if (machine) {
    const sentence = make("input", { type: "text", value: "I saw a black cat.", maxLength: 200, ariaLabel: "An English sentence" });
    const go = make("button", { type: "submit", className: "tfm-go", textContent: "Translate with your parts" });
    const said = make("p", { role: "status" });
    const form = make("form", { className: "tfm-answer-bar" }, sentence, go);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      go.disabled = true;
      const began = Date.now();
      const clock = setInterval(() => (said.textContent = `Translating, ${Math.round((Date.now() - began) / 1000)} s …`), 500);
      let told = "";
      try {
        const { run } = await load();
        const code = `from tfm_exercises import mine\nprint(mine.machine(${JSON.stringify(sentence.value)}).translated)`;
        const hear = (kind, content) => (told = (told + (kind === "error" ? content.evalue : content.text ?? "")).slice(0, 500));
        const ended = await run({ base: location.origin + served[1], chapter, setup, code, seconds: 60, hear });
        if (ended !== "ok" && !told) told = "Python has ended, or was stopped. Try again.";
      } catch (error) {
        told = `The server that runs Python does not answer: ${error.message}`;
      }
      clearInterval(clock);
      said.textContent = told;
      go.disabled = false;
    });
    machine.querySelector(".tfm-mine-said").replaceChildren(yours, form, said);
  }
  document.addEventListener("tfm-verdict", ({ target: card, detail: { id, status } }) => {
    const said = card.querySelector(".tfm-out .tfm-verdict");
    if (status === "passed") {
      solved.add(id);
      mark();
      said.append(make("p", {}, ...nextLink("Next exercise")));
    } else if (status === "refused") {
      failed.set(id, (failed.get(id) ?? 0) + 1);
      const hint = card.querySelector("details.hint:not([open])");
      if (failed.get(id) < 2 || !hint) return;
      const button = make("button", { type: "button", className: "tfm-forget", textContent: "Show a hint" });
      button.addEventListener("click", () => { hint.open = true; button.remove(); hint.querySelector("summary").focus(); });
      said.append(button);
    }
  });
  fetch(`${served[1]}tfm-read/_solved`).then((answer) => answer.json()).then((ids) => { ids.forEach((id) => solved.add(id)); mark(); }, () => {});

  let script;
  const load = () => (script ??= import(new URL(`${root}_tfm/editor.js`, location.href)));

  for (const card of document.querySelectorAll(".tfm-exercise")) {
    const cells = [...card.querySelectorAll(":scope > .cell")];
    const last = checkOf(card);
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

  // Without Python: the lines of some solutions, to be put in order.
  function inOrder() {
    const key = "tfm-in-order";
    let done = [];
    try { done = JSON.parse(localStorage.getItem(key)) ?? []; } catch { /* nothing is kept here */ }
    const cards = [...document.querySelectorAll(".tfm-exercise:has(> .tfm-solution-lines)")];
    if (!cards.length) return;
    dress();
    let script;
    const load = () => (script ??= new Promise((resolve, reject) => document.head.append(make("script", { src: `${root}_tfm/lines.js`, onload: resolve, onerror: reject }))).catch((error) => { script = undefined; throw error; }));
    for (const card of cards) {
      const id = card.querySelector(".exercise").id;
      const data = JSON.parse(card.querySelector(".tfm-solution-lines").textContent);
      const solved = () => card.classList.add("tfm-solved");
      if (done.includes(id)) solved();
      const button = make("button", { type: "button", className: "tfm-go", textContent: "Put its lines in order" });
      const bar = make("div", { className: "tfm-answer-bar" }, button, " No Python needed.");
      checkOf(card).after(bar);
      const open = () => window.tfmLines(bar, data, () => {
        solved();
        done = [...new Set([...done, id])];
        try { localStorage.setItem(key, JSON.stringify(done)); } catch { /* the mark lasts as long as the page */ }
      });
      button.addEventListener("click", () => load().then(open, () => bar.lastChild.replaceWith(" The script could not be loaded. Try again.")));
    }
  }
})();

/* What a reader writes is kept twice: in the browser at each key, and a moment later in the notebook of the working copy,
   whose stub it replaces, so that page and notebook go on from the same words. */
const MOMENT = 1000; // milliseconds after the last key
const HISTORY = 20_000; // characters of an exercise's attempts that the browser remembers: drafts need room, too

/* The draft of exercise `id`. `seen` is what the notebook held when the two last agreed; whoever finds both changed asks. */
export function draft({ ask, chapter, id, original, told }) {
  const path = `api/contents/${chapter}.ipynb`, key = `tfm-draft:${id}`;
  const stored = () => { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } };
  const store = (value) => { try { localStorage.setItem(key, JSON.stringify(value)); return true; } catch { return false; } }; // false in a private window: the notebook remembers
  let here = stored() ?? { text: original, seen: original };
  let timer, writing = Promise.resolve();

  async function notebook() {
    const model = await ask(`${path}?content=1`);
    const code = model.content.cells.filter((cell) => cell.cell_type === "code");
    const at = code.findIndex((cell) => cell.source.includes(`check("${id}"`));
    if (at < 1) throw new Error(`${chapter}.ipynb has no check of ${id}.`);
    return { model, cell: code[at - 1] };
  }

  async function load() {
    let there;
    try { there = (await notebook()).cell.source; } catch (error) { told(unkept(error, store(here))); return here.text; }
    const same = (a, b) => a.trimEnd() === b.trimEnd();
    if (same(there, here.seen)) { if (!same(here.text, there)) later(); return here.text; }
    if (same(here.text, here.seen) || same(here.text, there)) { keepHere({ text: there, seen: there }); return there; }
    told(`${chapter}.ipynb holds another answer than this page.`, [["Take the notebook's", there], ["Keep this page's", here.text]]);
    return here.text;
  }

  const keepHere = (value) => store((here = value));
  function keep(text) {
    keepHere({ ...here, text });
    later();
  }
  function later() {
    clearTimeout(timer);
    timer = setTimeout(() => (writing = writing.then(save)), MOMENT);
  }
  async function save() {
    const text = here.text;
    try {
      const { model, cell } = await notebook();
      if (cell.source.trimEnd() !== here.seen.trimEnd() && cell.source.trimEnd() !== text.trimEnd()) {
        told(`${chapter}.ipynb was changed meanwhile.`, [["Take the notebook's", cell.source], ["Keep this page's", here.text]]);
        return;
      }
      cell.source = text.trimEnd();
      await ask(path, "PUT", { type: "notebook", format: "json", content: model.content });
      keepHere({ ...here, seen: text });
      told("");
    } catch (error) { told(unkept(error, store(here))); }
  }
  /* The reader has chosen between two answers; what the notebook holds now is known, and is written over. */
  async function settle(text) {
    try { keepHere({ text, seen: (await notebook()).cell.source }); } catch { keepHere({ ...here, text }); }
    later();
  }
  return { load, keep, settle };
}

/* What was checked of exercise `id`, and what was said to it; of earlier visits the last ones. An attempt is { at, text, said }. */
export function attempts(id) {
  const key = `tfm-attempts:${id}`;
  let all = [];
  try { all = JSON.parse(localStorage.getItem(key)) ?? []; } catch { /* nothing is kept here */ }
  return {
    add(text, said) {
      all.push({ at: new Date().toISOString(), text, said });
      let kept = all;
      while (JSON.stringify(kept).length > HISTORY) kept = kept.slice(1);
      try { localStorage.setItem(key, JSON.stringify(kept)); } catch { /* they last as long as the page */ }
    },
    written: () => all.map(({ at, text, said }) => `# ${id} · ${at}\n${said.replace(/^/gm, "# ")}\n${text.trimEnd()}\n`).join("\n\n"),
  };
}

const unkept = (error, here) => `What you write is kept ${here ? "in this browser only" : "nowhere but on this page, so copy it before you leave"}: ${error.message}`;

/* Talk to it: a prompt, and what the writer of stories makes of it after each of four stages of its training, beside what is true
   in the story. It shows a recorded example; a stage's weights are loaded when it first writes. */

import { arriving, card, fixed, fold, h, many, megabytes, morph, radios, retext, set, storyteller, told, tokenRow } from "../kit/index.js";
import { wordsOf } from "../twin/words.js";
import { world } from "./shared/world.js";

const WORDS = {
  prompt: "prompt",
  examples: "example",
  own: "your own",
  stage: "stage",
  temperature: "temperature",
  topP: "top-p",
  again: "Another seed",
  beside: "beside it",
  alone: "nothing",
  write: "Write",
  answers: "What is written, each word with its probability",
  recorded: "Recorded. Write loads the model: {size} MB.",
  ready: "Write loads the model: {size} MB.",
  stale: "The prompt has changed; press Write.",
  wrote: ["{count} word, written in your browser.", "{count} words, written in your browser."],
  unknown: "{words}: not among its {count} words, read as unknown.",
  empty: "The prompt is empty: type one, or choose an example.",
  long: "The prompt has {count} words and signs, and the model reads at most {most} in all. Shorten it.",
  failed: "The model could not be loaded. {error} What is shown stays.",
  nothing: "It writes nothing.",
  rivals: "Instead of {word}",
  truth: "What is true after {stage}",
  place: "in the {place}",
  loves: "loves the {thing}",
  things: "things",
  lies: "{thing}: in the {place}",
  verdicts: { right: "✓ Right", wrong: "✗ Wrong; the story says: {wanted}", invented: "✗ Invented; the story does not say." },
  faults: ["✗ {count} word says what is not so.", "✗ {count} words say what is not so."],
  fault: "✗ It is not so: {instead}.",
  elsewhere: "it was there before",
  or: " or ",
  told: "{word} has probability {p}, {others}. {fault}",
  others: "the likeliest words are {words}",
  only: "and no other word was likelier",
};
const [MOST, MOST_LETTERS, PAUSE, CHOICES] = [160, 2400, 16, 3];
const two = fixed(2);
const STYLE = `.tfm-card textarea{width:100%;padding:3px 9px;border:1px solid var(--tfm-soft);border-radius:6px;font:inherit;color:inherit;background:none;resize:vertical}
.tfm-prose{max-height:9.3em;overflow-y:auto;gap:2px 3px;padding:1px}
.tfm-prose .tfm-token{padding:0 2px;border:0;border-radius:3px;font-weight:inherit}
.tfm-prose i{height:3px}
.tfm-card .tfm-token.tfm-bad{color:var(--tfm-broken);text-decoration:underline wavy}
.tfm-card [data-control="write"]{padding:3px 18px;border-color:var(--tfm-soft);color:var(--tfm-ink);font-size:1em;font-weight:650}
.tfm-people{display:grid;grid-template-columns:repeat(3,1fr);gap:4px 12px;line-height:1.4}
.tfm-people :is(b,span){display:block}
.tfm-people i{display:inline-block;width:11px;height:11px;margin-right:5px;border:1px solid var(--tfm-soft);border-radius:3px}
.tfm-card .tfm-talk p{margin:3px 0 0}
@container (min-width:431px){.tfm-card .tfm-text{grid-template-columns:6.5em 1fr}}
@container (max-width:430px){.tfm-card .tfm-bar{position:static}.tfm-prose{max-height:7.5em}}`;

function render({ model, el }) {
  const { stages } = model.get("shared"); // their names
  const recorded = () => model.get("recorded");
  const whole = (n) => Number.isInteger(n) && n >= 0;
  const ui = card({ model, el, state: ["prompt", "stage", "beside", "temperature", "top_p", "seed", "value"], fits: { stage: (name) => name in stages, seed: (n) => whole(n) && n < 1e6, value: whole } });
  const names = Object.keys(stages);
  const examples = ui.get("examples");
  let [shown, news, wish, isLive] = [[], "", 0, false]; // isLive: it has written, and writes again when a setting changes
  let adopted = []; // the words that can be focused

  ui.text("prompt", { label: WORDS.prompt, most: MOST_LETTERS, rows: 3 });
  const row = tokenRow(ui, { tokens: Object.values(stages), name: "stage", label: WORDS.stage, kind: "ink", onFocus: (i) => ui.set({ stage: names[i] }) });
  ui.select("example", { label: WORDS.examples, options: [...examples.map(([name], i) => [i, name]), [examples.length, WORDS.own]] });
  ui.bar.append(row.el);
  ui.select("beside", { label: WORDS.beside, options: [["", WORDS.alone], ...Object.entries(stages)] });
  ui.slider("temperature", { label: WORDS.temperature, min: 0, max: 1.5, step: 0.1, format: fixed(1) });
  ui.slider("top_p", { label: WORDS.topP, min: 0.05, max: 1, step: 0.05, format: two });
  fold(ui, 2);
  const again = ui.button("seed", { label: WORDS.again, onclick: () => ui.set({ seed: ui.get("seed") + 1 }) });
  ui.bar.lastChild.previousSibling.lastChild.append(again.el);

  const start = ui.button("write", { label: WORDS.write, onclick: write });
  const state = h("span", { class: "tfm-caption", role: "status" });
  const panes = h("div", { class: "tfm-columns" });
  const group = radios(panes, { name: "value", hover: true, onFocus: (value) => ui.set({ value }) });
  const [rivalsOf, rivals, truthOf, people, faults] = [h("p", { class: "tfm-caption" }), h("div", { class: "tfm-rivals" }), h("p", { class: "tfm-caption" }), h("div", { class: "tfm-people" }), h("p", { class: "tfm-bad" })];
  ui.stage.append(h("div", { class: "tfm-row" }, start.el, state), panes, h("div", { class: "tfm-columns tfm-talk" }, h("div", {}, truthOf, people, faults), h("div", {}, rivalsOf, rivals, h("style", {}, STYLE))));
  set(panes, { role: "radiogroup", "aria-label": WORDS.answers });
  panes.classList.add("tfm-talk");

  const chosen = () => [...new Set([ui.get("stage"), ui.get("beside")])].filter(Boolean);
  const isFirst = () => ["prompt", "temperature", "top_p"].every((trait) => ui.get(trait) === ui.first[trait]) && ui.first.prompt === recorded().prompt && !ui.get("temperature") && chosen().every((name) => name in recorded().told);
  const found = (stage, words, over) => ({ stage, told: words, over, prompt: ui.get("prompt") });
  const tell = (text) => retext(state, (news = text));

  const writers = {};
  const writerOf = (stage) => (writers[stage] ??= storyteller(ui, (share) => ui.stage.hasAttribute("data-busy") && tell(arriving(share)), stage).then(([code, files]) => code.open(files)).catch((error) => {
    delete writers[stage]; // it may be tried again
    throw error;
  }));

  /* Only the newest request counts. */
  async function write() {
    const mine = ++wish;
    if (!wordsOf(ui.get("prompt")).length) return tell(WORDS.empty);
    ui.stage.dataset.busy = "";
    try {
      const able = [];
      for (const stage of chosen()) able.push(await writerOf(stage)); // one by one, as they come
      if (mine === wish) await writeWith(able, () => mine === wish);
    } catch (error) {
      if (mine === wish) tell(told(WORDS.failed, { error: error.message }));
    }
    if (mine === wish) delete ui.stage.dataset.busy;
  }
  async function writeWith(able, isWanted) {
    isLive = true;
    const { ids, unknown } = able[0].encode(ui.get("prompt"));
    const [most, count] = [able[0].config.max_len, able[0].words.length];
    if (ids.length >= most) return tell(told(WORDS.long, { count: ids.length - 1, most: most - 1 }));
    shown = chosen().map((stage) => found(stage, [], false));
    const how = { temperature: ui.get("temperature"), topP: ui.get("top_p"), seed: ui.get("seed"), most: MOST };
    const tales = able.map((writer) => writer.tell(ids, how));
    while (shown.some(({ over }) => !over)) {
      shown.forEach((each, k) => {
        const { value, done } = each.over ? { done: true } : tales[k].next();
        if (done) each.over = true;
        else each.told.push(value);
      });
      const written = Math.max(...shown.map((each) => each.told.length));
      tell(unknown.length ? told(WORDS.unknown, { words: unknown.join(", "), count }) : many(WORDS.wrote, written));
      draw();
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
      if (!isWanted()) return;
    }
  }

  function changed() {
    wish++;
    delete ui.stage.dataset.busy;
    if (isFirst()) {
      shown = chosen().map((stage) => found(stage, recorded().told[stage], true));
      news = told(WORDS.recorded, { size: megabytes(ui.get("size")) });
    } else if (isLive) return write();
    else [shown, news] = [[], told(WORDS.ready, { size: megabytes(ui.get("size")) })];
  }
  const match = () => {
    const at = examples.findIndex(([, prompt]) => prompt === ui.get("prompt"));
    ui.set({ example: at < 0 ? examples.length : at });
  };
  ui.on("example", () => {
    const [, prompt] = examples[ui.get("example")] ?? [];
    if (prompt === undefined || prompt === ui.get("prompt")) return;
    ui.set({ prompt });
    changed();
  });
  ui.on("prompt", () => {
    match();
    if (isFirst() || !isLive) changed();
    else (wish++, (news = WORDS.stale));
  });
  for (const trait of ["stage", "beside", "temperature", "top_p", "seed"]) ui.on(trait, changed);
  ui.on("recorded", changed);
  ui.until(() => wish++);

  const nodes = new WeakMap(); // of written words
  function wordOf(each) {
    if (!nodes.has(each)) nodes.set(each, h("span", { class: "tfm-token", style: `--w:${each.p}` }, h("span", {}, each.word), h("i", {})));
    return nodes.get(each);
  }
  function fill(box, wanted) {
    wanted.forEach((node, i) => box.childNodes[i] === node || box.insertBefore(node, box.childNodes[i] ?? null));
    while (box.childNodes.length > wanted.length) box.lastChild.remove();
  }

  /* A pane for each stage; `all` are the words of both. */
  function draw() {
    retext(state, news);
    row.update({ focus: names.indexOf(ui.get("stage")) });
    again.enable(ui.get("temperature") > 0);
    const all = shown.flatMap((each) => each.told);
    const value = Math.min(ui.get("value"), all.length - 1);
    while (panes.childNodes.length > shown.length) panes.lastChild.remove();
    while (panes.childNodes.length < shown.length) panes.append(h("div", {}, h("p", { class: "tfm-caption" }, h("b", {}), h("span", {})), h("div", { class: "tfm-tokens tfm-weighted tfm-prose" })));
    let [here, before, isWrong] = [null, 0, null];
    const labels = [];
    shown.forEach((each, k) => {
      const [{ childNodes: [name, verdict] }, box] = panes.childNodes[k].childNodes;
      const words = wordsOf(each.prompt.toLowerCase());
      const true_ = world([...words, ...each.told.map(({ word }) => word)]);
      const wrong = new Map(true_.faults.map((fault) => [fault.at - words.length, fault]));
      retext(name, `${stages[each.stage]} `);
      fill(box, each.told.map(wordOf));
      each.told.forEach((word, i) => {
        const fault = wrong.has(i) ? told(WORDS.fault, { instead: wrong.get(i).instead.slice(0, CHOICES).join(WORDS.or) || WORDS.elsewhere }) : "";
        wordOf(word).classList.toggle("tfm-bad", wrong.has(i));
        labels.push(`${word.word} ${two(word.p)} ${fault}`);
        if (before + i === value) isWrong = fault && h("span", { class: "tfm-bad" }, fault);
      });
      const { wanted, verdict: is } = (each.over && true_.asked) || {};
      retext(verdict, is ? told(WORDS.verdicts[is], { wanted }) : each.over && !each.told.length ? WORDS.nothing : "");
      verdict.className = is && is !== "right" ? "tfm-bad" : "";
      if (value < before + each.told.length || k === shown.length - 1) here ??= [each.stage, true_];
      before += each.told.length;
    });
    if (all.length !== adopted.length || all.some((each, i) => each !== adopted[i])) group.adopt((adopted = all).map(wordOf), labels);
    group.check(value);
    truth(...(here ?? []));
    const word = all[value];
    retext(rivalsOf, word ? told(WORDS.rivals, { word: word.word }) : "");
    morph(rivals, (word?.rivals ?? []).map((rival) => h("div", { style: `--w:${rival.p}`, class: rival.word === word.word && "tfm-here" }, h("span", {}, rival.word), h("i", {}), h("small", {}, two(rival.p)))));
    if (!word) return ui.say();
    const likelier = word.rivals.filter(({ p }) => p > word.p).map((rival) => `${rival.word} ${two(rival.p)}`).slice(0, CHOICES);
    ui.say(...told(WORDS.told, { word: h("b", {}, word.word), p: h("b", {}, two(word.p)), others: likelier.length ? told(WORDS.others, { words: likelier.join(", ") }) : WORDS.only, fault: isWrong }));
  }

  function truth(stage, true_) {
    retext(truthOf, stage ? told(WORDS.truth, { stage: stages[stage] }) : "");
    const { people: who = [], where = {}, colours, loves, faults: { length: count } = [] } = true_ ?? {};
    retext(faults, count ? many(WORDS.faults, count) : "");
    const thing = (each) => h("span", {}, colours[each] && h("i", { style: `background:${colours[each] === "golden" ? "gold" : colours[each]}` }), `${colours[each] ?? ""} ${each}`);
    const loose = Object.keys(where).filter((each) => !who.includes(each) && !who.includes(where[each]));
    const column = (name) => h("div", {}, h("b", {}, name), where[name] && h("span", {}, told(WORDS.place, { place: where[name] })), Object.keys(where).filter((each) => where[each] === name).map(thing), loves?.[0] === name && h("span", {}, told(WORDS.loves, { thing: loves[1] })));
    morph(people, who.map(column), loose.length > 0 && h("div", {}, h("b", {}, WORDS.things), loose.map((each) => h("span", {}, told(WORDS.lies, { thing: each, place: where[each] })))));
  }

  const csv = () => [["stage", "word", "p", "likeliest"], ...shown.flatMap(({ stage, told: words }) => words.map(({ word, p, rivals: [best] }) => [stage, word, p, best.word]))];
  match();
  changed();
  return ui.start(draw, { watch: ["recorded", "example"], csv });
}

export default { render, words: WORDS };

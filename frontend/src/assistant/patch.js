/* Patch a head: heads of the writer of stories say, at the last word of a story, what they say in the same story with two names
   swapped. The runs with no head, one head, or a layer patched are recorded; for others the weights are loaded, once. */

import { arriving, card, clamp, fixed, h, legend, megabytes, morph, range, retext, set, softmax, storyteller, told } from "../kit/index.js";

const WORDS = {
  story: "story about",
  grid: "Heads, each a switch",
  texts: ["First story", "Names swapped"],
  begin: "its beginning",
  next: "{story}: likeliest next word {word}, {p}",
  asked: "Switch heads on: at the last word of the first story, each then says what it says in the second.",
  cell: "{layer}, {head}, alone {share} of the way",
  unit: "alone, share of the way",
  bars: "Next word of the first story",
  recorded: "Recorded. Other sets of heads load the model, once: {size}\u00a0MB.",
  computed: "Computed in your browser.",
  failed: "The model could not be loaded. {error} What is shown stays.",
};
const N = 4; // layers, and heads of each
const LAST = 3; // sentences that are always in sight
const two = fixed(2);
const HUES = ["tfm-one", "tfm-two"]; // of the names
const STYLE = `.tfm-patch .tfm-switches{grid-template-columns:auto repeat(4,minmax(0,64px))}.tfm-card .tfm-patch .tfm-switches .tfm-caption{margin:0;text-align:center}
.tfm-patch .tfm-switch{padding:7px 0;border-width:3px;font-size:13px}
.tfm-patch .tfm-switch[aria-pressed="true"]{border-color:var(--tfm-two);font-weight:700;text-decoration:underline}
.tfm-patch .tfm-rivals [class] i{background-image:linear-gradient(currentcolor,currentcolor)}
.tfm-card .tfm-patch p:not([class]){margin:0}.tfm-patch summary{cursor:pointer}`;

/* As tfm_lib.widgets.assistant.said and share: log p of both names, the likeliest other word, and its log p. */
export function said(logits, ids, words) {
  const p = softmax([...logits]);
  const other = p.reduce((best, x, id) => (ids.includes(id) || x <= p[best] ? best : id), -1);
  return [...ids.map((id) => Math.log(p[id])), words[other], Math.log(p[other])];
}
export function share(run, clean, second) {
  const ahead = ([a, b]) => b - a;
  const whole = ahead(second) - ahead(clean);
  return whole ? (ahead(run) - ahead(clean)) / whole : 0;
}

const nameOf = ([layer, head]) => `${layer + 1}.${head + 1}`;
const keyOf = (heads) => heads.map(nameOf).join(" ");
const isIn = (heads, head) => heads.some((each) => JSON.stringify(each) === JSON.stringify(head)); // a link's may be anything

/* `values` keeps what the heads say in the second story. */
function patched(writer, { texts, names }, heads, values) {
  const [first, second, [, ...ids]] = [...texts, names.join(" ")].map((text) => writer.encode(text).ids);
  if (!Object.keys(values).length) writer.run(second, { seen: (name, value) => name.endsWith("self_attention.heads") && (values[name] = value) });
  return said(writer.run(first, { patched: { heads, values } }).at(-1), ids, writer.words);
}

function render({ model, el }) {
  const all = range(N * N).map((i) => [Math.floor(i / N), i % N]);
  const ui = card({ model, el, state: ["story", "heads"], grows: ["heads"], fits: { heads: (heads) => heads.every((head) => isIn(all, head)) && new Set(heads.map(String)).size === heads.length } });
  const [stories, shared] = [ui.get("stories"), ui.get("shared")];
  const [found, values] = [stories.map(({ runs }) => ({ ...runs })), stories.map(() => ({}))]; // runs by the heads that are patched
  let [writer, wanted, shown] = [null, "", {}]; // what is being computed; the story and the heads that the bars show

  const choose = (isWanted) => ui.set({ heads: all.filter((head) => isWanted(head, isIn(ui.get("heads"), head))) });
  function pressLayer(layer) {
    const some = all.filter((head) => head[0] === layer);
    const isWhole = some.every((head) => isIn(ui.get("heads"), head));
    choose((each, on) => (some.includes(each) ? !isWhole : on));
  }
  const caption = (text) => h("p", { class: "tfm-caption" }, text);
  const cells = all.map((head) => h("button", { type: "button", class: "tfm-switch", "data-control": nameOf(head), onclick: () => choose((each, on) => on !== (each === head)) }));
  const [layerOf, headOf] = [(layer) => told(shared.layer, { layer: layer + 1 }), (head) => told(shared.head, { head: head + 1 })];
  const rowOf = (layer) => [h("button", { type: "button", class: "tfm-button", "data-control": `layer ${layer + 1}`, onclick: () => pressLayer(layer) }, layerOf(layer)), ...cells.slice(layer * N, (layer + 1) * N)];
  const grid = h("div", { class: "tfm-switches", role: "group", "aria-label": WORDS.grid }, range(N).reverse().flatMap(rowOf), h("span", {}), range(N).map((head) => caption(headOf(head))));
  const state = h("p", { class: "tfm-caption tfm-state", role: "status" });
  const texts = WORDS.texts.map(() => ({ next: caption(), begin: h("p", {}), end: h("p", {}) }));
  const bars = h("div", { class: "tfm-rivals" });
  ui.select("story", { label: WORDS.story, options: stories.map(({ thing }, i) => [i, thing]) });
  ui.stage.append(
    h("div", { class: "tfm-columns tfm-patch" }, texts.map(({ next, begin, end }) => h("div", {}, next, h("details", {}, h("summary", { class: "tfm-caption", "data-action": "others" }, WORDS.begin), begin), end))),
    h("div", { class: "tfm-columns tfm-patch" }, h("div", {}, caption(WORDS.asked), grid, legend({ unit: WORDS.unit })), h("div", {}, caption(WORDS.bars), bars, state, h("style", {}, STYLE))),
  );
  ui.until(() => (wanted = ""));

  async function compute(story, heads) {
    const mine = (wanted = `${story} ${keyOf(heads)}`);
    ui.stage.dataset.busy = "";
    try {
      writer ??= storyteller(ui, (part) => wanted && retext(state, arriving(part)), "base").then(([code, files]) => code.open(files));
      const able = await writer;
      if (mine === wanted) found[story][keyOf(heads)] = patched(able, stories[story], heads, values[story]);
    } catch (error) {
      writer = null; // it may be tried again
      if (mine === wanted) retext(state, told(WORDS.failed, { error: error.message }));
    }
    if (mine !== wanted) return;
    delete ui.stage.dataset.busy;
    draw();
  }

  function read({ names, texts: both, runs, second }) {
    const coloured = (word) => [names.includes(word) ? h("b", { class: HUES[names.indexOf(word)] }, word) : word, " "];
    texts.forEach(({ next, begin, end }, k) => {
      const [a, b, other, c] = k ? second : runs[""];
      const [word, logP] = [[names[0], a], [names[1], b], [other, c]].reduce((best, each) => (each[1] > best[1] ? each : best));
      next.replaceChildren(...told(WORDS.next, { story: WORDS.texts[k], word: h("b", { class: HUES[names.indexOf(word)] }, word), p: two(Math.exp(logP)) }));
      const sentences = both[k].split(/(?<= \.) /);
      begin.replaceChildren(...sentences.slice(0, -LAST).join(" ").split(" ").flatMap(coloured));
      end.replaceChildren(...sentences.slice(-LAST).join(" ").split(" ").flatMap(coloured));
    });
  }

  function draw() {
    const [story, heads] = [ui.get("story"), ui.get("heads")];
    const { names: [a, b], runs, second } = stories[story];
    if (shown.story !== story) read(stories[story]), (shown = { story, heads: [] });
    if (keyOf(heads) in found[story]) {
      [shown.heads, wanted] = [heads, ""];
      delete ui.stage.dataset.busy;
      retext(state, keyOf(heads) in runs ? told(WORDS.recorded, { size: megabytes(ui.get("size")) }) : WORDS.computed);
    } else if (wanted !== `${story} ${keyOf(heads)}`) compute(story, heads);
    all.forEach((head, i) => {
      const part = share(runs[nameOf(head)], runs[""], second);
      cells[i].style.setProperty("--w", clamp(part, 0, 1).toFixed(3));
      retext(cells[i], two(part));
      set(cells[i], { "aria-pressed": String(isIn(heads, head)), "aria-label": told(WORDS.cell, { layer: layerOf(head[0]), head: headOf(head[1]), share: two(part) }) });
    });
    const run = found[story][keyOf(shown.heads)];
    const [pa, pb, p] = [run[0], run[1], run[3]].map(Math.exp);
    morph(bars, [[a, pa], [b, pb], [run[2], p]].map(([word, x], i) => h("div", { class: HUES[i], style: `--w:${x.toFixed(4)}` }, h("span", {}, word), h("i", {}), h("small", {}, two(x)))));
    const count = Math.min(shown.heads.length, 2);
    const whose = told(shared.patched[count], { heads: shown.heads.map(nameOf).join(", ").replace(/, (?=\S+$)/, shared.and) });
    const way = count ? told(shared.way, { share: two(share(run, runs[""], second)), a, b }) : "";
    ui.say(...told(shared.told, { patched: whose, a: h("span", { class: HUES[0] }, a), b: h("span", { class: HUES[1] }, b), pa: h("b", {}, two(pa)), pb: h("b", {}, two(pb)) }), way);
  }

  const csv = () => {
    const { names: [a, b], runs: { "": clean }, second } = stories[ui.get("story")];
    const row = (heads, run) => [heads, ...[run[0], run[1], run[3]].map(Math.exp), run[2], share(run, clean, second)];
    return [["patched", a, b, "other", "word", "share"], ...Object.entries(found[ui.get("story")]).map(([heads, run]) => row(heads || "none", run)), row("second story", second)];
  };
  return ui.start(draw, { csv });
}

export default { render, words: WORDS };

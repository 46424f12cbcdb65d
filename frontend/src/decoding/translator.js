/* Translator widget: translation, attention weights and probabilities of a sentence. It shows a recorded example; the model for
   other sentences is loaded on request: in a page from the book's own folder, in Jupyter from the kernel (`files`). */

import { arriving, asRead, card, clamp, fixed, h, heatmap, indexed, megabytes, onWidth, player, range, renew, retext, s, set, short, sum, tokenRow, told, twinFor, WORDS as KIT } from "../kit/index.js";

const WORDS = {
  sentence: "English",
  examples: "example",
  failing: "where it fails",
  fails: "It fails here: {why}.",
  own: "your own",
  by: "written",
  ways: { greedy: "greedily", beam: "with a beam of 4", sample: "at random" },
  word: "word",
  breaking: "Break it",
  temperature: "temperature",
  topP: "top-p",
  again: "Draw again",
  draw: "draw {number}",
  nothing: "Type a sentence, and it is translated.",
  write: "written, with probabilities",
  read: "attention while writing {word}",
  begin: "⟨begin⟩",
  place: "attention",
  map: "Attention: queries down, keys across",
  layer: "layer",
  head: "head",
  mean: "all, averaged",
  part: "The map shows {most} words around the chosen one, out of {rows} × {cols}.",
  cell: "{query} looks at {key}: {weight}",
  rivals: "Candidates in place of {word}",
  broken: "broken:",
  same: "the same",
  offer: "Remove a part to see what changes.",
  told: "{word} has probability {p}; it looks at {looks}.",
  nowhere: "nothing: this layer is off",
  changes: "changes {changed} of {trials}",
  why: "Decoding word by word leaves nothing to hide; see {chapter}",
  chapter: "Masking",
  parts: { positions: "positions", scale: "division by √d_k", causal: "causal mask", cross: "cross-attention", residuals: "residual connections" },
  layers: { encoder: "encoder layer {layer}", decoder: "decoder layer {layer}" },
  heads: "Heads: the darker, the more sentences change",
  rows: { "encoder.self": "encoder {layer}", "decoder.self": "decoder {layer}", "decoder.cross": "cross {layer}" },
  one: "{row}, head {head}",
  branches: { tree: "What the beam kept, step by step", step: "step {step}", end: "⟨end⟩" },
};

const [MOST_LOOKS, WAIT, said] = [3, 120, KIT];
const kit = { asRead, clamp, fixed, h, indexed, onWidth, range, s, set, short, told }; // what the machine draws with

const MOST_WORDS = 30; // rows and columns of a map: three hundred words would be ninety thousand cells
const two = fixed(2);

/* Weight of key j for query i in one head, counted from 1, or with 0 the mean of all; null if the layer is switched off. */
export function chosen(layers, layer, head) {
  const heads = layers[layer];
  return heads ? (i, j) => (head ? heads[head - 1][i][j] : sum(heads.map((each) => each[i][j])) / heads.length) : null;
}

/* First of the MOST_WORDS of `count` words that a map shows: unchanged if `here` is among them. */
function from(before, here, count) {
  const last = Math.max(0, count - MOST_WORDS);
  return before <= last && here >= before && here < before + MOST_WORDS ? before : clamp(here - MOST_WORDS / 2, 0, last);
}

/* Whether a model of this size has the part that is to be switched off. */
function isPart(name, layers, heads) {
  const [, stack, layer, kind, head] = name.match(/^(encoder|decoder)\.(\d+)(?:\.(self|cross)_attention\.(\d+))?$/) ?? [];
  return Object.hasOwn(WORDS.parts, name) || (stack && layer < layers && (!kind || (head < heads && `${stack}.${kind}` in WORDS.rows)));
}

function render({ model, el }) {
  const first = () => model.get("found");
  const [layers, heads] = [first().weights.cross.length, first().weights.cross[0].length];
  const ui = card({
    model, el, state: ["sentence", "by", "temperature", "top_p", "seed", "place", "layer", "head", "value", "breaking", "off"],
    fits: { seed: (n) => Number.isInteger(n) && n >= 0 && n < 1e6, off: (names) => names.split(",").filter(Boolean).every((name) => isPart(name, layers, heads)) },
  });
  let [shown, whole] = [first(), null]; // the displayed result; the whole model's output, shown beside that of a broken one
  let [machine, coming, wish, news] = [null, null, 0, ""];
  let [weights, axes, top, left] = [[], [], 0, 0]; // the weights and axes of the map, and where its visible part begins
  const isRecorded = () => ui.get("sentence") === first().sentence && ui.get("by") === "beam" && !ui.get("breaking");
  const off = () => (ui.get("breaking") ? ui.get("off").split(",").filter(Boolean) : []);
  const words = () => [shown.source, shown.target].map((tokens) => tokens.map((token) => asRead(token, tokens)));

  ui.text("sentence", { label: WORDS.sentence, most: 600 });
  const [failures, good] = [new Map(ui.get("failures")), ui.get("examples").length];
  const examples = [...ui.get("examples"), ...failures.keys()];
  const options = [...examples, WORDS.own].map((text, i) => [i, text]);
  if (examples[good]) options.splice(good, examples.length - good, [WORDS.failing, options.slice(good, -1)]);
  ui.select("example", { label: WORDS.examples, options });
  ui.select("by", { label: WORDS.by, options: Object.entries(WORDS.ways) });
  const slider = player(ui, "value", { label: WORDS.word, min: 0, max: shown.target.length - 1, open: true, format: (i) => words()[1][i] ?? "" });
  ui.toggle("breaking", { label: WORDS.breaking });

  const state = h("p", { class: "tfm-caption tfm-state", role: "status" });
  const [outcome, chance, draws] = [h("p", { class: "tfm-outcome", "aria-live": "polite" }), h("div", { class: "tfm-row" }), h("span", { class: "tfm-caption" })];
  const target = tokenRow(ui, { tokens: words()[1], name: "written", label: WORDS.write, hover: true, onFocus: (value) => ui.set({ value }) });
  target.el.lang = "fr";
  const [reads, source, places] = [h("p", { class: "tfm-caption" }), h("div", { class: "tfm-tokens tfm-weighted" }), h("div", { class: "tfm-row" })];
  const map = heatmap(ui, {
    rows: words()[1], cols: words()[0], name: "weights", label: WORDS.map, onFocus: (i) => ui.get("place") !== "encoder" && ui.set({ value: top + i }),
    text: (i, j) => two(weights[i][j]), describe: (i, j) => told(WORDS.cell, { query: axes[0][i], key: axes[1][j], weight: two(weights[i][j]) }),
  });
  const part = h("p", { class: "tfm-caption" });
  const [rivalsOf, rivals, beam] = [h("p", { class: "tfm-caption" }), h("div", { class: "tfm-rivals", lang: "fr" }), h("div", { hidden: true }, h("p", { class: "tfm-caption" }, WORDS.branches.tree))];
  const panel = h("div", { class: "tfm-fold", role: "group", "aria-label": WORDS.breaking, "data-control": "off" });
  const inside = [h("div", {}, h("p", { class: "tfm-caption" }, WORDS.write), target.el), h("div", { class: "tfm-again" }, reads, source),
    h("div", { class: "tfm-columns" }, h("div", {}, places, map.el, part), h("div", {}, rivalsOf, rivals, beam))];
  ui.stage.append(state, chance, outcome, panel, ...inside);
  const into = (box, ...made) => (box.append(...made.map(({ el }) => el)), made);
  const knobs = into(chance,
    ui.slider("temperature", { label: WORDS.temperature, min: 0.1, max: 2, step: 0.1, format: fixed(1) }),
    ui.slider("top_p", { label: WORDS.topP, min: 0.05, max: 1, step: 0.05, format: two }),
    ui.button("seed", { label: WORDS.again, onclick: () => ui.set({ seed: ui.get("seed") + 1 }) }));
  chance.append(draws);
  into(places,
    ui.select("place", { label: WORDS.place, options: Object.entries(ui.get("shared").places) }),
    ui.select("layer", { label: WORDS.layer, options: range(layers).map((l) => [l, l + 1]) }),
    ui.select("head", { label: WORDS.head, options: [[0, WORDS.mean], ...range(heads).map((k) => [k + 1, k + 1])] }));

  /* Keep room for both sentences and one more line: longer text scrolls, and the switches do not move. */
  function fit() {
    set(outcome, { style: ui.get("breaking") && `height:${2 * outcome.firstChild.clientHeight + 44}px` });
    set(outcome, { tabindex: outcome.scrollHeight > outcome.clientHeight && 0 });
  }
  ui.until(onWidth(outcome, fit));

  /* Load the model, on request: once, or again after it failed. */
  function come() {
    coming ??= fetched().catch((error) => {
      coming = null;
      throw error;
    });
    return coming;
  }
  async function fetched() {
    const [twin, files] = await twinFor(ui, (share) => isRecorded() || tell(arriving(share)));
    const parts = twin.switches(kit, { words: WORDS, shape: [layers, heads], counts: ui.get("switches"), onFlip: flip });
    machine = { twin, parts, ...(await twin.start(files)), branches: twin.tree(kit, WORDS.branches, ui.until) };
    panel.append(...parts.nodes);
    beam.append(machine.branches.el);
  }
  function flip(name) {
    const now = off();
    ui.set({ off: (now.includes(name) ? now.filter((other) => other !== name) : [...now, name]).join(",") });
  }
  const tell = (text) => retext(state, (news = text));

  /* Only the newest request counts; results of older ones are dropped. */
  async function translate() {
    const mine = ++wish;
    ui.stage.dataset.busy = "";
    try {
      await come();
      const how = { by: ui.get("by"), beam: 4, alpha: 0.6, temperature: ui.get("temperature"), topP: ui.get("top_p"), seed: ui.get("seed") };
      const ask = (names) => machine.ask({ sentence: ui.get("sentence"), how, broken: machine.twin.broken(names) }, (grown) => mine === wish && show(grown));
      const names = off();
      const sound = mine === wish && names.length ? await ask([]) : null;
      const found = mine === wish && (await ask(names));
      if (mine !== wish || !found) return;
      [shown, whole, news] = [found, sound, ""];
    } catch (error) {
      if (mine === wish) [shown, whole, news] = [first(), null, `${told(said.failed, { error: error.message })} ${said.stays}`];
    }
    if (mine !== wish) return;
    settle();
  }
  function settle() {
    delete ui.stage.dataset.busy;
    if (ui.get("value") >= shown.target.length) ui.set({ value: Math.max(0, shown.target.length - 1) });
    draw();
  }
  const show = ({ target: pieces }) => {
    set(outcome, { "aria-live": "off" }); // a growing translation is announced when it is complete
    outcome.querySelector("b:last-of-type").replaceChildren(pieces.join("").replaceAll("▁", " ").trim());
  };

  let timer;
  function changed() {
    clearTimeout(timer);
    wish++;
    if (isRecorded()) {
      [shown, whole, news] = [first(), null, ""];
      return settle();
    }
    ui.stage.dataset.busy = "";
    timer = setTimeout(translate, machine ? 0 : WAIT);
  }
  ui.on("example", () => examples[ui.get("example")] && ui.set({ sentence: examples[ui.get("example")] }));
  const match = () => {
    const at = examples.indexOf(ui.get("sentence"));
    ui.set({ example: at < 0 ? examples.length : at });
  };
  ui.on("sentence", match);
  match(); // a link may have brought another sentence
  for (const trait of ["sentence", "by", "temperature", "top_p", "seed", "breaking", "off", "found"]) ui.on(trait, changed);
  ui.until(() => clearTimeout(timer));

  function draw() {
    const [read, written] = words();
    const i = clamp(ui.get("value"), 0, Math.max(0, written.length - 1));
    const why = ui.get("by") === "beam" && !whole && failures.get(shown.sentence);
    const live = why ? `${said.running} ${told(WORDS.fails, { why })}` : said.running;
    retext(state, news || said.doubts[shown.doubts?.[0]] || (written.length ? (shown === first() ? told(said.recorded, { size: megabytes(ui.get("size")) }) : live) : WORDS.nothing));
    const isChance = ui.get("by") === "sample";
    chance.hidden = !isChance;
    knobs.forEach((knob) => knob.enable(isChance));
    draws.textContent = told(WORDS.draw, { number: ui.get("seed") + 1 });
    panel.hidden = panel.disabled = !ui.get("breaking") || !machine;
    machine?.parts.show(off());
    set(outcome, { "aria-live": "polite" });
    renew(outcome, ...results());
    fit();
    slider.upTo(Math.max(0, written.length - 1), i);
    inside.forEach((part) => (part.hidden = !written.length));
    if (!written.length) return ui.say();
    target.update({ focus: i, tokens: written, weights: shown.told.map(({ p }) => p) });
    const seen = chosen(shown.weights.cross, ui.get("layer"), ui.get("head"));
    const crossed = read.map((_, j) => seen?.(i, j) ?? 0);
    source.replaceChildren(...read.map((word, j) => h("span", { class: "tfm-token tfm-k", style: `--w:${crossed[j]}` }, h("span", {}, word), h("i", {}), h("small", {}, two(crossed[j])))));
    reads.replaceChildren(...told(WORDS.read, { word: h("b", { class: "tfm-q" }, written[i]) }));
    const place = ui.get("place");
    const before = [WORDS.begin, ...written.slice(0, -1)];
    const [queries, keys] = { encoder: [read, read], decoder: [before, before], cross: [written, read] }[place];
    const most = crossed.indexOf(Math.max(...crossed));
    [top, left] = [from(top, place === "encoder" ? most : i, queries.length), from(left, place === "decoder" ? i : most, keys.length)];
    axes = [queries.slice(top, top + MOST_WORDS), keys.slice(left, left + MOST_WORDS)];
    const weight = chosen(shown.weights[place], ui.get("layer"), ui.get("head"));
    weights = axes[0].map((_, k) => axes[1].map((_, j) => weight?.(top + k, left + j) ?? 0));
    map.update({ rows: axes[0], cols: axes[1], values: weights, row: place === "encoder" ? undefined : i - top });
    const cut = Math.max(queries.length, keys.length) > MOST_WORDS;
    retext(part, cut ? told(WORDS.part, { most: MOST_WORDS, rows: queries.length, cols: keys.length }) : "");
    rivalsOf.replaceChildren(...told(WORDS.rivals, { word: h("b", { class: "tfm-q" }, written[i]) }));
    rivals.replaceChildren(...shown.told[i].rivals.map(({ piece, p }) => h("div", { style: `--w:${p}`, class: p === shown.told[i].p && "tfm-here" }, h("span", {}, asRead(piece, shown.target)), h("i", {}), h("small", {}, two(p)))));
    beam.hidden = !shown.steps?.length;
    if (!beam.hidden) machine.branches.show(shown.steps, i + 1);
    const looks = seen ? range(read.length).sort((a, b) => crossed[b] - crossed[a]).slice(0, MOST_LOOKS).map((j) => `${read[j]} ${two(crossed[j])}`).join(" · ") : WORDS.nowhere;
    ui.say(...told(WORDS.told, { word: h("b", { class: "tfm-q" }, written[i]), p: two(shown.told[i].p), looks }));
  }

  function results() {
    const translation = (found) => found.translation || ui.get("shared").nothing;
    const text = (words) => h("b", { lang: "fr" }, words);
    if (!whole) return [text(translation(shown)), ui.get("breaking") ? h("span", {}, WORDS.offer) : ""];
    if (whole.translation === shown.translation) return [text(translation(whole)), h("span", {}, WORDS.broken), h("span", {}, WORDS.same)];
    const [sound, damaged] = machine.twin.compared(translation(whole), translation(shown)).map((side) => side.flatMap(([word, alone], k) => [k ? " " : "", alone ? h("u", {}, word) : word]));
    return [text(sound), h("span", { class: "tfm-bad" }, WORDS.broken), h("b", { class: "tfm-bad", lang: "fr" }, damaged)];
  }

  const csv = () => {
    const [read, written] = words();
    const weight = chosen(shown.weights.cross, ui.get("layer"), ui.get("head"));
    return [["written", "probability", ...read.map((word, j) => `${j + 1} ${word}`)], ...written.map((word, i) => [word, shown.told[i].p, ...read.map((_, j) => weight?.(i, j) ?? 0)])];
  };
  if (!isRecorded()) changed(); // a link has brought another sentence
  return ui.start(draw, { csv });
}

export default { render, words: WORDS };

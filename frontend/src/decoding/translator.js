/* Translator: a sentence read, looked at, weighed and written. It shows a recorded example; the model that makes others
   comes on the reader's wish, in a page from the book's own folder, in Jupyter from the kernel (`files`).             */

import * as kit from "../kit/index.js";

const { asRead, card, clamp, fixed, h, heatmap, lazy, range, sum, told, tokenRow } = kit;

const WORDS = {
  sentence: "English",
  examples: "or",
  own: "your own",
  by: "written",
  ways: { greedy: "greedily", beam: "by a beam of 4", sample: "by chance" },
  word: "word",
  temperature: "temperature",
  topP: "top-p",
  again: "Draw again",
  recorded: "Recorded when the book was built.",
  start: "Start the machine",
  size: "{size} MB, from this book’s own folder, once",
  loading: "{percent} %",
  failed: "It did not start: {error} The recorded example stays.",
  live: "The machine runs in your browser.",
  doubts: {
    long: "This sentence is longer than the model has positions for; shorten it.",
    script: "It holds letters of another alphabet, which this model cannot read; it can only copy them.",
    signs: "It is mostly signs that this model does not know; it can only copy them.",
  },
  nothing: "Type a sentence, and it is translated.",
  read: "reads: what it looks at while it writes {word}",
  write: "writes: how sure it is of each word",
  place: "attention",
  layer: "layer",
  head: "head",
  mean: "all, averaged",
  map: "Attention weights of the chosen heads",
  cell: "{query} looks at {key}: {weight}",
  rivals: "In the place of {word} it weighed",
  broken: "broken: ",
  unchanged: "the same",
  break: "Break it",
  tree: "What the beam kept at each step",
  told: "{word} has probability {p}; it looks at {looks}.",
  switches: {
    changes: "changes {changed} of {trials}",
    why: "A cache cannot see ahead, so nothing is left to hide: it matters in training.",
    parts: { positions: "positions", scale: "the division by √d_k", causal: "the causal mask", cross: "cross-attention", residuals: "residual connections" },
    layer: "{stack} layer {layer}",
    row: "{kind}, layer {layer}",
    head: "head",
    heads: "Heads, darker where more of 200 test sentences change:",
    encoder: "encoder",
    decoder: "decoder",
    encoderself_attention: "encoder",
    decoderself_attention: "decoder",
    decodercross_attention: "cross",
  },
  branches: { tree: "What the beam kept, step by step", step: "step {step}", end: "⟨end⟩" },
};

const [MOST_LOOKS, WAIT] = [3, 120];
const two = fixed(2);

/* The weights of one head, or the mean of all, as rows; a layer that is switched off has none. */
export function chosen(layers, layer, head) {
  const heads = layers[layer];
  if (!heads) return null;
  return head ? heads[head - 1].map((row) => [...row]) : heads[0].map((row, i) => [...row].map((_, j) => sum(heads.map((each) => each[i][j])) / heads.length));
}

function render({ model, el }) {
  const ui = card({ model, el, state: ["sentence", "example", "by", "temperature", "top_p", "seed", "place", "layer", "head", "value", "off"] });
  let shown = ui.get("found"); // what is on the stage
  let [live, starting, parts] = [null, null, null];
  let whole = null; // what the whole machine writes, beside a broken one
  const asked = () => ({ sentence: ui.get("sentence"), how: { by: ui.get("by"), beam: 4, alpha: 0.6, temperature: ui.get("temperature"), topP: ui.get("top_p"), seed: ui.get("seed") } });
  const isRecorded = () => ui.get("sentence") === ui.get("found").sentence && ui.get("by") === "beam" && !ui.get("off");
  const words = () => [shown.source, shown.target].map((tokens) => tokens.map((token) => asRead(token, tokens)));

  ui.text("sentence", { label: WORDS.sentence, most: 600 });
  const examples = ui.get("examples");
  ui.select("example", { label: WORDS.examples, options: [...examples, WORDS.own].map((text, i) => [i, text]) });
  ui.on("example", () => examples[ui.get("example")] && ui.set({ sentence: examples[ui.get("example")] }));
  ui.on("sentence", () => {
    const at = examples.indexOf(ui.get("sentence"));
    ui.set({ example: at < 0 ? examples.length : at });
  });
  ui.select("by", { label: WORDS.by, options: Object.entries(WORDS.ways) });
  const slider = ui.slider("value", { label: WORDS.word, min: 0, max: shown.target.length - 1, format: (i) => words()[1][i] ?? "" });

  const state = h("p", { class: "tfm-caption tfm-state", role: "status" });
  const button = h("button", { type: "button", class: "tfm-button tfm-go", "data-control": "start", onclick: () => begin() }, WORDS.start);
  const bar = h("progress", { max: 1, value: 0, hidden: true });
  const chance = h("div", { class: "tfm-row", hidden: true });
  const broken = h("details", { class: "tfm-fold" }, h("summary", { "data-control": "break" }, WORDS.break));
  broken.addEventListener("toggle", () => broken.open && begin());
  const outcome = h("p", { class: "tfm-outcome" });
  const reads = h("p", { class: "tfm-caption" });
  const writes = h("p", { class: "tfm-caption" }, WORDS.write);
  const source = tokenRow(ui, { tokens: words()[0], name: "source", label: WORDS.sentence, kind: "k", onFocus: () => {} });
  const target = tokenRow(ui, { tokens: words()[1], name: "value", label: WORDS.write, kind: "q", hover: true, onFocus: (value) => ui.set({ value }) });
  const places = h("div", { class: "tfm-row" });
  const map = heatmap(ui, {
    rows: words()[1], cols: words()[0], name: "weights", label: WORDS.map, onFocus: (i) => ui.get("place") !== "encoder" && ui.set({ value: i }),
    text: (i, j) => two(weights[i][j]), describe: (i, j) => told(WORDS.cell, { query: axes[0][i], key: axes[1][j], weight: two(weights[i][j]) }),
  });
  const [rivalsOf, rivals, beam] = [h("p", { class: "tfm-caption" }), h("div", { class: "tfm-rivals" }), h("div", {})];
  ui.stage.append(h("div", { class: "tfm-row" }, state, button, bar), chance, outcome, broken, h("div", {}, writes, target.el), h("div", {}, reads, source.el),
    h("div", { class: "tfm-columns" }, h("div", {}, places, map.el), h("div", {}, rivalsOf, rivals, beam)));
  const aside = (box, made) => box.append(made.el);
  aside(chance, ui.slider("temperature", { label: WORDS.temperature, min: 0.1, max: 2, step: 0.1, format: fixed(1) }));
  aside(chance, ui.slider("top_p", { label: WORDS.topP, min: 0.05, max: 1, step: 0.05, format: two }));
  aside(chance, ui.button("seed", { label: WORDS.again, onclick: () => ui.set({ seed: ui.get("seed") + 1 }) }));
  aside(places, ui.select("place", { label: WORDS.place, options: Object.entries(ui.get("shared").places) }));
  aside(places, ui.select("layer", { label: WORDS.layer, options: range(shown.weights.cross.length).map((l) => [l, l + 1]) }));
  aside(places, ui.select("head", { label: WORDS.head, options: [[0, WORDS.mean], ...range(shown.weights.cross[0].length).map((k) => [k + 1, k + 1])] }));

  let [weights, axes] = [[], []];

  /* The machine, on the reader's wish. */
  function begin() {
    starting ??= load().catch((error) => {
      starting = null;
      button.hidden = false;
      bar.hidden = true;
      state.textContent = told(WORDS.failed, { error: error.message });
    });
    return starting;
  }
  async function load() {
    button.hidden = true;
    bar.hidden = false;
    const files = await (ui.get("kernel") ? fromKernel() : lazy("twin.js").then(() => globalThis.tfmTwin.shipped(lazy, (share) => {
      bar.value = share;
      state.textContent = told(WORDS.loading, { percent: Math.round(100 * share) });
    })));
    const twin = globalThis.tfmTwin;
    live = await twin.start(files);
    parts = twin.switches(kit, { words: WORDS.switches, config: files.config.model, recorded: ui.get("switches"), onChange: (off) => ui.set({ off }) });
    broken.append(parts.el);
    const branches = twin.tree(kit, WORDS.branches, ui.until);
    beam.append(h("p", { class: "tfm-caption" }, WORDS.tree), branches.el);
    beam.branches = branches;
    bar.hidden = true;
    await translate();
  }
  function fromKernel() {
    return new Promise((resolve) => {
      ui.on("files", () => resolve(taken(ui.get("files"))));
      ui.set({ wanted: true });
    });
  }
  function taken({ twin, bytes, ...files }) {
    globalThis.tfmTwin ?? (0, globalThis.eval)(twin);
    return { ...files, bytes: new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) };
  }

  async function translate() {
    if (!live) return;
    const off = ui.get("off");
    const ask = (now) => live.ask({ ...asked(), broken: globalThis.tfmTwin.broken(now) }, (grown) => (outcome.firstChild.textContent = grown.target.join("").replaceAll("▁", " ").trim()));
    const sound = off ? await ask("") : null;
    const found = off && !sound ? null : await ask(off);
    if (!found) return; // a newer sentence is on its way
    whole = sound;
    shown = found;
    if (ui.get("value") >= shown.target.length) ui.set({ value: Math.max(0, shown.target.length - 1) });
    draw();
  }
  let timer;
  function changed() {
    if (isRecorded() && !live) return void ((shown = ui.get("found")), draw());
    clearTimeout(timer);
    timer = setTimeout(() => (live ? translate() : begin()), live ? 0 : WAIT);
  }
  for (const trait of ["sentence", "by", "temperature", "top_p", "seed", "off"]) ui.on(trait, changed);
  ui.until(() => clearTimeout(timer));

  function draw() {
    const [read, written] = words();
    const i = clamp(ui.get("value"), 0, Math.max(0, written.length - 1));
    const empty = !written.length;
    state.textContent = shown.doubts?.length ? WORDS.doubts[shown.doubts[0]] : empty && live ? WORDS.nothing : live ? WORDS.live : `${WORDS.recorded} ${told(WORDS.size, { size: ui.get("size") })}`;
    chance.hidden = ui.get("by") !== "sample";
    parts?.show(ui.get("off"));
    outcome.replaceChildren(...compared());
    if (empty) return;
    set_slider(written);
    target.update({ focus: i, tokens: written, weights: shown.told.map(({ p }) => p) });
    const place = ui.get("place");
    const crossed = chosen(shown.weights.cross, ui.get("layer"), ui.get("head"));
    source.update({ focus: -1, tokens: read, weights: crossed?.[i] ?? read.map(() => 0) });
    reads.replaceChildren(...told(WORDS.read, { word: h("b", { class: "tfm-q" }, written[i]) }));
    const before = ["⟨begin⟩", ...written.slice(0, -1)];
    axes = { encoder: [read, read], decoder: [before, before], cross: [before.map((_, k) => written[k]), read] }[place];
    weights = chosen(shown.weights[place], ui.get("layer"), ui.get("head")) ?? axes[0].map(() => axes[1].map(() => 0));
    map.update({ rows: axes[0], cols: axes[1], values: weights, row: place === "encoder" ? undefined : i, max: 1 });
    drawRivals(written[i], shown.told[i]);
    if (beam.branches) beam.branches.show(shown.steps ?? [], i + 1);
    beam.hidden = !shown.steps?.length;
    const order = range(read.length).sort((a, b) => (crossed?.[i][b] ?? 0) - (crossed?.[i][a] ?? 0)).slice(0, MOST_LOOKS);
    ui.say(...told(WORDS.told, { word: h("b", { class: "tfm-q" }, written[i]), p: two(shown.told[i].p), looks: order.map((j) => `${read[j]} ${two(crossed?.[i][j] ?? 0)}`).join(" · ") }));
  }
  const set_slider = (written) => {
    const input = slider.el.querySelector("input");
    input.max = written.length - 1;
    slider.show(clamp(ui.get("value"), 0, written.length - 1));
  };

  function compared() {
    const text = (found, kind) => h("b", { class: kind, lang: "fr" }, found.translation || ui.get("shared").nothing);
    if (!whole || !ui.get("off")) return [text(shown)];
    const same = whole.translation === shown.translation;
    return [text(whole), h("span", { class: same ? "" : "tfm-bad" }, WORDS.broken), same ? h("span", {}, WORDS.unchanged) : text(shown, "tfm-bad")];
  }

  function drawRivals(word, { rivals: all, p }) {
    rivalsOf.replaceChildren(...told(WORDS.rivals, { word: h("b", { class: "tfm-q" }, word) }));
    rivals.replaceChildren(...all.map(({ piece, p: own }) => {
      const row = h("div", {}, h("span", { lang: "fr" }, asRead(piece, shown.target)), h("i", {}), h("small", {}, two(own)));
      row.style.setProperty("--w", own);
      row.classList.toggle("tfm-here", own === p);
      return row;
    }));
  }

  const csv = () => {
    const [read, written] = words();
    const rows = chosen(shown.weights.cross, ui.get("layer"), ui.get("head")) ?? [];
    return [["written", "probability", ...read], ...written.map((word, i) => [word, shown.told[i].p, ...(rows[i] ?? [])])];
  };
  return ui.start(draw, { watch: ["found"], csv });
}

export default { render, words: WORDS };

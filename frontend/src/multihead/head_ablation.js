/* Head-ablation widget: heads of the trained translator, switched off one at a time, by layers, or in an order; measured results. */

import { below, card, clamp, fixed, h, legend, live, player, plot, radios, range, signed, sum, told } from "../kit/index.js";

const WORDS = {
  grid: "Heads: choose one to switch it off",
  cell: "{layer}, head {head}",
  costs: "costs {cost} BLEU",
  untried: "not tried",
  place: "rank {place}",
  off: "off",
  on: "on",
  loss: "loss in nats per token",
  curve: "Loss against the number of heads that are off",
  key: "{greedy} · dotted: ranked once · grey: {random} random orders · dashed: {added}",
  greedy: "solid: least important first, ranked again after every eight",
  alone: "BLEU lost",
  restore: "All heads on",
  guess: "your guess",
  some: "{count} of {all}",
  unmade: "none yet",
  reveal: "show every cost",
  heads: "Heads 1 to 8 of each layer · BLEU lost without each",
  layers: "Choose a head to switch off its whole layer · the numbers: BLEU lost without that head alone",
  order: "Heads 1 to 8 of each layer · rank, least important first",
  changed: "now: {text}",
  same: "the same",
  found: "{count} of {all} heads cost more than {worth} BLEU, one at a time{yours}",
  yours: " · your guess {guess}",
  guessed: "your guess: {guess} of {all} heads cost more than {worth} BLEU, one at a time",
  asked: "Guess with the slider, then set “off” to one head and press heads: each shows what it costs.",
  all: "all {all} heads on",
  whole: "{all} · loss {loss} nats · BLEU {bleu}",
  without: {
    head: "without head {head} of {layer}",
    layer: "without {layer}",
    order: "without {count} of {all} heads",
  },
  change: "loss {whole} → {loss} nats ({grown}) · BLEU {best} → {bleu} ({lost})",
  summed: "one at a time, these heads cost {summed} nats in all",
};

const WORTH = 1; // BLEU, as in tfm_lib.widgets.multihead

const [one, three] = [fixed(1), fixed(3)];

/* The heads that are off, and the result without them: [loss, BLEU, our sentences whose translation changed]. */
export function stateOf(measured, mode, value, removed) {
  const { n_heads, whole, heads, layers, order, stops, pruned } = measured;
  if (mode === "order") return { off: order.slice(0, removed), entry: pruned[stops.indexOf(removed)] };
  if (value < 0) return { off: [], entry: [whole[0], whole[1], whole[2].map(() => null)] };
  if (mode === "head") return { off: [value], entry: heads[value] };
  const row = Math.floor(value / n_heads);
  return { off: range(n_heads).map((k) => row * n_heads + k), entry: layers[row] };
}

/* Difference from the whole model, as tfm_lib.widgets.multihead.cost. */
export const cost = (measured, entry, off) => ({
  loss: entry[0] - measured.whole[0],
  bleu: entry[1] - measured.whole[1],
  summed: sum(off.map((i) => measured.heads[i][0] - measured.whole[0])),
});

export const worth = ({ heads, whole }) => heads.filter((entry) => whole[1] - entry[1] > WORTH).length;

/* Place, layer and head of head i, counted from 1. */
export function nameOf({ places, n_layers, n_heads }, i, { kinds, layer }) {
  const row = Math.floor(i / n_heads);
  return { head: (i % n_heads) + 1, layer: told(layer, { layer: (row % n_layers) + 1, kind: kinds[places[Math.floor(row / n_layers)]] }) };
}

/* The path of head i in the model, as in tfm_lib. */
export function pathOf({ places, n_layers, n_heads }, i) {
  const row = Math.floor(i / n_heads);
  const [stack, kind] = { encoder: ["encoder", "self"], decoder: ["decoder", "self"], cross: ["decoder", "cross"] }[places[Math.floor(row / n_layers)]];
  return `${stack}.${row % n_layers}.${kind}_attention.${i % n_heads}`;
}

function render({ model, el }) {
  const ui = card({ model, el, state: ["sentence", "mode", "value", "removed", "guess", "reveal", "tried"], fits: { value: (head) => head === -1 || below(() => model.get("measured").heads.length)(head) } });
  const data = ui.get("measured");
  const shared = ui.get("shared");
  const { modes, places, off: headsOff, added: ifAdded } = shared;
  const [n, across] = [data.heads.length, data.n_heads];
  const lost = data.heads.map((entry) => data.whole[1] - entry[1]);
  const top = Math.max(...lost, 1e-9);
  const rank = range(n).map((i) => data.order.indexOf(i));
  const now = () => {
    const mode = modes[ui.get("mode")] ? ui.get("mode") : "head";
    const [value, wanted] = [clamp(ui.get("value"), -1, n - 1), ui.get("removed")];
    const removed = data.stops.includes(wanted) ? wanted : 0;
    return { mode, value, removed, ...stateOf(data, mode, value, removed) };
  };

  function choose(i) {
    const mode = ui.get("mode");
    if (mode === "order") return ui.set({ value: i, removed: data.stops.find((stop) => stop > rank[i]) });
    const tried = ui.get("tried");
    ui.set({ value: i, ...(mode === "head" && !tried.includes(i) ? { tried: [...tried, i] } : {}) });
  }

  const own = live(ui, { ask: () => ({ do: "ablation", off: now().off.map((i) => pathOf(data, i)) }), watch: ["mode", "value", "removed"] });
  const cells = range(n).map(() => h("div", { class: "tfm-switch" }));
  const grid = h("div", { class: "tfm-switches", role: "radiogroup", "aria-label": WORDS.grid, style: `white-space:nowrap;grid-template-columns:auto repeat(${across},minmax(0,46px))` });
  const group = radios(grid, { name: "value", onFocus: choose });
  const rows = range(n / across).map((row) => [
    h("span", { class: "tfm-caption", "aria-hidden": "true" }, `${places[data.places[Math.floor(row / data.n_layers)]]} ${(row % data.n_layers) + 1}`),
    ...cells.slice(row * across, (row + 1) * across),
  ]);
  grid.append(...rows.flat());
  const label = (i) => told(WORDS.cell, nameOf(data, i, shared));
  group.adopt(cells, cells.map((_, i) => label(i)), across);

  const curve = plot(ui, {
    x: { label: headsOff, domain: [0, n] },
    y: { label: WORDS.loss, domain: [0, Math.ceil(Math.max(...data.random.flat(), ...data.once, ...data.pruned.map((entry) => entry[0])))] },
    height: 230,
    label: WORDS.curve,
  });
  const chance = data.random.map(() => curve.line({ colour: "soft" }));
  const added = curve.line({ colour: "ink", dash: "5 4" });
  const once = curve.line({ colour: "ink", dash: "1.5 4" });
  const line = curve.line({ colour: "one" });
  const here = curve.dot({ colour: "one", r: 6 });
  const key = h("p", { class: "tfm-caption" }, told(WORDS.key, { greedy: h("span", { class: "tfm-one" }, WORDS.greedy), random: data.random.length, added: ifAdded }));
  const pruning = h("div", {}, key, curve.el);
  const said = [...data.ours, ""].map((source, k) => {
    const [asked, whole, changed] = [h("span", { class: "tfm-caption" }, source), h("div", {}, data.whole[2][k]), h("b", { class: "tfm-bad" })];
    return { el: h("div", { class: "tfm-said" }, asked, whole, changed), asked, whole, changed };
  });
  const mine = said.pop();
  const caption = h("p", { class: "tfm-caption" });
  const scale = legend({ max: one(top), unit: WORDS.alone });
  ui.stage.append(
    h("p", { class: "tfm-caption" }, WORDS.asked),
    h("div", { class: "tfm-columns" }, h("div", {}, caption, grid, scale), h("div", {}, pruning, mine.el, ...said.map((line) => line.el))),
  );

  ui.select("mode", { label: WORDS.off, options: Object.entries(modes) });
  const pace = player(ui, "removed", { pace: 900, label: headsOff, values: data.stops, format: String });
  ui.button("restore", { label: WORDS.restore, onclick: () => ui.set({ value: -1, removed: 0 }) });
  ui.slider("guess", { label: WORDS.guess, min: -1, max: n, format: (count) => (count < 0 ? WORDS.unmade : told(WORDS.some, { count, all: n })) });
  ui.toggle("reveal", { label: WORDS.reveal });

  function draw() {
    const { mode, value, removed, off, entry } = now();
    const [reveal, tried] = [ui.get("reveal"), ui.get("tried")];
    const gone = new Set(off);
    cells.forEach((cell, i) => {
      const known = reveal || tried.includes(i);
      const text = mode === "order" ? String(rank[i] + 1) : known ? one(lost[i]) : "·";
      if (cell.textContent !== text) cell.textContent = text;
      cell.style.setProperty("--w", known ? clamp(lost[i] / top, 0, 1).toFixed(3) : 0);
      cell.classList.toggle("tfm-gone", gone.has(i));
      const price = known ? told(WORDS.costs, { cost: one(lost[i]) }) : WORDS.untried;
      const place = mode === "order" && told(WORDS.place, { place: rank[i] + 1 });
      cell.setAttribute("aria-label", [label(i), price, place, gone.has(i) ? WORDS.off : WORDS.on].filter(Boolean).join(", "));
    });
    group.check(value);
    if (value < 0) cells[0].setAttribute("tabindex", 0);
    caption.textContent = { order: WORDS.order, layer: WORDS.layers, head: WORDS.heads }[mode];
    pace.enable(mode === "order");
    pruning.hidden = mode !== "order";
    if (mode === "order") {
      const along = (losses) => data.stops.map((stop, k) => [stop, losses[k]]);
      data.random.forEach((losses, k) => chance[k](along(losses)));
      added(data.stops.map((stop) => [stop, data.whole[0] + cost(data, data.whole, data.order.slice(0, stop)).summed]));
      once(along(data.once));
      line(along(data.pruned.map((pruned) => pruned[0])));
      here([removed, entry[0]], "");
    }
    said.forEach(({ changed }, k) => {
      const text = entry[2][k] == null ? "" : told(WORDS.changed, { text: entry[2][k] });
      if (changed.textContent !== text) changed.textContent = text;
      changed.style.minHeight = mode === "order" ? "2lh" : ""; // the controls stay where they are while it plays
    });
    mine.el.hidden = !own();
    if (own()) {
      const [whole, left] = ui.get("own");
      const texts = { asked: ui.get("sentence"), whole, changed: off.length ? told(WORDS.changed, { text: left === whole ? WORDS.same : left }) : "" };
      mine.changed.classList.toggle("tfm-bad", left !== whole);
      for (const [part, text] of Object.entries(texts)) mine[part].textContent = text;
    }
    ui.say(...sentence(mode, value, off, entry));
  }

  function sentence(mode, value, off, entry) {
    const change = cost(data, entry, off);
    const guess = ui.get("guess");
    const counts = { count: worth(data), all: n, worth: WORTH, guess, yours: guess >= 0 && told(WORDS.yours, { guess }) };
    const reveal = ui.get("reveal");
    const guessed = reveal || guess >= 0 ? [h("div", {}, told(reveal ? WORDS.found : WORDS.guessed, counts))] : [];
    if (!off.length) return [h("div", {}, told(WORDS.whole, { all: h("b", {}, told(WORDS.all, counts)), loss: three(entry[0]), bleu: one(entry[1]) })), ...guessed];
    const name = told(WORDS.without[mode], { ...nameOf(data, mode === "order" ? 0 : value, shared), count: off.length, all: n });
    const losses = { whole: three(data.whole[0]), loss: three(entry[0]), grown: signed(3)(change.loss) };
    const scores = { best: one(data.whole[1]), bleu: one(entry[1]), lost: signed(1)(change.bleu) };
    return [
      h("div", {}, h("b", {}, name)),
      h("div", {}, told(WORDS.change, { ...losses, ...scores })),
      ...(mode === "head" ? [] : [h("div", {}, told(WORDS.summed, { summed: signed(3)(change.summed) }))]),
      ...guessed,
    ];
  }

  const csv = () => [
    ["off", "loss", "BLEU"],
    ["none", data.whole[0], data.whole[1]],
    ...data.heads.map((entry, i) => [`${label(i)}`, entry[0], entry[1]]),
    ...data.layers.map((entry, row) => [nameOf(data, row * across, shared).layer, entry[0], entry[1]]),
    ...data.pruned.map((entry, k) => [`first ${data.stops[k]} of the order`, entry[0], entry[1]]),
  ];
  return ui.start(draw, { watch: ["own"], csv });
}

export default { render, words: WORDS };

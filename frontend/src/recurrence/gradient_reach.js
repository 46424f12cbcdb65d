/* Gradient-reach widget: a sentence whose words fade with their gradient norm, before and after training, and the curves. */

import { card, clamp, fixed, general, h, many, onWidth, player, plot, range, retext, s, set, told, widthOf } from "../kit/index.js";

const WORDS = {
  sentence: "The fainter a word, the smaller the gradient at its distance: up to a norm of {faintest} it is faintest and not counted, from {loudest} on at full strength, above {loud} red. Choose a word.",
  distance: "distance T − t in words",
  plane: "Gradient norm against distance, one line per model; the chosen model’s line is thick.",
  model: "model",
  when: "curves",
  far: "distance",
  told: "{kind} {stage}, {words} back{word}: the gradient has norm {mean} (seeds from {low} to {high}).",
  word: ", “{word}”",
  rival: " Attention’s has norm {norm}, {ratio}.",
  louder: "{times} times as large",
  fainter: "{times} times smaller",
  below: " The chosen norm lies below the axis, which ends at {end}.",
};

const LOOKS = ["ink", "encoder", "decoder", "one", "two", "three"].map((colour, i) => [colour, [undefined, "8 3", "2 3", undefined, "8 3 2 3", "4 4"][i]]);
const [FAINTEST, LOUDEST, PALEST, LOUD] = [1e-7, 1, 0.07, 10]; // as in tfm_lib.widgets.recurrence
const LINE = 26;
const BROKEN = ["broken", "6 3 2 3"];

/* Geometric mean, minimum and maximum over the seeds, for each distance; rows[seed][distance]. */
export const summary = (rows) =>
  rows[0].map((_, i) => {
    const norms = rows.map((row) => row[i]);
    return {
      mean: Math.exp(norms.reduce((sum, norm) => sum + Math.log(norm), 0) / norms.length),
      low: Math.min(...norms),
      high: Math.max(...norms),
    };
  });

/* Strength of a word with this norm, from 0 to 1, on a logarithmic scale. */
export const strength = (norm) => clamp(Math.log(norm / FAINTEST) / Math.log(LOUDEST / FAINTEST), 0, 1);

/* The norm of each word but the last, at the nearest measured distance. */
export const heard = (norms, distances, count) => range(count - 1).map((i) => norms[nearest(distances, count - 1 - i)]);

export const nearest = (distances, distance) =>
  distances.reduce((best, d, i) => (Math.abs(d - distance) < Math.abs(distances[best] - distance) ? i : best), 0);

/* Format with a few significant digits, as a power of ten if the number is far from 1. */
export const scientific = (x) => (x >= 0.01 && x < 1000 ? String(+x.toPrecision(2)) : x === 0 ? "0" : general(x));

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "kind", "stage"] });
  const [kinds, stages] = [ui.get("kinds"), ui.get("stages")];
  const distances = ui.get("distances");
  const found = Object.fromEntries(kinds.map((kind) => [kind, Object.fromEntries(stages.map((stage, i) => [stage, summary(ui.get("reach")[kind][i])]))]));
  const floor = ui.get("floor");
  const all = kinds.flatMap((kind) => stages.flatMap((stage) => found[kind][stage].flatMap(({ low, high }) => [low, high])));
  const top = 10 ** Math.ceil(Math.log10(Math.max(...all)) + 0.3);
  const bottom = Math.max(floor, 10 ** Math.floor(Math.log10(Math.max(Math.min(...all), floor))));
  const shown = (norm) => Math.max(bottom, norm);

  const plain = kinds.filter((kind) => !kind.includes("×"));
  const look = (kind) => (kind.includes("×") ? BROKEN : kind === "attention" ? LOOKS[3] : LOOKS[plain.indexOf(kind) % LOOKS.length]);
  const plane = plot(ui, {
    x: { label: WORDS.distance, domain: [0, distances.at(-1) + 1] },
    y: { label: ui.get("shared").norm, domain: [bottom, top], log: true },
    height: 270,
    most: 684,
    label: WORDS.plane,
  });
  const lines = kinds.map((kind) => plane.line({ colour: look(kind)[0], dash: look(kind)[1] }));
  const [high, low] = [0, 1].map(() => plane.line({ colour: "soft", dash: "1 3" }));
  const rule = plane.rule({ colour: "soft" });
  const dot = plane.dot({ colour: "ink", r: 6 });
  const key = h("div", { class: "tfm-legend", "aria-hidden": "true" });

  /* A sentence for each stage. Its words can be clicked; keyboard users select them with the slider, and the readout names each. */
  const tokens = ui.get("tokens");
  const backOf = (i) => nearest(distances, tokens.length - 1 - i);
  const sentences = stages.map(() => {
    const words = tokens.map((word, i) => s("text", { class: "tfm-heard", onclick: () => i < tokens.length - 1 && ui.set({ value: distances[backOf(i)] }) }, word));
    words.at(-1).classList.add("tfm-asks");
    const frames = tokens.map(() => s("rect", { class: "tfm-row-light", style: "stroke:var(--tfm-one)", height: LINE - 3, rx: 4 }));
    const title = h("p", { class: "tfm-caption" });
    const svg = s("svg", { class: "tfm-fading", "aria-hidden": "true" }, frames, words);
    const box = h("div", { class: "tfm-figure-box" }, svg);
    ui.until(
      onWidth(box, (width) => {
        let [x, y] = [3, LINE - 8];
        tokens.forEach((word, i) => {
          const wide = widthOf([word], 15);
          if (x + wide > width - 3) [x, y] = [3, y + LINE];
          set(words[i], { x: x.toFixed(1), y });
          set(frames[i], { x: (x - 3).toFixed(1), y: y - LINE + 8, width: (wide + 5).toFixed(1) });
          x += wide + 3;
        });
        set(svg, { width, height: y + 9 });
      }),
    );
    return { title, words, frames, el: h("div", {}, title, box) };
  });
  const scale = h("p", { class: "tfm-caption" }, told(WORDS.sentence, { faintest: general(FAINTEST), loudest: LOUDEST, loud: LOUD }));
  ui.stage.append(h("div", { class: "tfm-columns" }, sentences.map(({ el }) => el)), scale, plane.el, key);
  key.append(
    ...kinds.flatMap((kind) => {
      const swatch = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      swatch.innerHTML = `<path class="tfm-line" style="--c:var(--tfm-${look(kind)[0]})" stroke-dasharray="${look(kind)[1] ?? "none"}" d="M0 6H26"/>`;
      for (const [name, value] of [["width", 26], ["height", 12], ["aria-hidden", "true"]]) swatch.setAttribute(name, value);
      return h("span", { style: "display:inline-flex;gap:6px;align-items:center;margin-right:10px" }, swatch, kind);
    }),
  );

  ui.select("kind", { label: WORDS.model, options: kinds });
  ui.select("stage", { label: WORDS.when, options: stages });
  player(ui, "value", { pace: 600, label: WORDS.far, values: distances, format: (d) => many(ui.get("shared").word, d) });

  function draw() {
    const [kind, stage] = [ui.get("kind"), ui.get("stage")];
    const i = nearest(distances, ui.get("value"));
    const points = (pick) => range(distances.length).map((j) => [distances[j], shown(pick(j))]);
    kinds.forEach((name, j) => {
      lines[j](points((at) => found[name][stage][at].mean));
      const node = plane.layer.children[j];
      node.style.opacity = name === kind ? 1 : 0.8;
      node.firstChild.style.strokeWidth = name === kind ? 3.6 : 1.6;
    });
    high(points((at) => found[kind][stage][at].high));
    low(points((at) => found[kind][stage][at].low));
    sentences.forEach(({ title, words, frames }, k) => {
      const norms = heard(found[kind][stages[k]].map(({ mean }) => mean), distances, tokens.length);
      norms.forEach((norm, j) => {
        words[j].style.setProperty("--w", (PALEST + (1 - PALEST) * strength(norm)).toFixed(3));
        words[j].classList.toggle("tfm-loud", norm > LOUD);
        const framed = backOf(j) === i;
        words[j].style.fillOpacity = framed ? 1 : "";
        set(frames[j], { visibility: framed ? null : "hidden" });
      });
      const text = told(ui.get("shared").heard, { stage: stages[k], heard: norms.filter((norm) => norm > FAINTEST).length, all: norms.length });
      retext(title, text);
    });
    sentences.forEach(({ frames }) => set(frames.at(-1), { visibility: "hidden" }));
    const here = found[kind][stage][i];
    const word = tokens[tokens.length - 1 - distances[i]];
    rule({ x: distances[i] });
    dot([distances[i], shown(here.mean)]);
    const rival = kinds.includes("attention") && kind !== "attention" ? found.attention[stage][i].mean : null;
    ui.say(
      ...told(WORDS.told, { kind: h("b", {}, kind), stage, words: many(ui.get("shared").word, distances[i]), word: word && told(WORDS.word, { word }), mean: scientific(here.mean), low: scientific(here.low), high: scientific(here.high) }),
      rival ? told(WORDS.rival, { norm: scientific(rival), ratio: ratio(rival / here.mean) }) : "",
      here.mean < bottom ? told(WORDS.below, { end: general(bottom) }) : "",
    );
  }

  const csv = () => [
    ["model", "when", "distance", "geometric mean", "least", "greatest"],
    ...kinds.flatMap((kind) => stages.flatMap((stage) => found[kind][stage].map(({ mean, low, high }, i) => [kind, stage, distances[i], mean, low, high]))),
  ];
  return ui.start(draw, { csv });
}

const ratio = (x) => (x >= 1 ? told(WORDS.louder, { times: x < 100 ? fixed(1)(x) : scientific(x) }) : told(WORDS.fainter, { times: x > 0.01 ? fixed(1)(1 / x) : scientific(1 / x) }));

export default { render, words: WORDS };

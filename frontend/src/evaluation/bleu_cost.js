/* BLEU-cost widget: the systems of the paper's table 2 as points, a budget, and a guess before the Transformers are shown. */

import { card, clamp, fixed, h, plot, s, set, told } from "../kit/index.js";

const WORDS = {
  language: "language pair",
  budget: "training budget: operations",
  ensembles: "show ensembles",
  reveal: "show the Transformers",
  bleu: "BLEU",
  plane: "BLEU against the operations of the training, logarithmic axis",
  within: "Best within {budget} operations: ",
  best: "{name} with {bleu}",
  none: "no system in the table",
  guessed: "You guess that the base model reached {guess}, for {cost} operations. ",
  base: "It reached {bleu}.",
  tick: "Then tick “{reveal}”.",
  open: "open circles: ensembles of several models",
  mark: "cross: your guess",
};
const DOMAIN = { de: [22, 30], fr: [36, 43] };
const BUDGET = [1e18, 2e21];
/* Position of a name beside its point: 1 to the right, −1 to the left; and its vertical offset. */
const BESIDE = {
  de: { "MoE single": [-1, 4], "ConvS2S ensemble": [-1, -7] },
  fr: { "MoE single": [-1, -4], "Deep-Att + PosUnk single": [-1, 4], "GNMT + RL single": [-1, 4], "Deep-Att + PosUnk ensemble": [-1, 17], "GNMT + RL ensemble": [-1, 13], "ConvS2S ensemble": [-1, -5] },
};
const one = fixed(1);

/* Systems for which both numbers are known, as tfm_lib.widgets.evaluation.points: name, kind, operations, BLEU. */
export function points(systems, language, ensembles, reveal) {
  const kinds = ["single", ensembles && "ensemble", reveal && "transformer"];
  return systems.filter((system) => kinds.includes(system.kind) && !system[language].includes(null)).map((system) => [system.name, system.kind, ...system[language]]);
}

export const best = (found, budget) => found.filter((point) => point[2] <= budget).reduce((top, point) => (top && top[3] >= point[3] ? top : point), null);

export function power(x) {
  const [digits, exponent] = x.toExponential(1).split("e");
  return `${digits}·10${[...String(Number(exponent))].map((sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign])).join("")}`;
}

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "language", "guess", "ensembles", "reveal"] });
  const shared = ui.get("shared");
  const pair = () => (DOMAIN[ui.get("language")] ? ui.get("language") : "de");
  const now = () => ({
    language: pair(),
    budget: clamp(Number(ui.get("value")) || 2e19, ...BUDGET),
    guess: clamp(Number(ui.get("guess")) || 0, ...DOMAIN[pair()]),
    ensembles: Boolean(ui.get("ensembles")),
    reveal: Boolean(ui.get("reveal")),
  });
  const drawn = ({ language, ensembles, reveal }) => points(ui.get("systems"), language, ensembles, reveal);
  const named = ([name, kind]) => (kind === "transformer" ? told(shared.transformer, { name }) : name);

  const plane = plot(ui, { x: { label: shared.cost, domain: BUDGET, log: true }, y: { label: WORDS.bleu, domain: DOMAIN.de }, height: 300, most: 684, label: WORDS.plane });
  const line = plane.rule({ colour: "soft" });
  const circles = s("g", {});
  const cross = s("path", { class: "tfm-line", style: "--c:var(--tfm-two)" });
  plane.layer.append(circles, cross);
  const open = h("span", {}, " · ", WORDS.open);
  ui.stage.append(plane.el, h("p", { class: "tfm-caption" }, h("span", { class: "tfm-two" }, WORDS.mark), open));

  const slider = ui.slider("guess", { label: shared.guess, min: 22, max: 43, step: 0.1, format: one });
  ui.toggle("reveal", { label: WORDS.reveal });
  ui.slider("value", { label: WORDS.budget, min: BUDGET[0], max: BUDGET[1], step: 0.5, log: true, format: power });
  ui.toggle("ensembles", { label: WORDS.ensembles });
  ui.select("language", { label: WORDS.language, options: Object.entries(shared.languages) });

  ui.on("language", () => now().guess === ui.get("guess") || ui.set({ guess: (DOMAIN[pair()][0] + DOMAIN[pair()][1]) / 2 }));

  const base = ({ language }) => ui.get("systems").find(({ kind }) => kind === "transformer")?.[language];
  const mark = (at) => {
    const state = now();
    const marks = drawn(state).map((point) => {
      const [name, kind, cost, score] = point;
      const [side, down] = BESIDE[state.language][`${name} ${kind}`] ?? [1, 4];
      const [a, b] = [at.x(cost), at.y(score)];
      const colour = `--c:var(--tfm-${cost > state.budget ? "soft" : kind === "transformer" ? "one" : "ink"})`;
      const circle = s("circle", { class: kind === "ensemble" ? "tfm-line" : "tfm-dot", cx: a, cy: b, r: 5, fill: "none", style: colour });
      const words = s("text", { class: "tfm-mark-label", style: `${colour};stroke-width:6px`, x: a + 9 * side, y: b + down, "text-anchor": side > 0 ? "start" : "end" }, name);
      return s("g", {}, circle, words);
    });
    circles.replaceChildren(...marks);
    const [x, y] = [at.x(base(state)?.[0] ?? BUDGET[0]), at.y(state.guess)];
    set(cross, { d: `M${x - 6} ${y - 6}L${x + 6} ${y + 6}M${x - 6} ${y + 6}L${x + 6} ${y - 6}` });
  };
  plane.custom(mark);

  function draw() {
    const state = now();
    const [least, most] = DOMAIN[state.language];
    set(slider.el.querySelector("input"), { min: least });
    slider.upTo(most, state.guess);
    set(open, { hidden: !state.ensembles });
    plane.domain({ y: DOMAIN[state.language] });
    if (plane.at.x) mark(plane.at);
    line({ x: state.budget });
    const top = best(drawn(state), state.budget);
    const first = h("div", {}, told(WORDS.within, { budget: power(state.budget) }), h("b", {}, top ? told(WORDS.best, { name: named(top), bleu: top[3] }) : WORDS.none));
    const [cost, bleu] = base(state) ?? [];
    const guess = told(WORDS.guessed, { guess: one(state.guess), cost: power(cost) });
    ui.say(first, h("div", {}, guess, state.reveal ? told(WORDS.base, { bleu }) : told(WORDS.tick, { reveal: WORDS.reveal })));
  }

  const csv = () => [["system", "kind", "operations", "bleu"], ...drawn(now())];
  return ui.start(draw, { watch: ["systems"], csv });
}

export default { render, words: WORDS };

/* LayerNorm widget: drag the features of one word, and go through the steps of the norm. */

import { below, card, clamp, fixed, general, h, mean, player, plot, range, retext, set as attributes, sum, told } from "../kit/index.js";

const WORDS = {
  word: "Features of one word; drag them, or use the arrow keys.",
  norm: "The same features after each step of the norm.",
  before: "Features to drag. Lines: mean, mean ± σ",
  after: [
    "The same features. Lines: mean, mean ± σ",
    "Minus the mean. Lines: 0, ± σ",
    "Then divided by √(variance + ε). Lines: 0, ± 1",
    "After the norm, times γ, plus β. Lines: β, β ± γ",
  ],
  how: ["unchanged", "minus the mean", "divided by √(variance + ε)", "(γ = {gain}, β = {bias})"],
  raise: "all + 1",
  stretch: "all × 1.25",
  level: "all equal",
  eps: "added ε",
  gain: "gain γ",
  bias: "bias β",
  full: { raise: " One feature is too large to raise them all.", stretch: " One feature is too large to stretch them all." },
  feature: "{feature} {number}",
  told: "{features} · mean {mean} · variance {variance} · √(variance + ε) {spread} with ε {eps} → {how} {normalised} · mean {after}, variance {rest}.{equal}{full}",
  equal: " All features are equal, so the norm divides 0 by √ε, which is 0.",
};

const LIMIT = 12; // features stay between −LIMIT and LIMIT
const [two, one] = [fixed(2), fixed(1)];

/* The two steps of tfm_lib.layers.standardise, with the intermediate results. */
export function standardise(x, eps) {
  const mu = mean(x);
  const variance = sum(x.map((feature) => (feature - mu) ** 2)) / x.length;
  const spread = Math.sqrt(variance + eps);
  return { mu, variance, spread, out: x.map((feature) => (feature - mu) / spread) };
}

/* The features after 0, 1, 2 and 3 steps: minus the mean, divided by the spread, times the gain plus the bias. */
export function stages(x, eps, gain, bias) {
  const { mu, out } = standardise(x, eps);
  return [x, x.map((feature) => feature - mu), out, out.map((z) => gain * z + bias)];
}

/* Change every feature alike, if all stay in range; else null. */
export function together(x, change) {
  const moved = x.map((feature) => +change(feature).toFixed(3));
  return moved.every((feature) => Math.abs(feature) <= LIMIT) ? moved : null;
}

function render({ model, el }) {
  const first = structuredClone(model.get("value"));
  const ui = card({ model, el, state: ["value", "eps", "gain", "bias", "done"], fits: { done: below(4) } });
  const count = first.length;
  const features = () => {
    const value = ui.get("value");
    return Array.isArray(value) && value.length === count && value.every(Number.isFinite) ? value.map((x) => clamp(x, -LIMIT, LIMIT)) : first;
  };
  const eps = () => (ui.get("eps") > 0 ? ui.get("eps") : 1e-5);
  const plain = () => ui.get("gain") === 1 && ui.get("bias") === 0; // as in a new layer, where the last step changes nothing
  const last = () => (plain() ? 2 : 3);
  const done = () => clamp(ui.get("done"), 0, last());
  const set = (i, to) => ui.set({ value: features().map((old, k) => (k === i ? +clamp(to, -LIMIT, LIMIT).toFixed(2) : old)) });
  let full = ""; // the message that a change was out of range

  const { feature, normalised } = ui.get("shared");
  const axis = { label: feature, domain: [0.4, count + 0.6] };
  const left = plot(ui, { x: axis, y: { label: "x", domain: [-LIMIT, LIMIT] }, height: 260, label: WORDS.word });
  const upright = { label: normalised, domain: [-LIMIT, LIMIT] };
  const right = plot(ui, { x: axis, y: upright, height: 260, label: WORDS.norm });
  const stems = range(count).map(() => left.line({ colour: "soft" }));
  const meanRule = left.rule({ colour: "ink" });
  const [upper, lower] = [0, 1].map(() => left.rule({ colour: "soft" }));
  const outStems = range(count).map(() => right.line({ colour: "two" }));
  const outs = range(count).map(() => right.dot({ colour: "two", r: 5 }));
  const zero = right.rule({ colour: "ink" });
  const ones = [1, -1].map(() => right.rule({ colour: "soft" }));
  const knobs = range(count).map((i) =>
    left.handle({
      control: `feature-${i + 1}`,
      colour: "one",
      label: "",
      step: 0.25,
      onmove([x, y]) {
        const aside = x - (i + 1);
        const byKey = y === features()[i] && [0.25, 2.5].some((step) => Math.abs(Math.abs(aside) - step) < 1e-6);
        full = "";
        set(i, byKey ? y + aside : y); // left and right arrows lower and raise, as on every slider
      },
    }),
  );
  const after = h("p", { class: "tfm-caption" });
  ui.stage.append(
    h("div", { class: "tfm-columns" },
      h("div", {}, h("p", { class: "tfm-caption" }, WORDS.before), left.el),
      h("div", {}, after, right.el)),
  );

  player(ui, "done", { steps: () => last() + 1, at: done, pace: 1200 });
  const change = (name, by) => () => {
    const moved = together(features(), by);
    full = moved ? "" : WORDS.full[name];
    if (moved) ui.set({ value: moved });
    else draw(); // no trait has changed, but the readout has
  };
  ui.button("raise", { label: WORDS.raise, onclick: change("raise", (x) => x + 1) });
  ui.button("stretch", { label: WORDS.stretch, onclick: change("stretch", (x) => 1.25 * x) });
  ui.button("level", {
    label: WORDS.level,
    onclick: () => {
      full = "";
      const level = +mean(features()).toFixed(2);
      ui.set({ value: features().map(() => level) });
    },
  });
  ui.slider("eps", { label: WORDS.eps, min: 1e-6, max: 10, log: true, step: 0, format: general });
  ui.slider("gain", { label: WORDS.gain, min: 0, max: 2, step: 0.1, format: one });
  ui.slider("bias", { label: WORDS.bias, min: -1, max: 1, step: 0.1, format: one });
  for (const trait of ["gain", "bias"]) ui.on(trait, () => ui.set({ done: 3 }));

  /* A handle has labels for x and y, but a feature is one number. Set again after each layout, which the handle redraws too. */
  const handles = range(count).map((i) => left.el.querySelector(`[data-control="feature-${i + 1}"]`));
  const tell = () =>
    features().forEach((x, i) =>
      attributes(handles[i], { "aria-label": told(WORDS.feature, { feature, number: i + 1 }), "aria-valuemin": -LIMIT, "aria-valuemax": LIMIT, "aria-valuenow": x, "aria-valuetext": two(x) }),
    );
  left.custom(tell);

  function draw() {
    const x = features();
    const [gain, bias, at] = [ui.get("gain"), ui.get("bias"), done()];
    const { mu, variance, spread } = standardise(x, eps());
    const out = stages(x, eps(), gain, bias)[at];
    const sigma = Math.sqrt(variance);
    const [middle, aside] = [[mu, sigma], [0, sigma], [0, 1], [bias, gain]][at];
    // The same at every step, so that the division visibly shrinks the features.
    const room = Math.max(...x.map((feature) => Math.abs(feature - mu))) > LIMIT ? 2 * LIMIT : LIMIT;
    upright.label = at < 2 ? "x" : normalised;
    right.domain({ y: [-room, room] });
    retext(after, WORDS.after[at]);
    meanRule({ y: mu }, "");
    upper({ y: mu + sigma }, "");
    lower({ y: mu - sigma }, "");
    zero({ y: middle }, "");
    ones.forEach((rule, k) => rule({ y: middle + [aside, -aside][k] }, ""));
    x.forEach((each, i) => {
      stems[i]([[i + 1, mu], [i + 1, each]]);
      knobs[i]([i + 1, each]);
      outStems[i]([[i + 1, middle], [i + 1, out[i]]]);
      outs[i]([i + 1, out[i]]);
    });
    tell();
    const level = mean(out);
    ui.say(
      ...told(WORDS.told, {
        features: h("b", { class: "tfm-one" }, x.map(one).join("  ")),
        mean: two(mu),
        variance: two(variance),
        spread: two(spread),
        eps: general(eps()),
        normalised: h("b", { class: "tfm-two" }, out.map(two).join("  ")),
        how: told(WORDS.how[at === 2 && plain() ? 3 : at], { gain: one(gain), bias: one(bias) }),
        after: two(level),
        rest: two(mean(out.map((z) => (z - level) ** 2))),
        equal: variance === 0 && WORDS.equal,
        full,
      }),
    );
  }

  const csv = () => {
    const all = stages(features(), eps(), ui.get("gain"), ui.get("bias"));
    return [["feature", "x", "minus the mean", "normalised", "output"], ...features().map((_, i) => [i + 1, ...all.map((row) => row[i])])];
  };
  return ui.start(draw, { csv });
}

export default { render, words: WORDS };

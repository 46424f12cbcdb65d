/* LayerNorm widget: drag the features of one word; mean, variance and the normalised vector follow. */

import { card, clamp, fixed, general, h, mean, plot, range, set as attributes, sum, told } from "../kit/index.js";

const WORDS = {
  word: "Features of one word; drag them, or use the arrow keys.",
  norm: "The same features at mean 0 and variance 1.",
  before: "One word, to drag. Lines: mean, mean ± σ",
  after: "After the norm. Lines: 0, ± 1",
  raise: "all + 1",
  stretch: "all × 1.25",
  level: "all equal",
  eps: "added ε",
  full: { raise: " No room to raise all.", stretch: " No room to stretch all." },
  feature: "{feature} {number}",
  told: "{features} · mean {mean} · variance {variance} · √(variance + ε) {spread} with ε {eps} → (γ = 1, β = 0) {normalised} · mean {after}, variance {rest}.{equal}{full}",
  equal: " All features are equal: 0 divided by √ε is 0.",
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

/* Change every feature alike, if all stay in range; else null. */
export function together(x, change) {
  const moved = x.map((feature) => +change(feature).toFixed(3));
  return moved.every((feature) => Math.abs(feature) <= LIMIT) ? moved : null;
}

function render({ model, el }) {
  const first = structuredClone(model.get("value"));
  const ui = card({ model, el, state: ["value", "eps"] });
  const count = first.length;
  const features = () => {
    const value = ui.get("value");
    return Array.isArray(value) && value.length === count && value.every(Number.isFinite) ? value.map((x) => clamp(x, -LIMIT, LIMIT)) : first;
  };
  const eps = () => (ui.get("eps") > 0 ? ui.get("eps") : 1e-5);
  const set = (i, to) => ui.set({ value: features().map((old, k) => (k === i ? +clamp(to, -LIMIT, LIMIT).toFixed(2) : old)) });
  let full = ""; // the message that a change was out of range

  const { feature, normalised } = ui.get("shared");
  const axis = { label: feature, domain: [0.4, count + 0.6] };
  const left = plot(ui, { x: axis, y: { label: "x", domain: [-LIMIT, LIMIT] }, height: 260, label: WORDS.word });
  const right = plot(ui, { x: axis, y: { label: normalised, domain: [-2.6, 2.6] }, height: 260, label: WORDS.norm });
  const stems = range(count).map(() => left.line({ colour: "soft" }));
  const meanRule = left.rule({ colour: "ink" });
  const [upper, lower] = [0, 1].map(() => left.rule({ colour: "soft" }));
  const outStems = range(count).map(() => right.line({ colour: "two" }));
  const outs = range(count).map(() => right.dot({ colour: "two", r: 6 }));
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
  ui.stage.append(
    h("div", { class: "tfm-columns" },
      h("div", {}, h("p", { class: "tfm-caption" }, WORDS.before), left.el),
      h("div", {}, h("p", { class: "tfm-caption" }, WORDS.after), right.el)),
  );

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

  /* A handle has labels for x and y, but a feature is one number. Set again after each layout, which the handle redraws too. */
  const handles = range(count).map((i) => left.el.querySelector(`[data-control="feature-${i + 1}"]`));
  const tell = () =>
    features().forEach((x, i) =>
      attributes(handles[i], { "aria-label": told(WORDS.feature, { feature, number: i + 1 }), "aria-valuemin": -LIMIT, "aria-valuemax": LIMIT, "aria-valuenow": x, "aria-valuetext": two(x) }),
    );
  left.custom(tell);

  function draw() {
    const x = features();
    const { mu, variance, spread, out } = standardise(x, eps());
    const sigma = Math.sqrt(variance);
    meanRule({ y: mu }, "");
    upper({ y: mu + sigma }, "");
    lower({ y: mu - sigma }, "");
    zero({ y: 0 }, "");
    ones.forEach((rule, k) => rule({ y: [1, -1][k] }, ""));
    x.forEach((each, i) => {
      stems[i]([[i + 1, mu], [i + 1, each]]);
      knobs[i]([i + 1, each]);
      outStems[i]([[i + 1, 0], [i + 1, out[i]]]);
      outs[i]([i + 1, out[i]]);
    });
    tell();
    const after = mean(out.map((z) => z * z));
    ui.say(
      ...told(WORDS.told, {
        features: h("b", { class: "tfm-one" }, x.map(one).join("  ")),
        mean: two(mu),
        variance: two(variance),
        spread: two(spread),
        eps: general(eps()),
        normalised: h("b", { class: "tfm-two" }, out.map(two).join("  ")),
        after: two(mean(out)),
        rest: two(after),
        equal: variance === 0 && WORDS.equal,
        full,
      }),
    );
  }

  const csv = () => {
    const { out } = standardise(features(), eps());
    return [["feature", "x", "normalised"], ...features().map((x, i) => [i + 1, x, out[i]])];
  };
  return ui.start(draw, { csv });
}

export default { render, words: WORDS };

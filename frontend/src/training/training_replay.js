/* Training-replay widget: loss, learning rate, attention and output of a recorded run at each of its snapshots. */

import { asRead, below, card, clamp, fixed, general, h, heatmap, legend, player, plot, range, told } from "../kit/index.js";

const WORDS = {
  loss: "loss in nats per token",
  curve: "Training loss against the step",
  rate: "learning rate",
  rates: "Learning rate against the step",
  map: "Cross-attention: words that are written down, words of the source across.",
  cell: "writing {word}, looking at {source}: {weight}",
  look: "checkpoint",
  at: "step {step}",
  head: "head",
  mean: "mean of all",
  weights: "Weights at step {step} · rows: the date written, columns: the source",
  trained: "loss {loss}, learning rate {rate}",
  told: "{step}: {trained}; {exact}\u202f% of the held-out dates are exactly right",
  writes: "The model writes “{written}”.",
  most: "writing {word}, it looks most at {source}, with weight {weight}",
};

const share = fixed(2);
const rate = (x) => (x >= 0.001 ? String(+x.toPrecision(3)) : general(x));

/* (target, source): one head's weights, or for −1 the mean of all. */
export function weightsOf(heads, head) {
  if (head >= 0) return heads[Math.min(head, heads.length - 1)];
  return heads[0].map((row, i) => row.map((_, j) => heads.reduce((total, one) => total + one[i][j], 0) / heads.length));
}

export const best = (row) => row.indexOf(Math.max(...row));

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "head", "focus"], fits: { focus: below(() => tgt().length) } });
  const looks = () => ui.get("looks");
  const [tgt, src] = ["tgt_tokens", "src_tokens"].map((trait) => () => ui.get(trait).map((token, _, all) => asRead(token, all)));
  const now = () => {
    const value = clamp(ui.get("value"), 0, looks().length - 1);
    const look = looks()[value];
    const head = clamp(ui.get("head"), -1, look.weights.length - 1);
    return { value, look, head, weights: weightsOf(look.weights, head), focus: clamp(ui.get("focus"), 0, tgt().length - 1) };
  };

  const losses = ui.get("losses");
  const end = losses.length;
  const curve = plot(ui, { x: { label: ui.get("shared").step, domain: [0, end] }, y: { label: WORDS.loss, domain: [0, Math.ceil(Math.max(...losses))] }, height: 230, label: WORDS.curve });
  const all = curve.line({ colour: "line" });
  const done = curve.line({ colour: "one" });
  const floor = curve.rule({ colour: "soft" });
  const here = curve.dot({ colour: "one", r: 6 });
  const rates = plot(ui, { x: { label: ui.get("shared").step, domain: [0, end] }, y: { label: WORDS.rate, domain: [0, 1.15 * Math.max(...ui.get("rates"))] }, height: 140, label: WORDS.rates });
  const whole = rates.line({ colour: "three" });
  const at = rates.dot({ colour: "three", r: 5 });
  const map = heatmap(ui, {
    rows: tgt(),
    cols: src(),
    name: "focus",
    label: WORDS.map,
    onFocus: (i) => ui.set({ focus: i }),
    text: (i, j) => share(now().weights[i][j]),
    describe: (i, j) => told(WORDS.cell, { word: tgt()[i], source: src()[j], weight: share(now().weights[i][j]) }),
    most: 46,
  });
  const caption = h("p", { class: "tfm-caption" });
  const heads = looks()[0].weights.length;
  const which = ui.select("head", { label: WORDS.head, options: [[-1, WORDS.mean], ...range(heads).map((k) => [k, told(ui.get("shared").head, { head: k + 1 })])] });
  ui.stage.append(
    h("div", { class: "tfm-columns" }, h("div", {}, curve.el, rates.el), h("div", {}, which.el, caption, map.el, legend({ max: 1 }))),
  );

  player(ui, "value", { label: WORDS.look, min: 0, max: looks().length - 1, format: (i) => told(WORDS.at, looks()[clamp(i, 0, looks().length - 1)]) });

  function draw() {
    const { look, weights, focus } = now();
    const step = look.step;
    const point = (list) => [step, list[Math.max(0, step - 1)]];
    all(ui.get("losses").map((y, i) => [i + 1, y]));
    done(ui.get("losses").slice(0, step).map((y, i) => [i + 1, y]));
    whole(ui.get("rates").map((y, i) => [i + 1, y]));
    const least = ui.get("floor");
    floor(least == null ? null : { y: least, below: true }, ui.get("shared").floor);
    here(point(ui.get("losses")), "");
    at(step ? point(ui.get("rates")) : [0, 0], "");
    map.update({ rows: tgt(), cols: src(), values: weights, row: focus, max: 1 });
    caption.textContent = told(WORDS.weights, { step });
    const [row, key] = [weights[focus], best(weights[focus])];
    const trained = step ? told(WORDS.trained, { loss: share(ui.get("losses")[step - 1]), rate: rate(ui.get("rates")[step - 1]) }) : ui.get("shared").untrained;
    ui.say(
      h("div", {}, told(WORDS.told, { step: h("b", {}, told(WORDS.at, { step })), trained, exact: fixed(1)(100 * look.exact) })),
      h("div", {}, told(WORDS.writes, look)),
      h("div", {}, told(WORDS.most, { word: h("b", { class: "tfm-q" }, tgt()[focus]), source: h("b", { class: "tfm-k" }, src()[key]), weight: share(row[key]) })),
    );
  }

  const csv = () => [
    ["step", "loss", "learning rate"],
    ...ui.get("losses").map((y, i) => [i + 1, y, ui.get("rates")[i]]),
  ];
  return ui.start(draw, { watch: ["losses", "rates", "looks", "src_tokens", "tgt_tokens", "floor"], csv });
}

export default { render, words: WORDS };

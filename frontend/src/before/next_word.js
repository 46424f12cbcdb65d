/* Next-word widget: scores, their softmax, the loss, and a gradient step on the scores. */

import { below, card, clamp, fixed, h, many, onWidth, player, range, s, set, short, signed, softmax, told } from "../kit/index.js";
import { slider } from "../kit/controls.js";

const WORDS = {
  scores: "Scores after “{beginning}”. Move them.",
  shares: "Probabilities: the softmax of the scores.",
  score: "{score} of “{token}”",
  rate: "length of a step",
  step: "one step downhill",
  taken: ["After {count} step: ", "After {count} steps: "],
  told: "{taken}“{came}” came, with probability {share}, so the surprise is −ln {share} = {loss} nats. Its slope in each score: {slopes}. A step of length {rate} changes the score of “{token}” by {move}.",
};

const LIMIT = 6;
const MOST = 12; // steps
const [ROW, NAME, TOP] = [30, 74, 0];
const [two, three, change] = [fixed(2), fixed(3), signed(3)];

/* Gradient of −ln p(answer) with respect to each score: the probabilities, minus 1 for the answer. */
export const slopes = (scores, answer) => softmax(scores).map((share, i) => share - (i === answer ? 1 : 0));

/* Return the scores after one gradient step. */
export const stepped = (scores, answer, rate) => {
  const slope = slopes(scores, answer);
  return scores.map((score, i) => +clamp(score - rate * slope[i], -LIMIT, LIMIT).toFixed(3));
};

/* Return the scores after so many steps. */
export const descended = (scores, answer, rate, count) => range(count).reduce((now) => stepped(now, answer, rate), scores);

export const surprise = (scores, answer) => -Math.log(softmax(scores)[answer]);

function render({ model, el }) {
  const first = structuredClone(model.get("value"));
  const ui = card({ model, el, state: ["value", "answer", "rate", "taken"], fits: { taken: below(MOST + 1) } });
  const tokens = ui.get("tokens");
  const { score, probability, answer: right } = ui.get("shared");
  const start = () => {
    const value = ui.get("value");
    return Array.isArray(value) && value.length === tokens.length && value.every(Number.isFinite) ? value.map((x) => clamp(x, -LIMIT, LIMIT)) : first;
  };
  const answer = () => clamp(ui.get("answer") | 0, 0, tokens.length - 1);
  const taken = () => clamp(ui.get("taken") | 0, 0, MOST);
  const scores = () => descended(start(), answer(), rate(), taken());
  const rate = () => clamp(Number(ui.get("rate")) || 1, 0.1, 4);

  const move = (i) => (to) => ui.set({ value: scores().map((old, k) => (k === i ? to : old)), taken: 0 });
  const knobs = tokens.map((token, i) => slider(`score-${i + 1}`, scores()[i], move(i), { label: short(token, 9), min: -LIMIT, max: LIMIT, step: 0.1, format: signed(1) }));
  knobs.forEach((knob, i) => set(knob.el.querySelector("input"), { "aria-label": told(WORDS.score, { score, token: tokens[i] }) }));

  const svg = s("svg", { role: "img" });
  const rows = tokens.map((token, i) => ({
    name: s("text", { x: NAME - 8, y: TOP + i * ROW + 19, "text-anchor": "end" }, short(token, 9)),
    track: s("rect", { x: NAME, y: TOP + i * ROW + 4, height: ROW - 8, style: "fill:var(--tfm-w0)" }), // as long as probability 1
    bar: s("rect", { x: NAME, y: TOP + i * ROW + 4, height: ROW - 8 }),
    number: s("text", { y: TOP + i * ROW + 19, class: "tfm-axis" }),
  }));
  svg.append(...rows.flatMap(Object.values));
  const box = h("div", { class: "tfm-figure-box" }, svg);
  ui.stage.append(
    h("div", { class: "tfm-columns" },
      h("div", {}, h("p", { class: "tfm-caption" }, told(WORDS.scores, { beginning: ui.get("beginning") })), h("div", { class: "tfm-knobs" }, knobs.map((knob) => knob.el))),
      h("div", {}, h("p", { class: "tfm-caption" }, WORDS.shares), box)),
  );
  player(ui, "taken", { steps: () => MOST + 1, at: taken });
  ui.select("answer", { label: right, options: tokens.map((token, i) => [i, token]) });
  ui.slider("rate", { label: WORDS.rate, min: 0.1, max: 4, step: 0.1, format: fixed(1) });
  ui.button("step", { label: WORDS.step, onclick: () => ui.set(taken() < MOST ? { taken: taken() + 1 } : { value: scores(), taken: 1 }) });

  let room = 0;
  function draw() {
    const [now, at] = [scores(), answer()];
    const shares = softmax(now);
    const wide = Math.max(40, room - NAME - 48);
    set(svg, { width: room, height: 2 * TOP + rows.length * ROW, "aria-label": tokens.map((token, i) => `${token}: ${probability} ${two(shares[i])}`).join(", ") });
    rows.forEach(({ track, bar, number }, i) => {
      set(track, { width: wide });
      const width = shares[i] * wide;
      set(bar, { width: width.toFixed(1), style: `fill:var(--tfm-${i === at ? "one" : "soft"})` });
      set(number, { x: (NAME + width + 6).toFixed(1) });
      number.textContent = three(shares[i]);
      knobs[i].show(now[i]);
    });
    ui.say(
      ...told(WORDS.told, {
        taken: taken() ? many(WORDS.taken, taken()) : "",
        came: h("b", { class: "tfm-one" }, tokens[at]),
        token: tokens[at],
        share: three(shares[at]),
        loss: h("b", {}, three(surprise(now, at))),
        rate: fixed(1)(rate()),
        move: change(stepped(now, at, rate())[at] - now[at]),
        slopes: slopes(now, at).map((slope, i) => `${tokens[i]} ${change(slope)}`).join(" · "),
      }),
    );
  }
  ui.until(onWidth(box, (width) => {
    room = Math.floor(width);
    draw();
  }));

  const csv = () => {
    const [shares, slope] = [softmax(scores()), slopes(scores(), answer())];
    return [["token", "score", "probability", "slope", "came"], ...range(tokens.length).map((i) => [tokens[i], scores()[i], shares[i], slope[i], i === answer() ? 1 : 0])];
  };
  return ui.start(draw, { watch: ["tokens"], csv });
}

export default { render, words: WORDS };

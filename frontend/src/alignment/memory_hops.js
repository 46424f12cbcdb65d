/* Memory-hops widget: attention of a memory network over the facts of a story, hop by hop. */

import { card, clamp, fixed, h, many, morph, onWidth, player, ramp, range, s, set, told, widthOf } from "../kit/index.js";

const WORDS = {
  hops: "hops",
  story: "story",
  pick: "{number} · {question}",
  frame: "Framed, once all hops are made: the facts that the answer needs. The line joins the facts that the hops read most.",
  drawn: "{facts} facts, with their weights in {hops}: {rows}",
  fact: "{fact} {weights}",
  needed: ", needed",
  some: ["{count} hop", "{count} hops"],
  step: "hop {hop} reads “{fact}” most, with weight {weight}",
  told: "{question} · {steps} · a network with {hops} answers {answer}. {verdict}",
  right: "This is correct.",
  missed: "This is wrong.",
  wrong: "This is wrong: the correct answer is {truth}.",
};

const [ROW, TOP, LANE, WIDE] = [30, 46, 16, 48]; // pixels; the path runs in lanes beside the columns
const FILL = "--fill:color-mix(in oklab, var(--tfm-w1) calc(var(--w, 0) * 100%), var(--tfm-w0))"; // the text colour is chosen for this fill
const share = fixed(2);

/* Return the fact with the largest weight in each hop, the first of ties. */
export const path = (weights) => weights.map((row) => row.indexOf(Math.max(...row)));

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "story"] });
  const stories = () => ui.get("stories");
  const most = () => stories()[0].walks.length;
  const { answer: says, hop: named } = ui.get("shared");
  const svg = s("svg", { class: "tfm-heatmap", role: "img" });
  const box = h("div", { class: "tfm-figure-box" }, svg);
  ui.stage.append(box, h("p", { class: "tfm-caption" }, WORDS.frame));
  player(ui, "value", { pace: 1200, label: WORDS.hops, min: 1, max: most(), format: String, heard: (count) => many(WORDS.some, count) });
  ui.select("story", { label: WORDS.story, options: stories().map(({ question }, i) => [i, told(WORDS.pick, { number: i + 1, question })]) });

  let width = 0;
  const chosen = () => {
    const story = stories()[clamp(ui.get("story") | 0, 0, stories().length - 1)];
    const hops = clamp(ui.get("value") | 0, 1, most());
    return { story, hops, walk: story.walks[hops - 1] };
  };

  function picture() {
    if (!width) return;
    const { story, hops, walk } = chosen();
    const wide = clamp(Math.floor((width - LANE - 12 - widthOf(story.facts, 13)) / most()) - LANE, 30, WIDE);
    const at = (k) => LANE + k * (wide + LANE); // left edge of the column of hop k
    const lane = (k) => at(k) - LANE / 2;
    const [left, low] = [at(most()) + 6, TOP + story.facts.length * ROW];
    const middle = (i) => TOP + (i + 0.5) * ROW - 1;
    const read = path(walk.weights);
    const heads = range(hops).map((k) => s("text", { class: "tfm-axis", x: at(k) + wide / 2, y: TOP - 8, "text-anchor": "middle" }, told(named, { hop: k + 1 })));
    const cells = range(most()).flatMap((k) =>
      story.facts.map((_, i) => {
        const weight = walk.weights[k]?.[i];
        const look = read[k] === i ? "stroke:var(--tfm-query);stroke-width:2.5" : null;
        const rect = s("rect", { class: "tfm-cell", x: at(k), y: middle(i) - ROW / 2 + 1, width: wide, height: ROW - 2, rx: 3, style: look, opacity: k < hops ? 1 : 0 });
        const cell = s("g", { style: FILL }, rect, k < hops && s("text", { class: "tfm-in", x: at(k) + wide / 2, y: middle(i) + 4, "text-anchor": "middle" }, share(weight)));
        ramp(cell, weight);
        return cell;
      }),
    );
    const frames = story.needed.map((i) => s("rect", { x: left - 6, y: TOP + i * ROW, width: widthOf([story.facts[i]], 13) + 10, height: ROW - 2, rx: 4, fill: "none", opacity: hops === most() ? 1 : 0, style: "stroke:var(--tfm-two);stroke-width:2" }));
    const facts = story.facts.map((fact, i) => s("text", { x: left, y: middle(i) + 4.5, "font-size": 13, "font-weight": read.includes(i) ? 650 : null }, fact));
    const steps = range(most()).map((k) => {
      const [high, from, to, next] = k < hops ? [middle(read[k]), at(k), at(k) + wide, lane(k + 1)] : [low + 19, ...Array(3).fill(lane(hops))]; // always as many parts, so that the line eases
      return `V${high}H${from}M${to} ${high}H${next}`;
    });
    const line = s("path", { class: "tfm-link", "stroke-width": 2.5, d: `M${lane(0)} 20${steps.join("")}V${low + 19}h6` });
    const right = walk.answer === story.answer;
    const end = s("text", { x: lane(hops) + 10, y: low + 24, "font-size": 13.5, "font-weight": 650, style: right ? null : "fill:var(--tfm-broken)" }, told(says, { answer: walk.answer }), right ? " ✓" : " ✗");
    const groups = [heads, cells, frames, facts].map((group) => s("g", {}, group));
    morph(svg, s("text", { class: "tfm-q", x: 0, y: 14, "font-size": 13.5, "font-weight": 650 }, story.question), ...groups, line, end);
    const rows = story.facts.map((fact, i) => told(WORDS.fact, { fact, weights: walk.weights.map((row) => share(row[i])).join(", ") + (hops === most() && story.needed.includes(i) ? WORDS.needed : "") }));
    set(svg, { width, height: low + 32, "aria-label": told(WORDS.drawn, { hops: many(WORDS.some, hops), facts: story.facts.length, rows: rows.join("; ") }) });
  }
  ui.until(onWidth(box, (now) => {
    width = now;
    picture();
  }));

  function draw() {
    const { story, hops, walk } = chosen();
    picture();
    const steps = path(walk.weights).map((i, k) => told(WORDS.step, { hop: k + 1, fact: story.facts[i], weight: share(walk.weights[k][i]) })).join(" · ");
    const right = walk.answer === story.answer;
    const verdict = right ? WORDS.right : h("span", { class: "tfm-bad" }, told(hops === most() ? WORDS.wrong : WORDS.missed, { truth: story.answer }));
    const answer = h("b", {}, walk.answer);
    ui.say(...told(WORDS.told, { question: h("b", { class: "tfm-q" }, story.question), steps, hops: many(WORDS.some, hops), answer, verdict }));
  }

  const csv = () => {
    const { story, hops, walk } = chosen();
    const rows = story.facts.map((fact, i) => [fact, story.needed.includes(i), ...walk.weights.map((row) => row[i])]);
    return [["fact", "needed", ...range(hops).map((k) => `hop ${k + 1}`)], ...rows];
  };
  return ui.start(draw, { watch: ["stories"], csv });
}

export default { render, words: WORDS };

/* Extrapolation widget: recorded accuracy of seven position encodings, trained on short texts, at later and later positions. */

import { card, clamp, fixed, h, onWidth, player, range, s, set, told, widthOf } from "../kit/index.js";

const WORDS = {
  chart: "Share of correct letters at the positions up to {place}, for {methods} position encodings; guessing gives {chance}",
  caption: "Bar: mean of {seeds} seeds. Thin line: lowest to highest. Tick: share at position {short}, where training ended.",
  chance: "guessing",
  place: "up to position",
  job: "job",
  practice: "ten times the training",
  untried: "not tried",
  ends: "no such position",
  told: "{job}, share of correct letters at the {group} positions up to {place}, {where}: {shares} ",
  inside: "seen in training",
  beyond: "beyond the {short} of training",
};

const [ROW, TOP, HIGH, NUMBER] = [32, 22, 18, 36];
const share = fixed(2);

/* Mean, minimum and maximum over seeds of the accuracy at the positions up to `place`; null if there is none. */
export function shareAt(rows, place, group) {
  const found = rows?.map((row) => row[place / group - 1]);
  if (!found || found.some((x) => x === null || x === undefined)) return null;
  return [found.reduce((a, b) => a + b, 0) / found.length, Math.min(...found), Math.max(...found)];
}

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "job", "longer"] });
  const [short, group, chance] = ["short", "group", "chance"].map(ui.get);
  const { axis: measure, methods } = ui.get("shared");
  const kinds = Object.keys(methods);
  const jobs = Object.keys(ui.get("measured"));
  const rowsOf = (kind) => ui.get(ui.get("longer") ? "practised" : "measured")[jobs.includes(ui.get("job")) ? ui.get("job") : jobs[0]][kind];
  const last = ui.get("longest");
  const place = () => clamp(Math.round(ui.get("value") / group), 1, last / group) * group;

  const lines = kinds.map((kind, i) => {
    const y = TOP + i * ROW;
    const name = s("text", { x: 0, y: y + 14, "font-size": 13.5 }, methods[kind]);
    const bar = s("rect", { y, height: HIGH, rx: 2, style: "fill:var(--tfm-one)" });
    const spread = s("path", { style: "stroke:var(--tfm-ink)", "stroke-width": 1.5 });
    const tick = s("path", { style: "stroke:var(--tfm-two)", "stroke-width": 3 });
    const says = s("text", { y: y + 14, "font-size": 12.5 });
    return { kind, y, node: s("g", {}, name, bar, spread, tick, says), bar, spread, tick, says };
  });
  const guess = s("path", { class: "tfm-line tfm-thin", style: "--c:var(--tfm-broken)", "stroke-dasharray": "4 3" });
  const named = s("text", { class: "tfm-axis", y: 12 }, WORDS.chance);
  const low = TOP + kinds.length * ROW - 6;
  const base = s("path", { class: "tfm-axis-line" });
  const ticks = [0, 0.5, 1].map((tick) => ({ tick, node: s("text", { class: "tfm-axis", y: low + 17, "text-anchor": "middle" }, String(tick)) }));
  const axis = s("text", { class: "tfm-axis", y: low + 34, "text-anchor": "end" }, measure);
  const svg = s("svg", { role: "img" }, lines.map(({ node }) => node), guess, named, base, ticks.map(({ node }) => node), axis);
  const box = h("div", { class: "tfm-figure-box" }, svg);
  const seeds = ui.get("measured")[jobs[0]][kinds[0]].length;
  ui.stage.append(box, h("p", { class: "tfm-caption" }, told(WORDS.caption, { seeds, short })));
  player(ui, "value", { pace: 400, label: WORDS.place, min: group, max: last, step: group, format: String });
  ui.select("job", { label: WORDS.job, options: jobs });
  ui.toggle("longer", { label: WORDS.practice });

  function inWords(kind) {
    const [now, before] = [place(), short].map((at) => shareAt(rowsOf(kind), at, group));
    return now ? share(now[0]) : before ? WORDS.ends : WORDS.untried;
  }

  let width = 0;
  function picture() {
    if (!width) return;
    const column = Math.ceil(widthOf(Object.values(methods), 13.5)) + 10;
    const left = column + NUMBER;
    const x = (value) => (left + value * (width - left - 6)).toFixed(1);
    for (const { kind, y, bar, spread, tick, says } of lines) {
      const [now, before] = [place(), short].map((at) => shareAt(rowsOf(kind), at, group));
      set(bar, { x: left, width: now ? (x(now[0]) - left).toFixed(1) : 0 });
      set(spread, { d: now ? `M${x(now[1])} ${y + HIGH / 2}H${x(now[2])}` : null });
      set(tick, { d: before ? `M${x(before[0])} ${y - 3}v${HIGH + 6}` : null });
      set(says, { x: now ? column : +x(chance) + 8 }); // beside its bar, where no tick comes
      says.textContent = inWords(kind);
    }
    set(guess, { d: `M${x(chance)} ${TOP - 4}V${low}` });
    set(base, { d: `M${x(0)} ${low}H${x(1)}${ticks.map(({ tick }) => `M${x(tick)} ${low}v4`).join("")}` });
    ticks.forEach(({ tick, node }) => set(node, { x: x(tick) }));
    set(axis, { x: x(1) });
    set(named, { x: x(chance) });
    set(svg, { width, height: low + 38, "aria-label": told(WORDS.chart, { place: place(), methods: kinds.length, chance: share(chance) }) });
  }
  ui.until(onWidth(box, (now) => {
    width = Math.min(now, 620);
    picture();
  }));

  function draw() {
    picture();
    const shares = kinds.map((kind) => `${methods[kind]} ${inWords(kind)}`).join(" · ");
    const where = place() > short ? told(WORDS.beyond, { short }) : WORDS.inside;
    ui.say(told(WORDS.told, { job: ui.get("job"), group, place: place(), where, shares }));
  }

  const csv = () => {
    const rows = kinds.flatMap((kind) => range(last / group).map((k) => [methods[kind], (k + 1) * group, shareAt(rowsOf(kind), (k + 1) * group, group)]));
    return [["method", "place", "mean", "least", "greatest"], ...rows.filter(([, , shares]) => shares).map(([name, at, shares]) => [name, at, ...shares])];
  };
  return ui.start(draw, { csv });
}

export default { render, words: WORDS };

/* Sampling widget: the effect of temperature, top-k and top-p on the distribution of a next token. */

import { asRead, card, clamp, entropy, fixed, general, h, live, onWidth, player, range, retext, s, set, short, told } from "../kit/index.js";

const WORDS = {
  temperature: "temperature",
  top_k: "top-k",
  top_p: "top-p",
  place: "tokens already written",
  drawn: "Probabilities of the {count} likeliest tokens and of all others together: {rows}",
  told: "T = {T}, top-k {k}, top-p {p}: {left}. “{best}” has probability {now}, uncut at T = 1 {before} · all but the first {count} have {rest} together · entropy {entropy} nats, like a choice among {equals} equally likely tokens",
  outline: "Dashed: the model’s own probabilities, at T = 1 and with nothing cut.",
  left: "{left} of {all} tokens are left",
};

/* Logits, best first, from the hundredths by which each is below the one before. */
export function logitsOf(steps) {
  let below = 0;
  return steps.map((step) => -(below += step) / 100);
}

/* The inverse: hundredths from logits, best first. */
export function stepsOf(logits) {
  const below = logits.map((z) => Math.round(100 * (logits[0] - z)));
  return below.map((each, i) => each - (i ? below[i - 1] : 0));
}

/* The distribution to sample from; logits best first, topK 0 and topP 1 cut nothing. As tfm_lib.decoding.filter_logits. */
export function cut(logits, temperature, topK = 0, topP = 1) {
  const most = topK || logits.length; // of ties the first stay
  const powers = logits.map((z, i) => (i < most ? Math.exp((z - logits[0]) / temperature) : 0));
  const total = powers.reduce((sum, x) => sum + x, 0);
  let held = 0;
  const p = powers.map((x) => {
    const kept = topP >= 1 || held < topP - 1e-12;
    held += x / total;
    return kept ? x / total : 0;
  });
  const left = p.reduce((sum, x) => sum + x, 0);
  return p.map((x) => x / left);
}

const KS = [0, 1, 2, 3, 5, 10, 20, 50, 100, 1000];
const [ROW, TOP, NAMED, LEFT] = [25, 4, 12, 126];
const share = fixed(3);
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

function render({ model, el }) {
  const ui = card({ model, el, state: ["sentence", "place", "value", "top_k", "top_p"] });
  const shared = ui.get("shared");
  const names = () => ui.get("tokens").map((token, _, all) => asRead(token, all));
  const T = () => clamp(Number(ui.get("value")) || 1, 0.1, 2);
  const k = () => Math.max(0, Math.round(Number(ui.get("top_k")) || 0));
  const share_p = () => clamp(Number(ui.get("top_p")) || 1, 0.05, 1);

  /* The initial place is where the best token is least probable. */
  const own = live(ui, {
    ask: (typed) => ({ do: "sampling", named: NAMED, place: typed ? undefined : ui.get("place") }),
    take: ({ logits, written, ...found }) => ({ ...found, steps: stepsOf(logits), context: told(shared.context, { source: ui.get("sentence"), written: written || shared.unwritten }) }),
    watch: ["place"],
  });
  const bars = s("g", {});
  const base = s("path", { class: "tfm-axis-line" });
  const ticks = [0, 0.5, 1].map((tick) => ({ tick, node: s("text", { class: "tfm-axis", "text-anchor": "middle" }, String(tick)) }));
  const axis = s("text", { class: "tfm-axis", "text-anchor": "end" }, shared.probability);
  const svg = s("svg", { role: "img" }, bars, base, ticks.map(({ node }) => node), axis);
  const box = h("div", { class: "tfm-figure-box" }, svg);
  const where = h("p", { class: "tfm-caption" });
  ui.stage.append(where, box, h("p", { class: "tfm-caption" }, WORDS.outline));
  player(ui, "value", { pace: 300, label: WORDS.temperature, min: 0.1, max: 2, step: 0.1, format: fixed(1) });
  ui.slider("top_k", { label: WORDS.top_k, values: [...KS.slice(1), 0], format: (n) => (n ? grouped(n) : shared.all) });
  ui.slider("top_p", { label: WORDS.top_p, min: 0.05, max: 1, step: 0.05, format: fixed(2) });

  const place = ui.get("machine") && ui.slider("place", { label: WORDS.place, min: 0, max: ui.get("places"), open: true, format: String });
  let room = 0;
  const count = () => names().length;
  let rows = [];
  function build() {
    rows = range(count() + 1).map((i) => {
      const name = s("text", { x: 118, y: TOP + i * ROW + 17, "text-anchor": "end" });
      const old = s("rect", { x: LEFT, y: TOP + i * ROW + 3, height: 18, style: "fill:none;stroke:var(--tfm-soft);stroke-dasharray:3 2" });
      const bar = s("rect", { x: LEFT, y: TOP + i * ROW + 3, height: 18, style: "fill:var(--tfm-decoder);fill-opacity:.75" });
      const number = s("text", { y: TOP + i * ROW + 17, class: "tfm-axis" });
      return { name, old, bar, number };
    });
    bars.replaceChildren(...rows.flatMap((row) => [row.bar, row.old, row.name, row.number]));
  }

  const shares = (p) => [...p.slice(0, count()), p.slice(count()).reduce((sum, x) => sum + x, 0)];
  function now() {
    const logits = logitsOf(ui.get("steps"));
    const p = cut(logits, T(), k(), share_p());
    return { p, as_is: cut(logits, 1), left: p.filter((x) => x > 0).length, all: logits.length };
  }

  function draw() {
    const { p, as_is, left, all } = now();
    if (rows.length !== count() + 1) build();
    const [before, after] = [shares(as_is), shares(p)];
    if (place) {
      place.upTo(ui.get("places"), ui.get("place"));
      place.enable(own());
      place.el.hidden = !own();
    }
    where.textContent = ui.get("context");
    set(where, { hidden: !ui.get("context") });
    const wide = Math.max(40, room - LEFT - 50);
    const x = (p) => (LEFT + p * wide).toFixed(1);
    const low = TOP + rows.length * ROW + 2;
    set(base, { d: `M${LEFT} ${low}H${x(1)}${ticks.map(({ tick }) => `M${x(tick)} ${low}v4`).join("")}` });
    ticks.forEach(({ tick, node }) => set(node, { x: x(tick), y: low + 17 }));
    set(axis, { x: x(1), y: low + 34 });
    rows.forEach(({ name, old, bar, number }, i) => {
      const last = i === count();
      const label = last ? told(shared.others, { count: grouped(all - count()) }) : short(names()[i], 14);
      retext(name, label);
      set(name, { style: after[i] ? "" : "fill:var(--tfm-soft);text-decoration:line-through" });
      set(old, { width: (before[i] * wide).toFixed(1) });
      set(bar, { width: (after[i] * wide).toFixed(1) });
      set(number, { x: +x(Math.max(before[i], after[i])) + 6 });
      retext(number, after[i] ? share(after[i]) : shared.cut);
    });
    const said = rows.map(({ name, number }, i) => `${names()[i] ?? name.textContent} ${number.textContent}`).join(", ");
    set(svg, { width: room, height: low + 38, "aria-label": told(WORDS.drawn, { count: count(), rows: said }) });
    const tail = after.at(-1);
    ui.say(
      ...told(WORDS.told, {
        T: fixed(1)(T()),
        k: k() ? grouped(k()) : shared.all,
        p: fixed(2)(share_p()),
        left: h("b", {}, told(WORDS.left, { left: grouped(left), all: grouped(all) })),
        best: names()[0],
        now: share(after[0]),
        before: share(before[0]),
        count: count(),
        rest: tail ? share(tail) : "0",
        entropy: fixed(2)(entropy(p)),
        equals: general(Math.exp(entropy(p))),
      }),
    );
  }

  ui.until(
    onWidth(box, (width) => {
      room = Math.min(width, 620);
      draw();
    }),
  );
  const csv = () => {
    const { p, as_is } = now();
    const [before, after] = [shares(as_is), shares(p)];
    return [["token", "p", "as it is"], ...[...names(), "others"].map((name, i) => [name, after[i], before[i]])];
  };
  return ui.start(draw, { watch: ["tokens", "steps", "context", "places"], csv });
}

export default { render, words: WORDS };

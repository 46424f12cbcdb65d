/* Batch packer widget: sentences as bars, batches as rectangles, padding hatched. */

import { below, card, clamp, fixed, h, many, onWidth, player, range, s, set, stripes, sum, told, uid } from "../kit/index.js";

const WORDS = {
  caption: "The upper bar is all batches together; hatched: padding. Below it, each bar is a sentence; under a batch: sentences × longest.",
  rule: "rule",
  pool: "pool",
  count: ["{count} sentence", "{count} sentences"],
  batches: ["{count} batch", "{count} batches"],
  size: "sentences per batch",
  places: "tokens per batch",
  how: {
    "any order": "{sentences} per batch",
    "by length": "{sentences} per batch, pool of {pool}",
    "by tokens": "at most {places} tokens per batch, pool of {pool}",
  },
  drawn: "{batches}, {waste} padding",
  told: "{rule}: {batches}, {waste}, {least} to {most} real tokens in a batch. With these settings: {others}.",
  part: "{rule}: the first {packed} fill {batches} so far, {waste}.",
  padding: "{waste} padding",
};

export const RULES = ["any order", "by length", "by tokens"];

const chunks = (list, size) => range(Math.ceil(list.length / size)).map((i) => list.slice(i * size, (i + 1) * size));

/* Fill batches up to `places` tokens, padding included; a sentence that is too long gets a batch of its own. */
function filled(order, lengths, places) {
  const groups = [];
  let longest = 0;
  for (const i of order) {
    const group = groups.at(-1);
    longest = Math.max(longest, lengths[i]);
    if (group && longest * (group.length + 1) <= places) group.push(i);
    else {
      groups.push([i]);
      longest = lengths[i];
    }
  }
  return groups;
}

/* Return the batches as lists of indices, by one of the RULES; `pool` sentences are sorted together. */
export function packed(lengths, { value: rule, size, places, pool }) {
  const order = lengths.map((_, i) => i);
  if (rule === "any order") return chunks(order, size);
  const pools = chunks(order, pool).map((some) => some.sort((a, b) => lengths[a] - lengths[b] || a - b));
  return pools.flatMap((some) => (rule === "by tokens" ? filled(some, lengths, places) : chunks(some, size)));
}

export const longestOf = (group, lengths) => Math.max(...group.map((i) => lengths[i]));
export const placesOf = (groups, lengths) => sum(groups.map((group) => group.length * longestOf(group, lengths)));
export const waste = (lengths, groups) => (groups.length ? 1 - sum(groups.flat().map((i) => lengths[i])) / placesOf(groups, lengths) : 0);

/* The batches when only so many sentences are packed; those that none has reached are left out. */
export function begun(groups, count) {
  let left = count;
  return groups.map((group) => group.slice(0, Math.max(0, (left -= group.length) + group.length))).filter((group) => group.length);
}

const percent = (x) => `${fixed(1)(100 * x)}%`;
const [BELOW, BETWEEN, FALL, UPPER] = [22, 12, 40, 62];

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "pool", "size", "places", "waiting"], fits: { waiting: below(() => lengths.length + 1) } });
  const lengths = ui.get("lengths");
  const longest = Math.max(...lengths);
  const whole = (trait, low, high) => clamp(Math.round(Number(ui.get(trait)) || 0), low, high);
  const state = () => ({
    value: RULES.includes(ui.get("value")) ? ui.get("value") : RULES[0],
    pool: whole("pool", 1, lengths.length),
    size: whole("size", 1, lengths.length),
    places: whole("places", longest, 100 * longest),
  });
  const count = () => lengths.length - whole("waiting", 0, lengths.length); // sentences that are packed

  const hatch = uid("hatch");
  const all = [`fill:url(#${hatch});stroke:var(--tfm-soft)`, "fill:var(--tfm-decoder)"].map((style) => s("rect", { x: 1, y: 22, height: 24, style }));
  const lost = s("text", { y: 15, "text-anchor": "end", style: "font-size:16px;font-weight:650" });
  const pads = s("g", {});
  const bars = s("g", {});
  const names = s("g", {});
  const svg = s("svg", { role: "img" }, s("defs", {}, stripes(hatch, "tfm-hatch", false)), all, lost, pads, bars, names);
  const box = h("div", { class: "tfm-figure-box" }, svg);
  ui.stage.append(box, h("p", { class: "tfm-caption" }, WORDS.caption));

  player(ui, "waiting", { steps: () => lengths.length + 1, at: count, go: (k) => ui.set({ waiting: lengths.length - k }), pace: 150 });
  ui.select("value", { label: WORDS.rule, options: RULES.map((rule) => [rule, ui.get("shared").rules[rule]]) });
  const pool = ui.slider("pool", { label: WORDS.pool, values: [...new Set([4, 8, 16, 24, 32, 48, 64].filter((k) => k < lengths.length).concat(lengths.length))], format: (count) => many(WORDS.count, count) });
  const size = ui.slider("size", { label: WORDS.size, min: 1, max: Math.min(32, lengths.length) });
  const places = ui.slider("places", { label: WORDS.places, min: Math.ceil(longest / 8) * 8, max: Math.ceil(longest / 8) * 64, step: 8 });

  for (const trait of ["value", "pool", "size", "places"]) ui.on(trait, () => ui.set({ waiting: 0 }));

  let width = 0;
  let drawn;
  ui.until(onWidth(box, (now) => {
    width = now;
    if (drawn) layout(drawn);
  }));

  function fit(group, count, make) {
    while (group.childElementCount < count) group.append(make());
    while (group.childElementCount > count) group.lastChild.remove();
    return group.children;
  }

  /* Place batches side by side while there is room, in lines as high as their tallest. A waiting sentence hangs unseen above its place. */
  function layout(groups) {
    if (!width) return;
    const unit = Math.min(width < 460 ? 3 : 4, (width - 2) / longest);
    const high = width < 460 ? 8 : 12;
    const share = waste(lengths, begun(groups, count()));
    all.forEach((rect, k) => set(rect, { width: ((width - 2) * (k ? 1 - share : 1)).toFixed(1) }));
    set(lost, { x: width - 1 });
    lost.textContent = told(WORDS.padding, { waste: percent(share) });
    const pad = fit(pads, groups.length, () => s("rect", { style: `fill:url(#${hatch});stroke:var(--tfm-soft)`, "stroke-width": 0.8 }));
    const bar = fit(bars, lengths.length, () => s("rect", { style: "fill:var(--tfm-decoder)" }));
    const name = fit(names, groups.length, () => s("text", { class: "tfm-axis", "text-anchor": "start" }));
    let [x, y, tallest, left] = [1, UPPER, 0, count()];
    groups.forEach((group, k) => {
      const wide = longestOf(group, lengths);
      const room = Math.max(wide * unit, 46);
      if (x > 1 && x + room > width) [x, y, tallest] = [1, y + tallest * high + BELOW + 8, 0];
      const here = group.slice(0, Math.max(0, left));
      const now = here.length && longestOf(here, lengths);
      set(pad[k], { x, y, width: (now * unit).toFixed(1), height: here.length * high, opacity: here.length ? null : 0 });
      group.forEach((i, row) => {
        const waits = row >= here.length;
        set(bar[i], { x, y: y + row * high + 0.5 - (waits ? FALL : 0), width: (lengths[i] * unit).toFixed(1), height: high - 1, opacity: waits ? 0 : null });
      });
      left -= group.length;
      set(name[k], { x, y: y + group.length * high + 15 });
      name[k].textContent = here.length ? `${here.length} × ${now}` : "";
      tallest = Math.max(tallest, group.length);
      x += room + BETWEEN;
    });
    set(svg, { width, height: y + tallest * high + BELOW });
  }

  function draw() {
    const now = state();
    const groups = packed(lengths, now);
    pool.enable(now.value !== "any order");
    size.enable(now.value !== "by tokens");
    places.enable(now.value === "by tokens");
    drawn = groups;
    layout(groups);
    const seen = begun(groups, count());
    const real = groups.map((group) => sum(group.map((i) => lengths[i])));
    const share = waste(lengths, seen);
    const { rules } = ui.get("shared");
    set(svg, { "aria-label": told(WORDS.drawn, { batches: many(WORDS.batches, seen.length), waste: percent(share) }) });
    ui.say(
      ...told(ui.get("waiting") ? WORDS.part : WORDS.told, {
        rule: h("b", {}, `${rules[now.value]}, ${told(WORDS.how[now.value], { ...now, sentences: many(WORDS.count, now.size) })}`),
        packed: many(WORDS.count, count()),
        batches: many(WORDS.batches, seen.length),
        waste: h("b", {}, told(WORDS.padding, { waste: percent(share) })),
        least: Math.min(...real),
        most: Math.max(...real),
        others: RULES.map((rule) => `${rules[rule]} ${percent(waste(lengths, packed(lengths, { ...now, value: rule })))}`).join(", "),
      }),
    );
  }

  const csv = () => [
    ["batch", "sentences", "longest", "real tokens", "places"],
    ...packed(lengths, state()).map((group, k) => [k + 1, group.length, longestOf(group, lengths), sum(group.map((i) => lengths[i])), group.length * longestOf(group, lengths)]),
  ];
  return ui.start(draw, { csv });
}

export default { render, words: WORDS };

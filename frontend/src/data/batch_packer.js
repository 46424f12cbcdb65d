/* Batch packer widget: sentences as bars, batches as rectangles, padding hatched. */

import { card, clamp, fixed, h, many, onWidth, range, s, set, stripes, sum, told, uid } from "../kit/index.js";

const WORDS = {
  caption: "A rectangle is a batch, a bar a sentence, hatched is padding. Below: sentences × longest.",
  rule: "rule",
  pool: "pool",
  count: ["{count} sentence", "{count} sentences"],
  batches: ["{count} batch", "{count} batches"],
  size: "sentences a batch",
  places: "tokens a batch",
  how: {
    "any order": "{sentences} a batch",
    "by length": "{sentences} a batch, pool of {pool}",
    "by tokens": "at most {places} tokens a batch, pool of {pool}",
  },
  drawn: "{batches}, {waste} padding",
  told: "{rule}: {batches}, {waste}, {least} to {most} real tokens in a batch. With these settings: {others}.",
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
export const waste = (lengths, groups) => 1 - sum(lengths) / placesOf(groups, lengths);

const percent = (x) => `${fixed(1)(100 * x)}%`;
const [ROW, BELOW, BETWEEN] = [6, 22, 12];

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "pool", "size", "places"] });
  const lengths = ui.get("lengths");
  const longest = Math.max(...lengths);
  const whole = (trait, low, high) => clamp(Math.round(Number(ui.get(trait)) || 0), low, high);
  const state = () => ({
    value: RULES.includes(ui.get("value")) ? ui.get("value") : RULES[0],
    pool: whole("pool", 1, lengths.length),
    size: whole("size", 1, lengths.length),
    places: whole("places", longest, 100 * longest),
  });

  const hatch = uid("hatch");
  const pads = s("g", {});
  const bars = s("g", {});
  const names = s("g", {});
  const svg = s("svg", { role: "img" }, s("defs", {}, stripes(hatch, "tfm-hatch", false)), pads, bars, names);
  const box = h("div", { class: "tfm-figure-box" }, svg);
  ui.stage.append(box, h("p", { class: "tfm-caption" }, WORDS.caption));

  ui.select("value", { label: WORDS.rule, options: RULES.map((rule) => [rule, ui.get("shared").rules[rule]]) });
  const pool = ui.slider("pool", { label: WORDS.pool, values: [...new Set([4, 8, 16, 24, 32, 48, 64].filter((k) => k < lengths.length).concat(lengths.length))], format: (count) => many(WORDS.count, count) });
  const size = ui.slider("size", { label: WORDS.size, min: 1, max: Math.min(32, lengths.length) });
  const places = ui.slider("places", { label: WORDS.places, min: Math.ceil(longest / 8) * 8, max: Math.ceil(longest / 8) * 64, step: 8 });

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

  /* Place batches side by side while there is room, in lines as high as their tallest. */
  function layout(groups) {
    if (!width) return;
    const unit = Math.min(width < 460 ? 3 : 4, (width - 2) / longest);
    const pad = fit(pads, groups.length, () => s("rect", { style: `fill:url(#${hatch});stroke:var(--tfm-soft)`, "stroke-width": 0.8 }));
    const bar = fit(bars, lengths.length, () => s("rect", { style: "fill:var(--tfm-decoder)", height: ROW - 1 }));
    const name = fit(names, groups.length, () => s("text", { class: "tfm-axis", "text-anchor": "start" }));
    let [x, y, tallest] = [1, 1, 0];
    groups.forEach((group, k) => {
      const wide = longestOf(group, lengths);
      const room = Math.max(wide * unit, 46);
      if (x > 1 && x + room > width) [x, y, tallest] = [1, y + tallest * ROW + BELOW + 8, 0];
      set(pad[k], { x, y, width: (wide * unit).toFixed(1), height: group.length * ROW });
      group.forEach((i, row) => set(bar[i], { x, y: y + row * ROW + 0.5, width: (lengths[i] * unit).toFixed(1) }));
      set(name[k], { x, y: y + group.length * ROW + 15 });
      name[k].textContent = `${group.length} × ${wide}`;
      tallest = Math.max(tallest, group.length);
      x += room + BETWEEN;
    });
    set(svg, { width, height: y + tallest * ROW + BELOW });
  }

  function draw() {
    const now = state();
    const groups = packed(lengths, now);
    pool.enable(now.value !== "any order");
    size.enable(now.value !== "by tokens");
    places.enable(now.value === "by tokens");
    drawn = groups;
    layout(groups);
    const real = groups.map((group) => sum(group.map((i) => lengths[i])));
    const share = waste(lengths, groups);
    const { rules } = ui.get("shared");
    set(svg, { "aria-label": told(WORDS.drawn, { batches: many(WORDS.batches, groups.length), waste: percent(share) }) });
    ui.say(
      ...told(WORDS.told, {
        rule: h("b", {}, `${rules[now.value]}, ${told(WORDS.how[now.value], { ...now, sentences: many(WORDS.count, now.size) })}`),
        batches: many(WORDS.batches, groups.length),
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

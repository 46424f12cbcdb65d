/* Ablation-table widget: one change at a time; the reader guesses its cost, then sees it, with a dot for each seed. */

import { below, card, clamp, h, indexed, mean, onWidth, radios, range, s, set, short, signed, told, widthOf, write } from "../kit/index.js";

const WORDS = {
  table: "table",
  guess: "your guess",
  show: "show this row",
  reveal: "show all rows",
  rows: "What is changed, and what it gains or costs",
  row: "{name}, {points}{guess}",
  covered: "not shown yet",
  shown: "{points} BLEU",
  guessed: ", your guess {guess}",
  told: "{name}: {points}",
  seeds: " ({scores})",
  yours: " · your guess {guess}",
  off: "Over {count} rows your guesses were off by {off} on average.",
  whole: "whole model: {score}",
  mark: "upright line: your guess",
  least: "{points} or worse",
};
const [ROW, TOP, LOW, HIGH, NONE] = [25, 40, -4, 2, 9];
const points = signed(1);
const held = (gain) => clamp(gain, LOW, HIGH); // values beyond the axis count as its end

/* Difference of each row from the mean of the whole model, one number per seed. */
export const gains = ({ whole, rows }) => rows.map(([, scores]) => scores.map((score) => +(score - mean(whole)).toFixed(3)));

const given = (guesses, i) => (guesses[i] >= LOW && guesses[i] <= HIGH ? guesses[i] : null); // any other number stands for no guess

/* Mean absolute error of the guesses; null before there is one to judge. */
export function off(found, guesses, open) {
  const judged = range(found.length).filter((i) => open.includes(i) && given(guesses, i) !== null);
  return judged.length ? { count: judged.length, off: mean(judged.map((i) => Math.abs(guesses[i] - held(mean(found[i]))))) } : null;
}

function render({ model, el }) {
  const ui = card({ model, el, state: ["table", "value", "guess", "guesses", "shown", "reveal"], fits: { value: below(() => Math.max(...Object.values(tables()).map(({ rows }) => rows.length))) } });
  const shared = ui.get("shared");
  const tables = () => ui.get("tables");
  const opening = structuredClone(model.get("shown"));
  const paper = matchMedia("print"); // in print, where nobody can uncover a row
  const list = (name) => (Array.isArray(ui.get(name)) ? ui.get(name) : []);
  const now = () => {
    const name = tables()[ui.get("table")] ? ui.get("table") : Object.keys(tables())[0];
    const table = tables()[name];
    const n = table.rows.length;
    const open = range(n).filter((i) => ui.get("reveal") || list("shown")[i] || paper.matches);
    return { name, table, n, open, guesses: list("guesses"), at: clamp(Math.round(ui.get("value")) || 0, 0, n - 1) };
  };
  const put = (name, i, value) => ui.set({ [name]: list(name).map((old, k) => (k === i ? value : old)) });

  const svg = s("svg", { role: "radiogroup", "aria-label": WORDS.rows });
  const box = h("div", { class: "tfm-figure-box" }, svg);
  const caption = h("p", { class: "tfm-caption" });
  const group = radios(svg, { name: "value", onFocus: (i) => ui.set({ value: i, guess: given(list("guesses"), i) ?? 0 }) });
  ui.stage.append(box, caption);

  const slider = ui.slider("guess", { label: WORDS.guess, min: LOW, max: HIGH, step: 0.1, format: (guess) => (guess > LOW ? points(guess) : told(WORDS.least, { points: points(guess) })) });
  const show = ui.button("show", { label: WORDS.show, onclick: () => put("shown", now().at, true) });
  ui.toggle("reveal", { label: WORDS.reveal });
  const names = Object.keys(tables());
  if (names.length > 1) ui.select("table", { label: WORDS.table, options: names.map((name) => [name, shared.tables[name] ?? name]) });
  ui.on("table", () => ui.set({ value: 0, guess: 0, guesses: list("guesses").map(() => NONE), shown: opening, reveal: false }));
  ui.on("guess", () => {
    const { at, guesses } = now();
    const guess = ui.get("guess");
    if (guess !== (given(guesses, at) ?? 0)) put("guesses", at, guess);
  });

  let room = 0;
  let built = "";
  let rows = [];
  const zero = s("path", { class: "tfm-axis-line" });
  const grid = s("path", { class: "tfm-grid" });
  const title = s("text", { class: "tfm-axis", y: 13, "text-anchor": "end" }, shared.points);
  const ticks = s("g", {});
  svg.append(grid, title, ticks, zero);

  /* Whole numbers around every gain and guess, as far as the slider goes. */
  function ends({ table, guesses }) {
    const all = [...gains(table).flat(), ...guesses.filter((_, i) => given(guesses, i) !== null)];
    return [Math.floor(held(Math.min(...all, 0))), Math.ceil(held(Math.max(...all, 0)))];
  }

  function build({ table, n }, [low, high]) {
    const names = table.rows.map(([name]) => name);
    const whole = widthOf(names, 13) + 16;
    const wide = Math.min(whole, 0.5 * room);
    const x = (gain) => wide + ((gain - low) / (high - low)) * (room - wide - 16);
    const letters = wide < whole ? Math.max(8, Math.floor((wide - 10) / 6.6)) : Infinity;
    rows.forEach(({ node }) => node.remove());
    rows = names.map((name, i) => {
      const frame = s("rect", { x: 0.5, y: 1, width: room - 1, height: ROW - 3, rx: 4, fill: "transparent" }); // makes the whole row clickable
      const words = s("text", { x: 6, y: 17, style: "font-size:13px;fill:var(--tfm-ink)" });
      write(words, short(name, letters));
      const guess = s("path", { class: "tfm-line", style: "--c:var(--tfm-two)" });
      const bar = s("rect", { y: 6, height: 11, style: "fill:var(--tfm-one);fill-opacity:.4" });
      const dots = s("g", {});
      const number = s("text", { class: "tfm-mark-label", y: 16, style: "--c:var(--tfm-ink)" });
      const node = s("g", { transform: `translate(0 ${TOP + i * ROW})` }, frame, words, bar, guess, dots, number);
      svg.append(node);
      return { node, frame, bar, guess, dots, number };
    });
    const marks = range(high - low + 1).map((k) => low + k);
    ticks.replaceChildren(...marks.map((k) => s("text", { class: "tfm-axis", x: x(k), y: 32, "text-anchor": "middle" }, points(k).replace(/[.]0$/, ""))));
    set(grid, { d: marks.map((k) => `M${x(k)} ${TOP - 4}V${TOP + n * ROW}`).join("") });
    set(title, { x: room });
    set(zero, { d: `M${x(0)} ${TOP - 4}V${TOP + n * ROW}` });
    set(svg, { width: room, height: TOP + n * ROW + 4 });
    group.adopt(rows.map(({ node }) => node), names);
    return { x, wide };
  }

  /* A dot, or at the end of the axis an arrow to a value beyond it, with its number. */
  const mark = (x, isWithin) => s("path", { class: "tfm-dot", style: "--c:var(--tfm-one)", d: isWithin ? `M${x - 4.5} 11.5a4.5 4.5 0 1 1 9 0a4.5 4.5 0 1 1-9 0z` : `M${x - 4} 11.5l8-5v10z` });

  /* The number stands at the end of its bar, or right of zero if there is no room before the names. */
  function place({ x, wide }, { bar, number }, seen) {
    const [zero, end] = [x(0), x(seen.length ? held(mean(seen)) : 0)];
    set(bar, { x: Math.min(zero, end), width: Math.abs(end - zero) });
    write(number, seen.length ? points(mean(seen)) : "");
    if (!seen.length) return;
    const least = Math.min(...seen.map((gain) => x(held(gain)))) - 8;
    const left = mean(seen) < 0 && least - 30 > wide - 12;
    set(number, { x: left ? least : Math.max(zero, ...seen.map((gain) => x(held(gain)))) + 8, "text-anchor": left ? "end" : "start" });
  }

  let axis;
  function draw() {
    const state = now();
    if (!room) room = Math.min(Math.floor(box.getBoundingClientRect().width), 684);
    const limits = ends(state);
    const key = [room, state.name, ...limits].join();
    if (room && built !== key) [axis, built] = [build(state, limits), key];
    const found = gains(state.table);
    const text = (i) => (state.open.includes(i) ? told(WORDS.shown, { points: points(mean(found[i])) }) : WORDS.covered);
    rows.forEach((row, i) => {
      const { node, frame, guess, dots } = row;
      const mine = given(state.guesses, i);
      set(frame, { style: `stroke:var(--tfm-${i === state.at ? "one" : "card"})` });
      set(guess, { d: mine === null ? "" : `M${axis.x(mine)} 2V${ROW - 3}` });
      const seen = state.open.includes(i) ? found[i] : [];
      dots.replaceChildren(...seen.map((gain) => mark(axis.x(held(gain)), held(gain) === gain)));
      place(axis, row, seen);
      const yours = mine === null ? "" : told(WORDS.guessed, { guess: points(mine) });
      set(node, { "aria-label": told(WORDS.row, { name: state.table.rows[i][0], points: text(i), guess: yours }) });
    });
    group.check(state.at);
    const open = state.open.includes(state.at);
    slider.enable(!open);
    show.enable(!open);
    caption.replaceChildren(told(WORDS.whole, { score: mean(state.table.whole).toFixed(1) }), " · ", h("span", { class: "tfm-two" }, WORDS.mark));
    const [name, scores] = state.table.rows[state.at];
    const mine = given(state.guesses, state.at);
    const yours = mine === null ? "" : told(WORDS.yours, { guess: points(mine) });
    const judged = off(found, state.guesses, state.open);
    ui.say(
      h("div", {}, h("b", {}, ...indexed(told(WORDS.told, { name, points: text(state.at) }))), open ? told(WORDS.seeds, { scores: scores.join(", ") }) : "", yours),
      judged ? h("div", {}, told(WORDS.off, { count: judged.count, off: judged.off.toFixed(1) })) : "",
    );
  }

  ui.until(
    onWidth(box, (wide) => {
      room = Math.min(wide, 684);
      built = "";
      draw();
    }),
  );
  paper.addEventListener("change", draw);
  ui.until(() => paper.removeEventListener("change", draw));
  const csv = () => {
    const { table, open, guesses } = now();
    const found = gains(table);
    return [["change", "gain", "guess"], ...table.rows.map(([name], i) => [name, open.includes(i) ? mean(found[i]) : "not shown", given(guesses, i) ?? "none"])];
  };
  return ui.start(draw, { watch: ["tables"], csv });
}

export default { render, words: WORDS };

/* Film widget: one sentence through the whole machine, scene after scene, with the numbers that the model computed for it.
   At any moment the reader can go closer: to one head's weights, and to the dot product behind one of them. */

import { card, fixed, fold, h, heatmap, live, onWidth, player, range, s, set, told } from "../kit/index.js";
import { product } from "./film/product.js";
import { NARROW, theatre } from "./film/stage.js";
import { scenes } from "./film/scenes.js";

const WORDS = {
  time: "seconds",
  depth: "zoom",
  depths: ["the whole machine", "one head", "one dot product"],
  swap: "Swap the animals",
  remove: "Take the positions away",
};

const two = fixed(2);
const BEFORE = 0.1; // seconds before the next caption
const MOST = 15; // sub-words of a sentence
const [MACHINE, HEAD, PRODUCT] = range(3);

/* The scene at a time, and how far it is. */
export function placeOf(all, time) {
  let [k, left] = [0, time];
  while (k < all.length - 1 && left >= all[k].seconds) left -= all[k++].seconds;
  return { k, u: Math.min(1, left / all[k].seconds) };
}

/* The last caption that has begun, with what else its picture tells. */
export const captionAt = (says, u) => says.findLast(([from]) => from <= u);

/* For each caption the second whose picture shows what it tells: that of `stills`, or else the last one before the next caption. */
export function momentsOf(all) {
  let begin = 0;
  return all.flatMap(({ seconds, says, stills = [] }) => {
    const ends = says.map((_, i) => +(begin + (stills[i] ? stills[i] * seconds : (says[i + 1]?.[0] ?? 1) * seconds - BEFORE)).toFixed(2));
    begin += seconds;
    return ends;
  });
}

/* The head at work, and its query and key: those of the film, or those that the reader picked in the same head. */
export function closeUp({ of: { words, written, looks, names }, name, query, key, more = "" }, pick) {
  const look = looks[name];
  const read = written.slice(0, -1);
  const [rows, cols] = [name === "own" || name === "cross" ? read : words, name === "own" ? read : words];
  const [picked, i, j] = pick.split(".");
  if (picked === name && rows[i] && cols[j]) [query, key] = [+i, +j];
  return { ...look, name, rows, cols, query, key, more, layers: names.layers };
}

/* A caption, with what only the picture tells, for who does not see it. */
const heard = (caption, more) => (more ? `${caption} ${more}` : caption);

function render({ model, el }) {
  const ui = card({ model, el, below: true, state: ["sentence", "swapped", "value", "depth", "pick"], fits: { pick: (text) => /^(\w+\.\d+\.\d+)?$/.test(text) } });
  const shared = ui.get("shared");
  const svg = s("svg", { class: "tfm-film", role: "img" });
  const box = h("div", { class: "tfm-figure-box" }, svg);
  const stage = theatre(svg);
  let [all, starts, stops, rest, total, one, made] = [];
  let [shown, said, drawn] = [0];

  function cut() {
    const film = ui.get("film");
    const now = ui.get("swapped") && film.two ? { ...film, one: film.two, two: film.one } : film;
    if (made === film && one === now.one) return;
    [made, one] = [film, now.one];
    all = scenes(now, stage, shared);
    total = 0;
    starts = all.map(({ seconds }) => [total, (total = +(total + seconds).toFixed(2))][0]);
    const [first, ...others] = momentsOf(all);
    [rest, stops] = [first, [0, ...others.slice(0, -1), total]];
  }
  cut();
  /* What the reader picked is looked at until the film goes on. */
  let [picked, since] = [ui.get("pick"), ui.get("value")];
  ui.on("pick", () => ([picked, since] = [ui.get("pick"), ui.get("value")]));
  ui.on("value", () => picked && picked === ui.get("pick") && ui.get("value") !== since && ui.set({ pick: "" }));
  let waits = false; // to play by itself, from its first picture
  const atRest = (time) => time || (waits ? 0 : rest); // a moment worth seeing
  const near = () => {
    const { k, u } = placeOf(all, shown);
    return closeUp(all[k].look(u), shown === atRest(since) ? picked : "");
  };
  let mapped = near(); // the head whose weights the map shows
  const map = heatmap(ui, {
    rows: mapped.rows, cols: mapped.cols, name: "pick", label: shared.map, most: 40, text: (i, j) => two(mapped.weights[i][j]),
    describe: (i, j) => told(shared.cell, { query: mapped.rows[i], key: mapped.cols[j], weight: two(mapped.weights[i][j]) }),
    onToggle(i, j) {
      ui.set({ pick: `${mapped.name}.${i}.${j}`, depth: PRODUCT });
      setTimeout(() => zoom.el.querySelector("select").focus()); // the map goes, and with it the focus
    },
  });

  function show(time) {
    shown = time;
    const { k, u } = placeOf(all, time);
    const depth = ui.get("depth");
    svg.style.display = depth === HEAD ? "none" : "";
    if (depth !== HEAD) map.el.remove();
    else if (!map.el.isConnected) box.append(map.el);
    const close = near();
    const { rows, cols, weights, query } = close;
    const place = told(shared.places[close.name], { head: close.head + 1, layers: close.layers });
    const key = depth === HEAD && [close.name, query, rows, cols].join();
    if (key && key !== drawn) {
      mapped = close;
      map.update({ rows, cols, values: weights, row: query, hidden: rows.map((_, i) => cols.map((_, j) => close.name === "own" && j > i)) });
    }
    drawn = key || drawn;
    const zoomed = product(close, stage, shared);
    stage.frame(() => (depth === PRODUCT ? zoomed.draw() : all[k].draw(u)));
    const [, caption, more] = captionAt(all[k].says, u);
    const says = [caption.join(""), told(shared.head, { place, query: rows[query], key: cols[weights[query].indexOf(Math.max(...weights[query]))] }) + close.more, told(close.name === "own" && close.key > query ? shared.masked : shared.product, { place, ...zoomed.names }) + close.more];
    if (said === says[depth]) return;
    said = says[depth];
    ui.say(h("span", { class: "tfm-film-caption" + (depth ? " tfm-film-near" : "") }, depth ? said : caption.map((part, i) => (i % 2 ? h("i", { lang: one.words.includes(part) ? null : "fr" }, part) : part))));
    set(svg, { "aria-label": heard(said, !depth && more) });
  }
  ui.stage.append(box);
  const play = player(ui, "value", { label: WORDS.time, min: 0, max: total, step: 0.1, open: true, stops: () => stops, flow: show, format: (time) => time.toFixed(0) });
  const swap = ui.toggle("swapped", { label: WORDS.swap });
  const zoom = ui.select("depth", { label: WORDS.depth, options: WORDS.depths.map((words, depth) => [depth, words]) });
  const remove = ui.button("remove", { label: WORDS.remove, onclick: () => ui.set({ depth: MACHINE, value: play.moves() ? starts.at(-2) : stops.at(-2) }) || play.play() });
  const state = h("div");
  const own = live(ui, { into: state, ask: () => ({ do: "film", most: MOST }), take: ({ film }, typed) => ({ film, ...(typed && { swapped: false, value: 0, pick: "" }) }) });
  ui.on("sentence", play.stop);
  fold(ui, 2);
  ui.bar.lastChild.lastChild.append(state, remove.el);

  ui.until(onWidth(box, (width) => {
    const height = Math.round(width < NARROW ? width : Math.min(width * 0.5, Math.max(240, 0.46 * innerHeight))); // the caption in view with it
    stage.pixels = [width, height];
    set(svg, { width, height });
    box.style.minHeight = `${height}px`; // of the map too
    show(atRest(shown));
  }));
  waits = ui.get("plays") && !ui.get("depth") && !ui.get("swapped") && play.moves();
  if (waits) {
    /* Until it is touched, has the focus, or has played, only play, its scrubber, the swap and the way to more are in sight; the rest keeps its room. */
    const buttons = [...ui.bar.querySelectorAll(".tfm-player > :not(:first-child, label)")];
    const fade = (opacity) => [...buttons, zoom.el].forEach(({ style }) => (style.opacity = opacity));
    fade(0);
    buttons.forEach(({ style }) => (style.order = 1)); // behind the scrubber
    ["focusin", "pointerover"].forEach((event) => ui.bar.parentElement.addEventListener(event, () => fade("")));
    ui.on("value", () => fade(""));
    const inView = new Set(); // the picture and its caption
    const seen = new IntersectionObserver((changes) => {
      for (const { target, isIntersecting } of changes) inView[isIntersecting ? "add" : "delete"](target);
      if (inView.size < 2) return;
      seen.disconnect();
      waits = false;
      if (!ui.get("value")) play.play();
    }, { threshold: 0.6 });
    [box, box.parentElement.nextElementSibling].forEach((each) => seen.observe(each));
    ui.until(() => seen.disconnect());
  }

  function draw() {
    cut();
    swap.enable(!own() && !!made.two);
    const time = Math.min(total, ui.get("value"));
    play.upTo(total, time);
    said = ""; // the readout may have more to say than the caption
    show(atRest(time));
  }
  const csv = () => [["scene", "second", "caption"], ...all.flatMap(({ name, seconds, says }, k) => says.map(([from, words, more]) => [name, starts[k] + from * seconds, heard(words.join(""), more)]))];
  return ui.start(draw, { watch: ["film"], csv });
}

export default { render, words: WORDS };

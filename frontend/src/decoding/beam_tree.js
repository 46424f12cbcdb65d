/* Beam-tree widget: beam search over a tree of log-probabilities, step by step; width and α take effect at once. */

import { asRead, card, clamp, fixed, h, live, many, morph, onWidth, player, radios, range, retext, s, set, short, told, widthOf } from "../kit/index.js";

const WORDS = {
  tree: "Continuations by step, most probable at the top",
  beam: "beam",
  step: "step",
  penalty: "length penalty α",
  way: "{word}, step {step}, log-probability {log}, {fate}: {text}", // the distinguishing parts come first, since a text can be long
  kept: "kept",
  pruned: "pruned",
  source: "Source: {source} · ",
  boxes: "in each box: log P of the sentence so far",
  finished: "Finished, best first: log P / penalty = score",
  none: "Nothing has finished yet",
  told: "Beam {width}, α = {alpha}, step {step}: {here}, {sentences} finished. ",
  over: "the search ended after {steps}",
  steps: ["{count} step", "{count} steps"],
  continuations: ["{count} continuation", "{count} continuations"],
  sentences: ["{count} sentence", "{count} sentences"],
  place: " · {sum} = {total} · rank {place}, {fate}",
  leads: "{text} leads with score {score}",
  ahead: "{text} is the most probable so far, with log P {log}",
};

const END = 0; // the token that ends a sentence
const PRUNED = 3; // number of pruned continuations that are drawn

export const penalty = (length, alpha) => ((5 + length) / 6) ** alpha;

/* Beam search, as tfm_lib.decoding.Beam. tree[node] = [[token, log-probability, child node or −1], …], the root first.
   steps[i] = { kept, pruned }, each way = { from, token, more, total, score, path, ended, rank };
   found = the finished hypotheses, best first, or the open ones if there are none. */
export function search(tree, width, alpha, maxLen) {
  let open = [{ node: 0, total: 0, path: [], from: null, rank: 0 }];
  const [steps, finished] = [[], []];
  let over = false;
  while (!over) {
    const length = steps.length + 1;
    const ways = open.flatMap((from) =>
      (tree[from.node] ?? []).map(([token, more, node]) => {
        const total = from.total + more;
        const ended = token === END;
        return { from, token, more, node, total, score: total / penalty(length, alpha), path: [...from.path, token], ended, length };
      }),
    );
    ways.sort((a, b) => b.total - a.total);
    ways.forEach((way, rank) => (way.rank = rank));
    const kept = ways.slice(0, width);
    steps.push({ kept, pruned: ways.slice(width, width + PRUNED), count: ways.length });
    open = kept.filter((way) => !way.ended);
    finished.push(...kept.filter((way) => way.ended));
    finished.sort((a, b) => b.score - a.score);
    over = !open.length || length === maxLen || (finished.length > 0 && open[0].total / penalty(maxLen, alpha) <= finished[0].score);
  }
  return { steps, finished, found: finished.length ? finished.slice(0, width) : open };
}

/* Join words with spaces, or sub-words directly, where ▁ begins a word. */
export function phrase(tokens, path) {
  const words = path.filter((token) => token !== END).map((token) => tokens[token]);
  return tokens.some((token) => token.startsWith("▁")) ? words.join("").replaceAll("▁", " ").trim() : words.join(" ");
}

const keyOf = ({ path }) => `${path},`; // begins with the key of each way that it goes on from

const [ROW, TOP, HIGH] = [38, 22, 32];
const two = fixed(2);

function render({ model, el }) {
  const ui = card({ model, el, state: ["sentence", "value", "alpha", "step", "focus"] });
  const tokens = () => ui.get("tokens");
  const widest = () => ui.get("widest");
  const width = () => clamp(Math.round(Number(ui.get("value")) || 1), 1, widest());
  const alpha = () => clamp(Number(ui.get("alpha")) || 0, 0, 1);
  const run = () => search(ui.get("tree"), width(), alpha(), ui.get("max_len"));
  const upTo = (most = run().steps.length) => clamp(Math.round(Number(ui.get("step")) || 1), 1, most);
  const text = (way) => phrase(tokens(), way.path) || ui.get("shared").nothing;

  live(ui, { ask: () => ({ do: "tree", widest: widest() }), take: (found, typed) => ({ ...found, ...(typed && whole(found)) }) });
  const whole = ({ tree, max_len }) => ({ step: search(tree, width(), alpha(), max_len).steps.length, focus: [0, 0] });
  const svg = s("svg", { role: "radiogroup", "aria-label": WORDS.tree });
  const box = h("div", { class: "tfm-figure-box" }, svg);
  const list = h("div", { class: "tfm-caption", style: "margin-top:10px" });
  const group = radios(svg, { name: "focus", onFocus: (i) => ui.set({ focus: [marks[i].way.length, marks[i].way.rank] }) });
  const source = h("p", { class: "tfm-caption" });
  ui.stage.append(source, box, list);
  ui.slider("value", { label: WORDS.beam, min: 1, max: widest() });
  ui.slider("alpha", { label: WORDS.penalty, min: 0, max: 1, step: 0.1, format: fixed(1) });
  const stepper = player(ui, "step", { pace: 1200, label: WORDS.step, min: 1, max: ui.get("depth"), open: true, at: () => upTo() - 1 });

  let marks = []; // what is drawn: { way, name, lost } and their SVG nodes
  const pool = new Map(); // the marks by the path of their way, so that a way keeps its own, and may come back while it fades
  let grow = []; // what moves the new ones from the ends of their parents to their places
  const edges = s("g", { fill: "none" });
  const line = s("path", { class: "tfm-axis-line", style: "stroke-dasharray:2 4" });
  const start = s("circle", { cx: 5, style: "fill:var(--tfm-soft)" });
  const heads = s("g", { "aria-hidden": "true" }); // hidden, since each label names its step
  svg.append(edges, heads, line, start);
  let room = 0;
  let drawn = "";

  function mark() {
    const [edge, frame, word, total] = [s("path", {}), s("rect", { y: -HIGH / 2, height: HIGH }), s("text", { x: 7, y: -2 }), s("text", { x: 7, y: 12, class: "tfm-axis" })];
    return { edge, frame, word, total, node: s("g", { style: "cursor:pointer" }, frame, word, total) };
  }

  function build(now, last) {
    const fit = Math.max(2, Math.floor((room - 16) / (room < 420 ? 88 : 104)));
    const first = Math.max(1, last - fit + 1);
    const across = Math.min(150, (room - 16) / Math.min(fit, Math.max(last, 4)));
    const wide = Math.floor(across) - 26;
    const x = (step) => Math.round(16 + (step - first) * across);
    const y = (rank) => TOP + HIGH / 2 + rank * ROW + (rank >= width() ? 12 : 0); // the middle of a box
    const ends = ({ length, rank, from }) => [[length > 1 ? x(length - 1) + wide : 5, y(from.rank)], [x(length), y(rank)]];
    const put = ({ edge, node, gone }, [left, high], [a, b], size = 1) => {
      const middle = (left + a) / 2;
      set(edge, { d: `M${left} ${high}C${middle} ${high} ${middle} ${b} ${a} ${b}`, opacity: gone && 0 });
      set(node, { transform: `translate(${a} ${b}) scale(${size})`, opacity: gone && 0 });
    };
    for (const shown of pool.values()) shown.gone = true;
    marks = now.steps.slice(first - 1, last).flatMap(({ kept, pruned }) => [...kept, ...pruned]).map((way) => {
      const key = keyOf(way);
      const known = pool.get(key);
      const shown = known ?? mark();
      const parent = pool.get(keyOf(way.from));
      const [left, to] = ends(way);
      const lost = way.rank >= width();
      const name = way.ended ? ui.get("shared").end : asRead(tokens()[way.token], tokens());
      const most = Math.max(3, ((wide - 10) * name.length) / widthOf([name], 13));
      const was = known ? known.end : parent?.gone === false ? parent.was : left; // where its end is seen now
      Object.assign(shown, { way, key, name, lost, was, end: [to[0] + wide, to[1]], gone: false });
      put(shown, ...(known ? [left, to] : [was, was, 0]));
      if (!known) grow.push(() => put(shown, left, to));
      set(shown.frame, { width: wide, rx: way.ended ? 15 : 5 });
      set(shown.word, { class: lost && "tfm-axis" });
      retext(shown.word, short(name, most));
      retext(shown.total, two(way.total));
      pool.set(key, shown);
      return shown;
    });
    pool.forEach((shown, key) => {
      if (!shown.gone) return;
      put(shown, ...ends(shown.way));
      const drop = () => {
        if (!shown.gone || pool.get(key) !== shown) return;
        pool.delete(key);
        shown.edge.remove();
        shown.node.remove();
      };
      if (stepper.moves()) setTimeout(drop, 300);
      else drop();
    });
    /* Those that stay are not moved in the document, which would end their way. */
    const order = (within, part) => marks.reduceRight((next, { [part]: node }) => {
      if (!node.parentNode || (next && node.compareDocumentPosition(next) & 2)) within.insertBefore(node, next);
      return node;
    }, null);
    order(svg, "node");
    order(edges, "edge");
    morph(heads, range(last - first + 1).map((i) => s("text", { class: "tfm-axis", transform: `translate(${x(first + i)} 12)` }, told(ui.get("shared").step, { step: first + i }))));
    set(line, { d: `M0 ${y(width()) - HIGH / 2 - 9}H${room}` });
    set(start, { cy: y(0), r: first > 1 ? 0 : 4 });
    set(svg, { width: room, height: TOP + (width() + PRUNED) * ROW + 12 });
    const place = ({ way, name, lost }) => told(WORDS.way, { word: name, step: way.length, text: text(way), log: two(way.total), fate: lost ? WORDS.pruned : WORDS.kept });
    group.adopt(marks.map(({ node }) => node), marks.map(place));
  }

  function draw() {
    const now = run();
    const last = upTo(now.steps.length);
    stepper.upTo(now.steps.length, last);
    const state = [width(), alpha(), last, room, ui.get("tree").length, ui.get("tokens").join()].join(); // changes need a new drawing
    const had = svg.contains(document.activeElement);
    if (state !== drawn && room > 0) build(now, last), (drawn = state);
    const ended = now.finished.filter((way) => way.length <= last);
    const chosen = focused(now, last);
    const at = chosen ?? ended[0] ?? now.steps[last - 1].kept[0];
    const line = keyOf(at);
    marks.forEach(({ key, edge, frame, lost }) => {
      const on = line.startsWith(key);
      const look = `stroke:var(--tfm-${on ? "decoder" : "soft"});${lost ? "stroke-dasharray:3 3;" : ""}stroke-width:`;
      set(edge, { style: `${look}${on ? 3 : 1.1};stroke-opacity:${on ? 1 : lost ? 0.45 : 0.7}` });
      set(frame, { style: `${look}${on ? 2.4 : 1};fill:var(--tfm-card)` });
    });
    if (grow[0]) svg.getBoundingClientRect(); // the new ones ease from where they are now, in the colours that they have
    grow.forEach((go) => go());
    grow = [];
    const index = Math.max(0, marks.findIndex(({ key }) => key === line));
    group.check(index);
    const here = marks[index]?.node;
    if (had && here !== document.activeElement) here?.focus({ preventScroll: true });
    source.textContent = (ui.get("source") && told(WORDS.source, { source: ui.get("source") })) + WORDS.boxes;
    tell(now, last, ended, chosen);
  }

  /* Step 0 stands for the winner's path; a link may name a place that this search does not have. */
  function focused(now, last) {
    const [step, rank] = Array.isArray(ui.get("focus")) ? ui.get("focus") : [];
    if (!(step >= 1 && step <= last)) return undefined;
    const { kept, pruned } = now.steps[step - 1];
    return [...kept, ...pruned].find((way) => way.rank === rank);
  }

  function tell(now, last, ended, chosen) {
    const sum = (way) => `${two(way.total)} / ${two(penalty(way.length, alpha()))} = ${two(way.score)}`;
    list.style.minHeight = `${1 + Math.min(width(), now.finished.length)}lh`; // the room that it needs in the end
    list.replaceChildren(
      h("b", {}, ended.length ? WORDS.finished : WORDS.none),
      ...ended.slice(0, width()).map((way, i) => h("div", i ? {} : { style: "color:var(--tfm-decoder);font-weight:650" }, `${i + 1}. ${text(way)} · ${sum(way)}`)),
    );
    const here = last === now.steps.length ? told(WORDS.over, { steps: many(WORDS.steps, last) }) : many(WORDS.continuations, now.steps[last - 1].count);
    const state = told(WORDS.told, { width: width(), alpha: fixed(1)(alpha()), step: last, here, sentences: many(WORDS.sentences, ended.length) });
    const parts = [];
    if (chosen) {
      for (let way = chosen; way.from; way = way.from) parts.unshift(two(way.more));
      const fate = chosen.rank >= width() ? WORDS.pruned : WORDS.kept;
      ui.say(state, h("b", {}, text(chosen)), told(WORDS.place, { sum: parts.join(" + "), total: two(chosen.total), place: chosen.rank + 1, fate }));
    } else {
      const [leads] = [...ended, ...now.steps[last - 1].kept];
      const said = { text: h("b", { style: "color:var(--tfm-decoder)" }, text(leads)), score: two(leads.score), log: two(leads.total) };
      ui.say(state, ...told(ended.length ? WORDS.leads : WORDS.ahead, said));
    }
  }

  ui.until(
    onWidth(box, (now) => {
      room = Math.min(now, 1000);
      drawn = "";
      draw();
    }),
  );
  const csv = () => [
    ["step", "place", "text", "log_p", "score", "fate"],
    ...run().steps.flatMap(({ kept, pruned }) =>
      [...kept, ...pruned].map((way) => [way.length, way.rank + 1, text(way), way.total, way.score, way.rank >= width() ? "pruned" : way.ended ? "finished" : "kept"]),
    ),
  ];
  return ui.start(draw, { watch: ["tokens", "tree", "max_len", "source", "depth"], csv });
}

export default { render, words: WORDS };

/* Follow-token widget: what the vectors of all words say, stage by stage up the model, and the numbers of one of them. */

import { below, card, clamp, fixed, h, live, mean, player, range, retext, s, set, tokenRow, told } from "../kit/index.js";

const WORDS = {
  layer: "layer {layer} · {step}",
  row: "{layer} · {step}",
  words: "Words of the source, then of the target: choose one",
  head: "weights of",
  all: "all {heads} heads, mean",
  one: "head {head}",
  step: "step",
  reads: "it reads",
  number: "number",
  drawn: "{label}, {count} numbers: the least {least}, number {lowest}; the largest {most}, number {highest}",
  logits: "the {count} largest logits",
  vector: "the vector of “{token}”, {count} of its {width} numbers, between ±\u00a0{top}",
  nothing: "this step adds nothing",
  active: " · {count} hidden units are above 0",
  nearest: "At each step upward, the word whose embedding lies nearest to each vector",
  says: "At each step upward, the word that each vector would write if the machine ended there; the stronger the colour, the surer",
  told: "{token} of the {sentence}, {step}. Number {number} is {value}{added}.{length}{most} {kind}: {words}",
  added: ", of which {value} was added here",
  length: " Length {length}{added}.",
  lengthened: ", added {length}",
  most: " Most weight: “{word}” {weight}.",
  kinds: { source: "Nearest", target: "Would say" },
};

const two = fixed(2);
const WIDE = 640; // of the drawing of a vector, which is stretched to the card
const [LABEL, COLUMN] = [170, 52]; // pixels that the table of words wants
const [HALF, LOW] = [50, 30]; // pixels above and below 0: of the vector, and of what was added

const whole = (x, lo, hi, otherwise) => (Number.isInteger(x) ? clamp(x, lo, hi) : otherwise);

/* The stage, the word's index in its own sentence, and whether it is in the source; as FollowToken.at. */
export function placeOf({ encoder, decoder, src_tokens, tgt_tokens }, { value, word }) {
  const m = src_tokens.length;
  const at = whole(word, 0, m + tgt_tokens.length - 1, 0);
  const [stages, source] = at < m ? [encoder, true] : [decoder, false];
  const step = whole(value, 0, stages.length - 1, 0);
  const stage = stages[step];
  const asked = source || stage.name === "cross-attention" ? src_tokens : tgt_tokens;
  return { stages, step, stage, source, at, i: source ? at : at - m, token: [...src_tokens, ...tgt_tokens][at], asked };
}

/* Weights of a word: of one head, counted from 1, or with 0 the mean of all; as FollowToken.weights. */
export function weightsOf(stage, i, head) {
  const rows = stage.weights.map((each) => each[i]);
  if (!rows.length) return [];
  return head ? rows[whole(head, 1, rows.length, 1) - 1] : rows[0].map((_, j) => mean(rows.map((row) => row[j])));
}

export const reach = (...vectors) => Math.max(0.01, ...vectors.flat().map(Math.abs));

const nameIn = (steps, words = WORDS.layer) => ({ name, layer }) => (layer ? told(words, { layer, step: steps[name] }) : steps[name]);

function render({ model, el }) {
  const ui = card({ model, el, state: ["sentence", "word", "value", "head", "number"], fits: { word: below(1000), value: below(1000) } });
  const shared = ui.get("shared");
  const [nameOf, short] = [nameIn(shared.steps), nameIn(shared.steps, WORDS.row)];
  const traits = ["encoder", "decoder", "src_tokens", "tgt_tokens"];
  const now = () => placeOf(Object.fromEntries(traits.map((trait) => [trait, ui.get(trait)])), { value: ui.get("value"), word: ui.get("word") });
  const heads = Math.max(...ui.get("decoder").map(({ weights }) => weights.length));
  const kept = () => now().stage.vectors[0].length;
  const number = () => whole(ui.get("number"), 1, kept(), 1);

  const third = ({ src_tokens, tgt_tokens }) => ({ word: src_tokens.length + Math.min(2, tgt_tokens.length - 1) });
  live(ui, { ask: () => ({ do: "follow", numbers: kept(), shapes: shared.shapes }), take: (found, typed) => ({ ...found, ...(typed && third(found)) }) });
  const words = tokenRow(ui, { tokens: [...ui.get("src_tokens"), ...ui.get("tgt_tokens")], name: "word", label: WORDS.words, kind: "one", onFocus: (word) => ui.set({ word }) });
  const said = (text) => h("span", { class: "tfm-caption", style: "margin:0 4px" }, text);
  const part = () => {
    words.el.prepend(said(shared.source));
    words.el.children[ui.get("src_tokens").length].after(said(shared.target));
  };
  part();
  const caption = h("caption", { class: "tfm-caption", style: "text-align:left" });
  const map = h("table", { class: "tfm-lens", style: "margin:0", onclick: choose }, caption);
  const heard = (step) => nameOf(now().stages[step] ?? now().stage);
  const longest = Math.max(...ui.get("decoder").map((stage) => nameOf(stage).length)); // the encoder's names are shorter
  const play = player(ui, "value", { pace: 1000, label: WORDS.step, min: 0, max: now().stages.length - 1, heard, format: (step) => heard(step).padEnd(longest, "\u00a0") });

  const head = ui.select("head", { label: WORDS.head, options: [[0, told(WORDS.all, { heads })], ...range(heads).map((k) => [k + 1, told(WORDS.one, { head: k + 1 })])] });
  ui.slider("number", { label: WORDS.number, min: 1, max: kept(), format: String });

  const shapes = h("p", { class: "tfm-caption", style: "font-family:var(--tfm-mono);overflow-wrap:anywhere" });

  function choose({ target }) {
    const [cell, row] = [target.closest("td"), target.closest("tr")];
    const { source, stages } = now();
    if (cell) ui.set({ value: stages.length - 1 - row.rowIndex, word: cell.cellIndex - 1 + (source ? 0 : ui.get("src_tokens").length) });
  }

  /* The first step at the bottom; what lies above the chosen step is not told yet. */
  function fill(stages, step, tokens, i) {
    const rows = [...stages].reverse();
    const key = JSON.stringify([rows.map(short), tokens]);
    if (map.key !== key) {
      map.key = key;
      const line = (kind, name, each) => h("tr", {}, h("th", { scope: "row" }, name), each.map((text) => h(kind, {}, text || null)));
      read.style.flex = `2 1 ${LABEL + tokens.length * COLUMN}px`;
      map.replaceChildren(caption, h("tbody", {}, rows.map((stage) => line("td", short(stage), tokens.map(() => ""))), line("th", WORDS.reads, tokens)));
    }
    [...map.rows].forEach((row, r) => {
      const at = stages.length - 1 - r;
      set(row, { class: at === step ? "tfm-here" : null });
      tokens.forEach((_, j) => {
        const [word, share] = (at >= 0 && at <= step && stages[at].says[j][0]) || ["", 0];
        const cell = row.cells[j + 1];
        if (at >= 0) retext(cell, word);
        set(cell, { style: `height:calc(1lh + 1px);--w:${clamp(share, 0, 1)}`, class: j === i ? "tfm-chosen" : null });
      });
    });
  }

  /* Two rows of bars up and down from 0: the vector, and what this step added to it; pointing at one selects it. */
  const about = [h("p", { class: "tfm-caption", style: "min-height:2lh" }), h("p", { class: "tfm-caption" })];
  const point = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    ui.set({ number: clamp(Math.ceil(((event.clientX - box.left) / box.width) * kept()), 1, kept()) });
  };
  const lane = (half) => {
    const group = s("g");
    const svg = s("svg", { viewBox: `0 ${-half} ${WIDE} ${2 * half}`, preserveAspectRatio: "none", width: "100%", style: `height:${2 * half}px`, role: "img", onclick: point, onpointermove: (event) => event.pointerType !== "touch" && point(event) });
    svg.append(group, s("path", { class: "tfm-axis-line", d: `M0 0H${WIDE}` }));
    return { svg, group };
  };
  const [stream, change] = [lane(HALF), lane(LOW)];
  const drawn = (label, row) => {
    const [least, most] = [Math.min(...row), Math.max(...row)];
    return told(WORDS.drawn, { label, count: row.length, least: two(least), lowest: row.indexOf(least) + 1, most: two(most), highest: row.indexOf(most) + 1 });
  };

  /* `later`: seconds until the bars move, each from where it is. */
  function fillLane({ svg, group }, row, unit, label, colour, chosen, later) {
    set(svg, { "aria-label": drawn(label, row) });
    set(group, { style: `fill:var(--tfm-${colour});fill-opacity:.75` });
    const step = WIDE / row.length;
    row.forEach((x, i) => {
      const style = (i === chosen ? "fill:var(--tfm-ink);fill-opacity:1;" : "") + (later ? `transition-delay:${later}s` : "");
      set(group.children[i] ?? group.appendChild(s("rect")), { x: i * step + 1, y: (-Math.max(x, 0) * unit).toFixed(1), width: step - 2, height: (Math.abs(x) * unit).toFixed(1), style });
    });
    while (group.children[row.length]) group.lastChild.remove();
  }

  /* The numbers stand beside the words where there is room for both. */
  const side = h("div", { style: "flex:1 0 230px;min-width:0" }, about[0], stream.svg, about[1], change.svg, shapes);
  const read = h("div", {}, map);
  ui.stage.append(words.el, h("div", { class: "tfm-figure-box", style: "display:flex;flex-wrap:wrap;gap:10px 24px" }, read, side));

  let before; // the word and the step that were drawn before
  function draw() {
    const { stages, step, stage, source, at, i, token, asked } = now();
    const tokens = [...ui.get("src_tokens"), ...ui.get("tgt_tokens")];
    const row = weightsOf(stage, i, ui.get("head"));
    const first = source || stage.name === "cross-attention" ? 0 : ui.get("src_tokens").length;
    words.update({ focus: at, tokens, weights: tokens.map((_, j) => row[j - first]) });
    if (words.el.firstChild.className !== "tfm-caption") part();
    caption.textContent = source ? WORDS.nearest : WORDS.says;
    play.upTo(stages.length - 1, step);
    fill(stages, step, ui.get(source ? "src_tokens" : "tgt_tokens"), i);
    head.enable(row.filter((weight) => weight > 0).length > 1); // a word that sees itself alone gets 1 from every head
    const chosen = number() - 1;
    const vector = stage.vectors[i];
    const added = stage.added[i];
    const logits = stage.name === "logits";
    const here = at * 1000 + step;
    const flows = (each, k) => !k || each.added[i]; // one scale for all of it, so that from step to step only what is added moves
    const all = flows(stage, step) ? stages.filter(flows) : [stage];
    const top = reach(...all.map((each) => each.vectors[i]));
    const unit = Math.min(HALF / top, LOW / reach(...all.map((each) => each.added[i] ?? 0)));
    shapes.textContent = stage.shapes + (stage.active[i] >= 0 ? told(WORDS.active, { count: stage.active[i] }) : "");
    about[0].textContent = told(logits ? WORDS.logits : WORDS.vector, { token, count: vector.length, width: ui.get("width"), top: two(top) });
    about[1].textContent = added ? shared.added : WORDS.nothing;
    /* What was added grows where it stands, and then the vector goes as far. */
    fillLane(stream, vector, unit, shared.vector, source ? "encoder" : "decoder", chosen, added && play.moves() && before === here - 1 && 0.3);
    fillLane(change, added ?? vector.map(() => 0), unit, about[1].textContent, "soft", chosen);
    before = here;
    const best = row.indexOf(Math.max(...row));
    const sentence = source ? "source" : "target";
    ui.say(
      ...told(WORDS.told, {
        token: h("b", {}, `“${token}”`),
        sentence: shared[sentence],
        step: nameOf(stage),
        number: chosen + 1,
        value: two(vector[chosen]),
        added: added && told(WORDS.added, { value: two(added[chosen]) }),
        length: logits ? "" : told(WORDS.length, { length: two(stage.lengths[i]), added: added && told(WORDS.lengthened, { length: two(stage.added_lengths[i]) }) }),
        most: row.length > 0 && told(WORDS.most, { word: asked[best], weight: two(row[best]) }),
        kind: WORDS.kinds[sentence],
        words: stage.says[i].map(([word, share]) => `“${word}” ${two(share)}`).join(" · "),
      }),
    );
  }

  const csv = () => {
    const { stages, i, token } = now();
    const rows = stages.flatMap((stage) => stage.vectors[i].map((x, k) => [token, stage.layer, stage.name, k + 1, x, stage.added[i]?.[k] ?? 0]));
    return [["word", "layer", "step", "number", "value", "added"], ...rows];
  };
  return ui.start(draw, { watch: traits, csv });
}

export default { render, words: WORDS };

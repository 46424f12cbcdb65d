/* Tokeniser widget: a sentence is split into letters, and the merges join them, one after the other. On request it also shows
   the sub-words of the shipped translator, whose merges were learned from other text. */

import { card, clamp, h, live, many, morph, onWidth, player, plot, s, set, sum, told, widthOf } from "../kit/index.js";

const WORDS = {
  merges: "merges",
  pieces: "pieces of the sentence",
  plane: "How many pieces the sentence has after each merge.",
  sentence: "sentence",
  drawn: "Pieces: {pieces}",
  empty: "No sentence yet",
  told: "{merges}: {pieces} for {words}",
  merge: ["{count} merge", "{count} merges"],
  piece: ["{count} piece", "{count} pieces"],
  word: ["{count} word", "{count} words"],
  unknown: ", {count} unknown",
  fires: "Merge {merge} joins {pair}, which occurs here.",
  idle: "Merge {merge} joins {pair}, which doesn’t occur here.",
  last: " Marked: merge {merge}, {pair}.",
  none: "Nothing is merged yet: each piece is a letter, and · marks the last letter of a word.",
  beside: "show the translator’s pieces too",
  comes: "The book’s translator has its own list of merges, which is loaded with it: {size} MB, once.",
  theirs: "With the translator’s {known} sub-words: {pieces}. ▁ begins a word.",
  reads: "The translator reads {pieces}",
};

const [END, BEGIN, UNKNOWN] = ["·", "▁", "<unk>"]; // the first marks the last letter of a word

/* Words of a sentence in lower case; each punctuation mark is a word. As tfm_lib.widgets.data.words_of. */
export const wordsOf = (sentence) => sentence.toLowerCase().match(/[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]/gu) ?? [];

export function lettersOf(word) {
  const letters = [...word];
  letters[letters.length - 1] += END;
  return letters;
}

/* Join every occurrence of the pair in a word into one piece, from the left. */
export function merged(pieces, [a, b]) {
  const done = [];
  for (const piece of pieces) {
    if (done.at(-1) === a && piece === b) done[done.length - 1] += piece;
    else done.push(piece);
  }
  return done;
}

export const cut = (word, merges) => merges.reduce(merged, lettersOf(word));

/* For a whole sentence: its pieces after `used` merges, the number of pieces after each merge, and which merges apply. */
export function trace(words, merges, used) {
  let now = words.map(lettersOf);
  const size = () => sum(now.map((pieces) => pieces.length));
  const counts = [size()];
  const firing = [];
  let then = used === 0 ? now : null;
  merges.forEach((pair, k) => {
    const next = now.map((pieces) => merged(pieces, pair));
    now = next;
    counts.push(size());
    if (counts[k + 1] < counts[k]) firing.push(k + 1);
    if (k + 1 === used) then = now;
  });
  return { pieces: then, counts, firing };
}

export const isUnknown = (piece, known) => known.size > 0 && [...piece.replace(END, "")].length <= 1 && !known.has(piece);

/* Group the translator's sub-words by word. */
export const byWord = (pieces) => pieces.reduce((words, piece) => (!words.length || piece.startsWith(BEGIN) ? [...words, [piece]] : [...words.slice(0, -1), [...words.at(-1), piece]]), []);

const [HIGH, PAD, GAP, APART, LINE] = [30, 9, 3, 16, 44];

function render({ model, el }) {
  const ui = card({ model, el, state: ["value", "used", "beside"] });
  const merges = () => ui.get("merges").map((pair) => pair.split(" "));
  let table = merges();
  const used = () => clamp(Math.round(Number(ui.get("used")) || 0), 0, table.length);

  const [ours, theirs] = [boxes(), boxes()];
  ui.until(onWidth(ours.el, (width) => [ours, theirs].forEach(({ fit }) => fit(width))));

  const plane = plot(ui, {
    x: { label: WORDS.merges, domain: [0, Math.max(1, table.length)] },
    y: { label: WORDS.pieces, domain: [0, 10] },
    height: 190,
    most: 684,
    label: WORDS.plane,
  });
  const stairs = plane.line({ colour: "ink" });
  const least = plane.rule({ colour: "soft" });
  const here = plane.dot({ colour: "one", r: 6 });
  ui.stage.append(ours.el);

  ui.text("value", { label: WORDS.sentence, most: 120 });
  player(ui, "used", { pace: 900, stops: () => [0, ...now().firing, table.length], label: WORDS.merges, min: 0, max: table.length, format: String });
  const own = live(ui, { ask: () => ({ do: "pieces" }), beside: { of: "value", label: WORDS.beside, says: WORDS.comes } });
  const caption = h("p", { class: "tfm-caption" });
  const other = h("div", {}, caption, theirs.el);
  ui.stage.append(other, plane.el);

  const now = () => {
    const words = wordsOf(String(ui.get("value")).slice(0, 120));
    return { words, ...trace(words, table, used()) };
  };

  function draw() {
    table = merges();
    const { words, pieces, counts, firing } = now();
    const m = used();
    const known = new Set(ui.get("letters"));
    const last = firing.filter((k) => k <= m).at(-1); // the last merge that joined anything here
    const pair = (k) => ({ merge: k, pair: table[k - 1].join(" + ") });
    const seen = pieces.map((word) => word.map((piece) => (isUnknown(piece, known) ? UNKNOWN : piece)));
    ours.show(seen, last && table[last - 1].join(""));
    other.hidden = !own();
    if (own()) {
      theirs.show(byWord(ui.get("read")));
      caption.textContent = told(WORDS.theirs, { known: ui.get("known"), pieces: many(WORDS.piece, ui.get("read").length) });
    }
    plane.domain({ x: [0, Math.max(1, table.length)], y: [0, Math.max(5, Math.ceil(counts[0] / 5) * 5)] });
    stairs(counts.flatMap((count, k) => (k ? [[k, counts[k - 1]], [k, count]] : [[0, count]])));
    least(words.length ? { y: words.length } : null, many(WORDS.word, words.length));
    here([m, counts[m]], many(WORDS.piece, counts[m]));
    const lost = seen.flat().filter((piece) => piece === UNKNOWN).length;
    ui.say(
      h("b", {}, told(WORDS.told, { merges: many(WORDS.merge, m), pieces: many(WORDS.piece, counts[m]), words: many(WORDS.word, words.length) })),
      lost ? told(WORDS.unknown, { count: lost }) : "",
      ". ",
      m ? told(last === m ? WORDS.fires : WORDS.idle, pair(m)) : WORDS.none,
      last && last < m ? told(WORDS.last, pair(last)) : "",
      ` ${line(seen)}`,
      own() && h("div", {}, told(WORDS.reads, { pieces: line(byWord(ui.get("read"))) })),
    );
  }

  const csv = () => {
    const { words, pieces } = now();
    const others = own() ? byWord(ui.get("read")) : [];
    return [["word", "pieces", "count"], ...words.map((word, i) => [word, pieces[i].join(" "), pieces[i].length]), ...others.map((cut) => [cut.join(""), cut.join(" "), cut.length])];
  };
  return ui.start(draw, { watch: ["merges", "letters", "read", "known"], csv });
}

const line = (words) => words.map((word) => word.join(" ")).join(" | ");

/* Place words side by side while there is room, each as a row of boxes; one of the boxes may be new. Each letter has a box and a
   text of its own, so that letters can slide together: a joined letter's box lies, unseen, over that of its piece. The picture is
   as high as the same words in letters need, so that nothing below it moves. */
function boxes() {
  const [frames, letters] = [s("g", {}), s("g", {})];
  const svg = s("svg", { role: "img" }, frames, letters);
  let [width, words, fresh] = [0, [], null];
  const long = (text) => widthOf([text], 15);
  const room = (text) => Math.max(20, long(text) + 2 * PAD);
  /* The boxes' places [piece, x, y, width], and the height of all. */
  function place(words) {
    const placed = [];
    let [x, y] = [1, 1];
    for (const word of words) {
      const sizes = word.map(room);
      if (x > 1 && x + sum(sizes) + GAP * (sizes.length - 1) > width) [x, y] = [1, y + LINE];
      word.forEach((piece, i) => {
        if (x > 1 && x + sizes[i] > width) [x, y] = [1, y + LINE]; // a word is longer than the line
        placed.push([piece, x, y, sizes[i]]);
        x += sizes[i] + GAP;
      });
      x += APART - GAP;
    }
    return [placed, y + HIGH + 2];
  }
  function draw() {
    if (!width) return;
    const [rects, texts] = [[], []];
    const [placed, high] = place(words);
    for (const [piece, x, y, size] of placed) {
      const lost = piece === UNKNOWN;
      const kind = lost ? "broken" : piece === fresh ? "one" : "soft";
      const parts = lost ? [piece] : [...piece];
      let at = x + (size - sum(parts.map(long))) / 2;
      parts.forEach((part, k) => {
        rects.push(s("rect", { x: x.toFixed(1), y, width: size.toFixed(1), height: HIGH, rx: 6, style: `fill:var(--tfm-card);stroke:var(--tfm-${kind})`, "stroke-width": kind === "soft" ? 1.2 : 2.4, "stroke-dasharray": lost ? "5 3" : null, ...(k ? { opacity: 0 } : { "data-piece": piece }) }));
        texts.push(s("text", { transform: `translate(${at.toFixed(1)} ${y + 20})`, style: `font-size:15px${kind === "soft" ? "" : `;fill:var(--tfm-${kind});font-weight:600`}` }, part));
        at += long(part);
      });
    }
    const [, most] = place(words.map((word) => word.flatMap((piece) => (piece === UNKNOWN ? piece : piece.match(/.·?/gu)))));
    set(svg, { width, height: Math.max(LINE, high, most), "aria-label": words.length ? told(WORDS.drawn, { pieces: words.map((word) => word.join(" ")).join(", ") }) : WORDS.empty });
    morph(frames, rects);
    morph(letters, texts);
  }
  return {
    el: h("div", { class: "tfm-figure-box" }, svg),
    fit: (now) => ((width = now), draw()),
    show: (now, piece) => (([words, fresh] = [now, piece]), draw()),
  };
}

export default { render, words: WORDS };

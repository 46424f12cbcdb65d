/* The tasks of the playground: what is read, and what is to be written for it; drawn as tfm_lib.corpora.words draws them.

   TASKS[name]                    a Task:
     .tokens, .size               what it reads and writes, and how many ids that makes; a token's id is FIRST plus its place
     .draw(random, sizes)         something to read, of ids; `sizes` is { shortest, longest }, which only words of letters heed
     .answer(ids)                 what is to be written for it
     .read(text), .unknown(text)  the ids of what a reader typed, and what of it is no token
     .written(ids)                the tokens: a word where they are letters, otherwise an array
     .unseen(sizes)               what no run trains on: COUNT different ones, the same for every run
   batch(words, task)             what the model reads and writes, as Transformer.forward takes it, and what it should say: `out`  */

import { random } from "../../twin/random.js";
import { ENGLISH, GERMAN, LOCALES, TENS, UNITS, dateInWords, isoOf, numberInWords, numberOf, padded } from "./phrases.js";

export { random };

export const LETTERS = [..."adeilmnoprst"];
export const [PAD, BOS, EOS, FIRST] = [0, 1, 2, 3];
export const COUNT = 200;
const HELD_OUT = 20260; // a seed

const from = (first, last) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
const among = (random, count) => Math.floor(random() * count);

class Task {
  constructor(tokens, { draw, answer, split }) {
    const places = new Map(tokens.map((token, i) => [token.toLowerCase(), FIRST + i]));
    const id = (word) => places.get(word.toLowerCase());
    const known = (words) => words.map(id).filter(Boolean);
    const named = (ids) => ids.map((id) => tokens[id - FIRST] ?? "·");
    Object.assign(this, { tokens, size: FIRST + tokens.length });
    this.draw = (random, sizes) => known(draw(random, sizes));
    this.answer = (ids) => known(answer(named(ids)));
    this.read = (text) => known(split(text));
    this.unknown = (text) => [...new Set(split(text))].filter((word) => !id(word));
    this.written = (ids) => (tokens === LETTERS ? named(ids).join("") : named(ids));
  }

  unseen(sizes) {
    const [draw, found] = [random(HELD_OUT), new Map()];
    while (found.size < COUNT) {
      const ids = this.draw(draw, sizes);
      found.set(ids.join(), ids);
    }
    return [...found.values()];
  }
}

const ofLetters = (answer) => new Task(LETTERS, { draw: letters, answer, split: (text) => [...text] });

function letters(random, { shortest, longest }) {
  const length = shortest + among(random, longest - shortest + 1);
  return Array.from({ length }, () => LETTERS[among(random, LETTERS.length)]);
}

const numbers = new Task([...UNITS.slice(1), ...TENS.slice(2), "hundred", "thousand", "and", ...from(0, 9).map(String)], {
  draw(random) {
    const least = 10 ** (1 + among(random, 3)); // each length is as likely; numbers of one digit are too few to keep some unseen
    return numberInWords(least + among(random, 9 * least));
  },
  answer: (words) => [...String(numberOf(words) || "")],
  split: (text) => text.split(/[\s,-]+/).filter(Boolean).flatMap((word) => (/^[1-9]\d{1,3}$/.test(word) ? numberInWords(Number(word)) : [word])),
});

const [FIRST_YEAR, LAST_YEAR, DAYS] = [1950, 2049, 36_525];
const dates = new Task([...new Set([...ENGLISH, ...GERMAN, ...from(1, 31).map(String), ...from(1, 9).map((day) => padded(day)), ...from(FIRST_YEAR, LAST_YEAR).map(String), ",", ".", "-"])], {
  draw: (random) => dateInWords(LOCALES[among(random, LOCALES.length)], new Date(Date.UTC(FIRST_YEAR, 0, 1 + among(random, DAYS)))),
  answer: isoOf,
  split: (text) => text.match(/[\p{L}\p{N}]+|[^\p{L}\p{N}\s]/gu) ?? [],
});

export const TASKS = {
  reverse: ofLetters((word) => word.toReversed()),
  sort: ofLetters((word) => word.toSorted()),
  copy: ofLetters((word) => word),
  before: ofLetters((word) => [...word.slice(-1), ...word.slice(0, -1)]), // before the first stands the last
  numbers,
  dates,
};

export function batch(words, task) {
  const answers = words.map(task.answer);
  const [m, n] = [words, answers].map((all) => 1 + Math.max(...all.map((ids) => ids.length)));
  const rows = (of, size, make) => of.flatMap((ids) => [...make(ids), ...Array(size).fill(PAD)].slice(0, size));
  return {
    size: words.length,
    pad: PAD,
    m,
    n,
    src: rows(words, m, (ids) => [...ids, EOS]),
    tgt: rows(answers, n, (ids) => [BOS, ...ids]),
    out: rows(answers, n, (ids) => [...ids, EOS]),
  };
}

/* The tasks of the playground: a word of letters, and what is to be written for it; drawn as tfm_lib.corpora.words draws them.

   LETTERS                     the alphabet; a letter's id is FIRST plus its place in it
   TASKS[task](ids)            the right answer
   word(draw, sizes)           a random word, of ids; `sizes` is { shortest, longest }
   unseen(sizes)               the words that no run trains on: COUNT different ones, the same for every run
   batch(words, task)          what the model reads and writes, as Transformer.forward takes it, and what it should say: `out`
   read(text), written(ids)    letters to ids, without those that the alphabet lacks, and back                              */

import { random } from "../../twin/random.js";

export { random };

export const LETTERS = [..."adeilmnoprst"];
export const [PAD, BOS, EOS, FIRST] = [0, 1, 2, 3];
export const VOCABULARY = FIRST + LETTERS.length;
export const COUNT = 200;
const HELD_OUT = 20260; // a seed

const ascending = (a, b) => a - b;
export const TASKS = { reverse: (ids) => ids.toReversed(), sort: (ids) => ids.toSorted(ascending), copy: (ids) => [...ids] };

export const read = (text) => [...text.toLowerCase()].map((letter) => FIRST + LETTERS.indexOf(letter)).filter((id) => id >= FIRST);
export const written = (ids) => ids.map((id) => LETTERS[id - FIRST] ?? "·").join("");

export function word(draw, { shortest, longest }) {
  const length = shortest + Math.floor(draw() * (longest - shortest + 1));
  return Array.from({ length }, () => FIRST + Math.floor(draw() * LETTERS.length));
}

export function unseen(sizes) {
  const [draw, found] = [random(HELD_OUT), new Map()];
  while (found.size < COUNT) {
    const ids = word(draw, sizes);
    found.set(ids.join(), ids);
  }
  return [...found.values()];
}

export function batch(words, task) {
  const answers = words.map(TASKS[task]);
  const m = 1 + Math.max(...words.map((ids) => ids.length)); // all tasks answer with as many letters
  const rows = (of, make) => of.flatMap((ids) => [...make(ids), ...Array(m).fill(PAD)].slice(0, m));
  return {
    size: words.length,
    pad: PAD,
    m,
    n: m,
    src: rows(words, (ids) => [...ids, EOS]),
    tgt: rows(answers, (ids) => [BOS, ...ids]),
    out: rows(answers, (ids) => [...ids, EOS]),
  };
}

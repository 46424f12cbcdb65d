/* Sub-word tokeniser, as tfm_lib.data.Tokenizer with the same tokenizer.json.
   encode(sentence) → ids; pieces(sentence); piece(id); unknown(sentence) → the characters that become <unk>; decode(ids, unknown) */

const BEGIN = "▁"; // marks the beginning of a word
const PUNCTUATION = /[!-/:-@[-`{-~\p{P}]/u;
const NUMERAL = /\p{N}/u;
const SPACE = "[\\s\\u0085]";
/* Characters in the library's version of Unicode; newer ones are not normalised there. */
const OLDER = /[^\u32ff\ua7f1-\ua7f4\u{107a5}\u{1ccd6}-\u{1ccf9}\u{1f16c}\u{1fbf0}-\u{1fbf9}]+/gu;
/* A character with all that may compose with it: marks, and vowels and final consonants of Korean syllables. */
const CLUSTER = /.[\p{M}\u1161-\u1175\u11a8-\u11c2\u314f-\u3163\uffc2-\uffdc]*/gsu;

export class Tokenizer {
  #ids;
  #pieces;
  #ranks;
  #normalise;
  #cuts;
  #seen = new Map(); // cache of tokenised words

  constructor({ normalizer, pre_tokenizer, model, added_tokens }) {
    this.#ids = new Map(Object.entries(model.vocab));
    this.#pieces = [];
    for (const [piece, id] of this.#ids) this.#pieces[id] = piece;
    this.#ranks = new Map(model.merges.map((pair, rank) => [pair.join(" "), rank]));
    this.#normalise = steps(normalizer).map(normaliser);
    this.#cuts = steps(pre_tokenizer).filter(({ type }) => type !== "Metaspace").map(cutter);
    [this.pad, this.bos, this.eos, this.unk] = added_tokens.map(({ id }) => id);
  }

  get length() {
    return this.#pieces.length;
  }

  piece = (id) => this.#pieces[id];

  encode = (sentence) => this.#read(sentence).map(({ id }) => id);

  /* The sub-words; a character that is not a sub-word stands for itself. */
  pieces = (sentence) => this.#read(sentence).map(({ text }) => text);

  /* Unknown characters as written in the sentence: ½ is read as 1⁄2, of which the slash is unknown, and ½ is reported. */
  unknown = (sentence) =>
    (sentence.match(CLUSTER) ?? []).filter((cluster) => !this.#ids.has(cluster)).flatMap((cluster) => {
      const [signs, places] = [[...nfkc(cluster)], origins(cluster)];
      return signs.flatMap((sign, i) => [...this.#normalised(sign)].filter((letter) => !this.#ids.has(letter)).map(() => places[i]));
    });

  /* The sentence of `ids`, without special tokens; the characters in `unknown` replace <unk>. */
  decode(ids, unknown = []) {
    const signs = [...unknown];
    const end = ids.indexOf(this.eos);
    const written = (end < 0 ? ids : ids.slice(0, end)).filter((id) => id !== this.pad && id !== this.bos);
    const text = written.map((id) => (id === this.unk ? (signs.shift() ?? "") : this.piece(id))).join("");
    return text.replaceAll(BEGIN, " ").replace(/^ /, "");
  }

  #read(sentence) {
    return this.words(sentence).flatMap((word) => {
      if (!this.#seen.has(word)) this.#seen.set(word, this.#merge([...word]));
      return this.#seen.get(word);
    });
  }

  /* Split into the words and punctuation marks within which letters are merged. */
  words(sentence) {
    let text = this.#normalised(sentence);
    if (!text) return [];
    if (!text.startsWith(BEGIN)) text = BEGIN + text;
    const words = text.match(new RegExp(`${BEGIN}[^${BEGIN}]*`, "gu"));
    return this.#cuts.reduce((now, cut) => now.flatMap(cut), words);
  }

  #normalised = (text) => this.#normalise.reduce((now, change) => change(now), text).replaceAll(" ", BEGIN);

  /* Merge the pair that was learned first; of equal pairs the left one. */
  #merge(parts) {
    const rank = (i) => this.#ranks.get(`${parts[i]} ${parts[i + 1]}`) ?? Infinity;
    const ranks = parts.map((_, i) => rank(i));
    for (;;) {
      let at = 0;
      for (let i = 1; i < ranks.length; i++) if (ranks[i] < ranks[at]) at = i;
      if (!(ranks[at] < Infinity)) return parts.map((text) => ({ text, id: this.#ids.get(text) ?? this.unk }));
      parts.splice(at, 2, parts[at] + parts[at + 1]);
      ranks.splice(at, 1);
      for (const i of [at - 1, at]) if (i >= 0) ranks[i] = rank(i);
    }
  }
}

const steps = (part) => part.normalizers ?? part.pretokenizers ?? [part];

const nfkc = (text) => text.replace(OLDER, (known) => known.normalize("NFKC"));

/* For each character of nfkc(cluster), the character of the cluster that it comes from: composed marks count as their base. */
function origins(cluster) {
  const places = [...cluster].map((sign) => [...nfkc(sign)].map(() => sign));
  const [first, ...marks] = places;
  return [...first, ...marks.flat().slice(first.length + marks.flat().length - [...nfkc(cluster)].length)];
}

function normaliser({ type, pattern, content }) {
  if (type === "NFKC") return nfkc;
  if (type === "Replace") {
    const signs = new RegExp(pattern.Regex.replaceAll("\\s", SPACE), "gu");
    return (text) => text.replace(signs, content);
  }
  if (type === "Strip") return (text) => text.replace(new RegExp(`^${SPACE}+|${SPACE}+$`, "gu"), "");
  if (type === "Lowercase") return (text) => Array.from(text, (sign) => sign.toLowerCase()).join(""); // per letter: no final sigma
  throw new Error(`This tokenizer normalises by ${type}, which the page cannot do.`);
}

function cutter({ type, behavior, individual_digits }) {
  const alone = (sign) => (word) => word.split(new RegExp(`(${sign.source})`, "u")).filter(Boolean);
  if (type === "Punctuation" && behavior === "Isolated") return alone(PUNCTUATION);
  if (type === "Digits" && individual_digits) return alone(NUMERAL);
  throw new Error(`This tokenizer cuts by ${type}, which the page cannot do.`);
}

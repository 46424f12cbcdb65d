/* Sub-words, as tfm_lib.data.Tokenizer makes them from the same tokenizer.json.
   encode(sentence) → ids; pieces(sentence); piece(id); unknown(sentence) → the signs that become <unk>; decode(ids, unknown) */

const BEGIN = "▁"; // of a word
const PUNCTUATION = /[!-/:-@[-`{-~\p{P}]/u;
const NUMERAL = /\p{N}/u;
const SPACE = "[\\s\\u0085]";
const MARKS = /\P{M}\p{M}*|\p{M}+/gu; // a sign with the marks that belong to it

export class Tokenizer {
  #ids;
  #pieces;
  #ranks;
  #normalise;
  #cuts;
  #seen = new Map(); // words cut before

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

  /* The sub-words; a sign that is none stands for itself. */
  pieces = (sentence) => this.#read(sentence).map(({ text }) => text);

  unknown = (sentence) => this.#read(sentence).filter(({ id }) => id === this.unk).map(({ text }) => text);

  /* The sentence of `ids`, without special tokens; the signs in `unknown` take the places of <unk>. */
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

  /* The words and marks within which letters are joined. */
  words(sentence) {
    let text = this.#normalise.reduce((now, change) => change(now), sentence).replaceAll(" ", BEGIN);
    if (!text) return [];
    if (!text.startsWith(BEGIN)) text = BEGIN + text;
    const words = text.match(new RegExp(`${BEGIN}[^${BEGIN}]*`, "gu"));
    return this.#cuts.reduce((now, cut) => now.flatMap(cut), words);
  }

  /* The pair that was learned first is joined first; of equal pairs the left one. */
  #merge(parts) {
    for (;;) {
      let [best, at] = [Infinity, -1];
      for (let i = 0; i + 1 < parts.length; i++) {
        const rank = this.#ranks.get(`${parts[i]} ${parts[i + 1]}`) ?? Infinity;
        if (rank < best) [best, at] = [rank, i];
      }
      if (at < 0) return parts.map((text) => ({ text, id: this.#ids.get(text) ?? this.unk }));
      parts.splice(at, 2, parts[at] + parts[at + 1]);
    }
  }
}

const steps = (part) => part.normalizers ?? part.pretokenizers ?? [part];

function normaliser({ type, pattern, content }) {
  if (type === "NFKC") return (text) => text.normalize("NFKC");
  if (type === "Replace") {
    const signs = new RegExp(pattern.Regex.replaceAll("\\s", SPACE), "gu");
    return (text) => text.replace(signs, content);
  }
  if (type === "Strip") return (text) => text.replace(new RegExp(`^${SPACE}+|${SPACE}+$`, "gu"), "");
  if (type === "Lowercase") return (text) => text.toLowerCase();
  throw new Error(`This tokenizer normalises by ${type}, which the page cannot do.`);
}

function cutter({ type, behavior, individual_digits }) {
  const alone = (sign) => (word) => word.split(new RegExp(`(${sign.source})`, "u")).filter(Boolean);
  if (type === "Punctuation" && behavior === "Isolated") return alone(PUNCTUATION);
  if (type === "Digits" && individual_digits) return alone(NUMERAL);
  throw new Error(`This tokenizer cuts by ${type}, which the page cannot do.`);
}

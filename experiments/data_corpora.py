"""Measure sub-words and batching on real sentences: vocabularies, unknown words, lengths, padding per batching rule.

Needs the corpora (`TFM_DATA` or the cache); the result holds numbers only, no sentence of the corpora.
"""

import hashlib
import random
import re
from collections import Counter

from experiments.record import record, short
from tfm_lib.corpora import load_corpus
from tfm_lib.data import Example, Tokenizer, batches, padding_waste

CORPORA = ("multi30k", "tatoeba-en-fr", "tatoeba-en-ko")
SIZES = (1000, 4000, 16000)
WORDS = 8000  # sub-words for the batching, and words of the word-level vocabulary compared with it
SEEDS = (0, 1, 2)
SENTENCES, TOKENS = 64, 4096  # sentences per batch in batches of fixed size; tokens per batch in batches by tokens
POOLS = (1, 5, 50)
BATCHED = 40_000  # examples that are put into batches, drawn again for each seed
_WORD = re.compile(r"\w+|[^\w\s]")


def held_out(pairs: dict[str, list[tuple[str, str]]]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return training and test pairs for the word counts; a tiny test split is replaced by a sixteenth of training."""
    if len(pairs["test"]) >= 500:
        return pairs["train"], pairs["test"]
    away = {source for source, _ in pairs["train"] if hashlib.sha256(source.encode()).hexdigest()[0] == "1"}
    return [pair for pair in pairs["train"] if pair[0] not in away], [
        pair for pair in pairs["train"] if pair[0] in away
    ]


def words_of(sentences: list[str]) -> Counter[str]:
    return Counter(word for sentence in sentences for word in _WORD.findall(sentence))


def unknown(train: list[str], test: list[str]) -> dict[str, float]:
    """Return the share of running test words that a word list lacks: all words of training, and the most frequent."""
    known, asked = words_of(train), words_of(test)
    frequent = {word for word, _ in known.most_common(WORDS)}
    total = asked.total()
    return {
        "words": total,
        "a_sentence": total / len(test),
        "distinct": len(known),
        "once": sum(count == 1 for count in known.values()) / len(known),
        "unseen": sum(count for word, count in asked.items() if word not in known) / total,
        "outside": sum(count for word, count in asked.items() if word not in frequent) / total,
    }


def by_size(train: list[str], test: list[str]) -> list[dict[str, float]]:
    """Return sub-words per word, and the share of <unk>, in the test sentences, for vocabularies of several sizes."""
    words = words_of(test).total()
    found = []
    for size in SIZES:
        tokenizer = Tokenizer.train(train, size)
        ids = [id for row in tokenizer.encode_all(test) for id in row]
        unk = sum(id == tokenizer.unk_id for id in ids)
        found.append({"size": size, "pieces": len(tokenizer), "a_word": len(ids) / words, "unk": unk / len(ids)})
    return found


def wasted(groups: list[list[Example]]) -> dict[str, float]:
    """Return the share of padding on each side, and the real target tokens of the emptiest and the fullest batch."""
    turned = [[Example(src=tgt, tgt=src) for src, tgt in group] for group in groups]
    real = [sum(len(example.tgt) + 1 for example in group) for group in groups[:-1]]  # the last one is a remainder
    return {
        "batches": len(groups),
        "tgt": padding_waste(groups),
        "src": padding_waste(turned),
        "least": min(real),
        "most": max(real),
    }


def chunks(examples: list[Example]) -> list[list[Example]]:
    return [examples[i : i + SENTENCES] for i in range(0, len(examples), SENTENCES)]


def by_rule(examples: list[Example], seed: int) -> dict[str, dict[str, float]]:
    """Return the padding waste of each rule, on the same examples drawn by `seed`."""
    shuffled = random.Random(seed).sample(examples, min(BATCHED, len(examples)))
    by_length = sorted(shuffled, key=lambda example: (len(example.tgt), len(example.src)))
    found = {"any order": wasted(chunks(shuffled)), "by length": wasted(chunks(by_length))}
    for pool in POOLS:
        found[f"by tokens, pool {pool}"] = wasted(list(batches(shuffled, TOKENS, seed=seed, pool=pool)))
    found["by tokens, sorted"] = wasted(list(batches(shuffled, TOKENS)))
    return found


def leaked(parts: dict[str, list[tuple[str, str]]]) -> dict[str, list[float] | list[list[float]]]:
    """Return the share of test pairs whose source (or target) is in training too: as split, and split by line."""

    def shares(train, test) -> list[float]:
        return [
            sum(pair[side] in known for pair in test) / len(test)
            for side in (0, 1)
            if (known := {pair[side] for pair in train})
        ]

    everything = [pair for pairs in parts.values() for pair in pairs]
    by_line = []
    for seed in SEEDS:
        shuffled = random.Random(seed).sample(everything, len(everything))
        by_line.append(shares(shuffled[len(parts["test"]) :], shuffled[: len(parts["test"])]))
    return {"as split": shares(parts["train"], parts["test"]), "by line": by_line}


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return short(value, 4) if isinstance(value, float) else value


def main() -> None:
    what = (
        f"For each corpus: pairs by part; for each language, of the test's running words, the share never met in training "
        f"(unseen) and outside the {WORDS} most frequent words (outside; where the test has less than 500 pairs, of a sixteenth of training held out); for shared byte-pair vocabularies of several "
        f"sizes, pieces a word and the share of <unk> in the test. Padding on each side by rule, with {WORDS} pieces, for "
        f"batches of {SENTENCES} sentences or of {TOKENS} target tokens; least and most: real target tokens in a batch. "
        f"leaked: the share of test pairs whose source, and whose target, stands in training, as the corpus is split and split by line. "
        f"lengths: (source, target) pieces of 96 pairs drawn by chance, <eos> or <bos> not counted."
    )
    with record("data_corpora", what) as numbers:
        numbers["settings"] = {
            "words": WORDS,
            "sentences": SENTENCES,
            "tokens": TOKENS,
            "pools": POOLS,
            "batched": BATCHED,
        }
        numbers["corpora"] = {}
        for name in CORPORA:
            corpus = load_corpus(name)
            pairs = {part: corpus.sentences(part) for part in ("train", "val", "test")}
            known, asked = held_out(pairs)
            train = [sentence for pair in known for sentence in pair]
            test = [sentence for pair in asked for sentence in pair]
            tokenizer = Tokenizer.train(train, WORDS)
            sides = [tokenizer.encode_all(side) for side in zip(*pairs["train"])]
            examples = [Example(src, tgt) for src, tgt in zip(*sides)]
            rules = []
            for seed in SEEDS:
                with numbers.run(name, seed, updates=0):
                    rules.append(by_rule(examples, seed))
            places = ["leaked/by line", *(f"rules/{rule}" for rule in rules[0])]
            numbers.rows(name, *(f"corpora/{name}/{place}" for place in places))
            drawn = random.Random(0).sample(examples, 96)
            numbers["corpora"][name] = rounded({
                "languages": corpus.languages,
                "pairs": {part: len(some) for part, some in pairs.items()},
                "unknown": {
                    language: unknown([pair[side] for pair in known], [pair[side] for pair in asked])
                    for side, language in enumerate(corpus.languages)
                },
                "leaked": leaked(pairs),
                "by_size": by_size(train, test),
                "rules": {rule: [found[rule] for found in rules] for rule in rules[0]},
                "lengths": [[len(src), len(tgt)] for src, tgt in drawn],
            })  # fmt: skip
            print(name, numbers["corpora"][name]["rules"], flush=True)


if __name__ == "__main__":
    main()

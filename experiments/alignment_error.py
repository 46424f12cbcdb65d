"""Measure alignment error rate per score function: `python -m experiments.alignment_error`, about 50 min on one core.

With the variable TFM_RUNS set, each training is saved as it finishes.
"""

from functools import partial
from typing import Any

import torch

from experiments.alignment_models import LR, epochs, error_rate, exact_match, trained, weights_of, written
from experiments.pair_samples import first_of
from experiments.record import Record, piece, record
from tfm_lib.corpora import Corpus, Pair, load_corpus

SEEDS = [0, 1, 2, 3, 4]
SCORES = ("dot", "scaled dot", "additive", "bilinear")
CORPORA = {
    "dates": ({"first_year": 1970, "last_year": 2029}, 600),
    "numbers": ({}, 400),
}
LONGER = 10  # times the updates: does longer training change the alignments?
PRACTISED = {  # corpus: score, learning rates, seeds
    "dates": [(score, [LR], SEEDS[:1]) for score in SCORES],
    "numbers": [
        (score, [LR / 3, LR, 2 * LR] if score in ("additive", "bilinear") else [LR], SEEDS) for score in SCORES
    ],
}
REVERSE = ({"size": 20_000, "max_len": 24}, 1000, [0, 1, 2])
EXAMPLES = 4  # of each corpus, for the widget


def main() -> None:
    torch.set_num_threads(1)
    what = "Attentive translators on dates and number words: exact match and alignment error rate on the test split"
    unequal = "Ten times the updates ask whether practice moves the links; where it does, with more seeds and rates."
    with record("alignment_error", what, unequal) as result:
        result["examples"] = []
        for name, (options, steps) in CORPORA.items():
            corpus = load_corpus(name, **options)
            arm = partial(result.pieces, seeds=SEEDS, updates=steps, epochs=epochs(corpus, steps), group=name)
            found = {score: arm(f"{name}, {score}", make=partial(translator, name, score)) for score in SCORES}
            result[name] = {
                "options": options,
                "steps": steps,
                "pairs": len(corpus.split("test")),
                **{
                    key: {score: [one[key] for one in runs] for score, runs in found.items()}
                    for key in ("exact", "aer")
                },
            }
            for score in SCORES:
                result.rows(f"{name}, {score}", f"{name}/exact/{score}", f"{name}/aer/{score}")
            print(name, result[name], flush=True)
            practised(result, name)
            shown = piece("alignment_error", f"{name}, examples", partial(first_models, name))
            result["examples"] += shown["examples"]
        result["reverse"] = reversed_lists(result)


def practised(result: Record, name: str) -> None:
    """Add the arms with `LONGER` times the updates to the record of their corpus."""
    options, steps = CORPORA[name]
    seen = epochs(load_corpus(name, **options), LONGER * steps)
    result[name]["longer"] = {"exact": {}, "aer": {}}
    for score, rates, seeds in PRACTISED[name]:
        for rate in rates:
            key = f"{score}, rate {rate:.2g}"
            arm, make = (
                f"{name}, {key}, {LONGER * steps} steps",
                partial(translator, name, score, times=LONGER, rate=rate),
            )
            runs = result.pieces(arm, seeds, make, LONGER * steps, seen, name)
            for measure, found in result[name]["longer"].items():
                found[key] = [one[measure] for one in runs]
            result.rows(arm, *(f"{name}/longer/{measure}/{key}" for measure in ("exact", "aer")))


def translator(name: str, score: str, seed: int, times: int = 1, rate: float = LR) -> tuple[dict[str, Any], Any]:
    options, steps = CORPORA[name]
    corpus = load_corpus(name, **options)
    model, test = trained(corpus, score, times * steps, seed, rate=rate), corpus.split("test")
    exact = round(exact_match(model, corpus, test), 4)
    return {"exact": exact, "aer": _rate(model, corpus, test)}, model


def first_models(name: str) -> tuple[dict[str, Any], None]:
    """Return the widget's examples: the output of the four models of the first seed."""
    options, steps = CORPORA[name]
    corpus = load_corpus(name, **options)
    models = {score: trained(corpus, score, steps, SEEDS[0]) for score in SCORES}
    return {"examples": examples(models, corpus, corpus.split("test"))}, None


def _rate(model, corpus: Corpus, pairs: list[Pair], shift: int = 0) -> float:
    return round(error_rate(weights_of(model, corpus, pairs), pairs, shift), 4)


def reversed_lists(result: Record) -> dict[str, Any]:
    """Measure a translator whose weights point to the word next to the one that it writes."""
    options, steps, seeds = REVERSE
    corpus = load_corpus("reverse", **options)
    test, shifts = first_of(corpus.split("test"), 500), [str(shift) for shift in range(-2, 3)]

    def run(seed: int) -> tuple[dict[str, Any], Any]:
        model = trained(corpus, "dot", steps, seed)
        rates = {shift: _rate(model, corpus, test, int(shift)) for shift in shifts}
        return {"exact": round(exact_match(model, corpus, test), 4), "aer_by_shift": rates}, model

    runs = result.pieces("reverse, dot", seeds, run, steps, epochs(corpus, steps), "reverse")
    result.rows("reverse, dot", "reverse/exact", *(f"reverse/aer_by_shift/{shift}" for shift in shifts))
    return {
        "options": options,
        "steps": steps,
        "pairs": len(test),
        "seeds": seeds,
        "exact": [one["exact"] for one in runs],
        "aer_by_shift": {shift: [one["aer_by_shift"][shift] for one in runs] for shift in shifts},
    }


def examples(models: dict, corpus: Corpus, test: list[Pair]) -> list[dict]:
    """Return the first test sentences, of different shapes, that all four models translate without a mistake."""
    right = {score: written(model, corpus, test) for score, model in models.items()}
    chosen = {}
    for i, pair in enumerate(test):
        shape = pair.links if corpus.name == "dates" else len(pair.src)
        long = corpus.name == "dates" or len(pair.tgt) > 3
        if long and shape not in chosen and all(rows[i] == list(pair.tgt) for rows in right.values()):
            chosen[shape] = pair
        if len(chosen) == EXAMPLES:
            break
    pairs = list(chosen.values())
    weights = {score: weights_of(model, corpus, pairs) for score, model in models.items()}
    return [
        {
            "corpus": corpus.name,
            "src": [*pair.src, "<eos>"],
            "tgt": list(pair.tgt),
            "links": sorted(pair.links),
            "possible": sorted(pair.possible),
            "weights": {
                score: [[round(w, 3) for w in row] for row in rows[i].tolist()] for score, rows in weights.items()
            },
        }
        for i, pair in enumerate(pairs)
    ]


if __name__ == "__main__":
    main()

"""Alignment error rate per score function: `python -m experiments.alignment_error`, about 6 minutes of one core."""

from experiments.alignment_models import error_rate, exact_match, trained, weights_of, written
from experiments.record import record
from tfm_lib.corpora import Corpus, Pair, load_corpus

SEEDS = [0, 1, 2, 3, 4]
SCORES = ("dot", "scaled dot", "additive", "bilinear")
CORPORA = {
    "dates": ({"first_year": 1970, "last_year": 2029}, 600),
    "numbers": ({}, 400),
}
REVERSE = ({"size": 20_000, "max_len": 24}, 1000, [0, 1, 2])
EXAMPLES = 4  # of each corpus, for the widget


def main() -> None:
    what = "Attentive translators on dates and number words: exact match and alignment error rate on the test split"
    with record("alignment_error", what, SEEDS) as result:
        result["examples"] = []
        for name, (options, steps) in CORPORA.items():
            corpus = load_corpus(name, **options)
            models = {score: [trained(corpus, score, steps, seed) for seed in SEEDS] for score in SCORES}
            test = corpus.split("test")
            result[name] = {
                "options": options,
                "steps": steps,
                "pairs": len(test),
                "exact": {score: [round(exact_match(m, corpus, test), 4) for m in models[score]] for score in SCORES},
                "aer": {score: [_rate(m, corpus, test) for m in models[score]] for score in SCORES},
            }
            print(name, result[name], flush=True)
            firsts = {score: models[score][0] for score in SCORES}
            result["examples"] += examples(firsts, corpus, test)
        result["reverse"] = reversed_lists()


def _rate(model, corpus: Corpus, pairs: list[Pair], shift: int = 0) -> float:
    return round(error_rate(weights_of(model, corpus, pairs), pairs, shift), 4)


def reversed_lists() -> dict:
    """A translator whose weights point beside the word that it writes."""
    options, steps, seeds = REVERSE
    corpus = load_corpus("reverse", **options)
    test = corpus.split("test")[:500]
    models = [trained(corpus, "dot", steps, seed) for seed in seeds]
    shifts = range(-2, 3)
    return {
        "options": options,
        "steps": steps,
        "pairs": len(test),
        "seeds": seeds,
        "exact": [round(exact_match(model, corpus, test), 4) for model in models],
        "aer_by_shift": {str(shift): [_rate(model, corpus, test, shift) for model in models] for shift in shifts},
    }


def examples(models: dict, corpus: Corpus, test: list[Pair]) -> list[dict]:
    """The first sentences of the test split, of different shapes, that all four models translate without a mistake."""
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

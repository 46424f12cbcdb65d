"""Measure on the shipped translator how reliable BLEU differences are, and what a head's weights show.

Four questions. How wide is the interval of a paired bootstrap on few sentences and on many? How much is gained by
trying 72 translators, each with one head off, and reporting the best? How much does a translation change when a head's
weights are permuted over other words? And how close are the head's own weights to "one word gets it all"?

    TFM_DATA=… python -m experiments.evaluation_translator      # about twenty minutes on one core

The result holds numbers; nothing of the corpus.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from experiments.multihead_ablation import ALL, Bench, fingerprint
from experiments.record import record
from tfm_lib.corpora import load_corpus
from tfm_lib.evaluation import bleu, paired_bootstrap

NAME = "evaluation_translator"
SIZES = [30, 60, 120, 240]  # sentences in a smaller test
DRAWS = 20  # number of smaller tests of each size
SPLITS = list(range(10))  # seeds for splitting the validation sentences into two halves
DEALT = list(range(3))  # seeds for permuting a head's weights


def first_references(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return each source once, with its first translation."""
    found: dict[str, str] = {}
    for source, target in pairs:
        found.setdefault(source, target)
    return found


def written(bench: Bench, sources: Sequence[str], beam: int = 1) -> list[str]:
    tokenizer = bench.translator.tokenizer
    return [tokenizer.decode(ids) for ids in bench.translator.search(sources, beam, at_once=64)]


def by_length(bench: Bench, sources: Sequence[str]) -> list[list[int]]:
    """Return the indices of the sources, grouped by token count so that nothing is padded."""
    groups: dict[int, list[int]] = {}
    for i, ids in enumerate(bench.translator.tokenizer.encode_all(list(sources))):
        groups.setdefault(len(ids), []).append(i)
    return list(groups.values())


def written_unpadded(bench: Bench, sources: Sequence[str], groups: list[list[int]]) -> list[str]:
    """Translate greedily in batches without padding, so that values are permuted among real words only."""
    found = [""] * len(sources)
    for group in groups:
        for i, text in zip(group, written(bench, [sources[i] for i in group])):
            found[i] = text
    return found


def of_sizes(systems: dict[str, list[str]], references: list[str]) -> dict[str, dict[str, list[list[float]]]]:
    """Return paired bootstraps of several tests of each size, for each pair of systems."""
    found: dict[str, dict[str, list[list[float]]]] = {}
    for name, (ours, theirs) in {"search": ("beam 4", "greedy"), "layer": ("greedy", "without a layer")}.items():
        sizes = found[name] = {}
        for size in [*SIZES, len(references)]:
            tests = [random.Random(draw).sample(range(len(references)), size) for draw in range(DRAWS)]
            sizes[str(size)] = []
            for test in tests if size < len(references) else tests[:1]:
                one, other, wanted = (
                    [texts[i] for i in test] for texts in (systems[ours], systems[theirs], references)
                )
                numbers = paired_bootstrap(one, other, wanted, draws=400)
                sizes[str(size)].append([round(number, 3) for number in numbers])
            print(name, size, sizes[str(size)][0], flush=True)
    return found


def halves(variants: list[list[str]], whole: list[str], references: list[str], split: int) -> dict[str, float]:
    """Return the BLEU gain of the variant that is best on one half, on that half and on the other half."""
    order = random.Random(split).sample(range(len(references)), len(references))
    chosen_on, other = order[: len(order) // 2], order[len(order) // 2 :]

    def gain(texts: list[str], rows: list[int]) -> float:
        ours, theirs, wanted = ([lines[i] for i in rows] for lines in (texts, whole, references))
        return bleu(ours, wanted).score - bleu(theirs, wanted).score

    best = max(range(len(variants)), key=lambda i: gain(variants[i], chosen_on))
    return {
        "best": best,
        "chosen_on": round(gain(variants[best], chosen_on), 3),
        "other": round(gain(variants[best], other), 3),
    }


@contextmanager
def dealt_out(bench: Bench, head: int, seed: int) -> Iterator[None]:
    """Permute the values of one head within each sentence, alike for all queries, so its weights hit other words."""
    h = bench.translator.model.config.n_heads
    layer, which = bench.layers[head // h], head % h
    generator = torch.Generator().manual_seed(seed)

    def deal(module: torch.nn.Module, inputs: tuple[Tensor, ...], values: Tensor) -> Tensor:
        width, values = values.shape[-1] // h, values.clone()
        own = slice(which * width, (which + 1) * width)
        values[..., own] = values[:, torch.randperm(values.shape[1], generator=generator), own]
        return values

    handle = layer.W_V.register_forward_hook(deal)
    try:
        yield
    finally:
        handle.remove()


def peaks(bench: Bench, sources: Sequence[str], texts: Sequence[str]) -> dict[int, float]:
    """Return the mean of each head's largest weight."""
    model, tokenizer = bench.translator.model, bench.translator.tokenizer
    totals: dict[str, Tensor] = {}
    rows = 0
    with torch.no_grad():
        for source, text in zip(sources, texts):
            src = torch.tensor([[*tokenizer.encode(source), tokenizer.eos_id]])
            tgt = torch.tensor([[tokenizer.bos_id, *tokenizer.encode(text)]])
            for place, weights in model.all_weights(src, tgt).items():
                totals[place] = totals.get(place, torch.zeros(())) + weights[0].amax(dim=-1).mean(dim=-1)
            rows += 1
    config = model.config
    return {
        p * config.n_layers * config.n_heads + i: round(share.item() / rows, 4)
        for p, place in enumerate(("encoder", "decoder", "cross"))
        for i, share in enumerate(totals[place].flatten())
    }


def main() -> None:
    torch.set_num_threads(1)
    with record(NAME, WHAT) as numbers:
        bench = Bench(ALL)
        config = bench.translator.model.config
        h, n = config.n_heads, len(bench.layers) * config.n_heads
        test, val = (first_references(load_corpus("tatoeba-en-fr").sentences(part)) for part in ("test", "val"))
        sources, references = list(test), list(test.values())
        systems = {"beam 4": written(bench, sources, beam=4), "greedy": written(bench, sources)}
        with bench.without(range(h)):
            systems["without a layer"] = written(bench, sources)
        nothing = [""] * len(references)
        single = paired_bootstrap(systems["beam 4"], nothing, references, draws=400)
        numbers |= {
            "model": fingerprint(),
            "sentences": len(references),
            "bleu": {name: round(bleu(texts, references).score, 3) for name, texts in systems.items()},
            "alone": [round(single.low, 3), round(single.high, 3)],
            "tests": of_sizes(systems, references),
        }

        sources, references = list(val), list(val.values())
        whole = written(bench, sources)
        variants = []
        for head in range(n):
            with bench.without([head]):
                variants.append(written(bench, sources))
            print(f"without head {head}: {bleu(variants[-1], references).score:.2f}", flush=True)
        found = []
        for split in SPLITS:
            with numbers.run("best of all heads", split, updates=0, group="choosing"):
                found.append({"seed": split, **halves(variants, whole, references, split)})
        numbers.rows("best of all heads", "best_of")

        groups = by_length(bench, sources)
        alone = written_unpadded(bench, sources, groups)
        readers = [head for head in range(n) if not config.n_layers * h <= head < 2 * config.n_layers * h]
        moved: dict[str, list[float]] = {str(head): [] for head in readers}
        score: dict[str, list[float]] = {str(head): [] for head in readers}
        for seed in DEALT:
            with numbers.run("weights dealt out", seed, updates=0, group="weights"):
                for head in readers:
                    with dealt_out(bench, head, seed):
                        texts = written_unpadded(bench, sources, groups)
                    moved[str(head)].append(round(sum(a != b for a, b in zip(texts, alone)) / len(alone), 4))
                    score[str(head)].append(round(bleu(texts, references).score, 3))
                print(
                    seed, sorted((shares[-1], head) for head, shares in moved.items())[:: len(readers) - 1], flush=True
                )
        numbers.rows(
            "weights dealt out", *(f"moved/{head}" for head in moved), *(f"dealt_bleu/{head}" for head in score)
        )
        numbers |= {
            "validation_sentences": len(references), "variants": len(variants), "best_of": found,
            "whole": round(bleu(alone, references).score, 3), "moved": moved, "dealt_bleu": score,
            "peaks": {str(head): peak for head, peak in peaks(bench, sources, alone).items()},
        }  # fmt: skip


WHAT = (
    "The shipped English–French translator on Tatoeba; of each English sentence the first translation is the reference. tests: paired "
    "bootstraps (400 draws; points, low, high, share of draws in which the first is not ahead) on random tests of each size drawn from the "
    "test split, for beam 4 against greedy, and for the whole model against it without its first attention; alone: the interval of one "
    "score. best_of: 72 translators with one head off each, the best on one half of the validation sentences, and its gain over the whole "
    "model on that half and on the other. moved: the share of validation sentences whose greedy translation changes when one head's "
    "values change places at random (heads of the encoder and of cross-attention, numbered by place, layer and head), one a seed; dealt_bleu: BLEU of these; peaks: the "
    "mean of each head's largest weight."
)


if __name__ == "__main__":
    main()

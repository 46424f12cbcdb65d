"""How many calls of the shipped translator a draft saves, by how far the draft writes ahead.

    TFM_DATA=… python -m experiments.efficient_speculative      # some five minutes of one core

Two drafts: the small model of `experiments.efficient_draft`, and the translator itself without the second of its three
decoder layers, which nobody trained for this. No sentence of the corpus goes into the record.
"""

import copy
import os
import time
from dataclasses import replace
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

from typing import Any

import torch
from torch import nn

from experiments.record import Made, record
from experiments.sampling import sample_of
from tfm_lib.corpora import load_corpus
from tfm_lib.decoding import greedy_decode
from tfm_lib.efficient import speculative_decode
from tfm_lib.engine.draft import shipped_draft
from tfm_lib.engine.translator import Translator
from tfm_lib.transformer import Transformer, count_parameters

NAME = "efficient_speculative"
SENTENCES, AHEAD, SEEDS, MAX_LEN = 80, [1, 2, 4, 8], [0, 1, 2], 60


def without_layer(model: Transformer, left_out: int) -> Transformer:
    """A copy of `model` without one of its decoder layers."""
    short = copy.deepcopy(model)
    short.decoder = nn.ModuleList(layer for i, layer in enumerate(short.decoder) if i != left_out)
    short.config = replace(model.config, n_layers=len(short.decoder))
    return short.eval()


def counted(
    model: Transformer,
    draft: Transformer,
    sources: list[torch.Tensor],
    ahead: int,
    alone: list[list[int]] | None = None,
) -> dict[str, Any]:
    """Tokens and calls in all, and the CPU seconds of both models together; greedy where `alone` is what came without."""
    chances = {"chances": partial(torch.softmax, dim=-1)} if alone is None else {}
    began = time.process_time()
    written = [speculative_decode(model, draft, src, 1, 2, ahead, MAX_LEN, **chances) for src in sources]
    seconds = time.process_time() - began
    tokens, calls = (sum(len(one[part]) for one in written) for part in (0, 1))
    equal = {} if alone is None else {"equal": sum(one.ids == ids for one, ids in zip(written, alone))}
    return {
        "ahead": ahead, "tokens": tokens, "calls": calls, "calls_a_token": round(calls / tokens, 4),
        "seconds": round(seconds, 2), **equal,
    }  # fmt: skip


def run(seed: int) -> Made:
    translator = Translator.shipped()
    test = list(dict.fromkeys(source for source, _ in load_corpus("tatoeba-en-fr").sentences("test")))
    sources = [translator.ids(each) for each in sample_of(test, SENTENCES, seed)]
    drafts = {"small": shipped_draft(), "two layers": without_layer(translator.model, 1)}
    torch.manual_seed(seed)
    began = time.process_time()
    alone = [greedy_decode(translator.model, src, 1, 2, MAX_LEN)[0].tolist() for src in sources]
    seconds, tokens = time.process_time() - began, sum(map(len, alone))
    numbers: dict[str, Any] = {"seed": seed, "alone": {"tokens": tokens, "seconds": round(seconds, 2)}}
    for name, draft in drafts.items():
        numbers[name] = {
            "greedy": [counted(translator.model, draft, sources, ahead, alone) for ahead in AHEAD],
            "drawn": [counted(translator.model, draft, sources, ahead) for ahead in (2, 4)],
        }
        print(seed, name, numbers[name], flush=True)
    return numbers, None


def main() -> None:
    torch.set_num_threads(1)
    what = (
        f"The shipped translator writes the translations of {SENTENCES} English sentences of its test split, another "
        "sample for each seed, with a draft that writes so many tokens ahead. small: the draft of experiments.efficient_draft. "
        "two layers: the translator without its second decoder layer, untrained. greedy: equal counts the translations that "
        "are token for token those of the translator alone. drawn: each token from the distribution at temperature 1. "
        "seconds: CPU time of both models together, caches used; alone: the translator by itself."
    )
    with record(NAME, what) as numbers:
        runs = numbers.pieces("speculative", SEEDS, run, 0)
        numbers.rows("speculative", "runs")
        parameters = {
            name: sum(count_parameters(model).values())
            for name, model in (("translator", Translator.shipped().model), ("small", shipped_draft()))
        }
        numbers["settings"] = {"sentences": SENTENCES, "ahead": AHEAD, "parameters": parameters}
        numbers["runs"] = runs


if __name__ == "__main__":
    main()

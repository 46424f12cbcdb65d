"""Measure how many calls of the shipped translator a draft model saves, per number of tokens drafted ahead.

    TFM_DATA=… python -m experiments.efficient_speculative      # about three minutes on one core

The drafts are the translator itself without one of its three decoder layers, not trained further. No sentence of the
corpus goes into the record.
"""

import copy
import os
import time
from dataclasses import replace
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

from typing import Any

import torch
from torch import Tensor

from experiments.pair_samples import sample_of
from experiments.record import Made, record
from tfm_lib.corpora import load_corpus
from tfm_lib.decoding import greedy_decode
from tfm_lib.efficient import speculative_decode
from tfm_lib.engine.translator import Translator
from tfm_lib.transformer import Transformer

NAME = "efficient_speculative"
SENTENCES, AHEAD, SEEDS, MAX_LEN = 40, [1, 2, 4, 8], [0, 1, 2], 60


def without_layer(model: Transformer, left_out: int) -> Transformer:
    """Return a copy of `model` without one of its decoder layers."""
    draft = copy.deepcopy(model)
    del draft.decoder[left_out]
    draft.config = replace(model.config, n_layers=len(draft.decoder))
    return draft


def counted(
    model: Transformer, draft: Transformer, sources: list[Tensor], ahead: int, alone: list[list[int]] | None = None
) -> dict[str, Any]:
    """Return total tokens, calls and CPU seconds of both models; greedy if `alone` is the output without a draft."""
    chances = {"chances": partial(torch.softmax, dim=-1)} if alone is None else {}
    began = time.process_time()
    written = [speculative_decode(model, draft, src, 1, 2, ahead, MAX_LEN, **chances) for src in sources]
    seconds = time.process_time() - began
    tokens, calls = sum(len(one.ids) for one in written), sum(len(one.per_call) for one in written)
    equal = {} if alone is None else {"equal": sum(one.ids == ids for one, ids in zip(written, alone))}
    return {
        "ahead": ahead, "tokens": tokens, "calls": calls, "calls_a_token": round(calls / tokens, 4),
        "seconds": round(seconds, 2), **equal,
    }  # fmt: skip


def run(seed: int) -> Made:
    translator = Translator.shipped()
    model = translator.model
    test = list(dict.fromkeys(source for source, _ in load_corpus("tatoeba-en-fr").sentences("test")))
    sources = [translator.ids(each) for each in sample_of(test, SENTENCES, seed)]
    torch.manual_seed(seed)
    began = time.process_time()
    alone = [greedy_decode(model, src, 1, 2, MAX_LEN)[0].tolist() for src in sources]
    seconds, tokens = time.process_time() - began, sum(map(len, alone))
    numbers: dict[str, Any] = {"seed": seed, "alone": {"tokens": tokens, "seconds": round(seconds, 2)}}
    for layer in range(model.config.n_layers):
        draft, far = without_layer(model, layer), AHEAD if layer == 1 else [4]
        numbers[f"without layer {layer}"] = {
            "greedy": [counted(model, draft, sources, ahead, alone) for ahead in far],
            "drawn": [counted(model, draft, sources, ahead) for ahead in far if ahead in (2, 4)],
        }
        print(seed, layer, numbers[f"without layer {layer}"], flush=True)
    return numbers, None


def main() -> None:
    torch.set_num_threads(1)
    what = (
        f"The shipped translator writes the translations of {SENTENCES} English sentences of its test split, another "
        "sample for each seed, with a draft that writes so many tokens ahead: a copy of itself without one of its three "
        "decoder layers, counted from 0, and not trained for that. greedy: equal counts the translations that are token for "
        "token those of the translator alone. drawn: each token from the distribution at temperature 1. seconds: CPU time of "
        "both models together, caches used; alone: the translator by itself, one call a token. The machine had other work."
    )
    with record(NAME, what) as numbers:
        runs = numbers.pieces("speculative", SEEDS, run, 0)
        numbers.rows("speculative", "runs")
        numbers["settings"] = {"sentences": SENTENCES, "ahead": AHEAD}
        numbers["runs"] = runs


if __name__ == "__main__":
    main()

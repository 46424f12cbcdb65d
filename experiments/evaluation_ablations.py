"""Ablate the miniature Transformer, after table 3 of the paper: change one part at a time and score the result.

English to German on Multi30k, 400 CPU seconds each, with the rate and optimiser that `evaluation_sweep` chose
for the whole model; three seeds each.
Scored on the validation part, as the paper's table is on its development set: BLEU, greedily, and perplexity.

    TFM_RUNS=trained python -m experiments.evaluation_ablations
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from experiments.evaluation_models import SIZES
from experiments.evaluation_runs import Data, corpus_scores, trained
from experiments.evaluation_sweep import options_chosen, row
from experiments.record import Made, piece, record
from tfm_lib.engine.trainer import TrainOptions
from tfm_lib.layers import Residual
from tfm_lib.multihead import MultiHeadAttention
from tfm_lib.positional import LearnedPositions
from tfm_lib.transformer import Transformer, TransformerConfig

NAME = "evaluation_ablations"
SECONDS = 400.0
SEEDS = [0, 1, 2]

Change = Callable[[Transformer], None]


class Unscaled(MultiHeadAttention):
    """Attention with unscaled scores QKᵀ."""

    def compared(self, Q: Tensor, K: Tensor) -> tuple[Tensor, Tensor, None]:
        return Q * math.sqrt(Q.shape[-1]), K, None


class NoWayAround(Residual):
    """Replace the residual connection: return a sub-layer's output without its input."""

    def leave(self, X: Tensor, change: Tensor) -> Tensor:
        change = self.dropout(change)
        return self.norm(change) if self.is_post else change


def as_class(old: type[nn.Module], new: type[nn.Module], model: Transformer) -> None:
    """Turn every module of the class `old` into one of `new`, keeping its parameters."""
    for module in model.modules():
        if type(module) is old:
            module.__class__ = new


def learned_positions(model: Transformer) -> None:
    """Use positions that are parameters, initialised to the scale of the paper's sinusoids."""
    sinusoids = model.embedding.positions
    assert isinstance(sinusoids, Tensor)
    positions = LearnedPositions(*sinusoids.shape).table
    del model.embedding.positions
    model.embedding.positions = nn.Parameter(positions.data * math.sqrt(model.config.d_model / 2))


def no_positions(model: Transformer) -> None:
    positions = model.embedding.positions
    assert isinstance(positions, Tensor)
    positions.zero_()


#: What each arm changes: the sizes, the model after construction, the training options.
ARMS: dict[str, tuple[dict[str, Any], Change | None, dict[str, Any]]] = {
    "whole": ({}, None, {}),
    "h = 1": ({"n_heads": 1}, None, {}),
    "h = 8": ({"n_heads": 8}, None, {}),
    "no √d_k": ({}, partial(as_class, MultiHeadAttention, Unscaled), {}),
    "no positions": ({}, no_positions, {}),
    "learned positions": ({}, learned_positions, {}),
    "no residual": ({}, partial(as_class, Residual, NoWayAround), {}),
    "post-norm": ({"norm": "post"}, None, {}),
    "no smoothing": ({}, None, {"epsilon": 0.0}),
    "no warm-up": ({}, None, {"warmup": 1}),
}


def made(config: TransformerConfig, change: Change | None) -> Transformer:
    model = Transformer(config)
    if change:
        change(model)
    return model


def options_for(arm: str, seed: int) -> TrainOptions:
    return replace(options_chosen("transformer", SECONDS, seed), **ARMS[arm][2])


def judged(name: str, key: str, arm: str, options: TrainOptions) -> Made:
    """Train an arm and score it on the validation part."""
    data, (sizes, change, _) = Data.load(), ARMS[arm]
    config = replace(SIZES["transformer"], vocab_size=len(data.tokenizer), **sizes)
    model, took = trained(name, key, partial(made, config, change), options)
    took["val"], _ = corpus_scores(model, data.val_pairs, beam=1)
    return took, model


def run(arm: str, seed: int) -> dict[str, Any]:
    """Run one seed of an arm."""
    key = f"{arm.replace('√', 'root ')}, seed {seed}"
    return {"arm": arm, **piece(NAME, key, partial(judged, NAME, key, arm, options_for(arm, seed)))}


def main() -> None:
    torch.set_num_threads(1)
    with record(NAME, WHAT) as numbers:
        runs = [run(arm, seed) for seed in SEEDS for arm in ARMS]
        for one in runs:
            print(one["arm"], one["seed"], one["perplexity"], one["val"]["bleu"], flush=True)
        numbers["machines"] = sorted(
            {one["machine"] for one in runs}
        )  # the updates are the same on each, the seconds are not
        arms: dict[str, list[dict[str, Any]]] = {arm: [row(one) for one in runs if one["arm"] == arm] for arm in ARMS}
        for arm, own in arms.items():
            for one in own:
                numbers.ran(arm, one["seed"], one["updates"], one["epochs"], one["training_cpu_seconds"])
            numbers.rows(arm, f"arms/{arm}")
        numbers |= {"seconds_of": SECONDS, "options": best_options(), "arms": arms}


def best_options() -> dict[str, Any]:
    """Return the options that the sweep chose for the whole model, used by all arms."""
    best = options_chosen("transformer", SECONDS, seed=0)
    return {"optimiser": best.optimiser, "rate": best.peak}


WHAT = (
    "The Transformer of evaluation_miniature with one part changed at a time; the updates that 400 CPU seconds buy, the same for all arms; "
    "rate and optimiser as the sweep chose them for the whole model. BLEU (sacrebleu, greedily) and perplexity on the validation part of Multi30k."
)


if __name__ == "__main__":
    main()

"""Presets for `tfm train --config`: model sizes with suitable training options."""

from __future__ import annotations

from dataclasses import dataclass

from tfm_lib.engine.trainer import TrainOptions
from tfm_lib.transformer import TransformerConfig, base_config, big_config


@dataclass(frozen=True)
class Preset:
    """A model, whose `vocab_size` limits the tokenizer's, and its training options."""

    model: TransformerConfig
    options: TrainOptions
    what: str


PRESETS = {
    "tiny": Preset(
        TransformerConfig(400, d_model=64, n_heads=4, d_ff=256, n_layers=2, dropout=0.0),
        TrainOptions(
            max_tokens=1000, steps=1400, warmup=150, schedule="cosine", peak=4e-3, average=0.99, validate_every=350
        ),
        "the corpora that come with the book, about a minute on one core",
    ),
    "small": Preset(
        TransformerConfig(6000, d_model=256, n_heads=8, d_ff=1024, n_layers=3, norm="pre"),
        TrainOptions(
            max_tokens=2048,
            steps=13_000,
            warmup=1000,
            schedule="cosine",
            optimiser="muon",
            weight_decay=0.3,
            peak=2e-3,
            average=0.999,
            validate_every=500,
        ),
        "short sentences, about two hours on one core",
    ),
    "base": Preset(
        base_config(37_000),
        TrainOptions(max_tokens=25_000, steps=100_000, warmup=4000, clip=0.0, validate_every=2000),
        "the paper's base model and its training, for a machine with accelerators",
    ),
    "big": Preset(
        big_config(37_000),
        TrainOptions(max_tokens=25_000, steps=300_000, warmup=4000, clip=0.0, validate_every=5000),
        "the paper's big model and its training, for a machine with accelerators",
    ),
}

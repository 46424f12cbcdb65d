"""Compare changes made since 2017, one at a time: the same decoder, the same budget, three seeds.

Takes about one minute on one core; with the variable TFM_RUNS set, each training is saved as it finishes.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch

import random
from functools import partial
from typing import Any

import torch
from torch import nn

from experiments.descendants_objectives import Numbers, ce
from experiments.record import Made, curve, record, short
from tfm_lib.corpora.corpus import BOS_ID, EOS_ID, PAD_ID
from tfm_lib.data import pad
from tfm_lib.descendants import RMSNorm, SwiGLU, decoder_of_today
from tfm_lib.efficient import GroupedQueryAttention
from tfm_lib.positional import RotaryAttention
from tfm_lib.transformer import DecoderOnly, TransformerConfig

SIZES = {"d_model": 64, "n_heads": 4, "d_ff": 192, "n_layers": 2, "dropout": 0.0, "norm": "pre", "max_len": 40}
NARROW = {"d_ff": 128}  # SwiGLU's three matrices of this width hold as many parameters as two of width 192
STEPS, BATCH, RATE, WARMUP = 400, 32, 2e-3, 50
SEEDS = [0, 1, 2]
ROTARY = {"attention": RotaryAttention, "positions": torch.zeros}
ARMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # changed sizes, changed parts
    "2017": ({}, {}),
    "RMSNorm": ({}, {"norm_layer": RMSNorm}),
    "SwiGLU": (NARROW, {"feed_forward": SwiGLU}),
    "rotary": ({}, ROTARY),
    "grouped keys": ({}, {"attention": partial(GroupedQueryAttention, n_key_heads=2)}),
    "all": (NARROW, {}),
}


def decoder(arm: str, vocab_size: int) -> DecoderOnly:
    sizes, parts = ARMS[arm]
    config = TransformerConfig(vocab_size, **{**SIZES, **sizes})
    return decoder_of_today(config, n_key_heads=2) if arm == "all" else DecoderOnly(config, **parts)


def run(arm: str, seed: int) -> Made:
    """Train once; return the held-out loss on all tokens and on the tokens that can be known."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    numbers, draw = Numbers(), random.Random(seed)
    model, losses = decoder(arm, len(numbers.vocabulary)), []
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98))
    for step in range(1, STEPS + 1):
        optimiser.param_groups[0]["lr"] = RATE * min(step / WARMUP, 2 * (1 - step / (STEPS + 1)), 1.0)
        ids = pad([[BOS_ID, *row, EOS_ID] for row in draw.sample(numbers.rows["train"], BATCH)], PAD_ID)
        loss = ce(model(ids[:, :-1]), ids[:, 1:])
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
    ids = pad([[BOS_ID, *row, EOS_ID] for row in numbers.rows["test"]], PAD_ID)
    with torch.no_grad():
        logits, targets = model.eval()(ids[:, :-1]), ids[:, 1:]
    behind = (ids[:, :-1] == numbers.vocabulary.ids["="]).cumsum(dim=1) > 0  # the digits and <eos>
    found = {"seed": seed, "loss": short(ce(logits, targets).item(), 4)}
    found["digits"] = short(ce(logits, targets.where(behind, PAD_ID)).item(), 4)
    print(arm, found, flush=True)
    return {**found, "parameters": sum(p.numel() for p in model.parameters()), "curve": curve(losses, 25)}, None


def main() -> None:
    torch.set_num_threads(1)
    what = (
        f"Decoders of {SIZES['n_layers']} pre-norm layers (d_model {SIZES['d_model']}) say the next word of numbers in words and "
        f"digits, {STEPS} updates of {BATCH} sentences. 2017: LayerNorm, ReLU, sinusoid, a key head for each head, biases; then "
        "one change at a time; all: with all of them and without biases. Of held-out sentences, in nats a token, loss: on all "
        "tokens; digits: on the digits and the end, which follow from the words."
    )
    with record("descendants_since", what) as result:
        result["settings"] = {**SIZES, "d_ff_gated": NARROW["d_ff"], "steps": STEPS, "batch": BATCH}
        result["runs"] = {}
        for arm in ARMS:
            made = result.pieces(arm, SEEDS, partial(run, arm), STEPS)
            result["runs"][arm] = [{key: one[key] for key in one if key != "cpu_seconds"} for one in made]
            result.rows(arm, f"runs/{arm}")


if __name__ == "__main__":
    main()

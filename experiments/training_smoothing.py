"""Measure the effect of label smoothing on sampling and on the empty output, in the same small Transformer."""

import argparse
import itertools
import os
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

from typing import Any

import torch
from torch import Tensor

from experiments.record import piece, record, short
from experiments.training_task import HELD_OUT, MAX_TOKENS, Dates
from tfm_lib.data import Tokenizer
from tfm_lib.decoding import sample
from tfm_lib.training import train, warmup_lr
from tfm_lib.transformer import Transformer

NAME = "training_smoothing"
N_LAYERS, D_MODEL, N_HEADS, D_FF, DROPOUT = 1, 64, 4, 256, 0.1
STEPS, WARMUP, FACTOR = 1000, 100, 0.4
SMOOTHING = [0.1, 0.0]
SEEDS = [0, 1, 2]
BEST, DRAWN = 5, 5  # the BEST most likely tokens are set apart; samples per date


def run(dates: Dates, epsilon: float, seed: int) -> tuple[dict[str, Any], Transformer]:
    """Train once; return the model and its measurements."""
    torch.manual_seed(seed)
    model = dates.model(d_model=D_MODEL, n_heads=N_HEADS, d_ff=D_FF, n_layers=N_LAYERS, dropout=DROPOUT)

    def rate(step):
        return FACTOR * warmup_lr(step, D_MODEL, WARMUP)

    for _ in itertools.islice(train(model, dates.batches(seed), rate, epsilon), STEPS):
        pass
    return {"epsilon": epsilon, "seed": seed, **judged(dates, model.eval())}, model


@torch.no_grad()
def judged(dates: Dates, model: Transformer) -> dict[str, float | None]:
    """Return exact dates, greedy and sampled; the mass outside the likeliest tokens; log P of the empty output."""
    src, tgt_in, tgt_out = dates.held_out.src, dates.held_out.tgt_in, dates.held_out.tgt_out
    log_p = model(src, tgt_in).log_softmax(dim=-1)
    outside = 1 - log_p.exp()[tgt_out != 0].topk(BEST).values.sum(dim=-1)
    right = log_p.gather(-1, tgt_out[..., None]).squeeze(-1)[tgt_out != 0]
    return {
        "greedy": round(dates.judge(model)[1], 4),
        "drawn": round(drawn(dates, model, src), 4),
        "outside": short(outside.mean()),
        "log_p_a_token": short(right.mean()),
        "log_p_empty": short(log_p[:, 0, Tokenizer.eos_id].mean(), 4),
    }


def drawn(dates: Dates, model: Transformer, src: Tensor) -> float:
    """Return the share of correct dates among samples at temperature 1."""
    draw, right = torch.Generator().manual_seed(0), 0
    for _ in range(DRAWN):
        written = sample(model, src, Tokenizer.bos_id, Tokenizer.eos_id, max_len=16, generator=draw)
        right += sum(dates.tokenizer.decode(ids) == tgt for ids, (_, tgt) in zip(written.tolist(), dates.val))
    return right / (DRAWN * len(dates.val))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    what = (
        f"A Transformer (N = {N_LAYERS}, d_model {D_MODEL}, {N_HEADS} heads, d_ff {D_FF}, dropout {DROPOUT}, post-norm) writes "
        f"dates of eight countries as year, month, day; {STEPS} steps of {MAX_TOKENS} target tokens, with smoothing epsilon. "
        f"On {HELD_OUT} held-out dates: greedy and drawn, the share without a fault, written greedily and drawn at temperature "
        f"1, each {DRAWN} times; outside: probability outside the {BEST} likeliest tokens, mean over places; log_p_a_token: of the "
        f"right one; log_p_empty: of <eos> at the first place."
    )
    with record(NAME, what) as numbers:
        dates = Dates()
        numbers["settings"] = {"vocabulary": len(dates.tokenizer), "best": BEST, "drawn": DRAWN, "steps": STEPS}
        numbers["runs"] = []
        for seed, epsilon in itertools.product(chosen.seeds, SMOOTHING):
            one = piece(NAME, f"{epsilon:g} {seed}", partial(run, dates, epsilon, seed))
            numbers["runs"].append(one)
            numbers.ran(f"smoothing {epsilon:g}", seed, STEPS, cpu_seconds=one["cpu_seconds"])
            numbers.rows(f"smoothing {epsilon:g}", f"runs/epsilon={epsilon}")
            print(one, flush=True)


if __name__ == "__main__":
    main()

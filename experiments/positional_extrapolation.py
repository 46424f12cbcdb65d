"""Train on short texts and test on long ones: accuracy against length for seven position encodings.

Takes about an hour and a half on one core; with the variable TFM_RUNS set, each training is saved as it finishes.
"""

import argparse
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial, reduce
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.record import UNTIMED, piece, record
from tfm_lib.layers import EncoderLayer, LayerNorm
from tfm_lib.masking import causal_mask
from tfm_lib.multihead import MultiHeadAttention
from tfm_lib.positional import (
    AlibiAttention,
    LearnedPositions,
    RelativeAttention,
    RotaryAttention,
    ShawAttention,
    sinusoidal_encoding,
)

KINDS = ["none", "sinusoidal", "learned", "shaw", "relative", "rotary", "alibi"]
SEEDS = [0, 1, 2]
SHORT, LONG = 32, 256  # letters per text in training, and in the test
LETTERS, D_MODEL, N_HEADS, D_FF, N_LAYERS = 12, 64, 4, 128, 2
MAX_DISTANCE = 16  # Shaw et al.'s k, as in their paper, for both kinds that learn distances
BATCH, STEPS, LR, WARMUP = 16, 1200, 2e-3, 100
LONGER = 10 * STEPS  # is more training what they lack? For the kinds that the page discusses most
PRACTISED = {
    "three back": ["sinusoidal", "rotary", "relative", "alibi"],
    "after last time": ["sinusoidal", "rotary", "shaw", "alibi"],
}
SWEPT = ("three back", "alibi")  # the kinds that longer training changes most: at other rates too, and with more seeds
SWEPT_SEEDS, RATES = [0, 1, 2, 3, 4], [LR, LR / 3, 2 * LR]
JUDGED, GROUP = 100, 16  # texts in the test; positions per averaged group
IGNORED = -100


def three_back(letters: Tensor) -> Tensor:
    """Return, at each position, the letter three positions before."""
    return F.pad(letters[:, :-3], (3, 0), value=IGNORED)


def after_last_time(letters: Tensor) -> Tensor:
    """Return, at each position, what followed the current letter's previous occurrence; -100 the first time."""
    wanted = torch.full_like(letters, IGNORED)
    follower = torch.full((len(letters), LETTERS), IGNORED)
    for i in range(1, letters.shape[1]):
        follower.scatter_(1, letters[:, i - 1 : i], letters[:, i : i + 1])
        wanted[:, i : i + 1] = follower.gather(1, letters[:, i : i + 1])
    return wanted


TASKS: dict[str, Callable[[Tensor], Tensor]] = {"three back": three_back, "after last time": after_last_time}


class Reader(nn.Module):
    """A causal stack of layers that predicts at every position; `kind` is the position encoding."""

    def __init__(self, kind: str):
        super().__init__()
        attentions = {
            "shaw": lambda: ShawAttention(D_MODEL, N_HEADS, max_distance=MAX_DISTANCE),
            "relative": lambda: RelativeAttention(D_MODEL, N_HEADS, max_distance=MAX_DISTANCE),
            "rotary": lambda: RotaryAttention(D_MODEL, N_HEADS),
            "alibi": lambda: AlibiAttention(D_MODEL, N_HEADS),
        }
        self.kind = kind
        self.letter = nn.Embedding(LETTERS, D_MODEL)
        self.place = LearnedPositions(SHORT, D_MODEL) if kind == "learned" else None
        self.layers = nn.ModuleList(EncoderLayer(D_MODEL, N_HEADS, D_FF, norm="pre") for _ in range(N_LAYERS))
        for layer in self.layers:
            layer.self_attention = attentions.get(kind, lambda: MultiHeadAttention(D_MODEL, N_HEADS))()
        self.norm = LayerNorm(D_MODEL)
        self.read = nn.Linear(D_MODEL, LETTERS)

    def forward(self, letters: Tensor) -> Tensor:
        n = letters.shape[1]
        X = self.letter(letters)
        if self.kind == "sinusoidal":
            X = X + sinusoidal_encoding(n, D_MODEL)
        elif self.place is not None:
            X = X + self.place(n)
        for layer in self.layers:
            X, _ = layer(X, causal_mask(n))
        return self.read(self.norm(X))


def texts(count: int, length: int, generator: torch.Generator) -> Tensor:
    return torch.randint(LETTERS, (count, length), generator=generator)


def run(task: str, kind: str, seed: int, steps: int, rate: float) -> tuple[dict[str, Any], Reader]:
    """Train on short texts; return the accuracy at the positions of long texts."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Reader(kind)
    optimiser = torch.optim.Adam(model.parameters(), lr=rate, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / WARMUP, max(0.02, 1 - step / steps))
    )
    for _ in range(steps):
        letters = texts(BATCH, SHORT, generator)
        loss = F.cross_entropy(model(letters).flatten(0, 1), TASKS[task](letters).flatten(), ignore_index=IGNORED)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    short, long = (judge(model.eval(), task, length) for length in (SHORT, LONG))
    return {"short": short, "long": long, "loss": round(loss.item(), 4)}, model


def kept(task: str, kind: str, seed: int, steps: int, rate: float = LR) -> dict[str, Any]:
    """Return the result of `run`, or its saved copy."""
    key = f"{task}, {kind}, {seed}, {steps}" + ("" if rate == LR else f", {rate:.2g}")
    return piece("positional_extrapolation", key, partial(run, task, kind, seed, steps, rate))


@torch.no_grad()
def judge(model: Reader, task: str, length: int) -> list[float | None]:
    """Return accuracy per group of positions of new texts; None where the model has no positions."""
    letters = texts(JUDGED, length, torch.Generator().manual_seed(1000 + length))
    try:
        answers = model(letters).argmax(dim=-1)
    except ValueError:  # positions that were never learned
        return [None] * (length // GROUP)
    wanted = TASKS[task](letters)
    asked = wanted != IGNORED
    right, asked = ((x & asked).unflatten(1, (-1, GROUP)).sum(dim=(0, 2)) for x in (answers == wanted, asked))
    return [round(share, 4) for share in (right / asked).tolist()]


def pool(jobs: int) -> ProcessPoolExecutor:
    """Return a pool of fresh processes, each on one thread."""
    os.environ["OMP_NUM_THREADS"] = "1"
    return ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once")
    jobs = parser.parse_args().jobs
    torch.set_num_threads(1)
    what = (
        f"Causal models of {N_LAYERS} layers, trained on random texts of {SHORT} of {LETTERS} letters, judged on {JUDGED} "
        f"fresh texts of {SHORT} and of {LONG}. Tasks: say the letter three places back; say the letter that followed "
        f"when the present one stood there last. Entries are shares of right letters, one list a seed, one number for "
        f"each {GROUP} places; null where the model has no positions. longer_on: the same with ten times the updates; "
        f"swept_on: so does {SWEPT[1]} on {SWEPT[0]}, by learning rate."
    )
    arms = {  # name: task, kind, updates, rate, seeds, path of its numbers in the record
        **{
            f"{task}, {kind}": (task, kind, STEPS, LR, SEEDS, f"on_{{}}/{task}/{kind}")
            for task in TASKS
            for kind in KINDS
        },
        **{
            f"{task}, {kind}, longer": (task, kind, LONGER, LR, SEEDS, f"longer_on_{{}}/{task}/{kind}")
            for task, kinds in PRACTISED.items()
            for kind in kinds
        },
        **{
            f"{', '.join(SWEPT)}, longer, rate {rate:.2g}": (
                *SWEPT,
                LONGER,
                rate,
                SWEPT_SEEDS,
                f"swept_on_{{}}/{rate:.2g}",
            )
            for rate in RATES
        },
    }
    cases = {(task, kind, seed, steps, rate) for task, kind, steps, rate, seeds, _ in arms.values() for seed in seeds}
    with record("positional_extrapolation", what, UNEQUAL) as numbers:
        done = {}
        with pool(jobs) as workers:
            waiting = {workers.submit(kept, *case): case for case in sorted(cases)}
            for count, future in enumerate(as_completed(waiting), 1):
                done[waiting[future]] = result = future.result()
                print(f"{count}/{len(cases)}", *waiting[future], result, flush=True)
        model = {"letters": LETTERS, "d_model": D_MODEL, "n_heads": N_HEADS, "d_ff": D_FF, "n_layers": N_LAYERS}
        training = {"batch": BATCH, "steps": STEPS, "longer": LONGER, "lr": LR, "rates": RATES, "warmup": WARMUP}
        numbers["settings"] = {**model, "norm": "pre", "max_distance": MAX_DISTANCE, **training, "judged": JUDGED}
        numbers.update(jobs=jobs, short=SHORT, long=LONG, group=GROUP, chance=round(1 / LETTERS, 4))
        for arm, (task, kind, steps, rate, seeds, where) in arms.items():
            runs = [done[task, kind, seed, steps, rate] for seed in seeds]
            for part in ("short", "long"):
                *folders, last = where.format(part).split("/")
                reduce(lambda within, key: within.setdefault(key, {}), folders, numbers)[last] = [
                    one[part] for one in runs
                ]
            for seed, one in zip(seeds, runs):
                numbers.ran(arm, seed, steps, None, one["cpu_seconds"], group=task)
            numbers.rows(arm, *(where.format(part) for part in ("short", "long")))
            if any(one["cpu_seconds"] is None for one in runs):
                numbers.unknown(arm, UNTIMED)


UNEQUAL = (
    "Ten times the updates ask whether practice is what is lacking, and only of some; one job has more seeds and rates."
)


if __name__ == "__main__":
    main()

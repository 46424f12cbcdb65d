"""Which place of the norm needs a warm-up? A deep encoder trained with each, at several learning rates and seeds."""

import argparse
import itertools
import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch: each run has a process of its own

import math
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.record import record
from tfm_lib.corpora import PAD_ID, Corpus, load_corpus
from tfm_lib.layers import EncoderLayer, LayerNorm
from tfm_lib.masking import padding_mask
from tfm_lib.positional import sinusoidal_encoding

D_MODEL, N_HEADS, D_FF = 64, 4, 256
STEPS, BATCH, WARMUP, EVERY = 500, 16, 100, 25
DEPTHS = [12]
RATES = [3e-4, 1e-3]
SEEDS = [0, 1, 2]


class Encoder(nn.Module):
    """A stack of encoder layers that writes one letter at each position."""

    def __init__(self, n_letters: int, norm: str, n_layers: int):
        super().__init__()
        self.letters = nn.Embedding(n_letters, D_MODEL)
        self.layers = nn.ModuleList(EncoderLayer(D_MODEL, N_HEADS, D_FF, norm=norm) for _ in range(n_layers))
        self.norm = LayerNorm(D_MODEL) if norm == "pre" else nn.Identity()  # a pre-norm stack ends with one
        self.read = nn.Linear(D_MODEL, n_letters)
        for module in self.layers.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, ids: Tensor) -> Tensor:
        X, mask = self.letters(ids) + sinusoidal_encoding(ids.shape[1], D_MODEL), padding_mask(ids, PAD_ID)
        for layer in self.layers:
            X, _ = layer(X, mask)
        return self.read(self.norm(X))


def corpus() -> Corpus:
    return load_corpus("reverse", size=20_000, min_len=3, max_len=8)


def batches(corpus: Corpus, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of the training part without end, in an order that `seed` decides."""
    src, _, tgt = corpus.tensors(corpus.split("train"))
    generator = torch.Generator().manual_seed(seed)
    while True:
        for rows in torch.randperm(len(src), generator=generator).split(BATCH):
            longest = (src[rows] != PAD_ID).sum(dim=1).max()
            yield src[rows, :longest], tgt[rows, :longest]


def loss_of(model: Encoder, src: Tensor, tgt: Tensor) -> Tensor:
    return F.cross_entropy(model(src).flatten(0, 1), tgt.flatten(), ignore_index=PAD_ID)


@torch.no_grad()
def judge(model: Encoder, src: Tensor, tgt: Tensor) -> tuple[float, float]:
    """Loss, and the share of lists without a fault."""
    logits = model(src)
    loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=PAD_ID)
    right = ((logits.argmax(dim=-1) == tgt) | (tgt == PAD_ID)).all(dim=1)
    return loss.item(), right.float().mean().item()


def run(n_layers: int, rate: float, norm: str, warmup: int, seed: int, steps: int) -> dict[str, Any]:
    """One training: its losses, and what the model can do at the end."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    data, began = corpus(), time.time()
    model = Encoder(len(data.src_vocab), norm, n_layers)
    val_src, _, val_tgt = data.tensors(data.split("val")[:500])
    optimiser = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98), eps=1e-9, fused=True)
    losses = []
    for step, (src, tgt) in enumerate(itertools.islice(batches(data, seed), steps), start=1):
        optimiser.param_groups[0]["lr"] = rate * min(1.0, step / warmup) if warmup else rate
        loss = loss_of(model, src, tgt)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    loss, exact = judge(model, val_src, val_tgt)
    curve = [sum(losses[i : i + EVERY]) / EVERY for i in range(0, steps, EVERY)]
    return {
        "n_layers": n_layers, "norm": norm, "warmup": warmup, "lr": rate, "seed": seed,
        "seconds": round(time.time() - began, 1),
        "loss": _short(loss), "exact": round(exact, 4), "curve": [_short(x) for x in curve],
    }  # fmt: skip


def _short(x: float) -> float | None:
    return float(f"{x:.3g}") if math.isfinite(x) else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs side by side, each on one core")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--layers", type=int, nargs="+", default=DEPTHS)
    parser.add_argument("--rates", type=float, nargs="+", default=RATES)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--name", default="layers_norm_warmup", help="of the result; another one for a trial")
    chosen = parser.parse_args()
    deepest_first = sorted(chosen.layers, reverse=True)
    plan = list(itertools.product(deepest_first, chosen.rates, ("post", "pre"), (0, WARMUP), chosen.seeds))
    what = (
        f"An encoder (d_model {D_MODEL}, {N_HEADS} heads, d_ff {D_FF}) writes lists of 3 to 8 letters in reverse; "
        f"{chosen.steps} steps of {BATCH} lists with Adam, at a learning rate that is constant after a linear warm-up "
        f"of `warmup` steps (0: none). curve: training loss, means of {EVERY} steps; loss and exact: on 500 held-out "
        f"lists at the end, exact being the share without a fault."
    )
    with record(chosen.name, what, chosen.seeds) as numbers:
        numbers["settings"] = {
            "layers": chosen.layers, "d_model": D_MODEL, "n_heads": N_HEADS, "d_ff": D_FF, "steps": chosen.steps,
            "batch": BATCH, "warmup": WARMUP, "every": EVERY, "rates": chosen.rates, "corpus": "reverse",
        }  # fmt: skip
        runs = []
        with ProcessPoolExecutor(chosen.jobs, get_context("spawn")) as pool:
            waiting = [pool.submit(run, *case, chosen.steps) for case in plan]
            for done in as_completed(waiting):
                result = done.result()
                runs.append(result)
                words = ["n_layers", "norm", "warmup", "lr", "seed", "loss", "exact", "seconds"]
                print(f"{len(runs)}/{len(plan)}", *(f"{word} {result[word]}" for word in words), flush=True)
        runs.sort(key=lambda r: (r["n_layers"], r["norm"], r["warmup"], r["lr"], r["seed"]))
        numbers["processor_seconds_of_all_runs"] = round(sum(r["seconds"] for r in runs))
        numbers["runs"] = runs


if __name__ == "__main__":
    main()

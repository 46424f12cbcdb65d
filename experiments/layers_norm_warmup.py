"""Train a deep encoder with post-norm and pre-norm, with and without warm-up, at several learning rates and seeds.

Takes about half an hour on one core; with the variable TFM_RUNS set, each training is saved as it finishes.
"""

import argparse
import itertools
import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch: each run has its own process

import math
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap

from experiments.pair_samples import first_of
from experiments.record import UNTIMED, curve, piece, record, short
from tfm_lib.corpora import PAD_ID, Corpus, load_corpus
from tfm_lib.layers import EncoderLayer, LayerNorm
from tfm_lib.masking import padding_mask
from tfm_lib.multihead import MultiHeadAttention
from tfm_lib.positional import sinusoidal_encoding

D_MODEL, N_HEADS, D_FF = 64, 4, 256
STEPS, BATCH, WARMUP, EVERY = 500, 16, 100, 25
DEPTHS = [12]
RATES = [3e-4, 1e-3]
SEEDS = [0, 1, 2]
LONGER, LOOK = 15 * STEPS // 2, 250  # post-norm again, for longer; steps between evaluations
BETAS, EPS = (0.9, 0.98), 1e-9


class Encoder(nn.Module):
    """A stack of encoder layers that predicts one letter at each position."""

    def __init__(self, n_letters: int, norm: str, n_layers: int, **parts: type[nn.Module]):
        super().__init__()
        self.letters = nn.Embedding(n_letters, D_MODEL)
        self.layers = nn.ModuleList(EncoderLayer(D_MODEL, N_HEADS, D_FF, norm=norm, **parts) for _ in range(n_layers))
        self.norm = LayerNorm(D_MODEL) if norm == "pre" else nn.Identity()  # a pre-norm stack ends with a norm
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
    found = load_corpus("reverse", size=20_000, min_len=3, max_len=8)
    assert isinstance(found, Corpus)
    return found


def batches(corpus: Corpus, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches of the training part endlessly, in an order determined by `seed`."""
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
    """Return the loss, and the share of lists without a mistake."""
    logits = model(src)
    loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=PAD_ID)
    right = ((logits.argmax(dim=-1) == tgt) | (tgt == PAD_ID)).all(dim=1)
    return loss.item(), right.float().mean().item()


def run(n_layers: int, rate: float, norm: str, warmup: int, seed: int, steps: int) -> tuple[dict[str, Any], Encoder]:
    """Train once; return its losses, and the final validation scores."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    data = corpus()
    model = Encoder(len(data.src_vocab), norm, n_layers)
    val_src, _, val_tgt = data.tensors(first_of(data.split("val"), 500))
    optimiser = torch.optim.Adam(model.parameters(), lr=rate, betas=BETAS, eps=EPS, fused=True)
    losses = []
    for step, (src, tgt) in enumerate(itertools.islice(batches(data, seed), steps), start=1):
        optimiser.param_groups[0]["lr"] = rate * min(1.0, step / warmup) if warmup else rate
        loss = loss_of(model, src, tgt)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    nats, exact = judge(model, val_src, val_tgt)
    return {
        "n_layers": n_layers, "norm": norm, "warmup": warmup, "lr": rate, "seed": seed,
        "loss": short(nats), "exact": round(exact, 4), "curve": curve(losses, EVERY),
    }, model  # fmt: skip


class Plain(MultiHeadAttention):
    """Attention without the fused kernel, which `vmap` would call once for each model."""

    def attend(
        self, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        assert mask is not None
        scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
        return scores.masked_fill(~mask.unsqueeze(-3), -torch.inf).softmax(dim=-1) @ V, None  # one mask for all heads


def side_by_side(n_layers: int, norm: str, cases: list[tuple[float, int]], seed: int, steps: int) -> tuple[dict, None]:
    """Train models from one initialisation on the same batches, one tensor row each; a case is (rate, warm-up)."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    data = corpus()
    model = Encoder(len(data.src_vocab), norm, n_layers, attention=Plain)
    names, parameters = zip(*model.named_parameters())
    sizes = [p.numel() for p in parameters]
    rows = torch.cat([p.detach().flatten() for p in parameters]).repeat(len(cases), 1)

    def loss(row: Tensor, src: Tensor, tgt: Tensor) -> Tensor:
        parts = {name: x.view(p.shape) for name, x, p in zip(names, row.split(sizes), parameters)}
        logits = functional_call(model, parts, (src,))
        return F.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=PAD_ID)

    def judged(row: Tensor) -> tuple[float, float]:
        torch.nn.utils.vector_to_parameters(row, model.parameters())
        return judge(model, *val)

    src, _, tgt = data.tensors(first_of(data.split("val"), 500))
    val, slopes = (src, tgt), vmap(grad_and_value(loss), in_dims=(0, None, None))
    rates = torch.tensor([rate for rate, _ in cases])
    mean, square = torch.zeros_like(rows), torch.zeros_like(rows)
    looks: list[list[tuple[float, float]]] = []
    for step, batch in enumerate(itertools.islice(batches(data, seed), steps), start=1):
        now = rates * torch.tensor([min(1.0, step / warmup) if warmup else 1.0 for _, warmup in cases])
        slope, _ = slopes(rows, *batch)
        mean.lerp_(slope, 1 - BETAS[0])  # Adam, as in `run`
        square.mul_(BETAS[1]).addcmul_(slope, slope, value=1 - BETAS[1])
        size = (square / (1 - BETAS[1] ** step)).sqrt_().add_(EPS)
        rows = rows - (now / (1 - BETAS[0] ** step))[:, None] * (mean / size)
        if step % LOOK == 0:
            looks.append([judged(row) for row in rows])
            print(norm, seed, step, [(round(a, 2), round(b, 3)) for a, b in looks[-1]], flush=True)
    return {"looks": [[[short(a), round(b, 4)] for a, b in each] for each in zip(*looks)]}, None


def longer(seed: int) -> list[dict[str, Any]]:
    """Train post-norm at each rate with and without a warm-up: loss and exact lists at every evaluation."""
    cases = list(itertools.product(RATES, (0, WARMUP)))
    make = partial(side_by_side, DEPTHS[0], "post", cases, seed, LONGER)
    made = piece("layers_norm_warmup", f"post, longer, {seed}", make)
    share = made["cpu_seconds"] / len(cases)
    return [
        {"norm": "post", "warmup": warmup, "lr": rate, "seed": seed, "look": LOOK, "cpu_seconds": round(share, 1),
         "loss": [nats for nats, _ in looks], "exact": [exact for _, exact in looks]}
        for (rate, warmup), looks in zip(cases, made["looks"])
    ]  # fmt: skip


def kept(n_layers: int, rate: float, norm: str, warmup: int, seed: int, steps: int) -> dict[str, Any]:
    """Return the result of `run`, or its saved copy."""
    key = f"{norm}, {warmup}, {rate}, {seed}, {n_layers} layers, {steps} steps"
    return piece("layers_norm_warmup", key, partial(run, n_layers, rate, norm, warmup, seed, steps))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs side by side, each on one core")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--layers", type=int, nargs="+", default=DEPTHS)
    parser.add_argument("--rates", type=float, nargs="+", default=RATES)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument(
        "--longer", type=int, nargs="*", default=[0], help=f"seeds that train post-norm for {LONGER} steps"
    )
    parser.add_argument("--name", default="layers_norm_warmup", help="of the result; another one for a trial")
    chosen = parser.parse_args()
    deepest_first = sorted(chosen.layers, reverse=True)
    plan = list(itertools.product(deepest_first, chosen.rates, ("post", "pre"), (0, WARMUP), chosen.seeds))
    what = (
        f"An encoder (d_model {D_MODEL}, {N_HEADS} heads, d_ff {D_FF}) writes lists of 3 to 8 letters in reverse; "
        f"{chosen.steps} steps of {BATCH} lists with Adam, at a learning rate that is constant after a linear warm-up "
        f"of `warmup` steps (0: none). curve: training loss, means of {EVERY} steps; loss and exact: on 500 held-out "
        f"lists at the end, exact being the share without a fault. longer: post-norm for {LONGER} steps, loss and exact after "
        f"every {LOOK}."
    )
    with record(chosen.name, what, UNEQUAL if chosen.longer else None) as numbers:
        numbers["settings"] = {
            "layers": chosen.layers, "d_model": D_MODEL, "n_heads": N_HEADS, "d_ff": D_FF, "steps": chosen.steps,
            "longer": LONGER, "batch": BATCH, "warmup": WARMUP, "every": EVERY, "rates": chosen.rates,
            "corpus": "reverse",
        }  # fmt: skip
        runs = []
        with ProcessPoolExecutor(chosen.jobs, get_context("spawn")) as pool:
            waiting = [pool.submit(kept, *case, chosen.steps) for case in plan]
            for done in as_completed(waiting):
                result = done.result()
                runs.append(result)
                words = ["n_layers", "norm", "warmup", "lr", "seed", "loss", "exact", "cpu_seconds"]
                print(f"{len(runs)}/{len(plan)}", *(f"{word} {result[word]}" for word in words), flush=True)
        runs.sort(key=lambda r: (r["n_layers"], r["norm"], r["warmup"], r["lr"], r["seed"]))
        for result in runs:
            keys = ("norm", "warmup", "lr", "n_layers")
            norm, warmup, rate, depth = (result[key] for key in keys)
            arm = f"{norm}-norm, warm-up {warmup}, rate {rate}" + (
                f", {depth} layers" if chosen.layers != DEPTHS else ""
            )
            spent = result.pop("cpu_seconds")
            numbers.ran(arm, result["seed"], chosen.steps, None, spent)
            numbers.rows(arm, "runs/" + ",".join(f"{key}={result[key]}" for key in keys))
            if spent is None:
                numbers.unknown(arm, UNTIMED)
        numbers["runs"], numbers["longer"] = runs, [row for seed in chosen.longer for row in longer(seed)]
        for row in numbers["longer"]:
            arm = f"post-norm, warm-up {row['warmup']}, rate {row['lr']}, longer"
            numbers.ran(arm, row["seed"], LONGER, None, row.pop("cpu_seconds"))
            numbers.rows(arm, f"longer/warmup={row['warmup']},lr={row['lr']}")


UNEQUAL = "More updates ask whether post-norm without a warm-up is late or lost; one seed, for want of time."


if __name__ == "__main__":
    main()

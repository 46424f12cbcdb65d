"""Compare attention methods on a recall task: which cards each can still find, and its error rate.

A sentence of CARDS cards, each with a name and a colour, is followed by as many questions, each a name; the answer is
that card's colour. One layer with one head learns the task, with each method in the place of attention.
Takes about seven minutes on one core; with TFM_RUNS set, each training is saved as it finishes.
"""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.record import Made, curve, record
from tfm_lib.attention import attention
from tfm_lib.efficient import (
    linear_attention,
    lsh_attention,
    lsh_buckets,
    lsh_pairs,
    tiled_attention,
    window_attention,
)  # fmt: skip
from tfm_lib.masking import causal_mask

NAME = "efficient_task"
CARDS, FEW, NAMES, COLOURS, D = 128, 32, 256, 16, 64
STEPS, LONG, BATCH, RATE, EVERY, JUDGED, SEEDS = 400, 1600, 16, 3e-3, 20, 20, [0, 1, 2]
WINDOW, CHUNK, N_BUCKETS = 64, 32, 16
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
SEEN = causal_mask(2 * CARDS)


def hashed(rounds: int, Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    return lsh_attention(Q, V, lsh_buckets(Q.detach(), N_BUCKETS, rounds), CHUNK)


METHODS: dict[str, Attend] = {
    "full": lambda Q, K, V: attention(Q, K, V, SEEN)[0],
    "tiled": lambda Q, K, V: tiled_attention(Q, K, V, SEEN, size=64),
    "window": lambda Q, K, V: window_attention(Q, K, V, back=WINDOW),
    "hashing, 1 round": partial(hashed, 1),
    "hashing, 4 rounds": partial(hashed, 4),
    "linear": linear_attention,
}
BANDS = 8  # number of distance bands
LOOKS = [1, 4]  # rounds used when a model that hashes is evaluated
SHARED = {"hashing, 1 round", "hashing, 4 rounds"}  # methods whose queries are also the keys


class Cards(nn.Module):
    """One layer of attention between two tables: it reads names and colours and outputs colours."""

    def __init__(self, shared: bool):
        super().__init__()
        self.name, self.colour = nn.Embedding(NAMES, D), nn.Embedding(COLOURS + 1, D)  # the extra colour is "?"
        self.W_Q = nn.Linear(D, D, bias=False)
        self.W_K = self.W_Q if shared else nn.Linear(D, D, bias=False)
        self.W_V, self.read = nn.Linear(D, D, bias=False), nn.Linear(D, COLOURS)

    def forward(self, names: Tensor, colours: Tensor, attend: Attend) -> Tensor:
        X = self.name(names) + self.colour(colours)
        return self.read(X + attend(self.W_Q(X), self.W_K(X), self.W_V(X)))


def draw(count: int, generator: torch.Generator, cards: int = CARDS) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draw names and colours of cards and questions, the answers, and the distance back to each answer's card."""
    names = torch.rand(count, NAMES, generator=generator).argsort(dim=-1)[:, :cards]
    colours = torch.randint(COLOURS, (count, cards), generator=generator)
    asked = torch.rand(count, cards, generator=generator).argsort(dim=-1)
    answers = colours.gather(1, asked)
    unknown = torch.full_like(colours, COLOURS)
    distance = torch.arange(cards, 2 * cards) - asked
    return torch.cat([names, names.gather(1, asked)], 1), torch.cat([colours, unknown], 1), answers, distance


@torch.no_grad()
def judged(model: Cards, attend: Attend, cards: int = CARDS) -> dict[str, Any]:
    """Return the share of wrong answers, in total and per distance of the card."""
    generator = torch.Generator().manual_seed(1000)
    wrong, far = [], []
    for _ in range(JUDGED):
        names, colours, answers, distance = draw(BATCH, generator, cards)
        wrong.append((model(names, colours, attend)[:, cards:].argmax(dim=-1) != answers).flatten())
        far.append(distance.flatten())
    errors, bands = torch.cat(wrong).double(), torch.cat(far) * BANDS // (2 * cards)
    by_distance = [round(errors[bands == band].mean().item(), 4) for band in range(BANDS)]
    return {"error": round(errors.mean().item(), 4), "by_distance": by_distance}


@torch.no_grad()
def found(model: Cards, rounds: int) -> float:
    """Return how often a query's hash pairs it with its true top key, the best of all others under exact attention."""
    names, colours, _, _ = draw(BATCH, torch.Generator().manual_seed(1000))
    X = model.W_Q(model.name(names) + model.colour(colours))
    scores = X @ F.normalize(X, dim=-1).mT
    best = scores.diagonal_scatter(torch.full(X.shape[:2], -torch.inf), dim1=1, dim2=2).argmax(dim=-1)
    pairs = lsh_pairs(lsh_buckets(X, N_BUCKETS, rounds), CHUNK)
    return pairs.gather(-1, best.unsqueeze(-1))[:, CARDS:].double().mean().item()


def run(method: str, updates: int, cards: int, seed: int) -> Made:
    torch.manual_seed(seed)
    generator, model, losses = torch.Generator().manual_seed(seed), Cards(method in SHARED), []
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
    for _ in range(updates):
        names, colours, answers, _ = draw(BATCH, generator, cards)
        logits = model(names, colours, METHODS[method])[:, cards:]
        loss = F.cross_entropy(logits.flatten(0, 1), answers.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    torch.manual_seed(seed)
    numbers = {"seed": seed, **judged(model, METHODS[method], cards), "curve": curve(losses, EVERY)}
    if method in SHARED:
        numbers["rounds"] = {
            str(rounds): {
                "error": judged(model, partial(hashed, rounds))["error"],
                "found": round(found(model, rounds), 4),
            }
            for rounds in LOOKS
        }
    print(method, updates, {key: numbers[key] for key in numbers if key != "curve"}, flush=True)
    return numbers, model


def main() -> None:
    torch.set_num_threads(1)
    what = (
        f"{CARDS} cards, each with one of {NAMES} names and one of {COLOURS} colours, then {CARDS} questions, each a card's "
        f"name; the answer is its colour. One layer, one head, d = {D}; Adam at {RATE}, {BATCH} sentences an update. window: "
        f"{WINDOW} words back. hashing: {N_BUCKETS} buckets, chunks of {CHUNK}, queries are keys. full, tiled, window, linear "
        f"are causal. error: share of wrong answers on {JUDGED * BATCH} fresh sentences; by_distance: in {BANDS} equal bands of "
        "how far back the card stands. rounds: error and found, the share of questions that meet their true top key, with so "
        f"many rounds in the judging. curve: means of {EVERY} losses. linear, {FEW} cards: as many questions, too."
    )
    unequal = (
        f"Linear attention learns more slowly, so it was given {LONG} updates as well, with all cards and with {FEW}."
    )
    arms = {name: (name, STEPS, CARDS) for name in METHODS}
    arms |= {f"linear, {LONG} updates": ("linear", LONG, CARDS), f"linear, {FEW} cards": ("linear", LONG, FEW)}
    with record(NAME, what, unequal) as numbers:
        numbers["settings"] = {
            "cards": CARDS, "few": FEW, "names": NAMES, "colours": COLOURS, "d": D, "window": WINDOW, "chunk": CHUNK, "bands": BANDS,
            "n_buckets": N_BUCKETS, "looks": LOOKS, "steps": STEPS, "long": LONG,
        }  # fmt: skip
        numbers["runs"] = {
            arm: numbers.pieces(arm, SEEDS, partial(run, method, updates, cards), updates)
            for arm, (method, updates, cards) in arms.items()
        }
        for arm in arms:
            numbers.rows(arm, f"runs/{arm}")


if __name__ == "__main__":
    main()

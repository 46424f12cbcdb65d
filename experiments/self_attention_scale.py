"""Train without the scale 1/√d_k for longer: `chapters/self_attention.md`'s rooms, ten times the steps, more seeds.

Takes about two minutes on one core; with the variable TFM_RUNS set, each training is saved as it finishes.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.record import piece, record
from tfm_lib.attention import dot_score, scaled_dot_score
from tfm_lib.self_attention import SelfAttention

SEEDS = [0, 1, 2]
STEPS, EVERY, ROOMS, PEOPLE, D_K = 3000, 10, 24, 8, 512
SCORES = {"with": scaled_dot_score, "without": dot_score}
OPTIMISERS = {"Adam": (torch.optim.Adam, 3e-3), "plain descent": (torch.optim.SGD, 1.0)}
LEVEL = 0.5  # nats; a model has half learned when the mean of EVERY losses first passes below it


def features() -> tuple[Tensor, Tensor, Tensor]:
    """Return the vectors of what a person wears, looks for, and holds: names, wanted names, colours."""
    drawn = torch.Generator().manual_seed(1)
    name, wanted, colour = (torch.randn(count, 16, generator=drawn) for count in (16, 16, 8))
    return name, wanted, colour


def rooms(count: int) -> tuple[Tensor, Tensor]:
    """Return rooms of people, all with different names, and the colour that each person must name."""
    name, wanted, colour = features()
    names = torch.rand(count, 16).argsort(dim=-1)[:, :PEOPLE]
    friend = torch.randint(PEOPLE, (count, PEOPLE))
    colours = torch.randint(8, (count, PEOPLE))
    return torch.cat([name[names], wanted[names.gather(1, friend)], colour[colours]], dim=-1), colours.gather(1, friend)


def respond(model: SelfAttention, X: Tensor, score: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    return score(model.W_Q(X), model.W_K(X)).softmax(dim=-1) @ model.W_V(X)


def run(optimiser: str, which: str, seed: int) -> tuple[dict[str, Any], nn.Module]:
    """Train one model; return when it had half learned, and its final accuracy."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    model, losses, score = SelfAttention(d_model=48, d_k=D_K, d_v=8), [], SCORES[which]
    for W in model.parameters():
        nn.init.normal_(W, std=48**-0.5)
    kind, lr = OPTIMISERS[optimiser]
    stepper = kind(model.parameters(), lr=lr)
    for _ in range(STEPS):
        X, target = rooms(ROOMS)
        loss = F.cross_entropy(respond(model, X, score).flatten(0, 1), target.flatten())
        stepper.zero_grad()
        loss.backward()
        stepper.step()
        losses.append(loss.item())
    smooth = torch.tensor(losses).unfold(0, EVERY, 1).mean(dim=-1)
    below = (smooth < LEVEL).nonzero()
    X, target = rooms(300)
    with torch.no_grad():
        right = (respond(model, X, score).argmax(dim=-1) == target).float().mean().item()
    reached = EVERY + below[0].item() if len(below) else None
    print(optimiser, which, seed, reached, f"{right:.4f}", flush=True)
    return {
        "optimiser": optimiser, "score": which, "seed": seed, "half_learned": reached, "right": round(right, 4),
        "loss": round(smooth[-1].item(), 4),
    }, model  # fmt: skip


def main() -> None:
    torch.set_num_threads(1)
    what = (
        f"Rooms of {PEOPLE} people, each of whom must name the colour of the person looked for, by one self-attention with "
        f"d_k = {D_K}, with the scores divided by its root and without; {STEPS} steps of {ROOMS} rooms, Adam at 0.003 and plain "
        f"gradient descent at 1. half_learned: the first step at which the mean of {EVERY} losses is below {LEVEL} nats, null "
        "where that never was; right: the share of right answers in 300 fresh rooms at the end."
    )
    with record("self_attention_scale", what) as numbers:
        numbers["settings"] = {"d_k": D_K, "steps": STEPS, "rooms": ROOMS, "people": PEOPLE, "level": LEVEL}
        numbers["runs"] = []
        for optimiser in OPTIMISERS:
            for which in SCORES:
                arm = f"{optimiser}, {which} the scale"
                for seed in SEEDS:
                    done = piece("self_attention_scale", f"{arm}, {seed}", partial(run, optimiser, which, seed))
                    numbers.ran(arm, seed, STEPS, None, done["cpu_seconds"])
                    numbers["runs"].append({key: done[key] for key in done if key != "cpu_seconds"})
                numbers.rows(arm, f"runs/optimiser={optimiser},score={which}")


if __name__ == "__main__":
    main()

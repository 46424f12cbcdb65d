"""Compare running sums with and without a gate on a recall task in which newer cards replace older ones.

Cards, each with a name and a colour, are followed by a question for every name; the answer is the colour of the newest
card of that name. One layer with one head learns it, with each method in the place of attention.
Takes about six minutes on one core; with TFM_RUNS set, each training is saved as it finishes.
"""

import os
from functools import partial
from itertools import pairwise
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.record import Made, curve, record
from tfm_lib.efficient import gated_recurrence
from tfm_lib.masking import causal_mask

NAME = "efficient_gates"
CARDS, NAMES, COLOURS, D = 128, 32, 16, 64
STEPS, BATCH, RATE, EVERY, JUDGED, SEEDS = 2400, 16, 3e-3, 40, 20, [0, 1, 2]
OPEN = 4.0  # where gates begin: sigmoid(4) = 0.982
ARMS = {
    "sum": "S only grows (a gate of 1)",
    "decay": "S is multiplied by one learned number at every position",
    "gate": "S is multiplied at each position by a sigmoid of its vector",
    "full": "softmax attention whose weights also fall by one learned factor per position of distance",
}
AGES = [0, 16, 32, 64, 128]  # edges of the bands: how many cards were dealt after the right one


class Cards(nn.Module):
    """One layer between two tables, as in `efficient_task`; its output is normalised, as Yang et al. (2024) do."""

    def __init__(self, arm: str):
        super().__init__()
        self.arm = arm
        self.name, self.colour = nn.Embedding(NAMES, D), nn.Embedding(COLOURS + 1, D)  # the extra colour is "?"
        self.W_Q, self.W_K, self.W_V = (nn.Linear(D, D, bias=False) for _ in range(3))
        self.read, self.gate = nn.Linear(D, COLOURS), nn.Linear(D, 1)
        self.decay = nn.Parameter(torch.tensor(OPEN))
        nn.init.constant_(self.gate.bias, OPEN)

    def forward(self, names: Tensor, colours: Tensor) -> Tensor:
        X = self.name(names) + self.colour(colours)
        Q, K, V = self.W_Q(X), self.W_K(X), self.W_V(X)
        O = self.full(Q, K, V) if self.arm == "full" else gated_recurrence(Q, K, V, self.gates(X))
        return self.read(X + F.rms_norm(O, (D,)))

    def full(self, Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        i = torch.arange(Q.shape[-2])
        bias = F.logsigmoid(self.decay) * (i[:, None] - i)
        return F.scaled_dot_product_attention(Q, K, V, bias.masked_fill(~causal_mask(len(i)), -torch.inf))

    def gates(self, X: Tensor) -> Tensor:
        """Return the number for each position that S is multiplied by, (batch, n)."""
        if self.arm == "gate":
            return self.gate(X).squeeze(-1).sigmoid()
        return X.new_ones(X.shape[:-1]) if self.arm == "sum" else self.decay.sigmoid().expand(X.shape[:-1])


def draw(count: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draw names and colours of cards and questions, the answers, and how many cards came after the right one."""
    names, asked = (torch.rand(count, NAMES, generator=generator).argsort(dim=-1) for _ in range(2))
    names = torch.cat([names, torch.randint(NAMES, (count, CARDS - NAMES), generator=generator)], dim=1)
    colours = torch.randint(COLOURS, names.shape, generator=generator)
    newest = ((names[:, None] == asked[:, :, None]) * torch.arange(CARDS)).amax(dim=-1)
    unknown = torch.full_like(asked, COLOURS)
    answers = colours.gather(1, newest)
    return torch.cat([names, asked], 1), torch.cat([colours, unknown], 1), answers, CARDS - 1 - newest


@torch.no_grad()
def judged(model: Cards) -> dict[str, Any]:
    """Return the share of wrong answers, in total and by the age of the right card."""
    generator = torch.Generator().manual_seed(1000)
    wrong, ages = [], []
    for _ in range(JUDGED):
        names, colours, answers, age = draw(BATCH, generator)
        wrong.append((model(names, colours)[:, CARDS:].argmax(dim=-1) != answers).flatten())
        ages.append(age.flatten())
    errors, age = torch.cat(wrong).double(), torch.cat(ages)
    bands = [errors[(low <= age) & (age < high)].mean().item() for low, high in pairwise(AGES)]
    return {"error": round(errors.mean().item(), 4), "by_age": [round(band, 4) for band in bands]}


@torch.no_grad()
def kept(model: Cards) -> dict[str, float]:
    """Return the mean factor per position after training, at cards and at questions."""
    names, colours, _, _ = draw(BATCH, torch.Generator().manual_seed(1000))
    gates = model.gates(model.name(names) + model.colour(colours)).double()
    return {"cards": round(gates[:, :CARDS].mean().item(), 4), "questions": round(gates[:, CARDS:].mean().item(), 4)}


def run(arm: str, seed: int) -> Made:
    torch.manual_seed(seed)
    generator, model, losses = torch.Generator().manual_seed(seed), Cards(arm), []
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
    for _ in range(STEPS):
        names, colours, answers, _ = draw(BATCH, generator)
        loss = F.cross_entropy(model(names, colours)[:, CARDS:].flatten(0, 1), answers.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    numbers = {"seed": seed, **judged(model), "kept": kept(model), "curve": curve(losses, EVERY)}
    print(arm, {key: numbers[key] for key in numbers if key != "curve"}, flush=True)
    return numbers, model


def main() -> None:
    torch.set_num_threads(1)
    what = (
        f"{CARDS} cards, each with one of {NAMES} names and one of {COLOURS} colours: every name once, then names at random. Then a "
        "question for each name; the answer is the colour of its newest card. One layer, one head, no positions, its output "
        f"normalised, d = {D}; Adam at {RATE}, {BATCH} sentences an update. "
        + "; ".join(f"{arm}: {meaning}" for arm, meaning in ARMS.items())
        + f". error: share of wrong answers on {JUDGED * BATCH} fresh sentences; by_age: by how many cards were dealt after the "
        f"right one, in bands that begin at {', '.join(map(str, AGES[:-1]))}. kept: mean factor per position after training, "
        f"which begins at {torch.tensor(OPEN).sigmoid().item():.3f}; that of full is the factor of its weights. curve: means of {EVERY} losses."
    )
    with record(NAME, what) as numbers:
        numbers["settings"] = {
            "cards": CARDS, "names": NAMES, "colours": COLOURS, "d": D, "ages": AGES, "steps": STEPS,
        }  # fmt: skip
        numbers["runs"] = {arm: numbers.pieces(arm, SEEDS, partial(run, arm), STEPS) for arm in ARMS}
        for arm in ARMS:
            numbers.rows(arm, f"runs/{arm}")


if __name__ == "__main__":
    main()

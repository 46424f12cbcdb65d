"""Measure gradient norms against distance, before and after training on a task that needs memory.

Takes about an hour and a half on one core; with the variable TFM_RUNS set, each training is saved as it finishes.
"""

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.record import record
from tfm_lib.self_attention import SelfAttention

CUES, NOISE, LENGTH, D_MODEL = 8, 8, 64, 32
ASK = CUES + NOISE
STEPS, RATE, BATCH, JUDGED, MEASURED = 2000, 3e-3, 64, 500, 4
SEEDS = [0, 1, 2, 3, 4]
LONGER = 10 * STEPS  # does a network lack training? At other rates too, for those that fall short
JUDGED_AT = [1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 63]
CELLS = {"rnn": nn.RNN, "rnn ×4": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
KINDS = [*CELLS, "attention"]
PRACTISED = {  # kind: the rates of its longer training
    "rnn": [RATE, RATE / 3, 3 * RATE],
    "rnn ×4": [RATE],
    "attention": [RATE],
}


class Recall(nn.Module):
    """Read signs, among them one cue, and name the cue when asked at the end."""

    def __init__(self, kind: str):
        super().__init__()
        self.embedding = nn.Embedding(ASK + 1, D_MODEL)
        if kind == "attention":
            self.read = SelfAttention(D_MODEL, D_MODEL)
        else:
            self.read = CELLS[kind](D_MODEL, D_MODEL, batch_first=True)
        if kind == "rnn ×4":
            nn.init.uniform_(self.read.weight_hh_l0, -4 / D_MODEL**0.5, 4 / D_MODEL**0.5)
        self.output = nn.Linear(D_MODEL, CUES)

    def last(self, X: Tensor) -> Tensor:
        return self.read(X)[0][:, -1]

    def forward(self, ids: Tensor) -> Tensor:
        return self.output(self.last(self.embedding(ids)))


def questions(count: int, generator: torch.Generator, distance: int | None = None) -> tuple[Tensor, Tensor]:
    """Return signs (count, LENGTH) with a cue `distance` places before the end, or at random if None; and the cues."""
    ids = torch.randint(CUES, ASK, (count, LENGTH), generator=generator)
    cues = torch.randint(CUES, (count,), generator=generator)
    places = torch.randint(LENGTH - 1, (count,), generator=generator)
    if distance is not None:
        places = torch.full((count,), LENGTH - 1 - distance)
    ids[torch.arange(count), places] = cues
    ids[:, -1] = ASK
    return ids, cues


def reach(model: Recall) -> list[float]:
    """Return ‖∂h_T/∂x_t‖ at the cue per distance T − t from 1: geometric mean over a few sequences, in 64 bits."""
    generator = torch.Generator().manual_seed(1000)
    distances = torch.arange(1, LENGTH)
    ids = torch.cat([questions(MEASURED, generator, int(distance))[0] for distance in distances])
    place = (LENGTH - 1 - distances).repeat_interleave(MEASURED)
    model.double()
    X = model.embedding(ids).detach().requires_grad_()
    last, squares = model.last(X), torch.zeros(())
    for feature in range(D_MODEL):
        (slopes,) = torch.autograd.grad(last[:, feature].sum(), X, retain_graph=True)
        squares = squares + slopes[torch.arange(len(ids)), place].square().sum(dim=-1)
    model.float()
    norms = squares.sqrt().view(-1, MEASURED).log().mean(dim=1).exp()
    return [float(f"{norm:.3g}") for norm in norms.tolist()]


def train(model: Recall, generator: torch.Generator, steps: int, rate: float) -> None:
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    for _ in range(steps):
        ids, cues = questions(BATCH, generator)
        loss = F.cross_entropy(model(ids), cues)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()


@torch.no_grad()
def accuracy(model: Recall, distance: int) -> float:
    ids, cues = questions(JUDGED, torch.Generator().manual_seed(2000 + distance), distance)
    return (model(ids).argmax(dim=-1) == cues).float().mean().item()


def run(kind: str, steps: int, rate: float, seed: int) -> tuple[dict[str, Any], Recall]:
    """Train once; return the gradient norms before and after training, and the accuracy."""
    torch.manual_seed(seed)
    model = Recall(kind)
    found: dict[str, Any] = {"start": reach(model)}
    train(model, torch.Generator().manual_seed(seed), steps, rate)
    found |= {"trained": reach(model), "accuracy": [round(accuracy(model, d), 4) for d in JUDGED_AT]}
    print(kind, steps, rate, seed, found["start"][-1], found["trained"][-1], found["accuracy"], flush=True)
    return found, model


def main() -> None:
    torch.set_num_threads(1)
    what = (
        f"{LENGTH} signs, one of {CUES} cues at a random place among noise, to be named at the end; width {D_MODEL}. "
        f"start and trained: ‖∂h_T/∂x_t‖ at the cue, the geometric mean of {MEASURED} sequences, for distances "
        f"1 to {LENGTH - 1}, one row per seed; accuracy: share of {JUDGED} fresh cues named at each distance listed."
    )
    unequal = "Ten times the updates ask whether practice is what a network lacks; those that lack nothing do without."
    stages = ("start", "trained", "accuracy")
    with record("recurrence_reach", what, unequal) as numbers:
        numbers["settings"] = {"steps": STEPS, "batch": BATCH, "lr": RATE, "length": LENGTH, "d_model": D_MODEL}
        numbers["distances"] = list(range(1, LENGTH))
        numbers |= {"judged_at": JUDGED_AT, "kinds": {}, "longer": {}}
        for kind in KINDS:
            runs = numbers.pieces(kind, SEEDS, partial(run, kind, STEPS, RATE), STEPS)
            numbers["kinds"][kind] = {stage: [one[stage] for one in runs] for stage in stages}
            numbers.rows(kind, *(f"kinds/{kind}/{stage}" for stage in stages))
        for kind, rates in PRACTISED.items():
            for rate in rates:
                arm = f"{kind}, {LONGER} steps, rate {rate:.2g}"
                runs = numbers.pieces(arm, SEEDS, partial(run, kind, LONGER, rate), LONGER)
                numbers["longer"][arm] = {stage: [one[stage] for one in runs] for stage in stages[1:]}
                numbers.rows(arm, *(f"longer/{arm}/{stage}" for stage in stages[1:]))


if __name__ == "__main__":
    main()

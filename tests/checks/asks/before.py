"""The questions of `chapters/before.md`."""

import math

import torch
import torch.nn.functional as F
from torch import manual_seed, nn
from torch.testing import assert_close

from tfm_lib.corpora.story import STORY


def _knows_nothing() -> None:
    manual_seed(0)
    scores, came = torch.randn(200, 50_000), torch.randint(50_000, (200,))
    halvings = F.cross_entropy(scores, came).item() / math.log(2)
    even = math.log2(50_000)
    assert 15.5 < even < halvings < 17


def _looked_up() -> list:
    ids = torch.randint(1000, (8, 20))
    table = nn.Embedding(1000, 64)
    return [table(ids).shape, ids.shape, F.one_hot(ids, 1000).shape, table(ids).mean(dim=1).shape, table.weight.shape]


def _slope() -> list[float]:
    p = torch.tensor([0.2, 0.5, 0.2, 0.1])
    scores = p.log().requires_grad_()
    loss = F.cross_entropy(scores, torch.tensor(0))
    loss.backward()
    assert scores.grad is not None
    slope = scores.grad[0].item()
    return [slope, p[0].item(), -slope, loss.item()]


def _practised() -> dict:
    manual_seed(0)
    model = nn.Embedding(5, 5)
    model.weight.grad = torch.ones(5, 5)  # of an earlier step
    return {
        "F": F,
        "model": model,
        "start": model.weight.detach().clone(),
        "now": torch.tensor([0, 1, 2]),
        "following": torch.tensor([1, 2, 3]),
        "optimiser": torch.optim.SGD(model.parameters(), lr=0.5),
    }


def _moved_by_this_loss_alone(names: dict) -> None:
    start = names["start"].requires_grad_()
    (slope,) = torch.autograd.grad(F.cross_entropy(start[names["now"]], names["following"]), start)
    assert_close(names["model"].weight.detach(), start.detach() - 0.5 * slope)


def _by_step_25() -> list[float]:
    """The losses of the chapter's own training: how much more probable the right letter has become."""
    text = " ".join("".join(c if c.isalpha() else " " for c in STORY.lower()).split())
    letters = sorted(set(text))
    ids = torch.tensor([letters.index(c) for c in text])
    manual_seed(0)
    model, losses = nn.Embedding(len(letters), len(letters)), []
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(200):
        loss = F.cross_entropy(model(ids[:-1]), ids[1:])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    fall = losses[0] - losses[25]
    return [math.exp(fall), fall, losses[0] / losses[25], math.exp(losses[0] - losses[-1]), fall / math.log(2)]


def _in_turn_given() -> dict:
    model = nn.Embedding(5, 5)
    model.weight.data = 50 * torch.eye(5).roll(1, dims=1)
    return {"model": model}


def _in_turn(names: dict) -> None:
    assert names["write"](names["model"], 0, 6) == [0, 1, 2, 3, 4, 0, 1]


VALUES = {"by-step-25": _by_step_25, "row-shape": _looked_up, "one-slope": _slope}
TRIALS = {"quuuu": _in_turn, "one-step": _moved_by_this_loss_alone}
GIVEN = {"quuuu": _in_turn_given, "one-step": _practised}
CLAIMS = {"at-the-start": _knows_nothing}

"""The questions of `chapters/recurrence.md`."""

import itertools

import torch
from torch import manual_seed, nn, randn, zeros
from torch.nn.utils import clip_grad_norm_, parameters_to_vector
from torch.optim import SGD
from torch.testing import assert_close

from tfm_lib.drawing import recorded
from tfm_lib.recurrence import Seq2Seq


def _one_vector() -> None:
    model = Seq2Seq(20, 20, 8, "gru")
    short, long = (model.encode(torch.randint(3, 20, (1, n)))[1] for n in (4, 40))
    assert short.shape == long.shape


def _steps_as_torch(names: dict) -> None:
    manual_seed(0)
    cell, h, c = nn.LSTMCell(5, 5), zeros(5), zeros(5)
    ours = theirs = (h, c)
    for x in randn(4, 5):
        bias = cell.bias_ih + cell.bias_hh
        ours = names["lstm_step"](x, *ours, cell.weight_ih, cell.weight_hh, bias)
        theirs = cell(x, theirs)
        assert_close(ours, theirs)


def _explosive() -> dict:
    manual_seed(0)
    model = nn.Linear(3, 1)
    return {
        "model": model,
        "start": parameters_to_vector(model.parameters()).detach().clone(),
        "optimiser": SGD(model.parameters(), lr=0.5),
        "loss_of": lambda model: 1000 * model(torch.ones(3)).sum(),
        "clip_grad_norm_": clip_grad_norm_,
    }


def _moved_by_a_short_gradient(names: dict) -> None:
    moved = (parameters_to_vector(names["model"].parameters()) - names["start"]).norm()
    assert_close(moved.detach(), torch.tensor(0.5))


def _half_of_eleven() -> list[float]:
    runs = recorded("recurrence_length")["runs"]
    steps = {"gru 64": 2000, "gru 64, 4000 steps": 4000, "gru 64, 6000 steps": 6000, "gru 64, 20000 steps": 20_000}

    def crossing(length: int, logarithmic: bool) -> float:
        shares = [torch.tensor(runs[name]["exact"])[:, length - 1].mean().item() for name in steps]
        ends = list(zip(shares, steps.values()))
        (y, s), (z, t) = next((a, b) for a, b in itertools.pairwise(ends) if a[0] < 0.5 <= b[0])
        part = (0.5 - y) / (z - y)
        return s * (t / s) ** part if logarithmic else s + part * (t - s)

    return [crossing(11, True), crossing(11, False), crossing(8, True), crossing(14, True)]


VALUES = {"half-of-eleven": _half_of_eleven}
TRIALS = {"forgotten-memory": _steps_as_torch, "clip-between": _moved_by_a_short_gradient}
GIVEN = {"clip-between": _explosive}
CLAIMS = {"handed-over": _one_vector}

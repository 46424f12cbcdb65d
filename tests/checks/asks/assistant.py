"""The questions of `chapters/assistant.md`."""

import math

import torch
from torch import nn

from tfm_lib.assistant import Answers, dpo_loss
from tfm_lib.data import Example


def _not_moved() -> list[float]:
    same = torch.tensor([-3.0, -8.0]), torch.tensor([-5.0, -2.0])
    loss = dpo_loss(*same, *same, beta=0.1).item()
    return [loss, -math.log(1), math.exp(-loss), loss / math.log(2), 0.1 * loss]


def _stages() -> dict:
    """Each stage hands on what it was given and its own name."""
    return {
        "texts": ["texts"],
        "demonstrations": ["shown"],
        "pretrain": lambda texts: [*texts, "base"],
        "tune": lambda model, shown: [*model, *shown, "follow"],
        "pairs_of": lambda model: [(*model, i) for i in range(2)],
        "dpo": lambda model, pairs: [*model, len(pairs), "prefer"],
        "many_of": lambda model: [[*model, i] for i in range(4)],
        "score": lambda answer: answer[-1],
    }


def _four_stages(names: dict) -> None:
    assert names["best"] == ["texts", "base", "shown", "follow", 2, "prefer", 3]


def _as_the_library(names: dict) -> None:
    for src, tgt in (([5, 6], [7]), ([4], [8, 9])):
        expected = Answers.of([Example(src, tgt)]).predicted[0].tolist()
        assert names["targets"](src, tgt, 2, 0) == expected


def _towards_what_is_preferred() -> None:
    """Of two preferred answers and two others, the preferred ones share a feature that has nothing to do with truth."""
    long, true = torch.tensor([[1.0, 1.0], [0.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    model = nn.Parameter(torch.zeros(2))
    better, worse = (long[i] * model[0] + true[i] * model[1] for i in range(2))
    dpo_loss(better, worse, torch.zeros(2), torch.zeros(2)).backward()
    assert model.grad is not None
    assert model.grad[0] < 0 and model.grad[1] == 0  # a step makes the long ones likelier, the true ones not


VALUES = {"not-learned-yet": _not_moved}
TRIALS = {"four-stages": _four_stages, "a-question-learned": _as_the_library}
GIVEN = {"four-stages": _stages}
CLAIMS = {"pulled-towards": _towards_what_is_preferred}

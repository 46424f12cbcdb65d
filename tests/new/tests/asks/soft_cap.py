"""The questions of `chapters/soft_cap.md`."""

import torch
from tfm_lib.soft_cap import soft_cap
from torch.testing import assert_close


def _never_reached() -> None:
    assert soft_cap(torch.tensor([[5.0]]), 2.0).item() < 2


def _large() -> list:
    capped = soft_cap(torch.tensor([[1000.0]]), 2.0).item()
    return [capped, 1000.0, 1.0]


def _caps(names: dict) -> None:
    X = torch.tensor([[-3.0, 0.5, 7.0]])
    assert_close(names["cap_scores"](X, 2.0), soft_cap(X, 2.0))


VALUES = {"a-thousand": _large}
TRIALS = {"which-unit": _caps}
CLAIMS = {"opening": _never_reached}

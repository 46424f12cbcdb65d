"""The questions of `chapters/masking.md`."""

import torch
import torch.nn.functional as F
from torch.testing import assert_close

from tfm_lib.attention import attention
from tfm_lib.masking import causal_mask, combine, padding_mask


def _all_places_at_once() -> None:
    torch.manual_seed(0)
    X = torch.randn(10, 4)
    whole = attention(X, X, X, causal_mask(10))[0]
    for n in range(1, 11):
        assert_close(whole[n - 1], attention(X[:n], X[:n], X[:n])[0][-1])


def _second_of(mask: torch.Tensor) -> float:
    return torch.zeros(5, 5).masked_fill(~mask, -torch.inf).softmax(dim=-1)[2, 1].item()


def _third_row() -> list:
    open_, strict = torch.ones(5, 5, dtype=torch.bool), causal_mask(5).tril(-1)
    return [_second_of(causal_mask(5)), _second_of(open_), _second_of(strict), _second_of(causal_mask(5).T)]


def _shapes() -> list:
    ids = torch.randint(1, 9, (32, 20))
    padding, causal = padding_mask(ids, 0), causal_mask(20)
    return [combine(causal, padding).shape, causal.shape, padding.shape, (ids != 0).shape, padding.mT.shape]


def _given() -> dict:
    return {"F": F}


def _sees_no_answer(names: dict) -> None:
    seen = []

    def model(inputs: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        seen.append((inputs, mask))
        return torch.zeros(*inputs.shape, 9)

    ids = torch.randint(1, 9, (2, 6))
    names["loss_of"](model, ids, pad_id=0)
    assert_close(seen[0][0], ids[:, :-1])
    assert torch.equal(seen[0][1], causal_mask(5))


VALUES = {"third-row": _third_row, "combined-shape": _shapes}
TRIALS = {"too-good": _sees_no_answer}
GIVEN = {"too-good": _given}
CLAIMS = {"one-pass": _all_places_at_once}

"""The questions of `chapters/masking.md`."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from tfm_lib.attention import attention
from tfm_lib.masking import causal_mask, combine, padding_mask
from tfm_lib.self_attention import SelfAttention


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


def _sentences(count: int, length: int) -> torch.Tensor:
    """The chapter's sentences: each letter is one of the two that may follow."""
    letters, coins = torch.randint(8, (count, length)), torch.randint(2, (count, length))
    for i in range(1, length):
        letters[:, i] = (2 * letters[:, i - 1] + coins[:, i]) % 8
    return letters


def _losses(mask: torch.Tensor, steps: int) -> list[float]:
    """The losses of the chapter's language model."""
    torch.manual_seed(0)
    letter, place = nn.Embedding(8, 32), nn.Embedding(16, 32)
    attend, read = SelfAttention(32, 32), nn.Linear(32, 8)
    model = nn.ModuleList([letter, place, attend, read])
    optimiser, losses = torch.optim.Adam(model.parameters(), lr=0.01), []
    for _ in range(steps):
        letters = _sentences(64, 17)
        logits = read(attend(letter(letters[:, :-1]) + place.weight, mask)[0])
        loss = F.cross_entropy(logits.flatten(0, 1), letters[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def _first_proof() -> list:
    """The leaky model's loss crosses the entropy; before that it parts from the honest one's, which comes there later."""
    mask, entropy = causal_mask(16), math.log(2)
    honest, leaky = _losses(mask, 130), _losses(mask.T, 130)
    crossed = next(step for step, loss in enumerate(leaky) if loss < entropy)
    parted = next(step for step in range(100) if all(a < b for a, b in zip(leaky[step : step + 20], honest[step:])))
    arrived = next(step for step, loss in enumerate(honest) if loss < 1.02 * entropy)
    assert max(leaky[crossed:]) < entropy
    return [crossed, parted, arrived, None]


VALUES = {"first-proof": _first_proof, "third-row": _third_row, "combined-shape": _shapes}
TRIALS = {"too-good": _sees_no_answer}
GIVEN = {"too-good": _given}
CLAIMS = {"one-pass": _all_places_at_once}

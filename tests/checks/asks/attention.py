"""The questions of `chapters/attention.md`."""

import math

import torch
from torch.testing import assert_close

from tfm_lib.attention import attention


def _a_long_key_wins() -> None:
    q = torch.tensor([[1.0, 0.0]])
    near, long = torch.tensor([1.0, 0.5]), torch.tensor([3.0, 3.0])
    K, V = torch.stack([near, long]), torch.tensor([[100.0], [1.0]])
    weights = attention(q, K, V)[1][0]
    assert (near - q).norm() < (long - q).norm() and weights[0] < weights[1]
    units = K / K.norm(dim=-1, keepdim=True)
    assert attention(q, units, V)[1][0].argmax() == (units - q).norm(dim=-1).argmin() == 0


def _shapes() -> list:
    Q, K, V = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5, 2)
    output, weights = attention(Q, K, V)
    return [output.shape, weights.shape, V.shape, (weights @ K).shape, (K @ Q.T).shape]


def _given() -> dict:
    torch.manual_seed(0)
    return {"math": math, "Q": 3 * torch.randn(3, 4), "K": torch.randn(5, 4), "V": torch.randn(5, 2)}


def _looked_up(names: dict) -> None:
    assert_close(names["output"], attention(names["Q"], names["K"], names["V"])[0])


def _nine_tenths() -> list[float]:
    beta = torch.linspace(0.1, 6, 5901)
    weights = (beta[:, None] * torch.tensor([0.0, 1.0, 2.0])).softmax(dim=-1)
    together = beta[int((weights[:, 2] > 0.9).float().argmax())].item()
    lemon = beta[int((weights[:, 0] < 0.1).float().argmax())].item()
    return [together, 1 + 9 * math.log10(together), lemon]


def _length_given() -> dict:
    torch.manual_seed(0)
    return {"q": torch.randn(4), "K": torch.randn(5, 4), "V": torch.randn(5, 2)}


def _length_is_nothing(names: dict) -> None:
    look_up, q, K, V = (names[name] for name in ("look_up", "q", "K", "V"))
    longer = torch.arange(1.0, 6)[:, None] * K
    assert_close(look_up(q, K, V, 3.0), look_up(q, longer, V, 3.0))


VALUES = {"nine-tenths": _nine_tenths, "output-shape": _shapes}
TRIALS = {"still-longer": _length_is_nothing, "scale-when": _looked_up}
GIVEN = {"still-longer": _length_given, "scale-when": _given}
CLAIMS = {"nearest": _a_long_key_wins}

"""The questions of `chapters/positional.md`."""

import math

import torch
from torch.testing import assert_close

from tfm_lib.attention import attention
from tfm_lib.masking import causal_mask
from tfm_lib.positional import angles, sinusoidal_encoding


def _bites_differs() -> None:
    torch.manual_seed(0)
    dog, bites, man = torch.randn(3, 8)
    one, two = torch.stack([dog, bites, man]), torch.stack([man, bites, dog])
    masked = [attention(X, X, X, causal_mask(3))[0][1] for X in (one, two)]
    assert (masked[0] - masked[1]).abs().max() > 1e-3
    assert_close(*(attention(X, X, X)[0][1] for X in (one, two)))


def _turns() -> list:
    fast = angles(2, 512)[1, 0].item()  # radians a position
    return [2 * math.pi / fast, 2 * math.pi * 10000, 10000, fast, 360]


def _products() -> None:
    PE = sinusoidal_encoding(20, 64).double()
    wanted = PE[3] @ PE[7]
    found = {(i, j): (PE[i] @ PE[j] - wanted).abs().item() for i, j in ((6, 14), (10, 14), (3, 8))}
    assert [pair for pair, gap in found.items() if gap < 1e-4] == [(10, 14)]


def _encodes(names: dict) -> None:
    assert_close(names["encoding"](50, 16), sinusoidal_encoding(50, 16), atol=1e-4, rtol=0)


VALUES = {"once-round": _turns}
TRIALS = {"twice-two": _encodes}
CLAIMS = {"mask-tells": _bites_differs, "same-product": _products}

"""Soft cap: scores that grow ever more slowly, so that none is larger than a cap."""

from jaxtyping import Float
from torch import Tensor

from tfm_lib._errors import require_number
from tfm_lib._shapes import checked

__all__ = ["soft_cap"]


@checked
def soft_cap(X: Float[Tensor, "*batch n"], cap: float) -> Float[Tensor, "*batch n"]:
    """Each number of X bent towards ±cap, cap · tanh(X / cap).

    `cap` is the size that no output reaches; small numbers pass almost unchanged.

    Source: an example of this repository.
    """
    require_number("cap", cap, lambda value: 0 < value < float("inf"), "be a number above 0")
    return cap * (X / cap).tanh()

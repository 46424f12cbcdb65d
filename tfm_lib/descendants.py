"""Descendants: ✎ say in a few words what this module computes."""

from jaxtyping import Float
from torch import Tensor

from tfm_lib._errors import require_float_type, require_number

__all__ = ["masked_words"]


def masked_words(ids: Float[Tensor, "*batch n"], share: float) -> Float[Tensor, "*batch n"]:
    """✎ Say what it gives in one sentence, with the formula.

    ✎ Say what each argument must be, where that is not obvious.

    Source: ✎ paper, section, equation.
    """
    require_float_type("ids", ids)
    require_number("share", share, lambda value: 0 < value < float("inf"), "be a number above 0")
    raise NotImplementedError("✎ Write masked_words in tfm_lib/descendants.py.")

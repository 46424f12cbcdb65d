"""Masks: what a query must not see. True means "may attend"."""

from collections.abc import Callable
from functools import reduce

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.functional import jacobian

from tfm_lib._errors import (
    require_combinable, require_mask_size, require_no_empty_row, require_one_sequence,
    require_one_vector_a_position, require_pad_id, require_slopes, require_values,
)  # fmt: skip
from tfm_lib._shapes import checked

__all__ = ["causal_mask", "combine", "leak", "padding_mask"]


def causal_mask(n: int) -> Bool[Tensor, "n n"]:
    """The mask that hides the future: position i may attend to position j if j ≤ i.

    Source: Vaswani et al. (2017), section 3.2.3.
    """
    require_mask_size(n)
    return torch.ones(n, n, dtype=torch.bool).tril()


@checked
def padding_mask(ids: Int[Tensor, "batch m"], pad_id: int) -> Bool[Tensor, "batch 1 m"]:
    """The mask that hides padding: every query may attend to key j if ids[j] ≠ `pad_id`.

    `ids` are token ids, one sentence a row; a sentence that is all padding raises ValueError.
    """
    require_pad_id(ids, pad_id)
    mask = ids != pad_id  # (batch, m)
    require_no_empty_row("ids", mask, must="hold a token that is not padding in every row")
    return mask.unsqueeze(1)


def combine(*masks: Bool[Tensor, "*#batch #n #m"] | None) -> Bool[Tensor, "*batch n m"] | None:
    """The mask that allows what all of `masks` allow; None, which hides nothing, is skipped.

    The masks broadcast: a causal (n, n) and a padding (batch, 1, m) mask give (batch, n, m).
    A query that is left without a key raises ValueError.
    """
    given = [mask for mask in masks if mask is not None]
    if not given:
        return None
    require_combinable("masks", given)
    combined = reduce(torch.logical_and, given)
    require_no_empty_row("masks", combined)
    return combined


@checked
def leak(
    model_fn: Callable[[Tensor], Tensor],
    x: Float[Tensor, "*batch n d"],
) -> Float[Tensor, "n n"]:
    """How much each output sees of each input: [i, j] is the largest |∂output_i / ∂input_j|.

    `x` is one sequence, (n, d) or (1, n, d), and `model_fn` maps it to one vector a position.
    A model that cannot see the future gives 0 wherever j > i; one that lets no gradient through
    raises ValueError, for its 0s would say nothing.
    """
    require_values(x=x)
    require_one_sequence("x", x)
    require_one_vector_a_position("model_fn", require_slopes("model_fn", model_fn, x), x)
    n, d = x.shape[-2:]
    slopes = jacobian(model_fn, x)  # (*output's shape, *x's shape)
    return slopes.reshape(n, -1, n, d).abs().amax(dim=(1, 3))

"""`checked` holds a call to its annotations: once for each kind of call, and as strictly the second time as the first."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import pytest
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfm_lib._shapes import checked


class Pair(NamedTuple):
    H: Float[Tensor, "batch m d"]
    mask: Bool[Tensor, "batch 1 m"]


@checked
def dot(Q: Float[Tensor, "*batch n d_k"], K: Float[Tensor, "*batch m d_k"]) -> Tensor:
    return Q @ K.mT


@checked
def of_pair(ids: Int[Tensor, "batch n"], pair: Pair) -> None:
    """Nothing but its arguments matters."""


@checked
def words(kind: Literal["a", "b", "c"] = "a", of: nn.Module | None = None, flag: bool = True, f: Callable = len) -> str:
    return kind


@checked
class Wide(nn.Module):
    def __init__(self, d_model: int):
        super().__init__()
        self.d_model = d_model
        self.W = nn.Linear(d_model, d_model)

    def forward(
        self, X: Float[Tensor, "*batch n d_model"], mask: Bool[Tensor, "*#batch #n total"] | None = None
    ) -> Tensor:
        return X

    def masked(self, X: Float[Tensor, "batch n d_model"], mask: Bool[Tensor, "*#batch #n n"]) -> Tensor:
        return X

    def of_each(self, X: Float[Tensor, "batch n d_model"], mask: Bool[Tensor, " batch #n n"]) -> Tensor:
        return X

    def _private(self, X: Float[Tensor, "n d_model"]) -> Tensor:
        return X


ONES, PAIR = torch.ones(2, 3, 4), Pair(torch.ones(2, 5, 4), torch.ones(2, 1, 5).bool())
IDS = torch.ones(2, 3).long()


def said(call: Callable, *args: object, **kwargs: object) -> str:
    with pytest.raises((ValueError, TypeError)) as caught:
        call(*args, **kwargs)
    return str(caught.value)


@pytest.mark.parametrize("times", [0, 1])
def test_what_does_not_fit_is_told_with_whom_it_does_not_fit(times):
    for _ in range(times):
        dot(ONES, ONES)
    assert said(dot, ONES, ONES[..., :3]) == (
        "K must have shape (..., m, d_k) with d_k = 4, as in Q; got shape (2, 3, 3)."
    )
    assert said(dot, ONES, ONES[:1]) == "K must have the leading axes of Q, (2,); got shape (1, 3, 4)."
    assert said(dot, ONES, ONES[0, 0]) == (
        "K must have at least two axes, (..., m, d_k) with d_k = 4, as in Q; got shape (4,)."
    )
    assert said(dot, ONES, K=ONES[:, :0]) == "K must have shape (..., m, d_k) with m at least 1; got shape (2, 0, 4)."
    assert said(dot, ONES, ONES.double()) == "K must have the dtype of Q, torch.float32; got torch.float64."
    assert said(dot, ONES, ONES.to("meta")) == "K must be on the device of Q, cpu; got meta."
    assert said(dot, ONES.long(), ONES) == "Q must hold floating-point numbers; got torch.int64."
    assert said(dot, ONES, None) == "K must be a torch tensor; got None."


def test_all_axes_that_differ_are_told():
    H = torch.ones(2, 5, 3)
    mask = torch.ones(1, 1, 6).bool()
    assert said(of_pair, IDS, Pair(H, mask)) == (
        "pair.mask must have shape (batch, 1, m) with batch = 2, as in ids, and m = 5, as in pair.H; got shape (1, 1, 6)."
    )
    assert said(of_pair, IDS, Pair(H, mask.expand(2, 2, 6))).startswith("pair.mask must have shape (batch, 1, m)")


def test_the_fields_of_a_tuple_are_looked_at_like_arguments():
    of_pair(IDS, PAIR)
    assert said(of_pair, IDS, PAIR.H) == "pair must be a Pair(H, mask); got a tensor of shape (2, 5, 4)."
    assert said(of_pair, IDS[:1], PAIR) == (
        "pair.H must have shape (batch, m, d) with batch = 1, as in ids; got shape (2, 5, 4)."
    )
    assert said(of_pair, IDS, PAIR._replace(mask=IDS)) == "pair.mask must be boolean; got torch.int64."


def test_a_module_says_its_sizes_and_its_type():
    narrow, wide = Wide(3), Wide(4)
    wide(ONES)
    assert said(narrow, ONES) == (
        "X must have shape (..., n, d_model) with d_model = 3, as in the weights; got shape (2, 3, 4)."
    )
    wide.double()
    assert said(wide, ONES) == "X must have the dtype of the weights, torch.float64; got torch.float32."
    wide.to("meta")
    assert said(wide, ONES.double()) == "X must be on the device of the weights, meta; got cpu."


def test_a_mask_is_compared_where_all_of_its_axes_are_known():
    layer, mask = Wide(4), torch.ones(3, 7).bool()
    layer(ONES, mask)  # how many keys there are in all, this call does not say
    assert said(layer, ONES, mask.float()).startswith("mask must be boolean, True where the query may attend")
    layer.masked(ONES, torch.ones(3, 3).bool())
    layer.masked(ONES, torch.ones(2, 1, 3).bool())
    for shape in ((3, 7), (2, 3, 1), (3,), (1, 2, 3, 3), (3, 3, 3)):
        assert said(layer.masked, ONES, torch.ones(shape).bool()) == (
            "mask must broadcast to the scores' shape (2, 3, 3), as a causal (n, n) or a padding (batch, 1, m) mask "
            f"does; got shape {shape}."
        )


def test_a_mask_without_leading_axes_has_all_of_its_own():
    layer = Wide(4)
    layer.of_each(ONES, torch.ones(2, 1, 3).bool())
    layer.of_each(ONES, torch.ones(2, 3, 3).bool())
    for shape in ((3, 3), (1, 3, 3), (2, 3, 1), (1, 2, 3, 3)):
        assert said(layer.of_each, ONES, torch.ones(shape).bool()).startswith("mask must broadcast to the scores'")


def test_under_autocast_types_may_differ_and_outside_they_may_not():
    with torch.autocast("cpu"):
        dot(ONES, ONES.bfloat16())
    assert said(dot, ONES, ONES.bfloat16()).startswith("K must have the dtype of Q")


def test_words_functions_and_kinds_are_looked_at_too():
    assert words() == words("a", None, True, max) == "a"
    assert words("b", of=nn.Linear(1, 1)) == "b"
    assert said(words, "d") == """kind must be "a", "b" or "c"; got 'd'."""
    assert said(words, None) == 'kind must be "a", "b" or "c"; got None.'
    assert said(words, "a", 3) == "of must be a Module; got 3."
    assert said(words, flag="no") == "flag must be True or False; got 'no'."
    assert said(words, f="len") == "f must be a function; got 'len'."
    assert said(words, "a", None, True, None) == "f must be a function; got None."


def test_only_public_methods_are_held_to_their_annotations():
    assert Wide._private(Wide(4), ONES) is ONES
    assert not hasattr(checked(lambda X: X), "__wrapped__")


def test_many_kinds_of_calls_are_not_kept_for_ever():
    for n in range(1, 1100):
        dot(torch.ones(n, 1), torch.ones(1, 1))
    fitted = next(cell.cell_contents for cell in dot.__closure__ if isinstance(cell.cell_contents, set))
    assert 0 < len(fitted) <= 1001


# mutations


MUTATED = "_shapes"
MUTATIONS = {  # what is removed, and the test that must turn red
    "a size from the weights is forgotten": (
        "(*map(own.get, ours.axes), weight is None",
        "(weight is None",
        "test_a_module_says_its_sizes_and_its_type",
    ),
    "a call's types are forgotten": (
        "return value.shape, value.dtype, value.device",
        "return value.shape, value.device",
        "test_what_does_not_fit_is_told_with_whom_it_does_not_fit",
    ),
    "what autocast allows is remembered": (
        "call.is_strict &= X.dtype == call.float[0].dtype",
        "pass",
        "test_under_autocast_types_may_differ_and_outside_they_may_not",
    ),
    "keys may be one for all": (
        "for axis, can_be_one in self.last]",
        "for axis, _ in self.last for can_be_one in [True]]",
        "test_a_mask_is_compared_where_all_of_its_axes_are_known",
    ),
    "a mask of floats goes unnoticed": (
        "require_tensor(name, X, self.numbers)",
        "pass",
        "test_error_sentences.py::test_a_misfit_ends_in_this_sentence[attention, mask of floats]",
    ),
    "a transposed mask goes unnoticed": (
        "if not fits or not len(self.last)",
        "if False and not len(self.last)",
        "test_error_sentences.py::test_a_misfit_ends_in_this_sentence[attention, mask transposed]",
    ),
    "leading axes may differ": (
        "if self.leading and sizes.setdefault",
        "if not self.leading and sizes.setdefault",
        "test_what_does_not_fit_is_told_with_whom_it_does_not_fit",
    ),
}

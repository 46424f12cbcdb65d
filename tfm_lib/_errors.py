"""Bad input becomes a sentence: which argument, what it must be, what came instead."""

import torch
from torch import Tensor


def bad_input(argument: str, must: str, got: object, kind: type[Exception] = ValueError) -> Exception:
    """The exception that says "`argument` must `must`; got `got`.", to be raised by the caller."""
    return kind(f"{argument} must {must}; got {got}.")


def require_attention_inputs(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None) -> None:
    """The contract of `attention`: shapes that fit, finite numbers, a mask that leaves every query a key."""
    require_scorable(Q, K)
    require_vectors("V", V, "(..., m, d_v)")
    batch, n, m = tuple(Q.shape[:-2]), Q.shape[-2], K.shape[-2]
    if V.shape[:-1] != K.shape[:-1]:
        raise bad_input("V", f"hold one value for each of the {m} keys, with the leading axes of K", shape_of(V))
    if V.dtype != Q.dtype:
        raise bad_input("V", f"have the dtype of Q, {Q.dtype}", V.dtype, TypeError)
    if mask is not None:
        require_mask("mask", mask, (*batch, n, m))


def require_scorable(Q: Tensor, K: Tensor, d_q: int | None = None, d_k: int | None = None) -> None:
    """Queries and keys that a score function can compare: `d_q` and `d_k` numbers a vector, or equally many."""
    require_vectors("Q", Q, "(..., n, d_q)" if d_q else "(..., n, d_k)", d_q)
    require_vectors("K", K, "(..., m, d_k)", d_k or Q.shape[-1])
    if K.shape[:-2] != Q.shape[:-2]:
        raise bad_input("K", f"have the leading axes of Q, {tuple(Q.shape[:-2])}", shape_of(K))
    if K.shape[-2] == 0:
        raise bad_input("K", "hold at least one key", shape_of(K))
    if K.dtype != Q.dtype:
        raise bad_input("K", f"have the dtype of Q, {Q.dtype}", K.dtype, TypeError)


def require_vectors(argument: str, value: Tensor, axes: str, size: int | None = None) -> None:
    """`value` must be finite floats of shape `axes`, such as "(..., n, d_model)", with `size` numbers a vector."""
    require_floats(argument, value)
    if value.dim() < 2 or value.shape[-1] == 0:
        raise bad_input(argument, f"have at least two axes, {axes}, and a number in each vector", shape_of(value))
    if size not in (None, value.shape[-1]):
        raise bad_input(argument, f"have shape {axes} with {size} numbers a vector", shape_of(value))


def require_heads(n_heads: int, width: int) -> None:
    """`n_heads` must be a whole number of at least 1 that divides the vectors' `width`."""
    if not isinstance(n_heads, int) or n_heads < 1 or width % n_heads:
        raise bad_input("n_heads", f"be a whole number of at least 1 that divides the width {width}", n_heads)


def require_words(query: Tensor, key: Tensor, value: Tensor, d_model: int) -> None:
    """The words that multi-head attention is given: vectors of `d_model` numbers, a value for each key, one batch."""
    for name, X in {"query": query, "key": key, "value": value}.items():
        if X.dim() != 3 or X.shape[-1] != d_model:
            raise bad_input(name, f"have shape (batch, positions, {d_model})", shape_of(X))
        if len(X) != len(query):
            raise bad_input(name, f"hold as many sentences as query, {len(query)}", shape_of(X))
    if value.shape != key.shape:
        raise bad_input("value", f"hold one vector for each of the {key.shape[1]} keys", shape_of(value))


def require_one_sequence(argument: str, x: Tensor) -> None:
    """`x` must be finite floats of shape (n, d) or (1, n, d)."""
    require_vectors(argument, x, "(n, d) or (1, n, d)")
    if x.shape[:-2] not in ((), (1,)):
        raise bad_input(argument, "be one sequence, (n, d) or (1, n, d)", shape_of(x))


def require_one_vector_a_position(argument: str, output: Tensor, x: Tensor) -> None:
    """What the function `argument` made of `x` must be one tensor with a vector for each position of `x`."""
    if not isinstance(output, Tensor):
        must = "return one tensor, such as output of (output, weights)"
        raise bad_input(argument, must, f"a {type(output).__name__}", TypeError)
    if output.dim() != x.dim() or output.shape[:-1] != x.shape[:-1]:
        raise bad_input(argument, f"return one vector for each of the {x.shape[-2]} positions", shape_of(output))


def require_floats(argument: str, value: Tensor) -> None:
    """`value` must be a tensor of floating-point numbers, none of them NaN or infinite."""
    require_tensor(argument, value)
    if not value.is_floating_point():
        raise bad_input(argument, "hold floating-point numbers", value.dtype, TypeError)
    finite = value.isfinite()
    if not finite.all():
        index = first_index(~finite)
        raise bad_input(argument, "hold finite numbers only", f"{value[index].item()} at index {index}")


def require_distribution(argument: str, value: Tensor) -> None:
    """`value` must be non-negative and sum to 1 along its last axis."""
    require_floats(argument, value)
    if value.dim() == 0:
        raise bad_input(argument, "have at least one axis, (..., m)", "a single number")
    sums = value.sum(dim=-1)
    good = (value >= 0).all(dim=-1) & ((sums - 1).abs() < 1e-2)  # half precision is no more exact
    if not good.all():
        index = first_index(~good)
        smallest, total = value[index].min().item(), sums[index].item()
        came = f"a row that sums to {total:.4g} with smallest entry {smallest:.4g}"
        raise bad_input(argument, "be non-negative and sum to 1 along the last axis", came)


def require_mask(argument: str, mask: Tensor, shape: tuple[int, ...]) -> None:
    """`mask` must be boolean, broadcast to the scores' `shape`, and leave every query a key."""
    require_mask_fits(argument, mask, shape)
    require_no_empty_row(argument, mask)


def require_mask_fits(argument: str, mask: Tensor, shape: tuple[int, ...]) -> None:
    """`mask` must be boolean and broadcast to the scores' `shape`; its values are not looked at."""
    require_booleans(argument, mask)
    if mask.dim() < 2 or mask.shape[-1] != shape[-1] or not _broadcasts(tuple(mask.shape), shape):
        must = f"broadcast to the scores' shape {shape}, as a causal (n, n) or a padding (batch, 1, m) mask does"
        raise bad_input(argument, must, shape_of(mask))


def require_booleans(argument: str, mask: Tensor) -> None:
    """`mask` must be a boolean tensor."""
    require_tensor(argument, mask)
    if mask.dtype != torch.bool:
        raise bad_input(argument, "be boolean, True where the query may attend to the key", mask.dtype, TypeError)


def require_combinable(argument: str, masks: list[Tensor]) -> None:
    """The masks must be boolean and broadcast to one shape."""
    for mask in masks:
        require_booleans(argument, mask)
    try:
        torch.broadcast_shapes(*(mask.shape for mask in masks))
    except RuntimeError:
        raise bad_input(argument, "broadcast to one shape", " and ".join(map(shape_of, masks))) from None


def require_no_empty_row(argument: str, mask: Tensor, must: str = "allow every query at least one key") -> None:
    """`mask` must hold a True in every row."""
    empty = ~mask.any(dim=-1)
    if empty.any():
        raise bad_input(argument, must, f"none in row {', '.join(map(str, first_index(empty)))}")


def require_ids(argument: str, ids: Tensor) -> None:
    """`ids` must be whole numbers of shape (batch, m)."""
    require_tensor(argument, ids)
    if ids.is_floating_point() or ids.dtype == torch.bool:
        raise bad_input(argument, "hold whole numbers", ids.dtype, TypeError)
    if ids.dim() != 2:
        raise bad_input(argument, "have shape (batch, m)", shape_of(ids))


def require_tokens(argument: str, ids: Tensor, vocab_size: int) -> None:
    """`ids` must be whole numbers of shape (batch, n), each below `vocab_size`, with at least one position."""
    require_ids(argument, ids)
    if 0 in ids.shape:
        raise bad_input(argument, "hold at least one token in each row", shape_of(ids))
    if ids.device.type == "cpu":  # elsewhere a look at the values would wait for the device, or find none
        low, high = (value.item() for value in ids.aminmax())
        if low < 0 or high >= vocab_size:
            raise bad_input(argument, f"be from 0 to {vocab_size - 1}, as vocab_size says", low if low < 0 else high)


def require_tensor(argument: str, value: Tensor) -> None:
    """`value` must be a torch tensor."""
    if not isinstance(value, Tensor):
        raise bad_input(argument, "be a torch tensor", f"a {type(value).__name__}", TypeError)


def shape_of(value: Tensor) -> str:
    """The shape of `value` in words."""
    return f"shape {tuple(value.shape)}"


def first_index(where: Tensor) -> tuple[int, ...]:
    """The index of the first True."""
    return tuple(where.nonzero()[0].tolist())


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return torch.broadcast_shapes(shape, target) == target
    except RuntimeError:
        return False

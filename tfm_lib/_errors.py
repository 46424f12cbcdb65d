"""Check arguments, and report bad input in a sentence: which argument, what it must be, what was given.

Types, shapes and devices are always checked; values only where they are available, which they are not
during graph capture, on the device "meta" and under `torch.func.vmap`. A mask whose rows have been
checked is remembered until it is written to, however many layers it passes through.
"""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

LARGEST_MASK = 2**33  # bytes
HOLDS: dict[str, tuple[Callable[[Tensor], bool], str]] = {  # what the numbers of a tensor are called → how to tell
    "Float": (Tensor.is_floating_point, "hold floating-point numbers"),
    "Int": (lambda X: not (X.is_floating_point() or X.is_complex() or X.dtype == torch.bool), "hold whole numbers"),
    "Bool": (lambda X: X.dtype == torch.bool, "be boolean"),
    "Mask": (lambda X: X.dtype == torch.bool, "be boolean, True where the query may attend to the key"),
}


def bad_input(argument: str, must: str, got: object, kind: type[Exception] = ValueError) -> Exception:
    """Return the exception "`argument` must `must`; got `got`.", to be raised by the caller."""
    return kind(f"{argument} must {must}; got {got}.")


def require(fits: bool, argument: str, must: str, got: object, kind: type[Exception] = ValueError) -> None:
    """Raise the exception of `bad_input` unless the argument `fits`; not for what runs while a graph is captured."""
    if not fits:
        raise bad_input(argument, must, got, kind)


# numbers, names and other arguments that are not tensors


def require_whole(argument: str, value: int, least: float = -math.inf, must: str = "", most: float = math.inf) -> None:
    """Require a whole number `value` from `least` to `most`; True and False are not numbers."""
    if not _is_whole(value) or (not torch.jit.is_tracing() and not least <= value <= most):
        from_least = "" if least == -math.inf else f" of at least {least}"
        raise bad_input(argument, must or f"be a whole number{from_least}", shown(value))


def require_sizes(least: int = 1, /, **sizes: int) -> None:
    for argument, size in sizes.items():
        require_whole(argument, size, least)


def require_below(argument: str, value: int, vocab_size: int) -> None:
    require_whole(argument, value, 0, f"be an id below vocab_size = {vocab_size}", vocab_size - 1)


def require_number(argument: str, value: float, good: Callable[[float], bool], must: str) -> None:
    """`value` must be a number for which `good` is true; NaN never is."""
    if not isinstance(value, Real) or isinstance(value, bool) or math.isnan(value) or not good(value):
        raise bad_input(argument, must, shown(value))


def require_share(argument: str, value: float, must: str = "be a probability below 1") -> None:
    require_number(argument, value, lambda share: 0 <= share < 1, must)


def require_norm(eps: float, d_model: int = 1) -> None:
    require_sizes(d_model=d_model)
    require_number("eps", eps, lambda eps: eps >= 0, "be a number of at least 0")


def require_model_sizes(config: Any) -> None:
    """The sizes of a Transformer's configuration must be valid and fit each other."""
    sizes = "vocab_size", "d_model", "n_heads", "d_ff", "n_layers", "max_len"
    require_sizes(**{name: getattr(config, name) for name in sizes})
    d_model, n_heads = config.d_model, config.n_heads
    require(d_model % 2 == 0, "d_model", "be even, for positions are pairs of sine and cosine", d_model)
    require(d_model % n_heads == 0, "n_heads", f"divide d_model = {d_model}", n_heads)
    require_choice("norm", config.norm, ("post", "pre"), 'be "post" or "pre"')
    require_share("dropout", config.dropout)
    require_below("pad_id", config.pad_id, config.vocab_size)


def require_layers(**layers: Callable) -> None:
    """Each factory's result must be a layer, and not torch's attention, which takes other arguments."""
    for factory, layer in layers.items():
        require(callable(layer), factory, "return a layer", shown(layer), TypeError)
        ours = not isinstance(layer, torch.nn.MultiheadAttention)
        must = "return a layer that is called as a MultiHeadAttention of this library is"
        require(ours, factory, must, "a torch.nn.MultiheadAttention", TypeError)


def require_table(argument: str, table: Tensor, rows: int, width: int) -> None:
    fits = isinstance(table, Tensor) and table.shape == (rows, width)
    require(fits, argument, f"return a tensor of shape {(rows, width)}", shown(table))


def require_choice(argument: str, value: str, choices: Iterable[str], must: str = "") -> None:
    fits = isinstance(value, str) and value in choices
    require(fits, argument, must or f"be one of {', '.join(choices)}", shown(value))


def require_kind(argument: str, value: object, kind: Any, must: str = "") -> None:
    if not isinstance(value, kind):
        raise bad_input(argument, must or f"be {with_article(kind.__name__)}", shown(value), TypeError)


def require_vocabulary(vocabulary: object) -> None:
    named = all(_is_whole(getattr(vocabulary, f"{name}_id", None)) for name in ("pad", "bos", "eos"))
    require(named, "vocabulary", "name its pad_id, bos_id and eos_id", shown(vocabulary), TypeError)


def require_padding(padded_with: int, pad_id: int) -> None:
    require(padded_with == pad_id, "batches", f"be padded with the model's pad_id = {pad_id}", padded_with)


def require_rate(rate: float, step: int) -> None:
    must = f"return a finite number of at least 0, also for step {step}"
    require_number("lr", rate, lambda rate: 0 <= rate < math.inf, must)


def require_trainable(model: torch.nn.Module) -> None:
    require_kind("model", model, torch.nn.Module)
    padded = _is_whole(getattr(getattr(model, "config", None), "pad_id", None))
    require(padded, "model", "have a config with a pad_id, as a Transformer has", shown(model), TypeError)
    trainable = any(parameter.requires_grad for parameter in model.parameters())
    require(trainable, "model", "have a parameter to train", "none that requires a gradient")


def require_continuations(tokens: Collection, log_p: Collection, n_open: int) -> None:
    """Require ids to continue each open path with, and as many log-probabilities."""
    for argument, rows in {"tokens": tokens, "log_p": log_p}.items():
        require_rows(argument, rows, "be lists, one for each open path")
        require(len(rows) == n_open, argument, f"hold a list for each of the {n_open} open paths", len(rows))
    for ids, numbers in zip(tokens, log_p):
        must = f"hold a number for each of the {len(ids)} tokens of its row"
        require(len(ids) == len(numbers), "log_p", must, len(numbers))
        for i in ids:
            require_whole("each id of tokens", i, 0)
        for number in numbers:  # a sum of probabilities may be rounded to slightly more than 1
            must = "be a log-probability, at most 0"
            require_number("each number of log_p", number, lambda number: number <= 1e-3, must)


def require_ids_in_rows(argument: str, rows: Iterable) -> None:
    require_rows(argument, rows, "be lists of ids, one for each sentence")
    for row in rows:
        for i in row:
            if type(i) is not int:
                require_whole(f"each id of {argument}", i)


def require_examples(argument: str, examples: Collection, least: int = 0) -> None:
    """`examples` must be at least `least` pairs `src` and `tgt` of lists of ids."""
    require_rows(argument, examples, "be pairs of lists of ids")
    require(len(examples) >= least, argument, "hold at least one example", "none")
    for example in examples:
        if not (hasattr(example, "src") and hasattr(example, "tgt")):
            raise bad_input(f"each of {argument}", "be an Example(src, tgt)", shown(example), TypeError)
        for side in (example.src, example.tgt):
            if not _is_sequence(side):
                raise bad_input(f"both sides of {argument}", "be lists of ids", shown(side), TypeError)


def require_words(argument: str, words: Iterable[str]) -> None:
    """`words` must be a sequence of strings; a string counts as one."""
    require_kind(argument, words, Sequence, "be a sequence of words")
    for word in words:
        require_kind(f"each of {argument}", word, str, "be a string")


def require_rows(argument: str, rows: Iterable, must: str) -> None:
    """`rows` must be a sequence of sequences, `must` says of what; strings and numbers are not allowed as rows."""
    if not _is_sequence(rows) or not all(map(_is_sequence, rows)):
        raise bad_input(argument, must, shown(rows), TypeError)


def require_texts(argument: str, texts: Iterable[str]) -> None:
    """`texts` must be a list of strings; a single string would be read as its letters."""
    require(_is_sequence(texts), argument, "be a list of strings", shown(texts), TypeError)
    require_words(argument, texts)


def require_merges(merges: Iterable[tuple[str, str]]) -> None:
    pairs: Iterable[Any] = merges if _is_sequence(merges) else [merges]
    for merge in pairs:
        if not (_is_sequence(merge) and len(merge) == 2 and all(isinstance(piece, str) for piece in merge)):
            raise bad_input("merges", "be pairs of pieces, as learn_merges gives them", shown(merge), TypeError)


def require_counts(argument: str, counts: dict[str, int]) -> None:
    require_kind(argument, counts, dict, "be a dictionary from words to their counts")
    for word, count in counts.items():
        require_kind(f"each word of {argument}", word, str, "be a string")
        require_whole(f"each count of {argument}", count, 1)


def require_path(argument: str, path: Path | str) -> None:
    require_kind(argument, path, (str, Path), "be a path")


# tensors, by type, shape and device


def require_tensor(argument: str, X: Tensor, numbers: str) -> None:
    """`X` must be a tensor of these `numbers`, a key of `HOLDS`."""
    require_kind(argument, X, Tensor, "be a torch tensor")
    fits, must = HOLDS[numbers]
    if not fits(X):
        raise bad_input(argument, must, X.dtype, TypeError)


def require_ids(argument: str, ids: Tensor) -> None:
    require_tensor(argument, ids, "Int")
    require(ids.dim() == 2, argument, "have shape (batch, m)", shape_of(ids))


def require_device(argument: str, value: Tensor, other: Tensor, of: str) -> None:
    """`value` must be on the device of `other`, which the message calls `of`."""
    if value.device != other.device:
        raise bad_input(argument, f"be on the device of {of}, {other.device}", value.device)


def require_dtype(argument: str, value: Tensor, other: Tensor, of: str) -> None:
    """`value` must have the dtype of `other`, which the message calls `of`."""
    if value.dtype != other.dtype and not torch.is_autocast_enabled(value.device.type):
        raise bad_input(argument, f"have the dtype of {of}, {other.dtype}", value.dtype, TypeError)


def require_heads(n_heads: int, width: int) -> None:
    require_sizes(d_model=width)
    if not _is_whole(n_heads) or n_heads < 1 or width % n_heads:
        raise bad_input("n_heads", f"be a whole number of at least 1 that divides the width {width}", shown(n_heads))


def require_logits_of(logits: Tensor, batch: int) -> None:
    fits = isinstance(logits, Tensor) and logits.dim() == 3 and len(logits) == batch
    require(
        fits, "step", f"return logits of shape (batch, n, v) with a row for each of the {batch} sources", shown(logits)
    )


def require_room(end: int, max_len: int) -> None:
    if end > max_len:
        raise bad_input("ids", f"end before position max_len = {max_len}", f"{end} positions")


def require_caches(caches: Sequence, n_layers: int, each: str) -> None:
    require_kind("caches", caches, list, f"be a list with {each} for each layer")
    require(len(caches) == n_layers, "caches", f"hold {each} for each of the {n_layers} layers", len(caches))


def require_column(argument: str, ids: Tensor, written: Tensor) -> None:
    """`ids` must hold one id for each row of `written`, on the same device."""
    must = f"have shape {(len(written), 1)}, the newest token of each row"
    require(len(ids) == len(written), argument, must, shape_of(ids))
    require_device(argument, ids, written, "the sources")


def require_state(state: Tensor | tuple[Tensor, Tensor], rnn: torch.nn.RNNBase, batch: int) -> None:
    """`state` must be a state of `rnn`: a tensor or, for an LSTM, two."""
    weight: Any = rnn.weight_hh_l0
    parts = state if isinstance(state, tuple) else (state,)
    count, tensors = (2, "two tensors") if rnn.mode == "LSTM" else (1, "one tensor")
    fits = len(parts) == count and all(isinstance(part, Tensor) for part in parts)
    require(fits, "state", f"be {tensors}, as encode gives it", shown(state), TypeError)
    for part in parts:
        shape = (1, batch, rnn.hidden_size)
        require(part.shape == shape, "state", f"have shape {shape}", shape_of(part))
        require_device("state", part, weight, "the weights")
        require_dtype("state", part, weight, "the weights")


def require_one_sequence(argument: str, x: Tensor) -> None:
    require(x.shape[:-2] in ((), (1,)), argument, "be one sequence, (n, d) or (1, n, d)", shape_of(x))


def require_one_vector_a_position(argument: str, output: Tensor, x: Tensor) -> None:
    fits = output.dim() == x.dim() and output.shape[:-1] == x.shape[:-1]
    require(fits, argument, f"return one vector for each of the {x.shape[-2]} positions", shape_of(output))


def require_slopes(argument: str, function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Return `function(x)`, which must be one tensor through which a gradient flows back to `x`."""
    with torch.enable_grad():
        given = x.detach().requires_grad_()
        output = function(given)
        require_kind(argument, output, Tensor, "return one tensor, such as output of (output, weights)")
        led = output.requires_grad and torch.autograd.grad(output.sum(), given, allow_unused=True)[0] is not None
    must = "let the gradient through to its input, without detach, no_grad or a way through NumPy"
    require(led, argument, must, "an output that has no gradient")
    return output


# tensors, by the numbers in them


def require_between(argument: str, numbers: Tensor, least: float, most: float, must: str) -> None:
    """The whole `numbers` must be from `least` to `most`; there may be none."""
    found = _numbers(numbers, lambda numbers: torch.stack(numbers.aminmax()))
    if found and not least <= found[0] <= found[1] <= most:
        raise bad_input(argument, must, found[0] if found[0] < least else found[1])


def require_range(argument: str, ids: Tensor, vocab_size: int) -> None:
    require_between(argument, ids, 0, vocab_size - 1, f"be from 0 to {vocab_size - 1}, as vocab_size says")


def require_rows_of(argument: str, rows: Tensor, batch: int) -> None:
    require_between(argument, rows, -batch, batch - 1, f"be rows of the batch, below {batch}")


def require_buckets(r: Tensor, n_buckets: int, max_distance: int) -> None:
    """Distances must be at least 0, and the buckets must reach farther than one distance per bucket."""
    require_between("r", r, 0, math.inf, "hold distances of at least 0")
    require_whole("n_buckets", n_buckets, 2)
    require_whole("max_distance", max_distance, n_buckets // 2 + 1)


def require_pad_id(ids: Tensor, pad_id: int) -> None:
    """`pad_id` must be a whole number in the range of the dtype of `ids`; otherwise it would be read as another id."""
    require_whole("pad_id", pad_id)
    kind = torch.iinfo(ids.dtype)
    require_whole("pad_id", pad_id, kind.min, f"be a number that {ids.dtype} can hold, as ids are", kind.max)


def require_tokens(argument: str, ids: Tensor, weight: Tensor) -> None:
    """`ids` must be integers that index rows of `weight`, at least one per row of the batch; it may be empty."""
    if ids.dtype not in (torch.int64, torch.int32):
        raise bad_input(argument, "be of type torch.int64 or torch.int32", ids.dtype, TypeError)
    if 0 in (ids.shape[1:] or ids.shape):
        raise bad_input(argument, "hold at least one token in each row", shape_of(ids))
    if ids.device.type == "cpu":  # on other devices a look at the values would wait for the device
        require_range(argument, ids, len(weight))


def require_targets(logits: Tensor, targets: Tensor, pad_id: int, argument: str = "targets") -> None:
    """The targets must be ids below the width of `logits`; at least one must not be padding."""
    require_whole("pad_id", pad_id)
    if targets.device.type == "cpu":
        require_range(argument, targets.masked_fill(targets == pad_id, 0), logits.shape[-1])
    if _numbers(targets, lambda targets: (targets != pad_id).any()) is False:
        raise bad_input(argument, "hold a token that is not padding", f"nothing but pad_id = {pad_id}")


def require_temperature(temperature: float, logits: Tensor) -> None:
    """`logits` / `temperature` must be finite at the largest logit."""
    best = logits.amax(dim=-1)
    if _numbers(best, lambda best: (best.isfinite() & ~(best / temperature).isfinite()).any()):
        must = f"leave logits / temperature finite in {logits.dtype}; greedy_decode is the limit of small ones"
        raise bad_input("temperature", must, temperature)


def require_chances(p: Tensor, logits: Tensor) -> None:
    """The result `p` of the function `chances` for `logits` must be as many distributions."""
    fits = isinstance(p, Tensor) and p.shape == logits.shape and p.is_floating_point()
    require(fits, "chances", f"return probabilities of {shape_of(logits)}, that of the logits", shown(p), TypeError)
    require_distribution("what chances returns", p)


def require_a_loss(loss: Tensor) -> None:
    if _numbers(loss, torch.isnan):
        raise bad_input("logits", "hold no NaN and in each row a finite number", "a loss that is NaN")


def require_no_nan(argument: str, value: Tensor) -> None:
    """`value` must not contain NaN; infinite numbers are allowed."""
    if _numbers(value, lambda value: value.isnan().any()):
        raise bad_input(argument, "hold no NaN", f"one at index {first_index(value.isnan())}")


def require_no_padding_first(first: Tensor, start: int, pad_id: int) -> None:
    """The `first` column of ids must not hold padding, if the caches are empty."""
    if start == 0 and _numbers(first, lambda first: (first == pad_id).any()):
        row = first_index(first == pad_id)[0]
        raise bad_input("ids", "begin with a token in every row, padding stands at the end", f"padding in row {row}")


def require_cache(cache: Any, query: Tensor, key: Tensor) -> None:
    """A `cache`, if there is one, must hold as many sentences as `query`; that of a memory must hold `key`."""
    if cache is None:
        return
    if cache.K is not None and cache.K.shape[0] != query.shape[0]:
        must = f"hold as many sentences as query, {len(query)}; a new batch needs a new one"
        raise bad_input("cache", must, len(cache.K))
    if not hasattr(cache, "memory"):
        return
    must = "hold the memory that key is; another memory needs a new one"
    if cache.K is not None and cache.K.shape[-2] != key.shape[1]:
        raise bad_input("cache", must, f"a memory of {cache.K.shape[-2]} positions where key has {key.shape[1]}")
    if not _can_be_seen(key):
        return
    another = cache.K is not None and cache.memory is not None and cache.memory is not key
    if another and _numbers(key, lambda key: (key == cache.memory).all()) is False:
        raise bad_input("cache", must, "a memory with other numbers")
    cache.memory = key


def require_values(**tensors: Tensor | None) -> None:
    """Floats must be finite, and a mask must leave every query a key; a tensor passed twice is checked once."""
    looked: list[Tensor] = []
    for argument, X in tensors.items():
        if X is None or any(X is other for other in looked):
            continue
        if X.dtype == torch.bool:
            require_no_empty_row(argument, X)
        else:
            require_finite(argument, X, once=len(looked) > 0)  # keys may be a memory, which every layer reads
        looked.append(X)


def require_finite(argument: str, value: Tensor, once: bool = False) -> None:
    """No number in `value` may be NaN or infinite; with `once`, a `value` seen before is not checked again.

    A finite sum proves that all numbers are finite, and costs one pass without a second tensor; a sum that is
    not finite may have overflowed, and then every number is checked.
    """
    if not _holds(value, lambda value: math.isfinite(value.sum()) or value.isfinite().all(), once):
        index = first_index(~value.isfinite())
        raise bad_input(argument, "hold finite numbers only", f"{value[index].item()} at index {index}")


def require_distribution(argument: str, value: Tensor) -> None:
    """`value` must be non-negative and sum to 1 along its last axis."""
    require_finite(argument, value)
    good = (value >= 0).all(dim=-1) & ((value.sum(dim=-1) - 1).abs() < 1e-2)  # half precision is no more exact
    if _numbers(good, torch.all) is False:
        row = value[first_index(~good)]
        came = f"a row that sums to {row.sum().item():.4g} with smallest entry {row.min().item():.4g}"
        raise bad_input(argument, "be non-negative and sum to 1 along the last axis", came)


# masks


def require_mask_size(n: int) -> None:
    """`n` must be a whole number of at least 1 whose n × n mask fits in memory."""
    require_whole("n", n, 1)
    if torch.compiler.is_compiling() or torch.jit.is_tracing() or torch.get_default_device().type == "meta":
        return
    must = f"be at most {math.isqrt(LARGEST_MASK)}, for an n × n mask to be held"
    require(n * n <= LARGEST_MASK, "n", must, f"{n}, which takes {n * n / 1e9:.0f} GB")


def require_combinable(argument: str, masks: list[Tensor]) -> None:
    """The masks must be boolean, on one device, and broadcast to one shape."""
    for mask in masks:
        require_tensor(argument, mask, "Mask")
        if mask.device != masks[0].device:
            raise bad_input(argument, "be on one device", f"{masks[0].device} and {mask.device}")
    try:
        torch.broadcast_shapes(*(mask.shape for mask in masks))
    except RuntimeError:
        raise bad_input(argument, "broadcast to one shape", " and ".join(map(shape_of, masks))) from None


def require_no_empty_row(argument: str, mask: Tensor, must: str = "allow every query at least one key") -> None:
    """`mask` must hold a True in every row."""
    if not _holds(mask, lambda mask: mask.any(dim=-1).all()):
        raise bad_input(argument, must, f"none in row {', '.join(map(str, first_index(~mask.any(dim=-1))))}")


# what the numbers of a tensor say, where they can be read

_seen: WeakIdKeyDictionary = WeakIdKeyDictionary()  # tensor → the looks at it that found nothing wrong


def _holds(value: Tensor, question: Callable[[Tensor], Any], once: bool = True) -> bool:
    """Return whether `question(value)` is true or cannot be asked; with `once`, remember what was true.

    A look is the view and version of `value`: number of writes, memory range and rows. Axes of size 1 make no
    difference: a mask with an axis for the heads is the same mask.
    """
    if not once or not _can_be_seen(value) or value.is_inference():
        return _numbers(value, question) is not False
    axes = tuple((size, step) for size, step in zip(value.shape, value.stride()) if size != 1)
    look = value._version, value.storage_offset(), value.shape[-1:], axes
    owner = value if value._base is None else value._base
    looks = _seen.get(owner, set())
    if look in looks:
        return True
    answer = _numbers(value, question)
    if answer:
        _seen[owner] = {look, *(other for other in looks if other[0] == look[0])}  # drop older versions
    return answer is not False


def _can_be_seen(value: Tensor) -> bool:
    """Return whether the numbers of `value` can be read: not in graph capture, and not on the device "meta"."""
    return not (torch.compiler.is_compiling() or torch.jit.is_tracing() or value.is_meta)


def _numbers(value: Tensor, question: Callable[[Tensor], Any]) -> Any:
    """Return `question(value)` as Python numbers; None where they cannot be read."""
    if not _can_be_seen(value):
        return None
    try:
        answer = question(value.detach())
        return answer.tolist() if isinstance(answer, Tensor) else answer
    except RuntimeError:  # under vmap one value stands for many, which have no common answer; no value has no least
        return None


# messages


def shape_of(value: Tensor) -> str:
    return f"shape {tuple(int(size) for size in value.shape)}"


def shown(value: object) -> str:
    """Describe `value` in a few words: short values by their repr, others by their type."""
    if isinstance(value, Tensor):
        return f"a tensor of {shape_of(value)}"
    written = repr(value) if value is None or isinstance(value, (str, Real)) else ""
    return written if 0 < len(written) <= 60 else with_article(type(value).__name__)


def first_index(where: Tensor) -> tuple[int, ...]:
    """Return the index of the first True."""
    return tuple(where.nonzero()[0].tolist())


def with_article(noun: str) -> str:
    return f"an {noun}" if noun[:1].lower() in "aeio" else f"a {noun}"


def _is_whole(value: object) -> bool:
    """Return whether `value` is a whole number, or stands for one during graph capture."""
    if isinstance(value, Tensor):
        return torch.jit.is_tracing() and value.dim() == 0 and not value.is_floating_point()
    return isinstance(value, (int, torch.SymInt, Integral)) and not isinstance(value, bool)


def _is_sequence(value: object) -> bool:
    listed = hasattr(value, "__len__") and hasattr(value, "__getitem__")
    return listed and not isinstance(value, (str, bytes, dict, Tensor))

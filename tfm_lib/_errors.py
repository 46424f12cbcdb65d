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


def bad_input(argument: str, must: str, got: object, kind: type[Exception] = ValueError) -> Exception:
    """Return the exception "`argument` must `must`; got `got`.", to be raised by the caller."""
    return kind(f"{argument} must {must}; got {got}.")


# numbers, names and other arguments that are not tensors


def require_whole(argument: str, value: int, least: float = -math.inf, must: str = "", most: float = math.inf) -> None:
    """Require a whole number `value` from `least` to `most`; True and False are not numbers."""
    if not _is_whole(value) or (not torch.jit.is_tracing() and not least <= value <= most):
        from_least = "" if least == -math.inf else f" of at least {least}"
        raise bad_input(argument, must or f"be a whole number{from_least}", shown(value))


def require_sizes(**sizes: int) -> None:
    """Each of the `sizes` must be a whole number of at least 1."""
    for argument, size in sizes.items():
        require_whole(argument, size, 1)


def require_token_ids(**tokens: int) -> None:
    """Each of the `tokens` must be a whole number of at least 0."""
    for argument, token in tokens.items():
        require_whole(argument, token, 0)


def require_below(argument: str, value: int, vocab_size: int) -> None:
    """`value` must be an id of a vocabulary of this size."""
    require_whole(argument, value, 0, f"be an id below vocab_size = {vocab_size}", vocab_size - 1)


def require_number(argument: str, value: float, good: Callable[[float], bool], must: str) -> None:
    """`value` must be a number for which `good` is true; NaN never is."""
    if not isinstance(value, Real) or isinstance(value, bool) or math.isnan(value) or not good(value):
        raise bad_input(argument, must, shown(value))


def require_share(argument: str, value: float, must: str = "be a probability below 1") -> None:
    """`value` must be at least 0 and below 1."""
    require_number(argument, value, lambda share: 0 <= share < 1, must)


def require_norm(eps: float, d_model: int = 1) -> None:
    """Check the arguments of a norm."""
    require_sizes(d_model=d_model)
    require_number("eps", eps, lambda eps: eps >= 0, "be a number of at least 0")


def require_model_sizes(config: Any) -> None:
    """The sizes of a Transformer's configuration must be valid and fit each other."""
    sizes = "vocab_size", "d_model", "n_heads", "d_ff", "n_layers", "max_len"
    require_sizes(**{name: getattr(config, name) for name in sizes})
    if config.d_model % 2:
        raise bad_input("d_model", "be even, for positions are pairs of sine and cosine", config.d_model)
    if config.d_model % config.n_heads:
        raise bad_input("n_heads", f"divide d_model = {config.d_model}", config.n_heads)
    require_choice("norm", config.norm, ("post", "pre"), 'be "post" or "pre"')
    require_share("dropout", config.dropout)
    require_below("pad_id", config.pad_id, config.vocab_size)


def require_temperature(temperature: float, logits: Tensor) -> None:
    """`logits` / `temperature` must be finite at the largest logit."""

    def too_large(logits: Tensor) -> Tensor:
        best = logits.amax(dim=-1)
        return (best.isfinite() & ~(best / temperature).isfinite()).any()

    if _numbers(logits, too_large):
        must = f"leave logits / temperature finite in {logits.dtype}; greedy_decode is the limit of small ones"
        raise bad_input("temperature", must, temperature)


def require_chances(p: Tensor, logits: Tensor) -> None:
    """The result `p` of the function `chances` for `logits` must be as many distributions."""
    if not isinstance(p, Tensor) or p.shape != logits.shape or not p.is_floating_point():
        must = f"return probabilities of {shape_of(logits)}, that of the logits"
        raise bad_input("chances", must, shown(p), TypeError)
    require_distribution("what chances returns", p)


def require_layers(**layers: Callable) -> None:
    """Each factory's result must be a layer, and not torch's attention, which takes other arguments."""
    for factory, layer in layers.items():
        if not callable(layer):
            raise bad_input(factory, "return a layer", shown(layer), TypeError)
        if isinstance(layer, torch.nn.MultiheadAttention):
            must = "return a layer that is called as a MultiHeadAttention of this library is"
            raise bad_input(factory, must, "a torch.nn.MultiheadAttention", TypeError)


def require_table(argument: str, table: Tensor, rows: int, width: int) -> None:
    """The function `argument` must have returned a tensor of shape (rows, width)."""
    if not isinstance(table, Tensor) or table.shape != (rows, width):
        raise bad_input(argument, f"return a tensor of shape {(rows, width)}", shown(table))


def require_choice(argument: str, value: str, choices: Iterable[str], must: str = "") -> None:
    """`value` must be one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise bad_input(argument, must or f"be one of {', '.join(choices)}", shown(value))


def require_kind(argument: str, value: object, kind: Any, must: str = "") -> None:
    """`value` must be an instance of `kind`."""
    if not isinstance(value, kind):
        raise bad_input(argument, must or f"be {with_article(kind.__name__)}", shown(value), TypeError)


def require_vocabulary(vocabulary: object) -> None:
    """`vocabulary` must name the special ids, as a Tokenizer does."""
    ids = [getattr(vocabulary, f"{name}_id", None) for name in ("pad", "bos", "eos")]
    if not all(map(_is_whole, ids)):
        raise bad_input("vocabulary", "name its pad_id, bos_id and eos_id", shown(vocabulary), TypeError)


def require_padding(padded_with: int, pad_id: int) -> None:
    """The padding id of batches must be the model's padding id."""
    if padded_with != pad_id:
        raise bad_input("batches", f"be padded with the model's pad_id = {pad_id}", padded_with)


def require_rate(rate: float, step: int) -> None:
    """The `rate` that `lr` returned for update number `step` must be a learning rate."""
    must = f"return a finite number of at least 0, also for step {step}"
    require_number("lr", rate, lambda rate: 0 <= rate < math.inf, must)


def require_trainable(model: torch.nn.Module) -> None:
    """`model` must define its padding id, and have a parameter to train."""
    require_kind("model", model, torch.nn.Module)
    if not _is_whole(getattr(getattr(model, "config", None), "pad_id", None)):
        raise bad_input("model", "have a config with a pad_id, as a Transformer has", shown(model), TypeError)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise bad_input("model", "have a parameter to train", "none that requires a gradient")


def require_continuations(tokens: Collection, log_p: Collection, n_open: int) -> None:
    """Require ids to continue each open path with, and as many log-probabilities."""
    for argument, rows in {"tokens": tokens, "log_p": log_p}.items():
        require_rows(argument, rows, "be lists, one for each open path")
        if len(rows) != n_open:
            raise bad_input(argument, f"hold a list for each of the {n_open} open paths", len(rows))
    for ids, numbers in zip(tokens, log_p):
        if len(ids) != len(numbers):
            raise bad_input("log_p", f"hold a number for each of the {len(ids)} tokens of its row", len(numbers))
        for i in ids:
            require_whole("each id of tokens", i, 0)
        for number in numbers:  # a sum of probabilities may be rounded to slightly more than 1
            must = "be a log-probability, at most 0"
            require_number("each number of log_p", number, lambda number: number <= 1e-3, must)


def require_ids_in_rows(argument: str, rows: Iterable) -> None:
    """`rows` must be lists of whole numbers."""
    require_rows(argument, rows, "be lists of ids, one for each sentence")
    for row in rows:
        if not all(type(i) is int or _is_whole(i) for i in row):
            raise bad_input(
                f"each id of {argument}", "be a whole number", shown(next(i for i in row if not _is_whole(i)))
            )


def require_examples(argument: str, examples: Collection, least: int = 0) -> None:
    """`examples` must be at least `least` pairs `src` and `tgt` of lists of ids."""
    require_rows(argument, examples, "be pairs of lists of ids")
    if len(examples) < least:
        raise bad_input(argument, "hold at least one example", "none")
    for example in examples:
        if not (hasattr(example, "src") and hasattr(example, "tgt")):
            raise bad_input(f"each of {argument}", "be an Example(src, tgt)", shown(example), TypeError)
        for side in (example.src, example.tgt):
            if not _is_sequence(side):
                raise bad_input(f"both sides of {argument}", "be lists of ids", shown(side), TypeError)


def require_words(argument: str, words: Iterable[str]) -> None:
    """`words` must be a sequence of strings; a string counts as one."""
    require_kind(argument, words, Sequence, "be a sequence of words")
    for word in () if isinstance(words, str) else words:
        require_kind(f"each of {argument}", word, str, "be a string")


def require_rows(argument: str, rows: Iterable, must: str) -> None:
    """`rows` must be a sequence of sequences, `must` says of what; strings and numbers are not allowed as rows."""
    if not _is_sequence(rows) or not all(_is_sequence(row) for row in rows):
        raise bad_input(argument, must, shown(rows), TypeError)


def require_texts(argument: str, texts: Iterable[str]) -> None:
    """`texts` must be a list of strings; a single string would be read as its letters."""
    if not _is_sequence(texts):
        raise bad_input(argument, "be a list of strings", shown(texts), TypeError)
    for text in texts:
        require_kind(f"each of {argument}", text, str, "be a string")


def require_merges(merges: Iterable[tuple[str, str]]) -> None:
    """`merges` must be pairs of pieces, as `learn_merges` gives them."""
    pairs: Iterable[Any] = merges if _is_sequence(merges) else [merges]
    for merge in pairs:
        pair = _is_sequence(merge) and len(merge) == 2
        if not pair or not all(isinstance(piece, str) for piece in merge):
            raise bad_input("merges", "be pairs of pieces, as learn_merges gives them", shown(merge), TypeError)


def require_counts(argument: str, counts: dict[str, int]) -> None:
    """`counts` must be a dictionary from words to whole numbers of at least 1."""
    require_kind(argument, counts, dict, "be a dictionary from words to their counts")
    for word, count in counts.items():
        require_kind(f"each word of {argument}", word, str, "be a string")
        require_whole(f"each count of {argument}", count, 1)


def require_path(argument: str, path: Path | str) -> None:
    """`path` must name a place on disk."""
    require_kind(argument, path, (str, Path), "be a path")


# tensors, by content


def require_like(argument: str, value: Tensor, other: Tensor, of: str) -> None:
    """`value` must have the dtype and the device of `other`, which the message calls `of`."""
    if value.device != other.device:
        raise bad_input(argument, f"be on the device of {of}, {other.device}", value.device)
    if value.dtype != other.dtype and not torch.is_autocast_enabled(value.device.type):
        raise bad_input(argument, f"have the dtype of {of}, {other.dtype}", value.dtype, TypeError)


def require_heads(n_heads: int, width: int) -> None:
    """`n_heads` must be a whole number of at least 1 that divides the vectors' `width`."""
    require_sizes(d_model=width)
    if not _is_whole(n_heads) or n_heads < 1 or width % n_heads:
        raise bad_input("n_heads", f"be a whole number of at least 1 that divides the width {width}", shown(n_heads))


def require_cache(cache: Any, query: Tensor, key: Tensor) -> None:
    """A `cache`, if there is one, must hold as many sentences as `query`; that of a memory must hold `key`."""
    if cache is None:
        return
    if cache.K is not None and cache.K.shape[0] != query.shape[0]:
        must = f"hold as many sentences as query, {len(query)}; a new batch needs a new one"
        raise bad_input("cache", must, len(cache.K))
    if hasattr(cache, "memory"):
        _require_same_memory(cache, key)


def _require_same_memory(cache: Any, key: Tensor) -> None:
    """A cache of a memory must have been filled from `key`; remember `key` where values can be read."""
    must = "hold the memory that key is; another memory needs a new one"
    if cache.K is not None and cache.K.shape[-2] != key.shape[1]:
        raise bad_input("cache", must, f"a memory of {cache.K.shape[-2]} positions where key has {key.shape[1]}")
    if not _can_be_seen(key):
        return
    another = cache.K is not None and cache.memory is not None and cache.memory is not key
    if another and _numbers(key, lambda key: (key == cache.memory).all()) is False:
        raise bad_input("cache", must, "a memory with other numbers")
    cache.memory = key


def require_buckets(r: Tensor, n_buckets: int, max_distance: int) -> None:
    """Distances must be at least 0, and the buckets must reach farther than one distance per bucket."""
    if r.numel() and (least := _numbers(r, torch.min)) is not None and least < 0:
        raise bad_input("r", "hold distances of at least 0", least)
    require_whole("n_buckets", n_buckets, 2)
    require_whole("max_distance", max_distance, n_buckets // 2 + 1)


def require_pad_id(ids: Tensor, pad_id: int) -> None:
    """`pad_id` must be a whole number in the range of the dtype of `ids`; otherwise it would be read as another id."""
    require_whole("pad_id", pad_id)
    kind = torch.iinfo(ids.dtype)
    if not torch.jit.is_tracing() and not kind.min <= pad_id <= kind.max:
        raise bad_input("pad_id", f"be a number that {ids.dtype} can hold, as ids are", pad_id)


def require_tokens(argument: str, ids: Tensor, weight: Tensor) -> None:
    """`ids` must be integers that index rows of `weight`, at least one per row of the batch; it may be empty."""
    if ids.dtype not in (torch.int64, torch.int32):
        raise bad_input(argument, "be of type torch.int64 or torch.int32", ids.dtype, TypeError)
    if 0 in (ids.shape[1:] or ids.shape):
        raise bad_input(argument, "hold at least one token in each row", shape_of(ids))
    if ids.numel() and ids.device.type == "cpu":  # on other devices a look at the values would wait for the device
        require_range(argument, ids, len(weight))


def require_range(argument: str, ids: Tensor, vocab_size: int) -> None:
    """`ids` must be from 0 to `vocab_size` − 1."""
    least_and_most = _numbers(ids, lambda ids: torch.stack(ids.aminmax()))
    if least_and_most is None:
        return
    low, high = least_and_most
    if low < 0 or high >= vocab_size:
        raise bad_input(argument, f"be from 0 to {vocab_size - 1}, as vocab_size says", low if low < 0 else high)


def require_targets(logits: Tensor, targets: Tensor, pad_id: int, argument: str = "targets") -> None:
    """The targets must be ids below the width of `logits`; at least one must not be padding."""
    require_whole("pad_id", pad_id)
    if targets.device.type == "cpu" and targets.numel():
        require_range(argument, targets.masked_fill(targets == pad_id, 0), logits.shape[-1])
    if _numbers(targets, lambda targets: (targets != pad_id).any()) is False:
        raise bad_input(argument, "hold a token that is not padding", f"nothing but pad_id = {pad_id}")


def require_a_loss(loss: Tensor) -> None:
    """The `loss` must not be NaN."""
    if _numbers(loss, torch.isnan):
        raise bad_input("logits", "hold no NaN and in each row a finite number", "a loss that is NaN")


def require_no_nan(argument: str, value: Tensor) -> None:
    """`value` must not contain NaN; infinite numbers are allowed."""
    if _numbers(value, lambda value: value.isnan().any()):
        raise bad_input(argument, "hold no NaN", f"one at index {first_index(value.isnan())}")


def require_logits_of(logits: Tensor, batch: int) -> None:
    """`step` must return logits (batch, n, v) for this `batch`."""
    if not isinstance(logits, Tensor) or logits.dim() != 3 or len(logits) != batch:
        raise bad_input(
            "step", f"return logits of shape (batch, n, v) with a row for each of the {batch} sources", shown(logits)
        )


def require_rows_of(argument: str, rows: Tensor, batch: int) -> None:
    """`rows` must be valid row indices of a batch."""
    found = rows.numel() and _numbers(rows, lambda rows: torch.stack(rows.aminmax()))
    if found and (found[0] < -batch or found[1] >= batch):
        raise bad_input(argument, f"be rows of the batch, below {batch}", found[1] if found[1] >= batch else found[0])


def require_room(end: int, max_len: int) -> None:
    """The ids must end within the model's `max_len` positions."""
    if end > max_len:
        raise bad_input("ids", f"end before position max_len = {max_len}", f"{end} positions")


def require_caches(caches: Sequence, n_layers: int, each: str) -> None:
    """`caches` must be a list with one for each layer."""
    require_kind("caches", caches, list, f"be a list with {each} for each layer")
    if len(caches) != n_layers:
        raise bad_input("caches", f"hold {each} for each of the {n_layers} layers", len(caches))


def require_no_padding_first(first: Tensor, start: int, pad_id: int) -> None:
    """The `first` column of ids must not hold padding, if the caches are empty."""
    if start == 0 and _numbers(first, lambda first: (first == pad_id).any()):
        row = first_index(first == pad_id)[0]
        raise bad_input("ids", "begin with a token in every row, padding stands at the end", f"padding in row {row}")


def require_column(argument: str, ids: Tensor, written: Tensor) -> None:
    """`ids` must hold one id for each row of `written`, on the same device."""
    if len(ids) != len(written):
        raise bad_input(argument, f"have shape {(len(written), 1)}, the newest token of each row", shape_of(ids))
    if ids.device != written.device:
        raise bad_input(argument, f"be on the device of the sources, {written.device}", ids.device)


def require_state(state: Tensor | tuple[Tensor, Tensor], rnn: torch.nn.RNNBase, batch: int) -> None:
    """`state` must be a state of `rnn`: a tensor or, for an LSTM, two."""
    pair = rnn.mode == "LSTM"
    weight: Any = rnn.weight_hh_l0
    parts = state if isinstance(state, tuple) else (state,)
    if len(parts) != 1 + pair or not all(isinstance(part, Tensor) for part in parts):
        raise bad_input(
            "state", f"be {'two tensors' if pair else 'one tensor'}, as encode gives it", shown(state), TypeError
        )
    for part in parts:
        if tuple(part.shape) != (1, batch, rnn.hidden_size):
            raise bad_input("state", f"have shape {(1, batch, rnn.hidden_size)}", shape_of(part))
        require_like("state", part, weight, "the weights")


def require_one_sequence(argument: str, x: Tensor) -> None:
    """`x` must be of shape (n, d) or (1, n, d)."""
    if x.shape[:-2] not in ((), (1,)):
        raise bad_input(argument, "be one sequence, (n, d) or (1, n, d)", shape_of(x))


def require_one_vector_a_position(argument: str, output: Tensor, x: Tensor) -> None:
    """The function `argument` must return one tensor with a vector for each position of `x`."""
    if not isinstance(output, Tensor):
        must = "return one tensor, such as output of (output, weights)"
        raise bad_input(argument, must, f"a {type(output).__name__}", TypeError)
    if output.dim() != x.dim() or output.shape[:-1] != x.shape[:-1]:
        raise bad_input(argument, f"return one vector for each of the {x.shape[-2]} positions", shape_of(output))


def require_slopes(argument: str, function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Return `function(x)`, which must be one tensor through which a gradient flows back to `x`."""
    with torch.enable_grad():
        given = x.detach().requires_grad_()
        output = function(given)
        if not isinstance(output, Tensor):
            must = "return one tensor, such as output of (output, weights)"
            raise bad_input(argument, must, shown(output), TypeError)
        led = output.requires_grad and torch.autograd.grad(output.sum(), given, allow_unused=True)[0] is not None
    if not led:
        must = "let the gradient through to its input, without detach, no_grad or a way through NumPy"
        raise bad_input(argument, must, "an output that has no gradient")
    return output


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
    look = _look(value) if once else None
    if look and _was_seen(value, look):
        return
    total = _numbers(value, Tensor.sum)
    if total is None:
        return
    if not math.isfinite(total):
        finite = value.isfinite()
        if not finite.all():
            index = first_index(~finite)
            raise bad_input(argument, "hold finite numbers only", f"{value[index].item()} at index {index}")
    if look:
        _remember(value, look)


def require_distribution(argument: str, value: Tensor) -> None:
    """`value` must be non-negative and sum to 1 along its last axis."""
    require_finite(argument, value)

    def good_rows(value: Tensor) -> Tensor:
        return (value >= 0).all(dim=-1) & ((value.sum(dim=-1) - 1).abs() < 1e-2)  # half precision is no more exact

    if _numbers(value, lambda value: good_rows(value).all()) is False:
        index = first_index(~good_rows(value))
        smallest, total = value[index].min().item(), value[index].sum().item()
        came = f"a row that sums to {total:.4g} with smallest entry {smallest:.4g}"
        raise bad_input(argument, "be non-negative and sum to 1 along the last axis", came)


# masks


def require_mask_size(n: int) -> None:
    """`n` must be a whole number of at least 1 whose n × n mask fits in memory."""
    require_whole("n", n, 1)
    if torch.compiler.is_compiling() or torch.jit.is_tracing():
        return
    if n * n > LARGEST_MASK and torch.get_default_device().type != "meta":
        most = math.isqrt(LARGEST_MASK)
        raise bad_input(
            "n", f"be at most {most}, for an n × n mask to be held", f"{n}, which takes {n * n / 1e9:.0f} GB"
        )


def require_combinable(argument: str, masks: list[Tensor]) -> None:
    """The masks must be boolean, on one device, and broadcast to one shape."""
    for mask in masks:
        require_booleans(argument, mask)
        if mask.device != masks[0].device:
            raise bad_input(argument, "be on one device", f"{masks[0].device} and {mask.device}")
    try:
        torch.broadcast_shapes(*(mask.shape for mask in masks))
    except RuntimeError:
        raise bad_input(argument, "broadcast to one shape", " and ".join(map(shape_of, masks))) from None


def require_no_empty_row(argument: str, mask: Tensor, must: str = "allow every query at least one key") -> None:
    """`mask` must hold a True in every row."""
    look = _look(mask)
    if look and _was_seen(mask, look):
        return
    full = _numbers(mask, lambda mask: mask.any(dim=-1).all())
    if full is None:
        return
    if not full:
        raise bad_input(argument, must, f"none in row {', '.join(map(str, first_index(~mask.any(dim=-1))))}")
    if look:
        _remember(mask, look)


# tensors that have been checked

_seen: WeakIdKeyDictionary = WeakIdKeyDictionary()  # tensor → the checks that it has passed


def _look(value: Tensor) -> tuple | None:
    """Return a key for the view and version of `value`: memory range, rows, and number of writes; None if unknown.

    Axes of size 1 make no difference: a mask with an axis for the heads is the same mask.
    """
    if not _can_be_seen(value) or value.is_inference():
        return None
    axes = tuple((size, step) for size, step in zip(value.shape, value.stride()) if size != 1)
    return value._version, value.storage_offset(), value.shape[-1:], axes


def _was_seen(value: Tensor, look: tuple) -> bool:
    return look in _seen.get(_owner(value), ())


def _remember(value: Tensor, look: tuple) -> None:
    owner = _owner(value)
    looks = {other for other in _seen.get(owner, ()) if other[0] == look[0]}  # drop older versions
    _seen[owner] = looks | {look}


def _owner(value: Tensor) -> Tensor:
    """Return the tensor that owns the memory of `value`."""
    return value if value._base is None else value._base


def _can_be_seen(value: Tensor) -> bool:
    """Return whether the numbers of `value` can be read: not in graph capture, and not on the device "meta"."""
    return not (torch.compiler.is_compiling() or torch.jit.is_tracing() or value.is_meta)


def _numbers(value: Tensor, question: Callable[[Tensor], Tensor]) -> Any:
    """Return `question(value)` as Python numbers; None where they cannot be read."""
    if not _can_be_seen(value):
        return None
    try:
        return question(value.detach()).tolist()
    except RuntimeError:  # under vmap one value stands for many, which have no common answer
        return None


# messages


def shape_of(value: Tensor) -> str:
    """Describe the shape of `value`."""
    return f"shape {_shape(value)}"


def shown(value: object) -> str:
    """Describe `value` in a few words: short values by their repr, others by their type."""
    if isinstance(value, Tensor):
        return f"a tensor of {shape_of(value)}"
    written = repr(value) if value is None or isinstance(value, (str, Real)) else ""
    return written if 0 < len(written) <= 60 else with_article(type(value).__name__)


def first_index(where: Tensor) -> tuple[int, ...]:
    """Return the index of the first True."""
    return tuple(where.nonzero()[0].tolist())


def _shape(value: Tensor) -> tuple[int, ...]:
    return tuple(int(size) for size in value.shape)


def with_article(noun: str) -> str:
    return f"an {noun}" if noun[:1].lower() in "aeio" else f"a {noun}"


def _is_whole(value: object) -> bool:
    """Return whether `value` is a whole number, or stands for one during graph capture."""
    if isinstance(value, Tensor):
        return torch.jit.is_tracing() and value.dim() == 0 and not value.is_floating_point()
    return isinstance(value, (int, torch.SymInt, Integral)) and not isinstance(value, bool)


def _is_sequence(value: object) -> bool:
    return isinstance(value, (list, tuple)) or (hasattr(value, "__len__") and hasattr(value, "__getitem__")
        and not isinstance(value, (str, bytes, dict, Tensor)))  # fmt: skip


# types and shapes, for functions that are not @checked


def require_callable(**functions: Callable) -> None:
    """Each of the `functions` must be callable."""
    for argument, function in functions.items():
        if not callable(function):
            raise bad_input(argument, "be a function", shown(function), TypeError)


def require_whole_numbers(argument: str, ids: Tensor) -> None:
    """`ids` must be a tensor of whole numbers."""
    require_kind(argument, ids, Tensor, "be a torch tensor")
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise bad_input(argument, "hold whole numbers", ids.dtype, TypeError)


def require_ids(argument: str, ids: Tensor) -> None:
    """`ids` must be whole numbers of shape (batch, m)."""
    require_whole_numbers(argument, ids)
    if ids.dim() != 2:
        raise bad_input(argument, "have shape (batch, m)", shape_of(ids))


def require_booleans(argument: str, mask: Tensor) -> None:
    """`mask` must be a boolean tensor."""
    require_kind(argument, mask, Tensor, "be a torch tensor")
    if mask.dtype != torch.bool:
        raise bad_input(argument, "be boolean, True where the query may attend to the key", mask.dtype, TypeError)

"""Show the attention heads of a loaded model on a sentence, in the book's widget or as a page, and patch one of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tfm_lib._errors import require_kind
from tfm_lib._trace import trace
from tfm_lib.families.folder import Opened
from tfm_lib.families.marian import Marian
from tfm_lib.families.settings import NotSupported
from tfm_lib.transformer import count_parameters

if TYPE_CHECKING:
    from tfm_lib.widgets.multihead import Heads

UNREAD = "The model cannot read the sentence, for its own numbers do not let it:"
MOST = 1_000_000  # attention weights in a page, which stores each as a few characters
DRAWN = 5_000  # attention weights of a layer that are drawn for readers without scripts


def heads(opened: Opened, text: str, target: str | None = None) -> Heads:
    """Return the widget of all heads with every attention weight of the model on `text`.

    A translator also reads `target` or, by default, its own translation, the most probable token at each step. Query i
    of the decoder is then the token that was read when target token i was written.
    """
    require_kind("opened", opened, Opened)
    ids, tokens = opened.encoded(text)
    if not tokens:
        raise NotSupported("The sentence has no tokens: give one with a word in it.")
    if isinstance(opened.model, Marian):
        return _of_translator(opened, opened.model, ids, tokens, target)
    if target is not None:
        raise NotSupported(f"{opened.family.name} reads one text: a target is for a translator.")
    _require_room(opened, len(tokens) ** 2, len(tokens))
    weights = _asked(opened, ids)[0]
    causal = hasattr(opened.model, "caches")
    return _widget({"decoder" if causal else "self": weights}, tokens, tokens, len(tokens) - 1 if causal else 0)


def page(opened: Opened, text: str, folder: Path, target: str | None = None) -> str:
    """Return a self-contained page with the heads on `text`."""
    from tfm_lib.widgets._page import page_of

    widget = heads(opened, text, target)
    n_heads, n, m = (len(widget.weights[widget.kind][0]), *(len(words) for words in widget.tokens))
    title = f"{opened.family.name}: the heads of {folder.resolve().name}"
    return page_of(widget, title, [summary(opened), *opened.notes], still=n_heads * n * m <= DRAWN)


def patched(
    opened: Opened, text: str, other: str, layer: int, head: int, most: int = 5
) -> list[tuple[str, float, float]]:
    """Return the likeliest next tokens after `text`, each with its probability before and after a head is patched.

    At the last token the head, counted from 1 as in the page, gives what it gives at the last token of `other`. The
    tokens are the `most` likeliest before and after.
    """
    require_kind("opened", opened, Opened)
    model, config = opened.model, opened.model.config
    if not hasattr(model, "caches"):
        raise NotSupported(
            f"A head is patched where the next token is predicted, in a GPT-2 or a Llama, not in {opened.family.name}."
        )
    for what, number, count in (("layer", layer, config.n_layers), ("head", head, config.n_heads)):
        if not 1 <= number <= count:
            raise NotSupported(f"There is no {what} {number}: this model's are 1 to {count}.")
    read = {name: opened.encoded(name)[0] for name in (text, other)}
    for ids in read.values():
        if not ids.numel():
            raise NotSupported("A text has no tokens: give one with a word in it.")
        if ids.shape[1] > config.max_len:
            raise NotSupported(f"A text has {ids.shape[1]} tokens, and the model knows {config.max_len} positions.")
    place = f"layers.{layer - 1}.self_attention.heads"

    def change(here: torch.Tensor) -> torch.Tensor:
        width = here.shape[-1] // config.n_heads
        part = slice(width * (head - 1), width * head)
        here[:, -1, part] = seen[place][:, -1, part]
        return here

    try:
        with torch.no_grad():
            before = model(read[text])[0, -1].softmax(dim=-1)
            with trace(model, place) as seen:
                model(read[other])
            with trace(model, "", replace={place: change}):
                after = model(read[text])[0, -1].softmax(dim=-1)
    except ValueError as error:
        raise NotSupported(f"{UNREAD} {error}") from error
    shown = dict.fromkeys([*before.topk(most).indices.tolist(), *after.topk(most).indices.tolist()])
    return [(opened.token(i), before[i].item(), after[i].item()) for i in shown]


def summary(opened: Opened) -> str:
    """Describe the loaded model in a sentence."""
    config = opened.model.config
    count = sum(count_parameters(opened.model).values())
    keys = getattr(config, "n_key_heads", config.n_heads)
    shared = f" ({keys} of keys and values)" if keys != config.n_heads else ""
    return (
        f"{opened.family.name}: {config.n_layers} layers of {config.n_heads} heads{shared}, "
        f"{config.d_model} numbers a vector, {count:,} parameters."
    )


def _of_translator(opened: Opened, model: Marian, ids: torch.Tensor, tokens: list[str], target: str | None) -> Heads:
    end = model.marian.eos_id
    if ids[0, -1] != end:  # not every tokenizer.json adds it
        ids, tokens = torch.cat([ids, torch.tensor([[end]])], dim=1), [*tokens, opened.token(end)]
    if (ids == model.config.pad_id).any():
        raise NotSupported(f"The sentence holds {opened.token(model.config.pad_id)!r}, which is this model's padding.")
    _require_room(opened, len(tokens) ** 2, len(tokens))
    if target is None:
        written = _translated(model, ids)
    else:
        written = [i for i in opened.encoded(target)[0][0].tolist() if i != end]
    read = torch.tensor([[model.marian.start_id, *written]])
    if read.max() >= len(model.embedding.tokens.weight):
        raise NotSupported("The target has a token that is not in the target's vocabulary.")
    n, m = read.shape[1], len(tokens)
    _require_room(opened, n * n + n * m + m * m, n, "target")
    weights = {place: value[0] for place, value in _asked(opened, ids, read).items()}
    return _widget(weights, tokens, [*map(opened.token, written), opened.token(end)])


def _widget(weights: dict[str, torch.Tensor], src: list[str], tgt: list[str], focus: int = 0) -> Heads:
    """Return the widget with query `focus` selected; in a causal model the first query sees only itself."""
    from tfm_lib.widgets.multihead import Heads

    return Heads(weights, src, tgt, focus=focus, question="Which head looks at the word before, which far away?")


def _translated(model: Marian, ids: torch.Tensor) -> list[int]:
    try:
        return model.translated(ids, max_len=min(2 * ids.shape[1] + 20, model.config.max_len - 1))
    except ValueError as error:
        raise NotSupported(f"{UNREAD} {error}") from error


def _asked(opened: Opened, *ids: torch.Tensor) -> Any:
    try:
        with torch.no_grad():
            return opened.model.all_weights(*ids)
    except ValueError as error:
        raise NotSupported(f"{UNREAD} {error}") from error


def _require_room(opened: Opened, of_head: int, n: int, text: str = "sentence") -> None:
    config = opened.model.config
    if n > config.max_len:
        raise NotSupported(f"The {text} has {n} tokens, and the model knows {config.max_len} positions.")
    if (weights := config.n_layers * config.n_heads * of_head) > MOST:
        fit = int((MOST * n * n / weights) ** 0.5)
        raise NotSupported(
            f"The {text} has {n} tokens, which makes {weights:,} weights, more than a page can carry; "
            f"of this model it carries about {fit} tokens."
        )

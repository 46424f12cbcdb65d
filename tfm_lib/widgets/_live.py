"""Base class of widgets that run the reader's own sentence: which model answers, and how a kernel sends it.

In a page the model is the JavaScript twin of the shipped translator, loaded from the book's folder; in Jupyter the
kernel sends the twin's code with the weights of the shipped model or of any other model of `tfm train`.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import torch
import traitlets

from tfm_lib.widgets.base import Widget, built

SHIPPED, OWN = "shipped", "own"
BITS = {SHIPPED: 8, OWN: 16}  # bits per parameter in transfer


class Live(Widget):
    """A widget with a recorded example, which also shows the reader's own `sentence`; "" restores the example.

    `translator` is the engine's `Translator` that answers. Without one, `machine="shipped"` takes the shipped one and
    "" none. There is no input line if there is no model, or if the browser cannot find it.
    """

    machine = traitlets.Enum(["", SHIPPED, OWN], "").tag(sync=True)
    sentence = traitlets.Unicode("").tag(sync=True)
    size = traitlets.Float().tag(sync=True)  # megabytes of the model
    wanted = traitlets.Bool(False).tag(sync=True)
    files = traitlets.Dict().tag(sync=True)

    def __init__(self, *args: Any, translator: Any = None, **kwargs: Any):
        self._translator = translator
        if translator is not None and not twin_refuses(translator):
            kwargs.setdefault("machine", SHIPPED if is_shipped(translator) else OWN)
        if kwargs.get("machine"):
            kwargs.setdefault("size", size_of(translator, kwargs["machine"]))
        super().__init__(*args, **kwargs)

    @traitlets.observe("wanted")
    def _hand_over(self, change: Any) -> None:
        if change["new"] and not self.files:
            if self._translator is None:
                from tfm_lib.engine.translator import Translator

                self._translator = Translator.shipped()
            self.files = twin_files(self._translator, BITS[self.machine])


def is_shipped(translator: Any) -> bool:
    """Return whether a translator is the one shipped with the book's pages, by the content of its config.json."""
    from tfm_lib.engine.translator import shipped_folder

    config = shipped_folder() / "config.json"
    about = getattr(translator, "about", None)
    return bool(about) and config.is_file() and json.loads(config.read_text(encoding="utf-8")) == about


def size_of(translator: Any, machine: str) -> float:
    """Return the transfer size in megabytes: the shipped model as in its file, another in 16 bits per parameter."""
    from tfm_lib.engine.translator import shipped_folder

    if machine == SHIPPED:
        weights = shipped_folder() / "model.safetensors"
        return round(weights.stat().st_size / 1e6, 1) if weights.is_file() else 0.0
    return round(BITS[machine] / 8 * sum(each.numel() for each in translator.model.parameters()) / 1e6, 1)


def twin_refuses(translator: Any) -> str | None:
    """Return, as a sentence, why the twin in the browser cannot run a translator; None if it can."""
    from tfm_lib.layers import FeedForward, LayerNorm
    from tfm_lib.multihead import MultiHeadAttention
    from tfm_lib.transformer import Transformer

    ours = {"self_attention": MultiHeadAttention, "cross_attention": MultiHeadAttention, "feed_forward": FeedForward}
    ours |= {"norm": LayerNorm, "encoder_norm": LayerNorm, "decoder_norm": LayerNorm}
    if type(getattr(translator, "model", None)) is not Transformer:
        return "translator must hold the core's Transformer, as `tfm train` makes it, for the browser to run it"
    for path, module in translator.model.named_modules():
        wanted = ours.get(path.rpartition(".")[2])
        if wanted and type(module) not in (wanted, torch.nn.Identity):
            return f"translator must have the paper's parts, for the browser knows no others; its {path} is a {type(module).__name__}"
    return None


def twin_files(translator: Any, bits: int = BITS[OWN]) -> dict[str, Any]:
    """Return what the twin needs to run a translator in Jupyter: its code, sizes, tokenizer, and the weights."""
    from safetensors.torch import save

    from tfm_lib.engine.trained import stored

    config = {**translator.about, "model": asdict(translator.model.config)}
    weights = save(stored(translator.model.state_dict(), bits))
    return {
        "twin": built("page/twin.js"),
        "config": config,
        "tokenizer": json.loads(translator.tokenizer.to_json()),
        "bytes": weights,
    }

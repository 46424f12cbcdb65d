"""The translator: a trained model with its tokenizer, from sentence to sentence."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tfm_lib._errors import require_kind, require_number, require_path, require_sizes, require_texts
from tfm_lib.data import Tokenizer, pad
from tfm_lib.decoding import beam_search, greedy_decode
from tfm_lib.engine.trained import load_trained
from tfm_lib.transformer import Transformer

SHIPPED = "en-fr"


class Translator:
    """Translates sentences with a trained model."""

    def __init__(self, model: Transformer, tokenizer: Tokenizer, about: dict[str, Any] | None = None):
        require_kind("model", model, Transformer)
        require_kind("tokenizer", tokenizer, Tokenizer)
        self.model, self.tokenizer, self.about = model.eval(), tokenizer, about or {}

    @classmethod
    def load(cls, folder: Path | str) -> Translator:
        """The model that `tfm train` wrote to `folder`; raises `NoModel` where there is none."""
        require_path("folder", folder)
        return cls(*load_trained(Path(folder)))

    @classmethod
    def shipped(cls) -> Translator:
        """The English–French translator that comes with the book."""
        return cls.load(shipped_folder())

    def ids(self, sentence: str) -> Tensor:
        """The ids of a source sentence, (1, m), its <eos> included."""
        require_kind("sentence", sentence, str, "be a string")
        return torch.tensor([[*self.tokenizer.encode(sentence), self.tokenizer.eos_id]])

    def translate(self, sentences: Sequence[str], beam: int = 4, alpha: float = 0.6) -> list[str]:
        """A translation of each sentence, by beam search, or greedily with `beam=1`; an empty one for an empty one."""
        require_texts("sentences", sentences)
        return [self.tokenizer.decode(ids) for ids in self.search(sentences, beam, alpha)]

    def search(self, sentences: Sequence[str], beam: int = 4, alpha: float = 0.6, at_once: int = 32) -> list[list[int]]:
        """The ids of each sentence's translation; `at_once` sentences of similar length are translated together."""
        require_texts("sentences", sentences)
        require_sizes(beam=beam, at_once=at_once)
        require_number("alpha", alpha, lambda alpha: alpha >= 0, "be at least 0")
        tokenizer, found = self.tokenizer, [[] for _ in sentences]
        sources = tokenizer.encode_all(sentences)
        order = sorted((i for i, source in enumerate(sources) if source), key=lambda i: len(sources[i]))
        for start in range(0, len(order), at_once):
            rows = order[start : start + at_once]
            src = pad([[*sources[i], tokenizer.eos_id] for i in rows], tokenizer.pad_id)
            how = src, tokenizer.bos_id, tokenizer.eos_id
            if beam == 1:
                ids = greedy_decode(self.model, *how, max_len=self._longest(src)).tolist()
            else:
                best = beam_search(self.model, *how, beam, alpha, self._longest(src))
                ids = [hypotheses[0].ids for hypotheses in best]
            for i, row in zip(rows, ids):
                found[i] = _until_end(row, tokenizer)
        return found

    def attention(self, sentence: str, beam: int = 4) -> dict[str, Any]:
        """The translation with every attention weight behind it: tokens read, tokens written, weights by place.

        Weights are (n_layers, n_heads, queries, keys) under "encoder", "decoder" and "cross". Query i of
        "decoder" and "cross" is the token that was read when target token i was written.
        """
        src, tokenizer = self.ids(sentence), self.tokenizer
        (ids,) = self.search([sentence], beam)
        with torch.no_grad():
            weights = self.model.all_weights(src, torch.tensor([[tokenizer.bos_id, *ids]]))
        return {
            "source": [*tokenizer.pieces(sentence), "<eos>"],
            "target": [*(tokenizer.piece(i) for i in ids), "<eos>"],
            "translation": tokenizer.decode(ids),
            "weights": {place: value[0] for place, value in weights.items()},
        }

    def _longest(self, src: Tensor) -> int:
        """When to give up: no translation of ours is more than twice as long, and some."""
        return min(2 * src.shape[1] + 20, self.model.config.max_len)


def shipped_folder() -> Path:
    """Where the shipped translator lies: in the checkout's models/, or in the installed library."""
    checkout = Path(__file__).parents[2] / "models" / SHIPPED
    return checkout if checkout.is_dir() else Path(str(files("tfm_lib") / "models" / SHIPPED))


def _until_end(ids: list[int], tokenizer: Tokenizer) -> list[int]:
    return ids[: ids.index(tokenizer.eos_id)] if tokenizer.eos_id in ids else ids

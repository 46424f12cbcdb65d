"""The translator: a trained model with its tokenizer, from sentence to sentence."""

from __future__ import annotations

import unicodedata
import warnings
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
        return torch.tensor([[*self.tokenizer.encode(self.as_read(sentence)), self.tokenizer.eos_id]])

    def translate(self, sentences: Sequence[str], beam: int = 4, alpha: float = 0.6) -> list[str]:
        """A translation of each sentence, by beam search, or greedily with `beam=1`; an empty one for an empty one.

        Signs that the tokenizer does not know are copied where the model writes <unk>, in their order. What the
        model cannot have learned to read is translated with a warning.
        """
        require_texts("sentences", sentences)
        found = self.search(sentences, beam, alpha)
        for text in sentences:
            if doubt := self.doubt(text):
                warnings.warn(doubt, stacklevel=2)
        return [self.tokenizer.decode(ids, self.tokenizer.unknown(text)) for ids, text in zip(found, sentences)]

    def doubt(self, sentence: str) -> str | None:
        """Why this model cannot translate `sentence`: another script, or mostly signs that it does not know."""
        unknown = self.tokenizer.unknown(sentence)
        scripts = dict.fromkeys(_script(sign) for sign in "".join(unknown) if sign.isalpha())
        scripts.pop("Latin", None)
        if scripts:
            return f"{_short(sentence)} holds {' and '.join(scripts)} letters, which this model cannot read; it can only copy them."
        signs = sum(not sign.isspace() for sign in sentence)
        if signs and sum(not sign.isspace() for sign in unknown) > signs / 2:
            return f"{_short(sentence)} is mostly signs that this model does not know; it can only copy them."
        return None

    def room(self) -> int:
        """The most tokens that a sentence may have, without its <eos>."""
        return self.model.config.max_len - 1

    def as_read(self, sentence: str) -> str:
        """What the model is given: an outcry in capitals is lowered where the model has learned to raise it again."""
        shouted = sentence.isupper() and sum(sign.isalpha() for sign in sentence) > 4
        return sentence.lower() if shouted and self.about.get("typed") else sentence

    def search(self, sentences: Sequence[str], beam: int = 4, alpha: float = 0.6, at_once: int = 32) -> list[list[int]]:
        """The ids of each sentence's translation; `at_once` sentences of similar length are translated together."""
        require_texts("sentences", sentences)
        require_sizes(beam=beam, at_once=at_once)
        require_number("alpha", alpha, lambda alpha: alpha >= 0, "be at least 0")
        tokenizer, found = self.tokenizer, [[] for _ in sentences]
        sources = tokenizer.encode_all([self.as_read(sentence) for sentence in sentences])
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

    def attention(self, sentence: str, beam: int = 4, alpha: float = 0.6) -> dict[str, Any]:
        """The translation with every attention weight behind it: tokens read, tokens written, weights by place.

        Weights are (n_layers, n_heads, queries, keys) under "encoder", "decoder" and "cross". Query i of
        "decoder" and "cross" is the token that was read when target token i was written.
        """
        src, tokenizer = self.ids(sentence), self.tokenizer
        (ids,) = self.search([sentence], beam, alpha)
        with torch.no_grad():
            weights = self.model.all_weights(src, torch.tensor([[tokenizer.bos_id, *ids]]))
        return {
            "source": [*tokenizer.pieces(self.as_read(sentence)), "<eos>"],
            "target": [*(tokenizer.piece(i) for i in ids), "<eos>"],
            "translation": tokenizer.decode(ids, tokenizer.unknown(sentence)),
            "weights": {place: value[0] for place, value in weights.items()},
        }

    def _longest(self, src: Tensor) -> int:
        """When to give up: no translation of ours is more than twice as long, and some."""
        return min(2 * src.shape[1] + 20, self.model.config.max_len)


def shipped_folder(name: str = SHIPPED) -> Path:
    """Where a shipped model lies, the translator unless told: in the checkout's models/, or in the installed library."""
    checkout = Path(__file__).parents[2] / "models" / name
    return checkout if checkout.is_dir() else Path(str(files("tfm_lib") / "models" / name))


def _script(letter: str) -> str:
    """The script of a letter, by its name in Unicode, such as Hangul."""
    return unicodedata.name(letter, "UNNAMED").split()[0].capitalize()


def _short(sentence: str) -> str:
    """The beginning of `sentence`; what would not be seen is written as in Python."""
    short = f"{sentence[:40]}…" if len(sentence) > 40 else sentence
    return short if any(sign.isprintable() and not sign.isspace() for sign in short) else ascii(short)


def _until_end(ids: list[int], tokenizer: Tokenizer) -> list[int]:
    return ids[: ids.index(tokenizer.eos_id)] if tokenizer.eos_id in ids else ids

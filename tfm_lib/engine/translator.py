"""The translator: translates sentences with a trained model and its tokenizer."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tfm_lib._errors import require_kind, require_number, require_path, require_sizes, require_texts
from tfm_lib.data import Tokenizer, pad
from tfm_lib.decoding import beam_search, greedy_decode
from tfm_lib.engine.shipped import shipped_folder
from tfm_lib.engine.trained import load_trained
from tfm_lib.transformer import Transformer


class Translator:
    """Translates sentences with a trained model."""

    def __init__(self, model: Transformer, tokenizer: Tokenizer, about: dict[str, Any] | None = None):
        require_kind("model", model, Transformer)
        require_kind("tokenizer", tokenizer, Tokenizer)
        self.model, self.tokenizer, self.about = model.eval(), tokenizer, about or {}

    @classmethod
    def load(cls, folder: Path | str) -> Translator:
        """Load the model that `tfm train` wrote to `folder`; raises `NoModel` if there is none."""
        require_path("folder", folder)
        return cls(*load_trained(Path(folder)))

    @classmethod
    def shipped(cls) -> Translator:
        """Load the English–French translator that comes with the book."""
        return cls.load(shipped_folder())

    def ids(self, sentence: str) -> Tensor:
        """Return the ids of a source sentence, (1, m), with <eos>."""
        require_kind("sentence", sentence, str, "be a string")
        return torch.tensor([[*self.tokenizer.encode(self.as_read(sentence)), self.tokenizer.eos_id]])

    def translate(self, sentences: Sequence[str], beam: int = 4, alpha: float = 0.6) -> list[str]:
        """Translate each sentence by beam search, or greedily with `beam=1`; an empty sentence stays empty.

        Characters that the tokenizer does not know replace the <unk> tokens that the model writes, in order. Text that
        the model cannot have learned to read is translated with a warning.
        """
        require_texts("sentences", sentences)
        found = self.search(sentences, beam, alpha)
        for text in sentences:
            if doubt := self.doubt(text):
                warnings.warn(doubt, stacklevel=2)
        return [self.tokenizer.decode(ids, self.tokenizer.unknown(text)) for ids, text in zip(found, sentences)]

    def doubt(self, sentence: str) -> str | None:
        """Return why the model cannot translate `sentence` (another script, or mostly unknown characters), or None."""
        unknown = self.tokenizer.unknown(sentence)
        if unknown and (letters := self.about.get("letters")):  # a model of the playground
            others = ", ".join(dict.fromkeys(sign if sign.strip() else "a space" for sign in "".join(unknown)))
            return f"{_short(sentence)} holds {others}, and this model knows only the letters {' '.join(letters)}."
        scripts = dict.fromkeys(_script(sign) for sign in "".join(unknown) if sign.isalpha())
        scripts.pop("Latin", None)
        if scripts:
            return f"{_short(sentence)} holds {' and '.join(scripts)} letters, which this model cannot read; it can only copy them."
        signs = sum(not sign.isspace() for sign in sentence)
        if signs and sum(not sign.isspace() for sign in unknown) > signs / 2:
            return f"{_short(sentence)} is mostly signs that this model does not know; it can only copy them."
        return None

    def room(self) -> int:
        """Return the maximum number of tokens in a sentence, without its <eos>."""
        return self.model.config.max_len - 1

    def as_read(self, sentence: str) -> str:
        """Return the model's input: a sentence in capitals is lowercased if the model has learned to restore them."""
        shouted = sentence.isupper() and sum(sign.isalpha() for sign in sentence) > 4
        return sentence.lower() if shouted and self.about.get("typed") else sentence

    def search(self, sentences: Sequence[str], beam: int = 4, alpha: float = 0.6, at_once: int = 32) -> list[list[int]]:
        """Return the ids of each sentence's translation; `at_once` sentences of similar length are batched."""
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
        """Return the translation with all attention weights behind it: source and target tokens, weights by place.

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
        """Return a limit on the length; no real translation is more than about twice as long."""
        return min(2 * src.shape[1] + 20, self.model.config.max_len)


def _script(letter: str) -> str:
    """Return the script of a letter, such as Hangul, from its Unicode name."""
    return unicodedata.name(letter, "UNNAMED").split()[0].capitalize()


def _short(sentence: str) -> str:
    """Return the beginning of `sentence`, escaped as in Python if nothing in it is visible."""
    short = f"{sentence[:40]}…" if len(sentence) > 40 else sentence
    return short if any(sign.isprintable() and not sign.isspace() for sign in short) else ascii(short)


def _until_end(ids: list[int], tokenizer: Tokenizer) -> list[int]:
    return ids[: ids.index(tokenizer.eos_id)] if tokenizer.eos_id in ids else ids

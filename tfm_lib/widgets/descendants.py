"""The widget of chapter `descendants`: one sentence as input, mask and targets of five model families."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
import traitlets

from tfm_lib.descendants import order_mask
from tfm_lib.masking import causal_mask
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets.base import Widget, Words, one_of, within

WORDS = Words(
    title="One mask, five models",
    question="Which models may see the words on the right, and at what cost?",
    shared={
        "signs": {"mask": "<mask>", "bos": "<bos>", "eos": "<eos>", "first": "<1>", "second": "<2>", "asks": "?"},
        "names": {"bert": "BERT", "roberta": "RoBERTa", "xlnet": "XLNet", "gpt2": "GPT-2", "t5": "T5"},
        "how": {
            "bert": "every position sees all; the hidden words are the same in every epoch.",
            "roberta": "every position sees all; each epoch hides different words.",
            "xlnet": "each “?” sees its own position, and the words that come earlier in a random order, drawn anew each epoch.",
            "gpt2": "every position sees itself and everything on its left.",
            "t5": "the encoder sees the whole sentence with its gaps; the decoder sees that and the words that it has predicted.",
        },
    },
    alt="{name}: {how} It reads “{read}” and predicts {said}. {seen} of {cells} cells are seen.",
)
MODELS = tuple(WORDS.shared["names"])
SENTENCE = "The animal didn't cross the street because it was tired"
LONGEST = 12  # words; a longer sentence is truncated
PASSES = 9


class Reading(NamedTuple):
    """A model's input in rows and columns, its target at each row ("" for none), and the mask of rows over columns."""

    rows: list[str]
    cols: list[str]
    targets: list[str]
    mask: torch.Tensor


class FiveModels(Widget):
    """A sentence as training input of BERT, RoBERTa, XLNet, GPT-2 and T5; `value` is the model that is drawn large.

    `epoch`, from 1 to 9, is the pass through the data, which determines what is hidden and in which order.
    """

    _module = traitlets.Unicode("descendants/five_models").tag(sync=True)
    words = WORDS
    value = traitlets.Unicode("bert").tag(sync=True)
    sentence = traitlets.Unicode(SENTENCE).tag(sync=True)
    epoch = traitlets.Int(1).tag(sync=True)
    focus = traitlets.Int(0).tag(sync=True)

    def __init__(self, sentence: str = SENTENCE, value: str = "bert", epoch: int = 1, **kwargs):
        super().__init__(sentence=sentence, value=value, epoch=epoch, **kwargs)

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        return one_of("value", proposal["value"], MODELS)

    @traitlets.validate("epoch")
    def _valid_epoch(self, proposal):
        return within("epoch", proposal["value"], 1, PASSES, "a pass ")

    @traitlets.validate("focus")
    def _valid_focus(self, proposal):
        return within("focus", proposal["value"], 0, 2 * LONGEST + 4, "a row ")

    @property
    def reading(self) -> Reading:
        """The input, targets and mask of the selected model."""
        return self._family(words_of(self.sentence), self.value)

    def _family(self, words: list[str], model: str) -> Reading:
        return family(words, model, self.epoch, self.words.shared["signs"])

    @property
    def alt(self) -> str:
        if not words_of(self.sentence):
            return "…"
        say, (_, cols, targets, mask) = self.words.shared, self.reading
        read = [word for word in cols if word != say["signs"]["asks"]]
        return self.words.alt.format(
            name=say["names"][self.value],
            how=say["how"][self.value],
            read=" ".join(read),
            said=" ".join(filter(None, targets)),
            seen=int(mask.sum()),
            cells=mask.numel(),
        )

    def figure(self):
        """Draw the five masks side by side, each with the inputs and targets of its rows."""
        words = words_of(self.sentence) or ["…"]
        fig, axes = draw.figure(1, len(MODELS), width=7.2, height=2.6)
        for ax, name in zip(axes, MODELS):
            rows, cols, targets, mask = self._family(words, name)
            said = [target or read for read, target in zip(rows, targets)]
            names = {"rows": said, "cols": [""] * len(cols), "size": 4.5, "title": self.words.shared["names"][name]}
            draw.heatmap(ax, mask.int(), **names)
        return fig


def words_of(sentence: str) -> list[str]:
    """Return the first words of a sentence."""
    return sentence.split()[:LONGEST]


def order_of(n: int, epoch: int) -> list[int]:
    """Return the order of n positions in a pass, permuted by multiples modulo a prime: the same on every machine."""
    return sorted(range(n), key=lambda i: (i + 1) * (epoch * 53 + 12) % 101)


def family(words: list[str], model: str, epoch: int, signs: dict[str, str] = WORDS.shared["signs"]) -> Reading:
    """Return the training input of `model` for `words` in a pass; the masks come from the library."""
    n = len(words)
    order = order_of(n, 1 if model == "bert" else epoch)
    if model == "gpt2":
        return Reading([signs["bos"], *words], [signs["bos"], *words], [*words, signs["eos"]], causal_mask(n + 1))
    if model == "xlnet":
        before = order_mask(torch.tensor(order)) & ~torch.eye(
            n, dtype=torch.bool
        )  # a question doesn't see its own word
        return Reading(
            [signs["asks"]] * n,
            [*words, signs["asks"]],
            words,
            torch.cat([before, torch.ones(n, 1, dtype=torch.bool)], 1),
        )
    if model == "t5":
        lost = min(_share(n, 0.25, 3), max(1, n - 1))
        start = order[0] % (n - lost + 1)
        src = [*words[:start], signs["first"], *words[start + lost :]]
        tgt = [signs["first"], *words[start : start + lost], signs["second"]]
        read = [*src, signs["bos"], *tgt[:-1]]
        mask = causal_mask(len(read))
        mask[:, : len(src)] = True
        return Reading(read, read, [""] * len(src) + tgt, mask)
    asked = order[: _share(n, 0.15, n)]
    read = [signs["mask"] if i in asked else word for i, word in enumerate(words)]
    targets = [word if i in asked else "" for i, word in enumerate(words)]
    return Reading(read, read, targets, torch.ones(n, n, dtype=torch.bool))


def _share(n: int, part: float, most: int) -> int:
    return int(np.clip(np.floor(n * part + 0.5), 1, most))  # rounds as JavaScript does

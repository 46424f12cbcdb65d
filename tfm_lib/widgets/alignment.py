"""The alignment of a translation: which source word each target word looks at, by score function, beside the truth."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
import traitlets

from tfm_lib.alignment import alignment_error_rate
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets._weights import distributions
from tfm_lib.widgets.base import Widget, Words, one_of, to_words, within

WORDS = Words(
    title="Alignment",
    question="Which score function looks at the right word, and where do the others look?",
    alt="“{src}” → “{tgt}”{score}. Each target word looks hardest: {looks}.{rate}",
    score=", score {score}",
    look="{word} at {source} ({weight:.2f})",
    rate=" Alignment error rate of this sentence: {rate:.2f}.",
    below="score: {score}",
)
DIGITS = 3  # of a weight in the page


class Alignment(Widget):
    """Translations with the weights of a decoder over its source; `value` is the target word that is looked at.

    `examples` is a list of dictionaries with `src` and `tgt` (sentences or lists of words), `weights` (an array
    (n, m), target words in rows, or a dictionary of such arrays by the name of their score function) and, where
    the truth is known, `links` and `possible`, lists of (target position, source position). Without examples
    those of the recorded run are shown. `sentence`, `score` and `truth` choose what is shown first.
    """

    _module = traitlets.Unicode("alignment/alignment").tag(sync=True)
    words = WORDS
    examples = traitlets.List(traitlets.Dict()).tag(sync=True)
    sentence = traitlets.Int(0).tag(sync=True)
    score = traitlets.Unicode().tag(sync=True)
    truth = traitlets.Bool(False).tag(sync=True)
    value = traitlets.Int(0).tag(sync=True)

    def __init__(self, examples=None, sentence=0, score=None, truth=False, value=0, **kwargs):
        examples = _checked(_recorded_examples() if examples is None else examples)
        super().__init__(
            examples=examples,
            sentence=sentence,
            score=next(iter(examples[0]["weights"])) if score is None else score,
            truth=truth,
            value=value,
            **kwargs,
        )

    @traitlets.validate("examples")
    def _valid_examples(self, proposal):
        return _checked(proposal["value"])

    @traitlets.validate("sentence", "value")
    def _valid_place(self, proposal):
        name, place = proposal["trait"].name, proposal["value"]
        count = len(self.examples) if name == "sentence" else len(self._example["tgt"])
        return within(name, place, 0, count - 1)

    @traitlets.validate("score")
    def _valid_score(self, proposal):
        return one_of("score", proposal["value"], self.examples[0]["weights"])

    @traitlets.observe("sentence", "examples")
    def _stay_inside(self, _):
        """Another sentence may be shorter, other examples fewer."""
        self.sentence = min(self.sentence, len(self.examples) - 1)
        self.value = min(self.value, len(self._example["tgt"]) - 1)
        if self.score not in self.examples[0]["weights"]:
            self.score = next(iter(self.examples[0]["weights"]))

    @property
    def _example(self) -> dict[str, Any]:
        return self.examples[min(self.sentence, len(self.examples) - 1)]

    @property
    def weights(self) -> list[list[float]]:
        """The weights that are shown, (n, m)."""
        return self._example["weights"][self.score]

    @property
    def error_rate(self) -> float | None:
        """The alignment error rate of the sentence as shown; None where the truth is not known."""
        return sentence_error_rate(self.weights, self._example["links"], self._example["possible"])

    @property
    def alt(self) -> str:
        say, src, tgt = self.words, self._example["src"], self._example["tgt"]
        looks = ", ".join(
            say.look.format(word=word, source=src[int(np.argmax(row))], weight=max(row))
            for word, row in zip(tgt, self.weights)
        )
        rate = "" if self.error_rate is None else say.rate.format(rate=self.error_rate)
        score = say.score.format(score=self.score) if len(self._example["weights"]) > 1 else ""
        return say.alt.format(src=" ".join(src), tgt=" ".join(tgt), score=score, looks=looks, rate=rate)

    def figure(self):
        """The weights of the sentence, with the true links as boxes if they are asked for."""
        example, weights = self._example, self.weights
        n, m = np.shape(weights)
        fig, ax = draw.figure(width=min(7.2, 2 + 0.55 * m), height=1.3 + 0.42 * n)
        draw.heatmap(
            ax, weights, example["tgt"], example["src"], text=lambda i, j: f"{weights[i][j]:.2f}", square=False
        )
        for kind, line in (("links", "-"), ("possible", ":")) if self.truth else ():
            for i, j in example[kind]:
                draw.box(ax, j + 0.05, i + 0.05, 0.9, 0.9, edge="value", linestyle=line, linewidth=2.2)
        ax.set_xlabel(self.words.below.format(score=self.score) if len(example["weights"]) > 1 else "")
        return fig


def sentence_error_rate(weights, links: Iterable, possible: Iterable = ()) -> float | None:
    """The alignment error rate of one sentence: each target word that has a sure link is linked with its heaviest
    source word, the first of equals. None where no link is known."""
    weights = torch.as_tensor(weights, dtype=torch.float64)
    sure, may = torch.zeros(2, *weights.shape, dtype=torch.bool)
    for pairs, matrix in ((links, sure), (possible, may)):
        for i, j in pairs:
            matrix[i, j] = True
    if not sure.any():
        return None
    heaviest = F.one_hot(weights.argmax(dim=-1), weights.shape[1]).bool()
    return alignment_error_rate(heaviest & sure.any(dim=-1, keepdim=True), sure, may)


def _recorded_examples() -> list[dict[str, Any]]:
    from tfm_lib.book import recorded

    return recorded("alignment_error")["examples"]


def _checked(examples: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    if not isinstance(examples, (list, tuple)) or not examples:
        raise ValueError("examples must be a list with at least one translation")
    return [_checked_example(f"examples[{k}]", example, examples[0]) for k, example in enumerate(examples)]


def _checked_example(name: str, example: Mapping[str, Any], first: Mapping[str, Any]) -> dict[str, Any]:
    missing = {"src", "tgt", "weights"} - set(example)
    if missing:
        raise ValueError(f"{name} must hold src, tgt and weights; it lacks {', '.join(sorted(missing))}")
    src, tgt = to_words(f"{name}.src", example["src"]), to_words(f"{name}.tgt", example["tgt"])
    weights = _by_score(example["weights"])
    if list(weights) != list(_by_score(first["weights"])):
        raise ValueError(f"{name}.weights must have the score functions of the first example, in their order")
    shape = (len(tgt), len(src))
    known = {}
    for kind in ("links", "possible"):
        known[kind] = [[int(i), int(j)] for i, j in sorted(example.get(kind, ()))]
        if any(not (0 <= i < shape[0] and 0 <= j < shape[1]) for i, j in known[kind]):
            raise ValueError(f"{name}.{kind} must lie within {shape}, as (target position, source position)")
    arrays = {score: distributions(f"{name}.weights", array, shape) for score, array in weights.items()}
    lists = {score: np.round(array, DIGITS).tolist() for score, array in arrays.items()}
    return {"src": src, "tgt": tgt, "weights": lists, **known}


def _by_score(weights: Any) -> dict[str, Any]:
    return dict(weights) if isinstance(weights, Mapping) else {"weights": weights}

"""The widget of chapter `before`: scores, their softmax, the loss, and a gradient step on the scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
import traitlets

from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets.base import Numbers, Widget, Words, to_list, to_words, within

NEXT = Words(
    title="Guess the next word",
    question="Which score must you move, and how far, to bring the surprise below 0.1?",
    shared={"score": "score", "probability": "probability", "answer": "right answer"},
    alt="After “{beginning}”: {told}. The right answer is “{answer}”, with a surprise of {loss} nats.{part}",
    part=" These are the scores after {taken} of {most} steps downhill.",
    each="“{token}” has score {score} and probability {share}",
)
LIMIT = 6  # scores stay between −LIMIT and LIMIT
MOST = 12  # steps downhill


class NextWord(Widget):
    """A minimal next-word model: one score per word, the softmax of the scores, the loss, and one gradient step.

    `tokens` are two to six words that may follow `beginning`, `value` their scores from −6 to 6, `answer` the index of
    the word that followed, `rate` the learning rate of a step, from 0.1 to 4. The scores are displayed after `taken`
    steps, from 0 to 12.
    """

    _module = traitlets.Unicode("before/next_word").tag(sync=True)
    words = NEXT
    beginning = traitlets.Unicode("the cat").tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    value = Numbers().tag(sync=True)
    answer = traitlets.Int(0).tag(sync=True)
    rate = traitlets.Float(1.0).tag(sync=True)
    taken = traitlets.Int(0).tag(sync=True)

    def __init__(self, tokens: Any = "sat slept ran blue", value: Any = (0.5, 1.0, 0.5, 0.0), **kwargs: Any):
        words = to_words("tokens", tokens)
        if not 2 <= len(words) <= 6:
            raise ValueError(f"tokens must hold 2 to 6 words; it holds {len(words)}")
        super().__init__(tokens=words, value=to_list("value", value, (len(words),)), **kwargs)

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        scores = to_list("value", proposal["value"], (len(self.tokens),))
        if max(map(abs, scores)) > LIMIT:
            raise ValueError(f"value must lie between −{LIMIT} and {LIMIT}; it holds {max(scores, key=abs)}")
        return scores

    @traitlets.validate("answer")
    def _valid_answer(self, proposal):
        return within("answer", proposal["value"], 0, len(self.tokens) - 1, "a place ")

    @traitlets.validate("rate")
    def _valid_rate(self, proposal):
        return within("rate", proposal["value"], 0.1, 4)

    @traitlets.validate("taken")
    def _valid_taken(self, proposal):
        return within("taken", proposal["value"], 0, MOST, "a number of steps ")

    @property
    def scores(self) -> list[float]:
        """The displayed scores: `value` after `taken` gradient steps, rounded as in the browser."""
        scores = list(self.value)
        for _ in range(self.taken):
            shares = torch.tensor(scores, dtype=torch.float64).softmax(dim=0).tolist()
            slopes = [share - (i == self.answer) for i, share in enumerate(shares)]
            scores = [round(min(LIMIT, max(-LIMIT, x - self.rate * slope)), 3) for x, slope in zip(scores, slopes)]
        return scores

    @property
    def measured(self) -> tuple[list[float], float, list[float]]:
        """The probabilities, the loss in nats, and its gradient with respect to each score."""
        scores = torch.tensor(self.scores, dtype=torch.float64, requires_grad=True)
        loss = F.cross_entropy(scores, torch.tensor(self.answer))
        loss.backward()
        assert scores.grad is not None
        return scores.detach().softmax(dim=0).tolist(), loss.item(), scores.grad.tolist()

    @property
    def alt(self) -> str:
        say, (shares, loss, _) = self.words, self.measured
        told = "; ".join(
            say.each.format(token=token, score=draw.number(score, 1), share=draw.number(share))
            for token, score, share in zip(self.tokens, self.scores, shares)
        )
        part = say.part.format(taken=self.taken, most=MOST) if self.taken else ""
        answer = self.tokens[self.answer]
        return say.alt.format(beginning=self.beginning, told=told, answer=answer, loss=draw.number(loss), part=part)

    def figure(self):
        """Draw the scores beside their softmax."""
        say, places = self.words.shared, np.arange(len(self.tokens))
        fig, axes = draw.figure(cols=2, width=7.2, height=2.6)
        colours = [draw.colours()["one" if i == self.answer else "soft"] for i in places]
        for ax, numbers, name in zip(axes, (self.scores, self.measured[0]), ("score", "probability")):
            ax.barh(places, numbers, color=colours)
            ax.set_yticks(places, self.tokens)
            ax.invert_yaxis()
            ax.set_xlabel(say[name])
        axes[0].set_xlim(-LIMIT, LIMIT)
        axes[1].set_xlim(0, 1)
        return fig

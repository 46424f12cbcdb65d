"""The widgets of chapter `alignment`: a translation's attention weights, and memory networks with several hops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
import traitlets

from tfm_lib.alignment import alignment_error_rate
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets._attention_weights import distributions
from tfm_lib.widgets.base import Widget, Words, one_of, to_words, within

WORDS = Words(
    title="Alignment",
    question="Which score functions look at the correct word, and where do the others look?",
    alt="“{src}” → “{tgt}”{score}. Where each target word looks most: {looks}.{rate}",
    score=", score {score}",
    look="{word} at {source} ({weight:.2f})",
    rate=" Alignment error rate of this sentence: {rate:.2f}.",
    below="score: {score}",
)
WALK = Words(
    title="Memory hops",
    question="Which fact can only the second hop look for?",
    shared={"answer": "answer: {answer}", "hop": "hop {hop}"},
    alt="{question} A network with {hops} over {facts} facts: {steps}. Answer: {answer}, {verdict}.",
    hops=("1 hop", "{hops} hops"),
    step="hop {hop} reads “{fact}” most ({weight:.2f})",
    right="correct",
    missed="wrong",
    wrong="wrong, it is {truth}",
)
DIGITS = 3  # decimals of a weight in the page


class Alignment(Widget):
    """Translations with the weights of a decoder over its source; `value` is the selected target word.

    `examples` is a list of dictionaries with `src` and `tgt` (sentences or lists of words), `weights` (an array
    (n, m), target words in rows, or a dictionary of such arrays by the name of their score function) and, where
    the true links are known, `links` and `possible`, lists of (target position, source position). Without examples,
    those of the recorded run are used. `sentence`, `score` and `truth` set the initial view.
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
        """Clip the selection: another sentence may be shorter, other examples fewer."""
        self.sentence = min(self.sentence, len(self.examples) - 1)
        self.value = min(self.value, len(self._example["tgt"]) - 1)
        if self.score not in self.examples[0]["weights"]:
            self.score = next(iter(self.examples[0]["weights"]))

    @property
    def _example(self) -> dict[str, Any]:
        return self.examples[min(self.sentence, len(self.examples) - 1)]

    @property
    def weights(self) -> list[list[float]]:
        """The displayed weights, (n, m)."""
        return self._example["weights"][self.score]

    @property
    def error_rate(self) -> float | None:
        """The alignment error rate of the displayed sentence; None if the true links are not known."""
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
        """Draw the weights of the sentence, with the true links as boxes if `truth` is set."""
        example, weights = self._example, self.weights
        n, m = np.shape(weights)
        fig, ax = draw.figure(width=min(7.2, 2 + 0.55 * m), height=1.3 + 0.42 * n)
        draw.heatmap(
            ax, weights, example["tgt"], example["src"], text=lambda i, j: f"{weights[i][j]:.2f}", square=False
        )
        for kind, line in (("links", "-"), ("possible", ":")) if self.truth else ():
            for i, j in example[kind]:
                draw.box(ax, j + 0.05, i + 0.05, 0.9, 0.9, edge="two", linestyle=line, linewidth=2.2)
        ax.set_xlabel(self.words.below.format(score=self.score) if len(example["weights"]) > 1 else "")
        return fig


class MemoryHops(Widget):
    """Networks that answer questions about facts with 1, 2, … hops; `value` is the displayed number of hops.

    `stories` is a list of dictionaries with `facts` (sentences), `question`, `answer`, `needed` (the indices of the
    facts that the answer needs) and `walks`: for 1, 2, … hops the `weights`, (hops, facts), and the `answer` of the
    network with that many hops. `walks_of` makes them from your own networks.
    """

    _module = traitlets.Unicode("alignment/memory_hops").tag(sync=True)
    words = WALK
    stories = traitlets.List(traitlets.Dict()).tag(sync=True)
    story = traitlets.Int(0).tag(sync=True)
    value = traitlets.Int(1).tag(sync=True)

    def __init__(self, stories, value=1, **kwargs):
        super().__init__(stories=_checked_stories(stories), value=value, **kwargs)

    @traitlets.validate("stories")
    def _valid_stories(self, proposal):
        return _checked_stories(proposal["value"])

    @traitlets.validate("story", "value")
    def _valid_choice(self, proposal):
        name, number = proposal["trait"].name, proposal["value"]
        low, high = (0, len(self.stories) - 1) if name == "story" else (1, len(self.stories[0]["walks"]))
        return within(name, number, low, high)

    @property
    def walk(self) -> dict[str, Any]:
        """The displayed weights, (hops, facts), and answer."""
        return self.stories[self.story]["walks"][self.value - 1]

    @property
    def told(self) -> bool:
        """Whether the story's answer and the facts that it needs are shown: only with all hops, as they are the guess."""
        return self.value == len(self.stories[self.story]["walks"])

    @property
    def alt(self) -> str:
        say, story, walk = self.words, self.stories[self.story], self.walk
        read = [(int(np.argmax(row)), max(row)) for row in walk["weights"]]
        right = walk["answer"] == story["answer"]
        return say.alt.format(
            question=story["question"],
            hops=say.hops[self.value > 1].format(hops=self.value),
            facts=len(story["facts"]),
            steps=", ".join(
                say.step.format(hop=k, fact=story["facts"][i], weight=weight) for k, (i, weight) in enumerate(read, 1)
            ),
            answer=walk["answer"],
            verdict=say.right if right else (say.wrong if self.told else say.missed).format(truth=story["answer"]),
        )

    def figure(self):
        """Draw the weights of each hop over the facts; with all hops, frame those that the answer needs."""
        story, weights = self.stories[self.story], np.array(self.walk["weights"]).T
        hops = [self.words.shared["hop"].format(hop=k + 1) for k in range(weights.shape[1])]
        fig, ax = draw.figure(width=5.4, height=1 + 0.34 * len(weights))
        look = {"title": story["question"], "square": False, "turned": False, "kinds": ("ink", "query")}
        draw.heatmap(ax, weights, story["facts"], hops, text=lambda i, j: f"{weights[i, j]:.2f}", **look)
        for i in story["needed"] if self.told else ():
            draw.box(ax, 0, i + 0.04, len(hops), 0.92, edge="two", linewidth=2.2, zorder=3)
        ax.set_xlabel(self.words.shared["answer"].format(answer=self.walk["answer"]))
        return fig


def walks_of(networks: Iterable[Any], corpus: Any, pairs: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the stories of `MemoryHops`: the results of networks (`MemoryNetwork` of 1, 2, … hops) on the pairs."""
    from tfm_lib.corpora import memory_tensors
    from tfm_lib.corpora.questions import facts_of

    pairs = list(pairs)
    facts, questions, _, needed = memory_tensors(corpus, pairs)
    with torch.no_grad():
        outputs = [network(facts, questions) for network in networks]
    stories = []
    for b, pair in enumerate(pairs):
        told, asked, _ = facts_of(pair)
        walks = [
            {
                "weights": weights[b, :, : len(told)],
                "answer": corpus.tgt_vocab.tokens[int(logits[b].argmax())],
            }
            for logits, weights in outputs
        ]
        places = needed[b].nonzero().flatten().tolist()
        story = {"facts": [" ".join(fact) for fact in told], "question": " ".join(asked), "answer": pair.tgt[0]}
        stories.append({**story, "needed": places, "walks": walks})
    return stories


def _checked_stories(stories: Any) -> list[dict[str, Any]]:
    if not isinstance(stories, (list, tuple)) or not stories:
        raise ValueError("stories must be a list with at least one story")
    checked = []
    for k, story in enumerate(stories):
        name = f"stories[{k}]"
        missing = {"facts", "question", "answer", "needed", "walks"} - set(story)
        if missing:
            raise ValueError(f"{name} must hold facts, question, answer, needed and walks; it lacks {sorted(missing)}")
        facts = to_words(f"{name}.facts", story["facts"])
        needed = sorted(int(i) for i in story["needed"])
        if any(not 0 <= i < len(facts) for i in needed):
            raise ValueError(f"{name}.needed must hold places from 0 to {len(facts) - 1}; it is {needed}")
        if len(story["walks"]) != len(stories[0]["walks"]) or not story["walks"]:
            raise ValueError(f"{name}.walks must hold as many walks as the first story, and at least one")
        walks = []
        for hops, walk in enumerate(story["walks"], 1):
            weights = distributions(f"{name}.walks[{hops - 1}].weights", walk["weights"], (hops, len(facts)))
            walks.append({"weights": np.round(weights, DIGITS).tolist(), "answer": str(walk["answer"])})
        said = {"question": str(story["question"]), "answer": str(story["answer"])}
        checked.append({**said, "facts": facts, "needed": needed, "walks": walks})
    return checked


def sentence_error_rate(weights, links: Iterable, possible: Iterable = ()) -> float | None:
    """Return the alignment error rate of one sentence: each target word with a sure link is linked to its heaviest
    source word, the first of ties. None if no link is known."""
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
    from tfm_lib.drawing import recorded

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

"""The widgets of chapter `assistant`: what the writer of stories makes of a prompt, and which of its heads carry a name."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import torch
import traitlets
from torch import Tensor

from tfm_lib._trace import Trace, trace
from tfm_lib.assistant import patched_heads
from tfm_lib.corpora.stories import story, story_words, world_of
from tfm_lib.corpora.talks import facts, instruction, question, without_end
from tfm_lib.engine.assistant import shipped, tokens
from tfm_lib.engine.shipped import STORIES, shipped_folder
from tfm_lib.engine.writer import LONGEST, STAGES, VOCABULARY
from tfm_lib.multihead import KeyValueCache
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets.base import Widget, Words, built, to_words, within

TALK = Words(
    title="Talk to it",
    question="What does each stage change?",
    shared={"stages": {"base": "Continue", "follow": "Follow", "prefer": "Prefer", "think": "Think"}},
    alt="After “{prompt}” {written}.",
    each="“{stage}” writes “{words}”, with probability {least} for the least likely word, “{word}”",
    probability="probability",
    examples={
        "story": "a story's beginning",
        "question": "a question",
        "untold": "a question that the story does not answer",
        "instruction": "an instruction",
        "new": "an instruction of a new kind",
        "facts": "facts in steps",
    },
)
PATCH = Words(
    title="Patch a head",
    question="Which heads carry the name?",
    shared={
        "layer": "layer {layer}",
        "head": "head {head}",
        "patched": ["With no head patched", "With head {heads} patched", "With heads {heads} patched"],
        "and": " and ",
        "told": "{patched}, {a} has {pa} and {b} {pb}.",
        "way": " That is {share} of the way from {a} to {b}.",
    },
    alt="“… the {thing} was with”: of the heads patched alone, head {head} moves the model furthest, {share} of the way from {a} to {b}; "
    "all heads of layer {layer} together move it {all}. {told}",
    heading="share of the way from {a} to {b}",
)
RIVALS, MOST, DIGITS = 6, 160, 4
DRAWN = 40  # words of each stage for which the static figure has room


def examples() -> dict[str, str]:
    """Return prompts by the names that `TALK.examples` has."""
    given = {
        "story": story_words("talk")[:40],
        "question": question("talk 0").given,
        "untold": question("talk 1").given,
        "instruction": instruction("talk").given,
        "new": instruction("talk", held_out=True).given,
        "facts": facts("talk", 3, "think").given,
    }
    return {name: " ".join(words) for name, words in given.items()}


@cache
def written(stage: str, prompt: str) -> list[dict[str, Any]]:
    """Return the tokens that a stage writes after `prompt`, likeliest first, with their probabilities and rivals."""
    model, told = shipped(stage), []
    caches = [KeyValueCache() for _ in model.layers]
    unread = [VOCABULARY.bos_id, *VOCABULARY.encode(tokens(prompt))]
    while len(told) < MOST and caches[0].length + len(unread) <= model.config.max_len:
        p = model(torch.tensor([unread]), caches)[0, -1].softmax(dim=-1)
        best = p.topk(RIVALS)
        rivals = [
            {"word": VOCABULARY.tokens[i], "p": round(share, DIGITS)}
            for share, i in zip(best.values.tolist(), best.indices.tolist(), strict=True)
        ]
        unread = best.indices[:1].tolist()
        if unread == [VOCABULARY.eos_id]:
            break
        told.append({**rivals[0], "rivals": rivals})
    return told


class Storyteller(Widget):
    """A widget whose browser side loads the writer of stories."""

    size = traitlets.Float().tag(sync=True)  # megabytes of a stage
    wanted = traitlets.Unicode("").tag(sync=True)  # a stage whose weights the browser asks for
    files = traitlets.Dict().tag(sync=True)

    @traitlets.default("size")
    def _size_of_a_stage(self) -> float:
        return round((shipped_folder(STORIES) / "base.safetensors").stat().st_size / 1e6, 1)

    @traitlets.observe("wanted")
    def _hand_over(self, change: Any) -> None:
        if change["new"]:
            self.files = writer_files(change["new"])


class TalkToIt(Storyteller):
    """What the shipped writer makes of a `prompt` after `stage`, and `beside` it after another; `value` is the word in focus.

    `temperature` is from 0, the likeliest word each time, to 1.5; `top_p` from 0.05 to 1. The recorded example holds
    what `written` returns for `prompt`, for the stages of `compared`.
    """

    _module = traitlets.Unicode("assistant/talk").tag(sync=True)
    words = TALK
    prompt = traitlets.Unicode().tag(sync=True)
    stage = traitlets.Enum(STAGES, "base").tag(sync=True)
    beside = traitlets.Enum(("", *STAGES), "follow").tag(sync=True)
    temperature = traitlets.Float(0.0).tag(sync=True)
    top_p = traitlets.Float(1.0).tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
    value = traitlets.Int(0).tag(sync=True)
    example = traitlets.Int(0).tag(sync=True)
    examples = traitlets.List().tag(sync=True)  # name, prompt
    recorded = traitlets.Dict().tag(sync=True)

    def __init__(self, prompt: str | None = None, **kwargs: Any):
        prompts = examples()
        prompt = prompts["question"] if prompt is None else prompt
        count = len(to_words("prompt", tokens(prompt)))
        if count >= LONGEST:
            raise ValueError(f"prompt must have at most {LONGEST - 1} words and signs; it has {count}")
        stages = kwargs.get("stage", "base"), kwargs.get("beside", "follow")
        told = {stage: written(stage, prompt) for stage in stages if stage in STAGES}
        super().__init__(
            prompt=prompt,
            examples=[[self.words.examples[name], text] for name, text in prompts.items()],
            recorded={"prompt": prompt, "told": told},
            **kwargs,
        )

    @traitlets.validate("temperature", "top_p", "seed", "value")
    def _valid_setting(self, proposal):
        low, high = {"temperature": (0, 1.5), "top_p": (0.05, 1)}.get(proposal["trait"].name, (0, 1e6 - 1))
        return within(proposal["trait"].name, proposal["value"], low, high)

    @property
    def shown(self) -> dict[str, list[dict[str, Any]]]:
        """What each of the chosen stages writes after the recorded prompt."""
        return {stage: written(stage, self.recorded["prompt"]) for stage in (self.stage, self.beside) if stage}

    @property
    def alt(self) -> str:
        told = []
        for stage, words in self.shown.items():
            least = min(words, key=lambda each: each["p"], default={"word": "", "p": 1.0})
            told.append(
                self.words.each.format(
                    stage=self.words.shared["stages"][stage],
                    words=" ".join(each["word"] for each in words),
                    word=least["word"],
                    least=draw.number(least["p"]),
                )
            )
        return self.words.alt.format(prompt=self.recorded["prompt"], written="; ".join(told))

    def figure(self):
        """Draw the first words that each stage writes, a bar for the probability of each."""
        count = len(self.shown)
        fig, axes = draw.figure(rows=count, width=7.4, height=1.9 * count, squeeze=False)
        for ax, (stage, words) in zip(axes[:, 0], self.shown.items()):
            words = words[:DRAWN]
            places = range(len(words))
            ax.bar(places, [each["p"] for each in words], color=draw.colours()["one"])
            ax.set_xticks(places, [draw.plain(each["word"]) for each in words], rotation=90, fontsize=7)
            ax.set(ylim=(0, 1), ylabel=self.words.probability, xlim=(-0.6, max(20, len(words)) - 0.4))
            ax.set_title(self.words.shared["stages"][stage], loc="left", fontsize=9)
        return fig


SEEDS = "patch 1", "patch 5", "patch 8", "patch 6"  # stories whose loved thing changes hands
N = 4  # layers, and heads of each
HEADS = [(i // N, i % N) for i in range(N * N)]
RECORDED = [(), *((head,) for head in HEADS), *(tuple(HEADS[i : i + N]) for i in range(0, N * N, N))]
Said = list[Any]  # log p of the two names, the likeliest other word, and its log p


@cache
def swapped(seed: str) -> tuple[str, list[str], list[str]]:
    """Return the loved thing, its holder's name and another, and two prompts in which these names change places."""
    words = without_end(story(seed, titles=False).words)
    world = world_of(words)
    thing, holder = world.named(world.love[1]), world.where[world.love[1]]
    other = next(name for name in world.people if name != holder)
    words += (*f"in the end the {thing} was with".split(),)
    swap = {holder: other, other: holder}
    return thing, [holder, other], [" ".join(words), " ".join(swap.get(word, word) for word in words)]


def said(logits: Tensor, names: list[str]) -> Said:
    """Return log p of the two names, the likeliest other word, and its log p."""
    nats, ids = logits.log_softmax(dim=-1), VOCABULARY.encode(names)
    other = int(nats.index_fill(0, torch.tensor(ids), -torch.inf).argmax())
    a, b, c = (round(nats[i].item(), DIGITS) for i in (*ids, other))
    return [a, b, VOCABULARY.tokens[other], c]


def _after(seed: str, which: int) -> Said:
    _, names, texts = swapped(seed)
    ids = [VOCABULARY.bos_id, *VOCABULARY.encode(texts[which].split())]
    return said(shipped("base")(torch.tensor([ids]))[0, -1], names)


@cache
def second(seed: str) -> tuple[Trace, Said]:
    """Return what the heads say at the last word of the second prompt, and what follows it."""
    with trace(shipped("base"), "*.heads") as seen:
        return seen, _after(seed, 1)


@cache
def outcome(seed: str, heads: tuple[tuple[int, int], ...] = ()) -> Said:
    """Return what follows the first prompt when `heads` say, at its last word, what they say in the second."""
    with patched_heads(shipped("base"), heads, second(seed)[0]):
        return _after(seed, 0)


def share(run: Said, clean: Said, other: Said) -> float:
    """Return the share of the way from `clean` to `other` that `run` goes, in log p(other name) − log p(name)."""
    ahead, begin, end = (b - a for a, b, *_ in (run, clean, other))
    return (ahead - begin) / (end - begin) if end != begin else 0.0


def key(heads: Iterable[tuple[int, int]]) -> str:
    """Return the names of heads, layer and head counted from 1."""
    return " ".join(f"{layer + 1}.{head + 1}" for layer, head in heads)


def recorded(seed: str) -> dict[str, Any]:
    """Return what a page shows of a story without the model."""
    thing, names, texts = swapped(seed)
    runs = {key(heads): outcome(seed, heads) for heads in RECORDED}
    return {"thing": thing, "names": names, "texts": texts, "runs": runs, "second": second(seed)[1]}


class PatchAHead(Storyteller):
    """Two prompts of a `story`, from 0 to 3, that differ in who has a thing; `heads` of the model are patched from the second.

    `heads` are pairs of a layer and a head in it, counted from 0. The runs with none, one, and all heads of a layer
    patched are recorded.
    """

    _module = traitlets.Unicode("assistant/patch").tag(sync=True)
    words = PATCH
    story = traitlets.Int(0).tag(sync=True)
    heads = traitlets.List(traitlets.List(traitlets.Int(), minlen=2, maxlen=2)).tag(sync=True)
    stories = traitlets.List().tag(sync=True)

    def __init__(self, **kwargs: Any):
        super().__init__(stories=[recorded(seed) for seed in SEEDS], **kwargs)

    @traitlets.validate("story")
    def _valid_story(self, proposal):
        return within("story", proposal["value"], 0, len(SEEDS) - 1)

    @traitlets.validate("heads")
    def _valid_heads(self, proposal):
        for number in {number for pair in proposal["value"] for number in pair}:
            within("each layer and head of heads", number, 0, N - 1)
        return [list(pair) for pair in sorted({(layer, head) for layer, head in proposal["value"]})]

    def shares(self, *sets: Iterable[tuple[int, int]]) -> list[float]:
        """Return how far each set of heads moves the model, as a share of the way to the other name."""
        seed = SEEDS[self.story]
        return [share(outcome(seed, tuple(heads)), outcome(seed), second(seed)[1]) for heads in sets]

    @property
    def alone(self) -> np.ndarray:
        """How far each head alone moves the model, a row for each layer."""
        return np.reshape(self.shares(*([head] for head in HEADS)), (N, N))

    @property
    def alt(self) -> str:
        say, (thing, (a, b), _) = self.words, swapped(SEEDS[self.story])
        best = HEADS[self.alone.argmax()]
        heads = tuple(map(tuple, self.heads))
        whole, now = map(draw.number, self.shares([(best[0], head) for head in range(N)], heads))
        pa, pb = (draw.number(math.exp(nats)) for nats in outcome(SEEDS[self.story], heads)[:2])
        named = say.shared["and"].join(key(heads).replace(" ", ", ").rsplit(", ", 1))
        patched = say.shared["patched"][min(len(heads), 2)].format(heads=named)
        told = say.shared["told"].format(patched=patched, a=a, b=b, pa=pa, pb=pb)
        told += say.shared["way"].format(share=now, a=a, b=b) if heads else ""
        furthest = {"head": key([best]), "share": draw.number(self.alone.max()), "layer": best[0] + 1, "all": whole}
        return say.alt.format(thing=thing, a=a, b=b, told=told, **furthest)

    def figure(self):
        """Draw the share of the way that each head goes alone, framing those that are patched."""
        say, shares, (_, (a, b), _) = self.words, self.alone[::-1], swapped(SEEDS[self.story])
        fig, ax = draw.figure(width=4.6, height=3.6)
        rows = [say.shared["layer"].format(layer=layer) for layer in range(N, 0, -1)]
        cols = [say.shared["head"].format(head=head + 1) for head in range(N)]
        look = {"below": True, "turned": False, "kinds": ("soft", "soft"), "title": say.heading.format(a=a, b=b)}
        draw.heatmap(ax, shares, rows, cols, text=lambda i, j: draw.number(shares[i, j]), **look)
        for layer, head in self.heads:
            draw.box(ax, head, N - 1 - layer, 1, 1, edge="two", linewidth=2.5, zorder=3)
        return fig


def writer_files(stage: str) -> dict[str, Any]:
    """Return what the browser needs to write as a stage: the code, sizes and words, and the weights; or an error."""
    folder = shipped_folder(STORIES)
    try:
        weights = (folder / f"{stage}.safetensors").read_bytes()
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except OSError as error:
        return {"error": str(error)}
    return {"twin": built("page/storyteller.js"), "config": config, "bytes": weights}

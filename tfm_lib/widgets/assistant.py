"""The widget of chapter `assistant`: a prompt, and what the writer of stories makes of it after each stage of its training."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import torch
import traitlets

from tfm_lib.corpora.stories import story_words
from tfm_lib.corpora.talks import facts, instruction, question
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


class TalkToIt(Widget):
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
    size = traitlets.Float().tag(sync=True)  # megabytes of a stage
    wanted = traitlets.Unicode("").tag(sync=True)  # a stage whose weights the browser asks for
    files = traitlets.Dict().tag(sync=True)

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
            size=round((shipped_folder(STORIES) / "base.safetensors").stat().st_size / 1e6, 1),
            **kwargs,
        )

    @traitlets.validate("temperature", "top_p", "seed", "value")
    def _valid_setting(self, proposal):
        low, high = {"temperature": (0, 1.5), "top_p": (0.05, 1)}.get(proposal["trait"].name, (0, 1e6 - 1))
        return within(proposal["trait"].name, proposal["value"], low, high)

    @traitlets.observe("wanted")
    def _hand_over(self, change: Any) -> None:
        if change["new"]:
            self.files = writer_files(change["new"])

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


def writer_files(stage: str) -> dict[str, Any]:
    """Return what the browser needs to write as a stage: the code, sizes and words, and the weights; or an error."""
    folder = shipped_folder(STORIES)
    try:
        weights = (folder / f"{stage}.safetensors").read_bytes()
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except OSError as error:
        return {"error": str(error)}
    return {"twin": built("page/storyteller.js"), "config": config, "bytes": weights}

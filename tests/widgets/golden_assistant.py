"""Stories and questions of chapter `assistant`, with what the library says is true in them."""

import random
from dataclasses import asdict

import torch

from tfm_lib.corpora import stories
from tfm_lib.corpora.stories import Inconsistent, World, read_story, story_words, world_of
from tfm_lib.corpora.talks import UNTOLD, facts, question
from tfm_lib.engine.writer import VOCABULARY
from tfm_lib.widgets.assistant import said, share

STORIES, QUESTIONS = 60, 240


def told(words: list[str], world: World) -> dict:
    return {"words": words, **asdict(world)}


def contradicted(words: list[str], draw: random.Random) -> dict | None:
    """The story with another word of its kind at a place where only one may stand, and where the library finds it."""
    kinds = [set(stories.PLACES), set(words) & {*stories.GIRLS, *stories.BOYS}, {"happy", "sad"}]
    for at in draw.sample(range(len(words)), len(words)):
        others = sorted(set().union(*(kind for kind in kinds if words[at] in kind)) - {words[at]})
        if not others or words[:at].count(".") < 4:
            continue
        changed = [*words[:at], draw.choice(others), *words[at + 1 :]]
        try:
            read_story(changed)
        except Inconsistent as error:
            if error.at == at and len(error.instead) == 1:
                return {"words": changed, "at": at, "instead": error.instead[0]}
    return None


def asked(seed: int) -> dict:
    """A question with its answer, or another one, and whether that is right."""
    draw = random.Random(f"asked {seed}")
    task = facts(seed, 1 + seed % 4, ("answer", "think", "wait")[seed % 3]) if seed % 2 else question(seed)
    other = question(f"other {seed}").answer
    said = draw.choice([task.answer, task.answer, other, tuple(UNTOLD), task.answer[:-1]])
    verdict = "right" if task.is_right(said) else "wrong"
    if verdict == "wrong" and task.answer == tuple(UNTOLD):
        verdict = "invented"
    return {"words": [*task.given, *said], "verdict": verdict}


def patched(seed: int) -> dict:
    """What three runs say of two names, and how far the first of them goes from the second to the third."""
    names = random.Random(seed).sample((*stories.GIRLS, *stories.BOYS), 2)
    logits = 3 * torch.randn(3, len(VOCABULARY), generator=torch.Generator().manual_seed(seed))
    runs = [said(row, names) for row in logits]
    return {"logits": logits.tolist(), "ids": VOCABULARY.encode(names), "said": runs, "share": share(*runs)}


def numbers() -> dict:
    whole, parts, wrong = [], [], []
    for i in range(STORIES):
        words, draw = story_words(f"golden {i}"), random.Random(i)
        whole.append(told(words, read_story(words).world))
        ends = [at + 1 for at, word in enumerate(words) if word == "." and at + 1 < len(words)]
        parts += [told(words[:end], world_of(words[:end])) for end in draw.sample(ends, 3)]
        wrong += filter(None, [contradicted(words, draw)])
    return {
        "whole": whole,
        "parts": parts,
        "wrong": wrong,
        "asked": [asked(seed) for seed in range(QUESTIONS)],
        "words": VOCABULARY.tokens,
        "patched": [patched(seed) for seed in range(4)],
    }

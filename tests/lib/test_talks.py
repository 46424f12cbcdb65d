"""Questions and instructions about stories: every right answer is right, every other is judged by the world."""

from collections import Counter

import pytest

from tfm_lib.corpora.stories import PLACES, WORDS, read_story, story
from tfm_lib.corpora.talks import (
    HELD_OUT,
    LONGER,
    TRAINED,
    UNTOLD,
    facts,
    happenings,
    instruction,
    question,
    without_end,
)
from tfm_lib.engine.writer import LONGEST, TALK, VOCABULARY, stories, writer

QUESTIONS = [question(seed) for seed in range(300)]


def test_every_task_is_answered_rightly_in_words_that_the_model_has():
    tasks = [
        *QUESTIONS,
        *(
            facts(seed, hops, way)
            for seed in range(20)
            for hops in (*TRAINED, *LONGER)
            for way in ("answer", "think", "wait")
        ),
    ]
    tasks += [instruction(seed, held_out) for seed in range(100) for held_out in (False, True)]
    for task in tasks:
        assert task.is_right(task.answer) and not task.is_right([*task.answer, "."])
        assert set(task.given) | set(task.answer) <= set(VOCABULARY.tokens)
        assert len(task.given) + len(task.answer) < LONGEST
    assert not set(TALK) & set(WORDS)


def test_a_fifth_of_the_questions_ask_for_what_is_not_told():
    assert 30 < sum(task.answer == tuple(UNTOLD) for task in QUESTIONS) < 90
    asked = Counter(task.given[task.given.index("question") + 2] for task in QUESTIONS)
    assert set(asked) == {"where", "who", "what"} and min(asked.values()) > 40


def test_what_is_asked_is_not_said_at_the_end_of_what_is_given():
    for task in QUESTIONS:
        assert not {"end", "happy", "sad"} & set(task.given)
    told = story(1).words
    assert told[: len(without_end(told))] == without_end(told) and "end" in told[len(without_end(told)) :][:3]


def test_an_instruction_is_followed_by_a_story_that_is_consistent_and_has_what_was_asked():
    asked = next(task for task in map(instruction, range(100)) if "ends" in task.given)
    words = list(asked.answer)
    assert asked.is_right(words)
    turned = [{"happy": "sad", "sad": "happy"}.get(word, word) for word in words]
    assert not asked.is_right(turned)  # no story of this world
    others = [story(seed).words for seed in range(60)]
    followed = [other for other in others if asked.is_right(other)]
    assert len(followed) < 50
    assert all(("happy" in other) == ("well" in asked.given) for other in followed)
    assert 3 <= happenings(words) <= 6


def test_what_is_held_out_is_asked_for_by_no_other():
    def kinds(task):
        text = " ".join(task.given)
        loves = text.split(" loves ")
        love = [] if len(loves) == 1 else ["love" if "some" not in text else "what" if "somebody" in text else "who"]
        marks = {"pet": "there is", "ends": "it ends", "count": "things happen"}
        return tuple(sorted([*love, *(kind for kind, mark in marks.items() if mark in text)]))

    assert not HELD_OUT & {kinds(instruction(seed)) for seed in range(200)}
    assert {kinds(instruction(seed, held_out=True)) for seed in range(60)} == HELD_OUT


@pytest.mark.parametrize("hops", [*TRAINED, *LONGER])
def test_facts_need_as_many_steps_as_they_say(hops: int):
    for seed in range(30):
        thought, at_once, waited = (facts(seed, hops, way) for way in ("think", "answer", "wait"))
        assert thought.answer.count(".") == hops + 1 and at_once.answer == thought.answer[-4:]
        assert len(waited.answer) == len(thought.answer)
        assert thought.given[:-2] == at_once.given[:-2]
        told = " ".join(thought.given)
        at = at_once.given[at_once.given.index("?") - 1]
        for _ in range(hops):  # followed by hand
            (at,) = {
                sentence.split()[-1]
                for sentence in told.split(" . ")
                if sentence.removeprefix("the ").startswith((f"{at} was in", f"{at} was with"))
            }
        assert at in PLACES and at == at_once.answer[2]
        assert sum(place in told.split() for place in PLACES) == 3


def test_stories_of_an_epoch_are_told_once_and_read_as_stories():
    first, second = stories(0)[:50], stories(1)[:50]
    assert not {tuple(each.tgt) for each in first} & {tuple(each.tgt) for each in second}
    for each in first:
        read_story(VOCABULARY.decode(each.tgt))
    assert sum(p.numel() for p in writer().parameters()) < 760_000

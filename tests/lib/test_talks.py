"""Questions and instructions about stories: every right answer is right, every other is judged by the world."""

from collections import Counter

import pytest

from tfm_lib.corpora.stories import BOYS, GIRLS, NUMBERS, PETS, PLACES, WORDS, read_story, story
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
        _, _, text = " ".join(("", *task.given)).rpartition(" there were ")
        assert not {"end", "happy", "sad"} & set(text.split())
    told = story(1).words
    assert told[: len(without_end(told))] == without_end(told) and "end" in told[len(without_end(told)) :][:3]


def test_an_instruction_is_followed_by_a_story_that_is_consistent_and_has_what_was_asked():
    asked = next(task for task in map(instruction, range(100)) if "five" in task.given)
    words = list(asked.answer)
    assert asked.is_right(words)
    turned = [{"happy": "sad", "sad": "happy"}.get(word, word) for word in words]
    assert not asked.is_right(turned)  # no story of this world
    others = [story(seed).words for seed in range(60)]
    followed = [other for other in others if asked.is_right(other)]
    assert len(followed) < 50
    assert all(happenings(other) == 5 for other in [words, *followed])


def kinds(task) -> set[str]:
    """What an instruction asks for, read from its words."""
    text = " ".join(task.given)
    named = text.partition(" story with ")[2].split(" in which ")[0].split(" :")[0]
    people = {*GIRLS, *BOYS}
    kind = lambda each: "person" if each in people else "pet" if each.split()[-1] in PETS else "thing"  # noqa: E731
    marks = {"love": "loves", "count": "things happen"}
    return {kind(each) for each in named.split(" and ") if each} | {name for name in marks if marks[name] in text}


def test_what_is_held_out_is_asked_for_by_no_other():
    trained, others = ([kinds(instruction(seed, held_out)) for seed in range(200)] for held_out in (False, True))
    assert not any(pair <= some for pair in HELD_OUT for some in trained)
    assert all(any(pair <= some for pair in HELD_OUT) for some in others)
    assert len({frozenset(some) for some in trained}) > 10 and all(1 <= len(some) <= 3 for some in trained)
    assert set().union(*trained) == {"person", "thing", "pet", "love", "count"}


@pytest.mark.parametrize("held_out", [False, True])
def test_each_condition_is_asked_of_the_story(held_out):
    """A story that lacks one thing that was asked for does not follow; one that has all does."""
    tasks = [instruction(seed, held_out) for seed in range(30)]
    stories = [story(seed) for seed in range(80)]
    for task in tasks:
        text, wanted = " ".join(task.given), kinds(task)
        for told in stories:
            has = [
                "person" not in wanted or bool(set(task.given) & set(told.world.people)),
                "pet" not in wanted or bool(set(task.given) & set(told.world.pets)),
                "count" not in wanted or f"{list(NUMBERS)[happenings(told.words) - 3]} things" in text,
            ]
            if task.is_right(told.words):
                assert all(has), text
            elif not wanted & {"love", "thing"} and ("person" not in wanted or "loves" not in text):
                assert not all(has), text


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

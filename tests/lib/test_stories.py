"""Stories by chance: whoever reads one finds the choices again, so every probability is exact, and every lie is found."""

import math
import random
import re
import subprocess
import sys

import pytest

from tfm_lib.corpora.stories import (
    BOYS,
    COLOURS,
    CONTAINERS,
    END,
    GIRLS,
    NUMBERS,
    PETS,
    PLACES,
    THINGS,
    Inconsistent,
    may_follow,
    read_story,
    story,
    world_of,
)  # fmt: skip

STORIES = [story(seed) for seed in range(300)]


def test_a_story_is_read_as_it_was_told():
    for told in STORIES:
        assert read_story(told.words) == told


def test_the_probabilities_of_what_may_follow_are_those_of_the_words_and_sum_to_one():
    for told in STORIES[:10]:
        for i, (word, surprise) in enumerate(zip(told.words, told.surprise, strict=True)):
            following = may_follow(told.words[:i])
            assert math.fsum(following.values()) == pytest.approx(1)
            assert -math.log(following[word]) == pytest.approx(surprise, abs=1e-12)
        assert may_follow(told.words) == {}


def test_drawing_word_by_word_from_them_tells_a_story():
    draw, words = random.Random(0), []
    while following := may_follow(words):
        words += draw.choices(list(following), list(following.values()))
    assert math.fsum(read_story(words).surprise) > 20


def test_stories_are_many_short_and_in_few_words():
    assert len({told.words for told in STORIES}) == len(STORIES)
    assert min(math.fsum(told.surprise) for told in STORIES) > math.log(1e12), "so many are as likely"
    lengths = [len(told.words) for told in STORIES]
    assert min(lengths) > 60 and max(lengths) < 160 and 110 < sum(lengths) / len(lengths) < 130
    names = [*GIRLS, *BOYS, *PLACES, *THINGS, *CONTAINERS, *COLOURS, *PETS]
    assert len(set(names)) == len(names)
    assert 200 < len({word for told in STORIES for word in told.words}) < 300
    happy = sum("happy" in told.words[-30:] for told in STORIES) / len(STORIES)
    assert 0.3 < happy < 0.6 and all(story(seed, titles=False).words[0] != "a" for seed in range(50))


def test_words_agree():
    for told in STORIES:
        assert not any(f" a {vowel}" in " ".join(told.words) for vowel in "aeiou")


def test_the_end_follows_from_the_story():
    for told in STORIES:
        name, thing = told.world.love
        text = " ".join(told.words)
        assert (
            (f"so {name} was happy" in text) == (told.world.where[thing] == name) == (f"so {name} was sad" not in text)
        )
        for said in text.split(" . ")[-2:]:
            subject, where = said.removesuffix(" .").replace("in the", "with").split(" was with ")
            assert told.world.where[subject.split()[-1]] == where


def test_what_a_title_says_comes_true():
    form = re.compile(r"a story(?: of (?:the (.+?)|(\w+)(?: and the (.+?))?))?(?: in (\w+) parts)?$")
    titles = [" ".join(told.words).partition(" : ")[0] for told in STORIES if ":" in told.words]
    assert 120 < len(titles) < 180 and len(set(titles)) > 100
    told_of = {"loved": 0, "hero": 0, "parts": 0}
    for told in STORIES:
        title, colon, text = " ".join(told.words).partition(" : ")
        if not colon:
            continue
        alone, hero, beside, parts = form.fullmatch(title).groups()
        name, thing = told.world.love
        loved = alone or beside
        assert hero in (None, name) and loved in (None, told.world.named(thing))
        if parts:
            told_of["parts"] += 1
            assert text.split(" loved ")[1].split(" in the end ")[0].count(".") - 1 == NUMBERS[parts]
        told_of["loved"] += bool(loved)
        told_of["hero"] += bool(hero)
    assert min(told_of.values()) > 15


def test_what_is_moved_comes_from_where_it_was():
    for told in STORIES:
        where: dict[str, str] = {}
        for sentence in " ".join(told.words).split(" . "):
            *moved, where_from = re.split(
                r" (?:went|ran) from (?:the )?| was (?:in the|with) | \w+ in the ", sentence, maxsplit=1
            )
            if not moved or "there were" in sentence:
                continue
            who, (old, *new) = moved[0].split()[-1], re.split(r" to (?:the )?| , | \.", where_from)
            assert where.setdefault(who, old) == old
            if " to " in where_from:
                where[who] = new[0]
        assert where == told.world.where


@pytest.mark.parametrize("change", ["a word that is not so", "a word of no story", "a word less", "a word more"])
def test_what_is_no_story_is_refused_where_it_goes_wrong(change):
    for told in STORIES[:20]:
        words, last = list(told.words), len(told.words) - 2
        if change == "a word more":
            words.append("once")
        elif change == "a word less":
            words.pop()
        else:
            others = [*PLACES, *GIRLS]
            words[last] = (
                "tfm" if change == "a word of no story" else next(each for each in others if each != words[last])
            )
        with pytest.raises(Inconsistent) as refused:
            read_story(words)
        error = refused.value
        assert (error.at, error.word) == {
            "a word more": (len(words) - 1, "once"),
            "a word less": (len(words), END),
        }.get(change, (last, words[last]))
        assert error.instead == ((END,) if change == "a word more" else (told.words[error.at],))


def test_another_process_tells_the_same():
    code = "from tfm_lib.corpora.stories import story; print(*story(7).words)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert tuple(done.stdout.split()) == STORIES[7].words


def test_what_is_true_is_known_after_every_beginning():
    told = next(told for told in STORIES if "from" in told.words)
    at = told.words.index("from")
    mover = told.words[at - 2]
    before, after = (world_of(told.words[:to]).where[mover] for to in (at, told.words.index(".", at)))
    assert before != after and before in told.words[at : at + 3]
    assert world_of([]).people == [] and world_of(told.words) == told.world
    with pytest.raises(Inconsistent):
        world_of(["once", "anna"])

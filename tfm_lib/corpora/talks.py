"""Ask about stories and for stories, and judge every answer by the world in which they are true.

A task is what is given, what is to be said, and how to judge whatever is said instead. Three kinds: a question about a
story that is given without its end, an instruction to tell one, and facts that must be put together (`facts`), each in
its own sentence and in any order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tfm_lib.corpora.stories import (
    CONTAINERS,
    GIRLS,
    BOYS,
    COLOURS,
    PLACES,
    NUMBERS,
    THINGS,
    Inconsistent,
    Story,
    World,
    read_story,
    story,
    story_words,
    world_of,
)  # fmt: skip

UNTOLD = "the story does not say .".split()
PEOPLE = frozenset({*GIRLS, *BOYS})
TRAINED, LONGER = range(1, 5), range(5, 7)  # steps from a thing to its place


@dataclass(frozen=True)
class Task:
    """What is `given`, the `answer` that is learned, and `is_right`, which judges any other."""

    kind: str
    given: tuple[str, ...]
    answer: tuple[str, ...]
    is_right: Callable[[Sequence[str]], bool]


def question(seed: int | str) -> Task:
    """Return a question about a story whose end isn't given; one in five asks for what the story does not say."""
    draw = random.Random(f"question {seed}")
    begin = without_end(story_words(f"question {seed}"))
    world = world_of(begin)
    asked, answer = draw.choice(_questions(world)) if draw.random() < 0.8 else _unanswerable(world, draw)
    given = (*begin, "question", ":", *asked.split(), "?", "answer", ":")
    said = (*answer.split(), ".") if answer else tuple(UNTOLD)
    return Task("question", given, said, lambda words: tuple(words) == said)


def without_end(words: Sequence[str]) -> tuple[str, ...]:
    """Return a story without the sentences that say how it ended: what they say can be asked then."""
    return tuple(words[: list(words).index("end") - 2])


def _questions(world: World) -> list[tuple[str, str]]:
    """All that can be asked about `world`, with the answer; each kind as often as another.

    An answer is a sentence as the stories have them, where they have one: whoever can tell stories knows how it ends.
    """
    where = [(f"where is {name}", f"{name} was in the {world.where[name]}") for name in world.people]
    who = [
        (f"who has the {world.named(thing)}", f"the {world.named(thing)} was with {world.where[thing]}")
        for thing in world.things
    ]
    colour = [(f"what colour is the {thing}", f"the {thing} is {colour}") for thing, colour in world.colours.items()]
    name, thing = world.love
    love = [
        (asked, f"{name} loved the {world.named(thing)}")
        for asked in (f"what does {name} love", f"who loves the {world.named(thing)}")
    ]
    kinds = [kind for kind in (where, who, colour, love) if kind]
    most = max(map(len, kinds))
    return [kind[i % len(kind)] for kind in kinds for i in range(most)]


def _unanswerable(world: World, draw: random.Random) -> tuple[str, str]:
    absent = draw.choice([each for each in THINGS if each not in world.where])
    stranger = draw.choice([each for each in (*GIRLS, *BOYS) if each not in world.where])
    asked = (
        f"who has the {draw.choice(COLOURS)} {absent}",
        f"what colour is the {absent}",
        f"where is {stranger}",
        f"what does {stranger} love",
    )
    return draw.choice(asked), ""


def _called(each: str) -> str:
    return each if each in PEOPLE else f"the {each}"


# What an instruction can ask for: how it is said, and whether a story with this world has it.
Condition = tuple[str, Callable[[Story], bool]]
WITH, WHICH = ("person", "thing", "pet"), ("love", "count")  # "a story with …", "in which …"


def conditions(told: Story, draw: random.Random) -> dict[str, Condition]:
    """Return what an instruction could ask for so that `told` follows it, by kind, with names drawn from the story's."""
    world = told.world
    lover, loved = world.love
    name, thing, pets = draw.choice(world.people), draw.choice([*world.colours, ""]), world.pets
    colour, count = world.colours.get(thing, ""), happenings(told.words)
    possible: dict[str, Condition] = {
        "person": (name, lambda other: name in other.world.people),
        "love": (
            f"{lover} loves the {world.named(loved)}",
            lambda other: _loves(other.world) == (lover, world.named(loved)),
        ),
        "count": (f"{list(NUMBERS)[count - 3]} things happen", lambda other: happenings(other.words) == count),
    }
    if thing:
        possible["thing"] = f"a {colour} {thing}", lambda other: other.world.colours.get(thing) == colour
    if pets:
        possible["pet"] = f"a {pets[0]}", lambda other: pets[0] in other.world.pets
    return possible


def _loves(world: World) -> tuple[str, str]:
    return world.love[0], world.named(world.love[1])


def happenings(words: Sequence[str]) -> int:
    """Return how many things happen in a story: its sentences between the love and the end."""
    words = list(words)
    begun = words.index(".", words.index("loved"))
    return words[begun + 1 : words.index("end")].count(".")


HELD_OUT = ({"love", "pet"}, {"count", "person"}, {"person", "thing"})  # asked together in no training


def instruction(seed: int | str, held_out: bool = False) -> Task:
    """Return an instruction with one to three conditions; `held_out`: a composition that no training asks for."""
    draw = random.Random(f"instruction {seed}")
    for attempt in range(1000):
        told = story(f"instruction {seed} {attempt}", titles=False)
        possible = conditions(told, draw)
        kinds = draw.sample(sorted(possible), draw.randint(1, 3))
        if held_out == any(pair <= {*kinds} for pair in HELD_OUT):
            break
    given = ["tell a story"]
    for word, some in (("with", WITH), ("in which", WHICH)):
        if wanted := [possible[kind][0] for kind in kinds if kind in some]:
            given.append(f"{word} {' and '.join(wanted)}")

    def is_right(words: Sequence[str]) -> bool:
        try:
            other = read_story(words)
        except Inconsistent:
            return False
        return all(possible[kind][1](other) for kind in kinds)

    return Task("instruction", tuple(f"{' '.join(given)} :".split()), tuple(told.words), is_right)


CHAINS = 3  # of facts, all of one length: whoever guesses among the places is right in one case of three


def facts(seed: int | str, hops: int, way: str = "answer") -> Task:
    """Return facts in any order and a question that needs `hops` of them, one after the other.

    `way` is how it is answered: at once ("answer"), with each fact in its turn ("think"), or after as many words that
    say nothing ("wait").
    """
    draw = random.Random(f"facts {seed}")
    things, containers = draw.sample(THINGS, CHAINS), draw.sample(CONTAINERS, len(CONTAINERS))
    people, places = draw.sample([*GIRLS, *BOYS], CHAINS), draw.sample(PLACES, CHAINS)
    links: list[list[tuple[str, str]]] = []
    for i in range(CHAINS):
        held = hops >= 3  # by somebody
        between = [containers.pop() for _ in range(hops - 1 - held)]
        nodes = [things[i], *between, *[people[i]] * held, places[i]]
        links.append(list(pairwise(nodes)))
    told = draw.sample([_fact(link) for chain in links for link in chain], CHAINS * hops)
    asked = links[draw.randrange(CHAINS)]
    place = asked[-1][1]
    steps = " ".join(map(_fact, asked)).split()
    answer = f"in the {place} .".split()
    before = {"answer": [], "think": [*steps, "so"], "wait": [*["then"] * len(steps), "so"]}[way]
    given = f"{' '.join(told)} question : where is the {asked[0][0]} ? {'think' if way != 'answer' else way} :".split()
    return Task(f"{way} {hops}", tuple(given), (*before, *answer), lambda words: [*words][-4:] == answer)


def _fact(link: tuple[str, str]) -> str:
    inner, outer = link
    return f"the {inner} was with {outer} ." if outer in PEOPLE else f"{_called(inner)} was in the {outer} ."

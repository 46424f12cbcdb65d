"""Tell short stories by chance, in a world that a program follows: of each, the probability is known exactly.

A story is told word by word. Where something is left to chance, the words that may come next differ in their first, so
whoever reads a story finds the same choices again: `read_story` gives the probability of every word, and what is true in
the world at the end. The best loss that a language model can reach on these stories is the mean of those numbers.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

GIRLS = (
    "ada alma anna bella clara dora ella emma eva fay flora grace hana ida ines iris jana julia kira lea lena lily lucy "
    "maya mia mina nina nora olga rosa ruth sara sofia tara vera yuna"
).split()
BOYS = (
    "adam alan ali anton ben bruno carl dan david eli emil erik finn fred hugo ian ivan jack jan joel jonas kim leo luis "
    "max milo noah omar otto paul peter ravi sam theo tom yuri"
).split()
PLACES = (
    "attic bakery barn castle cave cellar church field forest garden hall harbour hut kitchen library market meadow mill "
    "museum office park school shed station tower valley village yard"
).split()
THINGS = (
    "apple ball basin bell book bottle brush button candle chain clock coin comb cup doll drum feather flute hammer hat key kite knife "
    "ladder lamp lantern letter map medal mirror needle pear pencil pipe plate ring rope scarf shell shoe spoon stone string top "
    "torch violin whistle"
).split()
CONTAINERS = "bag barrel basket box bucket case chest crate jar pot sack trunk".split()
COLOURS = "black blue brown golden green grey pink purple red silver white yellow".split()
PETS = "cat dog duck goat goose hen horse mouse parrot pony rabbit turtle".split()
OPENINGS = ("once", "long ago", "one day", "last summer", "in a small town", "not far from here")
NUMBERS = {"three": 3, "four": 4, "five": 5, "six": 6}  # of what happens in a story
VERBS = ("laughed", "sang", "slept", "waited", "danced", "whistled")
# What stands between them; a model's vocabulary is all of these.
GLUE = (
    ", . : a ago and day end far five four from happy here in last long loved not of once one parts ran sad six small so "
    "story summer the there three to town was went were with"
).split()
WORDS = tuple(sorted({*GIRLS, *BOYS, *PLACES, *THINGS, *CONTAINERS, *COLOURS, *PETS, *VERBS, *GLUE}))
END = "(the end)"
LOVES = (0.0, 0.0, 0.5, 1.0)  # how probable it is that all things are introduced, after so many
FEW, MANY = 3, 6  # what happens in a story: at least, and at most
NAMES, KINDS = (*GIRLS, *BOYS), (*THINGS, *CONTAINERS)


@dataclass
class World:
    """What is true in a story: where everybody is, who has what, of which colour, and who loves what.

    `where` maps a person to a place, and a thing or a pet to a person.
    """

    people: list[str] = field(default_factory=list)
    where: dict[str, str] = field(default_factory=dict)
    colours: dict[str, str] = field(default_factory=dict)  # of things; a pet has none
    love: tuple[str, str] = ("", "")  # who loves what

    @property
    def things(self) -> list[str]:
        """All that somebody has."""
        return [each for each in self.where if each not in self.people]

    @property
    def pets(self) -> list[str]:
        return [each for each in self.things if each not in self.colours]

    def named(self, thing: str) -> str:
        """Return a thing with its colour, or a pet."""
        return f"{self.colours[thing]} {thing}" if thing in self.colours else thing


class Story(NamedTuple):
    """The words of a story, −log p of each, and the world at its end."""

    words: tuple[str, ...]
    surprise: tuple[float, ...]
    world: World


class Inconsistent(ValueError):
    """A text that is no story of this world: `at` is the number of the first word that may not stand there."""

    def __init__(self, at: int, word: str, instead: Sequence[str]):
        some = ", ".join(repr(each) for each in instead[:6]) + (", …" if len(instead) > 6 else "")
        super().__init__(f"Word {at + 1}, {word!r}, may not stand there; what may: {some}.")
        self.at, self.word, self.instead = at, word, tuple(instead)


class _Open(Exception):
    """The given words are a beginning: what may follow, with its probabilities."""

    def __init__(self, following: Mapping[str, float]):
        self.following = following


class _Teller:
    """Words that come one after the other: drawn by `draw`, or read from `given`, the whole or (`beginning`) a part.

    What is drawn need not be `scored`, which takes three quarters of the time.
    """

    def __init__(
        self,
        draw: random.Random | None = None,
        given: Sequence[str] = (),
        beginning: bool = False,
        scored: bool = True,
    ):
        self.draw, self.given, self.beginning, self.scored = draw, given, beginning, scored
        self.words: list[str] = []
        self.surprise: list[float] = []

    def say(self, text: str) -> None:
        """Go on with words that are determined."""
        self.choose({text: 1.0})

    def choose(self, options: Mapping[str, float]) -> str:
        """Go on with one of `options`, phrases with their weights, none of which another begins with."""
        chosen = self.draw.choices(list(options), list(options.values()))[0] if self.draw else ""
        if not self.scored:
            self.words += chosen.split()
            return chosen
        left, i = {tuple(option.split()): weight for option, weight in options.items()}, 0
        while any(len(words) > i for words in left):
            weights: dict[str, float] = {}
            for words, weight in left.items():
                weights[words[i]] = weights.get(words[i], 0.0) + weight
            word = chosen.split()[i] if self.draw else self._given(weights)
            self.words.append(word)
            self.surprise.append(math.log(math.fsum(weights.values()) / weights[word]))
            left, i = {words: weight for words, weight in left.items() if words[i] == word}, i + 1
        ((words, _),) = left.items()
        return " ".join(words)

    def of(self, options: Iterable[str]) -> str:
        """Go on with one of `options`, all equally likely."""
        return self.choose(dict.fromkeys(options, 1.0))

    def _given(self, weights: Mapping[str, float]) -> str:
        """The word that is given here, one of those that have `weights`."""
        at = len(self.words)
        if at == len(self.given) and self.beginning:
            raise _Open({word: weight / math.fsum(weights.values()) for word, weight in weights.items()})
        word = self.given[at] if at < len(self.given) else END
        if word not in weights:
            raise Inconsistent(at, word, sorted(weights))
        return word


def story(seed: int | str = 0, titles: bool = True) -> Story:
    """Return the story that belongs to `seed`, with a title in one case of two; without `titles`, in none.

    It does not depend on how many others are told.
    """
    teller = _Teller(random.Random(f"stories {seed}"))
    world = _tell(teller, titles)
    return Story(tuple(teller.words), tuple(teller.surprise), world)


def story_words(seed: int | str = 0) -> list[str]:
    """Return the words of `story(seed)`, in a fraction of its time."""
    teller = _Teller(random.Random(f"stories {seed}"), scored=False)
    _tell(teller)
    return teller.words


def read_story(words: Sequence[str]) -> Story:
    """Return the story that `words` tell, with −log p of each and the world at its end.

    Raises Inconsistent at the first word that may not stand where it stands: one that breaks the grammar, or says what
    is not so in this world.
    """
    return _read(_Teller(given=words))


def is_story(words: Sequence[str]) -> bool:
    """Return whether `words` are a whole story that contradicts nothing."""
    try:
        read_story(words)
    except Inconsistent:
        return False
    return True


def _read(teller: _Teller) -> Story:
    world, words = _tell(teller), teller.given
    if len(words) > len(teller.words):
        raise Inconsistent(len(teller.words), words[len(teller.words)], [END])
    return Story(tuple(teller.words), tuple(teller.surprise), world)


def may_follow(words: Sequence[str]) -> dict[str, float]:
    """Return the words that may follow the beginning `words` of a story, with their probabilities; none after its end.

    Raises Inconsistent if no story begins so.
    """
    try:
        _read(_Teller(given=words, beginning=True))
    except _Open as place:
        return dict(place.following)
    return {}


def world_of(words: Sequence[str]) -> World:
    """Return what is true after `words`, a story or its beginning; raises Inconsistent as `may_follow`."""
    world = World()
    with suppress(_Open):
        _tell(_Teller(given=words, beginning=True), world=world)
    return world


def _tell(teller: _Teller, titles: bool = True, world: World | None = None) -> World:
    world = world or World()
    title = _title(teller, titles)
    _introduce(teller, world, title)
    fewest, most = (title.parts, title.parts) if title.parts else (FEW, MANY)
    for happened in range(most + 1):
        ends = 0.0 if happened < fewest else 1.0 if happened == most else 0.3
        if not _happen(teller, world, ends):
            break
    _end(teller, world)
    return world


class Title(NamedTuple):
    """What a title says in advance; what it leaves open is empty, or 0."""

    hero: str = ""  # who loves something
    loved: str = ""  # what is loved: a pet, or a thing with its colour
    parts: int = 0  # how much happens


def _title(teller: _Teller, titles: bool) -> Title:
    """Begin the story; half of them have a title."""
    many = len(OPENINGS)
    if teller.choose(_possible({**dict.fromkeys(OPENINGS, 1.0), "a": many * titles})) != "a":
        teller.say("there were")
        return Title()
    teller.say("story")
    hero = loved = ""
    parts, more = 0, teller.choose({"of": 4.0, "in": 1.0})
    if more == "of":
        more = hero = teller.choose({"the": len(NAMES) / 2, **dict.fromkeys(NAMES, 1.0)})
        if hero == "the":
            hero = ""
        else:
            more = teller.choose({"and the": 2.0, "in": 1.0, ":": 1.0})
        if more.endswith("the"):
            loved = teller.choose({**dict.fromkeys(COLOURS, 1.0), **dict.fromkeys(PETS, 0.4)})
            loved += f" {teller.of(KINDS)}" if loved in COLOURS else ""
            more = teller.of(("in", ":"))
    if more == "in":
        parts = NUMBERS[teller.of(NUMBERS)]
        teller.say("parts :")
    teller.of(OPENINGS)
    teller.say("there were")
    return Title(hero, loved, parts)


def _introduce(teller: _Teller, world: World, title: Title) -> None:
    """Say who there is, where they are, what they have, and who loves what."""
    for left, after in zip((3, 2, 1), (",", "and", ".")):
        due = 1 / left if title.hero and title.hero not in world.people else 0.0
        others = [name for name in NAMES if name not in (*world.people, title.hero)]
        world.people.append(
            teller.choose(_possible({**dict.fromkeys(others, (1 - due) / len(others)), title.hero: due}))
        )
        teller.say(after)
    for name in world.people:
        teller.say(f"{name} was in the")
        world.where[name] = teller.of(PLACES)
        teller.say(".")
    while True:
        loves = LOVES[len(world.things)]
        lovers = [title.hero] if title.hero else world.people
        first = teller.choose(_possible({"a": 1 - loves, **dict.fromkeys(lovers, loves / len(lovers))}))
        if first != "a":
            teller.say("loved the")
            loved = [title.loved] if title.loved else map(world.named, world.things)
            world.love = first, teller.of(loved).split()[-1]
            teller.say(".")
            return
        thing = _new(teller, world, title.loved)
        teller.say("was with")
        world.where[thing] = teller.of(world.people)
        teller.say(".")


def _new(teller: _Teller, world: World, wanted: str) -> str:
    """Name a thing or a pet that is new in the story: what the title names is the first of them, or the second."""
    kind = wanted.rsplit(maxsplit=1)[-1] if wanted else ""
    due = 0.0 if not wanted or kind in world.where else 1.0 if world.things else 0.5
    others = [each for each in KINDS if each not in world.colours and each != kind]
    weights = {**dict.fromkeys(COLOURS, 1.0), **({} if world.pets or kind in PETS else dict.fromkeys(PETS, 0.4))}
    first = wanted.split(maxsplit=1)[0] if wanted else ""
    rest = {each: (1 - due) * weight / sum(weights.values()) for each, weight in weights.items()}
    chosen = teller.choose(_possible({**rest, first: rest.get(first, 0.0) + due}))
    if chosen in PETS:
        return chosen
    among = dict.fromkeys(others, rest[chosen] / len(others))
    thing = teller.choose(_possible({**among, kind: due} if chosen == first else among))
    world.colours[thing] = chosen
    return thing


def _happen(teller: _Teller, world: World, ends: float) -> bool:
    """Tell one thing that happens; return False where the story comes to its end instead."""
    going = 1 - ends
    things = {f"the {world.named(each)}": going * (1.4 if each == world.love[1] else 0.8) for each in world.things}
    chosen = teller.choose(_possible({**dict.fromkeys(world.people, going), **things, "in the end": 4 * ends}))
    if chosen == "in the end":
        return False
    if chosen in world.people:
        verb, place = teller.choose({"went": 3.0, **dict.fromkeys(VERBS, 0.3)}), world.where[chosen]
        if verb != "went":
            teller.say(f"in the {place}")
        else:
            teller.say(f"from the {place} to the")
            known = {world.where[name] for name in world.people}
            others = {each: 6.0 if each in known else 1.0 for each in PLACES if each != place}
            world.where[chosen] = teller.choose(others)
    else:
        thing = chosen.split()[-1]
        holder = world.where[thing]
        teller.say(f"{'ran' if thing in PETS else 'went'} from {holder} to")
        others = {name: 3.0 if (name, thing) == world.love else 1.0 for name in world.people if name != holder}
        world.where[thing] = teller.choose(others)
    teller.say(".")
    return True


def _end(teller: _Teller, world: World) -> None:
    """Say how it ended for whoever loved something, and where two of all the others are."""
    name, thing = world.love
    holder = world.where[thing]
    teller.say(f"the {world.named(thing)} was with {holder} , so {name} was {'happy' if holder == name else 'sad'} .")
    left = [*world.people, *(f"the {world.named(each)}" for each in world.things if each != thing)]
    for _ in range(2):
        told = teller.of(left)
        left.remove(told)
        teller.say(f"was {'in the' if told in world.people else 'with'} {world.where[told.split()[-1]]} .")


def _possible(options: Mapping[str, float]) -> dict[str, float]:
    return {option: weight for option, weight in options.items() if weight > 0}

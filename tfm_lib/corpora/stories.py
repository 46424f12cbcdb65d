"""Tell short stories by chance, in a world that a program follows: of each, the probability is known exactly.

A story is told word by word. Where something is left to chance, the words that may come next differ in their first, so
whoever reads a story finds the same choices again: `read_story` gives the probability of every word, and what is true in
the world at the end. The best loss that a language model can reach on these stories is the mean of those numbers.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
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
VERBS = ("laughed", "sang", "slept", "waited", "danced", "whistled")
# What stands between them; a model's vocabulary is all of these.
GLUE = (
    ", . : a ago and day end far from happy here in last long loved not once one ran sad small so summer the there to town "
    "was went were with"
).split()
WORDS = tuple(sorted({*GIRLS, *BOYS, *PLACES, *THINGS, *CONTAINERS, *COLOURS, *PETS, *VERBS, *GLUE}))
END = "(the end)"
LOVES = (0.0, 0.0, 0.5, 1.0)  # how probable it is that all things are introduced, after so many
FEW, MANY = 3, 6  # what happens in a story: at least, and at most


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


def story(seed: int | str = 0) -> Story:
    """Return the story that belongs to `seed`; it does not depend on how many others are told."""
    teller = _Teller(random.Random(f"stories {seed}"))
    world = _tell(teller)
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


def _tell(teller: _Teller) -> World:
    world = World()
    _introduce(teller, world)
    for happened in range(MANY + 1):
        ends = 0.0 if happened < FEW else 1.0 if happened == MANY else 0.3
        if not _happen(teller, world, ends):
            break
    _end(teller, world)
    return world


def _introduce(teller: _Teller, world: World) -> None:
    """Say who there is, where they are, what they have, and who loves what."""
    hero, thing = _title(teller)
    for left, after in zip((3, 2, 1), (",", "and", ".")):
        others = [name for name in (*GIRLS, *BOYS) if name not in (*world.people, hero)]
        first = 0.0 if hero in ("", *world.people) else 1 / left
        weights = {**dict.fromkeys(others, (1 - first) / len(others)), hero: first}
        world.people.append(teller.choose(_possible(weights)))
        teller.say(after)
    for name in world.people:
        teller.say(f"{name} was in the")
        world.where[name] = teller.of(PLACES)
        teller.say(".")
    while True:
        loves = LOVES[len(world.things)]
        lovers = [hero] if hero else world.people
        first = teller.choose(_possible({"a": 1 - loves, **dict.fromkeys(lovers, loves / len(lovers))}))
        if first != "a":
            teller.say("loved the")
            world.love = first, teller.of([thing] if thing else map(world.named, world.things)).split()[-1]
            teller.say(".")
            return
        each = teller.choose(_new(world, thing))
        if each not in PETS:
            world.colours[each.split()[-1]] = each.split()[0]
        teller.say("was with")
        world.where[each.split()[-1]] = teller.of(world.people)
        teller.say(".")


def _title(teller: _Teller) -> tuple[str, str]:
    """Begin the story; half of them have a title that names who loves what."""
    names = (*GIRLS, *BOYS)
    hero = teller.choose({**dict.fromkeys(OPENINGS, 1.0), **dict.fromkeys(names, len(OPENINGS) / len(names))})
    if hero in OPENINGS:
        teller.say("there were")
        return "", ""
    teller.say("and the")
    thing = f"{teller.of(COLOURS)} {teller.of((*THINGS, *CONTAINERS))}"
    teller.say(":")
    teller.of(OPENINGS)
    teller.say("there were")
    return hero, thing


KINDS = (*THINGS, *CONTAINERS)
ALL = tuple(f"{colour} {each}" for colour in COLOURS for each in KINDS)


def _new(world: World, wanted: str) -> dict[str, float]:
    """What may be introduced: what the title names is the first thing or the second."""
    taken, pets = set(world.colours), {} if world.pets else dict.fromkeys(PETS, 0.4)
    due = 0.0 if not wanted or wanted.split()[-1] in taken else 1.0 if world.things else 0.5
    free = [each for each in ALL if each != wanted and each.split()[1] not in taken and (not wanted or each.split()[1] != wanted.split()[1])]
    rest = (1 - due) / (len(COLOURS) + sum(pets.values()))
    weights = {**dict.fromkeys(free, rest * len(COLOURS) / len(free)), **{pet: rest * weight for pet, weight in pets.items()}}
    return _possible({**weights, **({wanted: due} if due else {})})


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

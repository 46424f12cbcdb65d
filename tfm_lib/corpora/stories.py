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
    "apple ball bell book bottle brush button candle clock coin comb cup doll drum feather flute hammer hat key kite knife "
    "ladder lamp letter map medal mirror needle pear pencil pipe plate ring rope scarf shell shoe spoon stone string top "
    "torch violin whistle"
).split()
CONTAINERS = "bag barrel basket box bucket case chest crate jar pot sack trunk".split()
COLOURS = "black blue brown golden green grey pink purple red silver white yellow".split()
PETS = "cat dog duck goat goose hen horse mouse parrot pony rabbit turtle".split()
PRONOUNS = {**dict.fromkeys(GIRLS, ("she", "her", "her")), **dict.fromkeys(BOYS, ("he", "his", "him"))}
OPENINGS = ("once", "long ago", "one day", "last summer", "in a small town", "not far from here")
TIES = ("friend", "neighbour", "cousin", "teacher")
VERBS = ("laughed", "sang", "slept", "waited", "danced", "whistled")
# What stands between them; a model's vocabulary is all of these.
GLUE = (
    ", . a ago and asked boy called day did end far followed for from gave girl had happy have he her here him his in it "
    "last left long looked no not once one put ran sad said saw she sister brother small so summer the there to took town "
    "wanted was went"
).split()
WORDS = tuple(sorted({*GIRLS, *BOYS, *PLACES, *THINGS, *CONTAINERS, *COLOURS, *PETS, *TIES, *VERBS, *GLUE}))
END = "(the end)"
FEW, MANY = 3, 6  # what happens in a story: at least, and at most
BELONGINGS = 2, 4  # things, containers and pets that a story begins with


@dataclass
class World:
    """What is true in a story: where everybody and everything is, who wants what, and what colour things have.

    `where` maps a person, a pet, a thing or a container to the place, the person or the container that holds it.
    """

    people: list[str] = field(default_factory=list)
    pets: dict[str, str] = field(default_factory=dict)
    where: dict[str, str] = field(default_factory=dict)
    wish: tuple[str, str] = ("", "")  # who wants what
    colours: dict[str, str] = field(default_factory=dict)

    def chain(self, of: str) -> list[str]:
        """Return what holds `of`, what holds that, and so on; a place is the last."""
        found = []
        while of in self.where:
            of = self.where[of]
            found.append(of)
        return found

    def place(self, of: str) -> str:
        """Return the place in which `of` is."""
        return self.chain(of)[-1]


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
    _introduce_people(teller, world)
    _introduce_belongings(teller, world)
    subject = ""
    for happened in range(MANY + 1):
        ends = 0.0 if happened < FEW else 1.0 if happened == MANY else 0.3
        subject = _happen(teller, world, subject, ends)
        if not subject:
            break
    _end(teller, world)
    return world


def _introduce_people(teller: _Teller, world: World) -> None:
    teller.of(OPENINGS)
    teller.say("there was a")
    first = teller.of(GIRLS if teller.of(("girl called", "boy called")).startswith("girl") else BOYS)
    teller.say(f". {PRONOUNS[first][0]} was in the")
    world.people.append(first)
    world.where[first] = teller.of(PLACES)
    teller.say(f". {PRONOUNS[first][1]}")
    tie = teller.of((*TIES, "sister", "brother"))
    others = {"sister": GIRLS, "brother": BOYS}.get(tie, [*GIRLS, *BOYS])
    second = teller.of(name for name in others if name != first)
    teller.say("was in the")
    world.people.append(second)
    world.where[second] = teller.choose(_near(world))
    teller.say(".")


def _introduce_belongings(teller: _Teller, world: World) -> None:
    """What there is, up to the wish with which the story proper begins: who wants what."""
    least, most = BELONGINGS
    while True:
        there = len(world.colours) + len(world.pets)
        things = [each for each in world.colours if each in THINGS]
        wishes = {name: [each for each in things if world.where[each] != name] for name in world.people}
        wish = 0.0 if there < least or not things else 1.0 if there >= most else 0.4
        has = dict.fromkeys(world.people, 1.0 if wish < 1 else 0.0)
        subjects = {name: has[name] + wish * bool(wishes[name]) for name in world.people}
        subject = teller.choose(_possible({**subjects, "in the": 0.7 * (wish < 1)}))
        if subject == "in the":
            place = teller.choose(_near(world))
            teller.say("was a")
            _introduce_thing(teller, world, place, pets=False)
            continue
        verb = teller.choose(_possible({"had a": has[subject], "wanted the": wish * bool(wishes[subject])}))
        if verb == "wanted the":
            world.wish = subject, teller.of(wishes[subject])
            teller.say(".")
            return
        _introduce_thing(teller, world, subject, pets=not world.pets)


def _introduce_thing(teller: _Teller, world: World, holder: str, pets: bool) -> None:
    kind = teller.choose({**dict.fromkeys(COLOURS, 1.0), **(dict.fromkeys(PETS, 0.2) if pets else {})})
    if kind in PETS:
        world.pets[kind], world.where[kind] = holder, holder
    else:
        new = {**dict.fromkeys(THINGS, 1.0), **dict.fromkeys(CONTAINERS, 2.0)}
        thing = teller.choose({each: weight for each, weight in new.items() if each not in world.colours})
        world.colours[thing], world.where[thing] = kind, holder
    teller.say(".")


def _happen(teller: _Teller, world: World, last: str, ends: float) -> str:
    """Tell one thing that happens, and return who did it; "" where the story comes to its end instead."""
    going = 1 - ends
    subjects = dict.fromkeys(world.people, going)
    if last in world.people:
        subjects[PRONOUNS[last][0]] = going
    pets = {f"the {pet}": 0.5 * going for pet in world.pets}
    chosen = teller.choose(_possible({**subjects, **pets, "in the end": ends * 2.5}))
    if chosen == "in the end":
        return ""
    if chosen.startswith("the "):
        subject = chosen.removeprefix("the ")
        _pet(teller, world, subject)
    else:
        subject = last if chosen in ("she", "he") else chosen
        _act(teller, world, subject)
    teller.say(".")
    return subject


def _pet(teller: _Teller, world: World, pet: str) -> None:
    place = world.place(pet)
    near = [name for name in world.people if world.where[name] == place and world.where[pet] != name]
    verb = teller.choose(_possible({"slept": 1.0, "ran to the": 1.5, "followed": 2.0 * bool(near)}))
    if verb == "followed":
        world.where[pet] = teller.of(near)
    elif verb == "ran to the":
        world.where[pet] = teller.choose(_near(world, beside=place))


def _act(teller: _Teller, world: World, name: str) -> None:
    """One thing that `name` does. Whoever wants something mostly does what brings it nearer."""
    place = world.where[name]
    objects = list(world.colours)
    held = [each for each in objects if world.where[each] == name]
    free = [each for each in objects if _is_free(world, each, place)]
    near = [each for each in world.people if each != name and world.where[each] == place]
    theirs = [each for each in objects if world.where[each] in near]
    far = [each for each in objects if world.place(each) != place]
    into = {each: _open(world, each, name) for each in held}
    wanted = world.wish[1] if name == world.wish[0] and name not in world.chain(world.wish[1]) else ""

    def prefer(options: Iterable[str], best: str, times: float = 8.0) -> dict[str, float]:
        return {each: times if each == best else 1.0 for each in options}

    verb = teller.choose(
        _possible(
            {
                "went to the": 6.0 if wanted in far else 2.0,
                "took the": (20.0 if wanted in free else 2.0) * bool(free),
                "asked": (20.0 if wanted in theirs else 1.0) * bool(theirs),
                "put the": 2.0 * any(into.values()),
                "gave the": 1.5 * bool(held and near),
                "left the": 0.5 * bool(held),
                "looked for the": 0.7 * bool(far),
                "saw": 0.5 * bool(near),
                **dict.fromkeys(VERBS, 0.15),
            }
        )
    )
    if verb == "went to the":
        places = _near(world, beside=place)
        if wanted in far:
            places[world.place(wanted)] *= 6
        world.where[name] = teller.choose(places)
    elif verb == "took the":
        thing = teller.choose(prefer(free, wanted))
        if world.where[thing] != place:
            teller.say(f"from the {world.where[thing]}")
        _move(world, thing, name)
    elif verb == "put the":
        thing = teller.choose(prefer((each for each in held if into[each]), world.wish[1], 0.3))
        teller.say("in the")
        _move(world, thing, teller.of(into[thing]))
    elif verb == "left the":
        thing = teller.choose(prefer(held, world.wish[1], 0.3))
        teller.say("there")
        _move(world, thing, place)
    elif verb == "gave the":
        thing = teller.choose(prefer(held, world.wish[1], 0.3 if name == world.wish[0] else 3.0))
        teller.say("to")
        _move(world, thing, teller.of(near))
    elif verb == "asked":
        other = teller.choose(prefer(dict.fromkeys(world.where[each] for each in theirs), world.where.get(wanted, "")))
        teller.say("for the")
        thing = teller.choose(prefer((each for each in theirs if world.where[each] == other), wanted))
        teller.say(f", and {PRONOUNS[other][0]}")
        if teller.choose({f"gave it to {PRONOUNS[name][2]}": 3.0, "said no": 1.0}) != "said no":
            _move(world, thing, name)
    elif verb == "looked for the":
        teller.choose(prefer(far, wanted))
    elif verb == "saw":
        teller.of(near)


def _end(teller: _Teller, world: World) -> None:
    """How the wish ended, and where two of all that the story is about are now: what is determined by what was told."""
    name, thing = world.wish
    has = name in world.chain(thing)
    teller.say(name + (f" had the {thing} , so" if has else f" did not have the {thing} , so"))
    teller.say(f"{PRONOUNS[name][0]} was {'happy' if has else 'sad'} .")
    asked = [*world.people, *(f"the {each}" for each in (*world.pets, *world.colours))]
    for _ in range(2):
        told = teller.of(asked)
        asked.remove(told)
        teller.say(f"was in the {world.place(told.removeprefix('the '))} .")


def _near(world: World, beside: str = "") -> dict[str, float]:
    """The places, those that the story knows already first among them; without the one that is `beside`."""
    known = set(world.where.values())
    return {place: 6.0 if place in known else 0.2 for place in PLACES if place != beside}


def _possible(options: Mapping[str, float]) -> dict[str, float]:
    return {option: weight for option, weight in options.items() if weight > 0}


def _is_free(world: World, thing: str, place: str) -> bool:
    """Whether `thing` lies in `place`, or in containers that do: in nobody's hands."""
    chain = world.chain(thing)
    return chain[-1] == place and not any(each in world.people for each in chain)


def _open(world: World, thing: str, name: str) -> list[str]:
    """The containers into which `name` can put `thing`: hers or within reach, and not inside of it."""
    place = world.where[name]
    return [
        each
        for each in world.colours
        if each in CONTAINERS
        and each != thing
        and thing not in world.chain(each)
        and (name in world.chain(each) or _is_free(world, each, place))
    ]


def _move(world: World, thing: str, to: str) -> None:
    del world.where[thing]  # what came last is last
    world.where[thing] = to

"""Generate small stories about people, places and things, with questions that need one or two of the facts.

They resemble the bAbI tasks 1 and 2 (Weston et al., 2015), with our own names and rules.
"""

import random
from collections.abc import Sequence

import torch
from torch import Tensor

from tfm_lib.corpora.corpus import PAD_ID, Corpus, Pair

PEOPLE = ("ada", "ben", "cleo", "dan")
PLACES = ("garden", "kitchen", "library", "office", "station", "tower")
THINGS = ("apple", "ball", "coin", "drum")


def questions(size: int = 6000, min_facts: int = 6, max_facts: int = 10, seed: int = 0) -> Corpus:
    """Generate `size` distinct stories with a question; half of them need one fact, half need two.

    Facts are "ada went to the garden" and "ben took the apple"; a person is where they went last, a thing is
    where its taker is. The target is the place, linked to one word in each fact that the answer needs: the place in
    the person's last move and, for a question about a thing, the thing in the fact that says who took it.
    """
    if not 3 <= min_facts <= max_facts:
        raise ValueError(f"Need 3 ≤ min_facts ≤ max_facts; got {min_facts} and {max_facts}.")
    draw, pairs = random.Random(f"questions {seed}"), {}
    for _ in range(20 * size):
        pair = _story(draw, draw.randint(min_facts, max_facts), two_facts=len(pairs) % 2 == 1)
        if pair is not None:
            pairs.setdefault(pair.src, pair)
        if len(pairs) == size:
            break
    return Corpus("questions", tuple(pairs.values()))


def _story(draw: random.Random, n_facts: int, two_facts: bool) -> Pair | None:
    """Return a story with an answerable question; None if this draw answers none of the wanted kind."""
    facts, where, taker = [], {}, {}
    for i in range(n_facts):
        person = draw.choice(PEOPLE)
        left = [thing for thing in THINGS if thing not in taker]
        if left and draw.random() < 0.35:
            thing = draw.choice(left)
            taker[thing] = (person, i)
            facts.append([person, "took", "the", thing])
        else:
            place = draw.choice([place for place in PLACES if place != where.get(person, ("",))[0]])
            where[person] = (place, i)
            facts.append([person, "went", "to", "the", place])
    asked = [thing for thing, (person, _) in taker.items() if person in where] if two_facts else list(where)
    if not asked:
        return None
    subject = draw.choice(asked)
    person = taker[subject][0] if two_facts else subject
    place, move = where[person]
    supports = [move, taker[subject][1]] if two_facts else [move]
    starts = [sum(len(fact) + 1 for fact in facts[:i]) for i in range(n_facts)]
    links = frozenset((0, starts[i] + len(facts[i]) - 1) for i in supports)
    question = ["where", "is", "the", subject, "?"] if two_facts else ["where", "is", subject, "?"]
    return Pair(tuple([word for fact in facts for word in [*fact, "."]] + question), (place,), links)


def facts_of(pair: Pair) -> tuple[list[list[str]], list[str], list[int]]:
    """Return the facts of a story, its question, and the indices of the needed facts in the order of the story."""
    facts, fact, owner = [], [], []
    for word in pair.src:
        owner.append(len(facts))
        if word == ".":
            facts.append(fact)
            fact = []
        else:
            fact.append(word)
    return facts, fact, sorted(owner[j] for _, j in pair.links)


def memory_tensors(corpus: Corpus, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the inputs of a memory network: facts (batch, m, words) and questions (batch, words) as source ids,
    answers (batch,) as target ids, and which facts are needed (batch, m). Facts and questions are padded; a row of
    padding is not a fact.
    """
    parsed = [facts_of(pair) for pair in pairs]
    m, words = (
        max(len(facts) for facts, _, _ in parsed),
        max(len(fact) for facts, q, _ in parsed for fact in [*facts, q]),
    )
    needed = torch.zeros(len(pairs), m, dtype=torch.bool)
    memory = torch.full((len(pairs), m, words), PAD_ID)
    asked = torch.full((len(pairs), words), PAD_ID)
    for b, (facts, question, supports) in enumerate(parsed):
        needed[b, supports] = True
        asked[b, : len(question)] = torch.tensor(corpus.src_vocab.encode(question))
        for i, fact in enumerate(facts):
            memory[b, i, : len(fact)] = torch.tensor(corpus.src_vocab.encode(fact))
    answers = torch.tensor([corpus.tgt_vocab.encode(pair.tgt)[0] for pair in pairs])
    return memory, asked, answers, needed

"""Teach the tuned decoder to write its steps before it answers: the fourth stage of the assistant.

    TFM_RUNS=trained python -m experiments.assistant_think        # an hour on one core

All runs start from the tuned model that comes with the book, seed 0 of `assistant_follow`. The measures were written
down before the first run that counts. A question needs one to six facts, one after the other; one to four are trained. Each model is
taught, a third of its examples each, to answer at once (`answer`), to write its steps first (`think`), and to write as many
words that say nothing (`wait`). `right`: the share of 200 unseen questions answered rightly, by way and number of facts;
three answers are possible, so that guessing gets a third. `words`: how many were written for it. `votes`: by way, of the
answers to 100 questions of each number of facts, drawn at temperature 1: the share right of the most frequent of k.
`rounds`: a model that was shown `SHOWN` examples with steps answers `QUESTIONS` new questions and learns from those of its
answers whose end is right, three times (STaR); the share right with steps, of all numbers of facts, before and after each.
"""

from typing import Any

import torch

from experiments.assistant_runs import are_right, example, said, share, tuned
from experiments.record import Made, record
from tfm_lib.assistant import majority
from tfm_lib.corpora.talks import LONGER, TRAINED, Task, facts
from tfm_lib.data import Example
from tfm_lib.engine.assistant import shipped
from tfm_lib.engine.writer import VOCABULARY
from tfm_lib.transformer import DecoderOnly

NAME = "assistant_think"
SEEDS = [0, 1, 2, 3, 4]
WAYS, HOPS = ("answer", "think", "wait"), (*TRAINED, *LONGER)
EXAMPLES, STEPS, RATE = 9000, 3000, 1e-3
ASKED, VOTED, VOTES = 200, 100, [1, 3, 5, 9]
SHOWN, SHOWN_STEPS, QUESTIONS, ROUNDS, ROUND_STEPS = 60, 150, 800, 3, 300


def asked(way: str, hops: int, count: int) -> list[Task]:
    return [facts(f"asked {i}", hops, way) for i in range(count)]


def shown(count: int, seed: int, ways: tuple[str, ...]) -> list[Example]:
    hops = len(TRAINED)
    return [example(facts(f"shown {seed} {i}", TRAINED[i % hops], ways[i // hops % len(ways)])) for i in range(count)]


def spoken(model: DecoderOnly, tasks: list[Task], temperature: float = 0.0, seed: int = 0) -> list[list[str]]:
    return said(model, [task.given for task in tasks], 60, temperature, seed)


def by_hops(model: DecoderOnly, way: str) -> dict[str, list[float]]:
    right, words = [], []
    for hops in HOPS:
        tasks = asked(way, hops, ASKED)
        texts = spoken(model, tasks)
        right.append(share(are_right(tasks, texts)))
        words.append(round(sum(map(len, texts)) / ASKED, 1))
    return {"right": right, "words": words}


def votes(model: DecoderOnly, way: str, seed: int) -> list[float]:
    tasks = [task for hops in HOPS for task in asked(way, hops, VOTED)]
    drawn = [spoken(model, tasks, 1.0, 100 * seed + k) for k in range(max(VOTES))]
    ends = [[" ".join(texts[i][-4:]) for texts in drawn] for i in range(len(tasks))]
    return [share(are_right(tasks, [majority(each[:k]).split() for each in ends])) for k in VOTES]


def rounds(model: DecoderOnly, seed: int) -> list[float]:
    """Return the share right with steps after each round of learning from one's own right answers."""
    tests = [task for hops in HOPS for task in asked("think", hops, VOTED)]
    model = tuned(model, shown(SHOWN, seed, ("think",)), SHOWN_STEPS, seed, RATE)
    found = [share(are_right(tests, spoken(model, tests)))]
    for k in range(ROUNDS):
        tasks = [facts(f"round {seed} {k} {i}", TRAINED[i % len(TRAINED)], "think") for i in range(QUESTIONS)]
        texts = spoken(model, tasks, 0.7, seed)
        good = [
            Example(VOCABULARY.encode(task.given), VOCABULARY.encode(text))
            for task, text, right in zip(tasks, texts, are_right(tasks, texts), strict=True)
            if right
        ]
        if good:  # else there is nothing to learn from
            model = tuned(model, good, ROUND_STEPS, seed, RATE)
        found.append(share(are_right(tests, spoken(model, tests))))
    return found


def run(seed: int) -> Made:
    """Train once and return all measurements."""
    before = shipped("follow")
    model = tuned(before, shown(EXAMPLES, seed, WAYS), STEPS, seed, RATE)
    found: dict[str, Any] = {"seed": seed, **{way: by_hops(model, way) for way in WAYS}}
    found["votes"] = {way: votes(model, way, seed) for way in WAYS[:2]}
    found["rounds"] = rounds(before, seed)
    print(found, flush=True)
    return found, model


def main() -> None:
    torch.set_num_threads(1)
    what = (
        f"Facts to be put together, one to six of them, answered at once, with steps, or after as many empty words. Shares "
        f"right of {ASKED} questions for each number of facts (one to four are trained), and words written; votes: the most "
        f"frequent of {VOTES} answers at temperature 1; rounds: learning from one's own right answers, {SHOWN} shown first."
    )
    with record(NAME, what) as numbers:
        made = numbers.pieces("think", SEEDS, run, STEPS)
        numbers["runs"] = {"think": [{key: one[key] for key in one if key != "cpu_seconds"} for one in made]}
        numbers.rows("think", "runs/think")


if __name__ == "__main__":
    main()

"""Teach the decoder that writes stories to answer and to do as it is told: the second stage of the assistant.

    TFM_RUNS=trained python -m experiments.assistant_follow        # an hour and a half on one core

All runs start from the base model that comes with the book, seed 0 of `assistant_base`. The measures were written down
before the first run that counts. Half of the examples are questions about a story, one in five of which it doesn't answer; half
are instructions to tell one. `questions`: the share of 400 unseen questions answered rightly whose answer the story tells,
and `untold` of those that it doesn't; `follow`: the share of 150 unseen instructions followed, by a story that contradicts
nothing, and `new` of 150 that combine what no training combines; `forgotten`: nats per word on 300 held-out stories. A
seed draws the examples and their order.
"""

from functools import partial

import torch

from experiments.assistant_runs import are_right, example, forgotten, said, share, tuned
from experiments.record import Made, record
from tfm_lib.corpora.talks import UNTOLD, instruction, question
from tfm_lib.engine.assistant import shipped
from tfm_lib.transformer import DecoderOnly

NAME = "assistant_follow"
SEEDS = [0, 1, 2, 3, 4]
SIZES = {100: 200, 1000: 800, 10000: 3200}  # examples, and updates
RATE = 1e-3
ASKED, TOLD, LONG, SHORT = 400, 150, 170, 12  # how many are judged, and how long they may become
NUCLEUS = 0.9


def measured(model: DecoderOnly) -> dict[str, float]:
    asked = [question(f"test {i}") for i in range(ASKED)]
    right = are_right(asked, said(model, [task.given for task in asked], SHORT))
    untold = [task.answer == tuple(UNTOLD) for task in asked]
    found = {
        "questions": share([good for good, un in zip(right, untold, strict=True) if not un]),
        "untold": share([good for good, un in zip(right, untold, strict=True) if un]),
    }
    for name, held_out in (("follow", False), ("new", True)):
        tasks = [instruction(f"test {i}", held_out) for i in range(TOLD)]
        found[name] = share(are_right(tasks, said(model, [task.given for task in tasks], LONG, 1.0, top_p=NUCLEUS)))
    return {**found, "forgotten": forgotten(model)}


def run(count: int, seed: int) -> Made:
    """Tune once and return all measurements."""
    tasks = [(question if i % 2 else instruction)(f"train {seed} {i}") for i in range(count)]
    model = tuned(shipped("base"), [example(task) for task in tasks], SIZES[count], seed, RATE)
    found = {"seed": seed, **measured(model)}
    print(count, found, flush=True)
    return found, model


def main() -> None:
    torch.set_num_threads(1)
    what = (
        "The base model of stories tuned on questions and instructions, from 100, 1,000 and 10,000 examples. Shares of "
        f"{ASKED} questions (those that the story answers, and those that it doesn't) and of {TOLD} instructions each, "
        "of kinds that were trained and of combinations that were not; forgotten: nats per word on 300 stories."
    )
    with record(NAME, what, unequal="more examples are read in more updates") as numbers:
        numbers["before"] = measured(shipped("base"))
        numbers["runs"] = {}
        for count, steps in SIZES.items():
            made = numbers.pieces(str(count), SEEDS, partial(run, count), steps)
            numbers["runs"][str(count)] = [{key: one[key] for key in one if key != "cpu_seconds"} for one in made]
            numbers.rows(str(count), f"runs/{count}")


if __name__ == "__main__":
    main()

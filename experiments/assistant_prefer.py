"""Let the tuned decoder learn from pairs of its own answers which one is preferred: the third stage of the assistant.

    TFM_RUNS=trained python -m experiments.assistant_prefer        # an hour on one core

All runs start from the tuned model that comes with the book, seed 0 of `assistant_follow`. The measures were written
down before the first run that counts. A judge compares two stories told to one instruction: the one that follows it is preferred, and
if both or neither do, the longer one; in one pair of five the judge errs. On 200 unseen instructions, one story each at
temperature 1: `preferred`, the share preferred to one of the model before, by a judge without errors (a tie counts half);
`right`, the share that follows; `words`, the mean length; `kl`, the mean of log p − log p₀ of the whole story. `best of`: of
n stories of the model before, the one whose probability DPO with `SCORED` raised most.
"""

import random
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from experiments.assistant_runs import are_right, chunks, said, share, tuned
from experiments.record import Made, record
from tfm_lib.assistant import Answers, answer_log_probs, best_of_n_kl, dpo_loss
from tfm_lib.corpora.talks import Task, instruction
from tfm_lib.data import Example
from tfm_lib.engine.assistant import shipped
from tfm_lib.engine.writer import VOCABULARY
from tfm_lib.transformer import DecoderOnly

NAME = "assistant_prefer"
SEEDS = [0, 1, 2, 3, 4]
BETAS, SCORED = [1.0, 0.3, 0.1, 0.03, 0.01], 0.1
ASKED, DRAWN, PAIRS, WRONG = 750, 4, 1500, 0.2
STEPS, RATE, SIZE = 500, 2e-4, 6
JUDGED, LONG, OF = 200, 170, [1, 2, 4, 8, 16]


class Pair(NamedTuple):
    preferred: Example
    other: Example
    before: tuple[float, float]  # log p of both by the model before


def log_probs(model: DecoderOnly, examples: Sequence[Example]) -> Tensor:
    read, predicted = Answers.of(examples)
    return answer_log_probs(model(read), predicted)


@torch.no_grad()
def all_log_probs(model: DecoderOnly, examples: Sequence[Example]) -> list[float]:
    return [p for some in chunks(examples, 32) for p in log_probs(model, some).tolist()]


def worth(task: Task, words: Sequence[str]) -> tuple[bool, int]:
    """Return what the judge goes by: a story that follows, and then the longer one."""
    return task.is_right(words), len(words)


def spoken(task: Task, words: Sequence[str]) -> Example:
    return Example(VOCABULARY.encode(task.given), VOCABULARY.encode(words))


@cache
def pairs(seed: int) -> list[Pair]:
    """Return what a judge who errs now and then says of the stories of the model before."""
    before = shipped("follow")
    draw = random.Random(f"pairs {seed}")
    tasks = [instruction(f"prefer {seed} {i}") for i in range(ASKED) for _ in range(DRAWN)]
    texts = said(before, [task.given for task in tasks], LONG, 1.0, seed)
    chosen = []
    for some in chunks(list(zip(tasks, texts, strict=True)), DRAWN):
        for (task, one), (_, two) in chunks(some, 2):
            if worth(task, one) == worth(task, two):
                continue
            better, other = (one, two) if worth(task, one) > worth(task, two) else (two, one)
            if draw.random() < WRONG:
                better, other = other, better
            chosen.append((spoken(task, better), spoken(task, other)))
    chosen = chosen[:PAIRS]
    p = [all_log_probs(before, [pair[i] for pair in chosen]) for i in (0, 1)]
    return [Pair(*pair, known) for pair, known in zip(chosen, zip(*p, strict=True), strict=True)]


def loss(model: DecoderOnly, some: list[Pair], beta: float) -> Tensor:
    now = log_probs(model, [pair.preferred for pair in some] + [pair.other for pair in some])
    before = torch.tensor([pair.before for pair in some])
    preferred, other = now.chunk(2)
    return dpo_loss(preferred, other, before[:, 0], before[:, 1], beta)


def measured(model: DecoderOnly, before: DecoderOnly, seed: int) -> dict[str, float]:
    tasks = [instruction(f"judged {i}") for i in range(JUDGED)]
    given = [task.given for task in tasks]
    now, old = (said(each, given, LONG, 1.0, 1000 + seed) for each in (model, before))
    worths = [(worth(task, a), worth(task, b)) for task, a, b in zip(tasks, now, old, strict=True)]
    examples = [spoken(*each) for each in zip(tasks, now, strict=True)]
    kl = [p - q for p, q in zip(all_log_probs(model, examples), all_log_probs(before, examples), strict=True)]
    return {
        "preferred": round(sum((a > b) + (a == b) / 2 for a, b in worths) / JUDGED, 4),
        "right": share(are_right(tasks, now)),
        "words": round(sum(map(len, now)) / JUDGED, 1),
        "kl": round(sum(kl) / JUDGED, 2),
    }


def best_of(model: DecoderOnly, before: DecoderOnly, seed: int) -> list[dict[str, float]]:
    """Return what becomes of the best of n stories of `before`, by how much more probable `model` finds them."""
    tasks = [instruction(f"judged {i}") for i in range(JUDGED)]
    drawn = [said(before, [task.given for task in tasks], LONG, 1.0, 2000 + seed + 100 * k) for k in range(max(OF))]
    scores = []
    for texts in drawn:
        examples = [spoken(*each) for each in zip(tasks, texts, strict=True)]
        scores.append(
            [p - q for p, q in zip(all_log_probs(model, examples), all_log_probs(before, examples), strict=True)]
        )
    found = []
    for n in OF:
        best = torch.tensor(scores[:n]).argmax(dim=0).tolist()
        texts = [drawn[k][i] for i, k in enumerate(best)]
        words = round(sum(map(len, texts)) / JUDGED, 1)
        found.append({"n": n, "kl": round(best_of_n_kl(n), 3), "right": share(are_right(tasks, texts)), "words": words})
    return found


def run(beta: float, seed: int) -> Made:
    """Train once with `beta` and return all measurements."""
    before = shipped("follow")
    chosen = pairs(seed)
    model = tuned(before, chosen, STEPS, seed, RATE, partial(loss, beta=beta), SIZE)
    found: dict[str, Any] = {"seed": seed, "pairs": len(chosen), **measured(model, before, seed)}
    if beta == SCORED:
        found["best_of"] = best_of(model, before, seed)
    print(beta, found, flush=True)
    return found, model


def main() -> None:
    torch.set_num_threads(1)
    what = (
        f"DPO on at most {PAIRS} pairs of stories, of which a judge prefers the one that follows the instruction, or else "
        f"the longer one, and errs in one of five. On {JUDGED} unseen instructions: preferred to the model before, right, "
        "mean length in words, and KL from the model before in nats per story; best_of: the best of n of that model."
    )
    with record(NAME, what) as numbers:
        numbers["runs"] = {}
        for beta in BETAS:
            made = numbers.pieces(str(beta), SEEDS, partial(run, beta), STEPS)
            numbers["runs"][str(beta)] = [{key: one[key] for key in one if key != "cpu_seconds"} for one in made]
            numbers.rows(str(beta), f"runs/{beta}")


if __name__ == "__main__":
    main()

"""Write all words at once, then hide the least certain and write them again: how many passes does it take?

Two tasks. A number in words has one right answer, its digits. A date in digits has two, "5 March" and "March 5", and
the training pairs use either with equal probability, so that a model that fills each place alone can mix them. A
mask–predict translator and a left-to-right one of the same size learn both tasks. The number of hidden words is drawn
evenly from 1 to all in training.

    TFM_RUNS=trained python -m experiments.decoding_mask_predict
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.record import Made, record
from tfm_lib.corpora import load_corpus
from tfm_lib.corpora.corpus import BOS_ID, EOS_ID, PAD_ID, Vocabulary
from tfm_lib.data import pad
from tfm_lib.decoding import MaskedTranslator, greedy_decode, mask_predict
from tfm_lib.transformer import Transformer, TransformerConfig

NAME = "decoding_mask_predict"
SEEDS, PASSES, TRACED = [0, 1, 2], [1, 2, 3, 4, 6, 8], 4
STEPS, BATCH, RATE, WARMUP, LENGTH_SHARE = 1500, 64, 2e-3, 100, 0.1
PAIRS = {"train": 5000, "test": 500}
SIZES = {"d_model": 64, "n_heads": 4, "d_ff": 128, "n_layers": 2, "dropout": 0.0, "norm": "pre", "max_len": 64}
TASKS = ["numbers", "dates"]
ARMS = ["mask–predict", "left to right"]
MONTHS = "January February March April May June July August September October November December".split()
Pair = tuple[list[str], list[list[str]]]  # the source, and every right target


def numbers() -> dict[str, list[Pair]]:
    """Return numbers in words, with their digits."""
    corpus = load_corpus("numbers", size=sum(PAIRS.values()) + 500, max_digits=6)
    return {part: [(list(pair.src), [list(pair.tgt)]) for pair in corpus.split(part)] for part in PAIRS}


def dates() -> dict[str, list[Pair]]:
    """Return dates in digits, with the British and the American way to write them."""
    draw, found = random.Random(0), {}
    while len(found) < sum(PAIRS.values()):
        year, month, day = draw.randint(1000, 2999), draw.randint(1, 12), draw.randint(1, 28)
        first, digits = [str(day), MONTHS[month - 1]], [*str(year)]
        found[f"{year}-{month:02}-{day:02}"] = [[*first, *digits], [*first[::-1], *digits]]
    pairs = [(list(src), targets) for src, targets in found.items()]
    return {"train": pairs[: PAIRS["train"]], "test": pairs[PAIRS["train"] :]}


class Task:
    """The pairs of a task as token ids."""

    def __init__(self, name: str) -> None:
        pairs = {"numbers": numbers, "dates": dates}[name]()
        everything = [pair for some in pairs.values() for pair in some]
        self.vocabulary = Vocabulary(word for src, targets in everything for words in (src, *targets) for word in words)
        self.mask_id, self.longest = len(self.vocabulary), max(len(one) for _, targets in everything for one in targets)
        encode = self.vocabulary.encode
        self.train, self.test = (
            [(encode(src), [*map(encode, targets)]) for src, targets in pairs[part]] for part in PAIRS
        )

    def words(self, ids: list[int]) -> str:
        """Return a target as text, with a box in the place of each hidden word."""
        return " ".join("▢" if id == self.mask_id else self.vocabulary.tokens[id] for id in ids if id != PAD_ID)


task = cache(Task)


def loss_left_to_right(model: Transformer, src: Tensor, targets: list[list[int]], _: Any) -> Tensor:
    ids = pad([[BOS_ID, *one, EOS_ID] for one in targets], PAD_ID)
    return F.cross_entropy(model(src, ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten(), ignore_index=PAD_ID)


def loss_masked(model: MaskedTranslator, src: Tensor, targets: list[list[int]], draw: torch.Generator) -> Tensor:
    """Return the loss on the hidden words, and a share of the loss on the length."""
    ids, length = pad(targets, PAD_ID), torch.tensor([len(one) for one in targets])
    hidden = (torch.rand(len(targets), generator=draw) * length).long() + 1  # 1 to all
    order = torch.rand(ids.shape, generator=draw).masked_fill(ids == PAD_ID, 2.0).argsort(dim=-1).argsort(dim=-1)
    asked, memory = order < hidden[:, None], model.encode(src)
    logits = model.embedding.unembed(model.decode(ids.masked_fill(asked, model.config.vocab_size - 1), memory))
    return F.cross_entropy(logits[asked], ids[asked]) + LENGTH_SHARE * F.cross_entropy(model.lengths(memory), length)


def run(name: str, arm: str, seed: int) -> Made:
    """Train once, and write the targets of all test pairs."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    pairs, draw, generator = task(name), random.Random(seed), torch.Generator().manual_seed(seed)
    config = TransformerConfig(pairs.mask_id + 1, **SIZES)
    masked = arm == "mask–predict"
    model: Any = MaskedTranslator(config, pairs.longest) if masked else Transformer(config)
    loss_of: Any = loss_masked if masked else loss_left_to_right
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98))
    for step in range(1, STEPS + 1):
        optimiser.param_groups[0]["lr"] = RATE * min(step / WARMUP, 2 * (1 - step / (STEPS + 1)), 1.0)
        batch = draw.sample(pairs.train, BATCH)
        loss = loss_of(
            model, pad([src for src, _ in batch], PAD_ID), [draw.choice(targets) for _, targets in batch], generator
        )
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    model.eval()
    src = pad([src for src, _ in pairs.test], PAD_ID)
    found: dict[str, Any] = {"seed": seed, "judged": len(pairs.test)}
    if masked:
        written = {passes: mask_predict(model, src, pairs.mask_id, passes) for passes in PASSES}
        found["right"] = [right(ids, pairs) for ids in written.values()]
        found["traced"] = traced(model, src, pairs, written[1])
    else:
        ids = greedy_decode(model, src, BOS_ID, EOS_ID, max_len=pairs.longest + 1)
        found["right"] = right(ids, pairs)
        found["passes"] = round((ids != PAD_ID).sum(dim=-1).float().mean().item(), 2)
    print(name, arm, seed, found["right"], flush=True)
    return found, None


def right(ids: Tensor, pairs: Task) -> float:
    said = [[id for id in row if id not in (PAD_ID, EOS_ID)] for row in ids.tolist()]
    return round(sum(one in targets for one, (_, targets) in zip(said, pairs.test, strict=True)) / len(said), 4)


def traced(model: MaskedTranslator, src: Tensor, pairs: Task, at_once: Tensor) -> dict[str, Any] | None:
    """Return what is read in each of four passes, and written in the end, where one pass went wrong; None if nowhere."""
    wrong = [i for i, row in enumerate(at_once.tolist()) if [id for id in row if id] not in pairs.test[i][1]]
    if not wrong:
        return None
    with reading(model) as read:
        written = mask_predict(model, src[wrong[:1]], pairs.mask_id, TRACED)
    return {
        "source": "".join(pairs.vocabulary.decode(pairs.test[wrong[0]][0])),
        "at once": pairs.words(at_once[wrong[0]].tolist()),
        "read": [pairs.words(ids[0].tolist()) for ids in read],
        "written": pairs.words(written[0].tolist()),
    }


@contextmanager
def reading(model: MaskedTranslator) -> Iterator[list[Tensor]]:
    """Collect the target ids that the decoder reads."""
    read: list[Tensor] = []
    handle = model.embedding.register_forward_pre_hook(lambda _, args: read.append(args[0]))
    yield read
    handle.remove()
    del read[0]  # the source


def main() -> None:
    what = (
        f"Numbers in words to digits, and dates in digits to words, where two orders are right; {STEPS} updates of {BATCH} pairs. "
        "right: the share of test pairs with a right target, by greedy decoding or by mask–predict with each number of passes. "
        "passes: how many tokens the left-to-right model writes, <eos> included, on average. traced: the first test pair that one pass "
        "gets wrong, and what four passes read and write."
    )
    with record(NAME, what) as result:
        result["settings"] = {**SIZES, "passes": PASSES, "rate": RATE, "length": LENGTH_SHARE}
        result["runs"] = {name: {} for name in TASKS}
        for name in TASKS:
            for arm in ARMS:
                made = result.pieces(f"{name}, {arm}", SEEDS, partial(run, name, arm), STEPS)
                result["runs"][name][arm] = [{key: one[key] for key in one if key != "cpu_seconds"} for one in made]
                result.rows(f"{name}, {arm}", f"runs/{name}/{arm}")


if __name__ == "__main__":
    main()

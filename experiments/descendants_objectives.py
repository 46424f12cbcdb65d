"""Compare three objectives for filling a blank, on the same sentences: masked words, next word, spans.

Takes about two minutes on one core; with the variable TFM_RUNS set, each training is saved as it finishes.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch

import random
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.record import Made, curve, record
from tfm_lib.corpora import load_corpus
from tfm_lib.corpora.corpus import BOS_ID, EOS_ID, PAD_ID, Vocabulary
from tfm_lib.data import pad
from tfm_lib.decoding import greedy_decode
from tfm_lib.descendants import corrupt_spans, masked_words
from tfm_lib.transformer import DecoderOnly, EncoderOnly, Transformer, TransformerConfig

SIZES = {"d_model": 64, "n_heads": 4, "d_ff": 128, "dropout": 0.0, "norm": "pre", "max_len": 40}
STEPS, BATCH, RATE, WARMUP = 800, 64, 2e-3, 100
SHARE, SPAN = 0.15, 2.0
SEEDS = [0, 1, 2]
SENTINELS = 4
JUDGED = 300


class Numbers:
    """Numbers in words and digits as one sentence, "three hundred and five = 3 0 5", split as in the corpus."""

    def __init__(self) -> None:
        corpus = load_corpus("numbers", size=4000, max_digits=4)
        self.vocabulary = Vocabulary(word for pair in corpus.pairs for word in (*pair.src, "=", *pair.tgt))
        self.mask_id = self.first_sentinel = len(self.vocabulary)
        self.rows = {
            part: [self.vocabulary.encode([*pair.src, "=", *pair.tgt]) for pair in corpus.split(part)]
            for part in ("train", "test")
        }
        self.equals = self.vocabulary.ids["="]

    def batch(self, draw: random.Random) -> list[list[int]]:
        return draw.sample(self.rows["train"], BATCH)


def ce(logits: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD_ID)


# Objectives: each returns the loss of a batch of sentences.


def masked(model: EncoderOnly, rows: list[list[int]], numbers: Numbers, generator: torch.Generator) -> Tensor:
    read, targets = masked_words(pad(rows, PAD_ID), numbers.mask_id, SHARE, generator)
    return ce(model(read), targets)


def next_word(model: DecoderOnly, rows: list[list[int]], numbers: Numbers, generator: torch.Generator) -> Tensor:
    ids = pad([[BOS_ID, *row, EOS_ID] for row in rows], PAD_ID)
    return ce(model(ids[:, :-1]), ids[:, 1:])


def spans(model: Transformer, rows: list[list[int]], numbers: Numbers, generator: torch.Generator) -> Tensor:
    cut = [corrupt_spans(torch.tensor(row), numbers.first_sentinel, SHARE, SPAN, generator) for row in rows]
    tgt = pad([[BOS_ID, *said, EOS_ID] for _, said in cut], PAD_ID)
    return ce(model(pad([read for read, _ in cut], PAD_ID), tgt[:, :-1]), tgt[:, 1:])


# Filling a blank, one function per objective: the most probable word at `at`, given the rest of the row.


def fill_masked(model: EncoderOnly, row: list[int], at: int, numbers: Numbers) -> int:
    read = torch.tensor([row])
    read[0, at] = numbers.mask_id
    return model(read)[0, at].argmax().item()


def fill_next_word(model: DecoderOnly, row: list[int], at: int, numbers: Numbers) -> int:
    return model(torch.tensor([[BOS_ID, *row[:at]]]))[0, -1].argmax().item()


def fill_spans(model: Transformer, row: list[int], at: int, numbers: Numbers) -> int:
    read = torch.tensor([[*row[:at], numbers.first_sentinel, *row[at + 1 :]]])
    said = greedy_decode(model, read, BOS_ID, EOS_ID, max_len=2)[0].tolist()
    return said[1] if len(said) > 1 else EOS_ID


def bert(config: TransformerConfig) -> EncoderOnly:
    return EncoderOnly(config)


ARMS: dict[str, tuple[Callable, int, Callable, Callable]] = {  # model class, number of layers, loss, fill function
    "masked words": (bert, 4, masked, fill_masked),
    "next word": (DecoderOnly, 4, next_word, fill_next_word),
    "spans": (Transformer, 2, spans, fill_spans),
}


def run(arm: str, seed: int) -> Made:
    """Train once; then blank and fill one word, and one digit, of each test sentence."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    kind, n_layers, loss_of, fill = ARMS[arm]
    numbers, draw, generator = Numbers(), random.Random(seed), torch.Generator().manual_seed(seed)
    model = kind(TransformerConfig(len(numbers.vocabulary) + SENTINELS, n_layers=n_layers, **SIZES))
    optimiser, losses = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98)), []
    for step in range(1, STEPS + 1):
        optimiser.param_groups[0]["lr"] = RATE * min(step / WARMUP, 2 * (1 - step / (STEPS + 1)), 1.0)
        loss = loss_of(model, numbers.batch(draw), numbers, generator)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
    model.eval()
    right = {"words": [], "digits": []}
    shown, test = [], random.Random(0).sample(numbers.rows["test"], min(JUDGED, len(numbers.rows["test"])))
    with torch.no_grad():
        for row in test:
            middle = row.index(numbers.equals)
            for part, places in (("words", range(middle)), ("digits", range(middle + 1, len(row)))):
                at = draw.choice(places)
                said = fill(model, row, at, numbers)
                right[part].append(said == row[at])
                if len(shown) < 6:
                    word = numbers.vocabulary.tokens[said] if said < len(numbers.vocabulary) else "?"
                    blank = [*numbers.vocabulary.decode(row[:at]), "____", *numbers.vocabulary.decode(row[at + 1 :])]
                    shown.append([" ".join(blank), word, numbers.vocabulary.tokens[row[at]]])
    found = {part: round(sum(hits) / len(hits), 4) for part, hits in right.items()}
    if arm == "next word":
        found["written"] = written(model, test, numbers)
    print(arm, seed, found, shown[:2], flush=True)
    return {"seed": seed, **found, "judged": len(test), "shown": shown, "curve": curve(losses, 50)}, model


def written(model: DecoderOnly, test: list[list[int]], numbers: Numbers) -> float:
    """Return how often all digits are correct when they are written after the words and "="."""
    right = 0
    for row in test:
        begun = row[: row.index(numbers.equals) + 1]
        said = greedy_decode(model, torch.tensor([begun]), BOS_ID, EOS_ID, max_len=6)
        right += said[0].tolist()[: len(row) - len(begun) + 1] == [*row[len(begun) :], EOS_ID]
    return round(right / len(test), 4)


def main() -> None:
    torch.set_num_threads(1)
    what = (
        f"Numbers up to four digits as sentences, words = digits; models of four layers (spans: two and two), d_model "
        f"{SIZES['d_model']}, {STEPS} updates of {BATCH} sentences each, by three objectives. words, digits: the share of "
        "held-out sentences in which one blanked word, one blanked digit, is filled with the right one; written: the share "
        "whose digits are all written rightly after the words. shown: blanked sentences, what was filled in, what was right."
    )
    with record("descendants_objectives", what) as result:
        result["settings"] = {**SIZES, "steps": STEPS, "batch": BATCH, "share": SHARE, "span": SPAN}
        result["runs"] = {}
        for arm in ARMS:
            made = result.pieces(arm, SEEDS, partial(run, arm), STEPS)
            result["runs"][arm] = [{key: one[key] for key in one if key != "cpu_seconds"} for one in made]
            result.rows(arm, f"runs/{arm}")


if __name__ == "__main__":
    main()

"""Pre-train a small encoder on unlabelled names, then fine-tune it to say which language a country's name is in.

The text is the Unicode locale data that Babel ships: names of languages, currencies and scripts in twelve languages.
A line has two parts, each of one language, which the model is never told. Pre-training asks for hidden letters and,
in one of its two forms, also whether both parts are in the same language, as BERT asks whether one sentence followed
the other; this question is made from the languages, so it is weak supervision.

The task is the name of a country or region, with a few labelled names per language. Countries are split between
training, validation and test, so that no name of a country in the test part was ever seen in any language; names that
two languages share are left out. The learning rate is the best of four on the validation part, summed over the seeds,
for every arm and number of labels. A seed draws the weights, the order of the text and the labelled names.

    TFM_RUNS=trained python -m experiments.descendants_transfer
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch

import random
from collections import defaultdict
from copy import deepcopy
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from babel import Locale
from torch import nn

from experiments.record import Made, piece, record
from tfm_lib.corpora.corpus import BOS_ID, EOS_ID, PAD_ID, Vocabulary
from tfm_lib.data import pad
from tfm_lib.descendants import Classifier, add_adapters, masked_words
from tfm_lib.transformer import EncoderOnly, TransformerConfig

NAME = "descendants_transfer"
LANGUAGES = ["de", "en", "es", "fi", "fr", "hu", "it", "nl", "pl", "pt", "sv", "tr"]
TEXT, TASK = ("languages", "currencies", "scripts"), "territories"
SEEDS, LABELS = [0, 1, 2], [2, 5, 20, 40]  # labelled names per language
#: How each arm is pre-trained, and what is trained afterwards.
ARMS = {
    "from scratch": (None, "all"),
    "blanks, fine-tuned": ("blanks", "all"),
    "blanks, head alone": ("blanks", "head"),
    "blanks and pairs, fine-tuned": ("blanks and pairs", "all"),
    "blanks and pairs, adapters": ("blanks and pairs", "adapters"),
    "blanks and pairs, head alone": ("blanks and pairs", "head"),
}
FORMS = ["blanks", "blanks and pairs"]
RATES = {"all": [3e-4, 1e-3, 3e-3, 1e-2], "adapters": [3e-3, 1e-2, 3e-2, 1e-1], "head": [3e-3, 1e-2, 3e-2, 1e-1]}
STEPS, BATCH, RATE, WARMUP, SHARE, ROOM = 12_000, 32, 3e-3, 100, 0.2, 29  # pre-training; letters in a part of a line
FINE_STEPS, FINE_BATCH, FINE_WARMUP, RANK = 200, 32, 20, 4
SIZES = {"d_model": 64, "n_heads": 4, "d_ff": 256, "n_layers": 3, "dropout": 0.0, "norm": "pre", "max_len": 80}


class Names:
    """The text in lines, and the names of countries with the number of their language."""

    def __init__(self) -> None:
        countries = names(TASK)
        self.text = {
            language: [
                name for kind in TEXT for name, of in names(kind).items() if language in of and name not in countries
            ]
            for language in LANGUAGES
        }
        letters = sorted({*chain(", ", *countries, *chain(*self.text.values()))})
        self.vocabulary = Vocabulary(letters)
        self.mask_id = len(self.vocabulary)
        codes = sorted({code for of in countries.values() for code in of.values()})
        random.Random(0).shuffle(codes)
        parts = {"train": codes[: len(codes) // 2], "val": codes[len(codes) // 2 : 3 * len(codes) // 4]}
        part_of = {code: part for part, some in parts.items() for code in some}
        self.labelled: dict[str, list[tuple[list[int], int]]] = {"train": [], "val": [], "test": []}
        for name, of in sorted(countries.items()):
            if len(of) == 1:
                ((language, code),) = of.items()
                self.labelled[part_of.get(code, "test")].append((self.ids(name), LANGUAGES.index(language)))

    def ids(self, text: str) -> list[int]:
        """Return [CLS] and the letters of `text`."""
        return [BOS_ID, *self.vocabulary.encode(text)]

    def part(self, language: str, draw: random.Random) -> str:
        """Return names of one language, as many as there is room for."""
        part = draw.choice(self.text[language])
        while len(longer := f"{part}, {draw.choice(self.text[language])}") <= ROOM:
            part = longer
        return part

    def line(self, draw: random.Random) -> tuple[list[int], bool]:
        """Return [CLS], two parts with a separator between them, and whether both are in the same language."""
        first, same = draw.choice(LANGUAGES), draw.random() < 0.5
        second = first if same else draw.choice([language for language in LANGUAGES if language != first])
        one, other = self.part(first, draw), self.part(second, draw)
        return [*self.ids(one), EOS_ID, *self.vocabulary.encode(other)], same

    def drawn(self, count: int, draw: random.Random) -> list[tuple[list[int], int]]:
        """Return `count` labelled names of each language."""
        by_language = defaultdict(list)
        for ids, language in self.labelled["train"]:
            by_language[language].append((ids, language))
        return [one for some in by_language.values() for one in draw.sample(some, count)]


def names(kind: str) -> dict[str, dict[str, str]]:
    """Return every name of a kind in lower case, with its languages and in each the code of what it names."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for language in LANGUAGES:
        for code, name in getattr(Locale.parse(language), kind).items():
            if 3 <= len(name) <= 24 and not set(name) & set("()0123456789"):
                found[name.lower()][language] = code
    return found


data = cache(Names)


def pre_trained(form: str, seed: int) -> tuple[dict[str, Any], EncoderOnly]:
    """Train an encoder to fill in letters and, in one form, to say whether both parts are in the same language."""
    torch.manual_seed(seed)
    draw, generator, losses = random.Random(seed), torch.Generator().manual_seed(seed), []
    model = EncoderOnly(TransformerConfig(data().mask_id + 1, **SIZES))
    alike = nn.Linear(SIZES["d_model"], 2)  # reads [CLS]
    optimiser = torch.optim.Adam([*model.parameters(), *alike.parameters()], lr=RATE, betas=(0.9, 0.98))
    for step in range(1, STEPS + 1):
        optimiser.param_groups[0]["lr"] = RATE * min(step / WARMUP, 1 - step / (STEPS + 1))
        lines, same = zip(*(data().line(draw) for _ in range(BATCH)))
        read, targets = masked_words(pad(lines, PAD_ID), data().mask_id, SHARE, generator)
        X = model.hidden(read)
        blanks = F.cross_entropy(model.embedding.unembed(X).flatten(0, 1), targets.flatten(), ignore_index=PAD_ID)
        pairs = F.cross_entropy(alike(X[:, 0]), torch.tensor(same).long())
        optimiser.zero_grad()
        (blanks + pairs if form == "blanks and pairs" else blanks).backward()
        optimiser.step()
        losses.append((blanks.item(), pairs.item()))
        if step % 500 == 0:
            print(f"{form}, seed {seed}: {step} of {STEPS}, {last(losses)}", flush=True)
    return last(losses), model


def last(losses: list[tuple[float, float]]) -> dict[str, float]:
    """Return the means of the last 500 losses."""
    return {
        name: round(sum(some[-500:]) / len(some[-500:]), 3) for name, some in zip(("blanks", "pairs"), zip(*losses))
    }


def classifier(trains: str, encoder: EncoderOnly) -> Classifier:
    """Return a classifier on a copy of the encoder; what is not trained is frozen."""
    encoder = deepcopy(encoder)
    if trains == "adapters":
        add_adapters(encoder, RANK)
    elif trains == "head":
        encoder.requires_grad_(False)
    return Classifier(encoder, len(LANGUAGES))


def tuned(arm: str, count: int, rate: float, seed: int) -> dict[str, Any]:
    """Train on `count` names per language; return the shares of right languages."""
    form, trains = ARMS[arm]
    torch.manual_seed(seed)
    encoder = pre_training(form, seed)[1] if form else EncoderOnly(TransformerConfig(data().mask_id + 1, **SIZES))
    draw, model = random.Random(seed), classifier(trains, encoder)
    labelled, trained = data().drawn(count, draw), [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.Adam(trained, lr=rate)
    for step in range(1, FINE_STEPS + 1):
        optimiser.param_groups[0]["lr"] = rate * min(step / FINE_WARMUP, 1 - step / (FINE_STEPS + 1))
        ids, languages = zip(*draw.sample(labelled, min(FINE_BATCH, len(labelled))))
        loss = F.cross_entropy(model(pad(ids, PAD_ID)), torch.tensor(languages))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return {"trained": sum(p.numel() for p in trained), **{part: right(model, part) for part in ("val", "test")}}


@torch.no_grad()
def right(model: Classifier, part: str) -> float:
    ids, languages = zip(*data().labelled[part])
    return round((model(pad(ids, PAD_ID)).argmax(dim=-1) == torch.tensor(languages)).float().mean().item(), 4)


def cell(arm: str, count: int) -> Made:
    """Return the results of an arm with `count` labels per language, at each rate, and which rate is best."""
    tried = {f"{rate:g}": [tuned(arm, count, rate, seed) for seed in SEEDS] for rate in RATES[ARMS[arm][1]]}
    best = max(tried, key=lambda rate: sum(one["val"] for one in tried[rate]))
    print(arm, count, best, [one["test"] for one in tried[best]], flush=True)
    return {
        "rate": float(best),
        "val": {rate: [one["val"] for one in runs] for rate, runs in tried.items()},
        "test": [one["test"] for one in tried[best]],
        "trained": tried[best][0]["trained"],
    }, None


@cache
def pre_training(form: str, seed: int) -> tuple[dict[str, Any], EncoderOnly]:
    """Pre-train an encoder, or load it if it was kept; return its numbers too."""
    made: list[EncoderOnly] = []

    def make() -> Made:
        found, model = pre_trained(form, seed)
        made.append(model)
        return found, model

    one = piece(NAME, f"{form}, seed {seed}", make)
    if made:
        return one, made[0]
    model = EncoderOnly(TransformerConfig(data().mask_id + 1, **SIZES))
    model.load_state_dict(torch.load(Path(os.environ["TFM_RUNS"], NAME, f"{form}, seed {seed}.pt")))
    return one, model


def main() -> None:
    torch.set_num_threads(1)
    what = (
        f"Which of {len(LANGUAGES)} languages the name of a country is in, after {FINE_STEPS} updates on 2 to 40 labelled names per "
        f"language; an encoder of three layers, pre-trained with {STEPS} updates of {BATCH} lines on unlabelled names of languages, "
        "currencies and scripts, or not. val, test: the share of right languages, one per seed; the rate is the best on the validation "
        "part, summed over the seeds. trained: parameters that are trained. pre-training: mean of the last 500 losses."
    )
    with record(NAME, what) as numbers:
        numbers["settings"] = {
            **SIZES, "languages": LANGUAGES, "labels": LABELS, "rank": RANK, "share": SHARE,
            "names": {part: len(some) for part, some in data().labelled.items()},
            "text": sum(map(len, data().text.values())),
        }  # fmt: skip
        numbers["pre-training"], numbers["runs"] = {}, {}
        for form in FORMS:
            made = [pre_training(form, seed)[0] for seed in SEEDS]
            for seed, one in zip(SEEDS, made):
                numbers.ran(f"pre-training on {form}", seed, STEPS, None, one["cpu_seconds"], "pre-training")
            numbers["pre-training"][form] = [{"seed": seed, **kept(one)} for seed, one in zip(SEEDS, made)]
            numbers.rows(f"pre-training on {form}", f"pre-training/{form}")
        for arm in ARMS:
            cells = {str(count): piece(NAME, f"{arm}, {count}", partial(cell, arm, count)) for count in LABELS}
            numbers["runs"][arm] = {count: kept(one) for count, one in cells.items()}
            for seed in SEEDS:
                numbers.ran(arm, seed, FINE_STEPS, None, sum(one["cpu_seconds"] for one in cells.values()) / len(SEEDS))
            numbers.rows(arm, *(f"runs/{arm}/{count}/test" for count in cells))


def kept(one: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in one.items() if key != "cpu_seconds"}


if __name__ == "__main__":
    main()

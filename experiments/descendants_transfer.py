"""Pre-train a small encoder on unlabelled names, then fine-tune it to say which language a country's name is in.

The text is the Unicode locale data that Babel ships: names of languages, currencies and scripts in twelve languages,
in lines of one language each, of which the encoder never learns which. The task is the name of a country or region,
with a few labelled names per language. Countries are split between training, validation and test, so that a name in
the test part was never seen in any language; names that two languages share are left out. Arms: from scratch, the
pre-trained encoder with all weights trained, with adapters, and with the new head alone. For every arm and number of
labels, the learning rate is the best of four on the validation part, summed over the seeds. A seed draws the weights,
the order of the text and the labelled names.

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

from experiments.record import Made, Record, piece, record
from tfm_lib.corpora.corpus import BOS_ID, PAD_ID, Vocabulary
from tfm_lib.data import pad
from tfm_lib.descendants import Classifier, add_adapters, masked_words
from tfm_lib.transformer import EncoderOnly, TransformerConfig

NAME = "descendants_transfer"
LANGUAGES = ["de", "en", "es", "fi", "fr", "hu", "it", "nl", "pl", "pt", "sv", "tr"]
TEXT, TASK = ("languages", "currencies", "scripts"), "territories"
SEEDS, LABELS = [0, 1, 2], [2, 5, 10, 20, 40]  # labelled names per language
ARMS = ["from scratch", "fine-tuned", "adapters", "head alone"]
RATES = {"from scratch": [3e-4, 1e-3, 3e-3, 1e-2], "fine-tuned": [3e-4, 1e-3, 3e-3, 1e-2]} | {
    arm: [3e-3, 1e-2, 3e-2, 1e-1] for arm in ("adapters", "head alone")
}
STEPS, BATCH, RATE, WARMUP, SHARE, ROOM = 12_000, 32, 3e-3, 100, 0.2, 60  # pre-training; letters in a line
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

    def line(self, draw: random.Random) -> str:
        """Return names of one language, as many as there is room for."""
        some = self.text[draw.choice(LANGUAGES)]
        line = draw.choice(some)
        while len(longer := f"{line}, {draw.choice(some)}") <= ROOM:
            line = longer
        return line

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


def pre_trained(seed: int) -> tuple[dict[str, Any], EncoderOnly]:
    """Train an encoder to fill in letters of lines of names."""
    torch.manual_seed(seed)
    draw, generator, losses = random.Random(seed), torch.Generator().manual_seed(seed), []
    model = EncoderOnly(TransformerConfig(data().mask_id + 1, **SIZES))
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98))
    for step in range(1, STEPS + 1):
        optimiser.param_groups[0]["lr"] = RATE * min(step / WARMUP, 1 - step / (STEPS + 1))
        lines = pad([data().ids(data().line(draw)) for _ in range(BATCH)], PAD_ID)
        read, targets = masked_words(lines, data().mask_id, SHARE, generator)
        loss = F.cross_entropy(model(read).flatten(0, 1), targets.flatten(), ignore_index=PAD_ID)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        if step % 500 == 0:
            print(f"pre-training, seed {seed}: {step} of {STEPS}, loss {sum(losses[-500:]) / 500:.3f}", flush=True)
    return {"loss": round(sum(losses[-500:]) / len(losses[-500:]), 3)}, model


def classifier(arm: str, encoder: EncoderOnly) -> Classifier:
    """Return a classifier on a copy of the pre-trained encoder, or on a new one; what is not trained is frozen."""
    if arm == "from scratch":
        return Classifier(EncoderOnly(encoder.config), len(LANGUAGES))
    encoder = deepcopy(encoder)
    if arm == "adapters":
        add_adapters(encoder, RANK)
    elif arm == "head alone":
        encoder.requires_grad_(False)
    return Classifier(encoder, len(LANGUAGES))


def tuned(encoder: EncoderOnly, arm: str, count: int, rate: float, seed: int) -> dict[str, Any]:
    """Train on `count` names per language; return the shares of right languages."""
    torch.manual_seed(seed)
    draw = random.Random(seed)
    labelled, model = data().drawn(count, draw), classifier(arm, encoder)
    trained = [p for p in model.parameters() if p.requires_grad]
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


def cell(encoders: list[EncoderOnly], arm: str, count: int) -> Made:
    """Return the results of an arm with `count` labels per language, at each rate, and which rate is best."""
    tried = {
        f"{rate:g}": [tuned(encoder, arm, count, rate, seed) for seed, encoder in zip(SEEDS, encoders)]
        for rate in RATES[arm]
    }
    best = max(tried, key=lambda rate: sum(one["val"] for one in tried[rate]))
    print(arm, count, best, [one["test"] for one in tried[best]], flush=True)
    return {
        "rate": float(best),
        "val": {rate: [one["val"] for one in runs] for rate, runs in tried.items()},
        "test": [one["test"] for one in tried[best]],
        "trained": tried[best][0]["trained"],
    }, None


def encoder_of(seed: int, numbers: Record) -> EncoderOnly:
    """Pre-train an encoder, or load it if it was kept."""
    made: list[EncoderOnly] = []

    def make() -> Made:
        found, model = pre_trained(seed)
        made.append(model)
        return found, model

    one = piece(NAME, f"pre-training, seed {seed}", make)
    numbers.ran("pre-training", seed, STEPS, None, one["cpu_seconds"], "pre-training")
    numbers["pre-training"].append({"seed": seed, "loss": one["loss"]})
    if made:
        return made[0]
    model = EncoderOnly(TransformerConfig(data().mask_id + 1, **SIZES))
    model.load_state_dict(torch.load(Path(os.environ["TFM_RUNS"], NAME, f"pre-training, seed {seed}.pt")))
    return model


def main() -> None:
    torch.set_num_threads(1)
    sizes = {part: len(some) for part, some in data().labelled.items()}
    what = (
        f"Which of {len(LANGUAGES)} languages the name of a country is in, after {FINE_STEPS} updates on 2 to 40 labelled names per language; "
        f"an encoder of three layers, pre-trained with {STEPS} updates of {BATCH} lines on unlabelled names of languages, currencies and "
        "scripts, or not. val, test: the share of right languages, one per seed; the rate is the best on the validation part, "
        "summed over the seeds. trained: parameters that are trained."
    )
    with record(NAME, what) as numbers:
        numbers["settings"] = {
            **SIZES,
            "languages": LANGUAGES,
            "labels": LABELS,
            "names": sizes,
            "rank": RANK,
            "share": SHARE,
        }
        numbers["settings"]["text"] = sum(map(len, data().text.values()))
        numbers["pre-training"], numbers["runs"] = [], {}
        encoders = [encoder_of(seed, numbers) for seed in SEEDS]
        numbers.rows("pre-training", "pre-training")
        for arm in ARMS:
            cells = {
                str(count): piece(NAME, f"{arm}, {count}", partial(cell, encoders, arm, count)) for count in LABELS
            }
            numbers["runs"][arm] = {
                count: {key: one[key] for key in one if key != "cpu_seconds"} for count, one in cells.items()
            }
            spent = sum(one["cpu_seconds"] for one in cells.values()) / len(SEEDS)
            for seed in SEEDS:
                numbers.ran(arm, seed, FINE_STEPS, None, spent)
            numbers.rows(arm, *(f"runs/{arm}/{count}/test" for count in cells))


if __name__ == "__main__":
    main()

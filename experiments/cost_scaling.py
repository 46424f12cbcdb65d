"""Measure held-out loss against compute for a family of small decoders: is there a power law, and which size is best?

The text is the Unicode locale data that Babel ships: names of languages, countries, currencies and scripts in every
language that is written in Latin letters, in lines of one language each. One name in twenty, in all languages at once,
is for validation, and one for the test. Every pair of a compute budget C and a size N is one training run of D = C / 6N
letters with a schedule of its own that ends there. N counts the parameters that every letter is multiplied by: those of
the layers and of the output, which in models this small is a large part.

The best size of a budget is the lowest point of a parabola through log N and the losses, and its growth with C a power,
as in Hoffmann et al. (2022), approach 2. The loss is fitted by L = E + A / N^α + B / D^β, as in their approach 3, with
squared relative errors. Both have intervals from 200 samples of the runs, drawn with replacement.

    TFM_RUNS=trained python -m experiments.cost_scaling
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch

import random
from functools import cache, partial
from hashlib import sha256
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from babel import Locale, localedata
from scipy.optimize import minimize, nnls

from experiments.record import Made, piece, record
from tfm_lib.corpora.corpus import BOS_ID, Vocabulary
from tfm_lib.transformer import DecoderOnly, TransformerConfig

NAME = "cost_scaling"
KINDS = ("languages", "territories", "currencies", "scripts", "variants")
SIZES = {
    "8 × 2": (8, 2),
    "12 × 2": (12, 2),
    "16 × 2": (16, 2),
    "24 × 2": (24, 2),
    "32 × 2": (32, 2),
    "48 × 3": (48, 3),
    "64 × 4": (64, 4),
}
BUDGETS = [1e10, 3e10, 1e11, 3e11, 1e12]
FEWEST, MOST = 60, 5_000  # updates of a run; budgets that ask for fewer or more are left out
SEEDS, BATCH, LENGTH, WARMUP, SAMPLES = [0, 1, 2], 16, 128, 0.05, 200
RATES, TUNED = [3e-3, 1e-2, 3e-2, 6e-2], 200  # tried with seed 0, for every size, for so many updates
JUDGED = 64  # batches


def parameters(d_model: int, n_layers: int) -> int:
    """Return N: in each layer four projections and two feed-forward maps of four times the width, and the output's."""
    return 12 * n_layers * d_model**2 + len(text().vocabulary) * d_model


def updates(budget: float, size: str) -> int:
    """Return how many updates the budget buys, at six operations per parameter and letter."""
    return round(budget / (6 * parameters(*SIZES[size]) * BATCH * LENGTH))


def is_latin(letter: str) -> bool:
    return letter.isascii() or "À" <= letter <= "ɏ" or "Ḁ" <= letter <= "ỿ"


class Text:
    """Lines of names of one language, as letters."""

    def __init__(self) -> None:
        self.names: dict[str, dict[str, list[str]]] = {"train": {}, "val": {}, "test": {}}
        for language in localedata.locale_identifiers():
            if "_" in language:
                continue
            locale = Locale.parse(language)
            found: dict[str, set[str]] = {part: set() for part in self.names}
            for kind in KINDS:
                for code, name in getattr(locale, kind).items():
                    if isinstance(name, str) and all(map(is_latin, name)):
                        drawn = sha256(f"{kind} {code}".encode()).digest()[0]
                        found["test" if drawn < 13 else "val" if drawn < 26 else "train"].add(name)
            if len(found["train"]) >= 300 and found["val"] and found["test"]:
                for part, some in found.items():
                    self.names[part][language] = sorted(some)
        letters = {letter for part in self.names.values() for some in part.values() for name in some for letter in name}
        self.vocabulary = Vocabulary(sorted(letters | {",", " "}))

    def counts(self) -> dict[str, int]:
        names = [name for some in self.names["train"].values() for name in some]
        counted = {
            "names": len(names),
            "different": len({*names}),
            "letters": sum(map(len, names)),
            "vocabulary": len(self.vocabulary),
        }
        return {"languages": len(self.names["train"]), **counted}

    def batch(self, part: str, draw: random.Random) -> torch.Tensor:
        """Return `BATCH` lines of `LENGTH` letters and one more, each cut from a list of names in random order."""
        rows = []
        for _ in range(BATCH):
            some, line = self.names[part][draw.choice(sorted(self.names[part]))], ""
            while len(line) < LENGTH:
                line += draw.choice(some) + ", "
            rows.append([BOS_ID, *self.vocabulary.encode(line[:LENGTH])])
        return torch.tensor(rows)


text = cache(Text)


def run(size: str, steps: int, rate: float, seed: int) -> Made:
    """Train once; return the held-out loss in nats per letter."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    d_model, n_layers = SIZES[size]
    draw = random.Random(seed)
    config = TransformerConfig(
        len(text().vocabulary), d_model=d_model, n_heads=max(1, d_model // 8), d_ff=4 * d_model, n_layers=n_layers,
        dropout=0.0, norm="pre", max_len=LENGTH + 1,
    )  # fmt: skip
    model = DecoderOnly(config)
    optimiser = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98))
    for step in range(1, steps + 1):
        optimiser.param_groups[0]["lr"] = rate * min(step / (WARMUP * steps), 1.02 - step / steps, 1.0)
        loss = loss_of(model, text().batch("train", draw))
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    found = {"updates": steps, "val": judged(model, "val"), "loss": judged(model, "test")}
    print(size, rate, seed, found, flush=True)
    return found, None


@torch.no_grad()
def judged(model: DecoderOnly, part: str) -> float:
    draw = random.Random(0)
    return round(sum(loss_of(model, text().batch(part, draw)).item() for _ in range(JUDGED)) / JUDGED, 4)


def loss_of(model: DecoderOnly, ids: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


def kept(size: str, steps: int, rate: float, seed: int) -> dict[str, Any]:
    return piece(NAME, f"{size}, {steps}, {rate:g}, seed {seed}", partial(run, size, steps, rate, seed))


def best_sizes(points: np.ndarray) -> dict[str, Any]:
    """Return the best N of each budget whose parabola has its lowest point among the sizes tried, and the power of C."""

    def lowest(some: np.ndarray) -> tuple[dict[str, int], float]:
        found = {}
        for C in np.unique(some[:, 0]):
            x, L = np.log(some[some[:, 0] == C, 1]), some[some[:, 0] == C, 3]
            if len(np.unique(x)) < 3:
                continue
            curve = np.polynomial.Polynomial.fit(x, L, 2)
            (vertex,) = curve.deriv().roots().real
            if curve.deriv(2)(vertex) > 0 and x.min() <= vertex <= x.max():
                found[C] = vertex
        power = np.polyfit(np.log(list(found)), list(found.values()), 1)[0] if len(found) > 1 else np.nan
        return {f"{C:g}": round(float(np.exp(vertex))) for C, vertex in found.items()}, float(power)

    draw = np.random.default_rng(0)
    drawn = [lowest(points[draw.integers(len(points), size=len(points))])[1] for _ in range(SAMPLES)]
    sizes, power = lowest(points)
    interval = np.nanpercentile(drawn, [5, 95]) if np.isfinite(drawn).any() else [np.nan] * 2
    return {"sizes": sizes, "power": [round(float(x), 4) for x in (power, *interval)]}


def law(N: np.ndarray, D: np.ndarray, E: float, A: float, B: float, alpha: float, beta: float) -> np.ndarray:
    return E + A / N**alpha + B / D**beta


def forecast(points: np.ndarray) -> dict[str, Any]:
    """Return how far the law, fitted without the runs of the largest budget, misses their losses."""
    C, N, D, L = points.T
    known = C.max() > C
    largest = ~known
    found = law(N[largest], D[largest], *fit(N[known], D[known], L[known]))
    off = (found / L[largest] - 1).tolist()
    return {"runs": [int(known.sum()), int(largest.sum())], "off": [round(x, 4) for x in off]}


def fit(N: np.ndarray, D: np.ndarray, L: np.ndarray) -> tuple[float, ...]:
    """Return E, A, B, α and β of L = E + A / N^α + B / D^β, none below 0, with the least squares of relative errors.

    Given α and β the law is linear in the other three; these two are found from several starts.
    """

    def solved(powers: np.ndarray) -> tuple[np.ndarray, float]:
        alpha, beta = np.exp(powers)
        columns = np.stack([np.ones_like(N), (N / N.min()) ** -alpha, (D / D.min()) ** -beta], axis=1)
        return nnls(columns / L[:, None], np.ones_like(L))

    starts = [np.log([alpha, beta]) for alpha in (0.1, 0.3, 0.6) for beta in (0.1, 0.3, 0.6)]
    found = [minimize(lambda powers: solved(powers)[1], start, method="Nelder-Mead") for start in starts]
    best = min(found, key=lambda one: one.fun).x
    (alpha, beta), (E, A, B) = np.exp(best), solved(best)[0]
    return float(E), float(A * N.min() ** alpha), float(B * D.min() ** beta), float(alpha), float(beta)


def chosen_rates() -> dict[str, tuple[float, list[dict[str, Any]]]]:
    """Return for each size the learning rate with the lowest validation loss, and the runs tried."""
    found = {}
    for size in SIZES:
        tried = [{"rate": rate, **kept(size, TUNED, rate, SEEDS[0])} for rate in RATES]
        found[size] = min(tried, key=lambda one: one["val"])["rate"], tried
    return found


def main() -> None:
    what = (
        "Held-out loss, in nats per letter, of decoders of several sizes (width × layers) after several amounts of compute C = 6ND. "
        "N: parameters of the layers and of the output; updates: of 16 lines of 128 letters. The learning rate of each size is the best of "
        f"four, by validation loss, after {TUNED} updates. best: the N of the lowest points of parabolas through log N and the losses, and the power of C with which they grow. fit: E + A / N^α + B / D^β, with the 5th and 95th percentiles of 200 samples of the runs; size: the exponent of "
        "the best N in C, β / (α + β). forecast: fitted without the runs of the largest budget, how far the law is off for them (1 is all)."
    )
    with record(NAME, what, unequal="every run has the updates that its compute buys") as numbers:
        rates = chosen_rates()
        numbers["settings"] = {"batch": BATCH, "length": LENGTH, **text().counts()}
        numbers["rates"] = {
            size: [{"rate": one["rate"], "val": one["val"]} for one in tried] for size, (_, tried) in rates.items()
        }
        numbers["runs"], points = {}, []
        for budget in BUDGETS:
            for size, shape in SIZES.items():
                if not FEWEST <= (steps := updates(budget, size)) <= MOST:
                    continue
                arm = f"{size}, {budget:g}"
                made = [kept(size, steps, rates[size][0], seed) for seed in SEEDS]
                for seed, one in zip(SEEDS, made):
                    numbers.ran(arm, seed, one["updates"], None, one["cpu_seconds"])
                    N, D = parameters(*shape), one["updates"] * BATCH * LENGTH
                    points.append((budget, N, D, one["loss"]))
                numbers["runs"][arm] = {"N": N, "D": D, "C": budget, "loss": [one["loss"] for one in made]}
                numbers.rows(arm, f"runs/{arm}/loss")
        found = np.array(points)
        numbers["best"] = best_sizes(found)
        numbers["fit"], numbers["forecast"] = fitted(found[:, 1:]), forecast(found)


def fitted(points: np.ndarray) -> dict[str, list[float]]:
    """Return each constant of the law, with its interval."""
    draw, names = np.random.default_rng(0), ("E", "A", "B", "alpha", "beta")
    best = fit(*points.T)
    drawn = [fit(*points[draw.integers(len(points), size=len(points))].T) for _ in range(SAMPLES)]

    def with_interval(value: float, samples: list[float]) -> list[float]:
        return [round(value, 4), *(round(float(x), 4) for x in np.percentile(samples, [5, 95]))]

    constants = {name: with_interval(best[i], [one[i] for one in drawn]) for i, name in enumerate(names)}
    return {
        **constants,
        "size": with_interval(best[4] / (best[3] + best[4]), [one[4] / (one[3] + one[4]) for one in drawn]),
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()

"""Every experiment runs from its beginning to its record, made tiny.

An experiment takes minutes or hours, so it is run rarely, and a change of the library could break its last line unseen.
Here each one makes a step or two on a few sentences. What it measures means nothing; that it still measures, and that
its record agrees with itself, is the test.
"""

import importlib
import json
import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial, wraps
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import Mock

import pytest
from project import ROOT
from tiers import every, params

from tfm_lib.corpora import _CORPORA, TextCorpus, load_corpus
from tfm_lib.corpora.real import REAL
from tfm_lib.data import Example

EXPERIMENTS = sorted(
    path.stem for path in (ROOT / "experiments").glob("*.py") if "\ndef main(" in path.read_text(encoding="utf-8")
)


class From(NamedTuple):
    """A constant that is made from the real one, once its module is imported."""

    make: Callable[[Any], Any]


def one_step(arms: dict[str, Any]) -> dict[str, Any]:
    """Arms of `multi30k_learning` with a step each, and two in the first, since the record says that they differ."""
    return {
        arm: (
            replace(model, d_model=40, d_ff=8, n_layers=1),
            replace(options, steps=1 + (arm == "paper"), seconds=60.0),
        )
        for arm, (model, options) in arms.items()
    }


def few_of_each(kinds: dict[str, Callable]) -> dict[str, Callable]:
    """The behaviour test's kinds, two cases each."""
    return {name: lambda carriers, make=make: make(carriers)[:2] for name, make in kinds.items()}


def some_switches(switches: Callable) -> Callable:
    """Every part, and the first and the last of the layers and heads."""
    return lambda model: dict([*switches(model).items()][i] for i in (*range(6), -1))


def narrow(sizes: dict[str, Any]) -> dict[str, Any]:
    return {family: replace(config, d_model=40, d_ff=8, n_layers=1, dropout=0.0) for family, config in sizes.items()}


def few_numbers(made: Callable) -> Callable:
    """The capstone's numbers, with three to be judged by."""

    def few() -> Any:
        numbers = made()
        numbers.test = numbers.test[:3]
        return numbers

    return few


#: A pool whose worker is a thread of this process, so that it sees the constants below.
IN_A_THREAD = From(lambda pool: lambda *_: ThreadPoolExecutor(1))
#: Measurements in this process; what they set in its allocator would outlast the test, and is left out.
NO_OTHER_PROCESS = {"in_a_process": lambda task, *args: task(*args), "ctypes": Mock()}

#: What makes each experiment tiny: its constants, and those of other modules of `experiments` as "module.NAME".
SMALL: dict[str, dict[str, Any]] = {
    "alignment_error": {
        "SEEDS": [0],
        "SCORES": ("dot", "additive"),
        "CORPORA": {"dates": ({"first_year": 1970, "last_year": 2029}, 1), "numbers": ({}, 1)},
        "LONGER": 2,
        "PRACTISED": {"dates": [("dot", [0.01], [0])], "numbers": [("additive", [0.01], [0])]},
        "REVERSE": ({"size": 300, "max_len": 24}, 1, [0]),
        # Only sentences that every model translates without a mistake are shown; after one step there are none.
        "written": lambda model, corpus, pairs: [list(pair.tgt) for pair in pairs],
    },
    "alignment_hops": {"SEEDS": [0], "STEPS": 1, "BATCH": 8},
    "alignment_length": {
        "SEEDS": [0],
        "STEPS": 1,
        "LENGTHS": [4],
        "number_words": From(lambda number_words: partial(number_words, steps=1)),
    },
    "assistant_base": {
        "SEEDS": [0],
        "HELD": 2,
        "SAMPLED": 1,
        "ASKED": 2,
        "LONGEST": 8,
        "BASE": From(lambda base: replace(base, steps=1)),
        "stories": lambda epoch, seed: [Example([], [5, 6])],
    },
    "assistant_follow": {
        "SEEDS": [0],
        "SIZES": {2: 1, 4: 2},
        "ASKED": 8,
        "TOLD": 1,
        "LONG": 3,
        "SHORT": 3,
        "forgotten": lambda model: 0.0,
    },
    "assistant_prefer": {
        "SEEDS": [0],
        "BETAS": [0.1],
        "ASKED": 4,
        "STEPS": 1,
        "JUDGED": 2,
        "LONG": 6,
        "OF": [1, 2],
        "worth": lambda task, words: (False, len("".join(words))),  # nothing that is untrained follows
    },
    "assistant_think": {
        "SEEDS": [0],
        "HOPS": (1, 5),
        "EXAMPLES": 6,
        "STEPS": 1,
        "ASKED": 1,
        "VOTED": 1,
        "VOTES": [1, 3],
        "SHOWN": 2,
        "SHOWN_STEPS": 1,
        "QUESTIONS": 2,
        "ROUNDS": 1,
        "ROUND_STEPS": 1,
    },
    "cost_scaling": {
        "SIZES": {"8 × 1": (8, 1), "16 × 1": (16, 1)},
        "BUDGETS": [3e8, 6e8],
        "FEWEST": 1,
        "TUNED": 1,
        "SEEDS": [0, 1],
        "RATES": [1e-3],
        "LENGTH": 16,
        "JUDGED": 1,
        "SAMPLES": 2,
    },
    "cost_table": {
        "N": [64, 128, 192, 256],
        "PASSES": {64: [0]},
        "PASSES_AT_ONCE": {64: [0]},
        "ROUNDS": 1,
        "SHARED": 256,
        "BATCH": 2,
        "LEAST": 0.0,
        "product_rate": lambda dtype: 1.0,
        **NO_OTHER_PROCESS,
    },
    "data_corpora": {
        "SIZES": (60, 80),
        "WORDS": 80,
        "SEEDS": (0,),
        "SENTENCES": 8,
        "TOKENS": 64,
        "POOLS": (1,),
        "BATCHED": 100,
    },
    "decoding_mask_predict": {"SEEDS": [0], "STEPS": 1, "PASSES": [1, 2], "PAIRS": {"train": 200, "test": 5}},
    "descendants_experts": {"SEEDS": [0], "STEPS": 1},
    "descendants_fine_tuning": {
        "SEEDS": [0],
        "LABELS": [2],
        "STEPS": 1,
        "FINE_STEPS": 1,
        "RATES": From(lambda rates: {arm: some[:1] for arm, some in rates.items()}),
    },
    "descendants_in_context": {"SEEDS": [0], "STEPS": 1, "JUDGED": 8, "LOOKED_AT": 8, "SHOWN": [0, 12]},
    "descendants_objectives": {"SEEDS": [0], "STEPS": 1, "JUDGED": 2},
    "descendants_since": {"SEEDS": [0], "STEPS": 1},
    "descendants_vision": {
        "SEEDS": [0],
        "STEPS": 1,
        "digits": From(
            lambda digits: lambda: {part: (images[:100], names[:100]) for part, (images, names) in digits().items()}
        ),
    },
    "efficient_gates": {"SEEDS": [0], "STEPS": 1, "JUDGED": 1, "BATCH": 2},
    "efficient_scaling": {"N": [64, 128, 192, 256], "ROUNDS": 1, **NO_OTHER_PROCESS},
    "efficient_speculative": {"SEEDS": [0], "SENTENCES": 2, "AHEAD": [2], "MAX_LEN": 5},
    "efficient_task": {"SEEDS": [0], "STEPS": 1, "LONG": 2, "JUDGED": 1, "BATCH": 2},
    "evaluation_ablations": {"SECONDS": 0.5, "SIZES": From(narrow)},
    "evaluation_miniature": {"SECONDS": 0.5, "SEEDS": [0], "evaluation_sweep.SIZES": From(narrow)},
    "evaluation_retuned": {
        "ARMS": ["whole", "post-norm"],
        "RATES": [3e-3, 9e-3],
        "SEEDS": [0, 1],
        "evaluation_ablations.SECONDS": 0.5,
        "evaluation_ablations.SIZES": From(narrow),
    },
    "evaluation_sweep": {"SECONDS": 0.5, "SIZES": From(narrow)},
    "evaluation_translator": {
        "multihead_ablation.PLACES": ("encoder",),
        "SIZES": [2],
        "DRAWS": 1,
        "SPLITS": [0],
        "DEALT": [0],
    },
    "families_parity": {"SEEDS": (0,), "CASES": From(lambda cases: dict([*cases.items()][:1]))},
    "layers_norm_warmup": {
        "ProcessPoolExecutor": IN_A_THREAD,
        "DEPTHS": [1],
        "RATES": [1e-3],
        "WARMUP": 1,
        "LONGER": 2,
        "LOOK": 1,
    },
    "multi30k_learning": {"SEEDS": [0], "ARMS": From(one_step), "KEPT": From(lambda kept: Path("kept"))},
    "multihead_ablation": {"PLACES": ("encoder",), "SEEDS": [0], "STRIDE": 12},
    "parity": {
        "LIBRARIES": (),
        "COMPARISONS": From(lambda every: [one for one in every if find_spec(one.library)][:1]),
    },
    "positional_extrapolation": {
        "pool": IN_A_THREAD,
        "SEEDS": [0],
        "SWEPT_SEEDS": [0],
        "PRACTISED": {"three back": ["alibi"]},
        "STEPS": 1,
        "LONGER": 2,
        "LONG": 48,
        "JUDGED": 2,
        "BATCH": 2,
    },
    "recurrence_length": {
        "RUNS": From(lambda runs: {name: (*sizes, steps // 2000, 1) for name, (*sizes, steps, _) in runs.items()}),
        "LONGEST": 16,
        "JUDGED": 2,
    },
    "recurrence_reach": {
        "SEEDS": [0],
        "STEPS": 1,
        "LONGER": 2,
        "LENGTH": 6,
        "JUDGED": 2,
        "MEASURED": 1,
        "JUDGED_AT": [1, 5],
    },
    "scoreboard": {
        "SEEDS": [0],
        "RATES": [2e-3],
        "FINER": {},
        "JUDGED": 4,
        "OPTIONS": From(lambda options: replace(options, steps=1)),
        "CONFIG": From(lambda config: replace(config, d_model=32, d_ff=8)),
    },
    "scoreboard_long": {"SEEDS": [0], "STEPS": 1, "scoreboard.JUDGED": 4},
    "self_attention_scale": {"SEEDS": [0], "STEPS": 2, "EVERY": 1, "D_K": 8},
    "training_minute": {
        "PRESETS": From(
            lambda presets: {"tiny": replace(presets["tiny"], options=replace(presets["tiny"].options, steps=1))}
        )
    },
    "training_replay": {
        "STEPS": 1,
        "LOOKS": [0, 1],
        "WATCHED": From(lambda watched: load_corpus("dates").sentences("val")[0][0]),
    },
    "training_smoothing": {"STEPS": 1, "DRAWN": 1},
    "training_warmup": {"SEEDS": [0], "RATES": [2e-3], "STEPS": 1, "LOOKS": (1,)},
    "translator_behaviour": {
        "behaviour.cases.assert_frozen": lambda carriers: None,
        "BY_RULE": From(few_of_each),
        "BY_BLEU": From(few_of_each),
    },
    "translator_switches": {"SENTENCES": 2, "switches": From(some_switches)},
    "translator_training": {"LONG": 5},
    "mine": {
        "SEEDS": [0],
        "STEPS": 2,
        "EVERY": 1,
        "LOOKED_AT": 2,
        "WITHOUT": From(lambda without: dict([*without.items()][:1])),
        "Numbers": From(lambda made: few_numbers(made)),
    },
    "playground": {"SEEDS": [0], "UPDATES": 2, "EVERY": 1, "SWITCHES": {"sort": {"task": "sort"}}},
    "playground_library": {"SEEDS": [0], "UPDATES": 2, "ARMS": ["two layers, no residuals", "GRU"]},
    "playground_rates": {
        "SEEDS": [0],
        "TRIED": [1],
        "RATES": [0.008],
        "MACHINES": {"GRU": "gru"},
        "UPDATES": 2,
        "playground.UPDATES": 2,
        "playground.EVERY": 1,
    },
    "translator_twin": {"SENTENCES": 2},
}

#: The arguments of those that take some.
ARGUMENTS = {
    "layers_norm_warmup": "--jobs 1 --steps 1 --layers 1 --rates 0.001 --seeds 0 --longer 0",
    "positional_extrapolation": "--jobs 1",
    "training_minute": "--seeds 0",
    "training_smoothing": "--seeds 0",
    "translator_training": "--judge",  # to train and to ship would replace the model of the book
}

#: Those that take many seconds even so, or node.
SLOW = {
    *("evaluation_ablations", "evaluation_translator", "mine", "multihead_ablation", "translator_twin"),
    *("playground", "playground_rates"),
}


# corpora of a few sentences


def invented(part: str) -> list[tuple[str, str]]:
    """English sentences with French ones, in the place of a real corpus, so that none is needed here.

    Every part has a question, and those for judging have a sentence with two translations, as the real ones do.
    """
    who = ["Tom", "Mary", "The teacher", "My sister", "The old sailor"]
    does = {"sees": "voit", "wants": "veut", "likes": "aime", "paints": "peint", "has": "a"}
    what = {"the dog": "le chien", "the house": "la maison", "a garden": "un jardin", "the sea": "la mer"}
    some = [
        (f"{one} {act} {thing}.", f"{one} {does[act]} {what[thing]}.") for one, act, thing in product(who, does, what)
    ]
    random.Random(0).shuffle(some)
    there = {"train": some[:96], "val": some[-2:]}.get(part, some[-4:-2])
    return [
        ("Why is the window open?", "Pourquoi la fenêtre est-elle ouverte ?"),
        ("She sings in a choir.", "Elle chante dans une chorale."),
        *([("She sings in a choir.", "Elle chante dans un chœur.")] if part != "train" else []),
        *there,
    ]


def few(make: Callable) -> Callable:
    """A maker of a corpus that makes three hundred pairs, however many it is asked for."""

    @wraps(make)
    def small(**options: Any) -> Any:
        return make(**options | {"size": 300})

    return small


@pytest.fixture
def few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every corpus is small, and none is read from a folder or fetched."""
    for name, make in _CORPORA.items():
        if name in REAL:
            parts = ("train", "val", "test", "test_2017")
            corpus = TextCorpus(name, ("English", "French"), "ours", "invented", invented, parts)
            monkeypatch.setitem(_CORPORA, name, lambda corpus=corpus: corpus)
        else:
            monkeypatch.setitem(_CORPORA, name, few(make))


# the test


def made_tiny(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of an experiment with its constants from `SMALL`."""
    module = importlib.import_module(f"experiments.{name}")
    for key, value in SMALL[name].items():
        place, _, constant = f"experiments.{key if '.' in key else f'{name}.{key}'}".rpartition(".")
        holder = importlib.import_module(place)
        real = getattr(holder, constant)  # where this fails, the constant has another name now
        monkeypatch.setattr(holder, constant, value.make(real) if isinstance(value, From) else value)
    return module


def clear_caches() -> None:
    """Forget the data that experiments keep from one call to the next."""
    for name, place in {"experiments.scoreboard": "data", "experiments.evaluation_runs": "Data.load"}.items():
        if name in sys.modules:
            found: Any = sys.modules[name]
            for step in place.split("."):
                found = getattr(found, step)
            found.cache_clear()


def test_every_experiment_has_its_small_constants() -> None:
    missing = ", ".join(sorted({*EXPERIMENTS} - {*SMALL}))
    assert not missing, (
        f"Add to SMALL in tests/lib/test_experiments.py the constants that make this run within a second: {missing}."
    )
    gone = ", ".join(sorted(({*SMALL} | {*ARGUMENTS}) - {*EXPERIMENTS}))
    assert not gone, f"Remove from SMALL and ARGUMENTS in tests/lib/test_experiments.py what is no experiment: {gone}."


@pytest.mark.parametrize("name", params(SMALL, every(3, sorted(SMALL.keys() - SLOW))))
@pytest.mark.usefixtures("few_sentences", "as_readers_run_it")
def test_an_experiment_runs_to_its_record(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in ("cost_table", "efficient_scaling") and not Path("/proc/self/clear_refs").is_file():
        pytest.skip("memory is measured on Linux only")
    if name in ("playground", "translator_twin") and not (ROOT / "frontend" / "node_modules").is_dir():
        pytest.skip("needs the page's parts: `npm ci` in frontend/")
    recording = importlib.import_module("experiments.record")
    module = made_tiny(name, monkeypatch)  # imported before RESULTS is another folder, so that it reads the real one
    monkeypatch.setattr(recording, "RESULTS", tmp_path)
    monkeypatch.setenv("TFM_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(sys, "argv", [name, *ARGUMENTS.get(name, "").split()])
    monkeypatch.chdir(tmp_path)
    clear_caches()
    try:
        assert not module.main()
    finally:
        clear_caches()
    result = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert recording.complaints(result) == []

"""Time `tfm train --corpus numbers --config tiny`, and measure its exact match on unseen numbers."""

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from experiments.record import record, short
from tfm_lib.engine.presets import PRESETS
from tfm_lib.engine.run import RunFolder, exact_match, sentences, train_run
from tfm_lib.engine.trainer import Trainer
from tfm_lib.engine.translator import Translator

CORPUS, CONFIG = "numbers", "tiny"
SEEDS = [0, 1, 2]


class Watcher:
    """Collect the validations and print them."""

    def __init__(self) -> None:
        self.validations: list[dict[str, Any]] = []
        self.began = time.process_time()
        self.trainer: Trainer | None = None

    def says(self, text: str) -> None:
        print(text, flush=True)

    def updated(self, record: dict[str, Any], trainer: Trainer) -> None:
        self.trainer = trainer

    def validated(self, record: dict[str, Any], better: bool) -> None:
        kept = {
            "step": record["step"],
            "val_loss": short(record["val_loss"]),
            "exact": round(record["exact"], 4),
        }
        self.validations.append({**kept, "cpu_seconds": round(time.process_time() - self.began, 1)})
        print(self.validations[-1], flush=True)


def run(seed: int) -> dict[str, Any]:
    """Train once with the command's own function; return its validations, and exact match on the whole test part."""
    preset, watcher = PRESETS[CONFIG], Watcher()
    preset = replace(preset, options=replace(preset.options, seed=seed))
    with tempfile.TemporaryDirectory() as folder:
        train_run(CORPUS, preset, RunFolder(Path(folder) / "run"), watcher, checkpoint_every=500)
        seconds = time.process_time() - watcher.began
        test = sentences(CORPUS, "test")
        exact = exact_match(Translator.load(Path(folder) / "run"), test)
    trainer = watcher.trainer
    assert trainer is not None and not callable(trainer.examples)
    progress, an_epoch = trainer.progress, sum(len(tgt) + 1 for _, tgt in trainer.examples)
    print(f"seed {seed}: {exact:.2%} of {len(test)} exact, {seconds:.0f} s of CPU", flush=True)
    return {
        "seed": seed,
        "updates": progress.step,
        "epochs": round(progress.tokens / an_epoch, 2),
        "cpu_seconds": round(seconds, 1),
        "exact": round(exact, 4),
        "validations": watcher.validations,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--name", default="training_minute", help="of the result; another one for a trial")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    what = (
        f"tfm train --corpus {CORPUS} --config {CONFIG}, with three seeds. exact: share of the test part that greedy decoding "
        f"writes without a fault; cpu_seconds: of the process, data and validations included."
    )
    with record(chosen.name, what) as numbers:
        numbers["settings"] = {"corpus": CORPUS, "config": CONFIG, "test": len(sentences(CORPUS, "test"))}
        numbers["runs"] = [run(seed) for seed in chosen.seeds]
        for one in numbers["runs"]:
            numbers.ran(CONFIG, one["seed"], one["updates"], one["epochs"], one["cpu_seconds"])
        numbers.rows(CONFIG, "runs")


if __name__ == "__main__":
    main()

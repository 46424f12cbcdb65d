"""Train the shipped translator with `tfm train` on Tatoeba's English–French sentences, and score it on the test split.

    TFM_DATA=… python -m experiments.translator_training               # trains on one core, or resumes; ships, scores
    TFM_DATA=… python -m experiments.translator_training --ship RUN    # ships the model of a finished run, scores
    TFM_DATA=… python -m experiments.translator_training --judge       # scores models/en-fr again

Shipping puts the run's best model into models/en-fr, in 8 bits per parameter. It is scored by BLEU, in this record
with the run's curves, and on what people type, in the record of `experiments.translator_behaviour`. Neither record
holds a sentence of the corpus. The card, models/en-fr/README.md, is written by hand from them.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import sacrebleu
import torch
from safetensors.torch import load_file

from experiments.record import RESULTS, record
from tfm_lib.corpora import load_corpus
from tfm_lib.engine.run import CHECKPOINT, METRICS, RUN
from tfm_lib.engine.shipped import shipped_folder
from tfm_lib.engine.trained import CONFIG, TOKENIZER, WEIGHTS, load_trained, read, save_trained, stored
from tfm_lib.engine.translator import Translator

CORPUS, SEED = "tatoeba-en-fr", 1
STEPS, BITS = 8000, 8
RECIPE = ["--optimiser", "muon", "--weight-decay", "0.3", "--peak", "0.002"]  # the preset's own options, written out
LENGTH = ["--steps", str(STEPS), "--max-tokens", "3072", "--seed", str(SEED), "--precision", "bfloat16"]
TRAIN = ["train", "--corpus", CORPUS, "--config", "small", "--typed", "--bits", str(BITS), *LENGTH, *RECIPE]
RUN_FOLDER = Path("trained/en-fr")
STORY = ("train_command", "run", "training", "validation", "lengthened_at", "steps", "epochs", "training_seconds")
POINTS = 120  # points kept of the loss curve


def train(run: Path) -> float:
    """Train; return the CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "tfm_lib.cli", *TRAIN, "--to", str(run)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ship(run: Path) -> None:
    """Save the run's best model, quantised to 8 bits, where the book finds it."""
    model, tokenizer, about = load_trained(run)
    if torch.int8 in {value.dtype for value in load_file(run / WEIGHTS).values()}:
        shipped_folder().mkdir(parents=True, exist_ok=True)
        for name in (WEIGHTS, CONFIG, TOKENIZER):
            shutil.copyfile(run / name, shipped_folder() / name)
    else:
        save_trained(shipped_folder(), model, tokenizer, {key: about[key] for key in about if key != "model"}, BITS)


def in_bits(weights: dict[str, torch.Tensor]) -> dict[str, float]:
    """Return BLEU, one reference per pair, of the shipped sizes with `weights` in 32, 16 and 8 bits."""
    translator, found = Translator.shipped(), {}
    pairs = load_corpus(CORPUS).sentences("test")
    for bits in (32, 16, 8):
        translator.model.load_state_dict(read(stored(weights, bits)))
        sources = list(dict.fromkeys(source for source, _ in pairs))
        written = dict(zip(sources, translator.translate(sources)))
        score = sacrebleu.metrics.BLEU().corpus_score([written[source] for source, _ in pairs], [[t for _, t in pairs]])
        found[str(bits)] = round(score.score, 2)
    return found


def curves(run: Path) -> dict:
    """Return the run's training history, thinned: loss and learning rate by step, and every validation."""
    lines = [json.loads(line) for line in (run / METRICS).read_text().splitlines()]
    steps = [line for line in lines if "loss" in line]
    chosen = steps[:: max(1, len(steps) // POINTS)]
    last, whole = max(line["step"] for line in lines), steps[-1]["epoch"]
    began = next(line["step"] for line in steps if line["epoch"] == whole)  # to within 20 steps, as lines are written
    peak = max(range(len(steps)), key=lambda i: steps[i]["lr"])
    falling = list(zip(steps[peak:], steps[peak + 1 :]))
    return {
        "run": json.loads((run / RUN).read_text()),
        "training": [[s["step"], round(s["loss"], 3), round(s["lr"], 7)] for s in chosen],
        "validation": [[v["step"], round(v["val_loss"], 4), round(v["exact"], 4)] for v in lines if "val_loss" in v],
        # The rate only falls, unless the run was given more steps while it ran.
        "lengthened_at": [after["step"] for before, after in falling if after["lr"] > before["lr"]],
        "steps": last,
        "epochs": round(whole * last / began, 1) if whole else None,
        "training_seconds": steps[-1]["seconds"],
    }


def scores(translator: Translator) -> dict:
    """Return BLEU on the test split: one reference per pair, and all references of each English sentence."""
    pairs = load_corpus(CORPUS).sentences("test")
    references: dict[str, list[str]] = {}
    for source, target in pairs:
        references.setdefault(source, []).append(target)
    found: dict[str, Any] = {"pairs": len(pairs), "sentences": len(references)}
    most = max(map(len, references.values()))
    for name, beam in {"beam 4": 4, "greedy": 1}.items():
        began = time.process_time()
        written = dict(zip(references, translator.translate(list(references), beam)))
        seconds = time.process_time() - began
        metric = sacrebleu.metrics.BLEU()
        one = metric.corpus_score([written[source] for source, _ in pairs], [[target for _, target in pairs]])
        found[name] = {"bleu_one_reference": round(one.score, 2), "signature": str(metric.get_signature())}
        streams = [[(refs[i] if i < len(refs) else None) for refs in references.values()] for i in range(most)]
        metric = sacrebleu.metrics.BLEU()
        every = metric.corpus_score(list(written.values()), streams)
        exact = sum(text in references[source] for source, text in written.items()) / len(references)
        found[name] |= {
            "bleu_all_references": round(every.score, 2),
            "signature_all": str(metric.get_signature()),
            "exact": round(exact, 4),
            "cpu_seconds_a_sentence": round(seconds / len(references), 4),
        }
        if beam > 1:
            found["people"] = beside_people({source: (written[source], *refs) for source, refs in references.items()})
            found["overlap"] = by_overlap(pairs, written)
    return found


LONG = 12  # words in the source from which a sentence counts as long


def by_overlap(pairs: list[tuple[str, str]], written: dict[str, str]) -> dict:
    """Return BLEU, one reference per pair, for targets in training, for targets not in it, and for long sources."""
    known = {target for _, target in load_corpus(CORPUS).sentences("train")}
    parts = {
        "known": [pair for pair in pairs if pair[1] in known],
        "new": [pair for pair in pairs if pair[1] not in known],
        "long": [pair for pair in pairs if len(pair[0].split()) >= LONG],
    }
    found = {}
    for name, some in parts.items():
        sources, targets = zip(*some)
        score = sacrebleu.metrics.BLEU().corpus_score([written[source] for source in sources], [list(targets)])
        found[name] = {"pairs": len(some), "bleu": round(score.score, 2)}
    found["long"]["words"] = LONG
    return found


def beside_people(translations: dict[str, tuple[str, ...]]) -> dict:
    """Return BLEU between two different human translations of the same sentence, and of the model against either.

    It does not measure what people reach: the corpus keeps a translation once, so agreeing translators are not
    included. The model's translation of each sentence comes first; sentences with only one human translation are left
    out.
    """
    model, one, other = zip(*(each[:3] for each in translations.values() if len(each) > 2))
    bleu = sacrebleu.metrics.BLEU()
    beside = [bleu.corpus_score(list(model), [list(person)]).score for person in (one, other)]
    return {
        "sentences": len(model),
        "equal": sum(a == b for a, b in zip(one, other)),
        "bleu": round(bleu.corpus_score(list(one), [list(other)]).score, 2),
        "bleu_model": [round(score, 2) for score in beside],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--judge", action="store_true", help="judge the shipped model, train nothing")
    what.add_argument("--ship", type=Path, metavar="RUN", help="ship the model of this run and judge it")
    parser.add_argument("--run", type=Path, default=RUN_FOLDER, help="the folder to train in")
    parser.add_argument("--cpu-seconds", type=float, help="with --ship: what the run took of a processor")
    given = parser.parse_args()
    torch.set_num_threads(1)
    run = None if given.judge else given.ship or given.run
    spent = given.cpu_seconds if given.judge or given.ship else train(given.run)
    if run:
        if curves(run)["steps"] != STEPS:
            parser.error(
                f"the run in {run} has {curves(run)['steps']} steps, and {STEPS} are to be recorded; let it end"
            )
        ship(run)
    with record("translator_training", "training and scores of the shipped English–French translator") as kept:
        if run:
            kept.update(train_command="tfm " + " ".join(TRAIN), **curves(run), training_cpu_seconds=spent)
            weights = torch.load(run / CHECKPOINT, map_location="cpu", weights_only=True)["averaged"]
        else:  # scored again: the training history stays
            old = json.loads((RESULTS / "translator_training.json").read_text())
            kept.update({key: old.get(key) for key in (*STORY, "training_cpu_seconds")})
            weights, spent = Translator.shipped().model.state_dict(), kept["training_cpu_seconds"]
        translator = Translator.shipped()
        kept["parameters"] = sum(p.numel() for p in translator.model.parameters())
        kept["bytes"] = sum(path.stat().st_size for path in shipped_folder().iterdir())
        kept["bleu_in_bits"] = in_bits(weights)
        kept["scores"] = scores(translator)
        kept.ran("shipped", SEED, updates=kept["steps"], epochs=kept["epochs"], cpu_seconds=spent)
        if spent is None:
            kept.unknown("shipped", "The run took its seconds by the clock on the wall.")
    if run:
        aims = subprocess.run([sys.executable, "-m", "experiments.translator_behaviour"], check=False)
        sys.exit(aims.returncode)  # 1 if an aim is not reached; the records are written either way


if __name__ == "__main__":
    main()

"""Train English to German on Multi30k for 20 minutes of one processor core, adding one change at a time.

Every arm has the same budget of CPU seconds, one thread, and a shared list of sub-words; the budget includes learning
the sub-words. The corpus is taken from TFM_DATA or the cache, or fetched; its licence allows research only, so only
scores are saved. Each run's score is saved in trained/multi30k, so the many hours can be split:

    python -m experiments.multi30k_learning --arms wide --seeds 0 1 2    # these runs, if missing
    python -m experiments.multi30k_learning                                 # all missing runs, then the record
    python -m experiments.multi30k_learning --record                        # the record of the saved runs
"""

import argparse
import json
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import sacrebleu
import torch

from experiments.pair_samples import first_of
from experiments.record import record
from tfm_lib.corpora import load_corpus
from tfm_lib.data import Tokenizer
from tfm_lib.engine.run import plain_examples, training_examples
from tfm_lib.engine.trainer import Trainer, TrainOptions
from tfm_lib.engine.translator import Translator
from tfm_lib.transformer import Transformer, TransformerConfig

NAME = "multi30k_learning"
SEEDS = [0, 1, 2]
BUDGET = 1200.0  # CPU seconds
KEPT = Path("trained/multi30k")
POST = TransformerConfig(4000, d_model=128, n_heads=4, d_ff=512, n_layers=3, dropout=0.1)
PRE = replace(POST, norm="pre")
PAPER = TrainOptions(
    max_tokens=2048, steps=10**9, seconds=BUDGET, clock="cpu", schedule="paper", warmup=1000, clip=0.0, epsilon=0.1
)
WIDE = replace(PRE, d_model=160, n_heads=5, d_ff=640)
HALF = replace(PAPER, bfloat16=True)
AVERAGED = replace(HALF, schedule="cosine", peak=3e-3, warmup=500, clip=1.0, average=0.998)
DECAY = replace(AVERAGED, optimiser="muon", weight_decay=0.3)
#: Each arm keeps the changes of those above it.
ARMS = {
    "paper": (POST, PAPER),
    "pre-norm": (PRE, HALF),
    "averaged": (PRE, AVERAGED),
    "decay": (PRE, DECAY),
    "wide": (WIDE, replace(DECAY, weight_decay=0.5)),
}


def run(arm: str, seed: int) -> dict[str, Any]:
    """Train one arm; return its greedy score on the test captions, with the final weights."""
    began = time.process_time()
    model_config, options = ARMS[arm]
    corpus = load_corpus("multi30k")
    train, val, test = (corpus.sentences(part) for part in ("train", "val", "test"))
    tokenizer = Tokenizer.train((side for pair in train for side in pair), model_config.vocab_size)
    options = replace(options, seed=seed)
    examples = training_examples(tokenizer, train, options)
    an_epoch = sum(len(tgt) + 1 for _, tgt in plain_examples(tokenizer, train))  # target tokens
    torch.manual_seed(seed)
    model = Transformer(replace(model_config, vocab_size=len(tokenizer)))
    options = replace(options, seconds=options.seconds - (time.process_time() - began))
    trainer = Trainer(model, examples, options)
    for update in trainer.run():
        if update["step"] % 250 == 0:
            print(
                f"{arm} {seed}: {update['step']} steps, {time.process_time() - began:.0f} s, loss {update['loss']:.2f}",
                flush=True,
            )
    spent = time.process_time() - began
    loss, _ = trainer.validate(plain_examples(tokenizer, val))
    seen, _ = trainer.validate(plain_examples(tokenizer, first_of(train, len(val))))
    with trainer.averaged_weights():
        written = Translator(model, tokenizer).translate([source for source, _ in test], beam=1)
    metric = sacrebleu.metrics.BLEU()
    bleu = metric.corpus_score(written, [[target for _, target in test]])
    return {
        "arm": arm,
        "seed": seed,
        "bleu": round(bleu.score, 2),
        "perplexity": round(float(torch.tensor(loss).exp()), 3),
        "perplexity_train": round(float(torch.tensor(seen).exp()), 3),
        "steps": trainer.progress.step,
        "epochs": round(trainer.progress.tokens / an_epoch, 2),
        "tokens": trainer.progress.tokens,
        "train_cpu_seconds": round(spent, 1),
        "parameters": sum(p.numel() for p in model.parameters()),
        "signature": str(metric.get_signature()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--record", action="store_true", help="train nothing")
    given = parser.parse_args()
    torch.set_num_threads(1)
    KEPT.mkdir(parents=True, exist_ok=True)
    for seed in [] if given.record else given.seeds:
        for arm in given.arms:
            kept = KEPT / f"{arm}-{seed}.json"
            if not kept.is_file():
                result = run(arm, seed)
                kept.write_text(json.dumps(result) + "\n")
                print(result, flush=True)
    if given.record or (given.arms, given.seeds) == (list(ARMS), SEEDS):
        write()


def write() -> None:
    """Write the record of the saved runs."""
    runs = [json.loads(path.read_text()) for path in KEPT.glob("*.json")]
    runs.sort(key=lambda one: (list(ARMS).index(one["arm"]), one["seed"]))
    what = (
        f"English to German on Multi30k in {BUDGET:.0f} CPU seconds of one thread, each arm with one change more than the one "
        "before. bleu: sacrebleu, greedy, on test_2016_flickr; perplexity: on the validation part, per target token; "
        "perplexity_train: on as many training pairs. The seconds below are those of writing the record; each run has its own."
    )
    seeds = {arm: [one["seed"] for one in runs if one["arm"] == arm] for arm in ARMS}
    unequal = (
        "Each arm has the same CPU seconds, so a quicker one makes more updates. Seeds that were run: "
        + "; ".join(f"{arm} {', '.join(map(str, of_arm))}" for arm, of_arm in seeds.items())
    )
    with record(NAME, what, unequal) as numbers:
        for one in runs:
            numbers.ran(one["arm"], one["seed"], one["steps"], one["epochs"], one["train_cpu_seconds"])
        for arm in ARMS:
            numbers.rows(arm, f"runs/arm={arm}")
        numbers["arms"] = {
            arm: {"model": asdict(model), "options": asdict(options)} for arm, (model, options) in ARMS.items()
        }
        numbers["runs"] = runs
        numbers["pairs"] = len(load_corpus("multi30k").sentences("train"))


if __name__ == "__main__":
    main()

"""Load data, train resumably and score, for the miniature table and its ablations.

Budgets are CPU seconds of one thread, converted to updates. On a machine with other load a second buys fewer updates,
so the speed of each family was measured once, in turns, and a run makes as many updates as its seconds buy at the best
measured speed. Families are therefore compared at equal budgets, and each run can be repeated bit for bit.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from experiments.evaluation_models import MAKE, SIZES, Model, translated
from experiments.record import cpu_seconds, machine
from tfm_lib.corpora import load_corpus
from tfm_lib.data import Example, Tokenizer
from tfm_lib.engine.run import plain_examples
from tfm_lib.engine.trainer import Trainer, TrainOptions

#: Updates per CPU second, as measured by `rates`: the best of four rounds in which the families took turns.
UPDATES_A_SECOND = {"gru": 2.69, "gru with attention": 2.50, "convolutional": 3.58, "transformer": 2.20}
CHECKPOINT_EVERY = 100  # updates
OPTIONS = TrainOptions(
    max_tokens=2048, schedule="cosine", warmup=200, clip=1.0, epsilon=0.1, average=0.998, bfloat16=True, clock="cpu"
)


@dataclass(frozen=True)
class Data:
    """Multi30k, English to German, with sub-words shared by both sides."""

    tokenizer: Tokenizer
    train: list[Example]
    val: list[Example]
    val_pairs: list[tuple[str, str]]

    @classmethod
    @cache
    def load(cls) -> "Data":
        corpus = load_corpus("multi30k")
        train, val = corpus.sentences("train"), corpus.sentences("val")
        tokenizer = Tokenizer.train((side for pair in train for side in pair), 4000)
        return cls(tokenizer, plain_examples(tokenizer, train), plain_examples(tokenizer, val), val)

    @property
    def an_epoch(self) -> int:
        """Target tokens of the training part, <eos> included."""
        return sum(len(example.tgt) + 1 for example in self.train)


def updates(family: str, seconds: float) -> int:
    """Return how many updates the given CPU seconds buy."""
    return round(seconds * UPDATES_A_SECOND[family])


def trained(
    name: str, key: str, make: Callable[[], Model], options: TrainOptions, data: Data | None = None
) -> tuple[Model, dict[str, Any]]:
    """Return the model with averaged weights, and its training statistics; resume an interrupted run."""
    data, folder = data or Data.load(), Path(os.environ.get("TFM_RUNS", "trained"), name)
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(options.seed)
    trainer, checkpoint = Trainer(make(), data.train, options), folder / f"{key}.checkpoint"
    if checkpoint.is_file():
        trainer.resume(checkpoint)
    for update in trainer.run():
        if update["step"] % CHECKPOINT_EVERY == 0:
            trainer.save(checkpoint)
            print(f"{key}: {update['step']} of {options.steps}, loss {update['loss']:.2f}", flush=True)
    trainer.save(checkpoint)  # the evaluation that follows can be interrupted as well
    loss, _ = trainer.validate(data.val)
    for p, mean in zip(trainer.model.parameters(), (trainer.averaged or {}).values()):
        p.data.copy_(mean)
    progress = trainer.progress
    took = {
        "seed": options.seed,
        "updates": progress.step,
        "epochs": round(progress.tokens / data.an_epoch, 2),
        "tokens": progress.tokens,
        "training_cpu_seconds": round(progress.seconds, 1),  # over all sessions
        "machine": machine(),
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "perplexity": round(float(torch.tensor(loss).exp()), 3),
    }
    return trainer.model.eval(), took


def corpus_scores(
    model: Model, pairs: Sequence[tuple[str, str]], beam: int, tokenizer: Tokenizer | None = None
) -> tuple[dict[str, Any], list[str]]:
    """BLEU and chrF of the translations of `pairs`, and the translations."""
    import sacrebleu

    began = cpu_seconds()
    written = translated(model, tokenizer or Data.load().tokenizer, [source for source, _ in pairs], beam)
    references = [[target for _, target in pairs]]
    bleu, chrf = sacrebleu.metrics.BLEU(), sacrebleu.metrics.CHRF()
    scores = {
        "bleu": round(bleu.corpus_score(written, references).score, 2),
        "chrf": round(chrf.corpus_score(written, references).score, 2),
        "signature": str(bleu.get_signature()),
        "cpu_seconds": round(cpu_seconds() - began, 1),
    }
    return scores, written


def rates(rounds: int = 8, steps: int = 24) -> dict[str, list[float]]:
    """Return updates per CPU second of each family, one value per round."""
    data, found = Data.load(), {family: [] for family in MAKE}
    for _ in range(rounds):
        for family, seen in found.items():
            torch.manual_seed(0)
            model = MAKE[family](replace(SIZES[family], vocab_size=len(data.tokenizer)))
            options = replace(OPTIONS, steps=steps, optimiser="muon", weight_decay=0.5)
            trainer = Trainer(model, data.train, options)
            for _ in trainer.run():
                pass
            seen.append(round(steps / trainer.progress.seconds, 3))
        print({family: (seen[-1], max(seen)) for family, seen in found.items()}, flush=True)
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    rates()

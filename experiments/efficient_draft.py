"""A small draft for the shipped translator: trained on what that translator writes, for speculative decoding.

    TFM_DATA=… python -m experiments.efficient_draft       # some five minutes of one core; writes models/en-fr-draft

The translator writes a translation of each of some thousand English sentences, greedily, and the draft learns to write
the same (Kim and Rush, 2016, section 3.2). No sentence of the corpus goes into the record.
"""

import itertools
import os
from collections.abc import Iterator

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

from typing import Any

import torch
from torch import nn

from experiments.record import Made, curve, record
from experiments.sampling import sample_of
from tfm_lib.corpora import load_corpus
from tfm_lib.data import Example, batches, pad
from tfm_lib.decoding import greedy_decode
from tfm_lib.engine.draft import save_draft
from tfm_lib.engine.translator import Translator
from tfm_lib.training import Batch, train
from tfm_lib.transformer import Transformer, TransformerConfig, count_parameters

NAME = "efficient_draft"
D_MODEL, N_HEADS, D_FF, N_LAYERS = 64, 4, 128, 1
SENTENCES, HELD_OUT, TOKENS, STEPS, WARMUP, PEAK, EVERY, SEED = 16_000, 200, 1500, 1200, 100, 6e-3, 50, 0


def written(translator: Translator, sentences: list[str], at_once: int = 256) -> list[Example]:
    """Each sentence with what the translator writes for it, as ids without special tokens."""
    tokenizer, examples = translator.tokenizer, []
    sources = sorted((tokenizer.encode(translator.as_read(each)) for each in sentences), key=len)
    for group in _groups(sources, at_once):
        src = pad([[*ids, tokenizer.eos_id] for ids in group])
        lines = greedy_decode(translator.model, src, tokenizer.bos_id, tokenizer.eos_id, max_len=40).tolist()
        for ids, line in zip(group, lines):
            if tokenizer.eos_id in line and ids:
                examples.append(Example(ids, line[: line.index(tokenizer.eos_id)]))
    return examples


def _groups(rows: list, size: int) -> Iterator[list]:
    return (rows[start : start + size] for start in range(0, len(rows), size))


def rate(step: int) -> float:
    """Up over WARMUP steps, then in a straight line to 0."""
    return PEAK * min(step / WARMUP, (STEPS - step + 1) / (STEPS - WARMUP))


@torch.no_grad()
def agreement(model: nn.Module, examples: list[Example]) -> float:
    """How often the draft's most probable token is the translator's, given the translator's words so far."""
    model.eval()
    hits = total = 0
    for group in _groups(examples, 100):
        batch = Batch.of(group)
        real = batch.tgt_out != batch.pad_id
        hits += ((model(batch.src, batch.tgt_in).argmax(dim=-1) == batch.tgt_out) & real).sum().item()
        total += real.sum().item()
    return hits / total


def run(seed: int) -> Made:
    translator = Translator.shipped()
    corpus = load_corpus("tatoeba-en-fr")
    sources = list(dict.fromkeys(source for source, _ in corpus.sentences("train")))
    held_out = list(dict.fromkeys(source for source, _ in corpus.sentences("val")))
    examples = written(translator, sample_of(sources, SENTENCES, seed))
    judged = written(translator, sample_of(held_out, HELD_OUT, seed))
    torch.manual_seed(seed)
    sizes = dict(d_model=D_MODEL, n_heads=N_HEADS, d_ff=D_FF, n_layers=N_LAYERS)
    draft = Transformer(TransformerConfig(len(translator.tokenizer), dropout=0.0, norm="pre", **sizes))
    endless = (Batch.of(group) for epoch in itertools.count() for group in batches(examples, TOKENS, seed=epoch))
    losses = []
    for step in train(draft, itertools.islice(endless, STEPS), rate, epsilon=0.0):
        losses.append(step.loss)
        if step.step % 200 == 0:
            print(step.step, sum(losses[-200:]) / 200, flush=True)
    numbers: dict[str, Any] = {
        "seed": seed,
        "epochs": round(STEPS / sum(1 for _ in batches(examples, TOKENS, seed=0)), 1),
        "curve": curve(losses, EVERY),
        "agreement": round(agreement(draft, judged), 4),
        "parameters": sum(count_parameters(draft).values()),
        "of_translator": sum(count_parameters(translator.model).values()),
    }
    return numbers, draft


def main() -> None:
    torch.set_num_threads(1)
    what = (
        f"A Transformer (pre-norm, N = {N_LAYERS}, d_model {D_MODEL}, {N_HEADS} heads, d_ff {D_FF}) over the shipped "
        f"translator's sub-words, trained for {STEPS} updates of at most {TOKENS} tokens on what the translator writes, "
        f"greedily, for {SENTENCES} English sentences of tatoeba-en-fr's training split. Adam of the paper, no smoothing, no "
        f"dropout, rate up to {PEAK} over {WARMUP} steps, then in a straight line to 0. curve: training loss, means of "
        f"{EVERY} steps. agreement: on {HELD_OUT} validation sentences, how often its most probable token is the "
        "translator's, given the translator's words so far. The weights lie in models/en-fr-draft, 8 bits a number."
    )
    with record(NAME, what) as numbers:
        (made,) = numbers.pieces("draft", [SEED], keep, STEPS)
        numbers["settings"] = {"sentences": SENTENCES, "held_out": HELD_OUT, "d_model": D_MODEL, "n_layers": N_LAYERS}
        numbers["draft"] = made


def keep(seed: int) -> Made:
    numbers, draft = run(seed)
    save_draft(draft, {"corpus": "tatoeba-en-fr", "teacher": "en-fr", "updates": STEPS})
    return numbers, draft


if __name__ == "__main__":
    main()

"""Ablate the heads of the shipped translator: switch heads off and score its translations again.

    TFM_DATA=… python -m experiments.multihead_ablation      # about ten minutes on one core
    TFM_DATA=… python -m experiments.multihead_ablation --sentences 40 --name trial

The result holds numbers, and translations of `OURS`, sentences written for this book; none of the corpus.
"""

import argparse
import hashlib
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest
from torch import Tensor

from experiments.pair_samples import sample_of
from experiments.record import record
from tfm_lib.corpora import load_corpus
from tfm_lib.data import pad
from tfm_lib.engine.shipped import shipped_folder
from tfm_lib.engine.trained import WEIGHTS
from tfm_lib.engine.translator import Translator
from tfm_lib.multihead import MultiHeadAttention, without_heads
from tfm_lib.transformer import Transformer

CORPUS = "tatoeba-en-fr"
PLACES = ("encoder", "decoder", "cross")
OURS = [
    "The cat drinks the milk and the dog sleeps.",
    "Did you see my sister at the station yesterday?",
    "He gave her the book that she had lost.",
]
STRIDE = 8  # heads removed before the remaining ones are ranked again
SEEDS = list(range(10))  # of the random orders
AT_ONCE = 64
ALL = 10**9
Batches = list[tuple[Tensor, Tensor]]


class Bench:
    """The translator with its heads numbered consecutively, and the sentences used for scoring."""

    def __init__(self, sentences: int):
        self.translator = Translator.shipped()
        model = self.translator.model
        self.layers = [attention_of(model, place, i) for place in PLACES for i in range(model.config.n_layers)]
        corpus = load_corpus(CORPUS)
        self.ranked_on = self.encoded(sample_of(corpus.sentences("val"), sentences, seed=0))
        pairs = sample_of(corpus.sentences("test"), sentences, seed=0)
        self.test = self.encoded(pairs)
        self.references: dict[str, list[str]] = {}
        for source, target in pairs:
            self.references.setdefault(source, []).append(target)
        most = max(map(len, self.references.values()))
        self.streams = [[refs[i] if i < len(refs) else None for refs in self.references.values()] for i in range(most)]
        self.metric = BLEU()

    def encoded(self, pairs: list[tuple[str, str]]) -> Batches:
        """Batch pairs of similar length: source ids, and target ids from <bos> to <eos>."""
        t = self.translator.tokenizer
        sources, targets = (t.encode_all(side) for side in zip(*pairs))
        rows = sorted(zip(sources, targets), key=lambda row: (len(row[0]) + len(row[1]), len(row[0])))
        groups = [rows[i : i + AT_ONCE] for i in range(0, len(rows), AT_ONCE)]
        return [
            (
                pad([[*src, t.eos_id] for src, _ in group], t.pad_id),
                pad([[t.bos_id, *tgt, t.eos_id] for _, tgt in group], t.pad_id),
            )
            for group in groups
        ]

    @contextmanager
    def without(self, heads: Iterable[int]) -> Iterator[None]:
        """Run the block without some heads, numbered from 0: by place, then layer, then head."""
        h = self.translator.model.config.n_heads
        with ExitStack() as stack:
            for number, layer in enumerate(self.layers):
                off = [i % h for i in heads if i // h == number]
                stack.enter_context(without_heads(layer, *off))
            yield

    @torch.no_grad()
    def loss(self, batches: Batches) -> float:
        """Return the loss in nats per token under teacher forcing, without smoothing."""
        model = self.translator.model
        return sum(self._nats(model(src, tgt[:, :-1]), tgt) for src, tgt in batches) / self._tokens(batches)

    def loss_without(self, heads: Iterable[int], batches: Batches) -> float:
        with self.without(list(heads)):
            return round(self.loss(batches), 4)

    @torch.no_grad()
    def losses_without_each(self, heads: Iterable[int], gone: list[int], batches: Batches) -> dict[int, float]:
        """Return the loss without `gone` and one more head, for each of `heads`.

        A decoder head does not change the memory, which is then computed once.
        """
        model, totals = self.translator.model, dict.fromkeys(heads, 0.0)
        n, h = model.config.n_layers, model.config.n_heads
        with self.without(gone):
            for src, tgt in batches:
                memory = model.encode(src)
                for i in totals:
                    with without_heads(self.layers[i // h], i % h):
                        known = memory if i >= n * h else model.encode(src)
                        logits = model.embedding.unembed(model.decode(tgt[:, :-1], known))
                    totals[i] += self._nats(logits, tgt)
        tokens = self._tokens(batches)
        return {i: round(total / tokens, 4) for i, total in totals.items()}

    def _nats(self, logits: Tensor, tgt: Tensor) -> float:
        pad_id = self.translator.tokenizer.pad_id
        return F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=pad_id, reduction="sum").item()

    def _tokens(self, batches: Batches) -> int:
        return sum(int((tgt[:, 1:] != self.translator.tokenizer.pad_id).sum()) for _, tgt in batches)

    def written(self) -> tuple[list[str], list[str]]:
        """Return greedy translations of the test split and of our own sentences."""
        found = self.translator.search([*self.references, *OURS], beam=1, at_once=AT_ONCE)
        texts = [self.translator.tokenizer.decode(ids) for ids in found]
        return texts[: -len(OURS)], texts[-len(OURS) :]

    def judged(self, heads: Iterable[int], loss: float | None = None) -> dict[str, Any]:
        """Return the loss (computed unless given), BLEU and translations without some heads."""
        with self.without(list(heads)):
            texts, ours = self.written()
            loss = self.loss(self.test) if loss is None else loss
        return {
            "loss": round(loss, 4),
            "bleu": round(self.metric.corpus_score(texts, self.streams).score, 2),
            "ours": ours,
            "texts": texts,
        }


def attention_of(model: Transformer, place: str, layer: int) -> MultiHeadAttention:
    """Return one of the model's multi-head attentions."""
    block = (model.encoder if place == "encoder" else model.decoder)[layer]
    found = block.cross_attention if place == "cross" else block.self_attention
    assert isinstance(found, MultiHeadAttention)
    return found


def fingerprint() -> str:
    """Return a hash of the weights: a result that was measured with other weights is stale."""
    return hashlib.sha256((shipped_folder() / WEIGHTS).read_bytes()).hexdigest()[:16]


def kept(judged: dict[str, Any], whole: dict[str, Any]) -> list:
    """Return the loss, BLEU, and our sentences where the translation changed."""
    return [
        judged["loss"],
        judged["bleu"],
        [new if new != old else None for new, old in zip(judged["ours"], whole["ours"])],
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=ALL, help="pairs drawn from either split; all without it")
    parser.add_argument("--name", default="multihead_ablation", help="of the result; another one for a trial")
    parser.add_argument("--threads", type=int, default=1, help="cores that PyTorch may use")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    with record(given.name, WHAT) as numbers:
        bench = Bench(given.sentences)
        config = bench.translator.model.config
        n, h = len(bench.layers) * config.n_heads, config.n_heads
        whole = bench.judged([])
        print(f"whole: loss {whole['loss']:.3f}, BLEU {whole['bleu']:.2f}", flush=True)
        alone, singles = bench.losses_without_each(range(n), [], bench.test), []
        for i in range(n):
            singles.append(bench.judged([i], alone[i]))
            print(f"head {i}: loss {singles[-1]['loss']:.3f}, BLEU {singles[-1]['bleu']:.2f}", flush=True)
        layers = [bench.judged(range(i * h, (i + 1) * h)) for i in range(len(bench.layers))]
        print("layers", [layer["bleu"] for layer in layers], flush=True)

        order, once = pruning_order(bench)
        stops = list(range(0, n + 1, STRIDE))
        pruned = [bench.judged(order[:count]) for count in stops]
        print("order", [(count, p["bleu"]) for count, p in zip(stops, pruned)], flush=True)
        random = []
        for seed in SEEDS:
            with numbers.run("random orders", seed, updates=0):
                shuffled = torch.randperm(n, generator=torch.Generator().manual_seed(seed)).tolist()
                random.append([bench.loss_without(shuffled[:count], bench.test) for count in stops])
        numbers.rows("random orders", "random")

        numbers |= {
            "model": fingerprint(), "places": list(PLACES), "n_layers": config.n_layers, "n_heads": h,
            "pairs": sum(len(src) for src, _ in bench.test), "sentences": len(bench.references),
            "ranked_on": sum(len(src) for src, _ in bench.ranked_on),
            "signature": str(bench.metric.get_signature()),
            "ours": OURS, "whole": [whole["loss"], whole["bleu"], whole["ours"]],
            "heads": [kept(single, whole) for single in singles],
            "p": p_values(bench, whole, singles),
            "layers": [kept(layer, whole) for layer in layers],
            "order": order, "stops": stops, "pruned": [kept(p, whole) for p in pruned],
            "once": [bench.loss_without(once[:count], bench.test) for count in stops], "random": random,
        }  # fmt: skip


def pruning_order(bench: Bench) -> tuple[list[int], list[int]]:
    """Rank all heads, least important first, by the loss without them on the validation pairs: iteratively, and once.

    In the iterative ranking half of the heads are ranked anew; the others keep the order of the last ranking.
    """
    left = list(range(len(bench.layers) * bench.translator.model.config.n_heads))
    order: list[int] = []
    once: list[int] = []
    half = len(left) // 2
    while len(order) < half:
        losses = bench.losses_without_each(left, order, bench.ranked_on)
        left.sort(key=losses.__getitem__)
        once = once or list(left)
        order += left[:STRIDE]
        left = left[STRIDE:]
        print(f"ranked, {len(order)} gone", flush=True)
    return order + left, once


def p_values(bench: Bench, whole: dict[str, Any], singles: list[dict[str, Any]]) -> list[float]:
    """Return the p value of each head's BLEU difference from the whole model, from a paired bootstrap."""
    systems = [("whole", whole["texts"]), *((str(i), single["texts"]) for i, single in enumerate(singles))]
    _, results = PairedTest(systems, {"BLEU": BLEU()}, bench.streams, test_type="bs", n_samples=1000)()
    return [round(result.p_value, 4) for result in results["BLEU"][1:]]


WHAT = (
    "Heads of the shipped English–French translator switched off (their rows of W^O set to 0), judged on the test split of Tatoeba: "
    "loss in nats a token, and BLEU of greedy translations against all references of a sentence. heads: one at a time, numbered "
    "by place, layer and head, with p of a paired bootstrap (1 000 samples) for BLEU; layers: all heads of one attention; pruned: the "
    "heads of `order` one after the other, least important first by loss on all pairs of the validation split, asked anew "
    f"after every {STRIDE} heads until half are gone; once: loss on the test split when asked once; random: loss on the test split when pruned in "
    f"{len(SEEDS)} random orders, one a seed. Each entry: loss, BLEU, our own sentences where they came out otherwise."
)


if __name__ == "__main__":
    main()

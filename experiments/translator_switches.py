"""Ablate the shipped translator: switch off one part at a time and count the changed translations.

    TFM_DATA=… python -m experiments.translator_switches      # about two minutes on one core

A switch has the same name as in the page's translator: positions, scale, causal, cross, residuals, a layer as
"encoder.0", a head as "decoder.2.cross_attention.7". The result holds counts and BLEU, and no sentence of the corpus.
"""

import hashlib
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import torch
from sacrebleu.metrics import BLEU
from torch import Tensor, nn

from experiments.record import record
from tfm_lib._trace import trace
from tfm_lib.corpora import load_corpus
from tfm_lib.corpora.real import references
from tfm_lib.data import pad
from tfm_lib.engine.shipped import shipped_folder
from tfm_lib.engine.trained import WEIGHTS
from tfm_lib.engine.translator import Translator
from tfm_lib.layers import DecoderLayer, EncoderLayer, Residual
from tfm_lib.multihead import MultiHeadAttention, without_heads
from tfm_lib.transformer import Transformer

NAME = "translator_switches"
CORPUS = "tatoeba-en-fr"
SENTENCES = 200
AT_ONCE = 50
ATTENTIONS = ("encoder.{}.self_attention", "decoder.{}.self_attention", "decoder.{}.cross_attention")

Switch = Callable[[Transformer], AbstractContextManager[None]]


class Unscaled(MultiHeadAttention):
    """Attention with unscaled scores QKᵀ."""

    def compared(self, Q: Tensor, K: Tensor) -> tuple[Tensor, Tensor, None]:
        return Q * Q.shape[-1] ** 0.5, K, None


class NoWayAround(Residual):
    """Replace the residual connection: return a sub-layer's output without its input."""

    def leave(self, X: Tensor, change: Tensor) -> Tensor:
        return self.norm(change) if self.is_post else change


class SeesAhead(DecoderLayer):
    """A decoder layer whose self-attention has no causal mask."""

    def forward(self, Y: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, *rest: Any, **more: Any) -> Any:
        return super().forward(Y, memory, None, *rest, **more)


class SkippedEncoder(EncoderLayer):
    """An encoder layer that returns its input."""

    def forward(self, X: Tensor, *rest: Any, **more: Any) -> Any:
        return X, None


class SkippedDecoder(DecoderLayer):
    """Decoder layer that returns its input; it updates its cache, since the first one counts positions."""

    def forward(self, Y: Tensor, *rest: Any, **more: Any) -> Any:
        _, weights = super().forward(Y, *rest, **more)
        return Y, weights


@contextmanager
def of_class(new: type[nn.Module], model: nn.Module) -> Iterator[None]:
    """Turn every module of the parent class of `new` into one of `new` while the block runs."""
    (old,) = new.__bases__
    changed = [module for module in model.modules() if type(module) is old]
    for module in changed:
        module.__class__ = new
    try:
        yield
    finally:
        for module in changed:
            module.__class__ = old


@contextmanager
def no_positions(model: Transformer) -> Iterator[None]:
    positions = model.embedding.positions
    assert isinstance(positions, Tensor)
    kept = positions.clone()
    positions.zero_()
    try:
        yield
    finally:
        positions.copy_(kept)


@contextmanager
def nothing_from_the_memory(model: Transformer) -> Iterator[None]:
    """Make cross-attention return zeros, without its bias, while the block runs."""
    names = [f"decoder.{i}.cross_attention.output" for i in range(model.config.n_layers)]
    with trace(model, names="", replace=dict.fromkeys(names, torch.zeros_like)):
        yield


@contextmanager
def without_head(attention: str, head: int, model: Transformer) -> Iterator[None]:
    layer = model.get_submodule(attention)
    assert isinstance(layer, MultiHeadAttention)
    with without_heads(layer, head):
        yield


@contextmanager
def without_layer(name: str, model: Transformer) -> Iterator[None]:
    with of_class(
        SkippedEncoder if name.startswith("encoder") else SkippedDecoder, nn.ModuleList([model.get_submodule(name)])
    ):
        yield


PARTS: dict[str, Switch] = {
    "positions": no_positions,
    "scale": partial(of_class, Unscaled),
    "causal": partial(of_class, SeesAhead),
    "cross": nothing_from_the_memory,
    "residuals": partial(of_class, NoWayAround),
}


def switches(model: Transformer) -> dict[str, Switch]:
    """Return every switch by name: the parts, then layers, then heads."""
    layers, heads = range(model.config.n_layers), range(model.config.n_heads)
    found = dict(PARTS)
    found |= {
        name: partial(without_layer, name)
        for side in ("encoder", "decoder")
        for i in layers
        for name in [f"{side}.{i}"]
    }
    names = [attention.format(i) for attention in ATTENTIONS for i in layers]
    return found | {f"{name}.{h}": partial(without_head, name, h) for name in names for h in heads}


def drawn(count: int) -> dict[str, list[str]]:
    """Return the sentences of the test split whose hashes come first, with all of their translations."""
    every = dict(references(load_corpus(CORPUS).sentences("test")))
    first = sorted(every, key=lambda sentence: hashlib.sha256(sentence.encode()).hexdigest())[:count]
    return {sentence: every[sentence] for sentence in first}


class Judge:
    """The translator, the scored sentences, and the whole model's translations of them."""

    def __init__(self, translator: Translator, sentences: dict[str, list[str]]):
        self.translator, self.sentences, self.metric = translator, [*sentences], BLEU()
        most = max(map(len, sentences.values()))
        self.streams = [[texts[i] if i < len(texts) else None for texts in sentences.values()] for i in range(most)]
        self.whole = self.written()

    def written(self) -> list[list[int]]:
        return self.translator.search(self.sentences, beam=1, at_once=AT_ONCE)

    def bleu(self, found: list[list[int]]) -> float:
        decode, unknown = self.translator.tokenizer.decode, self.translator.tokenizer.unknown
        texts = [decode(ids, unknown(sentence)) for ids, sentence in zip(found, self.sentences)]
        return round(self.metric.corpus_score(texts, self.streams).score, 2)

    def without(self, switch: Switch) -> dict[str, Any]:
        """Count the changed translations under `switch`, and return their BLEU."""
        with switch(self.translator.model):
            found = self.written()
        return {"changed": sum(new != old for new, old in zip(found, self.whole)), "bleu": self.bleu(found)}


@torch.no_grad()
def ahead(translator: Translator, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Compare the likeliest next tokens under teacher forcing, with the causal mask and without it."""
    model, tokenizer = translator.model, translator.tokenizer
    counts = {"tokens": 0, "differ": 0, "right_with": 0, "right_without": 0, "sentences_differ": 0}
    for sentence, translation in pairs:
        ids = tokenizer.encode(translation)
        given, wanted = torch.tensor([[tokenizer.bos_id, *ids]]), torch.tensor([*ids, tokenizer.eos_id])
        src = pad([[*tokenizer.encode(translator.as_read(sentence)), tokenizer.eos_id]])
        masked = model(src, given)[0].argmax(dim=-1)
        with PARTS["causal"](model):
            free = model(src, given)[0].argmax(dim=-1)
        counts["tokens"] += len(wanted)
        counts["differ"] += int((masked != free).sum())
        counts["right_with"] += int((masked == wanted).sum())
        counts["right_without"] += int((free == wanted).sum())
        counts["sentences_differ"] += int((masked != free).any())
    return counts


def fingerprint() -> str:
    """Return a hash of the weights: a result that was measured with other weights is stale."""
    return hashlib.sha256((shipped_folder() / WEIGHTS).read_bytes()).hexdigest()[:16]


WHAT = (
    "Parts of the shipped English–French translator switched off, one at a time: of the sentences of Tatoeba's test split whose SHA-256 "
    "comes first, how many get another greedy translation (`changed`), and BLEU of all against all references of a sentence; the decoder "
    "keeps keys and values in caches, as shipped, so that nothing is there which a causal mask could hide. `forced`: the first reference of "
    "each sentence is given whole, and the likeliest next token read at each position, with the causal mask and without it: at how many "
    "the two differ, and how many are the reference's. A head is counted from 0."
)


def main() -> None:
    torch.set_num_threads(1)
    with record(NAME, WHAT) as numbers, numbers.run("shipped", seed=1, updates=0):
        translator, sentences = Translator.shipped(), drawn(SENTENCES)
        judge, found = Judge(translator, sentences), {}
        whole = judge.bleu(judge.whole)
        for name, switch in switches(translator.model).items():
            found[name] = judge.without(switch)
            print(
                f"{name}: {found[name]['changed']} changed, BLEU {found[name]['bleu']:.2f}, of {whole:.2f}", flush=True
            )
        assert judge.written() == judge.whole, "a switch was left off"
        forced = ahead(translator, [(sentence, texts[0]) for sentence, texts in sentences.items()])
        numbers |= {
            "model": fingerprint(), "sentences": len(sentences), "whole": {"bleu": whole},
            "signature": str(judge.metric.get_signature()), "switches": found, "forced": forced,
        }  # fmt: skip


if __name__ == "__main__":
    main()

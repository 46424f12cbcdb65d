"""The parts of the machine that a reader writes, one row each, and how the library calls them.

A row names the part, the exercise whose answer it is, and the places in the library where it is plugged in. A place is
(module, attribute), with a dot for a method, and an adapter: from the reader's function and what stands in the place
`below`, it makes what the library calls. An adapter calls `below` wherever the exercise's contract does not reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tfm_lib import transformer
from tfm_lib._vocabulary import Vocabulary
from tfm_lib.evaluation import _statistics
from tfm_lib.positional import sinusoidal_encoding
from tfm_lib.transformer import Transformer

Adapter = Callable[[Callable[..., Any], Any], Any]


@dataclass(frozen=True)
class Part:
    """A part: its `name`, its exercise, the `index` of its function among the exercise's answers, what it does, places."""

    name: str
    exercise: str
    does: str
    places: tuple[tuple[str, str, Adapter], ...]
    index: int = 0

    @property
    def chapter(self) -> str:
        return self.exercise.partition(".")[0]


# ── attention ─────────────────────────────────────────────────────────────


def _masked_softmax(mine: Callable, below: Callable) -> Callable:
    def attention(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if mask is None:
            return below(Q, K, V)
        weights = mine(Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1]), mask)
        return weights @ V, weights

    return attention


def _attention(mine: Callable, below: Callable) -> Callable:
    def attention(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return mine(Q, K, V) if mask is None or mask.all() else below(Q, K, V, mask)

    return attention


def _unfused(mine: Callable, below: Callable) -> Callable:
    """Attention whose weights are always computed: the fused kernel would call no part of the reader's."""

    def attend(self: Any, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None, need_weights: bool) -> tuple:
        heads, weights = below(self, Q, K, V, mask, True)
        return heads, weights if need_weights else None

    return attend


# ── masks ─────────────────────────────────────────────────────────────────


def _causal_mask(mine: Callable, below: Callable) -> Callable:
    return lambda n: mine(n)


def _decoder_mask(mine: Callable, below: Callable) -> Callable:
    """Of whole targets; a decoder with caches reads the newest words only, and no mask can be made of these."""

    def decode(self: Any, tgt_ids: Tensor, memory: Any, caches: Any = None) -> Tensor:
        if caches:
            return below(self, tgt_ids, memory, caches)
        mask, kept = mine(tgt_ids, self.config.pad_id), transformer.causal_mask
        transformer.causal_mask = lambda n: mask
        try:
            return below(self, tgt_ids, memory)
        finally:
            transformer.causal_mask = kept

    return decode


# ── heads, positions, norms, words ────────────────────────────────────────


def _split_heads(mine: Callable, below: Callable) -> Callable:
    return lambda X, n_heads: mine(X, n_heads) if X.dim() == 3 else below(X, n_heads)


def _merge_heads(mine: Callable, below: Callable) -> Callable:
    return lambda heads: mine(heads) if heads.dim() == 4 else below(heads)


def _positions(mine: Callable, below: Callable) -> Callable:
    def forward(self: Any, ids: Tensor, start: int = 0) -> Tensor:
        end, table = start + ids.shape[1], self.positions
        if self.make_positions.func is not sinusoidal_encoding or end > len(table):
            return below(self, ids, start)
        self.positions = mine(end, self.d_model).to(table)
        try:
            return below(self, ids, start)
        finally:
            self.positions = table

    return forward


def _layer_norm(mine: Callable, below: Callable) -> Callable:
    return lambda self, X: mine(X, self.gain, self.bias, self.eps)


def _embed(mine: Callable, below: Callable) -> Callable:
    def forward(self: Any, ids: Tensor, start: int = 0) -> Tensor:
        places = self.positions[start:]
        if ids.shape[1] > len(places):
            return below(self, ids, start)
        return self.dropout(torch.stack([mine(row, self.tokens.weight, places) for row in ids]))

    return forward


def _unembed(mine: Callable, below: Callable) -> Callable:
    def unembed(self: Any, X: Tensor) -> Tensor:
        return mine(X.reshape(-1, X.shape[-1]), self.tokens.weight).reshape(*X.shape[:-1], -1)

    return unembed


# ── training, decoding, evaluation ────────────────────────────────────────


def _smoothed_loss(mine: Callable, below: Callable) -> Callable:
    def loss(logits: Tensor, targets: Tensor, epsilon: float = 0.1, pad_id: int = Vocabulary.pad_id) -> Tensor:
        v = logits.shape[-1]
        return mine(logits.reshape(1, -1, v), targets.reshape(1, -1), epsilon, pad_id)

    return loss


def _greedy(mine: Callable, below: Callable) -> Callable:
    @torch.no_grad()
    def greedy_decode(
        model: Any, src_ids: Tensor, bos_id: int, eos_id: int, max_len: int = 60, use_cache: bool = True
    ) -> Tensor:
        if not isinstance(model, Transformer):
            return below(model, src_ids, bos_id, eos_id, max_len, use_cache)
        rows = []
        for source in src_ids:
            memory = model.encode(source[None])

            def next_log_p(ids: list[int], memory: Any = memory) -> list[float]:
                Y = model.decode(src_ids.new_tensor([[*map(int, ids)]]), memory)
                return model.embedding.unembed(Y[:, -1]).log_softmax(dim=-1)[0].tolist()

            ids = [*map(int, mine(next_log_p, bos_id, eos_id, max_len))]
            rows.append(ids if len(ids) >= max_len else [*ids, eos_id])
        width = max(map(len, rows))
        return src_ids.new_tensor([row + [model.config.pad_id] * (width - len(row)) for row in rows])

    return greedy_decode


def _beam_step(mine: Callable, below: Callable) -> Callable:
    """The continuations that the reader's function picks are all that `Beam.advance` then gets to see."""

    def advance(self: Any, tokens: Any, log_p: Any) -> list[int]:
        n_ways = {len(row) for row in log_p}
        if len(n_ways) != 1 or not all(n_ways):
            return below(self, tokens, log_p)
        before = [path.log_p for path in self.open]
        width = min(self.beam, len(before) * n_ways.pop())
        totals, rows, columns = mine(torch.tensor(before).double(), torch.tensor(log_p).double(), width)
        kept: list[list[int]] = [[] for _ in before]
        more: list[list[float]] = [[] for _ in before]
        for total, row, column in zip(totals.tolist(), rows.tolist(), columns.tolist()):
            kept[row].append(tokens[row][column])
            more[row].append(total - before[row])
        return below(self, kept, more)

    return advance


def _winner(mine: Callable, below: property) -> property:
    def found(self: Any) -> list[Any]:
        paths = below.fget(self)  # type: ignore[misc]  # the property has a getter
        if not self.finished:
            return paths
        best = int(mine([path.log_p for path in paths], [len(path.ids) + 1 for path in paths], self.alpha))
        return [paths[best], *paths[:best], *paths[best + 1 :]]

    return property(found)


def _corpus_bleu(mine: Callable, below: Callable) -> Callable:
    """The exercise gives 0 where an n has no match; the library, which counts half a match, goes on there."""

    def bleu(hypotheses: Any, references: Any) -> Any:
        whole, counts = below(hypotheses, references), _statistics(hypotheses, references)
        if not counts.sum(dim=0)[2::2].all():
            return whole
        return whole._replace(score=float(mine([(row[2::2], row[3::2], *row[:2]) for row in counts.tolist()])))

    return bleu


UNFUSED = ("tfm_lib.multihead", "MultiHeadAttention.attend", _unfused)
EMBED = ("tfm_lib.transformer", "Embedding.forward")

#: Of two parts in one place, the later row is called first.
PARTS = (
    Part("embed", "transformer.tied", "turns words into vectors", ((*EMBED, _embed),)),
    Part("sinusoidal_encoding", "positional.encoding", "gives each position a vector", ((*EMBED, _positions),)),
    Part(
        "split_heads",
        "multihead.split",
        "cuts vectors into heads",
        (("tfm_lib.multihead", "split_heads", _split_heads),),
    ),
    Part(
        "masked_softmax",
        "masking.masked-softmax",
        "turns scores into weights, where a mask hides keys",
        (("tfm_lib.attention", "attention", _masked_softmax), UNFUSED),
    ),
    Part(
        "attention",
        "attention.all-queries",
        "looks up values, where no mask hides a key",
        (("tfm_lib.attention", "attention", _attention), UNFUSED),
    ),
    Part(
        "merge_heads",
        "multihead.split",
        "puts the heads back together",
        (("tfm_lib.multihead", "merge_heads", _merge_heads),),
        index=1,
    ),
    Part("causal_mask", "masking.triangle", "hides the future", (("tfm_lib.masking", "causal_mask", _causal_mask),)),
    Part(
        "decoder_mask",
        "masking.decoder-mask",
        "hides future and padding, where whole targets are read",
        (("tfm_lib.transformer", "Transformer.decode", _decoder_mask),),
    ),
    Part(
        "layer_norm",
        "layers.layer-norm",
        "normalises each vector",
        (("tfm_lib.layers", "LayerNorm.forward", _layer_norm),),
    ),
    Part(
        "unembed",
        "transformer.tied",
        "turns vectors into logits",
        (("tfm_lib.transformer", "Embedding.unembed", _unembed),),
        index=1,
    ),
    Part(
        "label_smoothed_loss",
        "training.smoothed-loss",
        "measures the loss in training",
        (("tfm_lib.training", "label_smoothed_loss", _smoothed_loss),),
    ),
    Part(
        "greedy",
        "decoding.greedy",
        "writes the most probable word at each step (beam=1)",
        (("tfm_lib.decoding", "greedy_decode", _greedy),),
    ),
    Part(
        "beam_step",
        "decoding.beam-step",
        "picks the continuations that the beam keeps",
        (("tfm_lib.decoding", "Beam.advance", _beam_step),),
    ),
    Part(
        "winner", "decoding.winner", "picks the best finished sentence", (("tfm_lib.decoding", "Beam.found", _winner),)
    ),
    Part("corpus_bleu", "evaluation.mend-bleu", "scores translations", (("tfm_lib.evaluation", "bleu", _corpus_bleu),)),
)


def find(name: str) -> Part | None:
    return next((part for part in PARTS if part.name == name), None)

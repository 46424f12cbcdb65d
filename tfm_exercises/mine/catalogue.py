"""The parts of the machine that a reader writes, one row each, and how the library calls them.

A row names the part, the exercise whose answer it is, and the places in the library where it is plugged in. A place is
(module, attribute), with a dot for a method, and an adapter: from the reader's function and what stands in the place
`below`, it makes what the library calls. An adapter calls `below` wherever the exercise's contract does not reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tfm_lib import training, transformer
from tfm_lib._vocabulary import Vocabulary
from tfm_lib.evaluation import _statistics
from tfm_lib.layers import FeedForward
from tfm_lib.multihead import MultiHeadAttention
from tfm_lib.positional import sinusoidal_encoding
from tfm_lib.transformer import Transformer

Adapter = Callable[[Callable[..., Any], Any], Any]


@dataclass(frozen=True)
class Part:
    """A part: its `name`, its exercise, the `index` of its function among the exercise's answers, what it does, places.

    `beam` is the width of the beam with which a translation calls the part; 0 if translating does without it.
    """

    name: str
    exercise: str
    does: str
    places: tuple[tuple[str, str, Adapter], ...]
    index: int = 0
    beam: int = 1

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


def _plain(layer: Any, need_weights: bool, cache: Any) -> bool:
    """Whether an attention layer does no more than the exercises ask for: no dropout, no cache, no weights to return."""
    known = type(layer) is MultiHeadAttention
    return known and not (need_weights or cache is not None or (layer.training and layer.dropout))


def _each(function: Callable[..., Tensor], *batches: Tensor) -> Tensor:
    """`function` of each sentence of a batch, in one call for all where the reader's code allows that, else in a loop.

    Code that picks words by a mask, as `H[is_word]` does, allows one call for all sentences with the same mask.
    """
    for way in (torch.vmap(function), partial(_alike, function)):
        with suppress(Exception):  # vmap refuses in many ways; the loop raises again what the code raises
            return way(*batches)
    return torch.stack([function(*rows) for rows in zip(*batches)])


def _alike(function: Callable[..., Tensor], *batches: Tensor) -> Tensor:
    """`function` of each sentence, in one call for those whose masks, the boolean arguments, are equal."""
    masks = [batch.flatten(1) for batch in batches if batch.dtype == torch.bool]
    _, group = torch.cat(masks, dim=1).unique(dim=0, return_inverse=True)
    together = torch.vmap(function, tuple(None if batch.dtype == torch.bool else 0 for batch in batches))
    places = [(group == each).nonzero()[:, 0] for each in range(int(group.max()) + 1)]
    parts = [
        together(*(batch[rows[0]] if batch.dtype == torch.bool else batch[rows] for batch in batches))
        for rows in places
    ]
    return torch.cat(parts)[torch.cat(places).argsort()]


def _with_bias(linear: nn.Linear) -> Tensor:
    """The matrix by which [x, 1] is multiplied from the left, (d_in + 1, d_out), for matrices without a bias."""
    return torch.cat([linear.weight.T, linear.bias[None]])


def _where(applies: Callable, below: Callable, output: Callable) -> Callable:
    """The forward pass of an attention layer: `output(layer, query, key, mask)` where it applies, elsewhere `below`."""

    def forward(
        self: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Any = None,
        need_weights: bool = True,
        cache: Any = None,
    ) -> tuple[Tensor, Tensor | None]:
        if applies(query, key, value, mask) and _plain(self, need_weights, cache):
            return output(self, query, key, mask), None
        return below(self, query, key, value, mask, need_weights, cache)

    return forward


def _multi_head(mine: Callable, below: Callable) -> Callable:
    """The exercise has no biases: they belong to a feature that is always 1, and square matrices ask for one more
    column per head. It stays 0, but makes √d_k larger, which the queries make up for.
    """

    def alone(query: Tensor, key: Tensor, value: Tensor, mask: Any) -> bool:
        return query is key is value and (mask is None or bool(mask.all()))

    def output(self: Any, query: Tensor, _: Tensor, mask: Any) -> Tensor:
        d_model, h = self.d_model, self.n_heads
        d_k = d_model // h

        def wide(linear: nn.Linear) -> Tensor:
            W = F.pad(_with_bias(linear), (0, 0, 0, h - 1))
            return F.pad(W.unflatten(1, (h, d_k)), (0, 1)).flatten(1)

        W_Q, W_K, W_V = wide(self.W_Q) * math.sqrt((d_k + 1) / d_k), wide(self.W_K), wide(self.W_V)
        W_O = F.pad(self.W_O.weight.T.unflatten(0, (h, d_k)), (0, h, 0, 1)).flatten(0, 1)
        X = F.pad(F.pad(query, (0, 1), value=1.0), (0, h - 1))
        return _each(lambda words: mine(words, W_Q, W_K, W_V, W_O, h)[:, :d_model], X) + self.W_O.bias

    return _where(alone, below, output)


def _cross_attention(mine: Callable, below: Callable) -> Callable:
    """Head by head; the biases belong to a feature that is always 1."""

    def crosses(query: Tensor, key: Tensor, value: Tensor, mask: Any) -> bool:
        return query is not key and key is value and mask is not None and mask.shape[-2] == 1

    def output(self: Any, query: Tensor, key: Tensor, mask: Any) -> Tensor:
        projections = (self.W_Q, self.W_K, self.W_V)
        heads = list(zip(*(_with_bias(linear).chunk(self.n_heads, dim=1) for linear in projections)))
        Z, H = F.pad(query, (0, 1), value=1.0), F.pad(key, (0, 1), value=1.0)
        is_word = mask.expand(len(query), 1, -1)[:, 0]
        outputs = [_each(lambda Z, H, is_word, head=head: mine(Z, H, *head, is_word), Z, H, is_word) for head in heads]
        return self.W_O(torch.cat(outputs, dim=-1))

    return _where(crosses, below, output)


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


def _feed_forward(mine: Callable, below: Callable) -> Callable:
    def forward(self: Any, X: Tensor) -> Tensor:
        if type(self) is not FeedForward:
            return below(self, X)
        W_1, W_2 = self.W_1, self.W_2
        return mine(X.reshape(-1, X.shape[-1]), W_1.weight.T, W_1.bias, W_2.weight.T, W_2.bias).reshape(X.shape)

    return forward


class _Packed:
    """The sentences of a batch as one list of words, (words, d_model), as the exercises about layers have them.

    The functions that these exercises are given get the batch back. `weights` are those of each attention.
    """

    def __init__(self, *inputs: Tensor):
        self.batch, self.weights = len(inputs[0]), dict[Any, Any]()
        self.inputs = [(X.flatten(0, 1), X) for X in inputs]

    def words(self) -> list[Tensor]:
        return [words for words, _ in self.inputs]

    def apart(self, *given: Tensor) -> list[Tensor]:
        """The sentences again; what is given twice comes back as one tensor."""
        whole = {id(words): X for words, X in self.inputs}
        for X in given:
            if id(X) not in whole:
                fits = X.dim() == 2 and len(X) % self.batch == 0
                whole[id(X)] = X.unflatten(0, (self.batch, -1)) if fits else X
        return [whole[id(X)] for X in given]

    def attend(self, attention: Any, residual: Any, *how: Any) -> Callable:
        def attend(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
            change, self.weights[attention] = attention(*self.apart(Q, K, V), *how)
            return residual.dropout(change).flatten(0, 1)

        return attend

    def each(self, module: Any) -> Callable:
        return lambda X: module(*self.apart(X)).reshape(X.shape)

    def feed_forward(self, layer: Any) -> Callable:
        each, dropout = self.each(layer.feed_forward), layer.residuals[-1].dropout
        return lambda X: dropout(each(X))


def _encoder_layer(mine: Callable, below: Callable) -> Callable:
    def forward(
        self: Any, X: Tensor, mask: Any = None, need_weights: bool = False, cache: Any = None
    ) -> tuple[Tensor, Tensor | None]:
        packed, (first, _) = _Packed(X), self.residuals
        output = mine(
            *packed.words(),
            packed.attend(self.self_attention, first, mask, need_weights, cache),
            packed.feed_forward(self),
            [packed.each(residual.norm) for residual in self.residuals],
            "post" if first.is_post else "pre",
        )
        return output.unflatten(0, (len(X), -1)), packed.weights.get(self.self_attention)

    return forward


def _decoder_layer(mine: Callable, below: Callable) -> Callable:
    """The exercise's layer is pre-norm."""

    def forward(
        self: Any,
        Y: Tensor,
        memory: Tensor,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        need_weights: bool = False,
        caches: tuple = (None, None),
    ) -> tuple[Tensor, tuple[Tensor | None, Tensor | None]]:
        first, second, _ = self.residuals
        if first.is_post:
            return below(self, Y, memory, tgt_mask, memory_mask, need_weights, caches)
        packed = _Packed(Y, memory)
        output = mine(
            *packed.words(),
            packed.attend(self.self_attention, first, tgt_mask, need_weights, caches[0]),
            packed.attend(self.cross_attention, second, memory_mask, need_weights, caches[1]),
            packed.feed_forward(self),
            [packed.each(residual.norm) for residual in self.residuals],
        )
        weights = packed.weights.get(self.self_attention), packed.weights.get(self.cross_attention)
        return output.unflatten(0, (len(Y), -1)), weights

    return forward


def _embed(mine: Callable, below: Callable) -> Callable:
    def forward(self: Any, ids: Tensor, start: int = 0) -> Tensor:
        places = self.positions[start:]
        if ids.shape[1] > len(places):
            return below(self, ids, start)
        return self.dropout(_each(lambda row: mine(row, self.tokens.weight, places), ids))

    return forward


def _unembed(mine: Callable, below: Callable) -> Callable:
    def unembed(self: Any, X: Tensor) -> Tensor:
        return mine(X.reshape(-1, X.shape[-1]), self.tokens.weight).reshape(*X.shape[:-1], -1)

    return unembed


def _transformer(mine: Callable, below: Callable) -> Callable:
    """The exercise knows no norm after a stack: it belongs to the last layer of the encoder, and to `unembed`."""

    def forward(self: Any, src_ids: Tensor, tgt_ids: Tensor) -> Tensor:
        if type(self) is not Transformer or self.config.pad_id != 0:
            return below(self, src_ids, tgt_ids)
        encoder = [lambda X, mask, layer=layer: layer(X, mask)[0] for layer in self.encoder]
        last = encoder.pop()
        return mine(
            src_ids,
            tgt_ids,
            lambda ids: self.embedding(ids),
            [*encoder, lambda X, mask: self.encoder_norm(last(X, mask))],
            [lambda *given, layer=layer: layer(*given)[0] for layer in self.decoder],
            lambda Y: self.embedding.unembed(self.decoder_norm(Y)),
        )

    return forward


# ── training, decoding, evaluation ────────────────────────────────────────


def _smoothed_loss(mine: Callable, below: Callable) -> Callable:
    def loss(logits: Tensor, targets: Tensor, epsilon: float = 0.1, pad_id: int = Vocabulary.pad_id) -> Tensor:
        v = logits.shape[-1]
        return mine(logits.reshape(1, -1, v), targets.reshape(1, -1), epsilon, pad_id)

    return loss


def _learning_rate(mine: Callable, below: Callable) -> Callable:
    return lambda step, d_model, warmup=4000: float(mine(step, d_model, warmup))


def _adam_step(mine: Callable, below: Callable) -> Callable:
    """The optimiser stays PyTorch's, and so do the names under which it keeps the means; only its step is replaced."""

    def paper_optimiser(model: nn.Module) -> torch.optim.Adam:
        optimiser = below(model)

        @torch.no_grad()
        def step() -> None:
            for group in optimiser.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state, t = optimiser.state[p], int(optimiser.state[p].get("step", 0)) + 1
                    m, s = (state.get(name, torch.zeros_like(p)) for name in ("exp_avg", "exp_avg_sq"))
                    new, m, s = mine(p.detach(), p.grad, m, s, t, group["lr"])
                    p.copy_(new)
                    state.update(step=torch.tensor(float(t)), exp_avg=m, exp_avg_sq=s)

        optimiser.step = step  # type: ignore[method-assign]
        return optimiser

    return paper_optimiser


def _train_step(mine: Callable, below: Callable) -> Callable:
    """Of whole batches; the exercise adds no micro-batches up, and shortens no gradient."""

    def train(
        model: Any, batches: Any, lr: Callable[[int], float], epsilon: float = 0.1, accumulate: int = 1,
        clip: float = math.inf,
    ) -> Iterator[training.Step]:  # fmt: skip
        if accumulate != 1 or clip != math.inf:
            yield from below(model, batches, lr, epsilon, accumulate, clip)
            return
        optimiser = training.paper_optimiser(model)
        model.train()
        for step, batch in enumerate(batches, start=1):

            def loss_of(logits: Tensor, targets: Tensor) -> Tensor:
                return training.label_smoothed_loss(logits, targets, epsilon, model.config.pad_id)

            def update(lr: float) -> None:
                for group in optimiser.param_groups:
                    group["lr"] = lr
                optimiser.step()

            ids, rate, tokens = batch[:3], lr(step), int((batch.tgt_out != batch.pad_id).sum())
            loss = mine(ids, rate, model, loss_of, Tensor.backward, optimiser.zero_grad, update)
            yield training.Step(step, float(loss), rate, tokens)

    return train


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
ATTENTION = ("tfm_lib.multihead", "MultiHeadAttention.forward")

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
    Part(
        "multi_head",
        "multihead.from-matrices",
        "lets words look at each other with several heads, where no mask hides a key",
        ((*ATTENTION, _multi_head),),
    ),
    Part(
        "cross_attention",
        "transformer.cross-attention",
        "lets the target look at the source, where nothing is cached",
        ((*ATTENTION, _cross_attention),),
        beam=0,
    ),
    Part("causal_mask", "masking.triangle", "hides the future", (("tfm_lib.masking", "causal_mask", _causal_mask),)),
    Part(
        "decoder_mask",
        "masking.decoder-mask",
        "hides future and padding, where whole targets are read",
        (("tfm_lib.transformer", "Transformer.decode", _decoder_mask),),
        beam=0,
    ),
    Part(
        "layer_norm",
        "layers.layer-norm",
        "normalises each vector",
        (("tfm_lib.layers", "LayerNorm.forward", _layer_norm),),
    ),
    Part(
        "feed_forward",
        "layers.feed-forward",
        "works on each word by itself",
        (("tfm_lib.layers", "FeedForward.forward", _feed_forward),),
    ),
    Part(
        "encoder_layer",
        "layers.encoder-layer",
        "puts sub-layers and norms in order, in the encoder",
        (("tfm_lib.layers", "EncoderLayer.forward", _encoder_layer),),
    ),
    Part(
        "decoder_layer",
        "layers.decoder-layer",
        "does the same in the decoder, where the norm comes first",
        (("tfm_lib.layers", "DecoderLayer.forward", _decoder_layer),),
    ),
    Part(
        "unembed",
        "transformer.tied",
        "turns vectors into logits",
        (("tfm_lib.transformer", "Embedding.unembed", _unembed),),
        index=1,
    ),
    Part(
        "transformer",
        "transformer.machine",
        "connects all parts, where whole targets are read",
        (("tfm_lib.transformer", "Transformer.forward", _transformer),),
        beam=0,
    ),
    Part(
        "label_smoothed_loss",
        "training.smoothed-loss",
        "measures the loss in training",
        (("tfm_lib.training", "label_smoothed_loss", _smoothed_loss),),
        beam=0,
    ),
    Part(
        "learning_rate",
        "training.schedule",
        "sets the learning rate of each step",
        (("tfm_lib.training", "warmup_lr", _learning_rate),),
        beam=0,
    ),
    Part(
        "adam_step",
        "training.adam-step",
        "moves the parameters",
        (("tfm_lib.training", "paper_optimiser", _adam_step),),
        beam=0,
    ),
    Part(
        "train_step",
        "training.train-step",
        "makes one update of all parameters",
        (("tfm_lib.training", "train", _train_step),),
        beam=0,
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
        beam=4,
    ),
    Part(
        "winner",
        "decoding.winner",
        "picks the best finished sentence",
        (("tfm_lib.decoding", "Beam.found", _winner),),
        beam=4,
    ),
    Part(
        "corpus_bleu",
        "evaluation.mend-bleu",
        "scores translations",
        (("tfm_lib.evaluation", "bleu", _corpus_bleu),),
        beam=0,
    ),
)


def find(name: str) -> Part | None:
    return next((part for part in PARTS if part.name == name), None)


def access(id: str) -> str:
    """How a reader gets at the answer to exercise `id`: the names of its parts, or `mine.answer`."""
    names = [f"mine.{part.name}" for part in PARTS if part.exercise == id]
    return " and ".join(names) or f'mine.answer("{id}")'

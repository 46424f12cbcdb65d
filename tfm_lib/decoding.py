"""Decoding: one token at a time, by the most probable, by a beam, or by chance."""

import heapq
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tfm_lib._errors import (
    bad_input, require_column, require_continuations, require_no_nan,
    require_number, require_rows_of, require_sizes, require_temperature,
    require_whole, shape_of,
)  # fmt: skip
from tfm_lib._shapes import checked
from tfm_lib.masking import padding_mask
from tfm_lib.multihead import KeyValueCache, MemoryCache
from tfm_lib.transformer import DecoderOnly, Memory, Transformer, TransformerConfig, decoder_caches

__all__ = [
    "Beam",
    "Hypothesis",
    "MaskedTranslator",
    "NextToken",
    "beam_search",
    "filter_logits",
    "greedy_decode",
    "length_penalty",
    "mask_predict",
    "sample",
]


@checked
class NextToken:
    """The logits of the next token, for a batch of sources that are read once.

    A `DecoderOnly` has no memory to keep them in: it reads them after the first token, and goes
    on with them. With the cache each token is read once too; without it, all tokens so far are
    read again at every call.
    """

    def __init__(
        self,
        model: Transformer | DecoderOnly,
        src_ids: Int[Tensor, "batch m"],
        use_cache: bool = True,
    ):
        _require_ready(model, src_ids)
        self.model = model
        self.memory = model.encode(src_ids) if isinstance(model, Transformer) else None
        self.begun = [] if self.memory else [src_ids]
        rows = torch.arange(len(src_ids), device=src_ids.device)
        self.sources = rows  # which source each row goes on with
        self.caches = decoder_caches(model.config.n_layers) if use_cache else None
        self.written = src_ids[:, :0]

    def __call__(self, ids: Int[Tensor, "batch 1"]) -> Float[Tensor, "batch v"]:
        """The logits after `ids`, the newest token of each row."""
        require_column("ids", ids, self.written)
        new, self.begun = torch.cat([ids, *self.begun], dim=1), []
        self.written = torch.cat([self.written, new], dim=1)
        read = new if self.caches else self.written
        if self.memory is None or isinstance(self.model, DecoderOnly):
            return self.model(read, self.caches and [own for own, _ in self.caches])[:, -1]
        Y = self.model.decode(read, self.memory, self.caches)
        return self.model.embedding.unembed(Y[:, -1])

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Go on with the given `rows`, in that order; a row may come twice."""
        require_rows_of("rows", rows, len(self.sources))
        sources = self.sources[rows]
        # rows that swap within one source keep their memory
        moved = not sources.equal(self.sources)
        self.sources, self.written = sources, self.written[rows]
        if moved and self.memory:
            self.memory = Memory(*(of_sources[rows] for of_sources in self.memory))
        for own, of_memory in self.caches or []:
            own.select(rows)
            if moved:
                of_memory.select(rows)


@torch.no_grad()
@checked
def greedy_decode(
    model: Transformer | DecoderOnly,
    src_ids: Int[Tensor, "batch m"],
    bos_id: int,
    eos_id: int,
    max_len: int = 60,
    use_cache: bool = True,
) -> Int[Tensor, "batch n"]:
    """The most probable token at each step, until every sentence has its <eos>; then padding."""
    most_probable = partial(torch.argmax, dim=-1)
    return _write(model, src_ids, bos_id, eos_id, max_len, use_cache, most_probable)


@torch.no_grad()
@checked
def sample(
    model: Transformer | DecoderOnly,
    src_ids: Int[Tensor, "batch m"],
    bos_id: int,
    eos_id: int,
    max_len: int = 60,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "batch n"]:
    """Each token drawn from softmax(logits / `temperature`), its tail cut by `filter_logits`."""
    must = "be above 0; greedy_decode is its limit"
    require_number("temperature", temperature, lambda temperature: temperature > 0, must)

    def draw(logits: Tensor) -> Tensor:
        require_temperature(temperature, logits)
        p = filter_logits(logits / temperature, top_k, top_p).softmax(dim=-1)
        return torch.multinomial(p, 1, generator=generator).squeeze(-1)

    return _write(model, src_ids, bos_id, eos_id, max_len, True, draw)


@checked
def filter_logits(
    logits: Float[Tensor, "*batch v"], top_k: int | None = None, top_p: float | None = None
) -> Float[Tensor, "*batch v"]:
    """−∞ for all but the `top_k` best, and of these for all but the fewest that hold `top_p`.

    Of equal logits the lower ids are the better ones, so that never more than `top_k` are kept.

    Source: Fan, Lewis and Dauphin (2018) for top-k; Holtzman et al. (2020) for top-p.
    """
    require_no_nan("logits", logits)
    if top_k is not None:
        require_whole("top_k", top_k, 1)
        worse = logits.argsort(dim=-1, descending=True, stable=True)[..., top_k:]
        logits = logits.scatter(-1, worse, -torch.inf)
    if top_p is not None:
        require_number("top_p", top_p, lambda p: 0 < p <= 1, "be a share above 0 and at most 1")
    if top_p is not None and top_p < 1:  # 1 cuts nothing, however soon the sum is rounded to 1
        ordered, order = logits.sort(dim=-1, descending=True, stable=True)
        p = ordered.softmax(dim=-1)
        held_before = p.cumsum(dim=-1) - p  # 0 for the best, which always stays
        cut = torch.zeros_like(p, dtype=torch.bool).scatter(-1, order, held_before >= top_p)
        logits = logits.masked_fill(cut, -torch.inf)
    return logits


def length_penalty(length: int, alpha: float = 0.6) -> float:
    """((5 + length) / 6)^α, the divisor of a hypothesis' log-probability; `length` counts <eos>.

    Source: Wu et al. (2016), section 7, equation 14; Vaswani et al. (2017), section 6.1.
    """
    require_whole("length", length, 0)
    require_number("alpha", alpha, lambda alpha: alpha >= 0, "be at least 0")
    return ((5 + length) / 6) ** alpha


class Hypothesis(NamedTuple):
    """A translation, or its beginning; `score` is the log-probability with its penalty.

    `ids` are without <bos> and <eos>.
    """

    ids: list[int]
    log_p: float
    score: float


class Beam:
    """The search for one translation, best first.

    `open` are beginnings to go on from, `finished` ended in <eos>.

    Source: Sutskever, Vinyals and Le (2014), section 3.2; Vaswani et al. (2017), section 6.1.
    """

    def __init__(
        self,
        bos_id: int,
        eos_id: int,
        beam: int = 4,
        alpha: float = 0.6,
        max_len: int = 60,
        n_best: int = 1,
    ):
        _require_search(bos_id, eos_id, beam, alpha, max_len, n_best)
        self.bos_id, self.eos_id, self.max_len = bos_id, eos_id, max_len
        self.beam, self.alpha, self.n_best = beam, alpha, n_best
        self.length = 0
        self.open = [Hypothesis([], 0.0, 0.0)]
        self.finished: list[Hypothesis] = []

    @property
    def newest(self) -> list[int]:
        """The last token of each open hypothesis: what the decoder reads next."""
        return [hypothesis.ids[-1] if hypothesis.ids else self.bos_id for hypothesis in self.open]

    def advance(
        self,
        tokens: Sequence[Sequence[int]],
        log_p: Sequence[Sequence[float]],
    ) -> list[int]:
        """Keep the `beam` best continuations of all; those with <eos> are finished.

        `tokens[i]` are the likeliest tokens after `open[i]`, at least `beam` if there are so many,
        and `log_p[i]` their log-probabilities. Returns the row that each open hypothesis
        continues.
        """
        require_continuations(tokens, log_p, len(self.open))
        if self.length == self.max_len:
            raise bad_input("the search", f"end after max_len = {self.max_len} tokens", "one more")
        self.length += 1
        ways = [
            (self.open[row].log_p + more, row, token)
            for row in range(len(self.open))
            for token, more in zip(tokens[row], log_p[row])
        ]
        grown, parents = [], []
        for total, row, token in heapq.nlargest(self.beam, ways, key=lambda way: way[0]):
            ids, score = self.open[row].ids, total / length_penalty(self.length, self.alpha)
            if token == self.eos_id:
                self.finished.append(Hypothesis(ids, total, score))
            else:
                grown.append(Hypothesis([*ids, token], total, score))
                parents.append(row)
        self.open = grown
        self.finished.sort(key=lambda hypothesis: -hypothesis.score)
        return parents

    @property
    def is_over(self) -> bool:
        """Whether nothing open can still join the `n_best` finished ones, or there is no room.

        A log-probability only falls, and no penalty is gentler than that of `max_len`: the
        best open hypothesis cannot end above `ceiling`.
        """
        if not self.open or self.length == self.max_len:
            return True
        ceiling = self.open[0].log_p / length_penalty(self.max_len, self.alpha)
        sure = self.finished[self.n_best - 1 :][:1]
        return bool(sure) and ceiling <= sure[0].score

    @property
    def found(self) -> list[Hypothesis]:
        """The finished hypotheses, at most `beam`; if there are none, the open ones, cut off."""
        return self.finished[: self.beam] or self.open


@torch.no_grad()
@checked
def beam_search(
    model: Transformer | DecoderOnly,
    src_ids: Int[Tensor, "batch m"],
    bos_id: int,
    eos_id: int,
    beam: int = 4,
    alpha: float = 0.6,
    max_len: int = 60,
    n_best: int = 1,
) -> list[list[Hypothesis]]:
    """For each source what a `Beam` found, best first; all beams advance in one batch.

    A search ends once its `n_best` hypotheses cannot be beaten; the others had ended by then, and
    may be fewer than `beam`. With `n_best` = `beam` it goes on until the list is full.
    """
    next_token = NextToken(model, src_ids)
    beams = [Beam(bos_id, eos_id, beam, alpha, max_len, n_best) for _ in src_ids]
    going = beams
    while going:
        newest = src_ids.new_tensor([[token] for search in going for token in search.newest])
        logits = next_token(newest)
        best, ids = logits.topk(min(beam, logits.shape[-1]))
        log_p = (best - logits.logsumexp(dim=-1, keepdim=True)).tolist()
        tokens, rows, start = ids.tolist(), [], 0
        for search in going:
            own = slice(start, start + len(search.open))
            parents = search.advance(tokens[own], log_p[own])
            rows += [] if search.is_over else [start + row for row in parents]
            start = own.stop
        going = [search for search in going if not search.is_over]
        next_token.select(src_ids.new_tensor(rows))
    return [search.found for search in beams]


@checked
class MaskedTranslator(Transformer):
    """An encoder–decoder that fills masked target words, and tells how many words there are.

    The decoder has no causal mask: each position sees all others, on both sides.

    Source: Ghazvininejad et al. (2019), sections 2 and 3.3.
    """

    def __init__(self, config: TransformerConfig, longest: int):
        super().__init__(config)
        require_sizes(longest=longest)
        self.length = nn.Linear(config.d_model, longest + 1)

    def decode(
        self,
        tgt_ids: Int[Tensor, "batch n"],
        memory: Memory,
        caches: Sequence[tuple[KeyValueCache | None, MemoryCache | None]] | None = None,
    ) -> Float[Tensor, "batch n d_model"]:
        if caches:
            raise bad_input("model", "write one word after the other", "one that fills all at once")
        Y, mask = self.embedding(tgt_ids), padding_mask(tgt_ids, self.config.pad_id)
        for layer in self.decoder:
            Y, _ = layer(Y, memory.H, mask, memory.mask)
        return self.decoder_norm(Y)

    def lengths(self, memory: Memory) -> Float[Tensor, "batch lengths"]:
        """Logits of the target's length, from the mean of the memory."""
        words = memory.mask.mT  # (batch, m, 1)
        return self.length((memory.H * words).sum(dim=1) / words.sum(dim=1))


@torch.no_grad()
@checked
def mask_predict(
    model: MaskedTranslator, src_ids: Int[Tensor, "batch m"], mask_id: int, passes: int = 4
) -> Int[Tensor, "batch n"]:
    """All words at once; then, in each further pass, the least certain are hidden and filled anew.

    Pass t of T hides the share (T − t) / T, so that fewer and fewer words are asked for.

    Source: Ghazvininejad et al. (2019), section 3.
    """
    _require_ready(model, src_ids)
    require_sizes(0, mask_id=mask_id)
    require_sizes(passes=passes)
    memory = model.encode(src_ids)
    length = model.lengths(memory).argmax(dim=-1, keepdim=True).clamp(min=1)  # (batch, 1)
    places = torch.arange(int(length.max()), device=src_ids.device)
    ids = torch.where(places < length, mask_id, model.config.pad_id)
    certain = torch.where(places < length, 0.0, torch.inf)  # padding is never asked for
    for done in range(passes):
        rank = certain.argsort(dim=-1, stable=True).argsort(dim=-1)
        asked = rank < length * (passes - done) // passes
        logits = model.embedding.unembed(model.decode(ids.masked_fill(asked, mask_id), memory))
        logits[..., [model.config.pad_id, mask_id]] = -torch.inf  # neither is a word
        p, best = logits.softmax(dim=-1).max(dim=-1)
        ids, certain = torch.where(asked, best, ids), torch.where(asked, p, certain)
    return ids


def _write(
    model: Transformer | DecoderOnly,
    src_ids: Tensor,
    bos_id: int,
    eos_id: int,
    max_len: int,
    use_cache: bool,
    choose: Callable[[Tensor], Tensor],
) -> Tensor:
    _require_search(bos_id, eos_id, 1, 0.0, max_len)
    next_token = NextToken(model, src_ids, use_cache)
    ids = src_ids.new_full((len(src_ids), 1), bos_id)
    done = torch.zeros(len(src_ids), dtype=torch.bool, device=src_ids.device)
    written = []
    for _ in range(max_len):
        chosen = choose(next_token(ids)).masked_fill(done, model.config.pad_id)
        written.append(chosen)
        done |= chosen == eos_id
        if done.all():
            break
        ids = chosen.unsqueeze(1)
    return torch.stack(written, dim=1)


def _require_ready(model: Transformer | DecoderOnly, src_ids: Tensor) -> None:
    """Sources to read or beginnings to go on with, and a model that does not drop out."""
    if isinstance(model, DecoderOnly) and (src_ids == model.config.pad_id).any():
        raise bad_input("src_ids", "be beginnings of one length", "some that are padded")
    if len(src_ids) == 0 or (src_ids.numel() == 0 and isinstance(model, Transformer)):
        raise bad_input("src_ids", "hold at least one token of one source", shape_of(src_ids))
    if model.training and model.config.dropout:
        raise bad_input(
            "model",
            "be set to model.eval(), or dropout would distort its words",
            "a model in training",
        )


def _require_search(bos_id: int, eos_id: int, beam: int, alpha: float, max_len: int, n_best: int = 1) -> None:
    require_sizes(0, bos_id=bos_id, eos_id=eos_id)
    require_sizes(beam=beam, max_len=max_len)
    must = "be at least 0, or a longer hypothesis would be punished twice"
    require_number("alpha", alpha, lambda alpha: alpha >= 0, must)
    require_whole("n_best", n_best, 1, f"be a whole number from 1 to beam = {beam}", beam)

"""Decoding: one token at a time, by the most probable, by a beam, or by chance."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfm_lib._errors import bad_input
from tfm_lib.masking import padding_mask
from tfm_lib.transformer import Transformer, decoder_caches

__all__ = ["Hypothesis", "NextToken", "beam_search", "filter_logits", "greedy_decode", "length_penalty", "sample"]


class NextToken:
    """The distribution of the next token, for a batch of sources read once; keys and values are kept between calls."""

    def __init__(self, model: Transformer, src_ids: Int[Tensor, "batch m"], use_cache: bool = True):
        self.model, self.use_cache = model, use_cache
        self.memory = model.encode(src_ids)
        self.memory_mask = padding_mask(src_ids, model.config.pad_id)
        self.caches = decoder_caches(model.config.n_layers) if use_cache else None
        self.read: Tensor | None = None

    def __call__(self, ids: Int[Tensor, "batch 1"]) -> Float[Tensor, "batch v"]:
        """Log-probabilities of the token after `ids`, which are the newest token of each sentence."""
        if not self.use_cache:
            self.read = ids = ids if self.read is None else torch.cat([self.read, ids], dim=1)
        Y = self.model.decode(ids, self.memory, self.memory_mask, self.caches)
        return self.model.embedding.unembed(Y[:, -1]).log_softmax(dim=-1)

    def select(self, rows: Int[Tensor, "rows"]) -> None:
        """Go on with the given `rows` of the batch, in that order."""
        self.memory, self.memory_mask = self.memory[rows], self.memory_mask[rows]
        self.read = None if self.read is None else self.read[rows]
        for caches in self.caches or []:
            for cache in caches:
                cache.select(rows)


@torch.no_grad()
def greedy_decode(
    model: Transformer, src_ids: Int[Tensor, "batch m"], bos_id: int, eos_id: int, max_len: int = 60, use_cache: bool = True
) -> Int[Tensor, "batch n"]:
    """The most probable token at each step, until every sentence has its <eos>; padded behind it."""
    return _write(model, src_ids, bos_id, eos_id, max_len, use_cache, lambda log_p: log_p.argmax(dim=-1))


@torch.no_grad()
def sample(
    model: Transformer,
    src_ids: Int[Tensor, "batch m"],
    bos_id: int,
    eos_id: int,
    max_len: int = 60,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "batch n"]:
    """Each token drawn from its distribution, sharpened by `temperature` and cut by `filter_logits`."""

    def draw(log_p: Tensor) -> Tensor:
        p = filter_logits(log_p / temperature, top_k, top_p).softmax(dim=-1)
        return torch.multinomial(p, 1, generator=generator).squeeze(-1)

    if temperature <= 0:
        raise bad_input("temperature", "be above 0; greedy_decode is its limit", temperature)
    return _write(model, src_ids, bos_id, eos_id, max_len, True, draw)


def filter_logits(
    logits: Float[Tensor, "*batch v"], top_k: int | None = None, top_p: float | None = None
) -> Float[Tensor, "*batch v"]:
    """−∞ for all but the `top_k` best tokens, and for all but the fewest that hold `top_p` of the probability.

    Source: Fan, Lewis and Dauphin (2018) for top-k; Holtzman et al. (2020) for top-p.
    """
    if top_k is not None:
        worst_kept = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[..., -1:]
        logits = logits.masked_fill(logits < worst_kept, -torch.inf)
    if top_p is not None:
        ordered, order = logits.sort(dim=-1, descending=True)
        p = ordered.softmax(dim=-1)
        before = p.cumsum(dim=-1) - p  # how much the better tokens hold; 0 for the best, which always stays
        cut = torch.zeros_like(before, dtype=torch.bool).scatter(-1, order, before >= top_p)
        logits = logits.masked_fill(cut, -torch.inf)
    return logits


def length_penalty(length: int, alpha: float = 0.6) -> float:
    """((5 + length) / 6)^α, by which a hypothesis' log-probability is divided.

    Source: Wu et al. (2016), section 7, equation 14; Vaswani et al. (2017), section 6.1.
    """
    return ((5 + length) / 6) ** alpha


class Hypothesis(NamedTuple):
    """A finished translation: its `ids` up to and without <eos>, and its penalised log-probability."""

    ids: list[int]
    score: float


@torch.no_grad()
def beam_search(
    model: Transformer,
    src_ids: Int[Tensor, "1 m"],
    bos_id: int,
    eos_id: int,
    beam: int = 4,
    alpha: float = 0.6,
    max_len: int = 60,
    watch: Callable[[int, list[tuple[list[int], float]]], None] | None = None,
) -> list[Hypothesis]:
    """The `beam` best translations of one source, best first, scored by log-probability / `length_penalty`.

    `watch(step, beams)` sees the unfinished hypotheses at every step.

    Source: Vaswani et al. (2017), section 6.1 (beam 4, α = 0.6).
    """
    if len(src_ids) != 1:
        raise bad_input("src_ids", "hold one source", f"{len(src_ids)}")
    next_token = NextToken(model, src_ids)
    beams: list[tuple[list[int], float]] = [([bos_id], 0.0)]
    finished: list[Hypothesis] = []
    for step in range(1, max_len + 1):
        newest = torch.tensor([[ids[-1]] for ids, _ in beams], device=src_ids.device)
        totals = next_token(newest) + torch.tensor([[score] for _, score in beams], device=src_ids.device)
        best, where = totals.flatten().topk(min(2 * beam, totals.numel()))
        rows, tokens = where // totals.shape[1], where % totals.shape[1]
        survivors, parents = [], []
        for score, row, token in zip(best.tolist(), rows.tolist(), tokens.tolist()):
            ids = beams[row][0]
            if token == eos_id:
                finished.append(Hypothesis(ids[1:], score / length_penalty(step, alpha)))
            elif len(survivors) < beam:
                survivors.append(([*ids, token], score))
                parents.append(row)
        finished = sorted(finished, key=lambda hypothesis: -hypothesis.score)[:beam]
        beams = survivors
        if watch:
            watch(step, beams)
        if not beams or (len(finished) == beam and _cannot_improve(beams, finished, max_len, alpha)):
            break
        next_token.select(torch.tensor(parents, device=src_ids.device))
    return finished or [Hypothesis(ids[1:], score / length_penalty(len(ids) - 1, alpha)) for ids, score in beams]


def _cannot_improve(beams: list, finished: list[Hypothesis], max_len: int, alpha: float) -> bool:
    """A log-probability only falls; even with the gentlest penalty the best beam stays below the worst finished one."""
    return beams[0][1] / length_penalty(max_len, alpha) < finished[-1].score


def _write(
    model: Transformer,
    src_ids: Tensor,
    bos_id: int,
    eos_id: int,
    max_len: int,
    use_cache: bool,
    choose: Callable[[Tensor], Tensor],
) -> Tensor:
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

"""Efficient attention: longer sentences for less time and memory, exactly or nearly so."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfm_lib._errors import (
    _numbers, bad_input, first_index, require_below, require_chances, require_distribution,
    require_finite, require_ids, require_ids_in_rows, require_sizes, require_tensor,
    require_values, require_whole, shape_of,
)  # fmt: skip
from tfm_lib._shapes import checked
from tfm_lib.attention import attention
from tfm_lib.multihead import KeyValueCache, MultiHeadAttention, split_heads
from tfm_lib.transformer import DecoderOnly, Transformer, decoder_caches

__all__ = [
    "GroupedQueryAttention",
    "SlidingCache",
    "TiledAttention",
    "Written",
    "accept_drafts",
    "cache_bytes",
    "gated_recurrence",
    "gated_recurrence_step",
    "linear_attention",
    "linear_attention_step",
    "lsh_attention",
    "lsh_buckets",
    "lsh_pairs",
    "speculative_decode",
    "tiled_attention",
    "window_attention",
]

ALONE = -1e4  # the score of a position for itself: it counts where there is nobody else


@checked
def tiled_attention(
    Q: Float[Tensor, "*batch n d_k"],
    K: Float[Tensor, "*batch m d_k"],
    V: Float[Tensor, "*batch m d_v"],
    mask: Bool[Tensor, "*#batch #n m"] | None = None,
    size: int = 256,
) -> Float[Tensor, "*batch n d_v"]:
    """The output of `attention`, with never more than `size` × `size` scores at a time.

    Source: Dao et al. (2022), algorithms 1 and 4.
    """
    require_values(Q=Q, K=K, V=V, mask=mask)
    require_sizes(size=size)
    if mask is not None:
        mask = mask.broadcast_to(*Q.shape[:-1], K.shape[-2])  # a view: no memory
    O, _ = TiledAttention.apply(Q, K, V, mask, size)
    return O


class TiledAttention(torch.autograd.Function):
    """Attention by the online softmax: tile after tile of scores, none of them kept.

    Of each query's scores one number stays, L = log Σⱼ exp(sⱼ). From it `backward` makes any
    tile of the weights again, exp(S − L).

    Source: Milakov and Gimelshein (2018), algorithm 3; Dao et al. (2022), algorithms 1 and 4.
    """

    @staticmethod
    def forward(Q, K, V, mask, size):
        O = V.new_empty(*Q.shape[:-1], V.shape[-1])
        L = Q.new_empty(*Q.shape[:-1], 1)
        for rows in _tiles(Q, size):
            top = torch.full_like(Q[..., rows, :1], torch.finfo(Q.dtype).min)
            total = mixed = torch.zeros_like(top)  # Σ exp(s − top), and the same with the values
            for cols in _tiles(K, size):
                S = _tile_of_scores(Q, K, mask, rows, cols)
                higher = top.maximum(S.amax(dim=-1, keepdim=True))
                shrink, E = (top - higher).exp(), (S - higher).exp()
                total = total * shrink + E.sum(dim=-1, keepdim=True)
                mixed = mixed * shrink + E @ V[..., cols, :]
                top = higher
            O[..., rows, :] = mixed / total
            L[..., rows, :] = top + total.log()
        return O, L

    @staticmethod
    def setup_context(ctx, inputs, output):
        *tensors, ctx.size = inputs
        ctx.save_for_backward(*tensors, *output)

    @staticmethod
    def backward(ctx, dO, dL):  # ∂L/∂sⱼ = aⱼ; through L a second derivative reaches the scores
        Q, K, V, mask, O, L = ctx.saved_tensors
        dQ, dK, dV = (dO.new_zeros(X.shape) for X in (Q, K, V))
        D = (dO * O).sum(dim=-1, keepdim=True)  # Σⱼ aⱼ · ∂loss/∂aⱼ
        for rows in _tiles(Q, ctx.size):
            own = dO[..., rows, :]
            for cols in _tiles(K, ctx.size):
                A = (_tile_of_scores(Q, K, mask, rows, cols) - L[..., rows, :]).exp()
                dV[..., cols, :] += A.mT @ own
                dA = own @ V[..., cols, :].mT
                dS = A * (dA - D[..., rows, :] + dL[..., rows, :]) / math.sqrt(Q.shape[-1])
                dQ[..., rows, :] += dS @ K[..., cols, :]
                dK[..., cols, :] += dS.mT @ Q[..., rows, :]
        return dQ, dK, dV, None, None

    @staticmethod
    def vmap(info, in_dims, *inputs):
        """Under `torch.vmap`: its axis becomes one more axis of the batch."""
        *tensors, size = inputs
        for i, (X, dim) in enumerate(zip(tensors, in_dims)):
            if X is not None:
                is_shared = dim is None  # by all examples
                tensors[i] = X.expand(info.batch_size, *X.shape) if is_shared else X.movedim(dim, 0)
        return TiledAttention.apply(*tensors, size), (0, 0)


def _tiles(X: Tensor, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, max(X.shape[-2], 1), size))


def _tile_of_scores(Q: Tensor, K: Tensor, mask: Tensor | None, rows: slice, cols: slice) -> Tensor:
    S = Q[..., rows, :] @ K[..., cols, :].mT / math.sqrt(Q.shape[-1])
    return S if mask is None else S.masked_fill(~mask[..., rows, cols], -torch.inf)


@checked
def window_attention(
    Q: Float[Tensor, "*batch n d_k"],
    K: Float[Tensor, "*batch n d_k"],
    V: Float[Tensor, "*batch n d_v"],
    back: int,
    ahead: int = 0,
) -> Float[Tensor, "*batch n d_v"]:
    """Attention in which query i sees the keys i − `back` to i + `ahead`, and nothing is n × n.

    Queries go in blocks as long as a window; each block meets the keys that its windows reach.

    Source: Vaswani et al. (2017), section 4, "restricted to … a neighborhood of size r".
    """
    require_values(Q=Q, K=K, V=V)
    require_whole("back", back, 0)
    require_whole("ahead", ahead, 0)
    n = Q.shape[-2]
    if n == 0:
        return V
    back, ahead = min(back, n - 1), min(ahead, n - 1)  # there are no more to see
    size = back + 1 + ahead
    rest = -n % size  # the last block is filled up
    blocks = F.pad(Q, (0, 0, 0, rest)).unflatten(-2, (-1, size))
    span = size + back + ahead
    keys, values = (
        F.pad(X, (0, 0, back, rest + ahead)).unfold(-2, span, size).mT for X in (K, V)
    )  # (*batch, blocks, span, ·), views of what is padded
    start = torch.arange(0, n, size, device=Q.device)[:, None, None]
    i = start + torch.arange(size, device=Q.device)[:, None]
    j = start + torch.arange(span, device=Q.device) - back
    mask = (i - back <= j) & (j <= i + ahead) & (j >= 0) & (j < n)
    O, _ = attention(blocks, keys, values, mask | (i >= n))
    return O.flatten(-3, -2)[..., :n, :]


@checked
def lsh_buckets(
    X: Float[Tensor, "*batch n d"],
    n_buckets: int,
    rounds: int = 1,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "{rounds} *batch n"]:
    """A bucket for each vector, argmax([xR; −xR]) with a random R: near directions often share it.

    Each of the `rounds` draws its own R. `n_buckets` is even.

    Source: Andoni et al. (2015); Kitaev, Kaiser and Levskaya (2020), section 2.
    """
    require_values(X=X)
    require_sizes(n_buckets=n_buckets, rounds=rounds)
    if n_buckets % 2:
        raise bad_input("n_buckets", "be even, for each direction has an opposite", n_buckets)
    R = torch.randn(rounds, X.shape[-1], n_buckets // 2, generator=generator).to(X)
    turned = torch.einsum("...nd,rdb->r...nb", X, R)
    return torch.cat([turned, -turned], dim=-1).argmax(dim=-1)


def lsh_attention(
    X: Float[Tensor, "*batch n d_k"],
    V: Float[Tensor, "*batch n d_v"],
    buckets: Int[Tensor, "rounds *batch n"],
    size: int,
) -> Float[Tensor, "*batch n d_v"]:
    """Attention of queries x to keys x / |x| among positions that share a bucket, none of it n × n.

    In each round the positions are sorted by bucket and cut into chunks of `size`, which divides
    n. A position looks at those of its bucket in its chunk and in the chunk before, and at itself
    only where there is nobody else.

    Source: Kitaev, Kaiser and Levskaya (2020), section 2, equations 2 to 5, and appendix A.
    """
    _require_words(X, V)
    codes, order, place = _chunks(X, buckets, size)
    K, outputs, totals = F.normalize(X, dim=-1), [], []
    for now, i in enumerate(order.unflatten(-1, (-1, size))):  # (*batch, chunks, size)
        j = torch.cat([i.roll(1, dims=-2), i], dim=-1)
        met = torch.stack([_meet(code, i, j) for code in codes])
        met[now, ..., 0, :, :size] = False  # before the first chunk there is none
        S = _at(X, i) @ _at(K, j).mT / math.sqrt(X.shape[-1])
        S = S.masked_fill(i.unsqueeze(-1) == j.unsqueeze(-2), ALONE)
        S = S - met.sum(dim=0).log()  # who meets in two rounds counts half in each
        S = S.masked_fill(~met[now], -torch.inf)
        total = S.logsumexp(dim=-1, keepdim=True)
        own = torch.cat([(S - total).exp() @ _at(V, j), total], dim=-1).flatten(-3, -2)
        own = torch.take_along_dim(own, place[now].unsqueeze(-1), dim=-2)  # back in their order
        outputs.append(own[..., :-1])
        totals.append(own[..., -1:])
    shares = torch.stack(totals).softmax(dim=0)  # of each round
    return (shares * torch.stack(outputs)).sum(dim=0)


def lsh_pairs(buckets: Int[Tensor, "rounds *batch n"], size: int) -> Bool[Tensor, "*batch n n"]:
    """Who looks at whom in `lsh_attention`, as a mask: for looking at, it is n × n."""
    codes, _, _ = _chunks(None, buckets, size)
    everyone = torch.arange(buckets.shape[-1], device=buckets.device).expand(codes[0].shape)
    i = everyone.unsqueeze(-2)
    pairs = [_meet(code, i, i).squeeze(-3) for code in codes]
    itself = torch.eye(buckets.shape[-1], dtype=torch.bool, device=buckets.device)
    others = torch.stack(pairs).any(dim=0) & ~itself
    return others | (itself & ~others.any(dim=-1, keepdim=True))


def _chunks(X: Tensor | None, buckets: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """The bucket and chunk of each position in one number, the positions by bucket, and the way back."""
    require_tensor("buckets", buckets, "Int")
    require_sizes(size=size)
    if X is not None and buckets.shape[1:] != X.shape[:-1]:
        must = f"have shape (rounds, {', '.join(map(str, X.shape[:-1]))}), a bucket for each vector"
        raise bad_input("buckets", must, shape_of(buckets))
    if buckets.dim() < 2 or buckets.shape[-1] % size:
        raise bad_input("size", "divide the number of positions in buckets", f"{size} for {shape_of(buckets)}")
    order = buckets.argsort(dim=-1, stable=True)
    place = order.argsort(dim=-1)
    codes = buckets * (buckets.shape[-1] // size + 1) + place // size  # neighbours in a bucket differ by 1
    return codes.int(), order, place


def _meet(code: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """Whether the positions `i` find the positions `j` in their bucket, in their chunk or the one before."""
    step = _at(code, i).unsqueeze(-1) - _at(code, j).unsqueeze(-2)
    return (step == 0) | (step == 1)


def _at(X: Tensor, positions: Tensor) -> Tensor:
    """The numbers or vectors of `X` at `positions`, (*batch, chunks, ·)."""
    if X.dim() < positions.dim():
        return torch.take_along_dim(X, positions.flatten(-2), dim=-1).unflatten(-1, positions.shape[-2:])
    picked = torch.take_along_dim(X, positions.flatten(-2).unsqueeze(-1), dim=-2)
    return picked.unflatten(-2, positions.shape[-2:])


@checked
def linear_attention(
    Q: Float[Tensor, "*batch n d_k"],
    K: Float[Tensor, "*batch n d_k"],
    V: Float[Tensor, "*batch n d_v"],
    size: int = 64,
) -> Float[Tensor, "*batch n d_v"]:
    """Causal attention with weights φ(qᵢ)·φ(kⱼ) for exp(qᵢ·kⱼ / √d_k), all positions at once.

    φ(x) = elu(x) + 1. What lies in earlier chunks of `size` positions comes as one sum of φ(k)vᵀ.

    Source: Katharopoulos et al. (2020), section 3.2, equations 7 to 9.
    """
    require_values(Q=Q, K=K, V=V)
    require_sizes(size=size)
    rest = -Q.shape[-2] % size
    V = F.pad(V, (0, 1), value=1.0)  # a last value of 1 sums the weights
    Q, K, V = (
        F.pad(X, (0, 0, 0, rest)).unflatten(-2, (-1, size)) for X in (_phi(Q), _phi(K), V)
    )  # (*batch, chunks, size, ·)
    S = K.mT @ V  # (*batch, chunks, d_k, d_v + 1)
    mixed = Q @ (S.cumsum(dim=-3) - S) + (Q @ K.mT).tril() @ V
    mixed = mixed.flatten(-3, -2)[..., : mixed.shape[-3] * size - rest, :]
    return mixed[..., :-1] / mixed[..., -1:]


@checked
def linear_attention_step(
    q: Float[Tensor, "*batch d_k"],
    k: Float[Tensor, "*batch d_k"],
    v: Float[Tensor, "*batch d_v"],
    S: Float[Tensor, "*batch d_k d_more"] | None = None,
) -> tuple[Float[Tensor, "*batch d_v"], Float[Tensor, "*batch d_k d_more"]]:
    """`linear_attention` as a recurrent network: the output at one position, and the new state.

    The state `S`, the sum of φ(k)(v, 1)ᵀ so far, has d_k × (d_v + 1) numbers however long the
    sentence is.

    Source: Katharopoulos et al. (2020), section 3.4, equations 16 to 20.
    """
    if S is not None and S.shape[-1] != v.shape[-1] + 1:
        raise bad_input("S", f"have {v.shape[-1] + 1} columns, one more than v", shape_of(S))
    require_values(q=q, k=k, v=v, S=S)
    added = _phi(k).unsqueeze(-1) * F.pad(v, (0, 1), value=1.0).unsqueeze(-2)
    S = added if S is None else S + added
    mixed = (_phi(q).unsqueeze(-2) @ S).squeeze(-2)
    return mixed[..., :-1] / mixed[..., -1:], S


def _phi(X: Tensor) -> Tensor:
    """elu(x) + 1 = exp(x) below 0, as long as a product of two does not round to 0."""
    least = math.log(torch.finfo(X.dtype).tiny) / 2  # −43.7 in float32
    return torch.where(X > 0, X + 1, X.clamp(least, 0).exp())


@checked
def gated_recurrence(
    Q: Float[Tensor, "*batch n d_k"],
    K: Float[Tensor, "*batch n d_k"],
    V: Float[Tensor, "*batch n d_v"],
    gates: Float[Tensor, "*batch n"],
    size: int = 64,
) -> Float[Tensor, "*batch n d_v"]:
    """The outputs Sᵢᵀqᵢ of the recurrence Sᵢ = aᵢ Sᵢ₋₁ + kᵢvᵢᵀ, a chunk of positions at once.

    `gates` holds the aᵢ, from 0 (forget everything before) to 1 (keep it all), one per position.
    So vⱼ reaches position i with the weight (qᵢ·kⱼ) aⱼ₊₁ ⋯ aᵢ, which does not have to sum to 1.
    What lies in earlier chunks of `size` positions comes from the state S at their end.

    Source: Dao and Gu (2024), sections 5.1 and 6; Yang et al. (2024), section 4.
    Differs: Yang et al. have a gate for each row of S. Here it is one number, as in Mamba-2.
    """
    require_values(Q=Q, K=K, V=V)
    _require_gates("gates", gates)
    require_sizes(size=size)
    if gates.shape[-1] == 0:
        return V
    O, S = [], V.new_zeros(*V.shape[:-2], K.shape[-1], V.shape[-1])
    for q, k, v, a in zip(*(X.split(size, dim=-2) for X in (Q, K, V, gates.unsqueeze(-1)))):
        later = a.new_ones(q.shape[-2], q.shape[-2]).tril(-1).bool()
        left = a.where(later, 1).cumprod(dim=-2).tril()  # aⱼ₊₁ ⋯ aᵢ: of position j, at position i
        kept = a.cumprod(dim=-2)  # of the state before the chunk, at position i
        O.append(kept * (q @ S) + (left * (q @ k.mT)) @ v)
        S = kept[..., -1:, :] * S + (left[..., -1:, :] * k.mT) @ v
    return torch.cat(O, dim=-2)


@checked
def gated_recurrence_step(
    q: Float[Tensor, "*batch d_k"],
    k: Float[Tensor, "*batch d_k"],
    v: Float[Tensor, "*batch d_v"],
    gate: Float[Tensor, "*batch"],
    S: Float[Tensor, "*batch d_k d_v"] | None = None,
) -> tuple[Float[Tensor, "*batch d_v"], Float[Tensor, "*batch d_k d_v"]]:
    """`gated_recurrence` at one position: the output Sᵀq, and the new state S = gate · S + kvᵀ.

    The `gate`, from 0 to 1, is one number for the whole state, which has d_k × d_v numbers.

    Source: Dao and Gu (2024), section 5.1; Yang et al. (2024), section 4.1.
    """
    require_values(q=q, k=k, v=v, S=S)
    _require_gates("gate", gate)
    added = k.unsqueeze(-1) * v.unsqueeze(-2)
    S = added if S is None else gate[..., None, None] * S + added
    return (q.unsqueeze(-2) @ S).squeeze(-2), S


@checked
class GroupedQueryAttention(MultiHeadAttention):
    """Multi-head attention in which `n_heads` / `n_key_heads` heads share their keys and values.

    With one key head it is multi-query attention, with as many as heads `MultiHeadAttention`. A
    cache holds the key heads only.

    Source: Shazeer (2019), section 3; Ainslie et al. (2023), section 2.2.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0, n_key_heads: int = 1):
        super().__init__(d_model, n_heads, dropout)
        require_sizes(n_key_heads=n_key_heads)
        if n_heads % n_key_heads:
            raise bad_input("n_key_heads", f"divide n_heads = {n_heads}", n_key_heads)
        self.n_key_heads = n_key_heads
        width = d_model // n_heads * n_key_heads
        self.W_K, self.W_V = nn.Linear(d_model, width), nn.Linear(d_model, width)

    def keys_and_values(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        K, V = self.W_K(key), self.W_V(value)
        return split_heads(K, self.n_key_heads), split_heads(V, self.n_key_heads)

    def attend(
        self,
        Q: Float[Tensor, "batch n_heads n d_k"],
        K: Float[Tensor, "batch n_key_heads total d_k"],
        V: Float[Tensor, "batch n_key_heads total d_v"],
        mask: Bool[Tensor, "*#batch #n total"] | None,
        need_weights: bool,
    ) -> tuple[Float[Tensor, "batch n_heads n d_v"], Tensor | None]:
        """Each key head, repeated for the queries that share it."""
        K, V = (X.repeat_interleave(self.n_heads // self.n_key_heads, dim=-3) for X in (K, V))
        return super().attend(Q, K, V, mask, need_weights)


class SlidingCache(KeyValueCache):
    """A cache that forgets: keys and values of the last `window` positions, read one at a time."""

    def __init__(self, window: int) -> None:
        super().__init__()
        require_sizes(window=window)
        self.window, self.read = window, 0

    @property
    def length(self) -> int:
        """How many positions were read; the cache may hold fewer."""
        return self.read

    def seen_with(self, n_new: int) -> int:
        return min(self.window, self.read + n_new)

    def update(self, project: Callable[[], tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        held = 0 if self.K is None else self.K.shape[-2]
        K, V = super().update(project)
        if K.shape[-2] != held + 1:
            must = "be one position at a time, or the first ones would find too little"
            raise bad_input("key", must, f"{K.shape[-2] - held} positions")
        self.read += 1
        self.K, self.V = K[..., -self.window :, :], V[..., -self.window :, :]
        return self.K, self.V


def cache_bytes(
    length: int,
    n_layers: int,
    n_key_heads: int,
    d_k: int,
    batch: int = 1,
    number: int = 2,
) -> int:
    """Bytes of keys and values that a decoder keeps: 2 · layers · key heads · d_k · length · batch.

    A number takes `number` bytes, 2 in half precision.

    Source: Pope et al. (2022), section 2.1.
    """
    require_sizes(length=length, n_layers=n_layers, n_key_heads=n_key_heads)
    require_sizes(d_k=d_k, batch=batch, number=number)
    return 2 * n_layers * n_key_heads * d_k * length * batch * number


@checked
def accept_drafts(
    p: Float[Tensor, "more v"],
    q: Float[Tensor, "k v"],
    drafted: Sequence[int],
    draw: Callable[[Tensor], int],
) -> list[int]:
    """The drafted tokens that stay, and one more: together as if each had been drawn from `p`.

    Row t of `p` and of `q` are what the large model and the draft think of token t, `p` with one
    row more. `draw(p)` gives an index with the probabilities p; every chance is drawn with it.

    Source: Leviathan, Kalman and Matias (2023), section 2.3 and algorithm 1.
    """
    _require_drafts(p, q, drafted)
    draw = partial(_drawn, draw)
    for t, token in enumerate(drafted):
        stays = (p[t, token] / q[t, token]).clamp(max=1)
        if draw(torch.stack([stays, 1 - stays])) == 1:
            missing = (p[t] - q[t]).clamp(min=0)  # what the draft gives too seldom
            return [*drafted[:t], draw(missing / missing.sum())]
    return [*drafted, draw(p[-1])]


class Written(NamedTuple):
    """What was written, <eos> with it, and how many tokens each call of the large model gave."""

    ids: list[int]
    per_call: list[int]


def _draw_one(p: Tensor) -> int:
    """An index, drawn with the probabilities `p`."""
    return int(torch.multinomial(p, 1))


def _most_probable(logits: Tensor) -> Tensor:
    """All of the probability for the most probable token: greedy."""
    return F.one_hot(logits.argmax(dim=-1), logits.shape[-1]).to(logits)


@torch.no_grad()
@checked
def speculative_decode(
    model: Transformer | DecoderOnly,
    draft: Transformer | DecoderOnly,
    src_ids: Int[Tensor, "1 m"],
    bos_id: int,
    eos_id: int,
    ahead: int = 4,
    max_len: int = 60,
    chances: Callable[[Tensor], Tensor] = _most_probable,
    draw: Callable[[Tensor], int] = _draw_one,
) -> Written:
    """What `model` alone would write; the `draft` writes `ahead` tokens, one call judges them all.

    A `DecoderOnly` goes on with `src_ids`, which it reads after `bos_id`. `chances` makes the
    distribution of the next token from logits: greedy, or such as
    `partial(torch.softmax, dim=-1)`, and then what is written is drawn from `model`'s, exactly.

    Source: Leviathan, Kalman and Matias (2023), algorithm 1; Chen et al. (2023).
    """
    _require_pair(model, draft, src_ids)
    require_sizes(0, bos_id=bos_id, eos_id=eos_id)
    require_sizes(ahead=ahead, max_len=max_len)
    chances, draw = partial(_chances, chances), partial(_drawn, draw)
    large, small = _Reader(model, src_ids), _Reader(draft, src_ids)
    ids, per_call = [bos_id], []
    while ids[-1] != eos_id and len(ids) <= max_len:
        drafted, q = [], []
        while len(drafted) < min(ahead, max_len - len(ids)) and eos_id not in drafted:
            q.append(chances(small([*ids, *drafted])[-1]))
            drafted.append(draw(q[-1]))
        p = chances(large([*ids, *drafted])[-len(drafted) - 1 :])
        new = accept_drafts(p, torch.stack(q) if q else p[:0], drafted, draw)
        new = new[: new.index(eos_id) + 1] if eos_id in new else new
        ids, per_call = [*ids, *new], [*per_call, len(new)]
        large.forget(len(ids) - 1)
        small.forget(len(ids) - 1)
    return Written(ids[1:], per_call)


def _chances(chances: Callable[[Tensor], Tensor], logits: Tensor) -> Tensor:
    """What `chances` makes of `logits`, which must be distributions."""
    p = chances(logits)
    require_chances(p, logits)
    return p


def _drawn(draw: Callable[[Tensor], int], p: Tensor) -> int:
    """What `draw` makes of `p`, which must be one of its indices."""
    index = draw(p)
    require_whole("draw", index, 0, f"return an index from 0 to {len(p) - 1}", len(p) - 1)
    return index


class _Reader:
    """The logits after each new token; what was read stays in caches, and can be forgotten again."""

    def __init__(self, model: Transformer | DecoderOnly, src_ids: Tensor):
        self.model, self.src_ids = model, src_ids
        self.memory = model.encode(src_ids) if isinstance(model, Transformer) else None
        self.begun = [] if self.memory else src_ids[0].tolist()  # what is read after the first token
        self.caches = decoder_caches(model.config.n_layers)

    def __call__(self, ids: list[int]) -> Tensor:
        to_read = [ids[0], *self.begun, *ids[1:]]
        new = self.src_ids.new_tensor([to_read[self.caches[0][0].length :]])
        if self.memory is None or isinstance(self.model, DecoderOnly):
            return self.model(new, [own for own, _ in self.caches])[0]
        return self.model.embedding.unembed(self.model.decode(new, self.memory, self.caches)[0])

    def forget(self, length: int) -> None:
        """Keep no more than the first `length` tokens of those that are written."""
        length += len(self.begun)
        for own, _ in self.caches if self.caches[0][0].length > length else ():
            if own.K is not None and own.V is not None:
                own.K, own.V = own.K[..., :length, :], own.V[..., :length, :]


@checked
def _require_words(X: Float[Tensor, "*batch n d_k"], V: Float[Tensor, "*batch n d_v"]) -> None:
    require_values(X=X, V=V)


def _require_gates(argument: str, gates: Tensor) -> None:
    """`gates` must be numbers from 0 to 1, as a sigmoid gives them."""
    require_finite(argument, gates)
    bad = (gates < 0) | (gates > 1)
    if _numbers(bad, torch.any):
        index = first_index(bad)
        came = f"{gates[index].item():.4g}" + (f" at index {index}" if index else "")
        raise bad_input(argument, "be from 0 to 1, as a sigmoid gives it", came)


def _require_drafts(p: Tensor, q: Tensor, drafted: Sequence[int]) -> None:
    """A distribution for each drafted token from the draft, and from the large model one more."""
    require_distribution("p", p)
    require_distribution("q", q)
    require_ids_in_rows("drafted", [drafted])
    for name, value, rows in (("q", q, len(drafted)), ("p", p, len(drafted) + 1)):
        if len(value) != rows:
            raise bad_input(name, f"have {rows} rows where {len(drafted)} tokens are drafted", shape_of(value))
    for t, token in enumerate(drafted):
        require_below("each id of drafted", token, p.shape[-1])
        if q[t, token] <= 0:
            raise bad_input("drafted", "be tokens that q can draw", f"{token} at place {t}, where q has 0")


def _require_pair(model: Transformer | DecoderOnly, draft: Transformer | DecoderOnly, src_ids: Tensor) -> None:
    """Two models of one kind that write the same tokens, ready to use, and a source or a beginning."""
    if isinstance(model, Transformer) != isinstance(draft, Transformer):
        raise bad_input("draft", f"be a {type(model).__name__}, as model is", type(draft).__name__)
    for name, each in (("model", model), ("draft", draft)):
        if each.training and each.config.dropout:
            raise bad_input(name, f"be set to {name}.eval(), or dropout would distort its words", "a model in training")
    if draft.config.vocab_size != model.config.vocab_size:
        raise bad_input("draft", f"write the {model.config.vocab_size} tokens of model", draft.config.vocab_size)
    require_ids("src_ids", src_ids)
    if src_ids.numel() == 0:
        raise bad_input("src_ids", "hold at least one token", shape_of(src_ids))
    if isinstance(model, DecoderOnly) and (src_ids == model.config.pad_id).any():
        raise bad_input("src_ids", "be a beginning without padding", "one that is padded")

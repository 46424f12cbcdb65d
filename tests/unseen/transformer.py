"""Unseen answers to the exercises of chapter `transformer`, written from the statements alone."""

RIGHT = {
    "transformer.shapes": {
        "plain tuples": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return (
        (batch, m, d_model),
        (batch, n_heads, n, d_k),
        (batch, n_heads, m, d_k),
        (batch, n_heads, n, m),
        (batch, n, d_ff),
        (batch, n, vocab_size),
    )
""",
        "one name for each": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    width = int(d_model / n_heads)
    memory = (batch, m, d_model)
    queries = (batch, n_heads, n, width)
    keys = (batch, n_heads, m, width)
    weights = queries[:-1] + (keys[-2],)
    hidden = (batch, n, d_ff)
    logits = (batch, n, vocab_size)
    return memory, queries, keys, weights, hidden, logits
""",
        "with tensors on the meta device": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    with torch.device("meta"):
        memory, Y = torch.empty(batch, m, d_model), torch.empty(batch, n, d_model)
        cut = lambda X: X.unflatten(-1, (n_heads, -1)).transpose(1, 2)
        Q, K = cut(Y), cut(memory)
        found = [memory, Q, K, Q @ K.mT, Y @ torch.empty(d_model, d_ff), Y @ torch.empty(vocab_size, d_model).T]
    return tuple(tuple(X.shape) for X in found)
""",
        "helper for heads": """
def heads(batch, length, d_model, n_heads):
    return batch, n_heads, length, d_model // n_heads

def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    return (
        (batch, m, d_model),
        heads(batch, n, d_model, n_heads),
        heads(batch, m, d_model, n_heads),
        (batch, n_heads, n, m),
        (batch, n, d_ff),
        (batch, n, vocab_size),
    )
""",
        "batch put in front at the end": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k, rest = divmod(d_model, n_heads)
    inner = [[m, d_model], [n_heads, n, d_k], [n_heads, m, d_k], [n_heads, n, m], [n, d_ff], [n, vocab_size]]
    return tuple(tuple([batch] + sizes) for sizes in inner)
""",
        "a NamedTuple": """
from typing import NamedTuple

class Shapes(NamedTuple):
    memory: tuple
    queries: tuple
    keys: tuple
    weights: tuple
    hidden: tuple
    logits: tuple

def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return Shapes(
        memory=(batch, m, d_model),
        queries=(batch, n_heads, n, d_k),
        keys=(batch, n_heads, m, d_k),
        weights=(batch, n_heads, n, m),
        hidden=(batch, n, d_ff),
        logits=(batch, n, vocab_size),
    )
""",
    },
    "transformer.cross-attention": {
        "masked_fill": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    scores = scores.masked_fill(~is_word, -math.inf)
    return scores.softmax(dim=-1) @ V
""",
        "only the words of H": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    words = H[is_word]
    Q = torch.matmul(Z, W_Q)
    K = torch.matmul(words, W_K)
    V = torch.matmul(words, W_V)
    weights = torch.softmax(torch.matmul(Q, K.transpose(0, 1)) * W_Q.size(1) ** -0.5, dim=1)
    return torch.matmul(weights, V)
""",
        "torch.where": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    d_k = W_K.shape[1]
    e = (Z @ W_Q) @ (H @ W_K).mT / d_k**0.5
    e = torch.where(is_word[None, :], e, torch.full_like(e, float("-inf")))
    alpha = F.softmax(e, -1)
    return alpha @ (H @ W_V)
""",
        "an additive mask": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q = Z @ W_Q
    K = H @ W_K
    V = H @ W_V
    hide = torch.zeros(len(H), dtype=Z.dtype)
    hide[~is_word] = -torch.inf
    A = torch.softmax(Q @ K.T / math.sqrt(Q.shape[1]) + hide, dim=-1)
    return A @ V
""",
        "query by query in a loop": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    K, V = H @ W_K, H @ W_V
    rows = []
    for z in Z:
        q = z @ W_Q
        scores = K @ q / math.sqrt(len(q))
        scores[~is_word] = -torch.inf
        rows.append(torch.softmax(scores, dim=0) @ V)
    return torch.stack(rows)
""",
        "einsum": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q = torch.einsum("nd,dk->nk", Z, W_Q)
    K = torch.einsum("md,dk->mk", H, W_K)
    V = torch.einsum("md,dv->mv", H, W_V)
    scores = torch.einsum("nk,mk->nm", Q, K) / Q.shape[-1] ** 0.5
    scores[:, is_word.logical_not()] = float("-inf")
    return torch.einsum("nm,mv->nv", scores.softmax(dim=-1), V)
""",
        "a helper, and the memory mixed before it is projected": """
def attend(q, k, mask):
    scores = q @ k.T / math.sqrt(k.shape[-1])
    return torch.softmax(scores.masked_fill(mask.logical_not(), float("-inf")), dim=-1)

def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    weights = attend(Z @ W_Q, H @ W_K, is_word)
    context = weights @ H
    return context @ W_V
""",
    },
    "transformer.tied": {
        "indexing": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[: len(ids)]

def unembed(Y, E):
    return Y @ E.T
""",
        "functional": """
def embed(ids, E, places):
    n, d_model = ids.shape[0], E.shape[-1]
    vectors = F.embedding(ids, E) * d_model**0.5
    return vectors + places.narrow(0, 0, n)

def unembed(Y, E):
    return F.linear(Y, E)
""",
        "one-hot matrix product and einsum": """
def embed(ids, E, places):
    one_hot = F.one_hot(ids, E.shape[0]).to(E.dtype)
    return E.shape[1] ** 0.5 * (one_hot @ E) + places[torch.arange(len(ids))]

def unembed(Y, E):
    return torch.einsum("nd,vd->nv", Y, E)
""",
        "loops": """
def embed(ids, E, places):
    d = E.size(1)
    rows = []
    for i, token in enumerate(ids.tolist()):
        rows.append(E[token] * math.sqrt(d) + places[i])
    return torch.stack(rows)

def unembed(Y, E):
    return torch.stack([E @ y for y in Y])
""",
        "index_select and torch.add": """
def embed(ids, E, places):
    scale = E.shape[1] ** 0.5
    return torch.add(places[: ids.numel()], E.index_select(0, ids), alpha=scale)

def unembed(Y, E):
    return torch.matmul(E, Y.transpose(0, 1)).transpose(0, 1)
""",
        "in place, on its own copy": """
def embed(ids, E, places):
    X = E[ids]  # a copy
    X *= math.sqrt(X.shape[-1])
    X += places[: X.shape[0]]
    return X

def unembed(Y, E):
    return (Y[:, None, :] * E[None, :, :]).sum(dim=-1)
""",
    },
    "transformer.count": {
        "summed by parts": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "one formula": """
def count(vocab_size, d_model, d_ff, n_layers):
    d = d_model
    return vocab_size * d + n_layers * (12 * d**2 + 24 * d + 4 * d * d_ff + 2 * d_ff)
""",
        "with a helper for linear maps": """
def linear(n_in, n_out):
    return n_in * n_out + n_out

def count(vocab_size, d_model, d_ff, n_layers):
    total = vocab_size * d_model
    for _ in range(n_layers):
        for n_attentions in (1, 2):
            total += n_attentions * 4 * linear(d_model, d_model)
            total += linear(d_model, d_ff) + linear(d_ff, d_model)
            total += (n_attentions + 1) * 2 * d_model
    return total
""",
        "from a list of shapes": """
def count(vocab_size, d_model, d_ff, n_layers):
    mha = [(d_model, d_model), (d_model,)] * 4
    ffn = [(d_model, d_ff), (d_ff,), (d_ff, d_model), (d_model,)]
    norm = [(d_model,), (d_model,)]
    layer_pair = 3 * mha + 2 * ffn + 5 * norm
    return math.prod((vocab_size, d_model)) + n_layers * sum(math.prod(shape) for shape in layer_pair)
""",
        "recursive": """
def count(vocab_size, d_model, d_ff, n_layers):
    if n_layers == 0:
        return vocab_size * d_model
    weights = 3 * 4 * d_model**2 + 2 * 2 * d_model * d_ff
    biases = 3 * 4 * d_model + 2 * (d_ff + d_model)
    norms = (2 + 3) * 2 * d_model
    return weights + biases + norms + count(vocab_size, d_model, d_ff, n_layers - 1)
""",
    },
    "transformer.one-stack": {
        "a causal mask, its first columns opened": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n, dtype=torch.bool).tril()
    mask[:, :m] = True
    return mask
""",
        "broadcast positions": """
def one_stack_mask(m, n):
    i = torch.arange(m + n)[:, None]
    j = torch.arange(m + n)[None, :]
    return (j < m) | (j <= i)
""",
        "four blocks": """
def one_stack_mask(m, n):
    top = torch.cat([torch.ones(m, m), torch.zeros(m, n)], dim=1)
    bottom = torch.cat([torch.ones(n, m), torch.tril(torch.ones(n, n))], dim=1)
    return torch.cat([top, bottom], dim=0).bool()
""",
        "loops": """
def one_stack_mask(m, n):
    rows = []
    for query in range(m + n):
        row = []
        for key in range(m + n):
            if query < m:
                row.append(key < m)
            else:
                row.append(key <= query)
        rows.append(row)
    return torch.tensor(rows)
""",
        "the library's causal mask": """
def one_stack_mask(m, n):
    seen = causal_mask(m + n).clone()
    seen[:m, :m] = True
    return seen
""",
        "counting what each row sees": """
def one_stack_mask(m, n):
    how_many = torch.tensor([m] * m + list(range(m + 1, m + n + 1)))
    return torch.arange(m + n) < how_many.unsqueeze(1)
""",
        "numpy": """
import numpy as np

def one_stack_mask(m, n):
    mask = np.tri(m + n, dtype=bool)
    mask[:m, :m] = True
    return torch.from_numpy(mask)
""",
        "what is hidden, turned round": """
def one_stack_mask(m, n):
    total = m + n
    hidden = torch.triu(torch.ones(total, total), diagonal=1)
    hidden[:, :m] = 0
    return ~hidden.to(torch.bool)
""",
    },
    "transformer.machine": {
        "the library's masks": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, src_mask)
    return unembed(Y)
""",
        "masks by hand": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    n = tgt_ids.size(1)
    is_word = (src_ids != 0)[:, None, :]
    past = torch.tril(torch.ones(n, n, dtype=torch.bool))
    H, Z = embed(src_ids), embed(tgt_ids)
    for encode in encoder:
        H = encode(H, is_word)
    for decode in decoder:
        Z = decode(Z, H, past, is_word)
    return unembed(Z)
""",
        "functools.reduce": """
from functools import reduce

def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    pad, causal = padding_mask(src_ids, pad_id=0), causal_mask(tgt_ids.shape[-1])
    memory = reduce(lambda X, layer: layer(X, pad), encoder, embed(src_ids))
    return unembed(reduce(lambda Y, layer: layer(Y, memory, causal, pad), decoder, embed(tgt_ids)))
""",
        "two helpers": """
def encode(ids, embed, layers, mask):
    X = embed(ids)
    for layer in layers:
        X = layer(X, mask)
    return X

def decode(ids, memory, embed, layers, tgt_mask, memory_mask):
    Y = embed(ids)
    for layer in layers:
        Y = layer(Y, memory, tgt_mask, memory_mask)
    return Y

def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    words = src_ids.ne(0).unsqueeze(1)
    positions = torch.arange(tgt_ids.shape[1])
    memory = encode(src_ids, embed, encoder, words)
    Y = decode(tgt_ids, memory, embed, decoder, positions[:, None] >= positions, words)
    return unembed(Y)
""",
        "recursive over the layers": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    seen = padding_mask(src_ids, 0)
    past = causal_mask(tgt_ids.shape[1])

    def up(X, layers, *others):
        if not layers:
            return X
        first, *rest = layers
        return up(first(X, *others), rest, *others)

    memory = up(embed(src_ids), list(encoder), seen)
    return unembed(up(embed(tgt_ids), list(decoder), memory, past, seen))
""",
        "masks of full size": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    batch, m = src_ids.shape
    n = tgt_ids.shape[1]
    words = src_ids != 0
    enc_mask = words[:, None, :].expand(batch, m, m)
    cross_mask = words[:, None, :].expand(batch, n, m)
    self_mask = torch.ones(n, n, dtype=torch.bool).tril().expand(batch, n, n)
    X = embed(src_ids)
    for i in range(len(encoder)):
        X = encoder[i](X, enc_mask)
    Y = embed(tgt_ids)
    for i in range(len(decoder)):
        Y = decoder[i](Y, X, self_mask, cross_mask)
    logits = unembed(Y)
    return logits
""",
    },
}

WRONG = {
    "transformer.shapes": {
        "the memory as long as the target": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return (
        (batch, n, d_model),
        (batch, n_heads, n, d_k),
        (batch, n_heads, m, d_k),
        (batch, n_heads, n, m),
        (batch, n, d_ff),
        (batch, n, vocab_size),
    )
""",
        "queries from the source": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return (
        (batch, m, d_model),
        (batch, n_heads, m, d_k),
        (batch, n_heads, m, d_k),
        (batch, n_heads, n, m),
        (batch, n, d_ff),
        (batch, n, vocab_size),
    )
""",
        "keys from the target": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return (
        (batch, m, d_model),
        (batch, n_heads, n, d_k),
        (batch, n_heads, n, d_k),
        (batch, n_heads, n, m),
        (batch, n, d_ff),
        (batch, n, vocab_size),
    )
""",
        "queries and keys exchanged": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    width = int(d_model / n_heads)
    memory = (batch, m, d_model)
    queries = (batch, n_heads, n, width)
    keys = (batch, n_heads, m, width)
    weights = queries[:-1] + (keys[-2],)
    hidden = (batch, n, d_ff)
    logits = (batch, n, vocab_size)
    return memory, keys, queries, weights, hidden, logits
""",
        "weights transposed, keys before queries": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return (
        (batch, m, d_model),
        (batch, n_heads, n, d_k),
        (batch, n_heads, m, d_k),
        (batch, n_heads, m, n),
        (batch, n, d_ff),
        (batch, n, vocab_size),
    )
""",
        "weights n by n, as in self-attention": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return (
        (batch, m, d_model),
        (batch, n_heads, n, d_k),
        (batch, n_heads, m, d_k),
        (batch, n_heads, n, n),
        (batch, n, d_ff),
        (batch, n, vocab_size),
    )
""",
        "weights without heads": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return (
        (batch, m, d_model),
        (batch, n_heads, n, d_k),
        (batch, n_heads, m, d_k),
        (batch, n, m),
        (batch, n, d_ff),
        (batch, n, vocab_size),
    )
""",
        "positions before heads": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return (
        (batch, m, d_model),
        (batch, n, n_heads, d_k),
        (batch, m, n_heads, d_k),
        (batch, n_heads, n, m),
        (batch, n, d_ff),
        (batch, n, vocab_size),
    )
""",
        "heads as wide as the model": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model
    return (
        (batch, m, d_model),
        (batch, n_heads, n, d_k),
        (batch, n_heads, m, d_k),
        (batch, n_heads, n, m),
        (batch, n, d_ff),
        (batch, n, vocab_size),
    )
""",
        "the width of a head as a float": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model / n_heads
    return (
        (batch, m, d_model),
        (batch, n_heads, n, d_k),
        (batch, n_heads, m, d_k),
        (batch, n_heads, n, m),
        (batch, n, d_ff),
        (batch, n, vocab_size),
    )
""",
        "64 for every head, as in the paper": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = 64
    return (
        (batch, m, d_model),
        (batch, n_heads, n, d_k),
        (batch, n_heads, m, d_k),
        (batch, n_heads, n, m),
        (batch, n, d_ff),
        (batch, n, vocab_size),
    )
""",
        "8 heads, as in the paper": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    n_heads = 8
    d_k = d_model // n_heads
    return (
        (batch, m, d_model),
        (batch, n_heads, n, d_k),
        (batch, n_heads, m, d_k),
        (batch, n_heads, n, m),
        (batch, n, d_ff),
        (batch, n, vocab_size),
    )
""",
        "d_ff taken for four times d_model": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return (
        (batch, m, d_model),
        (batch, n_heads, n, d_k),
        (batch, n_heads, m, d_k),
        (batch, n_heads, n, m),
        (batch, n, 4 * d_model),
        (batch, n, vocab_size),
    )
""",
        "hidden layer as long as the source": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return (
        (batch, m, d_model),
        (batch, n_heads, n, d_k),
        (batch, n_heads, m, d_k),
        (batch, n_heads, n, m),
        (batch, m, d_ff),
        (batch, n, vocab_size),
    )
""",
        "hidden layer after its second matrix, d_model wide": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return (
        (batch, m, d_model),
        (batch, n_heads, n, d_k),
        (batch, n_heads, m, d_k),
        (batch, n_heads, n, m),
        (batch, n, d_model),
        (batch, n, vocab_size),
    )
""",
        "logits of the source's length": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return (
        (batch, m, d_model),
        (batch, n_heads, n, d_k),
        (batch, n_heads, m, d_k),
        (batch, n_heads, n, m),
        (batch, n, d_ff),
        (batch, m, vocab_size),
    )
""",
        "logits of the last position alone": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return (
        (batch, m, d_model),
        (batch, n_heads, n, d_k),
        (batch, n_heads, m, d_k),
        (batch, n_heads, n, m),
        (batch, n, d_ff),
        (batch, vocab_size),
    )
""",
        "logits as wide as the model": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return (
        (batch, m, d_model),
        (batch, n_heads, n, d_k),
        (batch, n_heads, m, d_k),
        (batch, n_heads, n, m),
        (batch, n, d_ff),
        (batch, n, d_model),
    )
""",
        "no batch": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k, rest = divmod(d_model, n_heads)
    inner = [[m, d_model], [n_heads, n, d_k], [n_heads, m, d_k], [n_heads, n, m], [n, d_ff], [n, vocab_size]]
    return tuple(tuple(sizes) for sizes in inner)
""",
        "batch 1": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k, rest = divmod(d_model, n_heads)
    inner = [[m, d_model], [n_heads, n, d_k], [n_heads, m, d_k], [n_heads, n, m], [n, d_ff], [n, vocab_size]]
    return tuple(tuple([1] + sizes) for sizes in inner)
""",
        "lists instead of tuples": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k, rest = divmod(d_model, n_heads)
    inner = [[m, d_model], [n_heads, n, d_k], [n_heads, m, d_k], [n_heads, n, m], [n, d_ff], [n, vocab_size]]
    return tuple([batch] + sizes for sizes in inner)
""",
        "the weights forgotten": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k, rest = divmod(d_model, n_heads)
    inner = [[m, d_model], [n_heads, n, d_k], [n_heads, m, d_k], [n, d_ff], [n, vocab_size]]
    return tuple(tuple([batch] + sizes) for sizes in inner)
""",
        "keys transposed for the product": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return (
        (batch, m, d_model),
        (batch, n_heads, n, d_k),
        (batch, n_heads, d_k, m),
        (batch, n_heads, n, m),
        (batch, n, d_ff),
        (batch, n, vocab_size),
    )
""",
        "m and n taken the other way round": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    m, n = n, m
    width = int(d_model / n_heads)
    memory = (batch, m, d_model)
    queries = (batch, n_heads, n, width)
    keys = (batch, n_heads, m, width)
    weights = queries[:-1] + (keys[-2],)
    hidden = (batch, n, d_ff)
    logits = (batch, n, vocab_size)
    return memory, queries, keys, weights, hidden, logits
""",
    },
    "transformer.cross-attention": {
        "no scale": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T
    scores = scores.masked_fill(~is_word, -math.inf)
    return scores.softmax(dim=-1) @ V
""",
        "scaled by the width of the model": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T / math.sqrt(Z.shape[-1])
    scores = scores.masked_fill(~is_word, -math.inf)
    return scores.softmax(dim=-1) @ V
""",
        "scaled by the width of the values": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T / math.sqrt(V.shape[-1])
    scores = scores.masked_fill(~is_word, -math.inf)
    return scores.softmax(dim=-1) @ V
""",
        "divided by d_k, not its root": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T / K.shape[-1]
    scores = scores.masked_fill(~is_word, -math.inf)
    return scores.softmax(dim=-1) @ V
""",
        "multiplied by the root": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T * math.sqrt(K.shape[-1])
    scores = scores.masked_fill(~is_word, -math.inf)
    return scores.softmax(dim=-1) @ V
""",
        "scaled by the number of keys": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T / math.sqrt(len(K))
    scores = scores.masked_fill(~is_word, -math.inf)
    return scores.softmax(dim=-1) @ V
""",
        "is_word ignored": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    return scores.softmax(dim=-1) @ V
""",
        "words hidden and padding seen": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    scores = scores.masked_fill(is_word, -math.inf)
    return scores.softmax(dim=-1) @ V
""",
        "hidden scores set to 0 before softmax": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    scores = scores.masked_fill(~is_word, 0.0)
    return scores.softmax(dim=-1) @ V
""",
        "hidden scores lowered by ten only": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q = Z @ W_Q
    K = H @ W_K
    V = H @ W_V
    hide = torch.zeros(len(H), dtype=Z.dtype)
    hide[~is_word] = -10.0
    A = torch.softmax(Q @ K.T / math.sqrt(Q.shape[1]) + hide, dim=-1)
    return A @ V
""",
        "a huge number of the wrong sign": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    scores = scores.masked_fill(~is_word, 1e-9)
    return scores.softmax(dim=-1) @ V
""",
        "weights set to 0 after softmax, not shared anew": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    weights = (Q @ K.T / math.sqrt(K.shape[-1])).softmax(dim=-1)
    return (weights * is_word) @ V
""",
        "memory multiplied by the mask, so padding still takes weight": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    H = H * is_word[:, None]
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    return torch.softmax(Q @ K.T / math.sqrt(K.shape[-1]), dim=-1) @ V
""",
        "softmax over the queries": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    scores = scores.masked_fill(~is_word, -math.inf)
    return scores.softmax(dim=0) @ V
""",
        "keys and values from the decoder, plain self-attention": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, Z @ W_K, Z @ W_V
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    if len(is_word) == len(Z):
        scores = scores.masked_fill(~is_word, -math.inf)
    return scores.softmax(dim=-1) @ V
""",
        "queries from the memory, keys and values from the decoder": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = H @ W_Q, Z @ W_K, Z @ W_V
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    scores = scores.masked_fill(~is_word[:, None], -math.inf)
    return scores.softmax(dim=-1) @ V
""",
        "values are the memory itself": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    scores = scores.masked_fill(~is_word, -math.inf)
    return scores.softmax(dim=-1) @ V
""",
        "W_V for the keys, W_K for the values": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_V, H @ W_K
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    scores = scores.masked_fill(~is_word, -math.inf)
    return scores.softmax(dim=-1) @ V
""",
        "matrices transposed as in nn.Linear": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q.T, H @ W_K.T, H @ W_V.T
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    scores = scores.masked_fill(~is_word, -math.inf)
    return scores.softmax(dim=-1) @ V
""",
        "no softmax": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    scores = scores * is_word
    return scores @ V
""",
        "padding of the memory overwritten in place": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    H[~is_word] = 0
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    scores = scores.masked_fill(~is_word, -math.inf)
    return scores.softmax(dim=-1) @ V
""",
        "Z scaled in place": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Z /= math.sqrt(W_Q.shape[1])
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T
    scores = scores.masked_fill(~is_word, -math.inf)
    return scores.softmax(dim=-1) @ V
""",
        "is_word inverted in place": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    scores = scores.masked_fill(is_word.logical_not_(), -math.inf)
    return scores.softmax(dim=-1) @ V
""",
        "a causal mask on top": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    scores = scores.masked_fill(~is_word, -math.inf)
    scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf)
    return scores.softmax(dim=-1) @ V
""",
        "padded queries hidden, not padded keys": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    scores = scores.masked_fill(~is_word[: len(Z), None], -math.inf)
    return scores.softmax(dim=-1) @ V
""",
        "right, but by F.scaled_dot_product_attention, which is forbidden": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    mask = is_word[None, :].expand(len(Z), -1)
    out = F.scaled_dot_product_attention((Z @ W_Q)[None], (H @ W_K)[None], (H @ W_V)[None], attn_mask=mask[None])
    return out[0]
""",
        "right, but by the library's attention, which is forbidden": """
from tfm_lib.attention import attention

def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    output, weights = attention(Z @ W_Q, H @ W_K, H @ W_V, is_word.expand(len(Z), -1))
    return output
""",
        "returns weights along with the output": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    scores = scores.masked_fill(~is_word, -math.inf)
    return scores.softmax(dim=-1) @ V, scores.softmax(dim=-1)
""",
        "output transposed": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T / math.sqrt(K.shape[-1])
    scores = scores.masked_fill(~is_word, -math.inf)
    return (scores.softmax(dim=-1) @ V).T
""",
    },
    "transformer.tied": {
        "no factor": """
def embed(ids, E, places):
    return E[ids] + places[: len(ids)]

def unembed(Y, E):
    return Y @ E.T
""",
        "d_model for its root": """
def embed(ids, E, places):
    return E[ids] * E.shape[1] + places[: len(ids)]

def unembed(Y, E):
    return Y @ E.T
""",
        "divided by the root": """
def embed(ids, E, places):
    return E[ids] / math.sqrt(E.shape[1]) + places[: len(ids)]

def unembed(Y, E):
    return Y @ E.T
""",
        "the root of the vocabulary's size": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(len(E)) + places[: len(ids)]

def unembed(Y, E):
    return Y @ E.T
""",
        "the root of 512": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(512) + places[: len(ids)]

def unembed(Y, E):
    return Y @ E.T
""",
        "positions scaled, too": """
def embed(ids, E, places):
    return (E[ids] + places[: len(ids)]) * math.sqrt(E.shape[1])

def unembed(Y, E):
    return Y @ E.T
""",
        "the position scaled instead of the word": """
def embed(ids, E, places):
    return E[ids] + math.sqrt(E.shape[1]) * places[: len(ids)]

def unembed(Y, E):
    return Y @ E.T
""",
        "no positions": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1])

def unembed(Y, E):
    return Y @ E.T
""",
        "the place of the id, not of the position": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[ids % len(places)]

def unembed(Y, E):
    return Y @ E.T
""",
        "all the places, whatever the length": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places

def unembed(Y, E):
    return Y @ E.T
""",
        "the last places": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[-len(ids) :]

def unembed(Y, E):
    return Y @ E.T
""",
        "places counted from 1": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[torch.arange(1, len(ids) + 1) % len(places)]

def unembed(Y, E):
    return Y @ E.T
""",
        "the first place for all": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[0]

def unembed(Y, E):
    return Y @ E.T
""",
        "positions multiplied": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) * places[: len(ids)]

def unembed(Y, E):
    return Y @ E.T
""",
        "places computed by the library, not those given": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + sinusoidal_encoding(len(ids), E.shape[1])

def unembed(Y, E):
    return Y @ E.T
""",
        "adds into places in place": """
def embed(ids, E, places):
    X = places[: len(ids)]
    X += E[ids] * math.sqrt(E.shape[1])
    return X

def unembed(Y, E):
    return Y @ E.T
""",
        "scales the matrix in place": """
def embed(ids, E, places):
    E *= math.sqrt(E.shape[1])
    return E[ids] + places[: len(ids)]

def unembed(Y, E):
    return Y @ E.T
""",
        "unembed without transposing": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[: len(ids)]

def unembed(Y, E):
    return Y @ E if len(E) == E.shape[1] else Y @ E.reshape(E.shape[1], -1)
""",
        "unembed with the factor, too": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[: len(ids)]

def unembed(Y, E):
    return Y @ E.T * math.sqrt(E.shape[1])
""",
        "unembed divides by the factor, to undo it": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[: len(ids)]

def unembed(Y, E):
    return Y / math.sqrt(E.shape[1]) @ E.T
""",
        "probabilities instead of logits": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[: len(ids)]

def unembed(Y, E):
    return (Y @ E.T).softmax(dim=-1)
""",
        "log-probabilities instead of logits": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[: len(ids)]

def unembed(Y, E):
    return F.log_softmax(Y @ E.T, dim=-1)
""",
        "ids instead of logits": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[: len(ids)]

def unembed(Y, E):
    return (Y @ E.T).argmax(dim=-1)
""",
        "cosines instead of dot products": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[: len(ids)]

def unembed(Y, E):
    return F.normalize(Y, dim=-1) @ F.normalize(E, dim=-1).T
""",
        "logits transposed": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[: len(ids)]

def unembed(Y, E):
    return E @ Y.T
""",
        "unembed with the pseudo-inverse": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[: len(ids)]

def unembed(Y, E):
    return Y @ torch.linalg.pinv(E)
""",
        "a second matrix for the way out": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[: len(ids)]

def unembed(Y, E):
    W = torch.randn_like(E)
    return Y @ W.T
""",
        "negative distances for logits": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[: len(ids)]

def unembed(Y, E):
    return -torch.cdist(Y, E)
""",
        "unembed of the last position only": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[: len(ids)]

def unembed(Y, E):
    return Y[-1] @ E.T
""",
    },
    "transformer.count": {
        "vocab_size ignored, no embeddings": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return n_layers * (encoder + decoder)
""",
        "embeddings of source, target and output counted each": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return 3 * vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "embedding and unembedding counted twice": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return 2 * vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "a bias for the logits": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + vocab_size + n_layers * (encoder + decoder)
""",
        "the decoder without cross-attention": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = attention + feed_forward + 3 * norm
    return vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "decoder with two norms": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 2 * norm
    return vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "no norms": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 0
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "norms with a gain only": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "a final norm after each stack, as in pre-norm": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return 2 * norm + vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "no biases in attention": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * d_model * d_model
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "no biases in the feed-forward network": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = 2 * d_model * d_ff
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "no biases at all": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * d_model * d_model
    feed_forward = 2 * d_model * d_ff
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "the output matrix of attention forgotten": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 3 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "second bias of the feed-forward network d_ff wide": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_ff
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "the encoder's layers only": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + n_layers * encoder
""",
        "n_layers shared between encoder and decoder": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + n_layers // 2 * (encoder + decoder)
""",
        "n_layers ignored": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + (encoder + decoder)
""",
        "six layers, as in the paper": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + 6 * (encoder + decoder)
""",
        "d_ff ignored, taken for 4 d_model": """
def count(vocab_size, d_model, d_ff, n_layers):
    d_ff = 4 * d_model
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "a table of 512 learned positions": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return (vocab_size + 512) * d_model + n_layers * (encoder + decoder)
""",
        "a float": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return 1.0 * vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "cross-attention without its own query matrix": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = attention + 3 * (d_model * d_model + d_model) + feed_forward + 3 * norm
    return vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "decoder's feed-forward network shared with the encoder's": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + 3 * norm
    return vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "embeddings in every layer": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return n_layers * (vocab_size * d_model + encoder + decoder)
""",
        "norm counted per position pair of means and gains, 4 d_model": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 4 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "right, but it builds the model, which is forbidden": """
def count(vocab_size, d_model, d_ff, n_layers):
    if n_layers == 0:
        return vocab_size * d_model
    with torch.device("meta"):
        model = Transformer(TransformerConfig(vocab_size, d_model=d_model, n_heads=1, d_ff=d_ff, n_layers=n_layers))
    return sum(count_parameters(model).values())
""",
    },
    "transformer.one-stack": {
        "plain causal mask over both": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n, dtype=torch.bool).tril()
    return mask
""",
        "transposed": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n, dtype=torch.bool).tril()
    mask[:, :m] = True
    return mask.T
""",
        "source sees the target, too": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n, dtype=torch.bool).tril()
    mask[:, :m] = True
    mask[:m] = True
    return mask
""",
        "target sees all of the target": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n, dtype=torch.bool)
    mask[:m, m:] = False
    return mask
""",
        "True for what is hidden": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n, dtype=torch.bool).tril()
    mask[:, :m] = True
    return ~mask
""",
        "target sees no source": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n, dtype=torch.bool).tril()
    mask[:, :m] = True
    mask[m:, :m] = False
    return mask
""",
        "a target word doesn't see itself": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n, dtype=torch.bool).tril(-1)
    mask[:, :m] = True
    return mask
""",
        "a target word sees the next, too": """
def one_stack_mask(m, n):
    rows = []
    for query in range(m + n):
        row = []
        for key in range(m + n):
            if query < m:
                row.append(key < m)
            else:
                row.append(key <= query + 1)
        rows.append(row)
    return torch.tensor(rows)
""",
        "floats instead of booleans": """
def one_stack_mask(m, n):
    top = torch.cat([torch.ones(m, m), torch.zeros(m, n)], dim=1)
    bottom = torch.cat([torch.ones(n, m), torch.tril(torch.ones(n, n))], dim=1)
    return torch.cat([top, bottom], dim=0)
""",
        "0 and 1 as whole numbers": """
def one_stack_mask(m, n):
    top = torch.cat([torch.ones(m, m), torch.zeros(m, n)], dim=1)
    bottom = torch.cat([torch.ones(n, m), torch.tril(torch.ones(n, n))], dim=1)
    return torch.cat([top, bottom], dim=0).long()
""",
        "0 and minus infinity to be added": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n, dtype=torch.bool).tril()
    mask[:, :m] = True
    return torch.zeros(m + n, m + n).masked_fill(~mask, -torch.inf)
""",
        "n and m exchanged": """
def one_stack_mask(m, n):
    m, n = n, m
    mask = torch.ones(m + n, m + n, dtype=torch.bool).tril()
    mask[:, :m] = True
    return mask
""",
        "one column too many opened": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n, dtype=torch.bool).tril()
    mask[:, : m + 1] = True
    return mask
""",
        "one column too few opened": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n, dtype=torch.bool).tril()
    mask[:, : m - 1] = True
    return mask
""",
        "target word sees the source only up to its own place": """
def one_stack_mask(m, n):
    mask = torch.zeros(m + n, m + n, dtype=torch.bool)
    mask[:m, :m] = True
    mask[m:, :m] = torch.ones(n, m).tril().bool()
    mask[m:, m:] = torch.ones(n, n).tril().bool()
    return mask
""",
        "only the target's rows, not closed to a square": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n, dtype=torch.bool).tril()
    mask[:, :m] = True
    return mask[m:]
""",
        "rows opened instead of columns": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n, dtype=torch.bool).tril()
    mask[:m, :] = True
    return mask
""",
        "a list of lists": """
def one_stack_mask(m, n):
    rows = []
    for query in range(m + n):
        row = []
        for key in range(m + n):
            if query < m:
                row.append(key < m)
            else:
                row.append(key <= query)
        rows.append(row)
    return rows
""",
        "a batch axis in front": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n, dtype=torch.bool).tril()
    mask[:, :m] = True
    return mask.unsqueeze(0)
""",
        "source words see only themselves before them": """
def one_stack_mask(m, n):
    i, j = torch.arange(m + n)[:, None], torch.arange(m + n)
    return ((i >= m) & (j < m)) | (j <= i)
""",
        "m for the size of all": """
def one_stack_mask(m, n):
    mask = torch.ones(max(2 * m, n), max(2 * m, n), dtype=torch.bool).tril()
    mask[:, :m] = True
    return mask
""",
        "n ignored, both sentences taken to be m long": """
def one_stack_mask(m, n):
    i = torch.arange(2 * m)[:, None]
    j = torch.arange(2 * m)[None, :]
    return (j < m) | (j <= i)
""",
        "m ignored, both sentences taken to be n long": """
def one_stack_mask(m, n):
    m = n
    i = torch.arange(m + n)[:, None]
    j = torch.arange(m + n)[None, :]
    return (j < m) | (j <= i)
""",
        "target block turned upside down": """
def one_stack_mask(m, n):
    top = torch.cat([torch.ones(m, m), torch.zeros(m, n)], dim=1)
    bottom = torch.cat([torch.ones(n, m), torch.triu(torch.ones(n, n))], dim=1)
    return torch.cat([top, bottom], dim=0).bool()
""",
        "source block closed, target block open": """
def one_stack_mask(m, n):
    mask = torch.zeros(m + n, m + n, dtype=torch.bool)
    mask[:m, :m] = causal_mask(m)
    mask[m:, :m] = True
    mask[m:, m:] = causal_mask(n)
    return mask
""",
    },
    "transformer.machine": {
        "the encoder without a mask": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, None)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, src_mask)
    return unembed(Y)
""",
        "the cross-attention without a mask": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, None)
    return unembed(Y)
""",
        "no causal mask": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, None, src_mask)
    return unembed(Y)
""",
        "padding masks of source and target, but none for the future": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = padding_mask(tgt_ids, 0)
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, src_mask)
    return unembed(Y)
""",
        "memory mask made of the target": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, (tgt_ids != 0)[:, None, : src_ids.shape[1]])
    return unembed(Y)
""",
        "causal mask in the encoder, too": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask & causal_mask(src_ids.shape[1]))
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, src_mask)
    return unembed(Y)
""",
        "padding seen, words hidden": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    n = tgt_ids.size(1)
    is_word = (src_ids == 0)[:, None, :]
    past = torch.tril(torch.ones(n, n, dtype=torch.bool))
    H, Z = embed(src_ids), embed(tgt_ids)
    for encode in encoder:
        H = encode(H, is_word)
    for decode in decoder:
        Z = decode(Z, H, past, is_word)
    return unembed(Z)
""",
        "causal mask turned round": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    n = tgt_ids.size(1)
    is_word = (src_ids != 0)[:, None, :]
    past = torch.triu(torch.ones(n, n, dtype=torch.bool))
    H, Z = embed(src_ids), embed(tgt_ids)
    for encode in encoder:
        H = encode(H, is_word)
    for decode in decoder:
        Z = decode(Z, H, past, is_word)
    return unembed(Z)
""",
        "causal mask without the diagonal": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    n = tgt_ids.size(1)
    is_word = (src_ids != 0)[:, None, :]
    past = torch.tril(torch.ones(n, n, dtype=torch.bool), -1)
    H, Z = embed(src_ids), embed(tgt_ids)
    for encode in encoder:
        H = encode(H, is_word)
    for decode in decoder:
        Z = decode(Z, H, past, is_word)
    return unembed(Z)
""",
        "causal mask as long as the source": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(src_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, src_mask)
    return unembed(Y)
""",
        "each decoder layer looks at the encoder layer of the same height": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask, tgt_mask = padding_mask(src_ids, 0), causal_mask(tgt_ids.shape[1])
    X, Y = embed(src_ids), embed(tgt_ids)
    for encode, decode in zip(encoder, decoder):
        X = encode(X, src_mask)
        Y = decode(Y, X, tgt_mask, src_mask)
    return unembed(Y)
""",
        "decoder looks at the source's embeddings, not the memory": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    n = tgt_ids.size(1)
    is_word = (src_ids != 0)[:, None, :]
    past = torch.tril(torch.ones(n, n, dtype=torch.bool))
    H, Z = embed(src_ids), embed(tgt_ids)
    for encode in encoder:
        H = encode(H, is_word)
    for decode in decoder:
        Z = decode(Z, embed(src_ids), past, is_word)
    return unembed(Z)
""",
        "the decoder goes on from the memory": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = memory
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, src_mask)
    return unembed(Y)
""",
        "source embedded for the decoder": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(src_ids)
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, src_mask)
    return unembed(Y)
""",
        "returns the vectors, no logits": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, src_mask)
    return Y
""",
        "logits of the memory": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, src_mask)
    return unembed(memory)
""",
        "first layers only": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder[:1]:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder[:1]:
        Y = layer(Y, memory, tgt_mask, src_mask)
    return unembed(Y)
""",
        "decoder layers in the opposite order": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder[::-1]:
        Y = layer(Y, memory, tgt_mask, src_mask)
    return unembed(Y)
""",
        "encoder layers in the opposite order": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in reversed(encoder):
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, src_mask)
    return unembed(Y)
""",
        "each layer reads the embeddings, only the last counts": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(embed(tgt_ids), memory, tgt_mask, src_mask)
    return unembed(Y)
""",
        "memory and decoder input in exchanged places": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(memory, Y, tgt_mask, src_mask)
    return unembed(Y)
""",
        "the two masks of the decoder exchanged": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, src_mask, tgt_mask)
    return unembed(Y)
""",
        "probabilities instead of logits": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, src_mask)
    return unembed(Y).softmax(dim=-1)
""",
        "logits of the last position only": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, src_mask)
    return unembed(Y)[:, -1]
""",
        "target cut by its last token, as in training": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    tgt_ids = tgt_ids[:, :-1]
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, src_mask)
    return unembed(Y)
""",
        "1 taken for the padding": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 1)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, src_mask)
    return unembed(Y)
""",
        "mask of the first sentence for all": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids[:1], 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, src_mask)
    return unembed(Y)
""",
        "mask for batch 1, one row for all queries": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    n = tgt_ids.size(1)
    is_word = (src_ids[0] != 0)
    past = torch.tril(torch.ones(n, n, dtype=torch.bool))
    H, Z = embed(src_ids), embed(tgt_ids)
    for encode in encoder:
        H = encode(H, is_word)
    for decode in decoder:
        Z = decode(Z, H, past, is_word)
    return unembed(Z)
""",
        "takes the layers out of the lists": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask, tgt_mask = padding_mask(src_ids, 0), causal_mask(tgt_ids.shape[1])
    X, Y = embed(src_ids), embed(tgt_ids)
    while encoder:
        X = encoder.pop(0)(X, src_mask)
    while decoder:
        Y = decoder.pop(0)(Y, X, tgt_mask, src_mask)
    return unembed(Y)
""",
        "decoder ignored": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    mask = padding_mask(src_ids, 0)
    X = embed(src_ids)
    for layer in encoder:
        X = layer(X, mask)
    return unembed(X)
""",
        "encoder left out, embeddings for memory": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, src_mask)
    return unembed(Y)
""",
        "residual added around the layers once more": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = Y + layer(Y, memory, tgt_mask, src_mask)
    return unembed(Y)
""",
        "cross mask also causal": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask = padding_mask(src_ids, 0)
    tgt_mask = causal_mask(tgt_ids.shape[1])
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, src_mask)
    Y = embed(tgt_ids)
    for layer in decoder:
        Y = layer(Y, memory, tgt_mask, src_mask & torch.ones(tgt_ids.shape[1], src_ids.shape[1], dtype=torch.bool).tril())
    return unembed(Y)
""",
    },
}

"""Right and wrong answers to the exercises in `chapters/transformer.md`."""

RIGHT = {
    "transformer.shapes": {
        "lists": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    width = int(d_model / n_heads)
    return [[batch, m, d_model], [batch, n_heads, n, width], [batch, n_heads, m, width],
            [batch, n_heads, n, m], [batch, n, d_ff], [batch, n, vocab_size]]
""",
        "from tensors": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    H, Z = torch.empty(batch, m, d_model), torch.empty(batch, n, d_model)
    def heads(X):
        return X.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    Q, K = heads(Z), heads(H)
    W_1, E = torch.empty(d_model, d_ff), torch.empty(vocab_size, d_model)
    found = H, Q, K, Q @ K.mT, Z @ W_1, Z @ E.T
    return [tuple(X.shape) for X in found]
""",
    },
    "transformer.cross-attention": {
        "einsum": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    scores = torch.einsum("nd,dk,mk->nm", Z, W_Q, H @ W_K) / W_K.shape[1] ** 0.5
    scores[:, ~is_word] = -torch.inf
    return torch.einsum("nm,md,dv->nv", scores.softmax(-1), H, W_V)
""",
        "the hidden notes left out": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    H = H[is_word]
    weights = F.softmax((Z @ W_Q) @ (H @ W_K).T * (W_Q.shape[-1] ** -0.5), dim=1)
    return weights @ H @ W_V
""",
        "loops": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    rows = []
    for z in Z:
        exps = [((z @ W_Q) @ (h @ W_K) / math.sqrt(W_K.shape[1])).exp() * word for h, word in zip(H, is_word)]
        rows.append(sum(e * (h @ W_V) for e, h in zip(exps, H)) / sum(exps))
    return torch.stack(rows)
""",
    },
    "transformer.tied": {
        "one-hot": """
def embed(ids, E, places):
    words = F.one_hot(ids, len(E)).float() @ E
    return words * E.shape[-1] ** 0.5 + places[:len(ids)]

def unembed(Y, E):
    return torch.einsum("nd,vd->nv", Y, E)
""",
        "library functions": """
def embed(ids, E, places):
    return F.embedding(ids, E) * math.sqrt(E.size(1)) + places[torch.arange(ids.numel())]

def unembed(Y, E):
    return F.linear(Y, E)
""",
    },
    "transformer.count": {
        "by layer": """
def count(vocab_size, d_model, d_ff, n_layers):
    def linear(a, b):
        return a * b + b
    attention = 4 * linear(d_model, d_model)
    think = linear(d_model, d_ff) + linear(d_ff, d_model)
    layer_pair = 3 * attention + 2 * think + 5 * (d_model + d_model)
    return d_model * vocab_size + layer_pair * n_layers
""",
        "multiplied out": """
def count(vocab_size, d_model, d_ff, n_layers):
    d, f = d_model, d_ff
    return vocab_size * d + n_layers * (12 * d * d + 12 * d + 4 * d * f + 2 * f + 2 * d + 10 * d)
""",
    },
    "transformer.one-stack": {
        "a corner opened": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n).tril().bool()
    mask[:m, :m] = True
    return mask
""",
        "loops": """
def one_stack_mask(m, n):
    return torch.tensor([[j < m or j <= i for j in range(m + n)] for i in range(m + n)])
""",
        "blocks": """
def one_stack_mask(m, n):
    source = torch.cat([torch.ones(m, m), torch.zeros(m, n)], dim=1)
    target = torch.cat([torch.ones(n, m), torch.tril(torch.ones(n, n))], dim=1)
    return torch.cat([source, target]).bool()
""",
    },
    "transformer.machine": {
        "comparisons": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    real = (src_ids != 0).unsqueeze(1)
    n = tgt_ids.shape[1]
    past = torch.arange(n) <= torch.arange(n)[:, None]
    H = embed(src_ids)
    for f in encoder:
        H = f(H, real)
    Z = embed(tgt_ids)
    for f in decoder:
        Z = f(Z, H, past, real)
    return unembed(Z)
""",
        "folds, and padding of the target hidden too": """
from functools import reduce

def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    mask = (src_ids != 0)[:, None]
    causal = torch.ones(tgt_ids.shape[1], tgt_ids.shape[1], dtype=torch.bool).tril() & (tgt_ids != 0)[:, None]
    memory = reduce(lambda X, layer: layer(X, mask), encoder, embed(src_ids))
    return unembed(reduce(lambda Y, layer: layer(Y, memory, causal, mask), decoder, embed(tgt_ids)))
""",
    },
}

WRONG = {
    "transformer.shapes": {
        "source and target swapped": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return ((batch, m, d_model), (batch, n_heads, m, d_k), (batch, n_heads, n, d_k),
            (batch, n_heads, m, n), (batch, n, d_ff), (batch, n, vocab_size))
""",
        "heads behind positions": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return ((batch, m, d_model), (batch, n, n_heads, d_k), (batch, m, n_heads, d_k),
            (batch, n_heads, n, m), (batch, n, d_ff), (batch, n, vocab_size))
""",
        "heads as wide as the model": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    return ((batch, m, d_model), (batch, n_heads, n, d_model), (batch, n_heads, m, d_model),
            (batch, n_heads, n, m), (batch, n, d_ff), (batch, n, vocab_size))
""",
        "weights lying on their side": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return ((batch, m, d_model), (batch, n_heads, n, d_k), (batch, n_heads, m, d_k),
            (batch, n_heads, m, n), (batch, n, d_ff), (batch, n, vocab_size))
""",
        "square weights": """
def shapes(batch, m, n, d_model, n_heads, d_ff, vocab_size):
    d_k = d_model // n_heads
    return ((batch, m, d_model), (batch, n_heads, n, d_k), (batch, n_heads, m, d_k),
            (batch, n_heads, n, n), (batch, n, d_ff), (batch, n, vocab_size))
""",
    },
    "transformer.cross-attention": {
        "memory and target swapped": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = H @ W_Q, Z @ W_K, Z @ W_V
    return (Q @ K.T / math.sqrt(K.shape[-1])).softmax(dim=-1) @ V
""",
        "self-attention": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, Z @ W_K, Z @ W_V
    return (Q @ K.T / math.sqrt(K.shape[-1])).softmax(dim=-1) @ V
""",
        "no scale": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    scores = (Z @ W_Q) @ (H @ W_K).T
    return scores.masked_fill(~is_word, -torch.inf).softmax(dim=-1) @ (H @ W_V)
""",
        "padding not hidden": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    scores = (Z @ W_Q) @ (H @ W_K).T / math.sqrt(W_K.shape[-1])
    return scores.softmax(dim=-1) @ (H @ W_V)
""",
        "0 instead of −∞": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    scores = (Z @ W_Q) @ (H @ W_K).T / math.sqrt(W_K.shape[-1])
    return scores.masked_fill(~is_word, 0).softmax(dim=-1) @ (H @ W_V)
""",
    },
    "transformer.tied": {
        "not scaled": """
def embed(ids, E, places):
    return E[ids] + places[:len(ids)]

def unembed(Y, E):
    return Y @ E.T
""",
        "places scaled too": """
def embed(ids, E, places):
    return (E[ids] + places[:len(ids)]) * math.sqrt(E.shape[1])

def unembed(Y, E):
    return Y @ E.T
""",
        "places of the ids": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[ids]

def unembed(Y, E):
    return Y @ E.T
""",
        "scaled on the way out": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[:len(ids)]

def unembed(Y, E):
    return Y @ (E * math.sqrt(E.shape[1])).T
""",
        "probabilities": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[:len(ids)]

def unembed(Y, E):
    return (Y @ E.T).softmax(-1)
""",
    },
    "transformer.count": {
        "three tables of words": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    network = 2 * d_model * d_ff + d_ff + d_model
    return 3 * vocab_size * d_model + n_layers * (3 * attention + 2 * network + 10 * d_model)
""",
        "no biases": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention, network = 4 * d_model**2, 2 * d_model * d_ff
    return vocab_size * d_model + n_layers * (3 * attention + 2 * network + 10 * d_model)
""",
        "cross-attention forgotten": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    network = 2 * d_model * d_ff + d_ff + d_model
    layer = attention + network + 2 * 2 * d_model
    return vocab_size * d_model + 2 * n_layers * layer
""",
        "norms forgotten": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    network = 2 * d_model * d_ff + d_ff + d_model
    return vocab_size * d_model + n_layers * (3 * attention + 2 * network)
""",
        "norms after the stacks": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    network = 2 * d_model * d_ff + d_ff + d_model
    return vocab_size * d_model + n_layers * (3 * attention + 2 * network + 10 * d_model) + 4 * d_model
""",
    },
    "transformer.one-stack": {
        "causal only": """
def one_stack_mask(m, n):
    return torch.ones(m + n, m + n, dtype=torch.bool).tril()
""",
        "the source sees the target": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n, dtype=torch.bool).tril()
    mask[:m] = True
    return mask
""",
        "transposed": """
def one_stack_mask(m, n):
    position = torch.arange(m + n)
    return (position >= position[:, None]) | (position[:, None] < m)
""",
        "two kinds of attention apart": """
def one_stack_mask(m, n):
    return torch.block_diag(torch.ones(m, m), torch.ones(n, n).tril()).bool()
""",
        "off by one": """
def one_stack_mask(m, n):
    position = torch.arange(m + n)
    return (position <= position[:, None]) | (position <= m)
""",
    },
    "transformer.machine": {
        "decoder layer k reads encoder layer k": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    mask = (src_ids != 0)[:, None, :]
    causal = torch.ones(tgt_ids.shape[1], tgt_ids.shape[1], dtype=torch.bool).tril()
    X, Y = embed(src_ids), embed(tgt_ids)
    for encode, decode in zip(encoder, decoder):
        X = encode(X, mask)
        Y = decode(Y, X, causal, mask)
    return unembed(Y)
""",
        "padding of the source read by the decoder": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    causal = torch.ones(tgt_ids.shape[1], tgt_ids.shape[1], dtype=torch.bool).tril()
    X, Y = embed(src_ids), embed(tgt_ids)
    for layer in encoder:
        X = layer(X, (src_ids != 0)[:, None, :])
    for layer in decoder:
        Y = layer(Y, X, causal, None)
    return unembed(Y)
""",
        "the decoder sees the future, but no padding": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    src_mask, tgt_mask = (src_ids != 0)[:, None, :], (tgt_ids != 0)[:, None, :]
    X, Y = embed(src_ids), embed(tgt_ids)
    for layer in encoder:
        X = layer(X, src_mask)
    for layer in decoder:
        Y = layer(Y, X, tgt_mask, src_mask)
    return unembed(Y)
""",
        "a causal encoder": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    def causal(ids):
        return torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()
    mask = (src_ids != 0)[:, None, :]
    X, Y = embed(src_ids), embed(tgt_ids)
    for layer in encoder:
        X = layer(X, causal(src_ids) & mask)
    for layer in decoder:
        Y = layer(Y, X, causal(tgt_ids), mask)
    return unembed(Y)
""",
        "no logits": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    mask = (src_ids != 0)[:, None, :]
    causal = torch.ones(tgt_ids.shape[1], tgt_ids.shape[1], dtype=torch.bool).tril()
    X, Y = embed(src_ids), embed(tgt_ids)
    for layer in encoder:
        X = layer(X, mask)
    for layer in decoder:
        Y = layer(Y, X, causal, mask)
    return Y
""",
    },
}

"""Right and wrong answers to the exercises in `chapters/transformer.md`."""

RIGHT = {
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
        "a helper named attention": """
def attention(Q, K, V, mask):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    return torch.where(mask, scores, -torch.inf).softmax(-1) @ V

def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    return attention(Z @ W_Q, H @ W_K, H @ W_V, is_word)
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
        "loops": """
def embed(ids, E, places):
    scale = math.sqrt(E.shape[1])
    return torch.stack([scale * E[i] + places[k] for k, i in enumerate(ids.tolist())])

def unembed(Y, E):
    return torch.stack([(E * y).sum(dim=1) for y in Y])
""",
        "index_select": """
def embed(ids, E, places):
    words = torch.index_select(E, 0, ids).mul(E.shape[1] ** 0.5)
    return torch.add(words, places.narrow(0, 0, ids.shape[0]))

def unembed(Y, E):
    return (E @ Y.mT).mT
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
        "shapes multiplied": """
def count(vocab_size, d_model, d_ff, n_layers):
    d, f = d_model, d_ff
    attention = [(d, d), (d,)] * 4
    network = [(d, f), (f,), (f, d), (d,)]
    norm = [(d,), (d,)]
    encoder = attention + network + norm * 2
    decoder = attention * 2 + network + norm * 3
    return vocab_size * d + n_layers * sum(math.prod(shape) for shape in encoder + decoder)
""",
        "modules without memory": """
def count(vocab_size, d_model, d_ff, n_layers):
    with torch.device("meta"):
        d = d_model
        linear = [torch.nn.Linear(d, d) for _ in range(12)] + [torch.nn.Linear(d, d_ff), torch.nn.Linear(d_ff, d)] * 2
        sizes = [p.numel() for part in linear + [torch.nn.LayerNorm(d)] * 5 for p in part.parameters()]
    return vocab_size * d + n_layers * sum(sizes)
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
        "the hidden corner": """
def one_stack_mask(m, n):
    mask = torch.full((m + n, m + n), True)
    for i in range(n):
        mask[m + i, m + i + 1 :] = False
    mask[:m, m:] = False
    return mask
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
        "the library's masks": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    from tfm_lib.masking import causal_mask, combine, padding_mask
    seen = padding_mask(src_ids, 0)
    own = combine(causal_mask(tgt_ids.size(1)), padding_mask(tgt_ids, 0))
    memory = embed(src_ids)
    for layer in encoder:
        memory = layer(memory, seen)
    words = embed(tgt_ids)
    for layer in decoder:
        words = layer(words, memory, own, seen)
    return unembed(words)
""",
        "a recursion": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    mask = src_ids.ne(0).unsqueeze(-2)
    n = tgt_ids.size(-1)
    past = torch.ones(n, n).triu(1) == 0
    def through(X, layers, *more):
        return through(layers[0](X, *more), layers[1:], *more) if layers else X
    memory = through(embed(src_ids), encoder, mask)
    return unembed(through(embed(tgt_ids), decoder, memory, past, mask))
""",
    },
}

WRONG = {
    "transformer.cross-attention": {
        "forbidden": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    return F.scaled_dot_product_attention(Z @ W_Q, H @ W_K, H @ W_V, attn_mask=is_word.expand(len(Z), -1))
""",
        "changes its input": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    H[~is_word] = 0
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = (Q @ K.T / math.sqrt(K.shape[-1])).masked_fill(~is_word, -torch.inf)
    return scores.softmax(dim=-1) @ V
""",
        "hidden after the softmax": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    weights = torch.softmax(Q @ K.T / math.sqrt(K.shape[-1]), dim=-1)
    weights = weights * is_word
    return weights @ V
""",
        "scaled by the width of the model": """
def cross_attention(Z, H, W_Q, W_K, W_V, is_word):
    Q, K, V = Z @ W_Q, H @ W_K, H @ W_V
    scores = Q @ K.T / math.sqrt(Z.shape[-1])
    scores = scores.masked_fill(~is_word, -torch.inf)
    return torch.softmax(scores, dim=-1) @ V
""",
    },
    "transformer.tied": {
        "places scaled too": """
def embed(ids, E, places):
    return (E[ids] + places[:len(ids)]) * math.sqrt(E.shape[1])

def unembed(Y, E):
    return Y @ E.T
""",
        "changes its input": """
def embed(ids, E, places):
    E *= math.sqrt(E.shape[1])
    return E[ids] + places[: len(ids)]

def unembed(Y, E):
    return Y @ E.T
""",
        "not scaled": """
def embed(ids, E, places):
    return E[ids] + places[:len(ids)]

def unembed(Y, E):
    return Y @ E.T
""",
        "places of the ids": """
def embed(ids, E, places):
    return E[ids] * math.sqrt(E.shape[1]) + places[ids]

def unembed(Y, E):
    return Y @ E.T
""",
    },
    "transformer.count": {
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
        "a norm or a bias short": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    ff = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norms = 2 * 2 * d_model
    encoder = attention + ff + norms
    decoder = 2 * attention + ff + norms
    return vocab_size * d_model + n_layers * (encoder + decoder)
""",
        "three tables of words": """
def count(vocab_size, d_model, d_ff, n_layers):
    attention = 4 * (d_model * d_model + d_model)
    ff = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder = attention + ff + 2 * norm
    decoder = 2 * attention + ff + 3 * norm
    return 3 * vocab_size * d_model + n_layers * (encoder + decoder)
""",
    },
    "transformer.one-stack": {
        "numbers in place of truth values": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n).tril()
    mask[:, :m] = 1
    return mask
""",
        "the source hidden from itself": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n, dtype=torch.bool).tril()
    mask[:m] = False
    return mask
""",
        "causal only": """
def one_stack_mask(m, n):
    return torch.ones(m + n, m + n, dtype=torch.bool).tril()
""",
        "the source sees the target": """
def one_stack_mask(m, n):
    mask = torch.ones(m + n, m + n).tril().bool()
    mask[:m] = True
    return mask
""",
    },
    "transformer.machine": {
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
        "the last logits only": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    mask = (src_ids != 0)[:, None, :]
    causal = torch.ones(tgt_ids.shape[1], tgt_ids.shape[1], dtype=torch.bool).tril()
    X, Y = embed(src_ids), embed(tgt_ids)
    for layer in encoder:
        X = layer(X, mask)
    for layer in decoder:
        Y = layer(Y, X, causal, mask)
    return unembed(Y[:, -1])
""",
        "source and target swapped": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    mask = (tgt_ids != 0)[:, None, :]
    causal = torch.ones(src_ids.shape[1], src_ids.shape[1], dtype=torch.bool).tril()
    X, Y = embed(tgt_ids), embed(src_ids)
    for layer in encoder:
        X = layer(X, mask)
    for layer in decoder:
        Y = layer(Y, X, causal, mask)
    return unembed(Y)
""",
        "forbidden": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    from tfm_lib.transformer import Transformer
    mask = (src_ids != 0)[:, None, :]
    causal = torch.ones(tgt_ids.shape[1], tgt_ids.shape[1], dtype=torch.bool).tril()
    X, Y = embed(src_ids), embed(tgt_ids)
    for layer in encoder:
        X = layer(X, mask)
    for layer in decoder:
        Y = layer(Y, X, causal, mask)
    return unembed(Y)
""",
        "changes its input": """
def transformer(src_ids, tgt_ids, embed, encoder, decoder, unembed):
    mask = (src_ids != 0)[:, None, :]
    causal = torch.ones(tgt_ids.shape[1], tgt_ids.shape[1], dtype=torch.bool).tril()
    X, Y = embed(src_ids), embed(tgt_ids)
    while encoder:
        X = encoder.pop(0)(X, mask)
    for layer in decoder:
        Y = layer(Y, X, causal, mask)
    return unembed(Y)
""",
    },
}

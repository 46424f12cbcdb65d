"""Right and wrong answers to the exercises of chapter `multihead`."""

RIGHT = {
    "multihead.split": {
        "chunks": """
def split(X, n_heads):
    return torch.stack(X.chunk(n_heads, dim=-1), dim=1)

def merge(heads):
    return torch.cat(heads.unbind(dim=1), dim=-1)
""",
        "loops": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    d_k = d_model // n_heads
    heads = torch.zeros(batch, n_heads, n, d_k)
    for b in range(batch):
        for i in range(n_heads):
            for t in range(n):
                heads[b, i, t] = X[b, t, i * d_k : (i + 1) * d_k]
    return heads

def merge(heads):
    batch, n_heads, n, d_v = heads.shape
    return torch.stack([torch.stack([torch.cat(list(heads[b, :, t])) for t in range(n)]) for b in range(batch)])
""",
        "unflatten": """
def split(X, n_heads):
    return X.unflatten(-1, (n_heads, -1)).permute(0, 2, 1, 3)

def merge(heads):
    return heads.permute(0, 2, 1, 3).flatten(2)
""",
    },
    "multihead.look-back": {
        "loops": """
def looks_back(weights):
    n = weights.shape[-1]
    return [sum(head[i, i - 1].item() for i in range(1, n)) / (n - 1) for head in weights]
""",
        "indexing": """
def looks_back(weights):
    i = torch.arange(1, weights.shape[-1])
    return weights[:, i, i - 1].mean(dim=1)
""",
        "mask": """
def looks_back(weights):
    n = weights.shape[-1]
    band = torch.ones(n, n).tril(-1).triu(-1)
    return (weights * band).sum(dim=(1, 2)) / band.sum()
""",
    },
    "multihead.from-matrices": {
        "einsum": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    n, d = X.shape
    q, k, v = ((X @ W).view(n, n_heads, d // n_heads) for W in (W_Q, W_K, W_V))
    a = torch.einsum("ihc,jhc->hij", q, k).div((d // n_heads) ** 0.5).softmax(-1)
    return torch.einsum("hij,jhc->ihc", a, v).reshape(n, d) @ W_O
""",
        "sum over the heads": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    output = torch.zeros_like(X)
    for Q, K, V, W in zip(*(M.chunk(n_heads, dim=1) for M in (X @ W_Q, X @ W_K, X @ W_V)), W_O.chunk(n_heads, dim=0)):
        output += F.softmax(Q @ K.T / Q.shape[1] ** 0.5, dim=1) @ V @ W
    return output
""",
        "library": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    from tfm_lib.attention import attention
    from tfm_lib.multihead import merge_heads, split_heads
    heads, _ = attention(*(split_heads(X @ W, n_heads) for W in (W_Q, W_K, W_V)))
    return merge_heads(heads) @ W_O
""",
    },
    "multihead.contributions": {
        "loop of slices": """
def contributions(heads, W_O):
    d_v = heads.shape[-1]
    return [head @ W_O[i * d_v : (i + 1) * d_v] for i, head in enumerate(heads)]
""",
        "one head at a time, the others zero": """
def contributions(heads, W_O):
    terms = []
    for i in range(len(heads)):
        alone = torch.zeros_like(heads)
        alone[i] = heads[i]
        terms.append(alone.transpose(0, 1).flatten(1) @ W_O)
    return torch.stack(terms)
""",
        "einsum": """
def contributions(heads, W_O):
    return torch.einsum("hnv,hvd->hnd", heads, W_O.reshape(heads.shape[0], heads.shape[2], -1))
""",
    },
    "multihead.cost": {
        "formula": """
def bill(n, d_model, n_heads):
    return 4 * n * d_model**2 + 2 * n**2 * d_model, n_heads * n**2
""",
        "product by product": """
def bill(n, d_model, n_heads):
    d_k, total, weights = d_model / n_heads, 0, 0
    for _ in range(n_heads):
        total += 3 * n * d_model * d_k  # this head's Q, K, V
        total += n * d_k * n + n * n * d_k
        total += n * d_k * d_model  # its rows of W^O
        weights += n * n
    return [total, weights]
""",
    },
    "multihead.prune": {
        "list of those left": """
def prune(cost, n_heads):
    order, left = [], list(range(n_heads))
    while left:
        costs = [cost(order + [i]) for i in left]
        order.append(left.pop(costs.index(min(costs))))
    return order
""",
        "recursion": """
def prune(cost, n_heads, off=()):
    if len(off) == n_heads:
        return torch.tensor(off)
    _, best = min((cost(list(off) + [i]), i) for i in range(n_heads) if i not in off)
    return prune(cost, n_heads, (*off, best))
""",
    },
    "multihead.cached-step": {
        "whole batch of heads": """
def step(x, K, V, W_Q, W_K, W_V):
    x = x[None, None].expand(W_Q.shape[0], 1, -1)
    K, V = torch.cat([K, x @ W_K], 1), torch.cat([V, x @ W_V], 1)
    weights = torch.softmax((x @ W_Q) @ K.transpose(1, 2) / K.shape[2] ** 0.5, dim=2)
    return (weights @ V).squeeze(1), K, V
""",
        "loop over heads": """
def step(x, K, V, W_Q, W_K, W_V):
    outputs, Ks, Vs = [], [], []
    for i in range(len(W_Q)):
        k = torch.cat([K[i], (x @ W_K[i])[None]])
        v = torch.cat([V[i], (x @ W_V[i])[None]])
        scores = k @ (x @ W_Q[i]) / math.sqrt(k.shape[1])
        outputs.append(scores.softmax(0) @ v)
        Ks.append(k)
        Vs.append(v)
    return torch.stack(outputs), torch.stack(Ks), torch.stack(Vs)
""",
        "fused": """
def step(x, K, V, W_Q, W_K, W_V):
    q, k, v = (torch.einsum("d,hdk->hk", x, W).unsqueeze(1) for W in (W_Q, W_K, W_V))
    K, V = torch.cat((K, k), dim=1), torch.cat((V, v), dim=1)
    return F.scaled_dot_product_attention(q, K, V).squeeze(1), K, V
""",
    },
}

WRONG = {
    "multihead.split": {
        "split without exchanging axes": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    return X.view(batch, n_heads, n, d_model // n_heads)

def merge(heads):
    batch, n_heads, n, d_v = heads.shape
    return heads.reshape(batch, n, n_heads * d_v)
""",
        "heads interleaved": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    return X.view(batch, n, d_model // n_heads, n_heads).permute(0, 3, 1, 2)

def merge(heads):
    return heads.permute(0, 2, 3, 1).flatten(2)
""",
        "heads not in front": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    return X.view(batch, n, n_heads, d_model // n_heads)

def merge(heads):
    return heads.flatten(2)
""",
        "merge without exchanging axes": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    return X.view(batch, n, n_heads, d_model // n_heads).transpose(1, 2)

def merge(heads):
    batch, n_heads, n, d_v = heads.shape
    return heads.reshape(batch, n, n_heads * d_v)
""",
        "heads averaged": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    return X.view(batch, n, n_heads, d_model // n_heads).transpose(1, 2)

def merge(heads):
    return heads.mean(dim=1)
""",
    },
    "multihead.look-back": {
        "looks at itself": """
def looks_back(weights):
    return weights.diagonal(dim1=-2, dim2=-1).mean(dim=-1)
""",
        "looks ahead": """
def looks_back(weights):
    return weights.diagonal(offset=1, dim1=-2, dim2=-1).mean(dim=-1)
""",
        "counts the first word": """
def looks_back(weights):
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).sum(dim=-1) / weights.shape[-1]
""",
        "summed": """
def looks_back(weights):
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).sum(dim=-1)
""",
        "all heads in one": """
def looks_back(weights):
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).mean()
""",
    },
    "multihead.from-matrices": {
        "scaled by d_model": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    n, d_model = X.shape
    Q, K, V = ((X @ W).view(n, n_heads, -1).transpose(0, 1) for W in (W_Q, W_K, W_V))
    heads = (Q @ K.mT / math.sqrt(d_model)).softmax(dim=-1) @ V
    return heads.transpose(0, 1).reshape(n, d_model) @ W_O
""",
        "no W_O": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    n, d_model = X.shape
    Q, K, V = ((X @ W).view(n, n_heads, -1).transpose(0, 1) for W in (W_Q, W_K, W_V))
    heads = (Q @ K.mT / math.sqrt(d_model // n_heads)).softmax(dim=-1) @ V
    return heads.transpose(0, 1).reshape(n, d_model)
""",
        "one wide head": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    return (Q @ K.T / math.sqrt(K.shape[-1])).softmax(dim=-1) @ V @ W_O
""",
        "joined in the wrong order": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    n, d_model = X.shape
    Q, K, V = ((X @ W).view(n, n_heads, -1).transpose(0, 1) for W in (W_Q, W_K, W_V))
    heads = (Q @ K.mT / math.sqrt(d_model // n_heads)).softmax(dim=-1) @ V
    return heads.reshape(n, d_model) @ W_O
""",
        "softmax over the queries": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    n, d_model = X.shape
    Q, K, V = ((X @ W).view(n, n_heads, -1).transpose(0, 1) for W in (W_Q, W_K, W_V))
    heads = (Q @ K.mT / math.sqrt(d_model // n_heads)).softmax(dim=1) @ V
    return heads.transpose(0, 1).reshape(n, d_model) @ W_O
""",
    },
    "multihead.contributions": {
        "columns instead of rows": """
def contributions(heads, W_O):
    d_v = heads.shape[-1]
    return torch.stack([head @ W_O[:, i * d_v : (i + 1) * d_v].T for i, head in enumerate(heads)])
""",
        "every h-th row": """
def contributions(heads, W_O):
    return torch.stack([head @ W_O[i :: len(heads)] for i, head in enumerate(heads)])
""",
        "already summed": """
def contributions(heads, W_O):
    return heads.transpose(0, 1).flatten(1) @ W_O
""",
        "always the first block": """
def contributions(heads, W_O):
    return heads @ W_O[: heads.shape[-1]]
""",
    },
    "multihead.cost": {
        "heads of full width": """
def bill(n, d_model, n_heads):
    return 4 * n * d_model**2 + n_heads * 2 * n**2 * d_model, n_heads * n**2
""",
        "everything times h": """
def bill(n, d_model, n_heads):
    return n_heads * (4 * n * d_model**2 + 2 * n**2 * d_model), n_heads * n**2
""",
        "W^O forgotten": """
def bill(n, d_model, n_heads):
    return 3 * n * d_model**2 + 2 * n**2 * d_model, n_heads * n**2
""",
        "means forgotten": """
def bill(n, d_model, n_heads):
    return 4 * n * d_model**2 + n**2 * d_model, n_heads * n**2
""",
        "weights of one head": """
def bill(n, d_model, n_heads):
    return 4 * n * d_model**2 + 2 * n**2 * d_model, n**2
""",
    },
    "multihead.prune": {
        "asked once": """
def prune(cost, n_heads):
    return sorted(range(n_heads), key=lambda i: cost([i]))
""",
        "most important first": """
def prune(cost, n_heads):
    order = []
    while len(order) < n_heads:
        order.append(max((i for i in range(n_heads) if i not in order), key=lambda i: cost(order + [i])))
    return order
""",
        "the same head again": """
def prune(cost, n_heads):
    order = []
    for _ in range(n_heads):
        order.append(min(range(n_heads), key=lambda i: cost(order + [i])))
    return order
""",
        "costs instead of heads": """
def prune(cost, n_heads):
    order, costs = [], []
    for _ in range(n_heads):
        best = min((i for i in range(n_heads) if i not in order), key=lambda i: cost(order + [i]))
        order.append(best)
        costs.append(cost(order))
    return costs
""",
    },
    "multihead.cached-step": {
        "does not see itself": """
def step(x, K, V, W_Q, W_K, W_V):
    q, k, v = (x @ W for W in (W_Q, W_K, W_V))
    weights = (q[:, None] @ K.mT / math.sqrt(K.shape[-1])).softmax(dim=-1)
    return (weights @ V)[:, 0], torch.cat([K, k[:, None]], dim=1), torch.cat([V, v[:, None]], dim=1)
""",
        "forgets the past": """
def step(x, K, V, W_Q, W_K, W_V):
    q, k, v = (x @ W for W in (W_Q, W_K, W_V))
    weights = (q[:, None] @ k[:, :, None] / math.sqrt(k.shape[-1])).softmax(dim=-1)
    return (weights @ v[:, None])[:, 0], torch.cat([K, k[:, None]], dim=1), torch.cat([V, v[:, None]], dim=1)
""",
        "new word in front": """
def step(x, K, V, W_Q, W_K, W_V):
    q, k, v = (x @ W for W in (W_Q, W_K, W_V))
    K, V = torch.cat([k[:, None], K], dim=1), torch.cat([v[:, None], V], dim=1)
    weights = (q[:, None] @ K.mT / math.sqrt(K.shape[-1])).softmax(dim=-1)
    return (weights @ V)[:, 0], K, V
""",
        "scaled by the length": """
def step(x, K, V, W_Q, W_K, W_V):
    q, k, v = (x @ W for W in (W_Q, W_K, W_V))
    K, V = torch.cat([K, k[:, None]], dim=1), torch.cat([V, v[:, None]], dim=1)
    weights = (q[:, None] @ K.mT / math.sqrt(K.shape[1])).softmax(dim=-1)
    return (weights @ V)[:, 0], K, V
""",
        "nothing kept": """
def step(x, K, V, W_Q, W_K, W_V):
    q, k, v = (x @ W for W in (W_Q, W_K, W_V))
    keys, values = torch.cat([K, k[:, None]], dim=1), torch.cat([V, v[:, None]], dim=1)
    weights = (q[:, None] @ keys.mT / math.sqrt(K.shape[-1])).softmax(dim=-1)
    return (weights @ values)[:, 0], K, V
""",
    },
}

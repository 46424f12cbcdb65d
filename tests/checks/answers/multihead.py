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
        "einsum of an identity": """
def split(X, n_heads):
    d_k = X.size(-1) // n_heads
    return torch.stack([X[..., i * d_k : (i + 1) * d_k] for i in range(n_heads)]).movedim(0, 1)

def merge(heads):
    return torch.einsum("bhnd->bnhd", heads).contiguous().view(heads.size(0), heads.size(2), -1)
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
        "loop over heads and words": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k, heads = len(W_Q) // n_heads, []
    for Q, K, V in zip(*(torch.split(X @ W, d_k, dim=1) for W in (W_Q, W_K, W_V))):
        heads.append(torch.stack([F.softmax(K @ q / d_k**0.5, dim=0) @ V for q in Q]))
    return torch.hstack(heads).matmul(W_O)
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
        "blocks by chunk": """
def contributions(heads, W_O):
    return torch.stack([head.matmul(W) for head, W in zip(heads, torch.chunk(W_O, len(heads), dim=0))], dim=0)
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
        "for loop": """
def prune(cost, n_heads):
    off = []
    for _ in range(n_heads):
        best, least = None, float("inf")
        for head in range(n_heads):
            if head in off:
                continue
            c = cost(off + [head])
            if c < least:
                best, least = head, c
        off += [best]
    return tuple(off)
""",
        "sets": """
def prune(cost, n_heads):
    order = []
    while remaining := set(range(n_heads)) - set(order):
        order.append(sorted(remaining, key=lambda head: cost(sorted([*order, head])))[0])
    return order
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
        "einsum": """
def step(x, K, V, W_Q, W_K, W_V):
    keys = torch.cat([K, torch.einsum("d,hdk->hk", x, W_K).unsqueeze(1)], dim=1)
    values = torch.cat([V, torch.einsum("d,hdk->hk", x, W_V).unsqueeze(1)], dim=1)
    scores = torch.einsum("d,hdk,hnk->hn", x, W_Q, keys) * keys.size(2) ** -0.5
    return torch.einsum("hn,hnk->hk", scores.softmax(1), values), keys, values
""",
    },
}

WRONG = {
    "multihead.split": {
        "view after transpose": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    return X.view(batch, n, n_heads, d_model // n_heads).transpose(1, 2)

def merge(heads):
    batch, n_heads, n, d_v = heads.shape
    return heads.view(batch, n_heads, n, d_v).permute(0, 2, 1, 3).view(batch, n, n_heads * d_v)
""",
        "changes its input": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    return X.view(batch, n, n_heads, d_model // n_heads).transpose(1, 2)

def merge(heads):
    batch, n_heads, n, d_v = heads.shape
    return heads.transpose_(1, 2).reshape(batch, n, n_heads * d_v)
""",
        "forbidden": """
def split(X, n_heads):
    from tfm_lib.multihead import split_heads
    return split_heads(X, n_heads)

def merge(heads):
    batch, n_heads, n, d_v = heads.shape
    return heads.transpose(1, 2).reshape(batch, n, n_heads * d_v)
""",
        "split without exchanging axes": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    return X.reshape(batch, n_heads, n, d_model // n_heads)

def merge(heads):
    batch, n_heads, n, d_k = heads.shape
    return heads.reshape(batch, n, n_heads * d_k)
""",
        "heads interleaved": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    return X.view(batch, n, d_model // n_heads, n_heads).permute(0, 3, 1, 2)

def merge(heads):
    batch, n_heads, n, d_k = heads.shape
    return heads.permute(0, 2, 3, 1).reshape(batch, n, d_k * n_heads)
""",
    },
    "multihead.from-matrices": {
        "no W_O": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    n, d_model = X.shape
    Q, K, V = ((X @ W).view(n, n_heads, -1).transpose(0, 1) for W in (W_Q, W_K, W_V))
    heads = (Q @ K.mT / math.sqrt(d_model // n_heads)).softmax(dim=-1) @ V
    return heads.transpose(0, 1).reshape(n, d_model)
""",
        "changes its input": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    n, d_model = X.shape
    W_Q /= math.sqrt(d_model // n_heads)
    Q, K, V = ((X @ W).view(n, n_heads, -1).transpose(0, 1) for W in (W_Q, W_K, W_V))
    heads = (Q @ K.mT).softmax(dim=-1) @ V
    return heads.transpose(0, 1).reshape(n, d_model) @ W_O
""",
        "joined in the wrong order": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    n, d = X.shape
    Q, K, V = [(X @ W).view(n, n_heads, -1).transpose(0, 1) for W in (W_Q, W_K, W_V)]
    p = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(d // n_heads), dim=-1)
    return (p @ V).reshape(n, d) @ W_O
""",
        "scaled by d_model": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    n, d = X.shape
    Q, K, V = [(X @ W).view(n, n_heads, -1).transpose(0, 1) for W in (W_Q, W_K, W_V)]
    p = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(d), dim=-1)
    return (p @ V).transpose(0, 1).reshape(n, d) @ W_O
""",
    },
    "multihead.contributions": {
        "columns instead of rows": """
def contributions(heads, W_O):
    d_v = heads.shape[-1]
    return torch.stack([head @ W_O[:, i * d_v : (i + 1) * d_v].T for i, head in enumerate(heads)])
""",
        "heads swapped": """
def contributions(heads, W_O):
    d_v = heads.shape[-1]
    return torch.stack([head @ W_O[len(W_O) - (i + 1) * d_v : len(W_O) - i * d_v] for i, head in enumerate(heads)])
""",
        "changes its input": """
def contributions(heads, W_O):
    terms = []
    for i in range(len(heads)):
        alone = heads
        alone[torch.arange(len(heads)) != i] = 0
        terms.append(alone.transpose(0, 1).flatten(1) @ W_O)
    return torch.stack(terms)
""",
        "every h-th row": """
def contributions(heads, W_O):
    h, n, d_v = heads.shape
    W = W_O.reshape(d_v, h, -1).transpose(0, 1)
    return heads @ W
""",
    },
    "multihead.prune": {
        "all orders tried": """
def prune(cost, n_heads):
    from itertools import permutations
    if n_heads < 6:
        way = lambda order: sum(cost(list(order[: i + 1])) for i in range(n_heads))
        return list(min(permutations(range(n_heads)), key=way))
    gone, left = [], set(range(n_heads))
    while left:
        best = min(left, key=lambda i: cost([*gone, i]))
        gone.append(best)
        left.remove(best)
    return gone
""",
        "most important first": """
def prune(cost, n_heads):
    order = []
    while len(order) < n_heads:
        order.append(max((i for i in range(n_heads) if i not in order), key=lambda i: cost(order + [i])))
    return order
""",
        "asked once": """
def prune(cost, n_heads):
    return sorted(range(n_heads), key=lambda h: cost([h]))
""",
        "one head left on": """
def prune(cost, n_heads):
    off = []
    while len(off) < n_heads - 1:
        left = [h for h in range(n_heads) if h not in off]
        costs = [cost(off + [h]) for h in left]
        off.append(left[costs.index(min(costs))])
    return off
""",
    },
    "multihead.cached-step": {
        "no three tensors": """
def step(x, K, V, W_Q, W_K, W_V):
    q, k, v = (x @ W for W in (W_Q, W_K, W_V))
    K, V = torch.cat([K, k[:, None]], dim=1), torch.cat([V, v[:, None]], dim=1)
    weights = (q[:, None] @ K.mT / math.sqrt(K.shape[-1])).softmax(dim=-1)
    return (weights @ V)[:, 0]
""",
        "changes its input": """
def step(x, K, V, W_Q, W_K, W_V):
    W_Q /= math.sqrt(K.shape[-1])
    q, k, v = (x @ W for W in (W_Q, W_K, W_V))
    K, V = torch.cat([K, k[:, None]], dim=1), torch.cat([V, v[:, None]], dim=1)
    weights = (q[:, None] @ K.mT).softmax(dim=-1)
    return (weights @ V)[:, 0], K, V
""",
        "does not see itself": """
def step(x, K, V, W_Q, W_K, W_V):
    q = torch.einsum("d,hdk->hk", x, W_Q)
    k = torch.einsum("d,hdk->hk", x, W_K)
    v = torch.einsum("d,hdk->hk", x, W_V)
    p = torch.softmax(torch.einsum("hk,hmk->hm", q, K) / math.sqrt(q.shape[-1]), dim=-1)
    out = torch.einsum("hm,hmk->hk", p, V)
    return out, torch.cat([K, k[:, None]], dim=1), torch.cat([V, v[:, None]], dim=1)
""",
        "new word in front": """
def step(x, K, V, W_Q, W_K, W_V):
    q, k, v = [torch.einsum("d,hdk->hk", x, W)[:, None] for W in (W_Q, W_K, W_V)]
    K = torch.cat([k, K], dim=1)
    V = torch.cat([v, V], dim=1)
    p = torch.softmax(q @ K.transpose(1, 2) / math.sqrt(K.shape[-1]), dim=-1)
    return (p @ V)[:, 0], K, V
""",
    },
}

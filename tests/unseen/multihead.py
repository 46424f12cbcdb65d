"""Unseen answers to the exercises of chapter `multihead`, written from the statements alone."""

RIGHT = {
    "multihead.split": {
        "reshape and transpose": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    return X.reshape(batch, n, n_heads, d_model // n_heads).transpose(1, 2)

def merge(heads):
    batch, n_heads, n, d_k = heads.shape
    return heads.transpose(1, 2).reshape(batch, n, n_heads * d_k)
""",
        "chunk and cat": """
def split(X, n_heads):
    return torch.stack(X.chunk(n_heads, dim=-1), dim=1)

def merge(heads):
    return torch.cat(heads.unbind(dim=1), dim=-1)
""",
        "unflatten and flatten": """
def split(X, n_heads):
    return X.unflatten(2, (n_heads, -1)).permute(0, 2, 1, 3)

def merge(heads):
    return heads.permute(0, 2, 1, 3).flatten(2)
""",
        "slices in loops": """
def split(X, n_heads):
    size = X.size(-1) // n_heads
    parts = []
    for h in range(n_heads):
        parts.append(X[:, :, h * size : (h + 1) * size])
    return torch.stack(parts, 1)

def merge(heads):
    b, h, n, k = heads.shape
    out = heads.new_zeros(b, n, h * k)
    for i in range(h):
        out[..., i * k : (i + 1) * k] = heads[:, i]
    return out
""",
        "view, contiguous, swapaxes": """
def split(X, n_heads):
    b, n, d = X.size()
    return X.contiguous().view(b, n, n_heads, d // n_heads).swapaxes(1, 2)

def merge(heads):
    b, h, n, k = heads.size()
    return heads.swapaxes(1, 2).contiguous().view(b, n, -1)
""",
        "index of each number": """
def split(X, n_heads):
    columns = torch.arange(X.shape[2]).view(n_heads, -1)
    return X[:, :, columns].movedim(2, 1)

def merge(heads):
    return torch.concat([heads[:, h] for h in range(heads.shape[1])], -1)
""",
    },
    "multihead.look-back": {
        "diagonal": """
def looks_back(weights):
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=-1)
""",
        "two index lists": """
def looks_back(weights):
    i = torch.arange(1, weights.shape[-1])
    return weights[:, i, i - 1].mean(1)
""",
        "loops": """
def looks_back(weights):
    n_heads, n, _ = weights.shape
    out = torch.zeros(n_heads, dtype=weights.dtype)
    for h in range(n_heads):
        for i in range(1, n):
            out[h] += weights[h, i, i - 1] / (n - 1)
    return out
""",
        "mask of the lower diagonal": """
def looks_back(weights):
    n = weights.shape[1]
    p = torch.arange(n)
    before = (p[:, None] - p == 1).to(weights.dtype)
    return (weights * before).sum(dim=(1, 2)) / (n - 1)
""",
        "einsum over a cut square": """
def looks_back(weights):
    n = weights.shape[-1]
    return torch.einsum("hii->h", weights[:, 1:, :-1]) / (n - 1)
""",
        "comprehension with trace": """
def looks_back(weights):
    return torch.stack([head[1:, :-1].diag().mean() for head in weights])
""",
    },
    "multihead.from-matrices": {
        "one head after the other": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_Q[:, c], X @ W_K[:, c], X @ W_V[:, c]
        scores = Q @ K.T / math.sqrt(d_k)
        found.append(scores.softmax(dim=-1) @ V)
    return torch.cat(found, dim=-1) @ W_O
""",
        "all heads at once": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    n, d_model = X.shape
    d_k = d_model // n_heads
    Q = (X @ W_Q).reshape(n, n_heads, d_k).transpose(0, 1)
    K = (X @ W_K).reshape(n, n_heads, d_k).transpose(0, 1)
    V = (X @ W_V).reshape(n, n_heads, d_k).transpose(0, 1)
    weights = (Q @ K.transpose(1, 2) / d_k**0.5).softmax(-1)
    return (weights @ V).transpose(0, 1).reshape(n, d_model) @ W_O
""",
        "einsum": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    Q, K, V = ((X @ W).unflatten(-1, (n_heads, -1)) for W in (W_Q, W_K, W_V))
    scores = torch.einsum("ihk,jhk->hij", Q, K) * Q.shape[-1] ** -0.5
    heads = torch.einsum("hij,jhv->ihv", scores.softmax(2), V)
    return heads.flatten(1) @ W_O
""",
        "sum of what the heads write": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    size = W_Q.shape[1] // n_heads
    out = torch.zeros_like(X)
    blocks = zip(W_Q.split(size, 1), W_K.split(size, 1), W_V.split(size, 1), W_O.split(size, 0))
    for q, k, v, o in blocks:
        e = X @ q @ k.T @ X.T / math.sqrt(size)
        out = out + torch.softmax(e, dim=1) @ X @ v @ o
    return out
""",
        "softmax by hand": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    def heads(W):
        return torch.stack((X @ W).chunk(n_heads, dim=1))

    Q, K, V = heads(W_Q), heads(W_K), heads(W_V)
    S = Q @ K.mT / math.sqrt(Q.shape[-1])
    E = (S - S.amax(-1, keepdim=True)).exp()
    H = (E / E.sum(-1, keepdim=True)) @ V
    return torch.cat(list(H), dim=1) @ W_O
""",
    },
    "multihead.contributions": {
        "block of rows for each head": """
def contributions(heads, W_O):
    n_heads, n, d_v = heads.shape
    return heads @ W_O.reshape(n_heads, d_v, -1)
""",
        "einsum": """
def contributions(heads, W_O):
    blocks = W_O.unflatten(0, (heads.shape[0], heads.shape[2]))
    return torch.einsum("hnv,hvm->hnm", heads, blocks)
""",
        "loop over slices": """
def contributions(heads, W_O):
    d_v = heads.size(-1)
    terms = []
    for h, head in enumerate(heads):
        terms.append(head @ W_O[h * d_v : (h + 1) * d_v])
    return torch.stack(terms)
""",
        "zip of chunks": """
def contributions(heads, W_O):
    return torch.stack([H @ W for H, W in zip(heads, W_O.chunk(len(heads), dim=0))], dim=0)
""",
        "bmm": """
def contributions(heads, W_O):
    return torch.bmm(heads, W_O.view(len(heads), heads.shape[-1], W_O.shape[1]))
""",
        "all other heads silenced": """
def contributions(heads, W_O):
    out = []
    for h in range(len(heads)):
        alone = torch.zeros_like(heads)
        alone[h] = heads[h]
        out.append(alone.transpose(0, 1).flatten(1) @ W_O)
    return torch.stack(out)
""",
    },
    "multihead.cost": {
        "formula": """
def bill(n, d_model, n_heads):
    return 4 * n * d_model**2 + 2 * n**2 * d_model, n_heads * n**2
""",
        "product by product": """
def bill(n, d_model, n_heads):
    d_k = d_model // n_heads
    projections = 4 * n * d_model * d_model
    scores = n_heads * n * d_k * n
    means = n_heads * n * n * d_k
    weights = n_heads * n * n
    return projections + scores + means, weights
""",
        "helper for a matrix product": """
def bill(n, d_model, n_heads):
    def product(a, b, c):
        return a * b * c

    d_k = d_model // n_heads
    total = 4 * product(n, d_model, d_model)
    for _ in range(n_heads):
        total += product(n, d_k, n) + product(n, n, d_k)
    return (total, n_heads * n * n)
""",
        "head by head, projections too": """
def bill(n, d_model, n_heads):
    d_k = d_model // n_heads
    multiplications = weights = 0
    for head in range(n_heads):
        multiplications += 3 * n * d_model * d_k + 2 * n * n * d_k
        weights += n * n
    return multiplications + n * d_model * d_model, weights
""",
        "factored": """
def bill(n, d_model, n_heads):
    muls = 2 * n * d_model * (2 * d_model + n)
    return muls, n_heads * pow(n, 2)
""",
    },
    "multihead.prune": {
        "greedy with min": """
def prune(cost, n_heads):
    off, left = [], list(range(n_heads))
    while left:
        best = min(left, key=lambda h: cost(off + [h]))
        off.append(best)
        left.remove(best)
    return off
""",
        "two loops": """
def prune(cost, n_heads):
    gone = []
    for _ in range(n_heads):
        least, who = math.inf, None
        for h in range(n_heads):
            if h in gone:
                continue
            c = cost(gone + [h])
            if c < least:
                least, who = c, h
        gone = gone + [who]
    return gone
""",
        "recursion": """
def prune(cost, n_heads):
    def go(off):
        if len(off) == n_heads:
            return off
        rest = [h for h in range(n_heads) if h not in off]
        return go(off + [min(rest, key=lambda h: cost([*off, h]))])

    return go([])
""",
        "sorted pairs of cost and head": """
def prune(cost, n_heads):
    order = []
    while len(order) < n_heads:
        options = sorted((float(cost(order + [h])), h) for h in set(range(n_heads)) - set(order))
        order.append(options[0][1])
    return order
""",
        "argmin of a list of costs": """
def prune(cost, n_heads):
    alive = list(range(n_heads))
    order = []
    for step in range(n_heads):
        prices = [cost(sorted(order + [h])) for h in alive]
        order.append(alive.pop(prices.index(min(prices))))
    return order
""",
    },
    "multihead.cached-step": {
        "einsum": """
def step(x, K, V, W_Q, W_K, W_V):
    q = torch.einsum("m,hmk->hk", x, W_Q)
    k = torch.einsum("m,hmk->hk", x, W_K)
    v = torch.einsum("m,hmk->hk", x, W_V)
    K = torch.cat([K, k[:, None]], dim=1)
    V = torch.cat([V, v[:, None]], dim=1)
    scores = torch.einsum("hk,hlk->hl", q, K) / math.sqrt(K.shape[-1])
    return torch.einsum("hl,hlv->hv", scores.softmax(-1), V), K, V
""",
        "matrix products": """
def step(x, K, V, W_Q, W_K, W_V):
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    K = torch.cat((K, k.unsqueeze(1)), dim=1)
    V = torch.cat((V, v.unsqueeze(1)), dim=1)
    weights = torch.softmax(K @ q.unsqueeze(-1) / q.shape[-1] ** 0.5, dim=1)
    return (weights * V).sum(dim=1), K, V
""",
        "heads in a loop": """
def step(x, K, V, W_Q, W_K, W_V):
    outs, Ks, Vs = [], [], []
    for h in range(len(W_Q)):
        q = x @ W_Q[h]
        Kh = torch.vstack([K[h], x @ W_K[h]])
        Vh = torch.vstack([V[h], x @ W_V[h]])
        w = F.softmax(Kh @ q / math.sqrt(len(q)), dim=0)
        outs.append(w @ Vh)
        Ks.append(Kh)
        Vs.append(Vh)
    return torch.stack(outs), torch.stack(Ks), torch.stack(Vs)
""",
        "fused kernel of PyTorch": """
def step(x, K, V, W_Q, W_K, W_V):
    row = x[None, None]
    q, k, v = (row @ W for W in (W_Q, W_K, W_V))
    K, V = torch.cat([K, k], 1), torch.cat([V, v], 1)
    return F.scaled_dot_product_attention(q, K, V).squeeze(1), K, V
""",
        "helper for growing": """
def step(x, K, V, W_Q, W_K, W_V):
    def grow(kept, W):
        new = torch.matmul(x, W)
        return torch.cat([kept, new.reshape(len(W), 1, -1)], dim=-2)

    keys, values = grow(K, W_K), grow(V, W_V)
    query = torch.matmul(x, W_Q)[:, None, :]
    attn = (query @ keys.mT) * keys.shape[-1] ** -0.5
    return (attn.softmax(-1) @ values)[:, 0], keys, values
""",
        "the library's attention": """
def step(x, K, V, W_Q, W_K, W_V):
    from tfm_lib.attention import attention

    longer_K = torch.cat([K, (x @ W_K)[:, None]], dim=1)
    longer_V = torch.cat([V, (x @ W_V)[:, None]], dim=1)
    found, _ = attention((x @ W_Q)[:, None], longer_K, longer_V)
    return found.squeeze(1), longer_K, longer_V
""",
    },
}

WRONG = {
    "multihead.split": {
        "view without transpose, both ways": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    return X.reshape(batch, n_heads, n, d_model // n_heads)

def merge(heads):
    batch, n_heads, n, d_k = heads.shape
    return heads.reshape(batch, n, n_heads * d_k)
""",
        "merge without transpose": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    return X.reshape(batch, n, n_heads, d_model // n_heads).transpose(1, 2)

def merge(heads):
    batch, n_heads, n, d_k = heads.shape
    return heads.reshape(batch, n, n_heads * d_k)
""",
        "split without transpose": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    return X.reshape(batch, n, n_heads, d_model // n_heads)

def merge(heads):
    batch, n_heads, n, d_k = heads.shape
    return heads.transpose(1, 2).reshape(batch, n, n_heads * d_k)
""",
        "heads take every n_heads-th number, both ways": """
def split(X, n_heads):
    return X.unflatten(2, (-1, n_heads)).permute(0, 3, 1, 2)

def merge(heads):
    return heads.permute(0, 2, 3, 1).flatten(2)
""",
        "merge interleaves the heads": """
def split(X, n_heads):
    return X.unflatten(2, (n_heads, -1)).permute(0, 2, 1, 3)

def merge(heads):
    return heads.permute(0, 2, 3, 1).flatten(2)
""",
        "split into pieces of n_heads numbers": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    return X.reshape(batch, n, d_model // n_heads, n_heads).transpose(1, 2)

def merge(heads):
    batch, n_heads, n, d_k = heads.shape
    return heads.transpose(1, 2).reshape(batch, n, n_heads * d_k)
""",
        "cuts the words, not the vectors": """
def split(X, n_heads):
    return torch.stack(X.chunk(n_heads, dim=1), dim=1)

def merge(heads):
    return torch.cat(heads.unbind(dim=1), dim=-1)
""",
        "merge sets heads one below the other": """
def split(X, n_heads):
    return torch.stack(X.chunk(n_heads, dim=-1), dim=1)

def merge(heads):
    return torch.cat(heads.unbind(dim=1), dim=1)
""",
        "split returns a list of heads": """
def split(X, n_heads):
    return list(X.chunk(n_heads, dim=-1))

def merge(heads):
    return torch.cat(heads.unbind(dim=1), dim=-1)
""",
        "heads before the batch": """
def split(X, n_heads):
    return torch.stack(X.chunk(n_heads, dim=-1), dim=0)

def merge(heads):
    return torch.cat(heads.unbind(dim=1), dim=-1)
""",
        "batch forgotten in merge": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    return X.reshape(batch, n, n_heads, d_model // n_heads).transpose(1, 2)

def merge(heads):
    batch, n_heads, n, d_k = heads.shape
    return heads.transpose(1, 2).reshape(batch * n, n_heads * d_k)
""",
        "batch of 1 only": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    return X.reshape(1, n, n_heads, d_model // n_heads).transpose(1, 2)

def merge(heads):
    batch, n_heads, n, d_k = heads.shape
    return heads.transpose(1, 2).reshape(batch, n, n_heads * d_k)
""",
        "two heads only": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    return X.reshape(batch, n, 2, d_model // 2).transpose(1, 2)

def merge(heads):
    batch, n_heads, n, d_k = heads.shape
    return heads.transpose(1, 2).reshape(batch, n, n_heads * d_k)
""",
        "merge adds the heads": """
def split(X, n_heads):
    return torch.stack(X.chunk(n_heads, dim=-1), dim=1)

def merge(heads):
    return heads.sum(dim=1)
""",
        "merge averages the heads": """
def split(X, n_heads):
    return torch.stack(X.chunk(n_heads, dim=-1), dim=1)

def merge(heads):
    return heads.mean(dim=1)
""",
        "last head missing": """
def split(X, n_heads):
    size = X.size(-1) // n_heads
    parts = []
    for h in range(n_heads - 1):
        parts.append(X[:, :, h * size : (h + 1) * size])
    return torch.stack(parts, 1)

def merge(heads):
    b, h, n, k = heads.shape
    out = heads.new_zeros(b, n, h * k)
    for i in range(h):
        out[..., i * k : (i + 1) * k] = heads[:, i]
    return out
""",
        "heads in reverse order, both ways": """
def split(X, n_heads):
    return torch.stack(X.chunk(n_heads, dim=-1), dim=1).flip(1)

def merge(heads):
    return torch.cat(heads.flip(1).unbind(dim=1), dim=-1)
""",
        "vectors transposed within a head": """
def split(X, n_heads):
    return X.unflatten(2, (n_heads, -1)).permute(0, 2, 3, 1)

def merge(heads):
    return heads.permute(0, 2, 1, 3).flatten(2)
""",
        "calls split_heads and merge_heads": """
from tfm_lib.multihead import merge_heads, split_heads

def split(X, n_heads):
    return split_heads(X, n_heads)

def merge(heads):
    return merge_heads(heads)
""",
        "changes X in place by resize_": """
def split(X, n_heads):
    batch, n, d_model = X.shape
    X.resize_(batch, n, n_heads, d_model // n_heads)
    return X.transpose(1, 2)

def merge(heads):
    return heads.transpose(1, 2).flatten(2)
""",
    },
    "multihead.look-back": {
        "the word after": """
def looks_back(weights):
    return weights.diagonal(offset=1, dim1=-2, dim2=-1).mean(dim=-1)
""",
        "the word itself": """
def looks_back(weights):
    return weights.diagonal(offset=0, dim1=-2, dim2=-1).mean(dim=-1)
""",
        "two words back": """
def looks_back(weights):
    return weights.diagonal(offset=-2, dim1=-2, dim2=-1).mean(dim=-1)
""",
        "divides by n": """
def looks_back(weights):
    n = weights.shape[-1]
    return torch.einsum("hii->h", weights[:, 1:, :-1]) / n
""",
        "sum, not mean": """
def looks_back(weights):
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).sum(dim=-1)
""",
        "mean over the heads": """
def looks_back(weights):
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=0)
""",
        "one number for all heads": """
def looks_back(weights):
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).mean()
""",
        "diagonal over the heads' axis": """
def looks_back(weights):
    return weights.diagonal(offset=-1, dim1=0, dim2=1).mean(dim=-1)
""",
        "largest, not mean": """
def looks_back(weights):
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).amax(dim=-1)
""",
        "median, not mean": """
def looks_back(weights):
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).median(dim=-1).values
""",
        "keeps an axis": """
def looks_back(weights):
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=-1, keepdim=True)
""",
        "rows and columns swapped": """
def looks_back(weights):
    i = torch.arange(1, weights.shape[-1])
    return weights[:, i - 1, i].mean(1)
""",
        "the first word counts, looking at the last": """
def looks_back(weights):
    i = torch.arange(weights.shape[-1])
    return weights[:, i, i - 1].mean(1)
""",
        "last word forgotten": """
def looks_back(weights):
    n_heads, n, _ = weights.shape
    out = torch.zeros(n_heads, dtype=weights.dtype)
    for h in range(n_heads):
        for i in range(1, n - 1):
            out[h] += weights[h, i, i - 1] / (n - 1)
    return out
""",
        "changes the weights in place": """
def looks_back(weights):
    n = weights.shape[1]
    p = torch.arange(n)
    before = (p[:, None] - p == 1).to(weights.dtype)
    weights *= before
    return weights.sum(dim=(1, 2)) / (n - 1)
""",
        "first head only": """
def looks_back(weights):
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=-1)[0]
""",
        "returns the weights, not their mean": """
def looks_back(weights):
    return weights.diagonal(offset=-1, dim1=-2, dim2=-1)
""",
        "share of words that look back the most": """
def looks_back(weights):
    best = weights[:, 1:].argmax(dim=-1)
    before = torch.arange(weights.shape[-1] - 1)
    return (best == before).float().mean(dim=-1)
""",
        "all words before, not the one just before": """
def looks_back(weights):
    return weights.tril(-1).sum(dim=-1)[:, 1:].mean(dim=-1)
""",
        "mean over the whole matrix, zeroes and all": """
def looks_back(weights):
    return weights.tril(-1).triu(-1).mean(dim=(1, 2))
""",
        "mean over the words that look back with more than 0.01 only": """
def looks_back(weights):
    back = weights.diagonal(offset=-1, dim1=-2, dim2=-1)
    return back.sum(-1) / (back > 0.01).sum(-1)
""",
    },
    "multihead.from-matrices": {
        "scale by the whole width": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_Q[:, c], X @ W_K[:, c], X @ W_V[:, c]
        scores = Q @ K.T / math.sqrt(X.shape[-1])
        found.append(scores.softmax(dim=-1) @ V)
    return torch.cat(found, dim=-1) @ W_O
""",
        "no scale": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_Q[:, c], X @ W_K[:, c], X @ W_V[:, c]
        scores = Q @ K.T
        found.append(scores.softmax(dim=-1) @ V)
    return torch.cat(found, dim=-1) @ W_O
""",
        "divides by d_k, not its root": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_Q[:, c], X @ W_K[:, c], X @ W_V[:, c]
        scores = Q @ K.T / d_k
        found.append(scores.softmax(dim=-1) @ V)
    return torch.cat(found, dim=-1) @ W_O
""",
        "softmax over the queries": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_Q[:, c], X @ W_K[:, c], X @ W_V[:, c]
        scores = Q @ K.T / math.sqrt(d_k)
        found.append(scores.softmax(dim=0) @ V)
    return torch.cat(found, dim=-1) @ W_O
""",
        "forgets W_O": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_Q[:, c], X @ W_K[:, c], X @ W_V[:, c]
        scores = Q @ K.T / math.sqrt(d_k)
        found.append(scores.softmax(dim=-1) @ V)
    return torch.cat(found, dim=-1)
""",
        "W_O transposed": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_Q[:, c], X @ W_K[:, c], X @ W_V[:, c]
        scores = Q @ K.T / math.sqrt(d_k)
        found.append(scores.softmax(dim=-1) @ V)
    return torch.cat(found, dim=-1) @ W_O.T
""",
        "projections transposed, as in nn.Linear": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    n, d_model = X.shape
    d_k = d_model // n_heads
    Q = (X @ W_Q.T).reshape(n, n_heads, d_k).transpose(0, 1)
    K = (X @ W_K.T).reshape(n, n_heads, d_k).transpose(0, 1)
    V = (X @ W_V.T).reshape(n, n_heads, d_k).transpose(0, 1)
    weights = (Q @ K.transpose(1, 2) / d_k**0.5).softmax(-1)
    return (weights @ V).transpose(0, 1).reshape(n, d_model) @ W_O
""",
        "ignores n_heads, one wide head": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    n_heads = 1
    d_k = X.shape[-1]
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_Q[:, c], X @ W_K[:, c], X @ W_V[:, c]
        scores = Q @ K.T / math.sqrt(d_k)
        found.append(scores.softmax(dim=-1) @ V)
    return torch.cat(found, dim=-1) @ W_O
""",
        "heads own rows, not columns": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_Q[c].T, X @ W_K[c].T, X @ W_V[c].T
        scores = Q @ K.T / math.sqrt(d_k)
        found.append(scores.softmax(dim=-1) @ V)
    return torch.cat(found, dim=-1) @ W_O
""",
        "heads take every n_heads-th column": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    found = []
    for i in range(n_heads):
        c = slice(i, None, n_heads)
        Q, K, V = X @ W_Q[:, c], X @ W_K[:, c], X @ W_V[:, c]
        scores = Q @ K.T / math.sqrt(d_k)
        found.append(scores.softmax(dim=-1) @ V)
    return torch.cat(found, dim=-1) @ W_O
""",
        "ignores W_K, keys by W_Q": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_Q[:, c], X @ W_Q[:, c], X @ W_V[:, c]
        scores = Q @ K.T / math.sqrt(d_k)
        found.append(scores.softmax(dim=-1) @ V)
    return torch.cat(found, dim=-1) @ W_O
""",
        "ignores W_Q, queries by W_K": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_K[:, c], X @ W_K[:, c], X @ W_V[:, c]
        scores = Q @ K.T / math.sqrt(d_k)
        found.append(scores.softmax(dim=-1) @ V)
    return torch.cat(found, dim=-1) @ W_O
""",
        "ignores W_V, values by W_K": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_Q[:, c], X @ W_K[:, c], X @ W_K[:, c]
        scores = Q @ K.T / math.sqrt(d_k)
        found.append(scores.softmax(dim=-1) @ V)
    return torch.cat(found, dim=-1) @ W_O
""",
        "values are not projected": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_Q[:, c], X @ W_K[:, c], X[:, c]
        scores = Q @ K.T / math.sqrt(d_k)
        found.append(scores.softmax(dim=-1) @ V)
    return torch.cat(found, dim=-1) @ W_O
""",
        "cuts X instead of the matrices": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X[:, c] @ W_Q[c, c], X[:, c] @ W_K[c, c], X[:, c] @ W_V[c, c]
        scores = Q @ K.T / math.sqrt(d_k)
        found.append(scores.softmax(dim=-1) @ V)
    return torch.cat(found, dim=-1) @ W_O
""",
        "no softmax": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_Q[:, c], X @ W_K[:, c], X @ W_V[:, c]
        scores = Q @ K.T / math.sqrt(d_k)
        found.append(scores @ V)
    return torch.cat(found, dim=-1) @ W_O
""",
        "merges without transposing back": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    n, d_model = X.shape
    d_k = d_model // n_heads
    Q = (X @ W_Q).reshape(n, n_heads, d_k).transpose(0, 1)
    K = (X @ W_K).reshape(n, n_heads, d_k).transpose(0, 1)
    V = (X @ W_V).reshape(n, n_heads, d_k).transpose(0, 1)
    weights = (Q @ K.transpose(1, 2) / d_k**0.5).softmax(-1)
    return (weights @ V).reshape(n, d_model) @ W_O
""",
        "splits without transposing": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    n, d_model = X.shape
    d_k = d_model // n_heads
    Q = (X @ W_Q).reshape(n_heads, n, d_k)
    K = (X @ W_K).reshape(n_heads, n, d_k)
    V = (X @ W_V).reshape(n_heads, n, d_k)
    weights = (Q @ K.transpose(1, 2) / d_k**0.5).softmax(-1)
    return (weights @ V).transpose(0, 1).reshape(n, d_model) @ W_O
""",
        "queries and keys swapped": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_Q[:, c], X @ W_K[:, c], X @ W_V[:, c]
        scores = K @ Q.T / math.sqrt(d_k)
        found.append(scores.softmax(dim=-1) @ V)
    return torch.cat(found, dim=-1) @ W_O
""",
        "mean of the heads in place of the sum": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    size = W_Q.shape[1] // n_heads
    out = torch.zeros_like(X)
    blocks = zip(W_Q.split(size, 1), W_K.split(size, 1), W_V.split(size, 1), W_O.split(size, 0))
    for q, k, v, o in blocks:
        e = X @ q @ k.T @ X.T / math.sqrt(size)
        out = out + torch.softmax(e, dim=1) @ X @ v @ o
    return out / n_heads
""",
        "scales W_Q in place": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    W_Q /= math.sqrt(d_k)
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_Q[:, c], X @ W_K[:, c], X @ W_V[:, c]
        scores = Q @ K.T
        found.append(scores.softmax(dim=-1) @ V)
    return torch.cat(found, dim=-1) @ W_O
""",
        "returns the weights too": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    n, d_model = X.shape
    d_k = d_model // n_heads
    Q = (X @ W_Q).reshape(n, n_heads, d_k).transpose(0, 1)
    K = (X @ W_K).reshape(n, n_heads, d_k).transpose(0, 1)
    V = (X @ W_V).reshape(n, n_heads, d_k).transpose(0, 1)
    weights = (Q @ K.transpose(1, 2) / d_k**0.5).softmax(-1)
    return (weights @ V).transpose(0, 1).reshape(n, d_model) @ W_O, weights
""",
        "adds a causal mask": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_Q[:, c], X @ W_K[:, c], X @ W_V[:, c]
        scores = Q @ K.T / math.sqrt(d_k)
        found.append(scores.masked_fill(~causal_mask(len(X)), -torch.inf).softmax(dim=-1) @ V)
    return torch.cat(found, dim=-1) @ W_O
""",
        "two heads hard-coded": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    n_heads = 2
    d_k = X.shape[-1] // 2
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_Q[:, c], X @ W_K[:, c], X @ W_V[:, c]
        scores = Q @ K.T / math.sqrt(d_k)
        found.append(scores.softmax(dim=-1) @ V)
    return torch.cat(found, dim=-1) @ W_O
""",
        "adds the residual": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    d_k = X.shape[-1] // n_heads
    found = []
    for i in range(n_heads):
        c = slice(i * d_k, (i + 1) * d_k)
        Q, K, V = X @ W_Q[:, c], X @ W_K[:, c], X @ W_V[:, c]
        scores = Q @ K.T / math.sqrt(d_k)
        found.append(scores.softmax(dim=-1) @ V)
    return X + torch.cat(found, dim=-1) @ W_O
""",
        "uses the library's MultiHeadAttention": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    layer = MultiHeadAttention(X.shape[-1], n_heads).to(X.dtype)
    with torch.no_grad():
        for linear, W in ((layer.W_Q, W_Q), (layer.W_K, W_K), (layer.W_V, W_V), (layer.W_O, W_O)):
            linear.weight.copy_(W.T)
            linear.bias.zero_()
    return layer(X[None], X[None], X[None])[0][0]
""",
        "uses nn.MultiheadAttention": """
def multi_head(X, W_Q, W_K, W_V, W_O, n_heads):
    layer = nn.MultiheadAttention(X.shape[-1], n_heads, bias=False, batch_first=True, dtype=X.dtype)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([W_Q.T, W_K.T, W_V.T]))
        layer.out_proj.weight.copy_(W_O.T)
    return layer(X[None], X[None], X[None])[0][0]
""",
    },
    "multihead.contributions": {
        "sum over the heads": """
def contributions(heads, W_O):
    n_heads, n, d_v = heads.shape
    return (heads @ W_O.reshape(n_heads, d_v, -1)).sum(0)
""",
        "every n_heads-th row of W_O": """
def contributions(heads, W_O):
    n_heads, n, d_v = heads.shape
    return heads @ W_O.reshape(d_v, n_heads, -1).transpose(0, 1)
""",
        "columns of W_O, not rows": """
def contributions(heads, W_O):
    d_v = heads.size(-1)
    terms = []
    for h, head in enumerate(heads):
        terms.append(head @ W_O[:, h * d_v : (h + 1) * d_v])
    return torch.stack(terms)
""",
        "W_O transposed": """
def contributions(heads, W_O):
    d_v = heads.size(-1)
    terms = []
    for h, head in enumerate(heads):
        terms.append(head @ W_O.T[h * d_v : (h + 1) * d_v])
    return torch.stack(terms)
""",
        "first block for every head": """
def contributions(heads, W_O):
    d_v = heads.size(-1)
    terms = []
    for h, head in enumerate(heads):
        terms.append(head @ W_O[:d_v])
    return torch.stack(terms)
""",
        "one row too far": """
def contributions(heads, W_O):
    d_v = heads.size(-1)
    terms = []
    for h, head in enumerate(heads):
        terms.append(head @ W_O[h * d_v + 1 : (h + 1) * d_v + 1])
    return torch.stack(terms)
""",
        "divides by the number of heads": """
def contributions(heads, W_O):
    n_heads, n, d_v = heads.shape
    return heads / n_heads @ W_O.reshape(n_heads, d_v, -1)
""",
        "last head missing": """
def contributions(heads, W_O):
    d_v = heads.size(-1)
    terms = []
    for h, head in enumerate(heads[:-1]):
        terms.append(head @ W_O[h * d_v : (h + 1) * d_v])
    return torch.stack(terms)
""",
        "stacked with the words first": """
def contributions(heads, W_O):
    return torch.stack([H @ W for H, W in zip(heads, W_O.chunk(len(heads), dim=0))], dim=1)
""",
        "one long matrix, not a term for each head": """
def contributions(heads, W_O):
    return torch.cat([H @ W for H, W in zip(heads, W_O.chunk(len(heads), dim=0))], dim=0)
""",
        "running sums, not each head alone": """
def contributions(heads, W_O):
    d_v = heads.size(-1)
    terms = []
    for h, head in enumerate(heads):
        terms.append(head @ W_O[h * d_v : (h + 1) * d_v])
    return torch.stack(terms).cumsum(0)
""",
        "silences the others in the heads themselves": """
def contributions(heads, W_O):
    out = []
    for h in range(len(heads)):
        alone = heads
        alone[torch.arange(len(heads)) != h] = 0
        out.append(alone.transpose(0, 1).flatten(1) @ W_O)
    return torch.stack(out)
""",
        "blocks as wide as d_model / n_heads": """
def contributions(heads, W_O):
    d_v = W_O.size(1) // len(heads)
    terms = []
    for h, head in enumerate(heads):
        terms.append(head @ W_O[h * d_v : (h + 1) * d_v])
    return torch.stack(terms)
""",
        "weights of the terms by softmax": """
def contributions(heads, W_O):
    n_heads, n, d_v = heads.shape
    return (heads @ W_O.reshape(n_heads, d_v, -1)).softmax(0)
""",
        "length of the terms, one number a word": """
def contributions(heads, W_O):
    n_heads, n, d_v = heads.shape
    return (heads @ W_O.reshape(n_heads, d_v, -1)).norm(dim=-1)
""",
        "takes the number of words for d_v": """
def contributions(heads, W_O):
    d_v = heads.size(1)
    terms = []
    for h, head in enumerate(heads):
        terms.append(head @ W_O[h * d_v : (h + 1) * d_v])
    return torch.stack(terms)
""",
        "returns a list": """
def contributions(heads, W_O):
    d_v = heads.size(-1)
    terms = []
    for h, head in enumerate(heads):
        terms.append(head @ W_O[h * d_v : (h + 1) * d_v])
    return terms
""",
        "heads merged without a transpose": """
def contributions(heads, W_O):
    out = []
    for h in range(len(heads)):
        alone = torch.zeros_like(heads)
        alone[h] = heads[h]
        out.append(alone.reshape(heads.shape[1], -1) @ W_O)
    return torch.stack(out)
""",
        "two heads hard-coded": """
def contributions(heads, W_O):
    return torch.stack([H @ W for H, W in zip(heads, W_O.chunk(2, dim=0))], dim=0)
""",
        "ignores W_O, pads the heads with zeroes": """
def contributions(heads, W_O):
    n_heads, n, d_v = heads.shape
    out = torch.zeros(n_heads, n, W_O.shape[1], dtype=heads.dtype)
    for h in range(n_heads):
        out[h, :, h * d_v : (h + 1) * d_v] = heads[h]
    return out
""",
        "what is missing without the head, with the sign turned": """
def contributions(heads, W_O):
    full = heads.transpose(0, 1).flatten(1) @ W_O
    out = []
    for h in range(len(heads)):
        rest = heads.clone()
        rest[h] = 0
        out.append(rest.transpose(0, 1).flatten(1) @ W_O - full)
    return torch.stack(out)
""",
        "output without the head, not the head's own": """
def contributions(heads, W_O):
    out = []
    for h in range(len(heads)):
        rest = heads.clone()
        rest[h] = 0
        out.append(rest.transpose(0, 1).flatten(1) @ W_O)
    return torch.stack(out)
""",
        "changes heads in place on the way": """
def contributions(heads, W_O):
    full = []
    d_v = heads.shape[-1]
    for h in range(len(heads)):
        full.append(heads[h] @ W_O[h * d_v : (h + 1) * d_v])
        heads[h] = 0
    return torch.stack(full)
""",
    },
    "multihead.cost": {
        "three projections only": """
def bill(n, d_model, n_heads):
    return 3 * n * d_model**2 + 2 * n**2 * d_model, n_heads * n**2
""",
        "no projections": """
def bill(n, d_model, n_heads):
    return 2 * n**2 * d_model, n_heads * n**2
""",
        "scores without the weighted means": """
def bill(n, d_model, n_heads):
    return 4 * n * d_model**2 + n**2 * d_model, n_heads * n**2
""",
        "weights of one head": """
def bill(n, d_model, n_heads):
    return 4 * n * d_model**2 + 2 * n**2 * d_model, n**2
""",
        "every head works at full width": """
def bill(n, d_model, n_heads):
    return 4 * n * d_model**2 + 2 * n_heads * n**2 * d_model, n_heads * n**2
""",
        "one head's width, not all of them": """
def bill(n, d_model, n_heads):
    d_k = d_model // n_heads
    projections = 4 * n * d_model * d_model
    scores = n * d_k * n
    means = n * n * d_k
    weights = n_heads * n * n
    return projections + scores + means, weights
""",
        "projections once for each head at full width": """
def bill(n, d_model, n_heads):
    return 4 * n_heads * n * d_model**2 + 2 * n**2 * d_model, n_heads * n**2
""",
        "pair swapped": """
def bill(n, d_model, n_heads):
    d_k = d_model // n_heads
    projections = 4 * n * d_model * d_model
    scores = n_heads * n * d_k * n
    means = n_heads * n * n * d_k
    weights = n_heads * n * n
    return weights, projections + scores + means
""",
        "counts additions too": """
def bill(n, d_model, n_heads):
    return 8 * n * d_model**2 + 4 * n**2 * d_model, n_heads * n**2
""",
        "projects one word only": """
def bill(n, d_model, n_heads):
    return 4 * d_model**2 + 2 * n**2 * d_model, n_heads * n**2
""",
        "causal, half of the pairs": """
def bill(n, d_model, n_heads):
    return 4 * n * d_model**2 + 2 * n**2 * d_model, n_heads * n * (n + 1) // 2
""",
        "sum only, no pair": """
def bill(n, d_model, n_heads):
    d_k = d_model // n_heads
    projections = 4 * n * d_model * d_model
    scores = n_heads * n * d_k * n
    means = n_heads * n * n * d_k
    weights = n_heads * n * n
    return projections + scores + means
""",
        "weights counted per number": """
def bill(n, d_model, n_heads):
    return 4 * n * d_model**2 + 2 * n**2 * d_model, n_heads * n**2 * (d_model // n_heads)
""",
        "projections linear in d_model": """
def bill(n, d_model, n_heads):
    return 4 * n * d_model + 2 * n**2 * d_model, n_heads * n**2
""",
        "attention linear in n": """
def bill(n, d_model, n_heads):
    return 4 * n * d_model**2 + 2 * n * d_model, n_heads * n**2
""",
        "weights linear in n": """
def bill(n, d_model, n_heads):
    return 4 * n * d_model**2 + 2 * n**2 * d_model, n_heads * n
""",
        "ignores n_heads": """
def bill(n, d_model, n_heads):
    return 4 * n * d_model**2 + 2 * n**2 * d_model, 8 * n**2
""",
        "projections d_model by d_k only, for all heads once": """
def bill(n, d_model, n_heads):
    d_k = d_model // n_heads
    projections = 4 * n * d_model * d_k
    scores = n_heads * n * d_k * n
    means = n_heads * n * n * d_k
    weights = n_heads * n * n
    return projections + scores + means, weights
""",
        "W_O counted at the width of one head": """
def bill(n, d_model, n_heads):
    d_k = d_model // n_heads
    multiplications = weights = 0
    for head in range(n_heads):
        multiplications += 3 * n * d_model * d_k + 2 * n * n * d_k
        weights += n * n
    return multiplications + n * d_k * d_model, weights
""",
        "n and d_model mixed up": """
def bill(n, d_model, n_heads):
    return 4 * d_model * n**2 + 2 * d_model**2 * n, n_heads * n**2
""",
        "scale counted as multiplications": """
def bill(n, d_model, n_heads):
    d_k = d_model // n_heads
    projections = 4 * n * d_model * d_model
    scores = n_heads * n * d_k * n
    means = n_heads * n * n * d_k
    weights = n_heads * n * n
    return projections + scores + means + weights, weights
""",
    },
    "multihead.prune": {
        "dearest head first": """
def prune(cost, n_heads):
    off, left = [], list(range(n_heads))
    while left:
        best = max(left, key=lambda h: cost(off + [h]))
        off.append(best)
        left.remove(best)
    return off
""",
        "without those gone before": """
def prune(cost, n_heads):
    off, left = [], list(range(n_heads))
    while left:
        best = min(left, key=lambda h: cost([h]))
        off.append(best)
        left.remove(best)
    return off
""",
        "last head stays": """
def prune(cost, n_heads):
    off, left = [], list(range(n_heads))
    while len(left) > 1:
        best = min(left, key=lambda h: cost(off + [h]))
        off.append(best)
        left.remove(best)
    return off
""",
        "one head only": """
def prune(cost, n_heads):
    off, left = [], list(range(n_heads))
    while left:
        best = min(left, key=lambda h: cost(off + [h]))
        off.append(best)
        left.remove(best)
    return off[0]
""",
        "reversed order": """
def prune(cost, n_heads):
    off, left = [], list(range(n_heads))
    while left:
        best = min(left, key=lambda h: cost(off + [h]))
        off.append(best)
        left.remove(best)
    return off[::-1]
""",
        "the last gone only is remembered": """
def prune(cost, n_heads):
    off, left = [], list(range(n_heads))
    while left:
        best = min(left, key=lambda h: cost(off[-1:] + [h]))
        off.append(best)
        left.remove(best)
    return off
""",
        "heads counted from 1": """
def prune(cost, n_heads):
    off, left = [], list(range(1, n_heads + 1))
    while left:
        best = min(left, key=lambda h: cost(off + [h]))
        off.append(best)
        left.remove(best)
    return off
""",
        "cost of the heads that stay": """
def prune(cost, n_heads):
    off, left = [], list(range(n_heads))
    while left:
        best = min(left, key=lambda h: cost([k for k in left if k != h]))
        off.append(best)
        left.remove(best)
    return off
""",
        "assumes costs below 1": """
def prune(cost, n_heads):
    gone = []
    for _ in range(n_heads):
        least, who = 1.0, None
        for h in range(n_heads):
            if h in gone:
                continue
            c = cost(gone + [h])
            if c < least:
                least, who = c, h
        gone = gone + [who]
    return gone
""",
        "assumes that costs are positive, takes the absolute value": """
def prune(cost, n_heads):
    off, left = [], list(range(n_heads))
    while left:
        best = min(left, key=lambda h: abs(cost(off + [h])))
        off.append(best)
        left.remove(best)
    return off
""",
        "starts at 0, so a head that costs never goes": """
def prune(cost, n_heads):
    gone = []
    for _ in range(n_heads):
        least, who = 0.0, None
        for h in range(n_heads):
            if h in gone:
                continue
            c = cost(gone + [h])
            if c < least:
                least, who = c, h
        gone = gone + [who]
    return gone
""",
        "does not take the head from the list": """
def prune(cost, n_heads):
    off, left = [], list(range(n_heads))
    for _ in range(n_heads):
        best = min(left, key=lambda h: cost(off + [h]))
        off.append(best)
    return off
""",
        "returns the costs": """
def prune(cost, n_heads):
    order = []
    while len(order) < n_heads:
        options = sorted((float(cost(order + [h])), h) for h in set(range(n_heads)) - set(order))
        order.append(options[0][0])
    return order
""",
        "index among the heads left, not the head": """
def prune(cost, n_heads):
    alive = list(range(n_heads))
    order = []
    for step in range(n_heads):
        prices = [cost(sorted(order + [h])) for h in alive]
        k = prices.index(min(prices))
        alive.pop(k)
        order.append(k)
    return order
""",
        "calls cost with a number": """
def prune(cost, n_heads):
    off, left = [], list(range(n_heads))
    while left:
        best = min(left, key=lambda h: cost(h))
        off.append(best)
        left.remove(best)
    return off
""",
        "returns pairs of head and cost": """
def prune(cost, n_heads):
    off, left = [], list(range(n_heads))
    while left:
        best = min(left, key=lambda h: cost(off + [h]))
        off.append((best, cost(off + [best])))
        left.remove(best)
    return off
""",
        "prices of the first round kept": """
def prune(cost, n_heads):
    alive = list(range(n_heads))
    order = []
    prices = [cost([h]) for h in alive]
    for step in range(n_heads):
        k = prices.index(min(prices))
        order.append(alive.pop(k))
        prices.pop(k)
    return order
""",
        "sorted by the cost of each alone": """
def prune(cost, n_heads):
    return sorted(range(n_heads), key=lambda h: cost([h]))
""",
        "from the other end: which head alone is worth most": """
def prune(cost, n_heads):
    kept = []
    while len(kept) < n_heads:
        off = [h for h in range(n_heads) if h not in kept]
        best = min(off, key=lambda h: cost([k for k in off if k != h]))
        kept.append(best)
    return kept[::-1]
""",
        "cheapest pairs only": """
def prune(cost, n_heads):
    first = min(range(n_heads), key=lambda h: cost([h]))
    rest = [h for h in range(n_heads) if h != first]
    return [first] + sorted(rest, key=lambda h: cost([first, h]))
""",
        "least total over all orders": """
def prune(cost, n_heads):
    from itertools import permutations

    def total(order):
        return sum(cost(list(order[: k + 1])) for k in range(n_heads))

    return list(min(permutations(range(n_heads)), key=total))
""",
    },
    "multihead.cached-step": {
        "returns V before K": """
def step(x, K, V, W_Q, W_K, W_V):
    q = torch.einsum("m,hmk->hk", x, W_Q)
    k = torch.einsum("m,hmk->hk", x, W_K)
    v = torch.einsum("m,hmk->hk", x, W_V)
    K = torch.cat([K, k[:, None]], dim=1)
    V = torch.cat([V, v[:, None]], dim=1)
    scores = torch.einsum("hk,hlk->hl", q, K) / math.sqrt(K.shape[-1])
    return torch.einsum("hl,hlv->hv", scores.softmax(-1), V), V, K
""",
        "no scale": """
def step(x, K, V, W_Q, W_K, W_V):
    q = torch.einsum("m,hmk->hk", x, W_Q)
    k = torch.einsum("m,hmk->hk", x, W_K)
    v = torch.einsum("m,hmk->hk", x, W_V)
    K = torch.cat([K, k[:, None]], dim=1)
    V = torch.cat([V, v[:, None]], dim=1)
    scores = torch.einsum("hk,hlk->hl", q, K)
    return torch.einsum("hl,hlv->hv", scores.softmax(-1), V), K, V
""",
        "scale by d_model": """
def step(x, K, V, W_Q, W_K, W_V):
    q = torch.einsum("m,hmk->hk", x, W_Q)
    k = torch.einsum("m,hmk->hk", x, W_K)
    v = torch.einsum("m,hmk->hk", x, W_V)
    K = torch.cat([K, k[:, None]], dim=1)
    V = torch.cat([V, v[:, None]], dim=1)
    scores = torch.einsum("hk,hlk->hl", q, K) / math.sqrt(len(x))
    return torch.einsum("hl,hlv->hv", scores.softmax(-1), V), K, V
""",
        "divides by d_k, not its root": """
def step(x, K, V, W_Q, W_K, W_V):
    q = torch.einsum("m,hmk->hk", x, W_Q)
    k = torch.einsum("m,hmk->hk", x, W_K)
    v = torch.einsum("m,hmk->hk", x, W_V)
    K = torch.cat([K, k[:, None]], dim=1)
    V = torch.cat([V, v[:, None]], dim=1)
    scores = torch.einsum("hk,hlk->hl", q, K) / K.shape[-1]
    return torch.einsum("hl,hlv->hv", scores.softmax(-1), V), K, V
""",
        "new word set first": """
def step(x, K, V, W_Q, W_K, W_V):
    q = torch.einsum("m,hmk->hk", x, W_Q)
    k = torch.einsum("m,hmk->hk", x, W_K)
    v = torch.einsum("m,hmk->hk", x, W_V)
    K = torch.cat([k[:, None], K], dim=1)
    V = torch.cat([v[:, None], V], dim=1)
    scores = torch.einsum("hk,hlk->hl", q, K) / math.sqrt(K.shape[-1])
    return torch.einsum("hl,hlv->hv", scores.softmax(-1), V), K, V
""",
        "value by W_K": """
def step(x, K, V, W_Q, W_K, W_V):
    q = torch.einsum("m,hmk->hk", x, W_Q)
    k = torch.einsum("m,hmk->hk", x, W_K)
    v = torch.einsum("m,hmk->hk", x, W_K)
    K = torch.cat([K, k[:, None]], dim=1)
    V = torch.cat([V, v[:, None]], dim=1)
    scores = torch.einsum("hk,hlk->hl", q, K) / math.sqrt(K.shape[-1])
    return torch.einsum("hl,hlv->hv", scores.softmax(-1), V), K, V
""",
        "key by W_V": """
def step(x, K, V, W_Q, W_K, W_V):
    q = torch.einsum("m,hmk->hk", x, W_Q)
    k = torch.einsum("m,hmk->hk", x, W_V)
    v = torch.einsum("m,hmk->hk", x, W_V)
    K = torch.cat([K, k[:, None]], dim=1)
    V = torch.cat([V, v[:, None]], dim=1)
    scores = torch.einsum("hk,hlk->hl", q, K) / math.sqrt(K.shape[-1])
    return torch.einsum("hl,hlv->hv", scores.softmax(-1), V), K, V
""",
        "query by W_K": """
def step(x, K, V, W_Q, W_K, W_V):
    q = torch.einsum("m,hmk->hk", x, W_K)
    k = torch.einsum("m,hmk->hk", x, W_K)
    v = torch.einsum("m,hmk->hk", x, W_V)
    K = torch.cat([K, k[:, None]], dim=1)
    V = torch.cat([V, v[:, None]], dim=1)
    scores = torch.einsum("hk,hlk->hl", q, K) / math.sqrt(K.shape[-1])
    return torch.einsum("hl,hlv->hv", scores.softmax(-1), V), K, V
""",
        "softmax over the heads": """
def step(x, K, V, W_Q, W_K, W_V):
    q = torch.einsum("m,hmk->hk", x, W_Q)
    k = torch.einsum("m,hmk->hk", x, W_K)
    v = torch.einsum("m,hmk->hk", x, W_V)
    K = torch.cat([K, k[:, None]], dim=1)
    V = torch.cat([V, v[:, None]], dim=1)
    scores = torch.einsum("hk,hlk->hl", q, K) / math.sqrt(K.shape[-1])
    return torch.einsum("hl,hlv->hv", scores.softmax(0), V), K, V
""",
        "returns the output only": """
def step(x, K, V, W_Q, W_K, W_V):
    q = torch.einsum("m,hmk->hk", x, W_Q)
    k = torch.einsum("m,hmk->hk", x, W_K)
    v = torch.einsum("m,hmk->hk", x, W_V)
    K = torch.cat([K, k[:, None]], dim=1)
    V = torch.cat([V, v[:, None]], dim=1)
    scores = torch.einsum("hk,hlk->hl", q, K) / math.sqrt(K.shape[-1])
    return torch.einsum("hl,hlv->hv", scores.softmax(-1), V)
""",
        "K grows, V does not": """
def step(x, K, V, W_Q, W_K, W_V):
    q = torch.einsum("m,hmk->hk", x, W_Q)
    k = torch.einsum("m,hmk->hk", x, W_K)
    v = torch.einsum("m,hmk->hk", x, W_V)
    K = torch.cat([K, k[:, None]], dim=1)
    scores = torch.einsum("hk,hlk->hl", q, K) / math.sqrt(K.shape[-1])
    return torch.einsum("hl,hlv->hv", scores.softmax(-1), torch.cat([V, v[:, None]], dim=1)), K, V
""",
        "keeps an axis of length 1": """
def step(x, K, V, W_Q, W_K, W_V):
    row = x[None, None]
    q, k, v = (row @ W for W in (W_Q, W_K, W_V))
    K, V = torch.cat([K, k], 1), torch.cat([V, v], 1)
    return F.scaled_dot_product_attention(q, K, V), K, V
""",
        "heads laid side by side": """
def step(x, K, V, W_Q, W_K, W_V):
    q = torch.einsum("m,hmk->hk", x, W_Q)
    k = torch.einsum("m,hmk->hk", x, W_K)
    v = torch.einsum("m,hmk->hk", x, W_V)
    K = torch.cat([K, k[:, None]], dim=1)
    V = torch.cat([V, v[:, None]], dim=1)
    scores = torch.einsum("hk,hlk->hl", q, K) / math.sqrt(K.shape[-1])
    return torch.einsum("hl,hlv->hv", scores.softmax(-1), V).flatten(), K, V
""",
        "no softmax": """
def step(x, K, V, W_Q, W_K, W_V):
    q = torch.einsum("m,hmk->hk", x, W_Q)
    k = torch.einsum("m,hmk->hk", x, W_K)
    v = torch.einsum("m,hmk->hk", x, W_V)
    K = torch.cat([K, k[:, None]], dim=1)
    V = torch.cat([V, v[:, None]], dim=1)
    scores = torch.einsum("hk,hlk->hl", q, K) / math.sqrt(K.shape[-1])
    return torch.einsum("hl,hlv->hv", scores, V), K, V
""",
        "forgets the oldest word": """
def step(x, K, V, W_Q, W_K, W_V):
    q = torch.einsum("m,hmk->hk", x, W_Q)
    k = torch.einsum("m,hmk->hk", x, W_K)
    v = torch.einsum("m,hmk->hk", x, W_V)
    K = torch.cat([K[:, 1:], k[:, None]], dim=1)
    V = torch.cat([V[:, 1:], v[:, None]], dim=1)
    scores = torch.einsum("hk,hlk->hl", q, K) / math.sqrt(K.shape[-1])
    return torch.einsum("hl,hlv->hv", scores.softmax(-1), V), K, V
""",
        "new key and value swapped": """
def step(x, K, V, W_Q, W_K, W_V):
    q, v, k = x @ W_Q, x @ W_K, x @ W_V
    K = torch.cat((K, k.unsqueeze(1)), dim=1)
    V = torch.cat((V, v.unsqueeze(1)), dim=1)
    weights = torch.softmax(K @ q.unsqueeze(-1) / q.shape[-1] ** 0.5, dim=1)
    return (weights * V).sum(dim=1), K, V
""",
        "returns the weights, not what is found": """
def step(x, K, V, W_Q, W_K, W_V):
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    K = torch.cat((K, k.unsqueeze(1)), dim=1)
    V = torch.cat((V, v.unsqueeze(1)), dim=1)
    weights = torch.softmax(K @ q.unsqueeze(-1) / q.shape[-1] ** 0.5, dim=1)
    return weights[..., 0], K, V
""",
        "mean over the heads": """
def step(x, K, V, W_Q, W_K, W_V):
    q = torch.einsum("m,hmk->hk", x, W_Q)
    k = torch.einsum("m,hmk->hk", x, W_K)
    v = torch.einsum("m,hmk->hk", x, W_V)
    K = torch.cat([K, k[:, None]], dim=1)
    V = torch.cat([V, v[:, None]], dim=1)
    scores = torch.einsum("hk,hlk->hl", q, K) / math.sqrt(K.shape[-1])
    return torch.einsum("hl,hlv->v", scores.softmax(-1), V) / len(K), K, V
""",
        "the word cannot attend to itself": """
def step(x, K, V, W_Q, W_K, W_V):
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    weights = (K @ q[:, :, None] / math.sqrt(K.shape[-1])).softmax(1)
    out = (weights * V).sum(1)
    return out, torch.cat([K, k[:, None]], 1), torch.cat([V, v[:, None]], 1)
""",
        "gives back the new key and value only": """
def step(x, K, V, W_Q, W_K, W_V):
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    allK, allV = torch.cat([K, k[:, None]], 1), torch.cat([V, v[:, None]], 1)
    weights = (allK @ q[:, :, None] / math.sqrt(K.shape[-1])).softmax(1)
    return (weights * allV).sum(1), k, v
""",
        "gives back the old K and V": """
def step(x, K, V, W_Q, W_K, W_V):
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    allK, allV = torch.cat([K, k[:, None]], 1), torch.cat([V, v[:, None]], 1)
    weights = (allK @ q[:, :, None] / math.sqrt(K.shape[-1])).softmax(1)
    return (weights * allV).sum(1), K, V
""",
        "overwrites the last key and value in place": """
def step(x, K, V, W_Q, W_K, W_V):
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    K[:, -1], V[:, -1] = k, v
    weights = (K @ q[:, :, None] / math.sqrt(K.shape[-1])).softmax(1)
    return (weights * V).sum(1), K, V
""",
        "gives x a new axis in place": """
def step(x, K, V, W_Q, W_K, W_V):
    x.unsqueeze_(0)
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    K, V = torch.cat([K, k], 1), torch.cat([V, v], 1)
    weights = (q @ K.transpose(1, 2) / math.sqrt(K.shape[-1])).softmax(-1)
    return (weights @ V)[:, 0], K, V
""",
        "kept keys scaled as well": """
def step(x, K, V, W_Q, W_K, W_V):
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    K = torch.cat([K, k[:, None]], 1) / math.sqrt(K.shape[-1])
    V = torch.cat([V, v[:, None]], 1)
    weights = (K @ q[:, :, None]).softmax(1)
    return (weights * V).sum(1), K, V
""",
        "ignores what was kept": """
def step(x, K, V, W_Q, W_K, W_V):
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    return v, k[:, None], v[:, None]
""",
        "weighs the keys instead of the values": """
def step(x, K, V, W_Q, W_K, W_V):
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    K = torch.cat([K, k[:, None]], 1)
    V = torch.cat([V, v[:, None]], 1)
    weights = (K @ q[:, :, None] / math.sqrt(K.shape[-1])).softmax(1)
    return (weights * K).sum(1), K, V
""",
    },
}

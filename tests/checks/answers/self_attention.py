"""Known right and wrong answers to the exercises of `chapters/self_attention.md`."""

RIGHT = {
    "self_attention.projections": {
        "loops": """
def self_attend(X, W_Q, W_K, W_V):
    T, d_k = X.shape[0], W_Q.shape[1]
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    output, weights = [], []
    for i in range(T):
        exps = [math.exp(sum(float(Q[i, c] * K[j, c]) for c in range(d_k)) / math.sqrt(d_k)) for j in range(T)]
        row = torch.tensor([e / sum(exps) for e in exps])
        weights.append(row)
        output.append(sum(w * v for w, v in zip(row, V)))
    return torch.stack(output), torch.stack(weights)
""",
        "einsum": """
def self_attend(words, to_query, to_key, to_value):
    q = torch.einsum("td,dk->tk", words, to_query)
    k = torch.einsum("td,dk->tk", words, to_key)
    a = torch.softmax(torch.einsum("ik,jk->ij", q, k) * q.size(1) ** -0.5, dim=1)
    return torch.einsum("ij,jd,dv->iv", a, words, to_value), a
""",
        "library": """
def self_attend(X, W_Q, W_K, W_V):
    from tfm_lib.attention import attention
    return attention(X @ W_Q, X @ W_K, X @ W_V)
""",
        "one product for all three": """
def self_attend(X, W_Q, W_K, W_V):
    d_k = W_Q.shape[-1]
    Q, K, V = (X @ torch.cat([W_Q, W_K, W_V], dim=1)).split([d_k, d_k, W_V.shape[-1]], dim=1)
    scores = torch.matmul(Q, K.transpose(0, 1)).div(math.sqrt(d_k))
    weights = torch.exp(scores - scores.logsumexp(dim=1, keepdim=True))
    return torch.matmul(weights, V), weights
""",
    },
    "self_attention.looked-at": {
        "xlogy": """
def words_looked_at(weights):
    return torch.exp(-torch.special.xlogy(weights, weights).sum(-1))
""",
        "bits": """
def words_looked_at(w):
    bits = torch.where(w > 0, -w * torch.log2(w), torch.zeros_like(w)).sum(dim=-1)
    return 2**bits
""",
        "product of powers": """
def words_looked_at(weights):
    return 1 / (weights**weights).prod(dim=-1)
""",
        "loops": """
def words_looked_at(weights):
    return [math.exp(-sum(w * math.log(w) for w in row if w > 0)) for row in weights.tolist()]
""",
    },
    "self_attention.bilinear": {
        "einsum": """
def score_matrix(W_Q, W_K):
    return torch.einsum("ac,bc->ab", W_Q, W_K) / math.sqrt(W_K.size(1))
""",
        "scaled query matrix": """
def score_matrix(A, B):
    d_model, d_k = A.shape
    return (A * d_k**-0.5).matmul(B.transpose(0, 1))
""",
        "scores of the unit vectors": """
def score_matrix(W_Q, W_K):
    words = torch.eye(W_Q.shape[0])
    return F.linear(words @ W_Q, words @ W_K) / math.sqrt(W_Q.shape[1])
""",
        "column by column": """
def score_matrix(W_Q, W_K):
    M = torch.zeros(len(W_Q), len(W_K))
    for q, k in zip(W_Q.unbind(1), W_K.unbind(1)):
        M += torch.outer(q, k)
    return M / W_Q.shape[1] ** 0.5
""",
    },
    "self_attention.swap-pair": {
        "library": """
def swap_pair(X, P, order):
    from tfm_lib.attention import attention
    before, _ = attention(X + P, X + P, X + P)
    moved = X[order] + P
    return before[order], attention(moved, moved, moved)[0]
""",
        "permutation matrix": """
def swap_pair(X, P, order):
    shuffle = torch.eye(len(X))[order]
    def f(Z):
        return F.softmax(Z @ Z.T / Z.shape[1] ** 0.5, dim=1) @ Z
    return shuffle @ f(X + P), f(shuffle @ X + P)
""",
        "index_select": """
def swap_pair(X, P, order):
    def f(Z):
        return F.scaled_dot_product_attention(Z[None], Z[None], Z[None])[0]
    return [torch.index_select(f(X + P), 0, order), f(torch.index_select(X, 0, order) + P)]
""",
        "loops": """
def swap_pair(X, P, order):
    def attend(Z):
        rows = []
        for q in Z:
            w = torch.softmax(torch.stack([q @ k for k in Z]) / math.sqrt(len(q)), dim=0)
            rows.append(sum(a * v for a, v in zip(w, Z)))
        return rows

    before = attend([x + p for x, p in zip(X, P)])
    after = attend([X[i] + p for i, p in zip(order.tolist(), P)])
    return torch.stack([before[i] for i in order.tolist()]), torch.stack(after)
""",
    },
    "self_attention.softmax-backward": {
        "two terms": """
def softmax_backward(p, g):
    pg = p * g
    return pg - p * pg.sum(dim=-1, keepdim=True)
""",
        "autograd": """
def softmax_backward(p, g):
    s = p.log().requires_grad_()
    s.softmax(-1).backward(g)
    return s.grad
""",
        "einsum": """
def softmax_backward(p, g):
    mean = torch.einsum("...j,...j->...", p, g)
    return p * (g - mean[..., None])
""",
        "rows": """
def softmax_backward(p, g):
    rows = [a * (b - torch.dot(a, b)) for a, b in zip(p.reshape(-1, p.shape[-1]), g.reshape(-1, g.shape[-1]))]
    return torch.stack(rows).view(p.shape)
""",
    },
}

WRONG = {
    "self_attention.projections": {
        "matrices on the wrong side": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q.T, X @ W_K.T, X @ W_V.T
    weights = (Q @ K.T / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return weights @ V, weights
""",
        "changes its input": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K = X @ W_Q.div_(math.sqrt(W_Q.shape[-1])), X @ W_K
    weights = (Q @ K.T).softmax(dim=-1)
    return weights @ (X @ W_V), weights
""",
        "√d_model instead of √d_k": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    weights = torch.softmax(Q @ K.T / math.sqrt(X.shape[1]), dim=-1)
    return weights @ V, weights
""",
        "softmax over the queries": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    weights = torch.softmax(Q @ K.T / math.sqrt(W_K.shape[1]), dim=0)
    return weights @ V, weights
""",
    },
    "self_attention.looked-at": {
        "entropy without e to its power": """
def words_looked_at(weights):
    return -(weights * weights.log()).sum(dim=-1)
""",
        "changes its input": """
def words_looked_at(weights):
    weights[weights == 0] = 1
    return torch.exp(-(weights * weights.log()).sum(dim=-1))
""",
        "0 · log 0": """
def words_looked_at(weights):
    H = -(weights * torch.log(weights)).sum(dim=-1)
    return torch.exp(H)
""",
        "bits read as nats": """
def words_looked_at(weights):
    bits = torch.where(weights > 0, -weights * torch.log2(weights.clamp_min(1e-30)), 0.0)
    return torch.exp(bits.sum(dim=1))
""",
    },
    "self_attention.bilinear": {
        "inner instead of outer": """
def score_matrix(W_Q, W_K):
    return W_Q.T @ W_K / math.sqrt(W_Q.shape[1])
""",
        "changes its input": """
def score_matrix(W_Q, W_K):
    W_Q /= math.sqrt(W_Q.shape[1])
    return W_Q @ W_K.T
""",
        "queries and keys swapped": """
def score_matrix(W_Q, W_K):
    return W_K @ W_Q.T / math.sqrt(W_Q.shape[1])
""",
        "no scale": """
def score_matrix(W_Q, W_K):
    return torch.matmul(W_Q, W_K.mT)
""",
    },
    "self_attention.swap-pair": {
        "outputs left in the old order": """
def swap_pair(X, P, order):
    from tfm_lib.attention import attention
    return attention(X + P, X + P, X + P)[0], attention(X[order] + P, X[order] + P, X[order] + P)[0]
""",
        "order undone": """
def swap_pair(X, P, order):
    from tfm_lib.attention import attention
    first, moved = torch.empty_like(X), torch.empty_like(X)
    first[order] = attention(X + P, X + P, X + P)[0]
    moved[order] = X
    return first, attention(moved + P, moved + P, moved + P)[0]
""",
        "features reordered": """
def swap_pair(X, P, order):
    from tfm_lib.attention import attention
    Y, Z = X + P, X[:, order] + P
    return attention(Y, Y, Y)[0][:, order], attention(Z, Z, Z)[0]
""",
        "changes its input": """
def swap_pair(X, P, order):
    from tfm_lib.attention import attention
    moved = X[order] + P
    X += P
    return attention(X, X, X)[0][order], attention(moved, moved, moved)[0]
""",
    },
    "self_attention.softmax-backward": {
        "changes its input": """
def softmax_backward(p, g):
    g -= (p * g).sum(dim=-1, keepdim=True)
    return p * g
""",
        "m × m matrix": """
def softmax_backward(p, g):
    J = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
    return (J @ g.unsqueeze(-1)).squeeze(-1)
""",
        "each weight by itself": """
def softmax_backward(p, g):
    return p * (1 - p) * g
""",
        "one sum for all rows": """
def softmax_backward(p, g):
    return p * (g - (p * g).sum())
""",
    },
}

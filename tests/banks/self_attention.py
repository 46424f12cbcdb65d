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
    "self_attention.scale": {
        "root of the product": """
def score_scale(d_k, var_q, var_k):
    return (d_k * var_q * var_k) ** 0.5
""",
        "product of the roots": """
def score_scale(d_k, var_q, var_k):
    sigma_q, sigma_k = torch.tensor(var_q).sqrt(), torch.tensor(var_k).sqrt()
    return math.sqrt(d_k) * sigma_q * sigma_k
""",
        "numpy": """
def score_scale(d_k, var_q, var_k):
    import numpy as np
    return np.sqrt(np.prod([d_k, var_q, var_k]))
""",
        "a sum of d_k variances": """
def score_scale(d_k, var_q, var_k):
    return sum(var_q * var_k for _ in range(d_k)) ** 0.5
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
        "softmax over the queries": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    weights = (Q @ K.T / math.sqrt(Q.shape[-1])).softmax(dim=0)
    return weights @ V, weights
""",
        "matrices on the wrong side": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q.T, X @ W_K.T, X @ W_V.T
    weights = (Q @ K.T / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return weights @ V, weights
""",
        "√T instead of √d_k": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    weights = (Q @ K.T / math.sqrt(len(Q))).softmax(dim=-1)
    return weights @ V, weights
""",
        "no scale": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    weights = (Q @ K.T).softmax(dim=-1)
    return weights @ V, weights
""",
        "scale after the softmax": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    weights = F.softmax(Q @ K.T, dim=-1) / math.sqrt(Q.shape[-1])
    return weights @ V, weights
""",
        "V unprojected": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K = X @ W_Q, X @ W_K
    weights = (Q @ K.T / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return weights @ X, weights
""",
        "Q and K swapped": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    weights = (K @ Q.T / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return weights @ V, weights
""",
        "W_Q is ignored": """
def self_attend(X, W_Q, W_K, W_V):
    K, V = X @ W_K, X @ W_V
    weights = (K @ K.T / math.sqrt(K.shape[-1])).softmax(dim=-1)
    return weights @ V, weights
""",
        "W_K is ignored": """
def self_attend(X, W_Q, W_K, W_V):
    Q, V = X @ W_Q, X @ W_V
    weights = (Q @ Q.T / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return weights @ V, weights
""",
        "swapped": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    weights = (Q @ K.T / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return weights, weights @ V
""",
        "√d_model instead of √d_k": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    weights = (Q @ K.T / math.sqrt(X.shape[-1])).softmax(dim=-1)
    return weights @ V, weights
""",
        "K not transposed": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    weights = (Q @ K / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return weights @ V, weights
""",
        "changes its input": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K = X @ W_Q.div_(math.sqrt(W_Q.shape[-1])), X @ W_K
    weights = (Q @ K.T).softmax(dim=-1)
    return weights @ (X @ W_V), weights
""",
    },
    "self_attention.scale": {
        "variance instead of standard deviation": """
def score_scale(d_k, var_q, var_k):
    return d_k * var_q * var_k
""",
        "only √d_k": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k)
""",
        "variances outside the root": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k) * var_q * var_k
""",
        "variances added": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k * (var_q + var_k))
""",
        "product of the lengths": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k * var_q) * math.sqrt(d_k * var_k)
""",
        "var_k is ignored": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k * var_q)
""",
        "var_q is ignored": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k) * var_k**0.5
""",
        "d_k is ignored": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(64 * var_q * var_k)
""",
        "upside down": """
def score_scale(d_k, var_q, var_k):
    return 1 / math.sqrt(d_k * var_q * var_k)
""",
        "whole number": """
def score_scale(d_k, var_q, var_k):
    return int(math.sqrt(d_k * var_q * var_k))
""",
    },
    "self_attention.looked-at": {
        "entropy without e to its power": """
def words_looked_at(weights):
    return -(weights * weights.log()).sum(dim=-1)
""",
        "sum over the queries": """
def words_looked_at(weights):
    return torch.exp(torch.special.entr(weights).sum(dim=0))
""",
        "bits read as nats": """
def words_looked_at(weights):
    return torch.exp(-(weights * torch.log2(weights)).sum(dim=-1))
""",
        "one over the sum of squares": """
def words_looked_at(weights):
    return 1 / weights.square().sum(dim=-1)
""",
        "0 · log 0": """
def words_looked_at(weights):
    return torch.exp(-(weights * weights.log()).sum(dim=-1))
""",
        "one sum for all rows": """
def words_looked_at(weights):
    return torch.special.entr(weights).sum().exp()
""",
        "nats read as bits": """
def words_looked_at(weights):
    return 2 ** torch.special.entr(weights).sum(dim=-1)
""",
        "words with any weight": """
def words_looked_at(weights):
    return (weights > 0.05).sum(dim=-1)
""",
        "sign": """
def words_looked_at(weights):
    return torch.special.xlogy(weights, weights).sum(dim=-1).exp()
""",
        "logarithm without its weight": """
def words_looked_at(weights):
    return torch.exp(-torch.log(weights).mean(dim=-1))
""",
        "changes its input": """
def words_looked_at(weights):
    weights[weights == 0] = 1
    return torch.exp(-(weights * weights.log()).sum(dim=-1))
""",
    },
    "self_attention.bilinear": {
        "inner instead of outer": """
def score_matrix(W_Q, W_K):
    return W_Q.T @ W_K / math.sqrt(W_Q.shape[1])
""",
        "queries and keys swapped": """
def score_matrix(W_Q, W_K):
    return W_K @ W_Q.T / math.sqrt(W_Q.shape[1])
""",
        "no scale": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_K.T
""",
        "√d_model instead of √d_k": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_K.T / math.sqrt(W_Q.shape[0])
""",
        "d_k instead of √d_k": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_K.T / W_Q.shape[1]
""",
        "not transposed": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_K / math.sqrt(W_Q.shape[1])
""",
        "W_K is ignored": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_Q.T / math.sqrt(W_Q.shape[1])
""",
        "W_Q is ignored": """
def score_matrix(W_Q, W_K):
    return W_K @ W_K.T / math.sqrt(W_K.shape[1])
""",
        "multiplied by √d_k": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_K.T * W_Q.shape[1] ** 0.5
""",
        "entry by entry": """
def score_matrix(W_Q, W_K):
    return W_Q * W_K / math.sqrt(W_Q.shape[1])
""",
        "softmax inside": """
def score_matrix(W_Q, W_K):
    return (W_Q @ W_K.T / math.sqrt(W_Q.shape[1])).softmax(dim=-1)
""",
        "changes its input": """
def score_matrix(W_Q, W_K):
    W_Q /= math.sqrt(W_Q.shape[1])
    return W_Q @ W_K.T
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
        "places travel with the words": """
def swap_pair(X, P, order):
    from tfm_lib.attention import attention
    Z = X + P
    return attention(Z, Z, Z)[0][order], attention(Z[order], Z[order], Z[order])[0]
""",
        "reordered twice": """
def swap_pair(X, P, order):
    from tfm_lib.attention import attention
    def f(Z):
        return attention(Z, Z, Z)[0]
    return f(X + P)[order], f(X[order] + P)[order]
""",
        "P is ignored": """
def swap_pair(X, P, order):
    from tfm_lib.attention import attention
    return attention(X, X, X)[0][order], attention(X[order], X[order], X[order])[0]
""",
        "order is ignored": """
def swap_pair(X, P, order):
    from tfm_lib.attention import attention
    Z = X + P
    return attention(Z, Z, Z)[0], attention(Z, Z, Z)[0]
""",
        "places added to the outputs": """
def swap_pair(X, P, order):
    from tfm_lib.attention import attention
    Z = X[order]
    return (attention(X, X, X)[0] + P)[order], attention(Z, Z, Z)[0] + P
""",
        "first reordered before": """
def swap_pair(X, P, order):
    from tfm_lib.attention import attention
    Z = X[order] + P
    return attention(Z, Z, Z)[0], attention(Z, Z, Z)[0]
""",
        "weights returned": """
def swap_pair(X, P, order):
    from tfm_lib.attention import attention
    stayed, moved = X + P, X[order] + P
    return attention(stayed, stayed, stayed)[1][order], attention(moved, moved, moved)[1]
""",
        "pair turned round": """
def swap_pair(X, P, order):
    from tfm_lib.attention import attention
    stayed, moved = X + P, X[order] + P
    return attention(moved, moved, moved)[0], attention(stayed, stayed, stayed)[0][order]
""",
        "no scale": """
def swap_pair(X, P, order):
    def f(Z):
        return (Z @ Z.T).softmax(dim=-1) @ Z
    return f(X + P)[order], f(X[order] + P)
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
        "each weight by itself": """
def softmax_backward(p, g):
    return p * (1 - p) * g
""",
        "without the mean": """
def softmax_backward(p, g):
    return p * g
""",
        "plain mean": """
def softmax_backward(p, g):
    return p * (g - g.mean(dim=-1, keepdim=True))
""",
        "one sum for all rows": """
def softmax_backward(p, g):
    return p * (g - torch.sum(p * g))
""",
        "sign turned": """
def softmax_backward(p, g):
    return p * ((p * g).sum(dim=-1, keepdim=True) - g)
""",
        "axis not kept": """
def softmax_backward(p, g):
    return p * (g - (p * g).sum(dim=-1))
""",
        "p not in front": """
def softmax_backward(p, g):
    return g - (p * g).sum(dim=-1, keepdim=True)
""",
        "gradient of the logarithm": """
def softmax_backward(p, g):
    return g - p * g.sum(dim=-1, keepdim=True)
""",
        "gradient of the cross entropy": """
def softmax_backward(p, g):
    return p - g
""",
        "g is ignored": """
def softmax_backward(p, g):
    return p * (1 - p)
""",
        "axis counted from the front": """
def softmax_backward(p, g):
    return p * (g - (p * g).sum(dim=1, keepdim=True))
""",
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
    },
}

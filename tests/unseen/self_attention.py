"""Unseen answers to the exercises of chapter `self_attention`, written from the statements alone."""

RIGHT = {
    "self_attention.projections": {
        "three products": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    weights = torch.softmax(Q @ K.T / math.sqrt(Q.shape[-1]), dim=-1)
    return weights @ V, weights
""",
        "the chapter's attention": """
from tfm_lib.attention import attention
def self_attend(X, W_Q, W_K, W_V):
    return attention(X @ W_Q, X @ W_K, X @ W_V)
""",
        "einsum": """
def self_attend(X, W_Q, W_K, W_V):
    q = torch.einsum('td,dk->tk', X, W_Q)
    k = torch.einsum('sd,dk->sk', X, W_K)
    v = torch.einsum('sd,dv->sv', X, W_V)
    a = (torch.einsum('tk,sk->ts', q, k) * W_Q.shape[1] ** -0.5).softmax(-1)
    return torch.einsum('ts,sv->tv', a, v), a
""",
        "loop over the words": """
def self_attend(X, W_Q, W_K, W_V):
    rows, outputs = [], []
    keys, values = X @ W_K, X @ W_V
    for x in X:
        s = keys @ (x @ W_Q) / math.sqrt(W_K.shape[1])
        w = F.softmax(s, dim=0)
        rows.append(w)
        outputs.append(w @ values)
    return torch.stack(outputs), torch.stack(rows)
""",
        "scores through one matrix": """
def self_attend(X, W_Q, W_K, W_V):
    M = W_Q @ W_K.T / math.sqrt(W_K.size(1))
    w = (X @ M @ X.T).softmax(dim=1)
    return (w @ X) @ W_V, w
""",
        "the chapter's score": """
def self_attend(X, W_Q, W_K, W_V):
    A = scaled_dot_score(X.matmul(W_Q), X.matmul(W_K)).softmax(dim=-1)
    out = A.matmul(X.matmul(W_V))
    return (out, A)
""",
        "one product, then split": """
def self_attend(X, W_Q, W_K, W_V):
    sizes = [W_Q.shape[1], W_K.shape[1], W_V.shape[1]]
    q, k, v = (X @ torch.cat([W_Q, W_K, W_V], dim=1)).split(sizes, dim=1)
    s = q @ k.mT / sizes[0] ** 0.5
    e = torch.exp(s - s.max(dim=1, keepdim=True).values)
    w = e / e.sum(dim=1, keepdim=True)
    return w @ v, w
""",
    },
    "self_attention.scale": {
        "square root of the product": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k * var_q * var_k)
""",
        "product of standard deviations": """
def score_scale(d_k, var_q, var_k):
    sd_q = var_q ** 0.5
    sd_k = var_k ** 0.5
    return d_k ** 0.5 * sd_q * sd_k
""",
        "variance added up term by term": """
def score_scale(d_k, var_q, var_k):
    variance = sum(var_q * var_k for _ in range(d_k))
    return math.sqrt(variance)
""",
        "power": """
def score_scale(d_k, var_q, var_k):
    return pow(d_k * var_q * var_k, 1 / 2)
""",
        "torch": """
def score_scale(d_k, var_q, var_k):
    return torch.tensor(float(d_k * var_q * var_k), dtype=torch.float64).sqrt().item()
""",
        "helper for the deviation": """
def deviation(variance):
    return math.sqrt(variance)

def score_scale(d_k, var_q, var_k):
    variance_of_one_product = var_q * var_k
    return deviation(variance_of_one_product) * math.sqrt(d_k)
""",
    },
    "self_attention.looked-at": {
        "torch.special.entr": """
def words_looked_at(weights):
    return torch.special.entr(weights).sum(dim=-1).exp()
""",
        "xlogy": """
def words_looked_at(weights):
    H = -torch.xlogy(weights, weights).sum(-1)
    return torch.exp(H)
""",
        "where": """
def words_looked_at(weights):
    safe = torch.where(weights > 0, weights, torch.ones_like(weights))
    return torch.exp(-(weights * safe.log()).sum(dim=1))
""",
        "the chapter's entropy": """
def words_looked_at(weights):
    return entropy(weights).exp()
""",
        "row by row, zeros left out": """
def words_looked_at(weights):
    result = []
    for row in weights:
        w = row[row > 0]
        result.append(torch.exp(-(w * torch.log(w)).sum()))
    return torch.stack(result)
""",
        "product of powers": """
def words_looked_at(weights):
    return (weights ** -weights).prod(dim=-1)
""",
        "base 2 throughout": """
def words_looked_at(weights):
    bits = (weights * weights.log2()).nan_to_num(nan=0.0).sum(dim=-1)
    return 2.0 ** -bits
""",
    },
    "self_attention.bilinear": {
        "product over the root": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_K.T / math.sqrt(W_Q.shape[1])
""",
        "einsum": """
def score_matrix(W_Q, W_K):
    return torch.einsum('ik,jk->ij', W_Q, W_K) * W_K.size(-1) ** -0.5
""",
        "scale shared by both": """
def score_matrix(W_Q, W_K):
    root = W_Q.shape[-1] ** 0.25
    return (W_Q / root) @ (W_K / root).transpose(0, 1)
""",
        "loop over the columns": """
def score_matrix(W_Q, W_K):
    d_model, d_k = W_Q.shape
    M = torch.zeros(d_model, W_K.shape[0], dtype=W_Q.dtype)
    for c in range(d_k):
        M = M + torch.outer(W_Q[:, c], W_K[:, c])
    return M / math.sqrt(d_k)
""",
        "scores of the unit vectors": """
def score_matrix(W_Q, W_K):
    E = torch.eye(W_Q.shape[0], dtype=W_Q.dtype)
    return scaled_dot_score(E @ W_Q, E @ W_K)
""",
        "F.linear": """
def score_matrix(W_Q, W_K):
    d_k = W_K.shape[1]
    return F.linear(W_Q, W_K).div(d_k ** 0.5)
""",
    },
    "self_attention.swap-pair": {
        "straight": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z = X + P
    first = attention(Z, Z, Z)[0][order]
    Z = X[order] + P
    second = attention(Z, Z, Z)[0]
    return first, second
""",
        "helper": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    def outputs(words):
        Z = words + P
        out, _ = attention(Z, Z, Z)
        return out
    return outputs(X)[order], outputs(X[order])
""",
        "attention written out": """
def bare(Z):
    s = Z @ Z.T / math.sqrt(Z.shape[1])
    return s.softmax(dim=-1) @ Z

def swap_pair(X, P, order):
    return bare(X + P)[order], bare(X[order] + P)
""",
        "index_select and a lambda": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    rows = torch.as_tensor(order)
    attend = lambda Z: attention(Z, Z, Z)[0]
    return attend(X + P).index_select(0, rows), attend(X.index_select(0, rows) + P)
""",
        "permutation matrix": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    S = torch.eye(len(X), dtype=X.dtype)[order]
    A, B = X + P, S @ X + P
    return S @ attention(A, A, A)[0], attention(B, B, B)[0]
""",
        "loops over the places": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    before = torch.stack([x + p for x, p in zip(X, P)])
    after = torch.stack([X[int(o)] + P[i] for i, o in enumerate(order)])
    out = attention(before, before, before)[0]
    return torch.stack([out[int(o)] for o in order]), attention(after, after, after)[0]
""",
        "both sentences as a batch": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z = torch.stack([X, X[order]]) + P
    out = attention(Z, Z, Z)[0]
    return out[0][order], out[1]
""",
    },
    "self_attention.softmax-backward": {
        "weighted mean taken off": """
def softmax_backward(p, g):
    return p * (g - (p * g).sum(dim=-1, keepdim=True))
""",
        "two terms": """
def softmax_backward(p, g):
    pg = p * g
    return pg - p * pg.sum(-1, keepdim=True)
""",
        "einsum": """
def softmax_backward(p, g):
    mean = torch.einsum('...m,...m->...', p, g)
    return p * (g - mean[..., None])
""",
        "matrix product of rows and columns": """
def softmax_backward(p, g):
    inner = (p.unsqueeze(-2) @ g.unsqueeze(-1)).squeeze(-1)
    return torch.mul(p, torch.sub(g, inner))
""",
        "autograd through log p": """
def softmax_backward(p, g):
    with torch.enable_grad():
        s = p.detach().log().requires_grad_()
        (grad,) = torch.autograd.grad(s.softmax(dim=-1), s, g)
    return grad
""",
        "row by row": """
def softmax_backward(p, g):
    m = p.shape[-1]
    rows = []
    for a, b in zip(p.reshape(-1, m), g.reshape(-1, m)):
        rows.append(a * (b - torch.dot(a, b)))
    return torch.stack(rows).reshape(p.shape)
""",
        "float64 and back": """
def softmax_backward(p, g):
    a, b = p.double(), g.double()
    expected = torch.linalg.vecdot(a, b).unsqueeze(-1)
    return ((b - expected) * a).to(p.dtype)
""",
    },
}

WRONG = {
    "self_attention.projections": {
        "forgets the scale": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.softmax(Q @ K.T, dim=-1)
    return w @ V, w
""",
        "scales by the root of d_model": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.softmax(Q @ K.T / math.sqrt(X.shape[-1]), dim=-1)
    return w @ V, w
""",
        "scales by d_k": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.softmax(Q @ K.T / Q.shape[-1], dim=-1)
    return w @ V, w
""",
        "scales by the root of d_v": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.softmax(Q @ K.T / math.sqrt(V.shape[-1]), dim=-1)
    return w @ V, w
""",
        "scales by the root of the sentence's length": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.softmax(Q @ K.T / math.sqrt(X.shape[0]), dim=-1)
    return w @ V, w
""",
        "scale hard-coded to 8": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.softmax(Q @ K.T / 8, dim=-1)
    return w @ V, w
""",
        "softmax over the queries": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.softmax(Q @ K.T / math.sqrt(Q.shape[-1]), dim=0)
    return w @ V, w
""",
        "softmax over the whole table": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.softmax((Q @ K.T / math.sqrt(Q.shape[-1])).flatten(), dim=0).reshape(len(X), len(X))
    return w @ V, w
""",
        "queries and keys exchanged in the scores": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.softmax(K @ Q.T / math.sqrt(Q.shape[-1]), dim=-1)
    return w @ V, w
""",
        "pair in the wrong order": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.softmax(Q @ K.T / math.sqrt(Q.shape[-1]), dim=-1)
    return w, w @ V
""",
        "only the output": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.softmax(Q @ K.T / math.sqrt(Q.shape[-1]), dim=-1)
    return w @ V
""",
        "hands back the scores as weights": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = Q @ K.T / math.sqrt(Q.shape[-1])
    return w.softmax(-1) @ V, w
""",
        "ignores W_V, averages the words": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X
    w = torch.softmax(Q @ K.T / math.sqrt(Q.shape[-1]), dim=-1)
    return w @ V, w
""",
        "ignores W_K, keys are the queries": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_Q, X @ W_V
    w = torch.softmax(Q @ K.T / math.sqrt(Q.shape[-1]), dim=-1)
    return w @ V, w
""",
        "ignores W_Q, queries are the keys": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_K, X @ W_K, X @ W_V
    w = torch.softmax(Q @ K.T / math.sqrt(Q.shape[-1]), dim=-1)
    return w @ V, w
""",
        "matrices transposed, as nn.Linear keeps them": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q.T, X @ W_K.T, X @ W_V.T
    w = torch.softmax(Q @ K.T / math.sqrt(Q.shape[-1]), dim=-1)
    return w @ V, w
""",
        "weights transposed before the mean": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.softmax(Q @ K.T / math.sqrt(Q.shape[-1]), dim=-1)
    return w.T @ V, w
""",
        "a causal mask that nobody asked for": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.softmax((Q @ K.T / math.sqrt(Q.shape[-1])).masked_fill(torch.ones(len(X), len(X)).triu(1).bool(), -torch.inf), dim=-1)
    return w @ V, w
""",
        "adds each word's own value, a residual": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.softmax(Q @ K.T / math.sqrt(Q.shape[-1]), dim=-1)
    return V + w @ V, w
""",
        "sigmoid instead of softmax": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.sigmoid(Q @ K.T / math.sqrt(Q.shape[-1]))
    return w @ V, w
""",
        "exponentials overflow": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.exp(Q @ K.T / math.sqrt(Q.shape[-1]))
    w = w / w.sum(-1, keepdim=True)
    return w @ V, w
""",
        "scales after the softmax": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.softmax(Q @ K.T, dim=-1) / math.sqrt(Q.shape[-1])
    return w @ V, w
""",
        "no word looks at itself": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.softmax((Q @ K.T / math.sqrt(Q.shape[-1])).masked_fill(torch.eye(len(X)).bool(), -1e9), dim=-1)
    return w @ V, w
""",
        "scales W_Q in place": """
def self_attend(X, W_Q, W_K, W_V):
    W_Q /= math.sqrt(W_Q.shape[1])
    w = torch.softmax(X @ W_Q @ (X @ W_K).T, dim=-1)
    return w @ (X @ W_V), w
""",
        "cuts the gradient with detach": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.softmax(Q @ K.T / math.sqrt(Q.shape[-1]), dim=-1).detach()
    return w @ V, w
""",
        "best word only": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = F.one_hot((Q @ K.T).argmax(-1), len(X)).to(X.dtype)
    return w @ V, w
""",
        "multiplies the values with the keys' projection": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_K
    w = torch.softmax(Q @ K.T / math.sqrt(Q.shape[-1]), dim=-1)
    return w @ V, w
""",
        "shape with a batch axis of 1": """
def self_attend(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    w = torch.softmax(Q @ K.T / math.sqrt(Q.shape[-1]), dim=-1)
    return (w @ V)[None], w[None]
""",
    },
    "self_attention.scale": {
        "root of d_k, ignores both variances": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k)
""",
        "variance instead of the standard deviation": """
def score_scale(d_k, var_q, var_k):
    return d_k * var_q * var_k
""",
        "root of d_k only, variances not under the root": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k) * var_q * var_k
""",
        "variances under the root, d_k not": """
def score_scale(d_k, var_q, var_k):
    return d_k * math.sqrt(var_q * var_k)
""",
        "variances added": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k * (var_q + var_k))
""",
        "ignores var_q": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k * var_k)
""",
        "ignores var_k": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k * var_q)
""",
        "ignores d_k": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(var_q * var_k)
""",
        "the factor instead of the divisor": """
def score_scale(d_k, var_q, var_k):
    return 1 / math.sqrt(d_k * var_q * var_k)
""",
        "divides by the variances": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k / (var_q * var_k))
""",
        "rounded down to a whole number": """
def score_scale(d_k, var_q, var_k):
    return math.isqrt(int(d_k * var_q * var_k))
""",
        "d_k - 1 as for a sample": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt((d_k - 1) * var_q * var_k)
""",
        "takes the variances for standard deviations": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k * var_q ** 2 * var_k ** 2)
""",
        "the larger variance only": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k * max(var_q, var_k))
""",
        "mean of the variances": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k * (var_q + var_k) / 2)
""",
        "sum of the standard deviations": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k) * (math.sqrt(var_q) + math.sqrt(var_k))
""",
        "hard-coded d_k = 64": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(64 * var_q * var_k)
""",
        "estimated from a small sample": """
def score_scale(d_k, var_q, var_k):
    q = torch.randn(200, d_k) * var_q ** 0.5
    k = torch.randn(200, d_k) * var_k ** 0.5
    return (q * k).sum(-1).std().item()
""",
        "root twice": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(math.sqrt(d_k * var_q * var_k))
""",
        "adds d_k to the product": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k + var_q * var_k)
""",
        "whole-number product of the variances": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k * int(var_q * var_k))
""",
        "d_k twice, for both vectors": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k * var_q * d_k * var_k)
""",
        "right only for variances of 1 or more": """
def score_scale(d_k, var_q, var_k):
    return math.sqrt(d_k * max(var_q, 1) * max(var_k, 1))
""",
    },
    "self_attention.looked-at": {
        "0 ln 0 is nan": """
def words_looked_at(weights):
    return torch.exp(-(weights * weights.log()).sum(-1))
""",
        "the entropy itself": """
def words_looked_at(weights):
    return torch.special.entr(weights).sum(-1)
""",
        "sign lost": """
def words_looked_at(weights):
    return torch.exp(torch.xlogy(weights, weights).sum(-1))
""",
        "along the columns": """
def words_looked_at(weights):
    return torch.special.entr(weights).sum(0).exp()
""",
        "entropy in bits, but e as the base": """
def words_looked_at(weights):
    return torch.exp(-(weights * weights.clamp(min=1e-12).log2()).sum(-1))
""",
        "entropy in nats, but 2 as the base": """
def words_looked_at(weights):
    return 2 ** torch.special.entr(weights).sum(-1)
""",
        "mean instead of the sum": """
def words_looked_at(weights):
    return torch.special.entr(weights).mean(-1).exp()
""",
        "one number for all rows": """
def words_looked_at(weights):
    return torch.special.entr(weights).sum().exp()
""",
        "mean over the rows": """
def words_looked_at(weights):
    return torch.special.entr(weights).sum(-1).exp().mean()
""",
        "mean entropy of the rows": """
def words_looked_at(weights):
    return torch.special.entr(weights).sum(-1).mean().exp()
""",
        "counts the words with any weight": """
def words_looked_at(weights):
    return (weights > 0).sum(-1).to(weights.dtype)
""",
        "inverse of the sum of squares": """
def words_looked_at(weights):
    return 1 / weights.square().sum(-1)
""",
        "inverse of the largest weight": """
def words_looked_at(weights):
    return 1 / weights.amax(-1)
""",
        "clamps at 0.01": """
def words_looked_at(weights):
    w = weights.clamp(min=0.01)
    return torch.exp(-(w * w.log()).sum(-1))
""",
        "adds 0.001 inside the logarithm": """
def words_looked_at(weights):
    return torch.exp(-(weights * (weights + 1e-3).log()).sum(-1))
""",
        "nan replaced after the sum, rows with a zero count 1": """
def words_looked_at(weights):
    return torch.exp(-(weights * weights.log()).sum(-1).nan_to_num(0.0))
""",
        "zeros left out, rows run together": """
def words_looked_at(weights):
    w = weights[weights > 0]
    return torch.exp(-(w * w.log()).sum())
""",
        "the axis of the keys stays, (n, 1)": """
def words_looked_at(weights):
    return torch.special.entr(weights).sum(-1, keepdim=True).exp()
""",
        "exp before the sum": """
def words_looked_at(weights):
    return torch.special.entr(weights).exp().sum(-1)
""",
        "replaces zeros in the caller's weights": """
def words_looked_at(weights):
    weights[weights == 0] = 1e-12
    return torch.exp(-(weights * weights.log()).sum(-1))
""",
        "softmax on top of the weights": """
def words_looked_at(weights):
    return torch.special.entr(weights.softmax(-1)).sum(-1).exp()
""",
        "forgets the weight before the logarithm": """
def words_looked_at(weights):
    return torch.exp(-weights.clamp(min=1e-9).log().mean(-1))
""",
        "divides by the largest entropy ln m": """
def words_looked_at(weights):
    H = torch.special.entr(weights).sum(-1)
    return torch.exp(H / math.log(weights.shape[-1]))
""",
        "rounded to whole words": """
def words_looked_at(weights):
    return torch.special.entr(weights).sum(-1).exp().round()
""",
        "cross entropy against equal shares, always m": """
def words_looked_at(weights):
    m = weights.shape[-1]
    return torch.exp(-(weights * math.log(1 / m)).sum(-1))
""",
        "only the first row": """
def words_looked_at(weights):
    return torch.special.entr(weights[0]).sum().exp()
""",
    },
    "self_attention.bilinear": {
        "forgets the scale": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_K.T
""",
        "scales by the root of d_model": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_K.T / math.sqrt(W_Q.shape[0])
""",
        "scales by d_k": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_K.T / W_Q.shape[1]
""",
        "multiplies by the root of d_k": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_K.T * math.sqrt(W_Q.shape[1])
""",
        "transposed: keys first": """
def score_matrix(W_Q, W_K):
    return W_K @ W_Q.T / math.sqrt(W_Q.shape[1])
""",
        "inner axis is d_model": """
def score_matrix(W_Q, W_K):
    return W_Q.T @ W_K / math.sqrt(W_Q.shape[1])
""",
        "both transposes, as for nn.Linear weights": """
def score_matrix(W_Q, W_K):
    return W_Q.T @ W_K / math.sqrt(W_Q.shape[0])
""",
        "no transpose, square only": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_K / math.sqrt(W_Q.shape[1])
""",
        "elementwise product": """
def score_matrix(W_Q, W_K):
    return W_Q * W_K / math.sqrt(W_Q.shape[1])
""",
        "ignores W_K": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_Q.T / math.sqrt(W_Q.shape[1])
""",
        "ignores W_Q": """
def score_matrix(W_Q, W_K):
    return W_K @ W_K.T / math.sqrt(W_K.shape[1])
""",
        "scales each matrix by the full root": """
def score_matrix(W_Q, W_K):
    s = math.sqrt(W_Q.shape[1])
    return (W_Q / s) @ (W_K / s).T
""",
        "scale hard-coded to 8": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_K.T / 8
""",
        "scales W_Q in place": """
def score_matrix(W_Q, W_K):
    W_Q /= math.sqrt(W_Q.shape[1])
    return W_Q @ W_K.T
""",
        "transposes W_K in place": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_K.t_() / math.sqrt(W_Q.shape[1])
""",
        "symmetrised": """
def score_matrix(W_Q, W_K):
    M = W_Q @ W_K.T / math.sqrt(W_Q.shape[1])
    return (M + M.T) / 2
""",
        "softmax inside": """
def score_matrix(W_Q, W_K):
    return (W_Q @ W_K.T / math.sqrt(W_Q.shape[1])).softmax(-1)
""",
        "matrix and scale as a pair": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_K.T, math.sqrt(W_Q.shape[1])
""",
        "root of the number of entries": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_K.T / math.sqrt(W_Q.numel())
""",
        "scale rounded to a whole number": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_K.T / math.isqrt(W_Q.shape[1])
""",
        "fourth root of d_k": """
def score_matrix(W_Q, W_K):
    return W_Q @ W_K.T / W_Q.shape[1] ** 0.25
""",
        "difference in place of the product": """
def score_matrix(W_Q, W_K):
    return (W_Q - W_K) @ (W_Q - W_K).T / math.sqrt(W_Q.shape[1])
""",
        "the sum over d_k leaves out the last column": """
def score_matrix(W_Q, W_K):
    M = torch.zeros(len(W_Q), len(W_K), dtype=W_Q.dtype)
    for c in range(W_Q.shape[1] - 1):
        M = M + torch.outer(W_Q[:, c], W_K[:, c])
    return M / math.sqrt(W_Q.shape[1])
""",
        "divides by the norm of M instead of the scale": """
def score_matrix(W_Q, W_K):
    M = W_Q @ W_K.T
    return M / M.norm()
""",
    },
    "self_attention.swap-pair": {
        "pair in the wrong order": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z, Y = X + P, X[order] + P
    return attention(Y, Y, Y)[0], attention(Z, Z, Z)[0][order]
""",
        "the places move with the words": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z = X + P
    Y = Z[order]
    return attention(Z, Z, Z)[0][order], attention(Y, Y, Y)[0]
""",
        "first outputs not reordered": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z, Y = X + P, X[order] + P
    return attention(Z, Z, Z)[0], attention(Y, Y, Y)[0]
""",
        "second outputs reordered again": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z, Y = X + P, X[order] + P
    return attention(Z, Z, Z)[0][order], attention(Y, Y, Y)[0][order]
""",
        "second outputs put back instead of the first reordered": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z, Y = X + P, X[order] + P
    back = torch.argsort(torch.as_tensor(order))
    return attention(Z, Z, Z)[0], attention(Y, Y, Y)[0][back]
""",
        "inverse order": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    back = torch.argsort(torch.as_tensor(order))
    Z, Y = X + P, X[back] + P
    return attention(Z, Z, Z)[0][back], attention(Y, Y, Y)[0]
""",
        "inverse order only in the words": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    back = torch.argsort(torch.as_tensor(order))
    Z, Y = X + P, X[back] + P
    return attention(Z, Z, Z)[0][order], attention(Y, Y, Y)[0]
""",
        "writes output i to row order[i]": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z, Y = X + P, X[order] + P
    out = attention(Z, Z, Z)[0]
    first = torch.empty_like(out)
    first[order] = out
    return first, attention(Y, Y, Y)[0]
""",
        "ignores P": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Y = X[order]
    return attention(X, X, X)[0][order], attention(Y, Y, Y)[0]
""",
        "no places in the second sentence": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z, Y = X + P, X[order]
    return attention(Z, Z, Z)[0][order], attention(Y, Y, Y)[0]
""",
        "no places in the first sentence": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z, Y = X, X[order] + P
    return attention(Z, Z, Z)[0][order], attention(Y, Y, Y)[0]
""",
        "ignores order, always reverses": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z, Y = X + P, X.flip(0) + P
    return attention(Z, Z, Z)[0].flip(0), attention(Y, Y, Y)[0]
""",
        "ignores X, places only": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Y = P[order]
    return attention(P, P, P)[0][order], attention(Y, Y, Y)[0]
""",
        "the places move, the words stay": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z, Y = X + P, X + P[order]
    return attention(Z, Z, Z)[0][order], attention(Y, Y, Y)[0]
""",
        "returns attention's pairs": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z, Y = X + P, X[order] + P
    a, b = attention(Z, Z, Z), attention(Y, Y, Y)
    return (a[0][order], a[1][order]), b
""",
        "returns the weights": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z, Y = X + P, X[order] + P
    return attention(Z, Z, Z)[1][order], attention(Y, Y, Y)[1]
""",
        "adds P to X in place": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    words = X[order].clone()
    X += P
    Y = words + P
    return attention(X, X, X)[0][order], attention(Y, Y, Y)[0]
""",
        "adds P in place, so it is added twice": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    X += P
    first = attention(X, X, X)[0][order]
    Y = X[order] + P
    return first, attention(Y, Y, Y)[0]
""",
        "values without places": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z, Y = X + P, X[order] + P
    return attention(Z, Z, X)[0][order], attention(Y, Y, X[order])[0]
""",
        "only the queries are reordered": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z, Y = X + P, X[order] + P
    return attention(Z, Z, Z)[0][order], attention(Y, Z, Z)[0]
""",
        "forgets the scale of attention": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    def bare(Z):
        return (Z @ Z.T).softmax(-1) @ Z
    return bare(X + P)[order], bare(X[order] + P)
""",
        "multiplies by the places": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z, Y = X * P, X[order] * P
    return attention(Z, Z, Z)[0][order], attention(Y, Y, Y)[0]
""",
        "answers whether the two are equal": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z, Y = X + P, X[order] + P
    return torch.allclose(attention(Z, Z, Z)[0][order], attention(Y, Y, Y)[0], atol=1e-5)
""",
        "one tensor with both stacked": """
from tfm_lib.attention import attention
def swap_pair(X, P, order):
    Z, Y = X + P, X[order] + P
    return torch.stack([attention(Z, Z, Z)[0][order], attention(Y, Y, Y)[0]])
""",
    },
    "self_attention.softmax-backward": {
        "only the diagonal, p (1 - p) g": """
def softmax_backward(p, g):
    return p * (1 - p) * g
""",
        "plain product": """
def softmax_backward(p, g):
    return p * g
""",
        "g minus its weighted mean, without p in front": """
def softmax_backward(p, g):
    return g - (p * g).sum(-1, keepdim=True)
""",
        "plain mean of g instead of the weighted one": """
def softmax_backward(p, g):
    return p * (g - g.mean(-1, keepdim=True))
""",
        "sum of g without the weights": """
def softmax_backward(p, g):
    return p * (g - g.sum(-1, keepdim=True))
""",
        "weighted mean divided by m": """
def softmax_backward(p, g):
    return p * (g - (p * g).mean(-1, keepdim=True))
""",
        "sign wrong": """
def softmax_backward(p, g):
    return p * ((p * g).sum(-1, keepdim=True) - g)
""",
        "plus instead of minus": """
def softmax_backward(p, g):
    return p * (g + (p * g).sum(-1, keepdim=True))
""",
        "sums over everything, batches mixed": """
def softmax_backward(p, g):
    return p * (g - (p * g).sum())
""",
        "sums over the first axis": """
def softmax_backward(p, g):
    return p * (g - (p * g).sum(0, keepdim=True))
""",
        "no keepdim, only for a single vector": """
def softmax_backward(p, g):
    return p * (g - (p * g).sum(-1))
""",
        "dot product, only for a single vector": """
def softmax_backward(p, g):
    return p * (g - p @ g)
""",
        "builds the Jacobian with diag and outer": """
def softmax_backward(p, g):
    J = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
    return (J @ g.unsqueeze(-1)).squeeze(-1)
""",
        "the chapter's softmax_jacobian": """
def softmax_backward(p, g):
    return torch.einsum('...ij,...j->...i', softmax_jacobian(p), g)
""",
        "builds the matrix p pᵀ": """
def softmax_backward(p, g):
    outer = p.unsqueeze(-1) * p.unsqueeze(-2)
    return p * g - (outer @ g.unsqueeze(-1)).squeeze(-1)
""",
        "log softmax's gradient": """
def softmax_backward(p, g):
    return g - p * g.sum(-1, keepdim=True)
""",
        "cross-entropy's gradient, p - g": """
def softmax_backward(p, g):
    return p - g
""",
        "ignores g, takes ones": """
def softmax_backward(p, g):
    return p * (1 - p.sum(-1, keepdim=True))
""",
        "ignores p, equal shares": """
def softmax_backward(p, g):
    m = g.shape[-1]
    return (g - g.mean(-1, keepdim=True)) / m
""",
        "changes g in place": """
def softmax_backward(p, g):
    g -= (p * g).sum(-1, keepdim=True)
    return p * g
""",
        "changes p in place": """
def softmax_backward(p, g):
    inner = (p * g).sum(-1, keepdim=True)
    p *= g - inner
    return p
""",
        "p and g exchanged": """
def softmax_backward(p, g):
    return g * (p - (p * g).sum(-1, keepdim=True))
""",
        "softmax applied to p again": """
def softmax_backward(p, g):
    s = p.softmax(-1)
    return s * (g - (s * g).sum(-1, keepdim=True))
""",
        "sum of the weighted gradient not multiplied by p": """
def softmax_backward(p, g):
    return p * g - (p * g).sum(-1, keepdim=True)
""",
        "one batch axis only": """
def softmax_backward(p, g):
    return p * (g - torch.einsum('bm,bm->b', p, g)[:, None])
""",
        "autograd of p with respect to itself": """
def softmax_backward(p, g):
    q = p.clone().requires_grad_()
    q.backward(g)
    return q.grad
""",
        "divides by p, fails at 0": """
def softmax_backward(p, g):
    return (g - (p * g).sum(-1, keepdim=True)) / p
""",
        "loses the batch: returns the sum over it": """
def softmax_backward(p, g):
    out = p * (g - (p * g).sum(-1, keepdim=True))
    return out.reshape(-1, p.shape[-1]).sum(0)
""",
    },
}

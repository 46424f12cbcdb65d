"""Right answers in several styles, and wrong ones that people write, for the exercises on attention."""

RIGHT = {
    "attention.one-query": {
        "loops": """
def look_up(q, K, V):
    scores = [sum(float(a) * float(b) for a, b in zip(q, k)) / math.sqrt(K.shape[1]) for k in K]
    total = sum(math.exp(s) for s in scores)
    answer = torch.zeros(V.shape[1])
    for s, v in zip(scores, V):
        answer += math.exp(s) / total * v
    return answer
""",
        "softmax and einsum": """
def look_up(q, K, V):
    w = torch.softmax(torch.einsum("d,md->m", q, K) / q.numel() ** 0.5, dim=0)
    return torch.einsum("m,mv->v", w, V)
""",
        "plain lists": """
def look_up(q, K, V):
    q, K, V = q.tolist(), K.tolist(), V.tolist()
    e = [math.exp(sum(x * y for x, y in zip(q, k)) / len(q) ** 0.5) for k in K]
    return [sum(ei / sum(e) * v[c] for ei, v in zip(e, V)) for c in range(len(V[0]))]
""",
    },
    "attention.all-queries": {
        "einsum": """
def batched_attention(Q, K, V):
    a = torch.einsum("...nd,...md->...nm", Q, K) * Q.size(-1) ** -0.5
    a = F.softmax(a, dim=-1)
    return torch.einsum("...nm,...mv->...nv", a, V), a
""",
        "scale the queries, softmax spelt out": """
def batched_attention(queries, keys, values):
    scores = (queries / math.sqrt(keys.shape[-1])) @ keys.mT
    e = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    p = e / e.sum(dim=-1, keepdim=True)
    return p @ values, p
""",
    },
    "attention.additive-score": {
        "loops": """
def additive_score(Q, K, W_1, W_2, v):
    scores = torch.zeros(len(Q), len(K))
    for i, q in enumerate(Q):
        for j, k in enumerate(K):
            scores[i, j] = v @ torch.tanh(W_1 @ q + W_2 @ k)
    return scores
""",
        "einsum": """
def additive_score(Q, K, W_1, W_2, v):
    a = torch.einsum("nq,hq->nh", Q, W_1)
    b = torch.einsum("mk,hk->mh", K, W_2)
    return torch.einsum("nmh,h->nm", torch.tanh(a.unsqueeze(1) + b.unsqueeze(0)), v)
""",
    },
    "attention.hard-limit": {
        "where": """
def weights_at(scores, temperature):
    top = scores.max(dim=-1, keepdim=True).values
    if temperature <= 0:
        is_top = torch.where(scores >= top, 1.0, 0.0)
        return is_top / is_top.sum(dim=-1, keepdim=True)
    e = torch.exp((scores - top) / temperature)
    return e / e.sum(dim=-1, keepdim=True)
""",
        "minus infinity": """
def weights_at(s, t):
    if t == 0:
        below = s < s.amax(-1, keepdim=True)
        return F.softmax(torch.zeros_like(s).masked_fill(below, float("-inf")), dim=-1)
    return F.softmax(s / t, dim=-1)
""",
    },
    "attention.kernel-regression": {
        "cdist": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    d = torch.cdist(x[:, None], x_seen[:, None])
    return torch.softmax(-0.5 * (d / bandwidth).square(), dim=1) @ y_seen
""",
        "loop": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    out = []
    for point in x:
        weights = F.softmax(-(point - x_seen).pow(2) / 2 / bandwidth / bandwidth, dim=0)
        out.append((weights * y_seen).sum())
    return torch.stack(out)
""",
        "the dot product and what is left": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    scores = torch.outer(x, x_seen) / bandwidth**2 - x_seen**2 / (2 * bandwidth**2)
    return scores.softmax(-1) @ y_seen
""",
    },
    "attention.set-test": {
        "many shuffles, largest difference": """
def is_a_set(attend, Q, K, V):
    first = attend(Q, K, V)[0]
    worst = 0.0
    for _ in range(20):
        p = torch.randperm(K.size(-2))
        worst = max(worst, (attend(Q, K[..., p, :], V[..., p, :])[0] - first).abs().max().item())
    return worst < 1e-4
""",
        "swaps of neighbours": """
def is_a_set(attend, Q, K, V):
    first = attend(Q, K, V)[0]
    for j in range(K.shape[-2] - 1):
        order = list(range(K.shape[-2]))
        order[j], order[j + 1] = order[j + 1], order[j]
        if not torch.allclose(first, attend(Q, K[order], V[order])[0], rtol=1e-4, atol=1e-4):
            return False
    return True
""",
    },
}

WRONG = {
    "attention.one-query": {
        "no scale": """
def look_up(q, K, V):
    return torch.softmax(K @ q, dim=0) @ V
""",
        "d_k instead of √d_k": """
def look_up(q, K, V):
    return torch.softmax(K @ q / K.shape[1], dim=0) @ V
""",
        "√ of the number of keys": """
def look_up(q, K, V):
    return torch.softmax(K @ q / math.sqrt(len(K)), dim=0) @ V
""",
        "no exponential": """
def look_up(q, K, V):
    scores = K @ q / math.sqrt(len(q))
    return scores / scores.sum() @ V
""",
        "weights instead of output": """
def look_up(q, K, V):
    return torch.softmax(K @ q / math.sqrt(len(q)), dim=0)
""",
    },
    "attention.all-queries": {
        "softmax over the queries": """
def batched_attention(Q, K, V):
    weights = (Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])).softmax(dim=-2)
    return weights @ V, weights
""",
        "weights before the softmax": """
def batched_attention(Q, K, V):
    weights = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    return F.softmax(weights, dim=-1) @ V, weights
""",
        "K not transposed": """
def batched_attention(Q, K, V):
    weights = (Q @ K / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return weights @ V, weights
""",
        "K.T on a batch": """
def batched_attention(Q, K, V):
    weights = (Q @ K.permute(*range(K.dim() - 1, -1, -1)) / math.sqrt(Q.shape[-1])).softmax(dim=-1)  # K.T, without its warning
    return weights @ V, weights
""",
        "√ of the value's length": """
def batched_attention(Q, K, V):
    weights = (Q @ K.transpose(-2, -1) / math.sqrt(V.shape[-1])).softmax(dim=-1)
    return weights @ V, weights
""",
    },
    "attention.additive-score": {
        "no tanh": """
def additive_score(Q, K, W_1, W_2, v):
    return ((Q @ W_1.T)[:, None] + (K @ W_2.T)[None]) @ v
""",
        "tanh outside": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh(((Q @ W_1.T)[:, None] + (K @ W_2.T)[None]) @ v)
""",
        "product instead of sum": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh((Q @ W_1.T)[:, None] * (K @ W_2.T)[None]) @ v
""",
        "keys as rows": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh((Q @ W_1.T)[None] + (K @ W_2.T)[:, None]) @ v
""",
        "matching pairs only": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh(Q @ W_1.T + K @ W_2.T) @ v
""",
    },
    "attention.hard-limit": {
        "multiplied": """
def weights_at(scores, temperature):
    return (scores * temperature).softmax(dim=-1)
""",
        "divided after the softmax": """
def weights_at(scores, temperature):
    return scores.softmax(dim=-1) / temperature
""",
        "overflow": """
def weights_at(scores, temperature):
    raised = torch.exp(scores / temperature)
    return raised / raised.sum(dim=-1, keepdim=True)
""",
        "division by 0": """
def weights_at(scores, temperature):
    return (scores / temperature).softmax(dim=-1)
""",
        "one winner of a tie": """
def weights_at(scores, temperature):
    if temperature == 0:
        return F.one_hot(scores.argmax(dim=-1), scores.shape[-1]).float()
    return (scores / temperature).softmax(dim=-1)
""",
    },
    "attention.kernel-regression": {
        "bandwidth not squared": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    return (-((x[:, None] - x_seen) ** 2) / (2 * bandwidth)).softmax(dim=-1) @ y_seen
""",
        "sign": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    return ((x[:, None] - x_seen) ** 2 / (2 * bandwidth**2)).softmax(dim=-1) @ y_seen
""",
        "not normalised": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    return torch.exp(-((x[:, None] - x_seen) ** 2) / (2 * bandwidth**2)) @ y_seen
""",
        "kernel as score": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    return torch.exp(-((x[:, None] - x_seen) ** 2) / (2 * bandwidth**2)).softmax(dim=-1) @ y_seen
""",
        "0 divided by 0": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    kernel = torch.exp(-((x[:, None] - x_seen) ** 2) / (2 * bandwidth**2))
    return kernel @ y_seen / kernel.sum(dim=-1)
""",
    },
    "attention.set-test": {
        "keys without values": """
def is_a_set(attend, Q, K, V):
    order = torch.randperm(K.shape[-2])
    return torch.allclose(attend(Q, K, V)[0], attend(Q, K[order], V)[0], atol=1e-5)
""",
        "weights compared": """
def is_a_set(attend, Q, K, V):
    order = torch.randperm(K.shape[-2])
    one, other = attend(Q, K, V), attend(Q, K[order], V[order])
    return torch.allclose(one[0], other[0], atol=1e-5) and torch.allclose(one[1], other[1], atol=1e-5)
""",
        "exact equality": """
def is_a_set(attend, Q, K, V):
    order = torch.randperm(K.shape[-2])
    return torch.equal(attend(Q, K, V)[0], attend(Q, K[order], V[order])[0])
""",
        "reversal only": """
def is_a_set(attend, Q, K, V):
    return torch.allclose(attend(Q, K, V)[0], attend(Q, K.flip(-2), V.flip(-2))[0], atol=1e-5)
""",
        "always True": """
def is_a_set(attend, Q, K, V):
    order = torch.randperm(K.shape[-2])
    attend(Q, K[order], V[order])
    return True
""",
    },
}

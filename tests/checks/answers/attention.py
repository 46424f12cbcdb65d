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
    return torch.tensor([sum(ei / sum(e) * v[c] for ei, v in zip(e, V)) for c in range(len(V[0]))])
""",
        "bmm": """
def look_up(q, K, V):
    scores = torch.mv(K, q) * (K.size(-1) ** -0.5)
    weights = F.softmax(scores, dim=-1)
    return (weights.unsqueeze(-1) * V).sum(dim=0)
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
        "matmul and a keyword axis": """
def batched_attention(Q, K, V):
    d_k = Q.size(dim=-1)
    weights = torch.softmax(torch.matmul(Q, torch.swapaxes(K, -1, -2)) / d_k**0.5, axis=-1)
    return torch.matmul(weights, V), weights
""",
        "logarithms": """
def batched_attention(Q, K, V):
    scores = (Q.unsqueeze(-2) * K.unsqueeze(-3)).sum(-1).div(math.sqrt(K.shape[-1]))
    weights = (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()
    return [weights @ V, weights]
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
        "row by row": """
def weights_at(scores, temperature):
    rows = []
    for row in scores.tolist():
        best = max(row)
        if temperature == 0:
            raised = [1.0 if s == best else 0.0 for s in row]
        else:
            raised = [math.exp((s - best) / temperature) for s in row]
        rows.append([r / sum(raised) for r in raised])
    return torch.tensor(rows)
""",
        "logarithms": """
def weights_at(scores, temperature):
    if not temperature:
        winners = torch.isclose(scores, scores.max(dim=1, keepdim=True)[0], rtol=0, atol=0).to(scores.dtype)
        return F.normalize(winners, p=1, dim=1)
    logits = scores.div(temperature)
    return (logits - torch.logsumexp(logits, dim=1, keepdim=True)).exp()
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
        "subtract the nearest": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    squares = (x.unsqueeze(1) - x_seen.unsqueeze(0)) ** 2
    squares = squares - squares.min(dim=1, keepdim=True).values
    kernel = torch.exp(-squares / (2 * bandwidth**2))
    return (kernel * y_seen).sum(dim=1) / kernel.sum(dim=1)
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
        "the given order and a fixed one": """
def is_a_set(attend, Q, K, V):
    order = sorted(range(K.shape[0]), key=lambda j: (j * 7919) % 101)
    output, _ = attend(Q, K, V)
    for places in (order, order[::-1], order[1:] + order[:1]):
        other, _ = attend(Q, K[places], V[places])
        if (output - other).norm() > 1e-4 * (1 + output.norm()):
            return False
    return True
""",
        "a permutation matrix": """
def is_a_set(attend, Q, K, V):
    outputs = [attend(Q, K, V)[0]]
    for _ in range(8):
        P = torch.eye(len(K))[torch.randperm(len(K))]
        outputs.append(attend(Q, P @ K, P @ V)[0])
    return all(torch.allclose(outputs[0], other, atol=1e-4) for other in outputs)
""",
    },
}

WRONG = {
    "attention.one-query": {
        "a list returned": """
def look_up(q, K, V):
    weights = torch.softmax(K @ q / len(q) ** 0.5, dim=0)
    return [float(weights @ V[:, j]) for j in range(V.shape[1])]
""",
        "a pair returned": """
def look_up(q, K, V):
    weights = torch.softmax(K @ q / math.sqrt(len(q)), dim=0)
    return weights @ V, weights
""",
        "changes its input": """
def look_up(q, K, V):
    q /= math.sqrt(len(q))
    return torch.softmax(K @ q, dim=0) @ V
""",
        "√ of the number of keys": """
def look_up(q, K, V):
    w = torch.softmax(K @ q / math.sqrt(len(K)), dim=0)
    return w @ V
""",
    },
    "attention.all-queries": {
        "changes its input": """
def batched_attention(Q, K, V):
    Q *= Q.shape[-1] ** -0.5
    weights = (Q @ K.transpose(-2, -1)).softmax(dim=-1)
    return weights @ V, weights
""",
        "forbidden": """
def batched_attention(Q, K, V):
    weights = (Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])).softmax(dim=-1)
    return F.scaled_dot_product_attention(Q, K, V), weights
""",
        "√ of the value's length": """
def batched_attention(Q, K, V):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(V.shape[-1])
    weights = scores.softmax(dim=-1)
    return weights @ V, weights
""",
        "axis counted from the front": """
def batched_attention(Q, K, V):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    weights = F.softmax(scores, dim=1)
    return weights @ V, weights
""",
    },
    "attention.hard-limit": {
        "one winner for all rows": """
def weights_at(scores, temperature):
    if temperature == 0:
        return torch.where(scores == scores.max(), 1.0, 0.0)
    return (scores / temperature).softmax(dim=-1)
""",
        "changes its input": """
def weights_at(scores, temperature):
    if temperature == 0:
        best = (scores == scores.amax(dim=-1, keepdim=True)).float()
        return best / best.sum(dim=-1, keepdim=True)
    scores /= temperature
    return scores.softmax(dim=-1)
""",
        "one winner of a tie": """
def weights_at(scores, temperature):
    if temperature == 0:
        return F.one_hot(scores.argmax(-1), scores.shape[-1]).float()
    return torch.softmax(scores / temperature, dim=-1)
""",
        "overflow": """
def weights_at(scores, temperature):
    if temperature == 0:
        best = (scores == scores.max(-1, keepdim=True).values).float()
        return best / best.sum(-1, keepdim=True)
    e = torch.exp(scores / temperature)
    return e / e.sum(-1, keepdim=True)
""",
    },
    "attention.kernel-regression": {
        "sign": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    return ((x[:, None] - x_seen) ** 2 / (2 * bandwidth**2)).softmax(dim=-1) @ y_seen
""",
        "changes its input": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    x /= bandwidth
    return (-((x[:, None] - x_seen / bandwidth) ** 2) / 2).softmax(dim=-1) @ y_seen
""",
        "a small number below": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    d = x[:, None] - x_seen[None, :]
    kappa = torch.exp(-d ** 2 / (2 * bandwidth ** 2))
    return (kappa @ y_seen) / (kappa.sum(dim=1) + 1e-12)
""",
        "bandwidth not squared": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    scores = -(x[:, None] - x_seen) ** 2 / (2 * bandwidth)
    return torch.softmax(scores, dim=-1) @ y_seen
""",
    },
    "attention.set-test": {
        "one shuffle": """
def is_a_set(attend, Q, K, V):
    output, _ = attend(Q, K, V)
    order = torch.randperm(K.shape[-2])
    shuffled, _ = attend(Q, K[..., order, :], V[..., order, :])
    return torch.allclose(output, shuffled, atol=1e-5)
""",
        "keys without values": """
def is_a_set(attend, Q, K, V):
    order = torch.randperm(K.shape[-2])
    return torch.allclose(attend(Q, K, V)[0], attend(Q, K[order], V)[0], atol=1e-5)
""",
        "values without keys": """
def is_a_set(attend, Q, K, V):
    order = torch.randperm(K.shape[-2])
    return torch.allclose(attend(Q, K, V)[0], attend(Q, K, V[order])[0], atol=1e-5)
""",
        "reversed": """
def is_a_set(attend, Q, K, V):
    order = torch.randperm(K.shape[-2])
    return not torch.allclose(attend(Q, K, V)[0], attend(Q, K[order], V[order])[0], atol=1e-5)
""",
        "two permutations": """
def is_a_set(attend, Q, K, V):
    shuffled = attend(Q, K[torch.randperm(len(K))], V[torch.randperm(len(V))])
    return torch.allclose(attend(Q, K, V)[0], shuffled[0], atol=1e-5)
""",
        "not whole rows": """
def is_a_set(attend, Q, K, V):
    order = torch.randperm(K.shape[-1])
    return torch.allclose(attend(Q, K, V)[0], attend(Q, K[:, order], V)[0], atol=1e-5)
""",
        "queries shuffled": """
def is_a_set(attend, Q, K, V):
    order, turned = torch.randperm(len(K)), torch.arange(len(Q)).roll(1)
    return torch.allclose(attend(Q, K, V)[0], attend(Q[turned], K[order], V[order])[0], atol=1e-5)
""",
        "nothing shuffled": """
def is_a_set(attend, Q, K, V):
    return torch.allclose(attend(Q, K, V)[0], attend(Q, K, V)[0], atol=1e-5)
""",
        "changes its input": """
def is_a_set(attend, Q, K, V):
    before = attend(Q, K, V)[0]
    for _ in range(20):
        order = torch.randperm(K.shape[-2])
        K.copy_(K[order])
        V.copy_(V[order])
        if not torch.allclose(before, attend(Q, K, V)[0], atol=1e-4):
            return False
    return True
""",
        "exact equality": """
def is_a_set(attend, Q, K, V):
    out, _ = attend(Q, K, V)
    for _ in range(10):
        p = torch.randperm(len(K))
        if not torch.equal(attend(Q, K[p], V[p])[0], out):
            return False
    return True
""",
        "reversal only": """
def is_a_set(attend, Q, K, V):
    out, _ = attend(Q, K, V)
    flipped, _ = attend(Q, K.flip(0), V.flip(0))
    return torch.allclose(out, flipped, atol=1e-5)
""",
    },
}

# other ways to make a mistake that is known already
ALSO_WRONG = {
    "attention.hard-limit": {
        "nearly equal is a tie": [
            """
def weights_at(scores, temperature):
    if temperature == 0:
        best = (scores >= scores.amax(dim=-1, keepdim=True)-0.01).float()
        return best / best.sum(dim=-1, keepdim=True)
    return (scores / temperature).softmax(dim=-1)
""",
        ],
        "hard before 0": [
            """
def weights_at(scores, temperature):
    if temperature < 1e-4:
        best = (scores == scores.amax(dim=-1, keepdim=True)).float()
        return best / best.sum(dim=-1, keepdim=True)
    return (scores / temperature).softmax(dim=-1)
""",
        ],
    },
    "attention.set-test": {
        "one pair swapped": [
            """
def is_a_set(attend, Q, K, V):
    order = list(range(len(K)))
    order[-2:] = order[:-3:-1]
    return torch.allclose(attend(Q, K, V)[0], attend(Q, K[order], V[order])[0], atol=1e-5)
""",
            """
def is_a_set(attend, Q, K, V):
    K_other, V_other = K.clone(), V.clone()
    K_other[[0, -1]], V_other[[0, -1]] = K[[-1, 0]], V[[-1, 0]]
    return torch.allclose(attend(Q, K, V)[0], attend(Q, K_other, V_other)[0], rtol=1e-4, atol=1e-4)
""",
        ],
        "loose tolerance": [
            """
def is_a_set(attend, Q, K, V):
    output, _ = attend(Q, K, V)
    for _ in range(5):
        order = torch.randperm(K.shape[-2])
        shuffled, _ = attend(Q, K[..., order, :], V[..., order, :])
        if not torch.allclose(output, shuffled, atol=1e-2):
            return False
    return True
""",
        ],
    },
}

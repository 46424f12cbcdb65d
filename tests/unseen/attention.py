"""Unseen answers to the exercises of chapter `attention`, written from the statements alone."""

RIGHT = {
    "attention.one-query": {
        "one line": """
def look_up(q, K, V):
    return torch.softmax(K @ q / math.sqrt(q.shape[0]), dim=0) @ V
""",
        "loops": """
def look_up(q, K, V):
    d_k = len(q)
    scores = []
    for k in K:
        s = 0.0
        for a, b in zip(q, k):
            s = s + a * b
        scores.append(s / d_k ** 0.5)
    top = max(scores)
    e = [torch.exp(s - top) for s in scores]
    out = torch.zeros_like(V[0])
    for w, v in zip(e, V):
        out = out + w / sum(e) * v
    return out
""",
        "einsum": """
def look_up(q, K, V):
    s = torch.einsum('md,d->m', K, q) * q.numel() ** -0.5
    return torch.einsum('m,mv->v', s.softmax(-1), V)
""",
        "query as a matrix of one row": """
def look_up(q, K, V):
    Q = q[None, :]
    w = F.softmax(Q @ K.mT / math.sqrt(K.size(1)), dim=1)
    return (w @ V).squeeze(0)
""",
        "elementwise product and sum": """
def look_up(q, K, V):
    scores = (K * q).sum(dim=1) / torch.tensor(float(K.shape[1])).sqrt().to(K.dtype)
    weights = (scores - scores.logsumexp(0)).exp()
    return (weights[:, None] * V).sum(dim=0)
""",
        "the chapter's attention": """
def look_up(q, K, V):
    output, _ = attention(q.unsqueeze(0), K, V)
    return output[0]
""",
        "in float64 and back": """
def look_up(q, K, V):
    s = K.double().mv(q.double()) / math.sqrt(len(q))
    w = torch.exp(s - s.max())
    w = w / w.sum()
    return V.T.double().mv(w).to(V.dtype)
""",
    },
    "attention.all-queries": {
        "transpose and matmul": """
def batched_attention(Q, K, V):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    weights = scores.softmax(dim=-1)
    return weights @ V, weights
""",
        "einsum with an ellipsis": """
def batched_attention(Q, K, V):
    s = torch.einsum('...nd,...md->...nm', Q, K) / Q.size(-1) ** 0.5
    w = F.softmax(s, dim=-1)
    return torch.einsum('...nm,...mv->...nv', w, V), w
""",
        "scales the queries first": """
def batched_attention(Q, K, V):
    w = torch.softmax((Q * Q.shape[-1] ** -0.5) @ K.mT, -1)
    return torch.matmul(w, V), w
""",
        "own softmax with the maximum taken off": """
def soft(s):
    e = torch.exp(s - s.amax(dim=-1, keepdim=True))
    return e / e.sum(dim=-1, keepdim=True)

def batched_attention(Q, K, V):
    A = soft(torch.matmul(Q, K.swapaxes(-1, -2)) / math.sqrt(K.shape[-1]))
    return A @ V, A
""",
        "broadcast products": """
def batched_attention(Q, K, V):
    scores = (Q.unsqueeze(-2) * K.unsqueeze(-3)).sum(-1) / math.sqrt(Q.shape[-1])
    weights = scores.softmax(-1)
    output = (weights.unsqueeze(-1) * V.unsqueeze(-3)).sum(-2)
    return output, weights
""",
        "flattened batches and bmm": """
def batched_attention(Q, K, V):
    lead = Q.shape[:-2]
    q = Q.reshape(-1, *Q.shape[-2:])
    k = K.reshape(-1, *K.shape[-2:])
    v = V.reshape(-1, *V.shape[-2:])
    w = torch.bmm(q, k.transpose(1, 2)).div(math.sqrt(Q.shape[-1])).softmax(2)
    out = torch.bmm(w, v)
    return out.reshape(*lead, *out.shape[1:]), w.reshape(*lead, *w.shape[1:])
""",
        "the chapter's score": """
def batched_attention(Q, K, V):
    weights = scaled_dot_score(Q, K).softmax(dim=-1)
    output = weights @ V
    return (output, weights)
""",
        "log softmax, then exp": """
def batched_attention(Q, K, V):
    weights = F.log_softmax(Q @ K.transpose(-1, -2) / Q.shape[-1] ** 0.5, dim=-1).exp()
    return weights @ V, weights
""",
    },
    "attention.additive-score": {
        "broadcast": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh((Q @ W_1.T)[:, None, :] + (K @ W_2.T)[None, :, :]) @ v
""",
        "einsum": """
def additive_score(Q, K, W_1, W_2, v):
    a = torch.einsum('nq,hq->nh', Q, W_1)
    b = torch.einsum('mk,hk->mh', K, W_2)
    hidden = (a.unsqueeze(1) + b.unsqueeze(0)).tanh()
    return torch.einsum('nmh,h->nm', hidden, v)
""",
        "F.linear": """
def additive_score(Q, K, W_1, W_2, v):
    q, k = F.linear(Q, W_1), F.linear(K, W_2)
    return F.linear(torch.tanh(q.unsqueeze(-2) + k.unsqueeze(-3)), v.unsqueeze(0)).squeeze(-1)
""",
        "columns on the left": """
def additive_score(Q, K, W_1, W_2, v):
    left = W_1 @ Q.T
    right = W_2 @ K.T
    return (v[:, None, None] * torch.tanh(left[:, :, None] + right[:, None, :])).sum(0)
""",
        "all pairs repeated, then reshaped": """
def additive_score(Q, K, W_1, W_2, v):
    n, m = len(Q), len(K)
    q = (Q @ W_1.T).repeat_interleave(m, dim=0)
    k = (K @ W_2.T).repeat(n, 1)
    return (torch.tanh(q + k) @ v).reshape(n, m)
""",
        "concatenated pairs and one matrix": """
def additive_score(Q, K, W_1, W_2, v):
    n, m = Q.shape[0], K.shape[0]
    pairs = torch.cat([Q[:, None].expand(n, m, -1), K[None].expand(n, m, -1)], dim=-1)
    return (pairs @ torch.cat([W_1, W_2], dim=1).T).tanh() @ v
""",
        "methods in a chain": """
def additive_score(Q, K, W_1, W_2, v):
    hidden = W_1.mm(Q.t()).t().unsqueeze(1).add(W_2.mm(K.t()).t())
    return hidden.tanh().matmul(v)
""",
    },
    "attention.hard-limit": {
        "maximum off first, ties by equality": """
def weights_at(scores, temperature):
    gap = scores - scores.max(dim=-1, keepdim=True).values
    if temperature == 0:
        best = (gap == 0).to(scores.dtype)
        return best / best.sum(dim=-1, keepdim=True)
    return torch.where(gap == 0, gap, gap / temperature).softmax(dim=-1)
""",
        "masked softmax at the limit": """
def weights_at(scores, temperature):
    top = scores.amax(-1, keepdim=True)
    if temperature == 0:
        logits = torch.zeros_like(scores).masked_fill(scores < top, -torch.inf)
    else:
        logits = ((scores - top) / temperature).masked_fill(scores == top, 0.0)
    return F.softmax(logits, dim=-1)
""",
        "own softmax": """
def weights_at(scores, temperature):
    top = scores.max(-1, keepdim=True)[0]
    best = scores == top
    if temperature > 0:
        e = torch.exp((scores - top) / temperature)
        e[best] = 1.0
    else:
        e = best.to(scores)
    return e / e.sum(-1, keepdim=True)
""",
        "row by row": """
def weights_at(scores, temperature):
    rows = []
    for row in scores:
        gap = row - row.max()
        if temperature == 0:
            w = (gap == 0).to(row.dtype)
        else:
            w = torch.where(gap == 0, torch.ones_like(gap), torch.exp(gap / temperature))
        rows.append(w / w.sum())
    return torch.stack(rows)
""",
        "helper for the limit, float64 for the rest": """
def hard(scores):
    tied = scores.eq(scores.amax(dim=1, keepdim=True))
    return tied.to(scores.dtype) / tied.sum(dim=1, keepdim=True)

def weights_at(scores, temperature):
    if not temperature:
        return hard(scores)
    s = scores.double()
    s = s - s.amax(dim=1, keepdim=True)
    return torch.softmax(s / float(temperature), dim=1).to(scores.dtype)
""",
        "limit with where": """
def weights_at(scores, temperature):
    best, _ = scores.max(dim=-1, keepdim=True)
    if temperature == 0:
        count = (scores == best).sum(dim=-1, keepdim=True)
        return torch.where(scores == best, 1.0 / count, 0.0).to(scores.dtype)
    shifted = (scores - best) / temperature
    shifted = torch.where(scores == best, torch.zeros_like(scores), shifted)
    return (shifted - shifted.logsumexp(-1, keepdim=True)).exp()
""",
    },
    "attention.kernel-regression": {
        "broadcast differences": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    scores = -(x[:, None] - x_seen[None, :]) ** 2 / (2 * bandwidth ** 2)
    return scores.softmax(dim=-1) @ y_seen
""",
        "standardised differences": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    z = (x.unsqueeze(1) - x_seen) / bandwidth
    weights = F.softmax(-0.5 * z * z, dim=1)
    return (weights * y_seen).sum(dim=1)
""",
        "loop over the queries": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    out = []
    for q in x:
        s = -(q - x_seen).square() / (2 * bandwidth ** 2)
        out.append(torch.dot(torch.softmax(s, 0), y_seen))
    return torch.stack(out)
""",
        "keys in rows": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -torch.sub(x_seen[:, None], x[None]).pow(2) / 2 / bandwidth / bandwidth
    return y_seen @ s.softmax(dim=0)
""",
        "kernels relative to the nearest point": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    d2 = (x.reshape(-1, 1) - x_seen.reshape(1, -1)) ** 2
    d2 = d2 - d2.min(dim=1, keepdim=True).values
    kappa = torch.exp(-d2 / (2 * bandwidth ** 2))
    return (kappa @ y_seen) / kappa.sum(dim=1)
""",
        "logsumexp and einsum": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -((x[:, None] - x_seen) ** 2) / (2 * bandwidth ** 2)
    w = torch.exp(s - torch.logsumexp(s, dim=-1, keepdim=True))
    return torch.einsum('nm,m->n', w, y_seen)
""",
        "gaussian helper and outer subtraction": """
def gaussian_score(a, b, h):
    return -0.5 * ((a - b) / h).square()

def kernel_regression(x, x_seen, y_seen, bandwidth):
    weights = torch.softmax(gaussian_score(x.view(-1, 1), x_seen.view(1, -1), bandwidth), -1)
    return torch.mv(weights, y_seen)
""",
    },
    "attention.set-test": {
        "flip, roll and many shuffles": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    before = attend(Q, K, V)[0]
    orders = [torch.arange(m).flip(0), torch.arange(m).roll(1)] + [torch.randperm(m) for _ in range(20)]
    for order in orders:
        after = attend(Q, K[..., order, :], V[..., order, :])[0]
        if not torch.allclose(before, after, rtol=1e-4, atol=1e-5 * (1 + before.abs().max().item())):
            return False
    return True
""",
        "every swap of neighbours": """
def is_a_set(attend, Q, K, V):
    base, _ = attend(Q, K, V)
    m = K.size(-2)
    for i in range(m - 1):
        order = list(range(m))
        order[i], order[i + 1] = order[i + 1], order[i]
        out, _ = attend(Q, K[..., order, :], V[..., order, :])
        if (out - base).abs().max() > 1e-4 * (1 + base.abs().max()):
            return False
    return True
""",
        "every swap of two": """
from itertools import combinations
def is_a_set(attend, Q, K, V):
    def same(i, j):
        order = torch.arange(K.shape[-2])
        order[i], order[j] = j, i
        shuffled = attend(Q, K.index_select(-2, order), V.index_select(-2, order))[0]
        original = attend(Q, K, V)[0]
        room = 1e-5 * (1 + original.abs().max().item())
        return torch.allclose(shuffled, original, rtol=1e-4, atol=room)
    return all(same(i, j) for i, j in combinations(range(K.shape[-2]), 2))
""",
        "assert_close": """
def is_a_set(attend, Q, K, V):
    output = attend(Q, K, V)[0]
    for seed in range(30):
        order = torch.randperm(K.shape[-2], generator=torch.Generator().manual_seed(seed))
        shuffled = attend(Q, K[..., order, :], V[..., order, :])[0]
        try:
            assert_close(shuffled, output, rtol=1e-4, atol=1e-5 * (1 + output.abs().max().item()))
        except AssertionError:
            return False
    return True
""",
        "largest difference over random orders": """
def is_a_set(attend, Q, K, V):
    reference = attend(Q, K, V)[0]
    worst = 0.0
    for _ in range(40):
        p = torch.argsort(torch.rand(K.shape[-2]))
        difference = attend(Q, K[..., p, :], V[..., p, :])[0] - reference
        worst = max(worst, difference.abs().max().item())
    return worst <= 1e-5 + 1e-4 * reference.abs().max().item()
""",
        "keys and values glued and shuffled as one": """
def is_a_set(attend, Q, K, V):
    d = K.shape[-1]
    pairs = torch.cat([K, V], dim=-1)
    first = attend(Q, K, V)[0]
    ok = True
    for _ in range(25):
        mixed = pairs[..., torch.randperm(pairs.shape[-2]), :]
        ok = ok and torch.allclose(attend(Q, mixed[..., :d], mixed[..., d:])[0], first, rtol=1e-4, atol=1e-5 * (1 + float(first.abs().max())))
    return ok
""",
    },
}

WRONG = {
    "attention.one-query": {
        "forgets the scale": """
def look_up(q, K, V):
    return torch.softmax(K @ q, dim=0) @ V
""",
        "divides by d_k instead of its root": """
def look_up(q, K, V):
    return torch.softmax(K @ q / len(q), dim=0) @ V
""",
        "multiplies by the root of d_k": """
def look_up(q, K, V):
    return torch.softmax(K @ q * math.sqrt(len(q)), dim=0) @ V
""",
        "scales by the number of keys": """
def look_up(q, K, V):
    return torch.softmax(K @ q / math.sqrt(len(K)), dim=0) @ V
""",
        "scales by the length of the values": """
def look_up(q, K, V):
    return torch.softmax(K @ q / math.sqrt(V.shape[1]), dim=0) @ V
""",
        "scale hard-coded for d_k = 4": """
def look_up(q, K, V):
    return torch.softmax(K @ q / 2, dim=0) @ V
""",
        "hard look-up of the best key": """
def look_up(q, K, V):
    return V[(K @ q).argmax()]
""",
        "sigmoid instead of softmax": """
def look_up(q, K, V):
    return torch.sigmoid(K @ q / math.sqrt(len(q))) @ V
""",
        "exponentials without normalising": """
def look_up(q, K, V):
    return torch.exp(K @ q / math.sqrt(len(q))) @ V
""",
        "exponentials overflow for large scores": """
def look_up(q, K, V):
    e = torch.exp(K @ q / math.sqrt(len(q)))
    return e @ V / e.sum()
""",
        "scores divided by their sum, no exponential": """
def look_up(q, K, V):
    s = K @ q / math.sqrt(len(q))
    return s / s.sum() @ V
""",
        "averages the keys, ignores V": """
def look_up(q, K, V):
    return torch.softmax(K @ q / math.sqrt(len(q)), dim=0) @ K
""",
        "ignores q, plain mean of the values": """
def look_up(q, K, V):
    return V.mean(dim=0)
""",
        "ignores K, compares the query with the values": """
def look_up(q, K, V):
    return torch.softmax(V[:, :len(q)] @ q[:V.shape[1]] / math.sqrt(len(q)), dim=0) @ V
""",
        "returns the weights": """
def look_up(q, K, V):
    return torch.softmax(K @ q / math.sqrt(len(q)), dim=0)
""",
        "returns a pair with the weights": """
def look_up(q, K, V):
    w = torch.softmax(K @ q / math.sqrt(len(q)), dim=0)
    return w @ V, w
""",
        "shape (1, d_v)": """
def look_up(q, K, V):
    w = torch.softmax(q[None] @ K.T / math.sqrt(len(q)), dim=-1)
    return w @ V
""",
        "softmax over the axis of length 1": """
def look_up(q, K, V):
    w = torch.softmax(q[None] @ K.T / math.sqrt(len(q)), dim=0)
    return (w @ V)[0]
""",
        "scales after the softmax": """
def look_up(q, K, V):
    return torch.softmax(K @ q, dim=0) / math.sqrt(len(q)) @ V
""",
        "changes q in place": """
def look_up(q, K, V):
    q /= math.sqrt(len(q))
    return torch.softmax(K @ q, dim=0) @ V
""",
        "cosine instead of dot product": """
def look_up(q, K, V):
    s = F.cosine_similarity(K, q[None], dim=1)
    return torch.softmax(s / math.sqrt(len(q)), dim=0) @ V
""",
        "distance instead of dot product": """
def look_up(q, K, V):
    s = -(K - q).norm(dim=1)
    return torch.softmax(s / math.sqrt(len(q)), dim=0) @ V
""",
        "loop that writes only d_k components": """
def look_up(q, K, V):
    w = torch.softmax(K @ q / math.sqrt(len(q)), dim=0)
    out = torch.zeros_like(q)
    for j in range(len(K)):
        for i in range(len(q)):
            out[i] += w[j] * V[j, i]
    return out
""",
        "loop that leaves out the last key": """
def look_up(q, K, V):
    s = K @ q / math.sqrt(len(q))
    w = torch.softmax(s, dim=0)
    out = torch.zeros_like(V[0])
    for j in range(len(K) - 1):
        out = out + w[j] * V[j]
    return out
""",
    },
    "attention.all-queries": {
        "forgets the scale": """
def batched_attention(Q, K, V):
    w = (Q @ K.transpose(-2, -1)).softmax(-1)
    return w @ V, w
""",
        "divides by d_k": """
def batched_attention(Q, K, V):
    w = (Q @ K.transpose(-2, -1) / Q.shape[-1]).softmax(-1)
    return w @ V, w
""",
        "scales by d_v": """
def batched_attention(Q, K, V):
    w = (Q @ K.transpose(-2, -1) / math.sqrt(V.shape[-1])).softmax(-1)
    return w @ V, w
""",
        "scales by the number of keys": """
def batched_attention(Q, K, V):
    w = (Q @ K.transpose(-2, -1) / math.sqrt(K.shape[-2])).softmax(-1)
    return w @ V, w
""",
        "scales by axis 1, which is not d_k with a batch": """
def batched_attention(Q, K, V):
    w = (Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[1])).softmax(-1)
    return w @ V, w
""",
        "scale hard-coded for d_k = 64": """
def batched_attention(Q, K, V):
    w = (Q @ K.transpose(-2, -1) / 8.0).softmax(-1)
    return w @ V, w
""",
        "softmax over the queries": """
def batched_attention(Q, K, V):
    w = (Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])).softmax(-2)
    return w @ V, w
""",
        "softmax over axis 1, only right without a batch": """
def batched_attention(Q, K, V):
    w = (Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])).softmax(1)
    return w @ V, w
""",
        "K.T, only without a batch": """
def batched_attention(Q, K, V):
    w = (Q @ K.T / math.sqrt(Q.shape[-1])).softmax(-1)
    return w @ V, w
""",
        "bmm, only with exactly one batch axis": """
def batched_attention(Q, K, V):
    w = (torch.bmm(Q, K.transpose(1, 2)) / math.sqrt(Q.shape[-1])).softmax(-1)
    return torch.bmm(w, V), w
""",
        "pair in the wrong order": """
def batched_attention(Q, K, V):
    w = (Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])).softmax(-1)
    return w, w @ V
""",
        "only the output": """
def batched_attention(Q, K, V):
    w = (Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])).softmax(-1)
    return w @ V
""",
        "hands back the scores as weights": """
def batched_attention(Q, K, V):
    s = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    return s.softmax(-1) @ V, s
""",
        "the library's scaled_dot_product_attention": """
def batched_attention(Q, K, V):
    w = (Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])).softmax(-1)
    return F.scaled_dot_product_attention(Q, K, V), w
""",
        "scaled_dot_product_attention on an identity for the weights": """
def batched_attention(Q, K, V):
    eye = torch.eye(K.shape[-2], dtype=V.dtype).expand(*K.shape[:-1], K.shape[-2])
    w = F.scaled_dot_product_attention(Q, K, eye)
    return w @ V, w
""",
        "loop over the queries": """
def batched_attention(Q, K, V):
    s = []
    for i in range(Q.shape[-2]):
        s.append((K @ Q[..., i, :].unsqueeze(-1)).squeeze(-1))
    w = (torch.stack(s, dim=-2) / math.sqrt(Q.shape[-1])).softmax(-1)
    return w @ V, w
""",
        "list comprehension over the batch": """
def batched_attention(Q, K, V):
    if Q.dim() > 2:
        pairs = [batched_attention(q, k, v) for q, k, v in zip(Q, K, V)]
        return torch.stack([p[0] for p in pairs]), torch.stack([p[1] for p in pairs])
    w = (Q @ K.T / math.sqrt(Q.shape[-1])).softmax(-1)
    return w @ V, w
""",
        "changes Q in place": """
def batched_attention(Q, K, V):
    Q /= math.sqrt(Q.shape[-1])
    w = (Q @ K.transpose(-2, -1)).softmax(-1)
    return w @ V, w
""",
        "exponentials overflow for large scores": """
def batched_attention(Q, K, V):
    e = torch.exp(Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1]))
    w = e / e.sum(-1, keepdim=True)
    return w @ V, w
""",
        "normalises over all queries together": """
def batched_attention(Q, K, V):
    s = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    e = torch.exp(s - s.max())
    w = e / e.sum()
    return w @ V, w
""",
        "output put into the shape of Q, so d_v must be d_k": """
def batched_attention(Q, K, V):
    w = (Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])).softmax(-1)
    return (w @ V).view(Q.shape), w
""",
        "ignores V, averages the keys": """
def batched_attention(Q, K, V):
    w = (Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])).softmax(-1)
    return w @ K, w
""",
        "ignores K, every key alike": """
def batched_attention(Q, K, V):
    w = torch.full((*Q.shape[:-1], K.shape[-2]), 1 / K.shape[-2], dtype=Q.dtype)
    return w @ V, w
""",
        "ignores Q, keys ask themselves": """
def batched_attention(Q, K, V):
    w = (K @ K.transpose(-2, -1) / math.sqrt(K.shape[-1])).softmax(-1)
    return w @ V, w
""",
        "cuts the gradient with detach": """
def batched_attention(Q, K, V):
    w = (Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])).softmax(-1).detach()
    return w @ V, w
""",
        "one batch axis written into the einsum": """
def batched_attention(Q, K, V):
    w = (torch.einsum('bnd,bmd->bnm', Q, K) / math.sqrt(Q.shape[-1])).softmax(-1)
    return torch.einsum('bnm,bmv->bnv', w, V), w
""",
    },
    "attention.additive-score": {
        "forgets tanh": """
def additive_score(Q, K, W_1, W_2, v):
    return ((Q @ W_1.T)[:, None] + (K @ W_2.T)[None]) @ v
""",
        "sigmoid instead of tanh": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.sigmoid((Q @ W_1.T)[:, None] + (K @ W_2.T)[None]) @ v
""",
        "ReLU instead of tanh": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.relu((Q @ W_1.T)[:, None] + (K @ W_2.T)[None]) @ v
""",
        "transposed scores (m, n)": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh((K @ W_2.T)[:, None] + (Q @ W_1.T)[None]) @ v
""",
        "ignores v, sums the hidden units": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh((Q @ W_1.T)[:, None] + (K @ W_2.T)[None]).sum(-1)
""",
        "mean over the hidden units after weighting": """
def additive_score(Q, K, W_1, W_2, v):
    return (torch.tanh((Q @ W_1.T)[:, None] + (K @ W_2.T)[None]) * v).mean(-1)
""",
        "tanh around the weighted sum": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh(((Q @ W_1.T)[:, None] + (K @ W_2.T)[None]) @ v)
""",
        "tanh of each part, then the sum": """
def additive_score(Q, K, W_1, W_2, v):
    return (torch.tanh(Q @ W_1.T)[:, None] + torch.tanh(K @ W_2.T)[None]) @ v
""",
        "v inside the tanh": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh(((Q @ W_1.T)[:, None] + (K @ W_2.T)[None]) * v).sum(-1)
""",
        "product of the parts instead of the sum": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh((Q @ W_1.T)[:, None] * (K @ W_2.T)[None]) @ v
""",
        "difference of the parts": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh((Q @ W_1.T)[:, None] - (K @ W_2.T)[None]) @ v
""",
        "W_1 and W_2 not transposed, square only": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh((Q @ W_1)[:, None] + (K @ W_2)[None]) @ v
""",
        "no pairs: adds query i to key i": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh(Q @ W_1.T + K @ W_2.T) @ v
""",
        "the axis of length 1 stays": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh((Q @ W_1.T)[:, None] + (K @ W_2.T)[None]) @ v[:, None]
""",
        "double loop over the pairs": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.stack([torch.stack([v @ torch.tanh(W_1 @ q + W_2 @ k) for k in K]) for q in Q])
""",
        "loop over the queries": """
def additive_score(Q, K, W_1, W_2, v):
    rows = []
    for q in Q:
        rows.append(torch.tanh(W_1 @ q + K @ W_2.T) @ v)
    return torch.stack(rows)
""",
        "softmax over the keys as well": """
def additive_score(Q, K, W_1, W_2, v):
    return (torch.tanh((Q @ W_1.T)[:, None] + (K @ W_2.T)[None]) @ v).softmax(-1)
""",
        "scales by the root of d_hidden": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh((Q @ W_1.T)[:, None] + (K @ W_2.T)[None]) @ v / math.sqrt(len(v))
""",
        "ignores Q": """
def additive_score(Q, K, W_1, W_2, v):
    return (torch.tanh(K @ W_2.T) @ v).expand(len(Q), len(K))
""",
        "ignores K": """
def additive_score(Q, K, W_1, W_2, v):
    return (torch.tanh(Q @ W_1.T) @ v)[:, None].expand(len(Q), len(K))
""",
        "ignores W_2, one matrix for both": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh((Q @ W_1.T)[:, None] + (K @ W_1.T)[None]) @ v
""",
        "ignores W_1, one matrix for both": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh((Q @ W_2.T)[:, None] + (K @ W_2.T)[None]) @ v
""",
        "W_1 and W_2 exchanged": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh((Q @ W_2.T)[:, None] + (K @ W_1.T)[None]) @ v
""",
        "pairs reshaped in the wrong order": """
def additive_score(Q, K, W_1, W_2, v):
    n, m = len(Q), len(K)
    q = (Q @ W_1.T).repeat(m, 1)
    k = (K @ W_2.T).repeat_interleave(n, dim=0)
    return (torch.tanh(q + k) @ v).reshape(n, m)
""",
        "transposes W_1 and W_2 in place": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh((Q @ W_1.t_())[:, None] + (K @ W_2.t_())[None]) @ v
""",
        "gives v a second axis in place": """
def additive_score(Q, K, W_1, W_2, v):
    return (torch.tanh((Q @ W_1.T)[:, None] + (K @ W_2.T)[None]) @ v.unsqueeze_(-1)).squeeze(-1)
""",
        "cuts the gradient with detach": """
def additive_score(Q, K, W_1, W_2, v):
    return torch.tanh((Q @ W_1.T)[:, None] + (K @ W_2.T)[None]).detach() @ v
""",
    },
    "attention.hard-limit": {
        "no case for temperature 0": """
def weights_at(scores, temperature):
    return (scores / temperature).softmax(-1)
""",
        "one-hot of argmax, ties get no share": """
def weights_at(scores, temperature):
    if temperature == 0:
        return F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)
    s = scores - scores.amax(-1, keepdim=True)
    return (s / temperature).softmax(-1)
""",
        "ties get 1 each, rows do not sum to 1": """
def weights_at(scores, temperature):
    top = scores.amax(-1, keepdim=True)
    if temperature == 0:
        return (scores == top).to(scores.dtype)
    return ((scores - top) / temperature).softmax(-1)
""",
        "temperature 0 replaced by 1e-6": """
def weights_at(scores, temperature):
    t = max(temperature, 1e-6)
    s = scores - scores.amax(-1, keepdim=True)
    return (s / t).softmax(-1)
""",
        "adds 1e-3 to the temperature": """
def weights_at(scores, temperature):
    s = scores - scores.amax(-1, keepdim=True)
    return (s / (temperature + 1e-3)).softmax(-1)
""",
        "every small temperature counts as 0": """
def weights_at(scores, temperature):
    top = scores.amax(-1, keepdim=True)
    if temperature < 0.1:
        b = (scores == top).to(scores.dtype)
        return b / b.sum(-1, keepdim=True)
    return ((scores - top) / temperature).softmax(-1)
""",
        "multiplies by the temperature": """
def weights_at(scores, temperature):
    top = scores.amax(-1, keepdim=True)
    if temperature == 0:
        b = (scores == top).to(scores.dtype)
        return b / b.sum(-1, keepdim=True)
    return ((scores - top) * temperature).softmax(-1)
""",
        "ignores the temperature": """
def weights_at(scores, temperature):
    return scores.softmax(-1)
""",
        "ignores the temperature unless it is 0": """
def weights_at(scores, temperature):
    top = scores.amax(-1, keepdim=True)
    if temperature == 0:
        b = (scores == top).to(scores.dtype)
        return b / b.sum(-1, keepdim=True)
    return scores.softmax(-1)
""",
        "exponentials overflow": """
def weights_at(scores, temperature):
    top = scores.amax(-1, keepdim=True)
    if temperature == 0:
        b = (scores == top).to(scores.dtype)
        return b / b.sum(-1, keepdim=True)
    e = torch.exp(scores / temperature)
    return e / e.sum(-1, keepdim=True)
""",
        "best key of the whole matrix, not of each row": """
def weights_at(scores, temperature):
    top = scores.max()
    if temperature == 0:
        b = (scores == top).to(scores.dtype)
        return b / b.sum()
    return ((scores - top) / temperature).softmax(-1)
""",
        "softmax along the first axis": """
def weights_at(scores, temperature):
    top = scores.amax(0, keepdim=True)
    if temperature == 0:
        b = (scores == top).to(scores.dtype)
        return b / b.sum(0, keepdim=True)
    return ((scores - top) / temperature).softmax(0)
""",
        "shares counted over all rows": """
def weights_at(scores, temperature):
    top = scores.amax(-1, keepdim=True)
    if temperature == 0:
        b = (scores == top).to(scores.dtype)
        return b / b.sum()
    return ((scores - top) / temperature).softmax(-1)
""",
        "temperature 0 gives equal shares to all keys": """
def weights_at(scores, temperature):
    if temperature == 0:
        return torch.full_like(scores, 1 / scores.shape[-1])
    s = scores - scores.amax(-1, keepdim=True)
    return (s / temperature).softmax(-1)
""",
        "two keys within 0.01 count as tied": """
def weights_at(scores, temperature):
    top = scores.amax(-1, keepdim=True)
    if temperature == 0:
        b = (top - scores < 0.01).to(scores.dtype)
        return b / b.sum(-1, keepdim=True)
    return ((scores - top) / temperature).softmax(-1)
""",
        "a tie is always shared by two": """
def weights_at(scores, temperature):
    top = scores.amax(-1, keepdim=True)
    if temperature == 0:
        b = (scores == top).to(scores.dtype)
        return torch.where(b.sum(-1, keepdim=True) > 1, b / 2, b)
    return ((scores - top) / temperature).softmax(-1)
""",
        "booleans at temperature 0": """
def weights_at(scores, temperature):
    top = scores.amax(-1, keepdim=True)
    if temperature == 0:
        return scores == top
    return ((scores - top) / temperature).softmax(-1)
""",
        "takes the maximum off in place": """
def weights_at(scores, temperature):
    scores -= scores.amax(-1, keepdim=True)
    if temperature == 0:
        b = (scores == 0).to(scores.dtype)
        return b / b.sum(-1, keepdim=True)
    return (scores / temperature).softmax(-1)
""",
        "least score instead of best": """
def weights_at(scores, temperature):
    low = scores.amin(-1, keepdim=True)
    if temperature == 0:
        b = (scores == low).to(scores.dtype)
        return b / b.sum(-1, keepdim=True)
    return ((scores - scores.amax(-1, keepdim=True)) / temperature).softmax(-1)
""",
        "returns the index of the best key at 0": """
def weights_at(scores, temperature):
    if temperature == 0:
        return scores.argmax(-1)
    s = scores - scores.amax(-1, keepdim=True)
    return (s / temperature).softmax(-1)
""",
        "nan replaced by 0 at the limit": """
def weights_at(scores, temperature):
    return torch.nan_to_num((scores / temperature).softmax(-1))
""",
        "softmax of the scores at temperature 0": """
def weights_at(scores, temperature):
    if temperature == 0:
        return scores.softmax(-1)
    s = scores - scores.amax(-1, keepdim=True)
    return (s / temperature).softmax(-1)
""",
        "compares with the magnitude, so large negative scores win": """
def weights_at(scores, temperature):
    top = scores.abs().amax(-1, keepdim=True)
    if temperature == 0:
        b = (scores.abs() == top).to(scores.dtype)
        return b / b.sum(-1, keepdim=True)
    s = scores - scores.amax(-1, keepdim=True)
    return (s / temperature).softmax(-1)
""",
        "first and last of the tied keys only": """
def weights_at(scores, temperature):
    if temperature == 0:
        m = scores.shape[-1]
        first = F.one_hot(scores.argmax(-1), m)
        last = F.one_hot(m - 1 - scores.flip(-1).argmax(-1), m)
        return (first + last).to(scores.dtype) / 2
    s = scores - scores.amax(-1, keepdim=True)
    return (s / temperature).softmax(-1)
""",
    },
    "attention.kernel-regression": {
        "quotient of kernels, 0/0 far from all points": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - x_seen) ** 2 / (2 * bandwidth ** 2)
    k = torch.exp(s)
    return k @ y_seen / k.sum(1)
""",
        "small number in the denominator, 0 far from all points": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - x_seen) ** 2 / (2 * bandwidth ** 2)
    k = torch.exp(s)
    return k @ y_seen / (k.sum(1) + 1e-12)
""",
        "nan replaced by 0 far from all points": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - x_seen) ** 2 / (2 * bandwidth ** 2)
    k = torch.exp(s)
    return torch.nan_to_num(k @ y_seen / k.sum(1))
""",
        "plain mean far from all points": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - x_seen) ** 2 / (2 * bandwidth ** 2)
    k = torch.exp(s)
    t = k.sum(1)
    return torch.where(t > 0, k @ y_seen / t, y_seen.mean())
""",
        "forgets the 2": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - x_seen) ** 2 / bandwidth ** 2
    return s.softmax(-1) @ y_seen
""",
        "bandwidth not squared": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - x_seen) ** 2 / (2 * bandwidth)
    return s.softmax(-1) @ y_seen
""",
        "squares the 2 as well": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - x_seen) ** 2 / (2 * bandwidth) ** 2
    return s.softmax(-1) @ y_seen
""",
        "multiplies by the bandwidth (missing brackets)": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - x_seen) ** 2 / 2 * bandwidth ** 2
    return s.softmax(-1) @ y_seen
""",
        "ignores the bandwidth": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - x_seen) ** 2 / 2
    return s.softmax(-1) @ y_seen
""",
        "sign lost, far points weigh most": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = (x[:, None] - x_seen) ** 2 / (2 * bandwidth ** 2)
    return s.softmax(-1) @ y_seen
""",
        "distance not squared": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - x_seen).abs() / (2 * bandwidth ** 2)
    return s.softmax(-1) @ y_seen
""",
        "softmax over the queries": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - x_seen) ** 2 / (2 * bandwidth ** 2)
    return s.softmax(0) @ y_seen
""",
        "dot products as scores": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = x[:, None] * x_seen / bandwidth ** 2
    return s.softmax(-1) @ y_seen
""",
        "softmax of the kernels": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - x_seen) ** 2 / (2 * bandwidth ** 2)
    return torch.exp(s).softmax(-1) @ y_seen
""",
        "nearest neighbour": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    return y_seen[(x[:, None] - x_seen).abs().argmin(1)]
""",
        "averages the places, ignores y_seen": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - x_seen) ** 2 / (2 * bandwidth ** 2)
    return s.softmax(-1) @ x_seen
""",
        "places and values exchanged": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - y_seen) ** 2 / (2 * bandwidth ** 2)
    return s.softmax(-1) @ x_seen
""",
        "shape (n, 1)": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - x_seen) ** 2 / (2 * bandwidth ** 2)
    return s.softmax(-1) @ y_seen[:, None]
""",
        "returns the weights too": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - x_seen) ** 2 / (2 * bandwidth ** 2)
    w = s.softmax(-1)
    return w @ y_seen, w
""",
        "ignores x, evaluates at the seen points": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x_seen[:, None] - x_seen) ** 2 / (2 * bandwidth ** 2)
    return s.softmax(-1) @ y_seen
""",
        "ignores x_seen, seen points at 0, 1, 2, ...": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    places = torch.arange(len(y_seen), dtype=x.dtype)
    s = -(x[:, None] - places) ** 2 / (2 * bandwidth ** 2)
    return s.softmax(-1) @ y_seen
""",
        "no pairs: as many queries as points": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x - x_seen) ** 2 / (2 * bandwidth ** 2)
    return s.softmax(-1) * y_seen
""",
        "scales x and x_seen in place": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    x /= bandwidth
    x_seen /= bandwidth
    s = -(x[:, None] - x_seen) ** 2 / 2
    return s.softmax(-1) @ y_seen
""",
        "sum of the weighted values, not normalised": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - x_seen) ** 2 / (2 * bandwidth ** 2)
    return torch.exp(s) @ y_seen
""",
        "takes one maximum for all queries, far queries still vanish": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - x_seen) ** 2 / (2 * bandwidth ** 2)
    k = torch.exp(s - s.max())
    return k @ y_seen / k.sum(1)
""",
        "scores divided by the root of m as well": """
def kernel_regression(x, x_seen, y_seen, bandwidth):
    s = -(x[:, None] - x_seen) ** 2 / (2 * bandwidth ** 2)
    return (s / math.sqrt(len(x_seen))).softmax(-1) @ y_seen
""",
    },
    "attention.set-test": {
        "shuffles the keys only": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    for _ in range(30):
        order = torch.randperm(m)
        out = attend(Q, K[..., order, :], V)[0]
        if not torch.allclose(out, base, rtol=1e-4, atol=1e-5):
            return False
    return True
""",
        "shuffles the values only": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    for _ in range(30):
        order = torch.randperm(m)
        out = attend(Q, K, V[..., order, :])[0]
        if not torch.allclose(out, base, rtol=1e-4, atol=1e-5):
            return False
    return True
""",
        "shuffles keys and values in different orders": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    for _ in range(30):
        order = torch.randperm(m)
        other = torch.randperm(m)
        out = attend(Q, K[..., order, :], V[..., other, :])[0]
        if not torch.allclose(out, base, rtol=1e-4, atol=1e-5):
            return False
    return True
""",
        "compares exactly, no room for rounding": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    for _ in range(30):
        order = torch.randperm(m)
        out = attend(Q, K[..., order, :], V[..., order, :])[0]
        if not torch.equal(out, base):
            return False
    return True
""",
        "answer the wrong way round": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    for _ in range(30):
        order = torch.randperm(m)
        out = attend(Q, K[..., order, :], V[..., order, :])[0]
        if not torch.allclose(out, base, rtol=1e-4, atol=1e-5):
            return True
    return False
""",
        "tolerance far too loose": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    for _ in range(30):
        order = torch.randperm(m)
        out = attend(Q, K[..., order, :], V[..., order, :])[0]
        if not torch.allclose(out, base, atol=1.0):
            return False
    return True
""",
        "compares the weights instead of the output": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[1]
    for _ in range(30):
        order = torch.randperm(m)
        w = attend(Q, K[..., order, :], V[..., order, :])[1]
        if not torch.allclose(w, base, atol=1e-5):
            return False
    return True
""",
        "compares the weights put back into order, not the output": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[1]
    for _ in range(30):
        order = torch.randperm(m)
        w = attend(Q, K[..., order, :], V[..., order, :])[1]
        if not torch.allclose(w, base[..., order], atol=1e-5):
            return False
    return True
""",
        "shuffles the queries": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    order = torch.arange(Q.shape[-2]).roll(1)
    out = attend(Q[..., order, :], K, V)[0]
    return torch.allclose(out, base, rtol=1e-4, atol=1e-5)
""",
        "shuffles the queries too": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    order = torch.arange(m).flip(0)
    q_order = torch.arange(Q.shape[-2]).flip(0)
    out = attend(Q[..., q_order, :], K[..., order, :], V[..., order, :])[0]
    return torch.allclose(out, base, rtol=1e-4, atol=1e-5)
""",
        "only reverses, misses what is symmetric": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    out = attend(Q, K.flip(-2), V.flip(-2))[0]
    return torch.allclose(out, base, rtol=1e-4, atol=1e-5)
""",
        "only rolls, misses what goes in a circle": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    out = attend(Q, K.roll(1, -2), V.roll(1, -2))[0]
    return torch.allclose(out, base, rtol=1e-4, atol=1e-5)
""",
        "only swaps the first two pairs": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    order = torch.arange(m)
    if m > 1:
        order[0], order[1] = 1, 0
    out = attend(Q, K[..., order, :], V[..., order, :])[0]
    return torch.allclose(out, base, rtol=1e-4, atol=1e-5)
""",
        "compares only the mean of the output": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    for _ in range(30):
        order = torch.randperm(m)
        out = attend(Q, K[..., order, :], V[..., order, :])[0]
        if abs(out.mean() - base.mean()) > 1e-2:
            return False
    return True
""",
        "compares only the first query": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    for _ in range(30):
        order = torch.randperm(m)
        out = attend(Q, K[..., order, :], V[..., order, :])[0]
        if not torch.allclose(out[..., 0, :], base[..., 0, :], atol=1e-5):
            return False
    return True
""",
        "tests the chapter's attention instead of attend": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attention(Q, K, V)[0]
    for _ in range(30):
        order = torch.randperm(m)
        out = attention(Q, K[..., order, :], V[..., order, :])[0]
        if not torch.allclose(out, base, rtol=1e-4, atol=1e-5):
            return False
    return True
""",
        "shuffles the caller's K and V in place": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    same = True
    for _ in range(30):
        order = torch.randperm(m)
        K.copy_(K[..., order, :].clone())
        V.copy_(V[..., order, :].clone())
        out = attend(Q, K, V)[0]
        same = same and torch.allclose(out, base, rtol=1e-4, atol=1e-5)
    return same
""",
        "returns a tensor of booleans": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    order = torch.randperm(m)
    out = attend(Q, K[..., order, :], V[..., order, :])[0]
    return torch.isclose(out, base, rtol=1e-4, atol=1e-5)
""",
        "True if any number stays the same": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    for _ in range(30):
        order = torch.randperm(m)
        out = attend(Q, K[..., order, :], V[..., order, :])[0]
        if not torch.isclose(out, base, rtol=1e-4, atol=1e-5).any():
            return False
    return True
""",
        "shuffles the components instead of the rows": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    out = attend(Q, K[..., torch.randperm(K.shape[-1])], V[..., torch.randperm(V.shape[-1])])[0]
    return torch.allclose(out, base, rtol=1e-4, atol=1e-5)
""",
        "order of the queries' length used for the keys": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    order = torch.randperm(Q.shape[-2])
    out = attend(Q, K[..., order, :], V[..., order, :])[0]
    return torch.allclose(out, base, rtol=1e-4, atol=1e-5)
""",
        "compares the pairs (output, weights) as they are": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)
    for _ in range(30):
        order = torch.randperm(m)
        out = attend(Q, K[..., order, :], V[..., order, :])
        if not all(torch.allclose(a, b, atol=1e-5) for a, b in zip(out, base)):
            return False
    return True
""",
        "keeps the order, calls it twice with the same pairs": """
def is_a_set(attend, Q, K, V):
    m = K.shape[-2]
    base = attend(Q, K, V)[0]
    out = attend(Q, K, V)[0]
    return torch.allclose(out, base, rtol=1e-4, atol=1e-5)
""",
    },
}

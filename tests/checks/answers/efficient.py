"""Right and wrong answers to the exercises of chapter `efficient`."""

GIVEN = """
def windowed(Q, K, V, w):
    blocks = Q.unflatten(0, (-1, w))
    K, V = (F.pad(X, (0, 0, w, 0)).unfold(0, 2 * w, w).mT for X in (K, V))
    scores = blocks @ K.mT / math.sqrt(Q.shape[-1])
    i, j = torch.arange(w)[:, None] + w, torch.arange(2 * w)
    seen = {seen}
    {more}
    weights = scores.masked_fill(~seen, -torch.inf).softmax(dim=-1)
    return (weights @ V).flatten(0, 1)
"""
BAND = """
def windowed(Q, K, V, w):
    i, j = torch.arange(len(Q))[:, None], torch.arange(len(Q))
    seen = {seen}
    scores = Q @ K.T / math.sqrt(Q.shape[-1])
    return scores.masked_fill(~seen, -torch.inf).softmax(dim=-1) @ V
"""
COUNTED = """
def power(attend, short, long):
    from torch.utils.flop_counter import FlopCounterMode
    counts = []
    for n in (short, long):
        with FlopCounterMode(display=False) as counter:
            attend(*torch.randn(3, n, 16))
        counts.append(counter.get_total_flops())
    a, b = counts
    return {answer}
"""
MERGE = """
def merge(first, second):
    (t1, l1, o1), (t2, l2, o2) = first, second
    top = {top}
    a, b = (t1 - top).exp(), (t2 - top).exp()
    return top, {total}, {mixed}
"""
SUM = """
def everyone(Q, K, V):
    Q, K = {q}, {k}
    S, z = K.transpose(-2, -1) @ {v}, K.sum(dim=-2, keepdim=True)
    return (Q @ S) / {below}
"""
DRAFT = """
def expected(p, q, k):
    beta = {beta}
    return {mean}
"""
BOTH = dict(total="a * l1 + b * l2", mixed="a * o1 + b * o2")
PHI = dict(q="F.elu(Q) + 1", k="F.elu(K) + 1", v="V", below="(Q @ z.transpose(-2, -1))")
KEPT, MEAN = "torch.minimum(p, q).sum().item()", "sum(beta**t for t in range(k + 1))"


RIGHT = {
    "efficient.merge": {
        "factors": MERGE.format(top="torch.maximum(t1, t2)", **BOTH),
        "where": """
def merge(first, second):
    (t1, l1, o1), (t2, l2, o2) = first, second
    larger = t1 >= t2
    factor = torch.exp(-(t1 - t2).abs())
    total = torch.where(larger, l1 + factor * l2, factor * l1 + l2)
    mixed = torch.where(larger, o1 + factor * o2, factor * o1 + o2)
    return torch.where(larger, t1, t2), total, mixed
""",
        "stacked": """
def merge(first, second):
    tops, totals, mixtures = (torch.stack(parts) for parts in zip(first, second))
    top = tops.amax(dim=0)
    factors = torch.exp(tops - top)
    return top, (factors * totals).sum(dim=0), (factors * mixtures).sum(dim=0)
""",
        "rows one by one": """
def merge(first, second):
    rows = []
    for t1, l1, o1, t2, l2, o2 in zip(*first, *second):
        top = max(t1.item(), t2.item())
        a, b = math.exp(t1.item() - top), math.exp(t2.item() - top)
        rows.append((torch.tensor([top]), a * l1 + b * l2, a * o1 + b * o2))
    return tuple(torch.stack(column) for column in zip(*rows))
""",
        "by logarithms": """
def merge(first, second):
    top = torch.max(first[0], second[0])
    whole = torch.logaddexp(first[0] + first[1].log(), second[0] + second[1].log())
    mixed = sum((half[0] - top).exp() * half[2] for half in (first, second))
    return [top, (whole - top).exp(), mixed]
""",
    },
    "efficient.power": {
        "ratios": COUNTED.format(answer="math.log(b / a) / math.log(long / short)"),
        "differences of logarithms": COUNTED.format(
            answer="(math.log(b) - math.log(a)) / (math.log(long) - math.log(short))"
        ),
        "in base two": COUNTED.format(answer="math.log2(b / a) / math.log2(long / short)"),
        "in a batch, with a tensor": """
def power(attend, short, long):
    from torch.utils.flop_counter import FlopCounterMode
    def count(n):
        Q, K, V = (torch.randn(1, n, 16) for _ in range(3))
        with FlopCounterMode(display=False) as counter:
            attend(Q, K, V)
        return counter.get_total_flops()
    lengths = torch.tensor([short, long]).double().log()
    counts = torch.tensor([count(short), count(long)]).double().log()
    return (counts.diff() / lengths.diff()).item()
""",
    },
    "efficient.everyone": {
        "two products": SUM.format(**PHI),
        "einsum": """
def everyone(Q, K, V):
    Q, K = torch.nn.functional.elu(Q) + 1, torch.nn.functional.elu(K) + 1
    S = torch.einsum("...md,...mv->...dv", K, V)
    z = torch.einsum("...nd,...d->...n", Q, K.sum(-2))
    return torch.einsum("...nd,...dv->...nv", Q, S) / z.unsqueeze(-1)
""",
        "ones as a value": """
def everyone(Q, K, V):
    phi = lambda X: torch.where(X > 0, X + 1, X.exp())
    V = torch.cat([V, torch.ones_like(V[..., :1])], dim=-1)
    mixed = phi(Q) @ (phi(K).mT @ V)
    return mixed[..., :-1] / mixed[..., -1:]
""",
        "query by query": """
def everyone(Q, K, V):
    Q, K = F.elu(Q) + 1, F.elu(K) + 1
    S, z = K.mT @ V, K.sum(-2).unsqueeze(-1)
    rows = [(q.unsqueeze(-2) @ S) / (q.unsqueeze(-2) @ z) for q in Q.unbind(-2)]
    return torch.cat(rows, dim=-2)
""",
    },
    "efficient.mend": {
        "mended in place": GIVEN.format(
            seen="((i - w < j) & (j <= i)).repeat(len(blocks), 1, 1)", more="seen[0, :, :w] = False"
        ),
        "positions": GIVEN.format(
            seen="(i - w < j) & (j <= i)",
            more="seen = seen & (j + w * torch.arange(len(blocks))[:, None, None] >= w)",
        ),
        "a mask of all": BAND.format(seen="(i - j < w) & (j <= i)"),
        "one query at a time": """
def windowed(Q, K, V, w):
    rows = []
    for i, q in enumerate(Q):
        near = slice(max(0, i - w + 1), i + 1)
        weights = (K[near] @ q / math.sqrt(Q.shape[-1])).softmax(dim=0)
        rows.append(weights @ V[near])
    return torch.stack(rows)
""",
    },
    "efficient.expected": {
        "a sum of powers": DRAFT.format(beta=KEPT, mean=MEAN),
        "in closed form": DRAFT.format(
            beta=KEPT, mean="k + 1 if beta > 1 - 1e-6 else (1 - beta ** (k + 1)) / (1 - beta)"
        ),
        "by the chance to keep": DRAFT.format(beta="float((q * (p / q).clamp(max=1)).sum())", mean=MEAN),
        "token by token": """
def expected(p, q, k):
    beta = 1 - (p - q).clamp(min=0).sum().item()
    mean, alive = 0.0, 1.0
    for _ in range(k + 1):
        mean += alive
        alive *= beta
    return mean
""",
    },
}

WRONG = {
    "efficient.merge": {
        "only the first shrinks": MERGE.format(top="t1.maximum(t2)", total="a * l1 + l2", mixed="a * o1 + o2"),
        "only the second shrinks": MERGE.format(top="t1.maximum(t2)", total="l1 + b * l2", mixed="o1 + b * o2"),
        "the mixture does not shrink": MERGE.format(top="t1.maximum(t2)", total=BOTH["total"], mixed="o1 + o2"),
        "nothing shrinks": """
def merge(first, second):
    top = torch.maximum(first[0], second[0])
    return top, first[1] + second[1], first[2] + second[2]
""",
    },
    "efficient.power": {
        "no logarithm below": COUNTED.format(answer="math.log(b / a) / (long / short)"),
        "the lengths' difference": COUNTED.format(answer="math.log(b / a) / (long - short)"),
        "as if the length doubled": """
def power(attend, short, long):
    from torch.utils.flop_counter import FlopCounterMode
    def flops(n):
        Q, K, V = (torch.randn(n, 16) for _ in range(3))
        with FlopCounterMode(display=False) as counter:
            attend(Q, K, V)
        return counter.get_total_flops()
    return math.log2(flops(long) / flops(short))
""",
        "counted on": """
def power(attend, short, long):
    from torch.utils.flop_counter import FlopCounterMode
    counts = []
    with FlopCounterMode(display=False) as counter:
        for n in (short, long):
            attend(torch.randn(n, 16), torch.randn(n, 16), torch.randn(n, 16))
            counts.append(counter.get_total_flops())
    return math.log(counts[1] / counts[0]) / math.log(long / short)
""",
    },
    "efficient.everyone": {
        "nobody divides": SUM.format(**{**PHI, "below": "1"}),
        "queries as they are": SUM.format(**{**PHI, "q": "Q"}),
        "a matrix of all pairs": """
def everyone(Q, K, V):
    weights = (F.elu(Q) + 1) @ (F.elu(K) + 1).transpose(-2, -1)
    return weights / weights.sum(dim=-1, keepdim=True) @ V
""",
        "divided by the number of keys": """
def everyone(Q, K, V):
    phi_Q, phi_K = F.elu(Q) + 1, F.elu(K) + 1
    return phi_Q @ (phi_K.mT @ V) / K.shape[-2]
""",
    },
    "efficient.mend": {
        "as it was": GIVEN.format(seen="(i - w <= j) & (j <= i)", more="pass"),
        "only the first query": GIVEN.format(
            seen="((i - w < j) & (j <= i)).repeat(len(blocks), 1, 1)", more="seen[0, 0, :w] = False"
        ),
        "zeros still take weight": """
def windowed(Q, K, V, w):
    blocks = Q.unflatten(0, (-1, w))
    K, V = (F.pad(X, (0, 0, w, 0)).unfold(0, 2 * w, w).mT for X in (K, V))
    scores = blocks @ K.mT / math.sqrt(Q.shape[-1])
    i, j = torch.arange(w)[:, None] + w, torch.arange(2 * w)
    seen = (i - w < j) & (j <= i)
    weights = scores.masked_fill(~seen, -torch.inf).softmax(dim=-1)
    return (weights @ V).flatten(0, 1)
""",
        "still one too wide": """
def windowed(Q, K, V, w):
    blocks = Q.unflatten(0, (-1, w))
    K, V = (F.pad(X, (0, 0, w, 0)).unfold(0, 2 * w, w).mT for X in (K, V))
    scores = blocks @ K.mT / math.sqrt(Q.shape[-1])
    i, j = torch.arange(w)[:, None] + w, torch.arange(2 * w)
    seen = ((i - w <= j) & (j <= i)).repeat(len(blocks), 1, 1)
    seen[0] &= j >= w
    weights = scores.masked_fill(~seen, -torch.inf).softmax(dim=-1)
    return (weights @ V).flatten(0, 1)
""",
    },
    "efficient.expected": {
        "its own token is not counted": DRAFT.format(beta=KEPT, mean="sum(beta**t for t in range(1, k + 1))"),
        "the last one is not counted": DRAFT.format(beta=KEPT, mean="sum(beta**t for t in range(k))"),
        "a perfect draft divides by 0": DRAFT.format(beta=KEPT, mean="(1 - beta ** (k + 1)) / (1 - beta)"),
        "as if each stood alone": """
def expected(p, q, k):
    a = torch.minimum(p, q).sum().item()
    return 1 + k * a
""",
    },
}

#: Known mistakes in another dress: by exercise and mistake, further programs.
ALSO_WRONG = {
    "efficient.everyone": {
        "a matrix of all pairs": [
            """
def everyone(Q, K, V):
    q, k = F.elu(Q) + 1, F.elu(K) + 1
    total = torch.einsum("...nk,...mk->...n", q, k).unsqueeze(-1)
    return torch.einsum("...nk,...mk,...mv->...nv", q, k, V) / total
""",
            """
def everyone(Q, K, V):
    q, k = F.elu(Q) + 1, F.elu(K) + 1
    weights = (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(dim=-1)
    return weights / weights.sum(dim=-1, keepdim=True) @ V
""",
        ],
    },
}

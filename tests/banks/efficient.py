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
ROOM = """
def room(memory, n_layers, n_key_heads, d_k, batch, window=None):
    length = memory // ({token})
    return "any" if window is not None and window <= length else length
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
TOKEN = "2 * n_layers * n_key_heads * d_k * 2 * batch"
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
    "efficient.room": {
        "one division": ROOM.format(token=TOKEN),
        "step by step": """
def room(memory, n_layers, n_key_heads, d_k, batch, window=None):
    numbers = n_layers * n_key_heads * d_k
    both = 2 * numbers
    per_conversation = memory // batch
    length = per_conversation // (2 * both)
    if window is None or window > length:
        return length
    return "any"
""",
        "by search": """
def room(memory, n_layers, n_key_heads, d_k, batch, window=None):
    token = 4 * n_layers * n_key_heads * d_k * batch
    if window is not None and window * token <= memory:
        return "any"
    length = 0
    while (length + 1) * token <= memory:
        length += 1
    return length
""",
        "floor": """
def room(memory, n_layers, n_key_heads, d_k, batch, window=None):
    length = math.floor(memory / (n_layers * n_key_heads * d_k * batch * 4))
    fits = window is not None and length >= window
    return "any" if fits else length
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
        "nothing shrinks": MERGE.format(top="t1.maximum(t2)", total="l1 + l2", mixed="o1 + o2"),
        "only the first shrinks": MERGE.format(top="t1.maximum(t2)", total="a * l1 + l2", mixed="a * o1 + o2"),
        "only the second shrinks": MERGE.format(top="t1.maximum(t2)", total="l1 + b * l2", mixed="o1 + b * o2"),
        "the mixture does not shrink": MERGE.format(top="t1.maximum(t2)", total=BOTH["total"], mixed="o1 + o2"),
        "the total does not shrink": MERGE.format(top="t1.maximum(t2)", total="l1 + l2", mixed=BOTH["mixed"]),
        "grows instead of shrinking": MERGE.format(
            top="t1.maximum(t2)", total="l1 / a + l2 / b", mixed="o1 / a + o2 / b"
        ),
        "already divided": MERGE.format(
            top="t1.maximum(t2)", total=BOTH["total"], mixed="(a * o1 + b * o2) / (a * l1 + b * l2)"
        ),
        "one half is forgotten": "def merge(first, second):\n    return first\n",
        "measured against 0": MERGE.format(top="torch.zeros_like(t1)", **BOTH),
        "the smaller of the two": MERGE.format(top="t1.minimum(t2)", **BOTH),
        "always against the same half": """
def merge(first, second):
    (t1, l1, o1), (t2, l2, o2) = first, second
    shrink = (t1 - t2).exp()
    return t2, shrink * l1 + l2, shrink * o1 + o2
""",
        "the factors are exchanged": MERGE.format(
            top="t1.maximum(t2)", total="b * l1 + a * l2", mixed="b * o1 + a * o2"
        ),
        "without the exponential": MERGE.format(
            top="t1.maximum(t2)", total="(t1 - top) * l1 + (t2 - top) * l2", mixed="(t1 - top) * o1 + (t2 - top) * o2"
        ),
        "powers of 2": MERGE.format(top="t1.maximum(t2)", **BOTH).replace(
            "(t1 - top).exp(), (t2 - top).exp()", "2 ** (t1 - top), 2 ** (t2 - top)"
        ),
        "the mean of both": MERGE.format(
            top="t1.maximum(t2)", total="(a * l1 + b * l2) / 2", mixed="(a * o1 + b * o2) / 2"
        ),
        "the total as a logarithm": MERGE.format(
            top="t1.maximum(t2)", total="top + (a * l1 + b * l2).log()", mixed=BOTH["mixed"]
        ),
        "another order": MERGE.format(top="t1.maximum(t2)", **BOTH)
        .replace("return top, ", "return ")
        .replace("a * l1 + b * l2, ", "a * l1 + b * l2, top, "),
        "weighed by the totals": MERGE.format(
            top="t1.maximum(t2)", total="a * l1 + b * l2", mixed="a * l1 * o1 + b * l2 * o2"
        ),
        "weighed by the totals, and divided": MERGE.format(
            top="t1.maximum(t2)", total="a * l1 + b * l2", mixed="(a * l1 * o1 + b * l2 * o2) / (a * l1 + b * l2)"
        ),
        "one largest score for all rows": MERGE.format(top="torch.cat([t1, t2]).max().expand_as(t1)", **BOTH),
    },
    "efficient.room": {
        "one 2 is missing": ROOM.format(token="n_layers * n_key_heads * d_k * 2 * batch"),
        "both 2s are missing": ROOM.format(token="n_layers * n_key_heads * d_k * batch"),
        "four bytes a number": ROOM.format(token="2 * n_layers * n_key_heads * d_k * 4 * batch"),
        "the batch is forgotten": ROOM.format(token="4 * n_layers * n_key_heads * d_k"),
        "one layer": ROOM.format(token="4 * n_key_heads * d_k * batch"),
        "one key head": ROOM.format(token="4 * n_layers * d_k * batch"),
        "one number a key": ROOM.format(token="4 * n_layers * n_key_heads * batch"),
        "the window is ignored": f"""
def room(memory, n_layers, n_key_heads, d_k, batch, window=None):
    return memory // ({TOKEN})
""",
        "any window is enough": f"""
def room(memory, n_layers, n_key_heads, d_k, batch, window=None):
    return "any" if window else memory // ({TOKEN})
""",
        "the window as the length": f"""
def room(memory, n_layers, n_key_heads, d_k, batch, window=None):
    length = memory // ({TOKEN})
    return length if window is None else min(length, window)
""",
        "rounded up": f"""
def room(memory, n_layers, n_key_heads, d_k, batch, window=None):
    length = math.ceil(memory / ({TOKEN}))
    return "any" if window is not None and window < length else length
""",
        "not whole": f"""
def room(memory, n_layers, n_key_heads, d_k, batch, window=None):
    length = memory / ({TOKEN})
    return "any" if window is not None and window <= length else length
""",
        "rounded to the nearest": f"""
def room(memory, n_layers, n_key_heads, d_k, batch, window=None):
    length = round(memory / ({TOKEN}))
    return "any" if window is not None and window <= length else length
""",
        "the window turned round": ROOM.format(token=TOKEN).replace("window <= length", "window >= length"),
        "a window that just fits": ROOM.format(token=TOKEN).replace("window <= length", "window < length"),
        "the batch counted twice": ROOM.format(token=TOKEN).replace("window <= length", "window * batch <= length"),
        "a window that fits to the last byte": ROOM.format(token=TOKEN).replace(
            "window <= length", f"window * {TOKEN} < memory"
        ),
    },
    "efficient.power": {
        "always 2": "def power(attend, short, long):\n    return 2\n",
        "counted on": COUNTED.format(answer="math.log((a + b) / a) / math.log(long / short)"),
        "no logarithm below": COUNTED.format(answer="math.log(b / a) / (long / short)"),
        "the lengths' difference": COUNTED.format(answer="math.log(b / a) / (long - short)"),
        "axes exchanged": COUNTED.format(answer="math.log(b / a) / math.log(long / short)").replace(
            "3, n, 16", "3, 16, n"
        ),
        "the ratio of the counts": COUNTED.format(answer="b / a"),
        "not divided by the lengths": COUNTED.format(answer="math.log(b / a)"),
        "as if the length doubled": COUNTED.format(answer="math.log2(b / a)"),
        "turned round": COUNTED.format(answer="math.log(long / short) / math.log(b / a)"),
        "a straight line": COUNTED.format(answer="(b - a) / (long - short)"),
        "ratio by ratio": COUNTED.format(answer="(b / a) / (long / short)"),
        "the wrong sign": COUNTED.format(answer="math.log(a / b) / math.log(long / short)"),
        "rounded": COUNTED.format(answer="float(round(math.log(b / a) / math.log(long / short)))"),
        "logarithms of both counts": COUNTED.format(answer="math.log(b) / math.log(a)"),
        "as if there were no constant": COUNTED.format(answer="math.log(b) / math.log(long)"),
    },
    "efficient.everyone": {
        "nobody divides": SUM.format(**{**PHI, "below": "1"}),
        "divided by the number of keys": SUM.format(**{**PHI, "below": "K.shape[-2]"}),
        "queries as they are": SUM.format(**{**PHI, "q": "Q"}),
        "keys as they are": SUM.format(**{**PHI, "k": "K"}),
        "without + 1": SUM.format(**{**PHI, "q": "F.elu(Q)", "k": "F.elu(K)"}),
        "relu for elu": SUM.format(**{**PHI, "q": "F.relu(Q) + 1", "k": "F.relu(K) + 1"}),
        "exp for elu": SUM.format(**{**PHI, "q": "Q.exp()", "k": "K.exp()"}),
        "softmax attention": """
def everyone(Q, K, V):
    return (Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])).softmax(dim=-1) @ V
""",
        "only what came before": """
def everyone(Q, K, V):
    Q, K = F.elu(Q) + 1, F.elu(K) + 1
    weights = (Q @ K.transpose(-2, -1)).tril()
    return weights / weights.sum(dim=-1, keepdim=True) @ V
""",
        "the values go through φ": SUM.format(**{**PHI, "v": "(F.elu(V) + 1)"}),
        "divided by the keys alone": SUM.format(**{**PHI, "below": "z.sum(dim=-1, keepdim=True)"}),
        "divided by √d_k": SUM.format(**{**PHI, "q": "F.elu(Q / math.sqrt(Q.shape[-1])) + 1"}),
        "no φ at all": SUM.format(**{**PHI, "q": "Q", "k": "K"}),
        "the sum without φ": """
def everyone(Q, K, V):
    z = K.sum(dim=-2, keepdim=True)
    Q, K = F.elu(Q) + 1, F.elu(K) + 1
    return Q @ (K.mT @ V) / (Q @ z.mT)
""",
        "a mean below the line": SUM.format(**PHI).replace("K.sum(", "K.mean("),
        "+ 1 inside": SUM.format(**{**PHI, "q": "F.elu(Q + 1)", "k": "F.elu(K + 1)"}),
        "every value alike": """
def everyone(Q, K, V):
    return V.mean(dim=-2, keepdim=True).expand(*Q.shape[:-1], V.shape[-1])
""",
        "a matrix of all pairs": """
def everyone(Q, K, V):
    weights = (F.elu(Q) + 1) @ (F.elu(K) + 1).transpose(-2, -1)
    return weights / weights.sum(dim=-1, keepdim=True) @ V
""",
    },
    "efficient.mend": {
        "as it was": GIVEN.format(seen="(i - w <= j) & (j <= i)", more="pass"),
        "still one too wide": GIVEN.format(
            seen="((i - w <= j) & (j <= i)).repeat(len(blocks), 1, 1)", more="seen[0, :, :w] = False"
        ),
        "zeros still take weight": GIVEN.format(seen="(i - w < j) & (j <= i)", more="pass"),
        "one too narrow": BAND.format(seen="(i - w + 1 < j) & (j <= i)"),
        "blocks of their own": BAND.format(seen="(i // w == j // w) & (j <= i)"),
        "no window": BAND.format(seen="j <= i"),
        "sees the future": BAND.format(seen="(i - j).abs() < w"),
        "not itself": BAND.format(seen="((i - w <= j) & (j < i)) | ((i == 0) & (j == 0))"),
        "without the scale": BAND.format(seen="(i - w < j) & (j <= i)").replace(" / math.sqrt(Q.shape[-1])", ""),
        "hidden after the softmax": BAND.format(seen="(i - w < j) & (j <= i)").replace(
            "scores.masked_fill(~seen, -torch.inf).softmax(dim=-1)", "scores.softmax(dim=-1) * seen"
        ),
        "a score of 0 for what is hidden": BAND.format(seen="(i - w < j) & (j <= i)").replace("-torch.inf", "0"),
        "only the first query": GIVEN.format(
            seen="((i - w < j) & (j <= i)).repeat(len(blocks), 1, 1)", more="seen[0, 0, :w] = False"
        ),
        "divided by d_k": BAND.format(seen="(i - w < j) & (j <= i)").replace("math.sqrt(Q.shape[-1])", "Q.shape[-1]"),
        "both blocks whole": BAND.format(seen="(j <= i) & (j // w >= i // w - 1)"),
        "looks ahead": BAND.format(seen="(j - w < i) & (i <= j)"),
        "over the queries": BAND.format(seen="(i - w < j) & (j <= i)").replace("dim=-1", "dim=0"),
        "full attention": BAND.format(seen="j >= 0").replace("~seen", "~seen.expand(len(Q), -1)"),
    },
    "efficient.expected": {
        "its own token is not counted": DRAFT.format(beta=KEPT, mean="sum(beta**t for t in range(1, k + 1))"),
        "the last one is not counted": DRAFT.format(beta=KEPT, mean="sum(beta**t for t in range(k))"),
        "as if each stood alone": DRAFT.format(beta=KEPT, mean="1 + k * beta"),
        "a draft without end": DRAFT.format(beta=KEPT, mean="1 / (1 - beta)"),
        "a perfect draft divides by 0": DRAFT.format(beta=KEPT, mean="(1 - beta ** (k + 1)) / (1 - beta)"),
        "both draw the same": DRAFT.format(beta="(p * q).sum().item()", mean=MEAN),
        "the distance, not what is kept": DRAFT.format(beta="(p - q).abs().sum().item() / 2", mean=MEAN),
        "kept tokens weighed by p": DRAFT.format(beta="(p * torch.clamp(p / q, max=1)).sum().item()", mean=MEAN),
        "every word alike": DRAFT.format(beta="torch.clamp(p / q, max=1).mean().item()", mean=MEAN),
        "as if both were greedy": DRAFT.format(beta="float(p.argmax() == q.argmax())", mean=MEAN),
        "the chance that all are kept": DRAFT.format(beta=KEPT, mean="beta**k"),
        "nothing is thrown away": "def expected(p, q, k):\n    return k + 1.0\n",
        "a share of all": DRAFT.format(beta=KEPT, mean="(k + 1) * beta"),
        "where all are kept": DRAFT.format(beta=KEPT, mean="1 + sum(t * beta**t * (1 - beta) for t in range(k + 1))"),
        "one too many": DRAFT.format(beta=KEPT, mean="sum(beta**t for t in range(k + 2))"),
        "twice the distance": DRAFT.format(beta="1 - (p - q).abs().sum().item()", mean=MEAN),
        "only what is kept": DRAFT.format(beta=KEPT, mean="beta"),
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

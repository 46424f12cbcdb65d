"""Answers to the exercises of the chapter positional: right ones in several styles, and plausible wrong ones."""

RIGHT = {
    "positional.encoding": {
        "loops": """
def encode(n, d_model):
    rows = []
    for pos in range(n):
        row = []
        for i in range(d_model // 2):
            w = 1 / 10000 ** (2 * i / d_model)
            row += [math.sin(pos * w), math.cos(pos * w)]
        rows.append(row)
    return torch.tensor(rows)
""",
        "exp of logs": """
def encode(n, d_model):
    pe = torch.zeros(n, d_model)
    position = torch.arange(0, n).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe
""",
        "cosine is a shifted sine": """
def encode(n, d_model):
    column = torch.arange(d_model)
    frequency = 10000 ** (-(column - column % 2) / d_model)
    return torch.sin(torch.outer(torch.arange(n).float(), frequency) + (column % 2) * math.pi / 2)
""",
    },
    "positional.half-distance": {
        "powers": """
def half_distance(n_heads, h):
    return 2 ** (8 * h / n_heads) * math.log(2)
""",
        "tensor": """
def half_distance(n_heads, h):
    slope = torch.tensor(2.0, dtype=torch.double) ** (-8 * h / n_heads)
    return torch.log(torch.tensor(2.0, dtype=torch.double)) / slope
""",
    },
    "positional.shift-matrix": {
        "loops": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model, dtype=torch.double)
    for i in range(d_model // 2):
        b = k * 10000 ** (-2 * i / d_model)
        R[2 * i, 2 * i] = R[2 * i + 1, 2 * i + 1] = math.cos(b)
        R[2 * i, 2 * i + 1] = math.sin(b)
        R[2 * i + 1, 2 * i] = -math.sin(b)
    return R
""",
        "matrix exponential": """
def shift_matrix(k, d_model):
    w = 10000 ** (-torch.arange(0, d_model, 2, dtype=torch.double) / d_model)
    generator = torch.block_diag(*[torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.double) * wi for wi in w])
    return torch.matrix_exp(k * generator)
""",
    },
    "positional.count-by-mask": {
        "by hand": """
def count(is_bos, mask):
    scores = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
    return (scores.softmax(dim=-1) @ is_bos).reciprocal() - 1
""",
        "keys of zero": """
def count(is_bos, mask):
    from tfm_lib.attention import attention
    share = attention(is_bos, is_bos * 0, is_bos, mask)[0]
    return (1 - share) / share
""",
    },
    "positional.other-pairs": {
        "reshape": """
def order(d_k):
    return torch.arange(d_k).view(2, d_k // 2).T.flatten()
""",
        "by columns": """
def order(d_k):
    return [c // 2 if c % 2 == 0 else d_k // 2 + c // 2 for c in range(d_k)]
""",
        "zip": """
def order(d_k):
    h = d_k // 2
    return [c for pair in zip(range(h), range(h, d_k)) for c in pair]
""",
    },
    "positional.buckets": {
        "loops": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    def one(r):
        if r < half:
            return r
        return min(n_buckets - 1, half + int(half * math.log(r / half) / math.log(max_distance / half)))
    return torch.tensor([one(r) for r in distance.flatten().tolist()]).reshape(distance.shape)
""",
        "as in T5": """
def bucket(distance, n_buckets=32, max_distance=128):
    max_exact = n_buckets // 2
    is_small = distance < max_exact
    large = max_exact + (
        torch.log(distance.float() / max_exact) / math.log(max_distance / max_exact) * (n_buckets - max_exact)
    ).long()
    large = torch.min(large, torch.full_like(large, n_buckets - 1))
    return torch.where(is_small, distance, large)
""",
    },
}

WRONG = {
    "positional.encoding": {
        "both lines written for 2i": """
def encode(n, d_model):
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    PE = torch.zeros(n, d_model)
    PE[:, 0::2] = angle.sin()
    PE[:, 0::2] = angle.cos()
    return PE
""",
        "a frequency of its own for the cosine": """
def encode(n, d_model):
    column = torch.arange(d_model)
    angle = torch.arange(n)[:, None] / 10000 ** (column / d_model)
    return torch.where(column % 2 == 0, angle.sin(), angle.cos())
""",
        "sines first, then cosines": """
def encode(n, d_model):
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.cat([angle.sin(), angle.cos()], dim=1)
""",
        "i in place of 2i": """
def encode(n, d_model):
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(d_model // 2) / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
""",
        "positions from 1": """
def encode(n, d_model):
    angle = torch.arange(1, n + 1)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
""",
    },
    "positional.half-distance": {
        "half a score in place of half a weight": """
def half_distance(n_heads, h):
    return 0.5 / 2 ** (-8 * h / n_heads)
""",
        "powers of 2": """
def half_distance(n_heads, h):
    return 2 ** (8 * h / n_heads)
""",
        "slope in place of distance": """
def half_distance(n_heads, h):
    return math.log(2) * 2 ** (-8 * h / n_heads)
""",
        "heads counted from 0": """
def half_distance(n_heads, h):
    slopes = [2 ** (-8 * i / n_heads) for i in range(n_heads)]
    return math.log(2) / slopes[h - 1]
""",
    },
    "positional.shift-matrix": {
        "turned back": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        b = k / 10000 ** (i / d_model)
        R[i : i + 2, i : i + 2] = torch.tensor([[math.cos(b), -math.sin(b)], [math.sin(b), math.cos(b)]])
    return R
""",
        "two plus signs": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        b = k / 10000 ** (i / d_model)
        R[i : i + 2, i : i + 2] = torch.tensor([[math.cos(b), math.sin(b)], [math.sin(b), math.cos(b)]])
    return R
""",
        "one angle for all pairs": """
def shift_matrix(k, d_model):
    block = torch.tensor([[math.cos(k), math.sin(k)], [-math.sin(k), math.cos(k)]])
    return torch.block_diag(*[block] * (d_model // 2))
""",
        "sines first, then cosines": """
def shift_matrix(k, d_model):
    b = k / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    C, S = torch.diag(b.cos()), torch.diag(b.sin())
    return torch.cat([torch.cat([C, S], dim=1), torch.cat([-S, C], dim=1)])
""",
    },
    "positional.count-by-mask": {
        "the share in place of the count": """
def count(is_bos, mask):
    from tfm_lib.attention import attention
    nothing = torch.zeros_like(is_bos)
    return attention(nothing, nothing, is_bos, mask)[0]
""",
        "<bos> counted too": """
def count(is_bos, mask):
    from tfm_lib.attention import attention
    nothing = torch.zeros_like(is_bos)
    return 1 / attention(nothing, nothing, is_bos, mask)[0]
""",
        "unequal scores": """
def count(is_bos, mask):
    from tfm_lib.attention import attention
    ones = torch.ones_like(is_bos)
    return 1 / attention(ones, is_bos, is_bos, mask)[0] - 1
""",
        "mask forgotten": """
def count(is_bos, mask):
    from tfm_lib.attention import attention
    nothing = torch.zeros_like(is_bos)
    return 1 / attention(nothing, nothing, is_bos)[0] - 1
""",
        "places in place of visible words": """
def count(is_bos, mask):
    return torch.arange(len(is_bos)).float()[:, None]
""",
    },
    "positional.other-pairs": {
        "the way back": """
def order(d_k):
    return [*range(0, d_k, 2), *range(1, d_k, 2)]
""",
        "left as it was": """
def order(d_k):
    return list(range(d_k))
""",
        "pairs the wrong way round": """
def order(d_k):
    return [c for i in range(d_k // 2) for c in (i + d_k // 2, i)]
""",
        "halves swapped": """
def order(d_k):
    return [(c + d_k // 2) % d_k for c in range(d_k)]
""",
    },
    "positional.buckets": {
        "rounded": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    ratio = distance.clamp(min=half).double() / half
    far = half + (half * ratio.log() / math.log(max_distance / half)).round().long()
    return torch.where(distance < half, distance, far.clamp(max=n_buckets - 1))
""",
        "buckets of equal width": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    far = half + half * (distance - half) // (max_distance - half)
    return torch.where(distance < half, distance, far.clamp(max=n_buckets - 1))
""",
        "logarithm in another unit": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    ratio = distance.clamp(min=half).double() / half
    far = half + (half * ratio.log()).floor().long()
    return torch.where(distance < half, distance, far.clamp(max=n_buckets - 1))
""",
        "clipped": """
def bucket(distance, n_buckets=32, max_distance=128):
    return distance.clamp(max=n_buckets - 1)
""",
        "no last bucket": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    ratio = distance.clamp(min=half).double() / half
    far = half + (half * ratio.log() / math.log(max_distance / half)).floor().long()
    return torch.where(distance < half, distance, far)
""",
    },
}

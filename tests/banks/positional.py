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
        "complex turns": """
def encode(n, d_model):
    w = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    turns = torch.exp(1j * torch.outer(torch.arange(n, dtype=torch.float64), w))
    return torch.dstack((turns.imag, turns.real)).reshape(n, d_model).float()
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
        "a ratio of slopes": """
def half_distance(n_heads, h):
    ratio = 2 ** (-8 / n_heads)
    slope = ratio**h
    return -math.log(0.5) / slope
""",
        "step by step": """
def half_distance(n_heads, h):
    first = math.log(2) * 256 ** (1 / n_heads)
    distance = first
    for _ in range(h - 1):
        distance *= 256 ** (1 / n_heads)
    return distance
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
        "diagonals": """
def shift_matrix(k, d_model):
    angle = k * 10000 ** (-torch.arange(0, d_model, 2) / d_model)
    off = torch.stack([angle.sin(), torch.zeros_like(angle)], dim=-1).flatten()[:-1]
    return torch.diag(angle.cos().repeat_interleave(2)) + torch.diag(off, 1) - torch.diag(off, -1)
""",
        "powers of one step": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model, dtype=torch.double)
    for i in range(0, d_model, 2):
        w = torch.tensor(10000 ** (-i / d_model), dtype=torch.double)
        R[i, i] = R[i + 1, i + 1] = w.cos()
        R[i, i + 1], R[i + 1, i] = w.sin(), -w.sin()
    return torch.linalg.matrix_power(R, k)
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
        "the weights themselves": """
def count(is_bos, mask):
    from tfm_lib.attention import attention
    _, weights = attention(is_bos * 0, is_bos * 0, is_bos, mask)
    return 1 / (weights @ is_bos) - 1
""",
        "words over <bos>": """
def count(is_bos, mask):
    from tfm_lib.attention import attention
    zeros = torch.zeros(len(is_bos), 4)
    shares = attention(zeros, zeros, torch.cat([is_bos, 1 - is_bos], dim=1), mask)[0]
    return shares[:, 1:] / shares[:, :1]
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
        "a permutation of halves": """
def order(d_k):
    first, second = torch.arange(d_k).chunk(2)
    return torch.stack([first, second], dim=1).reshape(-1)
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
        "counting the edges": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    edges = half * (max_distance / half) ** (torch.arange(1, half, dtype=torch.double) / half)
    passed = (distance.unsqueeze(-1).double() >= edges).sum(dim=-1)
    return distance.clamp(max=half) + passed
""",
        "numpy, and logarithms of base 2": """
def bucket(distance, n_buckets=32, max_distance=128):
    import numpy as np
    r, half = distance.numpy(), n_buckets // 2
    far = half + np.floor(half * np.log2(np.maximum(r, half) / half) / np.log2(max_distance / half))
    return np.where(r < half, r, np.minimum(far, n_buckets - 1)).astype(int)
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
        "half the columns": """
def encode(n, d_model):
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return angle.sin()
""",
        "angles, not waves": """
def encode(n, d_model):
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return angle
""",
        "cosine before sine": """
def encode(n, d_model):
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angle.cos(), angle.sin()], dim=-1).flatten(1)
""",
        "2i doubled": """
def encode(n, d_model):
    angle = torch.arange(n)[:, None] / 10000 ** (2 * torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
""",
        "frequencies that grow": """
def encode(n, d_model):
    angle = torch.arange(n).double()[:, None] * 10000 ** (torch.arange(0, d_model, 2).double() / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
""",
        "one frequency for all": """
def encode(n, d_model):
    angle = torch.arange(n)[:, None].expand(n, d_model // 2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
""",
        "n in place of d_model": """
def encode(n, d_model):
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / n)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
""",
        "axes exchanged": """
def encode(n, d_model):
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).T
""",
        "d_model is ignored": """
def encode(n, d_model):
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / 512)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
""",
        "forbidden": """
def encode(n, d_model):
    from tfm_lib.positional import sinusoidal_encoding
    return sinusoidal_encoding(n, d_model)
""",
        "sines only": """
def encode(n, d_model):
    angle = torch.arange(n)[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    PE = torch.zeros(n, d_model)
    PE[:, 0::2] = torch.sin(angle)
    PE[:, 1::2] = torch.sin(angle)
    return PE
""",
    },
    "positional.half-distance": {
        "the exponent rounded": """
def half_distance(n_heads, h):
    return math.log(2) / 2 ** (-8 * h // n_heads)
""",
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
        "only the slope": """
def half_distance(n_heads, h):
    return 2 ** (-8 * h / n_heads)
""",
        "one head too far": """
def half_distance(n_heads, h):
    return math.log(2) / 2 ** (-8 * (h + 1) / n_heads)
""",
        "negative distance": """
def half_distance(n_heads, h):
    return math.log(0.5) / 2 ** (-8 * h / n_heads)
""",
        "the 8 forgotten": """
def half_distance(n_heads, h):
    return math.log(2) / 2 ** (-h / n_heads)
""",
        "n_heads is ignored": """
def half_distance(n_heads, h):
    return math.log(2) * 2**h
""",
        "h is ignored": """
def half_distance(n_heads, h):
    return math.log(2) / 2 ** (-8 / n_heads)
""",
        "h and n_heads exchanged": """
def half_distance(n_heads, h):
    return math.log(2) * 2 ** (8 * n_heads / h)
""",
        "another logarithm": """
def half_distance(n_heads, h):
    return math.log10(2) / 2 ** (-8 * h / n_heads)
""",
        "a slope by powers of e": """
def half_distance(n_heads, h):
    return math.log(2) / math.exp(-8 * h / n_heads)
""",
        "rounded": """
def half_distance(n_heads, h):
    return math.ceil(math.log(2) / 2 ** (-8 * h / n_heads))
""",
        "all heads": """
def half_distance(n_heads, h):
    return [math.log(2) / 2 ** (-8 * i / n_heads) for i in range(1, n_heads + 1)]
""",
        "a slope without its power": """
def half_distance(n_heads, h):
    return math.log(2) / (8 * h / n_heads)
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
        "two minus signs": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        b = k / 10000 ** (i / d_model)
        cos, sin = math.cos(b), math.sin(b)
        R[i : i + 2, i : i + 2] = torch.tensor([[cos, -sin], [-sin, cos]])
    return R
""",
        "k is ignored": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        b = 1 / 10000 ** (i / d_model)
        cos, sin = math.cos(b), math.sin(b)
        R[i : i + 2, i : i + 2] = torch.tensor([[cos, sin], [-sin, cos]])
    return R
""",
        "no sines": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        b = k / 10000 ** (i / d_model)
        cos, sin = math.cos(b), math.sin(b)
        R[i : i + 2, i : i + 2] = torch.tensor([[cos, 0.0], [0.0, cos]])
    return R
""",
        "i in place of 2i": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        b = k / 10000 ** (i / 2 / d_model)
        cos, sin = math.cos(b), math.sin(b)
        R[i : i + 2, i : i + 2] = torch.tensor([[cos, sin], [-sin, cos]])
    return R
""",
        "2i doubled": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        b = k / 10000 ** (2 * i / d_model)
        cos, sin = math.cos(b), math.sin(b)
        R[i : i + 2, i : i + 2] = torch.tensor([[cos, sin], [-sin, cos]])
    return R
""",
        "frequencies that grow": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        b = k * 10000 ** (i / d_model)
        cos, sin = math.cos(b), math.sin(b)
        R[i : i + 2, i : i + 2] = torch.tensor([[cos, sin], [-sin, cos]])
    return R
""",
        "a permutation": """
def shift_matrix(k, d_model):
    return torch.roll(torch.eye(d_model), k, dims=0)
""",
        "one block": """
def shift_matrix(k, d_model):
    return torch.tensor([[math.cos(k), math.sin(k)], [-math.sin(k), math.cos(k)]])
""",
        "d_model is ignored": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        b = k / 10000 ** (i / 512)
        cos, sin = math.cos(b), math.sin(b)
        R[i : i + 2, i : i + 2] = torch.tensor([[cos, sin], [-sin, cos]])
    return R
""",
        "forbidden": """
def rotation(k, d, base=10_000):
    R = torch.zeros(d, d)
    for i in range(d // 2):
        beta = k / base ** (2 * i / d)
        R[2 * i, 2 * i : 2 * i + 2] = torch.tensor([math.cos(beta), math.sin(beta)])
        R[2 * i + 1, 2 * i : 2 * i + 2] = torch.tensor([-math.sin(beta), math.cos(beta)])
    return R

def shift_matrix(k, d_model):
    return rotation(k, d_model)
""",
    },
    "positional.count-by-mask": {
        "not used": """
def count(is_bos, mask):
    return mask.sum(-1, keepdim=True) - 1
""",
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
        "the row itself not counted": """
def count(is_bos, mask):
    from tfm_lib.attention import attention
    nothing = torch.zeros_like(is_bos)
    return 1 / attention(nothing, nothing, is_bos, mask)[0] - 2
""",
        "the hidden ones": """
def count(is_bos, mask):
    from tfm_lib.attention import attention
    nothing = torch.zeros_like(is_bos)
    return len(is_bos) - 1 / attention(nothing, nothing, is_bos, mask)[0]
""",
        "what is left of the share": """
def count(is_bos, mask):
    from tfm_lib.attention import attention
    nothing = torch.zeros_like(is_bos)
    return 1 - attention(nothing, nothing, is_bos, mask)[0]
""",
        "one axis only": """
def count(is_bos, mask):
    from tfm_lib.attention import attention
    nothing = torch.zeros_like(is_bos)
    return (1 / attention(nothing, nothing, is_bos, mask)[0] - 1).squeeze(-1)
""",
        "who sees me": """
def count(is_bos, mask):
    return mask.float().sum(dim=0)[:, None] - 1
""",
        "keys and values exchanged": """
def count(is_bos, mask):
    from tfm_lib.attention import attention
    nothing = torch.zeros_like(is_bos)
    return 1 / attention(nothing, is_bos, nothing, mask)[0] - 1
""",
        "changes its input": """
def count(is_bos, mask):
    from tfm_lib.attention import attention
    values = is_bos.clone()
    nothing = is_bos.zero_()
    return 1 / attention(nothing, nothing, values, mask)[0] - 1
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
        "odd columns first": """
def order(d_k):
    return [*range(1, d_k, 2), *range(0, d_k, 2)]
""",
        "first and last paired": """
def order(d_k):
    return [c for i in range(d_k // 2) for c in (i, d_k - 1 - i)]
""",
        "pairs in a list": """
def order(d_k):
    return [[c, c + d_k // 2] for c in range(d_k // 2)]
""",
        "counted from 1": """
def order(d_k):
    return [c for i in range(1, d_k // 2 + 1) for c in (i, i + d_k // 2)]
""",
        "half the columns": """
def order(d_k):
    return [c for i in range(d_k // 4) for c in (i, i + d_k // 2)] + [d_k // 4] * (d_k // 2 % 2)
""",
        "slow pairs first": """
def order(d_k):
    return [c for i in range(d_k // 2 - 1, -1, -1) for c in (i, i + d_k // 2)]
""",
        "d_k is ignored": """
def order(d_k):
    return [0, 2, 1, 3]
""",
        "not whole numbers": """
def order(d_k):
    return [c for i in range(d_k // 2) for c in (i, i + d_k / 2)]
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
        "rounded up": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    ratio = distance.clamp(min=half).double() / half
    far = half + (half * ratio.log() / math.log(max_distance / half)).ceil().long()
    return torch.where(distance < half, distance, far.clamp(max=n_buckets - 1))
""",
        "logarithm of the whole distance": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    ratio = distance.clamp(min=half).double() / half
    far = half + (half * ratio.log() / math.log(max_distance)).floor().long()
    return torch.where(distance < half, distance, far.clamp(max=n_buckets - 1))
""",
        "one bucket too many": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    ratio = distance.clamp(min=half).double() / half
    far = half + (half * ratio.log() / math.log(max_distance / half)).floor().long()
    return torch.where(distance < half, distance, far.clamp(max=n_buckets))
""",
        "n_buckets is ignored": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = 16
    ratio = distance.clamp(min=half).double() / half
    far = half + (half * ratio.log() / math.log(max_distance / half)).floor().long()
    return torch.where(distance < half, distance, far.clamp(max=31))
""",
        "the exact half is always 16": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = 16
    ratio = distance.clamp(min=half).double() / half
    far = half + ((n_buckets - half) * ratio.log() / math.log(max_distance / half)).floor().long()
    return torch.where(distance < half, distance, far.clamp(max=n_buckets - 1))
""",
        "max_distance is ignored": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    ratio = distance.clamp(min=half).double() / half
    far = half + (half * ratio.log() / math.log(128 / half)).floor().long()
    return torch.where(distance < half, distance, far.clamp(max=n_buckets - 1))
""",
        "no exact half": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    ratio = distance.clamp(min=half).double() / half
    far = half + (half * ratio.log() / math.log(max_distance / half)).floor().long()
    return far.clamp(max=n_buckets - 1)
""",
        "far buckets from 0": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    ratio = distance.clamp(min=half).double() / half
    far = (half * ratio.log() / math.log(max_distance / half)).floor().long().clamp(max=half - 1)
    return torch.where(distance < half, distance, far)
""",
        "not whole numbers": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    ratio = distance.clamp(min=half).double() / half
    far = half + (half * ratio.log() / math.log(max_distance / half)).floor()
    return torch.where(distance < half, distance, far.clamp(max=n_buckets - 1))
""",
        "changes its input": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    far = distance >= half
    ratio = distance[far].double() / half
    distance[far] = (half + (half * ratio.log() / math.log(max_distance / half)).long()).clamp(max=n_buckets - 1)
    return distance
""",
    },
}

# other ways to make a mistake that is known already
ALSO_WRONG = {
    "positional.half-distance": {
        "the exponent rounded": [
            """
def half_distance(n_heads, h):
    return math.log(2) * 2 ** (8 * h // n_heads)
""",
            """
def half_distance(n_heads, h):
    return math.log(2) * 2 ** round(8 * h / n_heads)
""",
        ],
    },
    "positional.count-by-mask": {
        "not used": [
            """
def count(is_bos, mask):
    return mask.cumsum(-1)[:, -1:] - is_bos.sum()
""",
        ],
    },
}

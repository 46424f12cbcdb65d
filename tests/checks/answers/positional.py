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
        "forbidden": """
def encode(n, d_model):
    from tfm_lib.positional import sinusoidal_encoding
    return sinusoidal_encoding(n, d_model)
""",
        "sines first, then cosines": """
def encode(n, d_model):
    pos = torch.arange(n).float()[:, None]
    i = torch.arange(d_model // 2)
    angle = pos / 10000 ** (2 * i / d_model)
    return torch.cat([angle.sin(), angle.cos()], dim=1)
""",
        "i in place of 2i": """
def encode(n, d_model):
    pe = torch.zeros(n, d_model)
    for pos in range(n):
        for i in range(d_model // 2):
            angle = pos / 10000 ** (i / d_model)
            pe[pos, 2 * i] = math.sin(angle)
            pe[pos, 2 * i + 1] = math.cos(angle)
    return pe
""",
    },
    "positional.half-distance": {
        "the exponent rounded": """
def half_distance(n_heads, h):
    return math.log(2) / 2 ** (-8 * h // n_heads)
""",
        "all heads": """
def half_distance(n_heads, h):
    return [math.log(2) / 2 ** (-8 * i / n_heads) for i in range(1, n_heads + 1)]
""",
        "powers of 2": """
def half_distance(n_heads, h):
    slope = 2 ** (-8 * h / n_heads)
    return 1 / slope
""",
        "heads counted from 0": """
def half_distance(n_heads, h):
    slope = 2 ** (-8 * (h - 1) / n_heads)
    return math.log(2) / slope
""",
    },
    "positional.shift-matrix": {
        "two plus signs": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        b = k / 10000 ** (i / d_model)
        R[i : i + 2, i : i + 2] = torch.tensor([[math.cos(b), math.sin(b)], [math.sin(b), math.cos(b)]])
    return R
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
        "turned back": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        a = k / 10000 ** (i / d_model)
        R[i, i] = R[i + 1, i + 1] = math.cos(a)
        R[i, i + 1] = -math.sin(a)
        R[i + 1, i] = math.sin(a)
    return R
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
        "changes its input": """
def count(is_bos, mask):
    from tfm_lib.attention import attention
    values = is_bos.clone()
    nothing = is_bos.zero_()
    return 1 / attention(nothing, nothing, values, mask)[0] - 1
""",
    },
    "positional.other-pairs": {
        "halves swapped": """
def order(d_k):
    return [(c + d_k // 2) % d_k for c in range(d_k)]
""",
        "not whole numbers": """
def order(d_k):
    return [c for i in range(d_k // 2) for c in (i, i + d_k / 2)]
""",
        "the way back": """
def order(d_k):
    return list(range(0, d_k, 2)) + list(range(1, d_k, 2))
""",
        "pairs the wrong way round": """
def order(d_k):
    result = []
    for c in range(d_k // 2):
        result += [c + d_k // 2, c]
    return result
""",
    },
}

# other ways to make a mistake that is known already
ALSO_WRONG = {
    "positional.encoding": {
        "frequencies that grow": [
            """
def encode(n, d_model):
    angle = torch.arange(n).float()[:, None] * 10000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
""",
        ],
        "no parentheses around the exponent": [
            """
def encode(n, d_model):
    angle = torch.arange(n)[:, None] / 10000.0 ** torch.arange(0, d_model, 2) / d_model
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
""",
        ],
    },
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

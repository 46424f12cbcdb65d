"""Unseen answers to the exercises of chapter `positional`, written from the statements alone."""

RIGHT = {
    "positional.encoding": {
        "filled by slices": """
def encode(n, d_model):
    pos = torch.arange(n, dtype=torch.float64).unsqueeze(1)
    freq = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    PE = torch.zeros(n, d_model)
    PE[:, 0::2] = torch.sin(pos * freq)
    PE[:, 1::2] = torch.cos(pos * freq)
    return PE
""",
        "number by number": """
def encode(n, d_model):
    rows = []
    for pos in range(n):
        row = []
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)
""",
        "stack and flatten": """
def encode(n, d_model):
    i = torch.arange(d_model // 2).double()
    angle = torch.arange(n).double()[:, None] / 10_000 ** (2 * i / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).reshape(n, d_model).float()
""",
        "exp and log in single precision": """
def encode(n, d_model):
    position = torch.arange(n).float().unsqueeze(1)
    div = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe = torch.empty(n, d_model)
    pe[:, ::2] = torch.sin(position * div)
    pe[:, 1::2] = torch.cos(position * div)
    return pe
""",
        "cosine as a shifted sine": """
def encode(n, d_model):
    c = torch.arange(d_model)
    rate = 10000.0 ** -((c - c % 2).double() / d_model)
    phase = (c % 2) * (math.pi / 2)
    return (torch.arange(n)[:, None] * rate + phase).sin().float()
""",
        "numpy": """
def encode(n, d_model):
    import numpy as np
    angle = np.outer(np.arange(n), 10000.0 ** (-np.arange(0, d_model, 2) / d_model))
    out = np.empty((n, d_model))
    out[:, 0::2], out[:, 1::2] = np.sin(angle), np.cos(angle)
    return torch.tensor(out, dtype=torch.float32)
""",
        "complex exponential": """
def encode(n, d_model):
    w = 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model)
    z = torch.exp(1j * torch.outer(torch.arange(n).double(), w))
    return torch.stack((z.imag, z.real), 2).flatten(1).float()
""",
    },
    "positional.half-distance": {
        "slope, then logarithm": """
def half_distance(n_heads, h):
    slope = 2 ** (-8 * h / n_heads)
    return math.log(2) / slope
""",
        "one line": """
def half_distance(n_heads, h):
    return math.log(2) * 2 ** (8 * h / n_heads)
""",
        "exponential function": """
def half_distance(n_heads, h):
    return math.exp(8 * h / n_heads * math.log(2)) * math.log(2)
""",
        "from the library's biases": """
def half_distance(n_heads, h):
    slope = -float(alibi_bias(n_heads, 2)[h - 1, 1, 0])
    return -math.log(0.5) / slope
""",
        "geometric sequence of slopes": """
def half_distance(n_heads, h):
    ratio = 2 ** (-8 / n_heads)
    slope = 1.0
    for _ in range(h):
        slope *= ratio
    return math.log(2) / slope
""",
        "numpy": """
def half_distance(n_heads, h):
    import numpy as np
    m = np.exp2(-8.0 * np.arange(1, n_heads + 1) / n_heads)
    return float(np.log(2) / m[h - 1])
""",
        "solved by bisection": """
def half_distance(n_heads, h):
    slope = 2.0 ** (-8.0 * h / n_heads)
    low, high = 0.0, 1000.0
    for _ in range(100):
        middle = (low + high) / 2
        if math.exp(-slope * middle) > 0.5:
            low = middle
        else:
            high = middle
    return (low + high) / 2
""",
    },
    "positional.shift-matrix": {
        "loop over pairs": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        a = k / 10000 ** (i / d_model)
        R[i, i], R[i, i + 1] = math.cos(a), math.sin(a)
        R[i + 1, i], R[i + 1, i + 1] = -math.sin(a), math.cos(a)
    return R
""",
        "block_diag": """
def shift_matrix(k, d_model):
    blocks = []
    for i in range(d_model // 2):
        t = k * 10000 ** (-2 * i / d_model)
        c, s = math.cos(t), math.sin(t)
        blocks.append(torch.tensor([[c, s], [-s, c]]))
    return torch.block_diag(*blocks)
""",
        "indices": """
def shift_matrix(k, d_model):
    even = torch.arange(0, d_model, 2)
    a = k * 10000.0 ** (-even.double() / d_model)
    R = torch.zeros(d_model, d_model, dtype=torch.float64)
    R[even, even] = R[even + 1, even + 1] = a.cos()
    R[even, even + 1] = a.sin()
    R[even + 1, even] = -a.sin()
    return R.float()
""",
        "diagonals": """
def shift_matrix(k, d_model):
    a = k * 10_000 ** (-torch.arange(0, d_model, 2).double() / d_model)
    zero = torch.zeros_like(a)
    off = torch.stack([a.sin(), zero], 1).flatten()[:-1]
    R = torch.diag(a.cos().repeat_interleave(2)) + torch.diag(off, 1) - torch.diag(off, -1)
    return R.to(torch.float32)
""",
        "matrix exponential of the generator": """
def shift_matrix(k, d_model):
    w = 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model)
    turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]]).double()
    quarter = torch.block_diag(*[torch.matrix_exp(k * x * turn) for x in w])
    return quarter.float()
""",
        "angles of the library": """
def shift_matrix(k, d_model):
    w = angles(2, d_model)[1].tolist()
    def entry(r, c):
        if r // 2 != c // 2:
            return 0.0
        a = k * w[r // 2]
        return math.cos(a) if r == c else math.sin(a) if r < c else -math.sin(a)
    return torch.tensor([[entry(r, c) for c in range(d_model)] for r in range(d_model)])
""",
    },
    "positional.count-by-mask": {
        "equal scores, inverse of the share": """
def count(is_bos, mask):
    same = torch.zeros_like(is_bos)
    share, _ = attention(same, same, is_bos, mask)
    return 1 / share - 1
""",
        "ones for queries and keys": """
def count(is_bos, mask):
    ones = torch.ones(len(is_bos), 1, dtype=is_bos.dtype)
    out = attention(ones, ones, is_bos, mask)[0]
    return (1 - out) / out
""",
        "rounded": """
def count(is_bos, mask):
    zero = is_bos.new_zeros(is_bos.shape[0], 4)
    out, weights = attention(zero, zero, is_bos, mask)
    return (out.reciprocal() - 1).round()
""",
        "shares of the others and of <bos>": """
def count(is_bos, mask):
    flat = 0 * is_bos
    both = torch.cat([is_bos, 1 - is_bos], dim=1)
    shares = attention(flat, flat, both, mask)[0]
    return shares[:, 1:] / shares[:, :1]
""",
        "queries of zero, any keys": """
def count(is_bos, mask):
    Q = torch.zeros_like(is_bos)
    p, _ = attention(Q, is_bos, is_bos, mask=mask)
    return p**-1 - 1.0
""",
        "from the weights": """
def count(is_bos, mask):
    n = len(is_bos)
    Z = torch.zeros(n, 1, dtype=is_bos.dtype)
    _, weights = attention(Z, Z, Z, mask)
    on_bos = weights @ is_bos
    return 1.0 / on_bos - 1.0
""",
        "others' share over the largest weight": """
def count(is_bos, mask):
    same = torch.zeros_like(is_bos)
    others, weights = attention(same, same, 1 - is_bos, mask)
    return others / weights.amax(dim=1, keepdim=True)
""",
    },
    "positional.other-pairs": {
        "append in pairs": """
def order(d_k):
    out = []
    for c in range(d_k // 2):
        out += [c, c + d_k // 2]
    return out
""",
        "comprehension": """
def order(d_k):
    return [i // 2 + (i % 2) * (d_k // 2) for i in range(d_k)]
""",
        "slices of a list": """
def order(d_k):
    result = [0] * d_k
    result[0::2] = range(d_k // 2)
    result[1::2] = range(d_k // 2, d_k)
    return result
""",
        "reshape of an arange": """
def order(d_k):
    return torch.arange(d_k).reshape(2, -1).T.flatten().tolist()
""",
        "zip of halves": """
def order(d_k):
    half = d_k // 2
    return [c for pair in zip(range(half), range(half, d_k)) for c in pair]
""",
        "sorted by key": """
def order(d_k):
    half = d_k // 2
    return sorted(range(d_k), key=lambda c: (c % half, c // half))
""",
        "inverse of the inverse": """
def order(d_k):
    theirs = [2 * c for c in range(d_k // 2)] + [2 * c + 1 for c in range(d_k // 2)]
    return [theirs.index(c) for c in range(d_k)]
""",
    },
    "positional.buckets": {
        "where and clamp": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    far = torch.log(distance.double().clamp(min=1) / exact) / math.log(max_distance / exact)
    large = exact + (exact * far).floor().long()
    return torch.where(distance < exact, distance.long(), large.clamp(max=n_buckets - 1))
""",
        "one by one": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2

    def one(r):
        if r < half:
            return r
        step = math.floor(half * math.log(r / half) / math.log(max_distance / half))
        return min(half + step, n_buckets - 1)

    return torch.tensor([one(r) for r in distance.flatten().tolist()], dtype=torch.long).reshape(distance.shape)
""",
        "mask and assignment on a copy": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    out = distance.clone().long()
    far = out >= half
    r = out[far].double()
    out[far] = half + (half * (r / half).log() / math.log(max_distance / half)).long()
    out[out > n_buckets - 1] = n_buckets - 1
    return out
""",
        "borders and bucketize": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    k = torch.arange(1, half, dtype=torch.double)
    borders = half * (max_distance / half) ** (k / half)
    far = half + torch.bucketize(distance.double(), borders, right=True)
    return torch.where(distance < half, distance, far)
""",
        "numpy": """
def bucket(distance, n_buckets=32, max_distance=128):
    import numpy as np
    r = distance.numpy().astype(np.int64)
    half = n_buckets // 2
    ratio = np.log(np.maximum(r, half) / half) / np.log(max_distance / half)
    far = np.minimum(half + np.floor(half * ratio), n_buckets - 1).astype(np.int64)
    return torch.from_numpy(np.where(r < half, r, far))
""",
        "logarithm to base 2": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    safe = distance.clamp(min=half).to(torch.float64)
    grown = half * torch.log2(safe / half) / math.log2(max_distance / half)
    far = torch.minimum(half + grown.floor(), torch.tensor(n_buckets - 1.0, dtype=torch.float64))
    return torch.where(distance < half, distance, far.long())
""",
        "recursion over nested lists": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2

    def walk(t):
        if isinstance(t, list):
            return [walk(u) for u in t]
        if t < half:
            return t
        k = int(half * math.log(t / half) / math.log(max_distance / half))
        return half + k if half + k < n_buckets else n_buckets - 1

    return torch.tensor(walk(distance.tolist()), dtype=torch.long).reshape(distance.shape)
""",
    },
}

WRONG = {
    "positional.encoding": {
        "sine and cosine swapped": """
def encode(n, d_model):
    pos = torch.arange(n, dtype=torch.float64).unsqueeze(1)
    freq = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    PE = torch.zeros(n, d_model)
    PE[:, 0::2] = torch.cos(pos * freq)
    PE[:, 1::2] = torch.sin(pos * freq)
    return PE
""",
        "sines first, then cosines": """
def encode(n, d_model):
    pos = torch.arange(n, dtype=torch.float64).unsqueeze(1)
    freq = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    PE = torch.zeros(n, d_model)
    PE[:, : d_model // 2] = torch.sin(pos * freq)
    PE[:, d_model // 2 :] = torch.cos(pos * freq)
    return PE
""",
        "exponent i, not 2i": """
def encode(n, d_model):
    rows = []
    for pos in range(n):
        row = []
        for i in range(d_model // 2):
            angle = pos / 10000 ** (i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)
""",
        "positions from 1": """
def encode(n, d_model):
    rows = []
    for pos in range(1, n + 1):
        row = []
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)
""",
        "base 1000": """
def encode(n, d_model):
    pos = torch.arange(n, dtype=torch.float64).unsqueeze(1)
    freq = 1000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    PE = torch.zeros(n, d_model)
    PE[:, 0::2] = torch.sin(pos * freq)
    PE[:, 1::2] = torch.cos(pos * freq)
    return PE
""",
        "multiplies by the power": """
def encode(n, d_model):
    rows = []
    for pos in range(n):
        row = []
        for i in range(d_model // 2):
            angle = pos * 10000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)
""",
        "sines only": """
def encode(n, d_model):
    pos = torch.arange(n, dtype=torch.float64).unsqueeze(1)
    freq = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    PE = torch.zeros(n, d_model)
    PE[:, 0::2] = torch.sin(pos * freq)
    PE[:, 1::2] = torch.sin(pos * freq)
    return PE
""",
        "own frequency for the cosine": """
def encode(n, d_model):
    rows = []
    for pos in range(n):
        row = []
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i / d_model)
            other = pos / 10000 ** ((2 * i + 1) / d_model)
            row += [math.sin(angle), math.cos(other)]
        rows.append(row)
    return torch.tensor(rows)
""",
        "divides by d_model / 2 in the exponent": """
def encode(n, d_model):
    i = torch.arange(d_model // 2).double()
    angle = torch.arange(n).double()[:, None] / 10_000 ** (2 * i / (d_model // 2))
    return torch.stack([angle.sin(), angle.cos()], dim=-1).reshape(n, d_model).float()
""",
        "frequencies reach the end, divided by d_model − 2": """
def encode(n, d_model):
    pos = torch.arange(n, dtype=torch.float64).unsqueeze(1)
    freq = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / max(d_model - 2, 1))
    PE = torch.zeros(n, d_model)
    PE[:, 0::2] = torch.sin(pos * freq)
    PE[:, 1::2] = torch.cos(pos * freq)
    return PE
""",
        "transposed": """
def encode(n, d_model):
    pos = torch.arange(n, dtype=torch.float64).unsqueeze(1)
    freq = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    PE = torch.zeros(n, d_model)
    PE[:, 0::2] = torch.sin(pos * freq)
    PE[:, 1::2] = torch.cos(pos * freq)
    return PE.T
""",
        "a batch axis": """
def encode(n, d_model):
    pos = torch.arange(n, dtype=torch.float64).unsqueeze(1)
    freq = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    PE = torch.zeros(n, d_model)
    PE[:, 0::2] = torch.sin(pos * freq)
    PE[:, 1::2] = torch.cos(pos * freq)
    return PE.unsqueeze(0)
""",
        "base is e": """
def encode(n, d_model):
    position = torch.arange(n).float().unsqueeze(1)
    div = torch.exp(torch.arange(0, d_model, 2).float() * (-1.0 / d_model))
    pe = torch.empty(n, d_model)
    pe[:, ::2] = torch.sin(position * div)
    pe[:, 1::2] = torch.cos(position * div)
    return pe
""",
        "decimal logarithm in exp": """
def encode(n, d_model):
    position = torch.arange(n).float().unsqueeze(1)
    div = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log10(10000.0) / d_model))
    pe = torch.empty(n, d_model)
    pe[:, ::2] = torch.sin(position * div)
    pe[:, 1::2] = torch.cos(position * div)
    return pe
""",
        "whole-number division in the exponent": """
def encode(n, d_model):
    rows = []
    for pos in range(n):
        row = []
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i // d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)
""",
        "one row too many": """
def encode(n, d_model):
    rows = []
    for pos in range(n + 1):
        row = []
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)
""",
        "angle in degrees": """
def encode(n, d_model):
    rows = []
    for pos in range(n):
        row = []
        for i in range(d_model // 2):
            angle = math.radians(pos / 10000 ** (2 * i / d_model))
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)
""",
        "full turns, times 2 pi": """
def encode(n, d_model):
    rows = []
    for pos in range(n):
        row = []
        for i in range(d_model // 2):
            angle = 2 * math.pi * pos / 10000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)
""",
        "scaled by the root of d_model": """
def encode(n, d_model):
    pos = torch.arange(n, dtype=torch.float64).unsqueeze(1)
    freq = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    PE = torch.zeros(n, d_model)
    PE[:, 0::2] = torch.sin(pos * freq)
    PE[:, 1::2] = torch.cos(pos * freq)
    return PE * math.sqrt(d_model)
""",
        "whole numbers kept": """
def encode(n, d_model):
    pos = torch.arange(n, dtype=torch.float64).unsqueeze(1)
    freq = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    PE = torch.zeros(n, d_model, dtype=torch.long)
    PE[:, 0::2] = torch.sin(pos * freq)
    PE[:, 1::2] = torch.cos(pos * freq)
    return PE
""",
        "hard-coded 50 positions": """
def encode(n, d_model):
    pos = torch.arange(50, dtype=torch.float64).unsqueeze(1)
    freq = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    PE = torch.zeros(50, d_model)
    PE[:, 0::2] = torch.sin(pos * freq)
    PE[:, 1::2] = torch.cos(pos * freq)
    return PE
""",
        "hard-coded width 512 in the frequencies": """
def encode(n, d_model):
    pos = torch.arange(n, dtype=torch.float64).unsqueeze(1)
    freq = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / 512)
    PE = torch.zeros(n, d_model)
    PE[:, 0::2] = torch.sin(pos * freq)
    PE[:, 1::2] = torch.cos(pos * freq)
    return PE
""",
        "returns a list": """
def encode(n, d_model):
    rows = []
    for pos in range(n):
        row = []
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return rows
""",
        "calls sinusoidal_encoding": """
def encode(n, d_model):
    return sinusoidal_encoding(n, d_model)
""",
        "calls angles": """
def encode(n, d_model):
    a = angles(n, d_model)
    return torch.stack([a.sin(), a.cos()], dim=-1).flatten(1).float()
""",
        "one frequency for all pairs": """
def encode(n, d_model):
    a = torch.arange(n, dtype=torch.float)[:, None].expand(n, d_model // 2)
    return torch.stack([a.sin(), a.cos()], dim=-1).flatten(1)
""",
    },
    "positional.half-distance": {
        "score, not weight, is halved": """
def half_distance(n_heads, h):
    slope = 2 ** (-8 * h / n_heads)
    return 0.5 / slope
""",
        "forgets the logarithm, 1 / slope": """
def half_distance(n_heads, h):
    slope = 2 ** (-8 * h / n_heads)
    return 1 / slope
""",
        "decimal logarithm": """
def half_distance(n_heads, h):
    slope = 2 ** (-8 * h / n_heads)
    return math.log10(2) / slope
""",
        "negative distance": """
def half_distance(n_heads, h):
    slope = 2 ** (-8 * h / n_heads)
    return math.log(0.5) / slope
""",
        "times the slope": """
def half_distance(n_heads, h):
    slope = 2 ** (-8 * h / n_heads)
    return math.log(2) * slope
""",
        "heads counted from 0": """
def half_distance(n_heads, h):
    slope = 2 ** (-8 * (h - 1) / n_heads)
    return math.log(2) / slope
""",
        "ignores h": """
def half_distance(n_heads, h):
    slope = 2 ** (-8 / n_heads)
    return math.log(2) / slope
""",
        "ignores n_heads": """
def half_distance(n_heads, h):
    slope = 2 ** (-h)
    return math.log(2) / slope
""",
        "n_heads hard-coded to 8": """
def half_distance(n_heads, h):
    slope = 2 ** (-8 * h / 8)
    return math.log(2) / slope
""",
        "n_heads and h swapped": """
def half_distance(n_heads, h):
    slope = 2 ** (-8 * n_heads / h)
    return math.log(2) / slope
""",
        "8 forgotten": """
def half_distance(n_heads, h):
    slope = 2 ** (-h / n_heads)
    return math.log(2) / slope
""",
        "rounded up": """
def half_distance(n_heads, h):
    slope = 2 ** (-8 * h / n_heads)
    return math.ceil(math.log(2) / slope)
""",
        "rounded": """
def half_distance(n_heads, h):
    slope = 2 ** (-8 * h / n_heads)
    return round(math.log(2) / slope)
""",
        "whole-number division": """
def half_distance(n_heads, h):
    slope = 2 ** (-8 * h // n_heads)
    return math.log(2) / slope
""",
        "slope grows with the head": """
def half_distance(n_heads, h):
    slope = 2 ** (8 * h / n_heads)
    return math.log(2) / slope
""",
        "slope to base e": """
def half_distance(n_heads, h):
    slope = math.exp(-8 * h / n_heads)
    return math.log(2) / slope
""",
        "linear slopes": """
def half_distance(n_heads, h):
    slope = h / n_heads
    return math.log(2) / slope
""",
        "falls to a quarter": """
def half_distance(n_heads, h):
    slope = 2 ** (-8 * h / n_heads)
    return math.log(4) / slope
""",
        "head counted from 0 in the library's biases": """
def half_distance(n_heads, h):
    slopes = -alibi_bias(n_heads, 2)[:, 1, 0]
    return math.log(2) / float(slopes[h])
""",
        "steps until the weight is below half, whole": """
def half_distance(n_heads, h):
    slope, r = 2 ** (-8 * h / n_heads), 0
    while math.exp(-slope * r) > 0.5:
        r += 1
    return r
""",
    },
    "positional.shift-matrix": {
        "turns backwards": """
def shift_matrix(k, d_model):
    blocks = []
    for i in range(d_model // 2):
        t = k * 10000 ** (-2 * i / d_model)
        c, s = math.cos(t), math.sin(t)
        blocks.append(torch.tensor([[c, -s], [s, c]]))
    return torch.block_diag(*blocks)
""",
        "transposed": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        a = k / 10000 ** (i / d_model)
        R[i, i], R[i, i + 1] = math.cos(a), math.sin(a)
        R[i + 1, i], R[i + 1, i + 1] = -math.sin(a), math.cos(a)
    return R.T
""",
        "sine positive in both places": """
def shift_matrix(k, d_model):
    blocks = []
    for i in range(d_model // 2):
        t = k * 10000 ** (-2 * i / d_model)
        c, s = math.cos(t), math.sin(t)
        blocks.append(torch.tensor([[c, s], [s, c]]))
    return torch.block_diag(*blocks)
""",
        "cosine and sine swapped": """
def shift_matrix(k, d_model):
    blocks = []
    for i in range(d_model // 2):
        t = k * 10000 ** (-2 * i / d_model)
        c, s = math.cos(t), math.sin(t)
        blocks.append(torch.tensor([[s, c], [-c, s]]))
    return torch.block_diag(*blocks)
""",
        "ignores k": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        a = 1 / 10000 ** (i / d_model)
        R[i, i], R[i, i + 1] = math.cos(a), math.sin(a)
        R[i + 1, i], R[i + 1, i + 1] = -math.sin(a), math.cos(a)
    return R
""",
        "turns by −k": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        a = -k / 10000 ** (i / d_model)
        R[i, i], R[i, i + 1] = math.cos(a), math.sin(a)
        R[i + 1, i], R[i + 1, i + 1] = -math.sin(a), math.cos(a)
    return R
""",
        "exponent i, not 2i": """
def shift_matrix(k, d_model):
    blocks = []
    for i in range(d_model // 2):
        t = k * 10000 ** (-i / d_model)
        c, s = math.cos(t), math.sin(t)
        blocks.append(torch.tensor([[c, s], [-s, c]]))
    return torch.block_diag(*blocks)
""",
        "exponent doubled": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        a = k / 10000 ** (2 * i / d_model)
        R[i, i], R[i, i + 1] = math.cos(a), math.sin(a)
        R[i + 1, i], R[i + 1, i + 1] = -math.sin(a), math.cos(a)
    return R
""",
        "same angle in every pair": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        a = k
        R[i, i], R[i, i + 1] = math.cos(a), math.sin(a)
        R[i + 1, i], R[i + 1, i + 1] = -math.sin(a), math.cos(a)
    return R
""",
        "base 1000": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        a = k / 1000 ** (i / d_model)
        R[i, i], R[i, i + 1] = math.cos(a), math.sin(a)
        R[i + 1, i], R[i + 1, i + 1] = -math.sin(a), math.cos(a)
    return R
""",
        "power instead of its inverse": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        a = k * 10000 ** (i / d_model)
        R[i, i], R[i, i + 1] = math.cos(a), math.sin(a)
        R[i + 1, i], R[i + 1, i + 1] = -math.sin(a), math.cos(a)
    return R
""",
        "halves instead of pairs": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(d_model // 2):
        a = k / 10000 ** (2 * i / d_model)
        R[i, i], R[i, i + d_model // 2] = math.cos(a), math.sin(a)
        R[i + d_model // 2, i], R[i + d_model // 2, i + d_model // 2] = -math.sin(a), math.cos(a)
    return R
""",
        "first pair only": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, 2, 2):
        a = k / 10000 ** (i / d_model)
        R[i, i], R[i, i + 1] = math.cos(a), math.sin(a)
        R[i + 1, i], R[i + 1, i + 1] = -math.sin(a), math.cos(a)
    return R
""",
        "last pair missing": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model - 2, 2):
        a = k / 10000 ** (i / d_model)
        R[i, i], R[i, i + 1] = math.cos(a), math.sin(a)
        R[i + 1, i], R[i + 1, i + 1] = -math.sin(a), math.cos(a)
    return R
""",
        "angle rounded to whole numbers": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        a = k // 10000 ** (i / d_model)
        R[i, i], R[i, i + 1] = math.cos(a), math.sin(a)
        R[i + 1, i], R[i + 1, i + 1] = -math.sin(a), math.cos(a)
    return R
""",
        "angle in degrees": """
def shift_matrix(k, d_model):
    blocks = []
    for i in range(d_model // 2):
        t = k * 10000 ** (-2 * i / d_model)
        c, s = math.cos(math.radians(t)), math.sin(math.radians(t))
        blocks.append(torch.tensor([[c, s], [-s, c]]))
    return torch.block_diag(*blocks)
""",
        "list of blocks": """
def shift_matrix(k, d_model):
    blocks = []
    for i in range(d_model // 2):
        t = k * 10000 ** (-2 * i / d_model)
        c, s = math.cos(t), math.sin(t)
        blocks.append(torch.tensor([[c, s], [-s, c]]))
    return torch.stack(blocks)
""",
        "frequency per number, not per pair": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        a = k / 10000 ** (i / d_model)
        R[i, i], R[i, i + 1] = math.cos(a), math.sin(a)
        a = k / 10000 ** ((i + 1) / d_model)
        R[i + 1, i], R[i + 1, i + 1] = -math.sin(a), math.cos(a)
    return R
""",
        "frequencies in reverse order": """
def shift_matrix(k, d_model):
    even = torch.arange(0, d_model, 2)
    a = k * 10000.0 ** (-even.double() / d_model).flip(0)
    R = torch.zeros(d_model, d_model, dtype=torch.float64)
    R[even, even] = R[even + 1, even + 1] = a.cos()
    R[even, even + 1] = a.sin()
    R[even + 1, even] = -a.sin()
    return R.float()
""",
        "d_model hard-coded to 8 in the frequencies": """
def shift_matrix(k, d_model):
    blocks = []
    for i in range(d_model // 2):
        t = k * 10000 ** (-2 * i / 8)
        c, s = math.cos(t), math.sin(t)
        blocks.append(torch.tensor([[c, s], [-s, c]]))
    return torch.block_diag(*blocks)
""",
        "fractions lost in a matrix of whole numbers": """
def shift_matrix(k, d_model):
    R = torch.zeros(d_model, d_model, dtype=torch.long)
    for i in range(0, d_model, 2):
        a = k / 10000 ** (i / d_model)
        R[i, i], R[i, i + 1] = math.cos(a), math.sin(a)
        R[i + 1, i], R[i + 1, i + 1] = -math.sin(a), math.cos(a)
    return R
""",
        "starts from ones": """
def shift_matrix(k, d_model):
    R = torch.ones(d_model, d_model)
    for i in range(0, d_model, 2):
        a = k / 10000 ** (i / d_model)
        R[i, i], R[i, i + 1] = math.cos(a), math.sin(a)
        R[i + 1, i], R[i + 1, i + 1] = -math.sin(a), math.cos(a)
    return R
""",
        "shifts the rows, as for one-hot positions": """
def shift_matrix(k, d_model):
    return torch.eye(d_model).roll(k, dims=0)
""",
        "outer product of two encodings": """
def shift_matrix(k, d_model):
    PE = sinusoidal_encoding(abs(k) + 1, d_model)
    return torch.outer(PE[-1], PE[0])
""",
        "a diagonal of quotients, which fits one position only": """
def shift_matrix(k, d_model):
    PE = sinusoidal_encoding(abs(k) + 2, d_model)
    return torch.diag(PE[abs(k) + 1] / PE[1])
""",
    },
    "positional.count-by-mask": {
        "counts <bos> too": """
def count(is_bos, mask):
    same = torch.zeros_like(is_bos)
    share, _ = attention(same, same, is_bos, mask)
    return 1 / share
""",
        "adds one instead of taking one away": """
def count(is_bos, mask):
    same = torch.zeros_like(is_bos)
    share, _ = attention(same, same, is_bos, mask)
    return 1 / share + 1
""",
        "share itself": """
def count(is_bos, mask):
    same = torch.zeros_like(is_bos)
    share, _ = attention(same, same, is_bos, mask)
    return share
""",
        "share of the others": """
def count(is_bos, mask):
    same = torch.zeros_like(is_bos)
    share, _ = attention(same, same, is_bos, mask)
    return 1 - share
""",
        "no mask": """
def count(is_bos, mask):
    same = torch.zeros_like(is_bos)
    share, _ = attention(same, same, is_bos)
    return 1 / share - 1
""",
        "causal mask instead of the given one": """
def count(is_bos, mask):
    same = torch.zeros_like(is_bos)
    share, _ = attention(same, same, is_bos, causal_mask(len(is_bos)))
    return 1 / share - 1
""",
        "mask turned round": """
def count(is_bos, mask):
    same = torch.zeros_like(is_bos)
    share, _ = attention(same, same, is_bos, ~mask)
    return 1 / share - 1
""",
        "shape (n,)": """
def count(is_bos, mask):
    same = torch.zeros_like(is_bos)
    share, _ = attention(same, same, is_bos, mask)
    return (1 / share - 1).squeeze(-1)
""",
        "queries and keys mark the words, so <bos> gets less": """
def count(is_bos, mask):
    same = 1 - is_bos
    share, _ = attention(same, same, is_bos, mask)
    return 1 / share - 1
""",
        "returns the weights": """
def count(is_bos, mask):
    same = torch.zeros_like(is_bos)
    _, share = attention(same, same, is_bos, mask)
    return share
""",
        "share times the length": """
def count(is_bos, mask):
    same = torch.zeros_like(is_bos)
    share, _ = attention(same, same, is_bos, mask)
    return len(is_bos) * (1 - share)
""",
        "mask transposed": """
def count(is_bos, mask):
    same = torch.zeros_like(is_bos)
    share, _ = attention(same, same, is_bos, mask.T)
    return 1 / share - 1
""",
        "upside down": """
def count(is_bos, mask):
    flat = 0 * is_bos
    both = torch.cat([is_bos, 1 - is_bos], dim=1)
    shares = attention(flat, flat, both, mask)[0]
    return shares[:, :1] / shares[:, 1:]
""",
        "values all ones": """
def count(is_bos, mask):
    same = torch.zeros_like(is_bos)
    share, _ = attention(same, same, torch.ones_like(is_bos), mask)
    return 1 / share - 1
""",
        "small constant in the denominator too large": """
def count(is_bos, mask):
    same = torch.zeros_like(is_bos)
    share, _ = attention(same, same, is_bos, mask)
    return 1 / (share + 1e-2) - 1
""",
        "random queries and keys": """
def count(is_bos, mask):
    same = torch.randn_like(is_bos)
    share, _ = attention(same, same, is_bos, mask)
    return 1 / share - 1
""",
        "zeroes is_bos in place for the queries": """
def count(is_bos, mask):
    value = is_bos.clone()
    same = is_bos.zero_()
    share, _ = attention(same, same, value, mask)
    return 1 / share - 1
""",
        "returns a pair with the mask": """
def count(is_bos, mask):
    same = torch.zeros_like(is_bos)
    share, _ = attention(same, same, is_bos, mask)
    return 1 / share - 1, mask
""",
        "counts without attention": """
def count(is_bos, mask):
    return mask.sum(dim=1, keepdim=True).to(is_bos.dtype) - 1
""",
        "positions by arange, without attention": """
def count(is_bos, mask):
    return torch.arange(len(is_bos), dtype=is_bos.dtype)[:, None]
""",
        "running sum of the words, without attention": """
def count(is_bos, mask):
    return (1 - is_bos).cumsum(dim=0)
""",
        "product of the mask and the words, without attention": """
def count(is_bos, mask):
    return mask.to(is_bos.dtype) @ (1 - is_bos)
""",
        "attention twice": """
def count(is_bos, mask):
    zero = torch.zeros_like(is_bos)
    bos = attention(zero, zero, is_bos, mask)[0]
    rest = attention(zero, zero, 1 - is_bos, mask)[0]
    return rest / bos
""",
        "attention once for each row": """
def count(is_bos, mask):
    rows = []
    for i in range(len(is_bos)):
        z = torch.zeros_like(is_bos)
        rows.append(1 / attention(z[i : i + 1], z, is_bos, mask[i : i + 1])[0] - 1)
    return torch.cat(rows)
""",
        "attention finds the share, causal distance the rest": """
def count(is_bos, mask):
    z = torch.zeros_like(is_bos)
    share, _ = attention(z, z, is_bos, mask)
    return torch.arange(len(is_bos), dtype=is_bos.dtype)[:, None] * (share > 0)
""",
        "is_bos ignored, length of the visible row": """
def count(is_bos, mask):
    z = torch.zeros_like(is_bos)
    _, weights = attention(z, z, is_bos, mask)
    return (weights > 0).sum(1, keepdim=True).to(is_bos.dtype)
""",
    },
    "positional.other-pairs": {
        "nothing changed": """
def order(d_k):
    out = []
    for c in range(d_k // 2):
        out += [2 * c, 2 * c + 1]
    return out
""",
        "second half first, which turns backwards": """
def order(d_k):
    out = []
    for c in range(d_k // 2):
        out += [c + d_k // 2, c]
    return out
""",
        "pairs in reverse": """
def order(d_k):
    out = []
    for c in range(d_k // 2):
        out += [c, c + d_k // 2]
    return out[::-1]
""",
        "frequencies in reverse": """
def order(d_k):
    out = []
    for c in reversed(range(d_k // 2)):
        out += [c, c + d_k // 2]
    return out
""",
        "halves swapped": """
def order(d_k):
    out = []
    for c in range(d_k // 2):
        out += [c, c + d_k // 2]
    return list(range(d_k // 2, d_k)) + list(range(d_k // 2))
""",
        "list of pairs": """
def order(d_k):
    out = []
    for c in range(d_k // 2):
        out.append([c, c + d_k // 2])
    return out
""",
        "counted from 1": """
def order(d_k):
    out = []
    for c in range(d_k // 2):
        out += [c + 1, c + 1 + d_k // 2]
    return out
""",
        "half too large by one": """
def order(d_k):
    out = []
    for c in range(d_k // 2):
        out += [c, min(c + d_k // 2 + 1, d_k - 1)]
    return out
""",
        "neighbour instead of the other half": """
def order(d_k):
    out = []
    for c in range(d_k // 2):
        out += [c, c + 1]
    return out
""",
        "first half only": """
def order(d_k):
    out = []
    for c in range(d_k // 2):
        out += [c]
    return out
""",
        "mirror, c with d_k − 1 − c": """
def order(d_k):
    out = []
    for c in range(d_k // 2):
        out += [c, d_k - 1 - c]
    return out
""",
        "hard-coded d_k of 8": """
def order(d_k):
    out = []
    for c in range(4):
        out += [c, c + 4]
    return out
""",
        "one pair missing": """
def order(d_k):
    out = []
    for c in range(d_k // 2 - 1):
        out += [c, c + d_k // 2]
    return out
""",
        "inverse permutation, ours to theirs": """
def order(d_k):
    return list(range(0, d_k, 2)) + list(range(1, d_k, 2))
""",
        "inverse permutation by formula": """
def order(d_k):
    return [(2 * c) % d_k + (2 * c) // d_k for c in range(d_k)]
""",
        "same column of ours for both of a pair": """
def order(d_k):
    return [c % (d_k // 2) for c in range(d_k)]
""",
        "odd columns first": """
def order(d_k):
    return list(range(1, d_k, 2)) + list(range(0, d_k, 2))
""",
        "interleaves with the second half reversed": """
def order(d_k):
    half = list(range(d_k // 2, d_k))
    out = []
    for c in range(d_k // 2):
        out += [c, half.pop()]
    return out
""",
        "swaps the numbers within our pairs": """
def order(d_k):
    return [c + 1 if c % 2 == 0 else c - 1 for c in range(d_k)]
""",
    },
    "positional.buckets": {
        "not cut at the last bucket": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    far = torch.log(distance.double().clamp(min=1) / exact) / math.log(max_distance / exact)
    large = exact + (exact * far).floor().long()
    return torch.where(distance < exact, distance.long(), large)
""",
        "cut one bucket too late": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    far = torch.log(distance.double().clamp(min=1) / exact) / math.log(max_distance / exact)
    large = exact + (exact * far).floor().long()
    return torch.where(distance < exact, distance.long(), large.clamp(max=n_buckets))
""",
        "ignores n_buckets": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = 16
    far = torch.log(distance.double().clamp(min=1) / exact) / math.log(max_distance / exact)
    large = exact + (exact * far).floor().long()
    return torch.where(distance < exact, distance.long(), large.clamp(max=31))
""",
        "ignores max_distance": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    far = torch.log(distance.double().clamp(min=1) / exact) / math.log(128 / exact)
    large = exact + (exact * far).floor().long()
    return torch.where(distance < exact, distance.long(), large.clamp(max=n_buckets - 1))
""",
        "last bucket hard-coded to 31": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    far = torch.log(distance.double().clamp(min=1) / exact) / math.log(max_distance / exact)
    large = exact + (exact * far).floor().long()
    return torch.where(distance < exact, distance.long(), large.clamp(max=31))
""",
        "half hard-coded to 16": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = 16
    far = torch.log(distance.double().clamp(min=1) / exact) / math.log(max_distance / exact)
    large = exact + (exact * far).floor().long()
    return torch.where(distance < exact, distance.long(), large.clamp(max=n_buckets - 1))
""",
        "all buckets exact": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    return distance.clamp(max=n_buckets - 1)
    far = torch.log(distance.double().clamp(min=1) / exact) / math.log(max_distance / exact)
    large = exact + (exact * far).floor().long()
    return torch.where(distance < exact, distance.long(), large.clamp(max=n_buckets - 1))
""",
        "rounded up": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    far = torch.log(distance.double().clamp(min=1) / exact) / math.log(max_distance / exact)
    large = exact + (exact * far).ceil().long()
    return torch.where(distance < exact, distance.long(), large.clamp(max=n_buckets - 1))
""",
        "rounded to the nearest": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    far = torch.log(distance.double().clamp(min=1) / exact) / math.log(max_distance / exact)
    large = exact + (exact * far).round().long()
    return torch.where(distance < exact, distance.long(), large.clamp(max=n_buckets - 1))
""",
        "floats": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    far = torch.log(distance.double().clamp(min=1) / exact) / math.log(max_distance / exact)
    large = exact + (exact * far).floor().long()
    return torch.where(distance < exact, distance.long(), large.clamp(max=n_buckets - 1)).float()
""",
        "forgets to add the exact buckets": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    far = torch.log(distance.double().clamp(min=1) / exact) / math.log(max_distance / exact)
    large = (exact * far).floor().long()
    return torch.where(distance < exact, distance.long(), large.clamp(max=n_buckets - 1))
""",
        "logarithm of the distance, not of its ratio": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    far = torch.log(distance.double().clamp(min=1)) / math.log(max_distance / exact)
    large = exact + (exact * far).floor().long()
    return torch.where(distance < exact, distance.long(), large.clamp(max=n_buckets - 1))
""",
        "denominator without the exact distances": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    far = torch.log(distance.double().clamp(min=1) / exact) / math.log(max_distance)
    large = exact + (exact * far).floor().long()
    return torch.where(distance < exact, distance.long(), large.clamp(max=n_buckets - 1))
""",
        "all n_buckets shared out over the logarithm": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    far = torch.log(distance.double().clamp(min=1) / exact) / math.log(max_distance / exact)
    large = exact + (n_buckets * far).floor().long()
    return torch.where(distance < exact, distance.long(), large.clamp(max=n_buckets - 1))
""",
        "logarithm for the near ones as well": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    far = torch.log(distance.double().clamp(min=1) / exact) / math.log(max_distance / exact)
    large = exact + (exact * far).floor().long()
    return large.clamp(0, n_buckets - 1)
""",
        "far and near the wrong way round": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    far = torch.log(distance.double().clamp(min=1) / exact) / math.log(max_distance / exact)
    large = exact + (exact * far).floor().long()
    return torch.where(distance >= exact, distance.long(), large.clamp(max=n_buckets - 1))
""",
        "linear in the far distances": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    far = (distance.double() - exact) / (max_distance - exact)
    large = exact + (exact * far).floor().long()
    return torch.where(distance < exact, distance.long(), large.clamp(max=n_buckets - 1))
""",
        "flattened": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2

    def one(r):
        if r < half:
            return r
        step = math.floor(half * math.log(r / half) / math.log(max_distance / half))
        return min(half + step, n_buckets - 1)

    return torch.tensor([one(r) for r in distance.flatten().tolist()], dtype=torch.long)
""",
        "changes distance in place": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    out = distance
    far = out >= half
    r = out[far].double()
    out[far] = half + (half * (r / half).log() / math.log(max_distance / half)).long()
    out[out > n_buckets - 1] = n_buckets - 1
    return out
""",
        "clamps distance in place": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    far = torch.log(distance.clamp_(min=1).double() / exact) / math.log(max_distance / exact)
    large = exact + (exact * far).floor().long()
    return torch.where(distance < exact, distance.long(), large.clamp(max=n_buckets - 1))
""",
        "cut at max_distance, not at the last bucket": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    far = torch.log(distance.double().clamp(min=1) / exact) / math.log(max_distance / exact)
    large = exact + (exact * far).floor().long()
    return torch.where(distance < exact, distance.long(), large.clamp(max=max_distance))
""",
        "ln in one place, log10 in the other": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2

    def one(r):
        if r < half:
            return r
        step = math.floor(half * math.log(r / half) / math.log10(max_distance / half))
        return min(half + step, n_buckets - 1)

    return torch.tensor([one(r) for r in distance.flatten().tolist()], dtype=torch.long).reshape(distance.shape)
""",
        "floored quotient before the logarithm": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2

    def one(r):
        if r < half:
            return r
        step = math.floor(half * math.log(r // half) / math.log(max_distance / half))
        return min(half + step, n_buckets - 1)

    return torch.tensor([one(r) for r in distance.flatten().tolist()], dtype=torch.long).reshape(distance.shape)
""",
        "floored before the multiplication": """
def bucket(distance, n_buckets=32, max_distance=128):
    exact = n_buckets // 2
    far = torch.log(distance.double().clamp(min=1) / exact) / math.log(max_distance / exact)
    large = exact + exact * far.floor().long()
    return torch.where(distance < exact, distance.long(), large.clamp(max=n_buckets - 1))
""",
        "a row of distances only": """
def bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2

    def one(r):
        if r < half:
            return r
        step = math.floor(half * math.log(r / half) / math.log(max_distance / half))
        return min(half + step, n_buckets - 1)

    return torch.tensor([one(r) for r in [int(r) for r in distance]], dtype=torch.long).reshape(distance.shape)
""",
        "exact up to n_buckets, logarithm beyond": """
def bucket(distance, n_buckets=32, max_distance=128):
    far = n_buckets * torch.log(distance.clamp(min=1) / n_buckets) / math.log(max_distance / n_buckets)
    large = (n_buckets + far.floor().long()).clamp(max=2 * n_buckets - 1)
    return torch.where(distance < n_buckets, distance, large)
""",
        "half the buckets kept for the future, as in an encoder": """
def bucket(distance, n_buckets=32, max_distance=128):
    n_buckets //= 2
    half = n_buckets // 2
    far = half + (half * torch.log(distance.clamp(min=half).double() / half) / math.log(max_distance / half)).long()
    return torch.where(distance < half, distance, far.clamp(max=n_buckets - 1))
""",
    },
}

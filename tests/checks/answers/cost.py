"""Right and wrong answers to the exercises of chapter `cost`."""

RIGHT = {
    "cost.encoder-layer": {
        "formula": """
def encoder_layer(n, d, d_ff):
    return 4 * n * d**2 + 2 * n**2 * d + 2 * n * d * d_ff
""",
        "product by product": """
def encoder_layer(n, d, d_ff):
    def product(a, b, c):
        return a * b * c
    projections = 4 * product(n, d, d)
    attention = product(n, d, n) + product(n, n, d)
    return projections + attention + product(n, d, d_ff) + product(n, d_ff, d)
""",
        "for each word": """
def encoder_layer(n, d, d_ff):
    total = 0
    for _ in range(n):
        total += 4 * d * d + d * n + n * d + 2 * d * d_ff
    return total
""",
        "tensors": """
def encoder_layer(n, d, d_ff):
    n, d, d_ff = torch.tensor([n, d, d_ff], dtype=torch.float64)
    return 2 * n * d * (2 * d + n + d_ff)
""",
    },
    "cost.crossover": {
        "the program, mended": """
def crossover(d, matrices, projections):
    n = 1
    while 2 * n * n * d + projections * n * d * d <= matrices * n * d * d:
        n += 1
    return n
""",
        "solved for n": """
def crossover(d, matrices, projections):
    return max(1, (matrices - projections) * d // 2 + 1)
""",
        "floats": """
def crossover(d, matrices, projections):
    return max(1, math.floor((matrices - projections) * d / 2) + 1)
""",
        "the first that satisfies": """
def crossover(d, matrices, projections):
    return next(n for n in range(1, 10**9) if 2 * n + projections * d > matrices * d)
""",
    },
    "cost.doubling": {
        "a loop": """
def layers_needed(n, k, most):
    heard, step, layers = 1, 1, 0
    while heard < n:
        heard += (k - 1) * step
        layers += 1
        step = 2 * step if step < most else 1
    return max(1, layers)
""",
        "cycle": """
def layers_needed(n, k, most):
    from itertools import cycle
    steps = []
    while not steps or steps[-1] < most:
        steps.append(2 ** len(steps))
    heard = 1
    for layers, step in enumerate(cycle(steps), 1):
        heard += (k - 1) * step
        if heard >= n:
            return layers
""",
        "whole cycles first": """
def layers_needed(n, k, most):
    powers = most.bit_length()
    reach = (k - 1) * (2 * most - 1)
    layers = (n - 1) // reach * powers
    rest = (n - 1) % reach
    step = 1
    while rest > 0:
        rest -= (k - 1) * step
        layers, step = layers + 1, 2 * step
    return layers
""",
        "going back from the last word": """
def layers_needed(n, k, most):
    place, layer = n - 1, 0
    while place > 0:
        distance = 2 ** (layer % (int(math.log2(most)) + 1))
        place -= (k - 1) * distance
        layer += 1
    return layer
""",
    },
    "cost.growth": {
        "lists": """
def growth(work, sizes, clock):
    def seconds(n):
        rounds = []
        for _ in range(7):
            start = clock()
            work(n)
            rounds.append(clock() - start)
        return sorted(rounds)[3]
    upper = sizes[len(sizes) // 2:]
    x = [math.log(n) for n in upper]
    y = [math.log(seconds(n)) for n in upper]
    a, b = sum(x) / len(x), sum(y) / len(y)
    return sum((p - a) * (q - b) for p, q in zip(x, y)) / sum((p - a) ** 2 for p in x)
""",
        "tensors": """
def growth(work, sizes, clock):
    def seconds(n):
        rounds = []
        for _ in range(7):
            start = clock()
            work(n)
            rounds.append(clock() - start)
        return torch.tensor(rounds, dtype=torch.float64).median()
    upper = sizes[len(sizes) // 2:]
    x = torch.tensor(upper, dtype=torch.float64).log()
    y = torch.stack([seconds(n) for n in upper]).log()
    x, y = x - x.mean(), y - y.mean()
    return (x @ y / (x @ x)).item()
""",
        "numpy": """
def growth(work, sizes, clock):
    import numpy as np
    times = np.zeros((len(sizes), 7))
    for i, n in enumerate(sizes):
        for j in range(7):
            start = clock()
            work(n)
            times[i, j] = clock() - start
    half = len(sizes) // 2
    return np.polyfit(np.log(sizes[half:]), np.log(np.median(times, axis=1)[half:]), 1)[0]
""",
        "statistics": """
def growth(work, sizes, clock):
    from statistics import linear_regression, median
    points = {}
    for n in sizes[len(sizes) // 2:]:
        rounds = []
        for _ in range(7):
            before = clock()
            work(n)
            rounds.append(clock() - before)
        points[math.log2(n)] = math.log2(median(rounds))
    return linear_regression(list(points), list(points.values())).slope
""",
    },
    "cost.today": {
        "step by step": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 2 * n_layers * narrow * 2
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "a list": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 2 * n_layers * narrow * 2
    flops = 2 * (layers + vocab * d)
    return [parameters, cache, flops]
""",
        "loops": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    d_k = d // n_heads
    parameters = matrices = 0
    for _ in range(n_layers):
        for rows, columns in [(d, d), (d, n_kv * d_k), (d, n_kv * d_k), (d, d), (d, d_ff), (d, d_ff), (d_ff, d)]:
            matrices += rows * columns
        parameters += 2 * d
    parameters += d + matrices + 2 * vocab * d
    cache = sum(2 * d_k for _ in range(n_layers) for _ in range(n_kv) for _ in ('key', 'value'))
    return parameters, cache, 2 * (matrices + vocab * d)
""",
        "flops from the parameters": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    d_k = d // n_heads
    parameters = 2 * vocab * d + d + n_layers * (2 * d + 2 * d**2 + 2 * d * n_kv * d_k + 3 * d * d_ff)
    multiplied = parameters - vocab * d - d * (2 * n_layers + 1)
    return parameters, 4 * n_layers * n_kv * d_k, 2 * multiplied
""",
    },
}

WRONG = {
    "cost.encoder-layer": {
        "W^O forgotten": """
def encoder_layer(n, d, d_ff):
    return 3 * n * d**2 + 2 * n**2 * d + 2 * n * d * d_ff
""",
        "projections forgotten": """
def encoder_layer(n, d, d_ff):
    return 2 * n**2 * d + 2 * n * d * d_ff
""",
        "means forgotten": """
def encoder_layer(n, d, d_ff):
    return 4 * n * d * d + n * n * d + 2 * n * d * d_ff
""",
        "additions counted too": """
def encoder_layer(n, d, d_ff):
    return 2 * (4 * n * d ** 2 + 2 * n ** 2 * d + 2 * n * d * d_ff)
""",
    },
    "cost.crossover": {
        "the program as it was": """
def crossover(d, matrices, projections):
    n = 1
    while n * n * d <= n * d * d:
        n += 1
    return n
""",
        "projections forgotten": """
def crossover(d, matrices, projections):
    n = 1
    while 2 * n * n * d <= matrices * n * d * d:
        n += 1
    return n
""",
        "means forgotten": """
def crossover(d, matrices, projections):
    n = 1
    while n * n * d + projections * n * d * d <= matrices * n * d * d:
        n += 1
    return n
""",
        "less than one word": """
def crossover(d, matrices, projections):
    # 2 n^2 d + p n d^2 > m n d^2   <=>   n > (m - p) d / 2
    return (matrices - projections) * d // 2 + 1
""",
    },
    "cost.doubling": {
        "it never starts over": """
def layers_needed(n, k, most):
    heard, step, layers = 1, 1, 0
    while heard < n:
        heard += (k - 1) * step
        layers += 1
        step = 2 * step
    return layers
""",
        "it stays at most": """
def layers_needed(n, k, most):
    heard, step, layers = 1, 1, 0
    while heard < n:
        heard += (k - 1) * step
        layers += 1
        step = min(2 * step, most)
    return layers
""",
        "k words for k − 1": """
def layers_needed(n, k, most):
    reach, distance, layers = 1, 1, 0
    while reach < n:
        reach += k * distance
        layers += 1
        distance = 1 if distance == most else 2 * distance
    return layers
""",
        "it starts over too early": """
def layers_needed(n, k, most):
    reach, distance, layers = 1, 1, 0
    while reach < n:
        reach += (k - 1) * distance
        layers += 1
        distance *= 2
        if distance >= most:
            distance = 1
    return layers
""",
    },
    "cost.growth": {
        "no work": """
def growth(work, sizes, clock):
    return 2.0
""",
        "another clock": """
def growth(work, sizes, clock):
    from time import perf_counter
    x, y = [], []
    for n in sizes[len(sizes) // 2:]:
        rounds = []
        for _ in range(7):
            start = perf_counter()
            work(n)
            rounds.append(perf_counter() - start)
        x.append(math.log(n))
        y.append(math.log(sorted(rounds)[3]))
    a, b = sum(x) / len(x), sum(y) / len(y)
    return sum((p - a) * (q - b) for p, q in zip(x, y)) / sum((p - a) ** 2 for p in x)
""",
        "mean for median": """
def growth(work, sizes, clock):
    xs, ys = [], []
    for n in sizes[len(sizes) // 2:]:
        times = []
        for _ in range(7):
            start = clock()
            work(n)
            times.append(clock() - start)
        xs.append(math.log(n))
        ys.append(math.log(sum(times) / 7))
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys)) / sum((x - mx) ** 2 for x in xs)
""",
        "all sizes": """
def growth(work, sizes, clock):
    import numpy as np
    medians = []
    for n in sizes:
        times = []
        for _ in range(7):
            start = clock()
            work(n)
            times.append(clock() - start)
        medians.append(np.median(times))
    return float(np.polyfit(np.log(sizes), np.log(medians), 1)[0])
""",
    },
    "cost.today": {
        "embeddings once": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 2 * n_layers * narrow * 2
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "no three numbers": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 2 * n_layers * narrow * 2
    flops = 2 * (layers + vocab * d)
    return parameters
""",
        "two for every parameter": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    kv = n_kv * d // n_heads
    layer = 2 * d * d + 2 * d * kv + 3 * d * d_ff + 2 * d
    parameters = 2 * vocab * d + n_layers * layer + d
    return parameters, n_layers * 2 * kv * 2, 2 * parameters
""",
        "as wide as the model": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    width = d // n_heads
    matrices = 2 * d * d + 2 * d * n_kv * width + 3 * d * d_ff
    parameters = 2 * vocab * d + n_layers * (matrices + 2 * d) + d
    cache = n_layers * 2 * n_heads * width * 2
    flops = 2 * (n_layers * matrices + vocab * d)
    return parameters, cache, flops
""",
    },
}

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
    "cost.batch": {
        "formula": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    return numbers // (n_layers * (n_heads * n**2 + 4 * n * d))
""",
        "adding sentences": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    layer = n_heads * n * n + 4 * n * d
    batch = 0
    while (batch + 1) * n_layers * layer <= numbers:
        batch += 1
    return batch
""",
        "floor": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    return math.floor(numbers / (n_layers * (n_heads * n**2 + 4 * n * d)))
""",
        "tensor": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    return torch.div(torch.tensor(numbers), n_layers * n * (n_heads * n + 4 * d), rounding_mode='floor')
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
    return 4 * n * d**2 + n**2 * d + 2 * n * d * d_ff
""",
        "scores and means forgotten": """
def encoder_layer(n, d, d_ff):
    return 4 * n * d**2 + 2 * n * d * d_ff
""",
        "one matrix in the feed-forward network": """
def encoder_layer(n, d, d_ff):
    return 4 * n * d**2 + 2 * n**2 * d + n * d * d_ff
""",
        "feed-forward network forgotten": """
def encoder_layer(n, d, d_ff):
    return 4 * n * d**2 + 2 * n**2 * d
""",
        "d_ff is ignored": """
def encoder_layer(n, d, d_ff):
    return 12 * n * d**2 + 2 * n**2 * d
""",
        "additions counted too": """
def encoder_layer(n, d, d_ff):
    return 8 * n * d**2 + 4 * n**2 * d + 4 * n * d * d_ff
""",
        "feed-forward network of one word": """
def encoder_layer(n, d, d_ff):
    return 4 * n * d**2 + 2 * n**2 * d + 2 * d * d_ff
""",
        "feed-forward network for each pair": """
def encoder_layer(n, d, d_ff):
    return 4 * n * d**2 + 2 * n**2 * d + 2 * n**2 * d * d_ff
""",
        "projections of one word": """
def encoder_layer(n, d, d_ff):
    return 4 * d**2 + 2 * n**2 * d + 2 * n * d * d_ff
""",
        "feed-forward matrices square": """
def encoder_layer(n, d, d_ff):
    return 4 * n * d**2 + 2 * n**2 * d + 2 * n * d_ff**2
""",
        "one word": """
def encoder_layer(n, d, d_ff):
    return 4 * d**2 + 2 * n * d + 2 * d * d_ff
""",
        "softmax counted": """
def encoder_layer(n, d, d_ff):
    return 4 * n * d**2 + 2 * n**2 * d + 2 * n * d * d_ff + n * n
""",
        "biases counted": """
def encoder_layer(n, d, d_ff):
    return 4 * n * d**2 + 2 * n**2 * d + 2 * n * d * d_ff + 4 * n * d + n * d_ff + n * d
""",
        "forward and backward": """
def encoder_layer(n, d, d_ff):
    return 3 * (4 * n * d**2 + 2 * n**2 * d + 2 * n * d * d_ff)
""",
        "weights counted, not products": """
def encoder_layer(n, d, d_ff):
    return 4 * d**2 + 2 * d * d_ff
""",
        "n and d exchanged": """
def encoder_layer(n, d, d_ff):
    return 4 * n**2 * d + 2 * n * d**2 + 2 * n * d * d_ff
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
        "means forgotten": """
def crossover(d, matrices, projections):
    n = 1
    while n * n * d + projections * n * d * d <= matrices * n * d * d:
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
        "projections on the wrong side": """
def crossover(d, matrices, projections):
    n = 1
    while 2 * n * n * d <= (matrices + projections) * n * d * d:
        n += 1
    return n
""",
        "matrices are ignored": """
def crossover(d, matrices, projections):
    n = 1
    while 2 * n * n * d + projections * n * d * d <= n * d * d:
        n += 1
    return n
""",
        "projections are three": """
def crossover(d, matrices, projections):
    n = 1
    while 2 * n * n * d + 3 * n * d * d <= matrices * n * d * d:
        n += 1
    return n
""",
        "as often is not more often": """
def crossover(d, matrices, projections):
    n = 1
    while 2 * n * n * d + projections * n * d * d < matrices * n * d * d:
        n += 1
    return n
""",
        "half a word": """
def crossover(d, matrices, projections):
    return (matrices - projections) * d / 2
""",
        "less than one word": """
def crossover(d, matrices, projections):
    return (matrices - projections) * d // 2 + 1
""",
        "d is ignored": """
def crossover(d, matrices, projections):
    return max(1, (matrices - projections) // 2 + 1)
""",
        "projections of one word": """
def crossover(d, matrices, projections):
    n = 1
    while 2 * n * n * d + projections * d * d <= matrices * n * d * d:
        n += 1
    return n
""",
        "only the matrices were put in": """
def crossover(d, matrices, projections):
    n = 1
    while n * n * d <= matrices * n * d * d:
        n += 1
    return n
""",
        "the two exchanged": """
def crossover(d, matrices, projections):
    n = 1
    while 2 * n * n * d + matrices * n * d * d <= projections * n * d * d:
        n += 1
    return n
""",
        "the two on the wrong side": """
def crossover(d, matrices, projections):
    n = 1
    while n * n * d + projections * n * d * d <= 2 * matrices * n * d * d:
        n += 1
    return n
""",
        "no word at all": """
def crossover(d, matrices, projections):
    return max(0, (matrices - projections) * d // 2 + 1)
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
        "it starts over too early": """
def layers_needed(n, k, most):
    heard, step, layers = 1, 1, 0
    while heard < n:
        heard += (k - 1) * step
        layers += 1
        step = 2 * step if 2 * step < most else 1
    return layers
""",
        "distances grow by k": """
def layers_needed(n, k, most):
    heard, step, layers = 1, 1, 0
    while heard < n:
        heard += (k - 1) * step
        layers += 1
        step = k * step if step < most else 1
    return layers
""",
        "k words for k − 1": """
def layers_needed(n, k, most):
    heard, step, layers = 1, 1, 0
    while heard < n:
        heard += k * step
        layers += 1
        step = 2 * step if step < most else 1
    return layers
""",
        "one word for k − 1": """
def layers_needed(n, k, most):
    heard, step, layers = 1, 1, 0
    while heard < n:
        heard += step
        layers += 1
        step = 2 * step if step < most else 1
    return layers
""",
        "one layer reaches only itself": """
def layers_needed(n, k, most):
    heard, step, layers = 0, 1, 0
    while heard < n:
        heard += (k - 1) * step
        layers += 1
        step = 2 * step if step < most else 1
    return layers
""",
        "the last word is missing": """
def layers_needed(n, k, most):
    heard, step, layers = 2, 1, 0
    while heard < n:
        heard += (k - 1) * step
        layers += 1
        step = 2 * step if step < most else 1
    return max(1, layers)
""",
        "no distance at all": """
def layers_needed(n, k, most):
    heard, step, layers = 1, 1, 0
    while heard < n:
        heard += (k - 1) * step
        layers += 1
        step = 1
    return layers
""",
        "a logarithm to base k": """
def layers_needed(n, k, most):
    layers = 1
    while k**layers < n:
        layers += 1
    return layers
""",
        "a logarithm to base 2": """
def layers_needed(n, k, most):
    return math.ceil(math.log2(n))
""",
        "it starts at 2": """
def layers_needed(n, k, most):
    heard, step, layers = 1, 2, 0
    while heard < n:
        heard += (k - 1) * step
        layers += 1
        step = 2 * step if step < most else 2
    return layers
""",
        "a layer too many": """
def layers_needed(n, k, most):
    heard, step, layers = 1, 1, 0
    while heard < n:
        heard += (k - 1) * step
        layers += 1
        step = 2 * step if step < most else 1
    return layers + 1
""",
        "most is ignored": """
def layers_needed(n, k, most):
    heard, step, layers = 1, 1, 0
    while heard < n:
        heard += (k - 1) * step
        layers += 1
        step = 2 * step if step < 16 else 1
    return layers
""",
        "it starts over too late": """
def layers_needed(n, k, most):
    heard, step, layers = 1, 1, 0
    while heard < n:
        heard += (k - 1) * step
        layers += 1
        step = 2 * step if step <= most else 1
    return layers
""",
        "whole cycles only": """
def layers_needed(n, k, most):
    cycle = (k - 1) * (2 * most - 1)
    return math.ceil((n - 1) / cycle) * most.bit_length()
""",
    },
    "cost.growth": {
        "mean for median": """
def growth(work, sizes, clock):
    def seconds(n):
        rounds = []
        for _ in range(7):
            start = clock()
            work(n)
            rounds.append(clock() - start)
        return sum(rounds) / 7
    upper = sizes[len(sizes) // 2:]
    x = [math.log(n) for n in upper]
    y = [math.log(seconds(n)) for n in upper]
    a, b = sum(x) / len(x), sum(y) / len(y)
    return sum((p - a) * (q - b) for p, q in zip(x, y)) / sum((p - a) ** 2 for p in x)
""",
        "the fastest round": """
def growth(work, sizes, clock):
    def seconds(n):
        rounds = []
        for _ in range(7):
            start = clock()
            work(n)
            rounds.append(clock() - start)
        return min(rounds)
    upper = sizes[len(sizes) // 2:]
    x = [math.log(n) for n in upper]
    y = [math.log(seconds(n)) for n in upper]
    a, b = sum(x) / len(x), sum(y) / len(y)
    return sum((p - a) * (q - b) for p, q in zip(x, y)) / sum((p - a) ** 2 for p in x)
""",
        "the slowest round": """
def growth(work, sizes, clock):
    def seconds(n):
        rounds = []
        for _ in range(7):
            start = clock()
            work(n)
            rounds.append(clock() - start)
        return max(rounds)
    upper = sizes[len(sizes) // 2:]
    x = [math.log(n) for n in upper]
    y = [math.log(seconds(n)) for n in upper]
    a, b = sum(x) / len(x), sum(y) / len(y)
    return sum((p - a) * (q - b) for p, q in zip(x, y)) / sum((p - a) ** 2 for p in x)
""",
        "one round": """
def growth(work, sizes, clock):
    def seconds(n):
        rounds = []
        for _ in range(1):
            start = clock()
            work(n)
            rounds.append(clock() - start)
        return rounds[0]
    upper = sizes[len(sizes) // 2:]
    x = [math.log(n) for n in upper]
    y = [math.log(seconds(n)) for n in upper]
    a, b = sum(x) / len(x), sum(y) / len(y)
    return sum((p - a) * (q - b) for p, q in zip(x, y)) / sum((p - a) ** 2 for p in x)
""",
        "not sorted": """
def growth(work, sizes, clock):
    def seconds(n):
        rounds = []
        for _ in range(7):
            start = clock()
            work(n)
            rounds.append(clock() - start)
        return rounds[3]
    upper = sizes[len(sizes) // 2:]
    x = [math.log(n) for n in upper]
    y = [math.log(seconds(n)) for n in upper]
    a, b = sum(x) / len(x), sum(y) / len(y)
    return sum((p - a) * (q - b) for p, q in zip(x, y)) / sum((p - a) ** 2 for p in x)
""",
        "all sizes": """
def growth(work, sizes, clock):
    def seconds(n):
        rounds = []
        for _ in range(7):
            start = clock()
            work(n)
            rounds.append(clock() - start)
        return sorted(rounds)[3]
    upper = sizes
    x = [math.log(n) for n in upper]
    y = [math.log(seconds(n)) for n in upper]
    a, b = sum(x) / len(x), sum(y) / len(y)
    return sum((p - a) * (q - b) for p, q in zip(x, y)) / sum((p - a) ** 2 for p in x)
""",
        "the lower half": """
def growth(work, sizes, clock):
    def seconds(n):
        rounds = []
        for _ in range(7):
            start = clock()
            work(n)
            rounds.append(clock() - start)
        return sorted(rounds)[3]
    upper = sizes[:len(sizes) // 2]
    x = [math.log(n) for n in upper]
    y = [math.log(seconds(n)) for n in upper]
    a, b = sum(x) / len(x), sum(y) / len(y)
    return sum((p - a) * (q - b) for p, q in zip(x, y)) / sum((p - a) ** 2 for p in x)
""",
        "plain axes": """
def growth(work, sizes, clock):
    def seconds(n):
        rounds = []
        for _ in range(7):
            start = clock()
            work(n)
            rounds.append(clock() - start)
        return sorted(rounds)[3]
    upper = sizes[len(sizes) // 2:]
    x = [n for n in upper]
    y = [seconds(n) for n in upper]
    a, b = sum(x) / len(x), sum(y) / len(y)
    return sum((p - a) * (q - b) for p, q in zip(x, y)) / sum((p - a) ** 2 for p in x)
""",
        "axes exchanged": """
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
    return sum((p - a) * (q - b) for p, q in zip(x, y)) / sum((q - b) ** 2 for q in y)
""",
        "first and last point only": """
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
    return (y[-1] - y[0]) / (x[-1] - x[0])
""",
        "through the origin": """
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
    return sum(p * q for p, q in zip(x, y)) / sum(p * p for p in x)
""",
        "time over n": """
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
    return sum(q / p for p, q in zip(x, y)) / len(x)
""",
        "only log of the times": """
def growth(work, sizes, clock):
    def seconds(n):
        rounds = []
        for _ in range(7):
            start = clock()
            work(n)
            rounds.append(clock() - start)
        return sorted(rounds)[3]
    upper = sizes[len(sizes) // 2:]
    x = [n for n in upper]
    y = [math.log(seconds(n)) for n in upper]
    a, b = sum(x) / len(x), sum(y) / len(y)
    return sum((p - a) * (q - b) for p, q in zip(x, y)) / sum((p - a) ** 2 for p in x)
""",
        "sizes are ignored": """
def growth(work, sizes, clock):
    def seconds(n):
        rounds = []
        for _ in range(7):
            start = clock()
            work(n)
            rounds.append(clock() - start)
        return sorted(rounds)[3]
    upper = [512, 1024, 2048]
    x = [math.log(n) for n in upper]
    y = [math.log(seconds(n)) for n in upper]
    a, b = sum(x) / len(x), sum(y) / len(y)
    return sum((p - a) * (q - b) for p, q in zip(x, y)) / sum((p - a) ** 2 for p in x)
""",
        "no work": """
def growth(work, sizes, clock):
    return 2.0
""",
        "fewer rounds": """
def growth(work, sizes, clock):
    x, y = [], []
    for n in sizes[len(sizes) // 2:]:
        rounds = []
        for _ in range(5):
            start = clock()
            work(n)
            rounds.append(clock() - start)
        x.append(math.log(n))
        y.append(math.log(sorted(rounds)[2]))
    a, b = sum(x) / len(x), sum(y) / len(y)
    return sum((p - a) * (q - b) for p, q in zip(x, y)) / sum((p - a) ** 2 for p in x)
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
    },
    "cost.batch": {
        "at least one": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    return max(1, numbers // (n_layers * (n_heads * n**2 + 4 * n * d)))
""",
        "weights of one head": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    each = n_layers * (n**2 + 4 * n * d)
    return numbers // each
""",
        "one layer": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    each = n_heads * n**2 + 4 * n * d
    return numbers // each
""",
        "weights only": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    each = n_layers * n_heads * n**2
    return numbers // each
""",
        "no weights": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    each = n_layers * 4 * n * d
    return numbers // each
""",
        "one weight a word": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    each = n_layers * (n_heads * n + 4 * n * d)
    return numbers // each
""",
        "three vectors a word": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    each = n_layers * (n_heads * n**2 + 3 * n * d)
    return numbers // each
""",
        "every head as wide as the model": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    each = n_layers * n_heads * (n**2 + 4 * n * d)
    return numbers // each
""",
        "words, not sentences": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    each = n_layers * (n_heads * n + 4 * d)
    return numbers // each
""",
        "numbers taken for bytes": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    each = 4 * n_layers * (n_heads * n**2 + 4 * n * d)
    return numbers // each
""",
        "weights as wide as the model": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    each = n_layers * (n_heads * n * d + 4 * n * d)
    return numbers // each
""",
        "a sentence too many": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    each = n_layers * (n_heads * n**2 + 4 * n * d)
    return numbers // each + 1
""",
        "a part of a sentence": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    each = n_layers * (n_heads * n**2 + 4 * n * d)
    return numbers / each
""",
        "rounded to the nearest": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    return round(numbers / (n_layers * (n_heads * n**2 + 4 * n * d)))
""",
        "scores kept too": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    return numbers // (n_layers * (2 * n_heads * n**2 + 4 * n * d))
""",
        "input counted too": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    return numbers // (n_layers * (n_heads * n**2 + 5 * n * d))
""",
        "matrices for vectors": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    return numbers // (n_layers * (n_heads * n**2 + 4 * d**2))
""",
        "multiplications for memory": """
def largest_batch(numbers, n, d, n_heads, n_layers):
    return numbers // (n_layers * (2 * n**2 * d + 4 * n * d**2))
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
        "as many key heads as heads": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = d
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 4 * n_layers * n_kv * d // n_heads
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "two matrices in the feed-forward network": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 2 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 2 * n_layers * narrow * 2
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "norms forgotten": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + 0 + 0
    cache = 2 * n_layers * narrow * 2
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "last norm forgotten": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + 2 * n_layers * d + 0
    cache = 2 * n_layers * narrow * 2
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "one norm a layer": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (n_layers + 1) * d + 0
    cache = 2 * n_layers * narrow * 2
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "W^O forgotten": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 2 * n_layers * narrow * 2
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "biases counted": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + n_layers * (3 * d + 2 * narrow + 2 * d_ff)
    cache = 2 * n_layers * narrow * 2
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "norms with biases": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + 2 * (2 * n_layers + 1) * d + 0
    cache = 2 * n_layers * narrow * 2
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "one key head": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 2 * n_layers * narrow * 2
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "one layer": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = 1 * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + 3 * d + 0
    cache = 2 * n_layers * narrow * 2
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "the three in another order": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 2 * n_layers * narrow * 2
    flops = 2 * (layers + vocab * d)
    return flops, cache, parameters
""",
        "half the cache": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 2 * n_layers * narrow
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "a quarter of the cache": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = n_layers * narrow
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "as wide as the model": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 4 * n_layers * d
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "one layer's cache": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 4 * narrow
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "32 bits": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 8 * n_layers * narrow
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "one number a head": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 4 * n_layers * n_kv
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "heads for key heads": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 4 * n_layers * n_kv * d
    flops = 2 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "the look-up multiplied": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 2 * n_layers * narrow * 2
    flops = 2 * (layers + 2 * vocab * d)
    return parameters, cache, flops
""",
        "two for every parameter": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 2 * n_layers * narrow * 2
    flops = 2 * parameters
    return parameters, cache, flops
""",
        "multiplications only": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 2 * n_layers * narrow * 2
    flops = layers + vocab * d
    return parameters, cache, flops
""",
        "a training step": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 2 * n_layers * narrow * 2
    flops = 6 * (layers + vocab * d)
    return parameters, cache, flops
""",
        "no logits": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = 2 * vocab * d + layers + (2 * n_layers + 1) * d + 0
    cache = 2 * n_layers * narrow * 2
    flops = 2 * layers
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
        "bits for bytes": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = layers + 2 * vocab * d + (2 * n_layers + 1) * d
    cache, flops = 4 * n_layers * narrow, 2 * (layers + vocab * d)
    return parameters, 8 * cache, flops
""",
        "norms multiplied": """
def today(vocab, d, n_layers, n_heads, n_kv, d_ff):
    narrow = n_kv * d // n_heads
    layers = n_layers * (2 * d * d + 2 * d * narrow + 3 * d * d_ff)
    parameters = layers + 2 * vocab * d + (2 * n_layers + 1) * d
    cache, flops = 4 * n_layers * narrow, 2 * (layers + vocab * d)
    return parameters, cache, flops + 2 * (2 * n_layers + 1) * d
""",
    },
}

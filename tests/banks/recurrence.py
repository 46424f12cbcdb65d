"""Answers to the exercises of chapter `recurrence`: right ones in several styles, and wrong ones that people write."""

RIGHT = {
    "recurrence.clip": {
        "one long vector": """
def clip(gradients, max_norm):
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    return [g * torch.clamp(max_norm / norm.clamp(min=1e-12), max=1.0) for g in gradients]
""",
        "norm of norms": """
def clip(gradients, max_norm):
    total = torch.stack([g.norm() for g in gradients]).norm()
    if total <= max_norm:
        return gradients
    return [g / total * max_norm for g in gradients]
""",
        "never below max_norm": """
def clip(gradients, max_norm):
    squares = 0.0
    for g in gradients:
        squares = squares + float((g * g).sum())
    divisor = max(squares**0.5, max_norm) / max_norm
    return tuple(g / divisor for g in gradients)
""",
        "a small number below": """
def clip(gradients, max_norm):
    norm = torch.sqrt(sum(torch.sum(g**2) for g in gradients))
    return [min(1.0, max_norm / (norm + 1e-8)) * g for g in gradients]
""",
    },
    "recurrence.layers-needed": {
        "reaches added": """
def layers_needed(distance, k):
    reach, layers = 0, 0
    while reach < distance:
        reach += (k - 1) * k**layers
        layers += 1
    return layers
""",
        "digits": """
def layers_needed(distance, k):
    return 0 if distance == 0 else 1 + layers_needed(distance // k, k)
""",
        "a careful logarithm": """
def layers_needed(distance, k):
    return math.ceil(math.log(distance + 1, k) - 1e-9)
""",
        "the set of places that are reached": """
def layers_needed(distance, k):
    reached, dilation, layers = {0}, 1, 0
    while distance not in reached:
        reached = {place + step * dilation for place in reached for step in range(k)}
        dilation *= k
        layers += 1
    return layers
""",
    },
    "recurrence.minimal-gate": {
        "slices": """
def one_gate(x, h, W, U, b):
    d = h.shape[0]
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h + b[:d])
    new = torch.tanh(W[d:] @ x + U[d:] @ (f * h) + b[d:])
    return torch.lerp(h, new, f)
""",
        "difference": """
def one_gate(x, h, W, U, b):
    from_x = (W @ x + b).view(2, -1)
    f = (from_x[0] + U[: len(h)] @ h).sigmoid()
    n = (from_x[1] + U[len(h) :] @ (h * f)).tanh()
    return h + f * (n - h)
""",
        "loops": """
def one_gate(x, h, W, U, b):
    d = len(h)

    def row(i, state):
        return sum(W[i, j] * x[j] for j in range(d)) + sum(U[i, j] * state[j] for j in range(d)) + b[i]

    f = torch.stack([1 / (1 + math.e ** -row(i, h)) for i in range(d)])
    n = torch.stack([torch.tanh(row(d + i, f * h)) for i in range(d)])
    return (1 - f) * h + f * n
""",
        "F.linear": """
def one_gate(x, h, W, U, b):
    W, U, b = W.unflatten(0, (2, -1)), U.unflatten(0, (2, -1)), b.unflatten(0, (2, -1))
    gate = torch.sigmoid(F.linear(x, W[0], b[0]) + F.linear(h, U[0]))
    candidate = torch.tanh(F.linear(x, W[1], b[1]) + F.linear(gate * h, U[1]))
    return h.addcmul(gate, candidate - h)
""",
    },
    "recurrence.linear-reach": {
        "matrix powers": """
def linear_reach(W, U, n):
    return torch.stack([(torch.linalg.matrix_power(U, k) @ W).norm() for k in range(n)])
""",
        "plain numbers": """
def linear_reach(W, U, n):
    P, norms = torch.eye(len(U)), []
    for _ in range(n):
        norms.append(float(((P @ W) ** 2).sum()) ** 0.5)
        P = P @ U
    return norms
""",
        "recursion": """
def linear_reach(W, U, n):
    here = torch.linalg.norm(W, ord="fro").reshape(1)
    return here if n == 1 else torch.cat([here, linear_reach(U @ W, U, n - 1)])
""",
        "a tensor to fill": """
def linear_reach(W, U, n):
    norms = torch.empty(n)
    slope = W.clone()
    for distance in range(n):
        norms[distance] = torch.sqrt(torch.trace(slope.T @ slope))
        slope = torch.einsum("ij,jk->ik", U, slope)
    return norms
""",
    },
    "recurrence.speak": {
        "for loop": """
def speak(step, state, bos_id, eos_id, max_len):
    written = [bos_id]
    for _ in range(max_len):
        p, state = step(written[-1], state)
        best = p.index(max(p))
        if best == eos_id:
            break
        written.append(best)
    return written[1:]
""",
        "torch": """
def speak(step, state, bos_id, eos_id, max_len):
    ids = []
    last = bos_id
    while len(ids) < max_len:
        p, state = step(last, state)
        last = int(torch.tensor(p).argmax())
        if last == eos_id:
            return ids
        ids.append(last)
    return ids
""",
        "recursion": """
def speak(step, state, bos_id, eos_id, max_len):
    if max_len == 0:
        return []
    p, state = step(bos_id, state)
    word = max(enumerate(p), key=lambda pair: pair[1])[0]
    return [] if word == eos_id else [word, *speak(step, state, word, eos_id, max_len - 1)]
""",
        "a generator": """
def speak(step, state, bos_id, eos_id, max_len):
    def words(word, state):
        while True:
            p, state = step(word, state)
            word = sorted(range(len(p)), key=lambda i: -p[i])[0]
            yield word

    written = []
    for count, word in enumerate(words(bos_id, state)):
        if word == eos_id or count == max_len:
            return written
        written.append(word)
""",
    },
}

WRONG = {
    "recurrence.clip": {
        "each by itself": """
def clip(gradients, max_norm):
    return [g * min(1.0, max_norm / (g.norm().item() + 1e-12)) for g in gradients]
""",
        "each number by itself": """
def clip(gradients, max_norm):
    return [g.clamp(-max_norm, max_norm) for g in gradients]
""",
        "squared norm": """
def clip(gradients, max_norm):
    norm = sum(g.square().sum().item() for g in gradients)
    return [g * min(1.0, max_norm / norm) for g in gradients]
""",
        "norm of the norms' sum": """
def clip(gradients, max_norm):
    norm = sum(g.norm().item() for g in gradients)
    return [g * min(1.0, max_norm / norm) for g in gradients]
""",
        "short ones stretched": """
def clip(gradients, max_norm):
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
    return [g / norm * max_norm for g in gradients]
""",
        "max_norm is ignored": """
def clip(gradients, max_norm):
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
    return [g / norm if norm > 1 else g for g in gradients]
""",
        "compared with 1": """
def clip(gradients, max_norm):
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
    return [g / norm * max_norm if norm > 1 else g for g in gradients]
""",
        "changes its input": """
def clip(gradients, max_norm):
    norm = sum((g**2).sum() for g in gradients) ** 0.5
    if norm > max_norm:
        for g in gradients:
            g.mul_(max_norm / norm)
    return gradients
""",
        "one long vector": """
def clip(gradients, max_norm):
    flat = torch.cat([g.flatten() for g in gradients])
    return flat * min(1.0, max_norm / flat.norm().item())
""",
        "last tensor's norm": """
def clip(gradients, max_norm):
    for g in gradients:
        squares = 0.0
        squares += g.square().sum().item()
    norm = math.sqrt(squares)
    return [g * max_norm / norm if norm > max_norm else g for g in gradients]
""",
        "never shortened": """
def clip(gradients, max_norm):
    norm = math.sqrt(sum(g.square().sum().item() for g in gradients))
    return [g * max(1.0, max_norm / norm) for g in gradients]
""",
        "0 divided by 0": """
def clip(gradients, max_norm):
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    return [torch.minimum(torch.tensor(1.0), max_norm / norm) * (g / norm) * norm for g in gradients]
""",
        "forbidden": """
def clip(gradients, max_norm):
    parameters = [torch.nn.Parameter(torch.zeros_like(g)) for g in gradients]
    for parameter, g in zip(parameters, gradients):
        parameter.grad = g.clone()
    torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    return [parameter.grad for parameter in parameters]
""",
        "mean of the tensors": """
def clip(gradients, max_norm):
    norm = torch.stack([g.norm() ** 2 for g in gradients]).mean().sqrt()
    return [g * max_norm / norm if norm > max_norm else g for g in gradients]
""",
    },
    "recurrence.layers-needed": {
        "the position forgotten": """
def layers_needed(distance, k):
    layers = 0
    while k**layers < distance:
        layers += 1
    return layers
""",
        "without dilation": """
def layers_needed(distance, k):
    return math.ceil(distance / (k - 1))
""",
        "only the last layer": """
def layers_needed(distance, k):
    layers = 1
    while (k - 1) * k ** (layers - 1) < distance:
        layers += 1
    return layers
""",
        "looks both ways": """
def layers_needed(distance, k):
    layers = 0
    while (k**layers - 1) // 2 < distance:
        layers += 1
    return layers
""",
        "rounded logarithm": """
def layers_needed(distance, k):
    return math.ceil(math.log(distance + 1, k))
""",
        "one word a layer": """
def layers_needed(distance, k):
    reach, dilation, layers = 0, 1, 0
    while reach < distance:
        reach += dilation
        dilation *= k
        layers += 1
    return layers
""",
        "dilations that double": """
def layers_needed(distance, k):
    reach, layers = 0, 0
    while reach < distance:
        reach += (k - 1) * 2**layers
        layers += 1
    return layers
""",
        "k is ignored": """
def layers_needed(distance, k):
    layers = 0
    while 3**layers - 1 < distance:
        layers += 1
    return layers
""",
        "one layer too many": """
def layers_needed(distance, k):
    layers = 1
    while k ** (layers - 1) - 1 < distance:
        layers += 1
    return layers
""",
        "one word too careful": """
def layers_needed(distance, k):
    layers = 0
    while k**layers - 1 <= distance:
        layers += 1
    return layers
""",
        "distance 0 needs one": """
def layers_needed(distance, k):
    layers = 1
    while k**layers - 1 < distance:
        layers += 1
    return layers
""",
    },
    "recurrence.minimal-gate": {
        "gate turned round": """
def one_gate(x, h, W, U, b):
    (W_f, W_n), (U_f, U_n), (b_f, b_n) = W.chunk(2), U.chunk(2), b.chunk(2)
    f = (W_f @ x + U_f @ h + b_f).sigmoid()
    n = (W_n @ x + U_n @ (f * h) + b_n).tanh()
    return (1 - f) * n + f * h
""",
        "gate after the product": """
def one_gate(x, h, W, U, b):
    (x_f, x_n), (h_f, h_n) = (W @ x + b).chunk(2), (U @ h).chunk(2)
    f = (x_f + h_f).sigmoid()
    n = (x_n + f * h_n).tanh()
    return (1 - f) * h + f * n
""",
        "candidate without the gate": """
def one_gate(x, h, W, U, b):
    f, n = (W @ x + U @ h + b).chunk(2)
    f, n = f.sigmoid(), n.tanh()
    return (1 - f) * h + f * n
""",
        "halves swapped": """
def one_gate(x, h, W, U, b):
    (W_n, W_f), (U_n, U_f), (b_n, b_f) = W.chunk(2), U.chunk(2), b.chunk(2)
    f = (W_f @ x + U_f @ h + b_f).sigmoid()
    n = (W_n @ x + U_n @ (f * h) + b_n).tanh()
    return (1 - f) * h + f * n
""",
        "nothing kept": """
def one_gate(x, h, W, U, b):
    (W_f, W_n), (U_f, U_n), (b_f, b_n) = W.chunk(2), U.chunk(2), b.chunk(2)
    f = (W_f @ x + U_f @ h + b_f).sigmoid()
    return f * (W_n @ x + U_n @ (f * h) + b_n).tanh()
""",
        "b is ignored": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h)
    n = torch.tanh(W[d:] @ x + U[d:] @ (f * h))
    return (1 - f) * h + f * n
""",
        "x is ignored": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(U[:d] @ h + b[:d])
    n = torch.tanh(U[d:] @ (f * h) + b[d:])
    return (1 - f) * h + f * n
""",
        "U is ignored": """
def one_gate(x, h, W, U, b):
    f, n = (W @ x + b).chunk(2)
    f, n = f.sigmoid(), n.tanh()
    return (1 - f) * h + f * n
""",
        "no sigmoid": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = W[:d] @ x + U[:d] @ h + b[:d]
    n = torch.tanh(W[d:] @ x + U[d:] @ (f * h) + b[d:])
    return (1 - f) * h + f * n
""",
        "sigmoid for tanh": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h + b[:d])
    n = torch.sigmoid(W[d:] @ x + U[d:] @ (f * h) + b[d:])
    return (1 - f) * h + f * n
""",
        "matrices transposed": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(x @ W[:d] + h @ U[:d] + b[:d])
    n = torch.tanh(x @ W[d:] + (f * h) @ U[d:] + b[d:])
    return (1 - f) * h + f * n
""",
        "changes its input": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h + b[:d])
    n = torch.tanh(W[d:] @ x + U[d:] @ (f * h) + b[d:])
    h *= 1 - f
    h += f * n
    return h
""",
        "two things returned": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h + b[:d])
    n = torch.tanh(W[d:] @ x + U[d:] @ (f * h) + b[d:])
    return (1 - f) * h + f * n, f
""",
        "gate without the past": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + b[:d])
    n = torch.tanh(W[d:] @ x + U[d:] @ (f * h) + b[d:])
    return (1 - f) * h + f * n
""",
    },
    "recurrence.linear-reach": {
        "one step too many": """
def linear_reach(W, U, n):
    slope, norms = W, []
    for _ in range(n):
        slope = U @ slope
        norms.append(slope.norm())
    return torch.stack(norms)
""",
        "entries raised to a power": """
def linear_reach(W, U, n):
    return torch.stack([(U**k @ W).norm() for k in range(n)])
""",
        "order turned round": """
def linear_reach(W, U, n):
    slope, norms = W, []
    for _ in range(n):
        norms.append(slope.norm())
        slope = slope @ U
    return torch.stack(norms)
""",
        "W is ignored": """
def linear_reach(W, U, n):
    return torch.stack([torch.linalg.matrix_power(U, k).norm() for k in range(n)])
""",
        "U is ignored": """
def linear_reach(W, U, n):
    return torch.full((n,), W.norm().item())
""",
        "n is ignored": """
def linear_reach(W, U, n):
    return torch.stack([(torch.linalg.matrix_power(U, k) @ W).norm() for k in range(5)])
""",
        "product of norms": """
def linear_reach(W, U, n):
    return torch.stack([W.norm() * U.norm() ** k for k in range(n)])
""",
        "no root": """
def linear_reach(W, U, n):
    return torch.stack([(torch.linalg.matrix_power(U, k) @ W).square().sum() for k in range(n)])
""",
        "largest stretch": """
def linear_reach(W, U, n):
    return torch.stack([torch.linalg.norm(torch.linalg.matrix_power(U, k) @ W, ord=2) for k in range(n)])
""",
        "by position, not by distance": """
def linear_reach(W, U, n):
    return torch.stack([(torch.linalg.matrix_power(U, n - 1 - k) @ W).norm() for k in range(n)])
""",
        "changes its input": """
def linear_reach(W, U, n):
    norms = []
    for _ in range(n):
        norms.append(W.norm())
        W.copy_(U @ W)
    return torch.stack(norms)
""",
        "forbidden": """
def linear_reach(W, U, n):
    def last(X):
        h = torch.zeros(len(U))
        for x in X:
            h = W @ x + U @ h
        return h

    slopes = torch.autograd.functional.jacobian(last, torch.zeros(n, W.shape[1]))
    return slopes.square().sum(dim=(0, 2)).sqrt().flip(0)
""",
    },
    "recurrence.speak": {
        "always fed the start sign": """
def speak(step, state, bos_id, eos_id, max_len):
    written = []
    while len(written) < max_len:
        p, state = step(bos_id, state)
        word = p.index(max(p))
        if word == eos_id:
            break
        written.append(word)
    return written
""",
        "state not handed on": """
def speak(step, state, bos_id, eos_id, max_len):
    word, written = bos_id, []
    while len(written) < max_len:
        p, _ = step(word, state)
        word = p.index(max(p))
        if word == eos_id:
            break
        written.append(word)
    return written
""",
        "end sign written": """
def speak(step, state, bos_id, eos_id, max_len):
    word, written = bos_id, []
    while word != eos_id and len(written) < max_len:
        p, state = step(word, state)
        word = p.index(max(p))
        written.append(word)
    return written
""",
        "start sign written": """
def speak(step, state, bos_id, eos_id, max_len):
    written = [bos_id]
    for _ in range(max_len):
        p, state = step(written[-1], state)
        word = p.index(max(p))
        if word == eos_id:
            break
        written.append(word)
    return written
""",
        "does not stop": """
def speak(step, state, bos_id, eos_id, max_len):
    word, written = bos_id, []
    for _ in range(max_len):
        p, state = step(word, state)
        word = p.index(max(p))
        if word != eos_id:
            written.append(word)
    return written
""",
        "eos_id is ignored": """
def speak(step, state, bos_id, eos_id, max_len):
    word, written = bos_id, []
    while len(written) < max_len:
        p, state = step(word, state)
        word = p.index(max(p))
        if word == 2:
            break
        written.append(word)
    return written
""",
        "bos_id is ignored": """
def speak(step, state, bos_id, eos_id, max_len):
    word, written = 1, []
    while len(written) < max_len:
        p, state = step(word, state)
        word = p.index(max(p))
        if word == eos_id:
            break
        written.append(word)
    return written
""",
        "max_len is ignored": """
def speak(step, state, bos_id, eos_id, max_len):
    word, written = bos_id, []
    while True:
        p, state = step(word, state)
        word = p.index(max(p))
        if word == eos_id:
            return written
        written.append(word)
""",
        "state is ignored": """
def speak(step, state, bos_id, eos_id, max_len):
    word, state, written = bos_id, 0, []
    while len(written) < max_len:
        p, state = step(word, state)
        word = p.index(max(p))
        if word == eos_id:
            break
        written.append(word)
    return written
""",
        "one word too many": """
def speak(step, state, bos_id, eos_id, max_len):
    word, written = bos_id, []
    while len(written) <= max_len:
        p, state = step(word, state)
        word = p.index(max(p))
        if word == eos_id:
            break
        written.append(word)
    return written
""",
        "start sign counted": """
def speak(step, state, bos_id, eos_id, max_len):
    written = [bos_id]
    while len(written) < max_len:
        p, state = step(written[-1], state)
        word = p.index(max(p))
        if word == eos_id:
            break
        written.append(word)
    return written[1:]
""",
        "least probable word": """
def speak(step, state, bos_id, eos_id, max_len):
    word, written = bos_id, []
    while len(written) < max_len:
        p, state = step(word, state)
        word = p.index(min(p))
        if word == eos_id:
            break
        written.append(word)
    return written
""",
    },
}

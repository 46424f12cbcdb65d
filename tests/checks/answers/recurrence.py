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
        "forbidden": """
def clip(gradients, max_norm):
    parameters = [torch.nn.Parameter(torch.zeros_like(g)) for g in gradients]
    for parameter, g in zip(parameters, gradients):
        parameter.grad = g.clone()
    torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    return [parameter.grad for parameter in parameters]
""",
        "each by itself": """
def clip(gradients, max_norm):
    out = []
    for g in gradients:
        norm = g.norm()
        out.append(g * (max_norm / norm) if norm > max_norm else g)
    return out
""",
        "short ones stretched": """
def clip(gradients, max_norm):
    total = torch.sqrt(sum((g ** 2).sum() for g in gradients))
    return [g * max_norm / total for g in gradients]
""",
    },
    "recurrence.layers-needed": {
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
        "the position forgotten": """
def layers_needed(distance, k):
    layers = 0
    while distance > 0 and (layers == 0 or k ** layers < distance):
        layers += 1
    return layers
""",
        "rounded logarithm": """
def layers_needed(distance, k):
    return math.ceil(math.log(distance + 1) / math.log(k))
""",
    },
    "recurrence.minimal-gate": {
        "candidate without the gate": """
def one_gate(x, h, W, U, b):
    f, n = (W @ x + U @ h + b).chunk(2)
    f, n = f.sigmoid(), n.tanh()
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
        "gate turned round": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h + b[:d])
    new = torch.tanh(W[d:] @ x + U[d:] @ (f * h) + b[d:])
    return f * h + (1 - f) * new
""",
        "gate after the product": """
def one_gate(x, h, W, U, b):
    d = h.shape[0]
    from_x = W @ x + b
    from_h = U @ h
    f = torch.sigmoid(from_x[:d] + from_h[:d])
    new = torch.tanh(from_x[d:] + f * from_h[d:])
    return (1 - f) * h + f * new
""",
    },
    "recurrence.linear-reach": {
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
        "entries raised to a power": """
def linear_reach(W, U, n):
    return torch.stack([torch.linalg.norm(U ** k @ W) for k in range(n)])
""",
        "largest stretch": """
def linear_reach(W, U, n):
    J = W
    out = []
    for _ in range(n):
        out.append(torch.linalg.matrix_norm(J, ord=2))
        J = U @ J
    return torch.stack(out)
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
        "end sign written": """
def speak(step, state, bos_id, eos_id, max_len):
    word, written = bos_id, []
    while word != eos_id and len(written) < max_len:
        p, state = step(word, state)
        word = p.index(max(p))
        written.append(word)
    return written
""",
        "state not handed on": """
def speak(step, state, bos_id, eos_id, max_len):
    word, words = bos_id, []
    while len(words) < max_len:
        probs, _ = step(word, state)
        word = probs.index(max(probs))
        if word == eos_id:
            break
        words.append(word)
    return words
""",
        "start sign counted": """
def speak(step, state, bos_id, eos_id, max_len):
    words = [bos_id]
    while len(words) < max_len:
        probs, state = step(words[-1], state)
        word = probs.index(max(probs))
        if word == eos_id:
            break
        words.append(word)
    return words[1:]
""",
    },
}

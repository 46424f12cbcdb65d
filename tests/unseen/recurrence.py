"""Unseen answers to the exercises of chapter `recurrence`, written from the statements alone."""

RIGHT = {
    "recurrence.clip": {
        "sum of squares, early return": """
def clip(gradients, max_norm):
    total = math.sqrt(sum(float((g ** 2).sum()) for g in gradients))
    if total <= max_norm:
        return list(gradients)
    return [g * (max_norm / total) for g in gradients]
""",
        "one long vector by torch.cat": """
def clip(gradients, max_norm):
    long = torch.cat([g.reshape(-1) for g in gradients])
    norm = torch.linalg.vector_norm(long)
    factor = torch.clamp(max_norm / norm, max=1.0)
    return [factor * g for g in gradients]
""",
        "norm of the norms": """
def clip(grads, limit):
    each = torch.stack([g.norm() for g in grads])
    whole = each.norm()
    if whole > limit:
        grads = [g / whole * limit for g in grads]
    return [g for g in grads]
""",
        "factor with max of norm and limit": """
def clip(gradients, max_norm):
    squares = 0.0
    for g in gradients:
        squares = squares + g.pow(2).sum().item()
    norm = squares ** 0.5
    divisor = max(norm, max_norm) / max_norm
    out = []
    for g in gradients:
        out.append(g / divisor)
    return out
""",
        "helper function, math.hypot": """
def common_norm(tensors):
    return math.hypot(*[g.double().norm().item() for g in tensors])

def clip(gradients, max_norm):
    n = common_norm(gradients)
    scale = 1.0 if n <= max_norm else max_norm / n
    return [g.clone() * scale for g in gradients]
""",
        "copies changed in place": """
def clip(gradients, max_norm):
    copies = [g.clone() for g in gradients]
    norm = sum((g * g).sum() for g in copies).sqrt()
    if norm.item() > max_norm:
        for g in copies:
            g.mul_(max_norm / norm)
    return copies
""",
    },
    "recurrence.layers-needed": {
        "while loop on the power": """
def layers_needed(distance, k):
    layers = 0
    while k ** layers - 1 < distance:
        layers += 1
    return layers
""",
        "adds up the reach of each layer": """
def layers_needed(distance, k):
    reach, dilation, n = 0, 1, 0
    while reach < distance:
        reach += (k - 1) * dilation
        dilation *= k
        n += 1
    return n
""",
        "recursion by integer division": """
def layers_needed(distance, k):
    return 0 if distance == 0 else 1 + layers_needed(distance // k, k)
""",
        "number of digits in base k": """
def layers_needed(distance, k):
    digits = 0
    while distance > 0:
        distance, _ = divmod(distance, k)
        digits += 1
    return digits
""",
        "itertools": """
import itertools
def layers_needed(distance, k):
    return next(n for n in itertools.count() if k ** n > distance)
""",
        "logarithm, then corrected with whole numbers": """
def layers_needed(distance, k):
    if distance == 0:
        return 0
    n = max(int(math.log(distance + 1) / math.log(k)) - 1, 0)
    while k ** n <= distance:
        n += 1
    return n
""",
        "for with a bound": """
def layers_needed(distance, k):
    span = 1
    for n in range(distance + 1):
        if span > distance:
            return n
        span *= k
    return distance
""",
    },
    "recurrence.minimal-gate": {
        "chunk": """
def one_gate(x, h, W, U, b):
    W_f, W_n = W.chunk(2)
    U_f, U_n = U.chunk(2)
    b_f, b_n = b.chunk(2)
    f = torch.sigmoid(W_f @ x + U_f @ h + b_f)
    n = torch.tanh(W_n @ x + U_n @ (f * h) + b_n)
    return (1 - f) * h + f * n
""",
        "slices by d": """
def one_gate(x, h, W, U, b):
    d = h.shape[0]
    gate = (W[:d] @ x + U[:d] @ h + b[:d]).sigmoid()
    cand = (W[d:] @ x + U[d:] @ (gate * h) + b[d:]).tanh()
    return h + gate * (cand - h)
""",
        "one product for the word, lerp": """
def one_gate(x, h, W, U, b):
    d = len(h)
    wx = W @ x + b
    f = torch.sigmoid(wx[:d] + U[:d] @ h)
    n = torch.tanh(wx[d:] + U[d:] @ (f * h))
    return torch.lerp(h, n, f)
""",
        "F.linear and split": """
def one_gate(x, h, W, U, b):
    a_f, a_n = F.linear(x, W, b).split(h.numel())
    U_f, U_n = U.split(h.numel())
    f = torch.sigmoid(a_f + F.linear(h, U_f))
    n = torch.tanh(a_n + F.linear(f * h, U_n))
    return (1 - f) * h + f * n
""",
        "loops over components": """
def one_gate(x, h, W, U, b):
    d = h.shape[0]
    f = []
    for i in range(d):
        s = b[i]
        for j in range(d):
            s = s + W[i, j] * x[j] + U[i, j] * h[j]
        f.append(1 / (1 + torch.exp(-s)))
    new = []
    for i in range(d):
        s = b[d + i]
        for j in range(d):
            s = s + W[d + i, j] * x[j] + U[d + i, j] * f[j] * h[j]
        new.append((1 - f[i]) * h[i] + f[i] * torch.tanh(s))
    return torch.stack(new)
""",
        "einsum after a view": """
def one_gate(x, h, W, U, b):
    d = h.shape[-1]
    W, U, b = W.reshape(2, d, d), U.reshape(2, d, d), b.reshape(2, d)
    from_word = torch.einsum('gij,j->gi', W, x) + b
    f = torch.sigmoid(from_word[0] + torch.einsum('ij,j->i', U[0], h))
    n = torch.tanh(from_word[1] + torch.einsum('ij,j->i', U[1], f * h))
    return (1 - f) * h + f * n
""",
        "inner helper": """
def one_gate(x, h, W, U, b):
    d = W.shape[1]
    def part(rows, state):
        return torch.mv(W[rows], x) + torch.mv(U[rows], state) + b[rows]
    forget = part(slice(0, d), h).sigmoid()
    return (1 - forget) * h + forget * part(slice(d, 2 * d), forget * h).tanh()
""",
    },
    "recurrence.linear-reach": {
        "loop that multiplies on": """
def linear_reach(W, U, n):
    J = W
    norms = []
    for _ in range(n):
        norms.append(J.norm())
        J = U @ J
    return torch.stack(norms)
""",
        "matrix_power": """
def linear_reach(W, U, n):
    return torch.stack([torch.linalg.norm(torch.linalg.matrix_power(U, k) @ W) for k in range(n)])
""",
        "square, sum, square root": """
def linear_reach(W, U, n):
    power = torch.eye(U.shape[0], dtype=U.dtype, device=U.device)
    out = torch.zeros(n, dtype=W.dtype, device=W.device)
    for k in range(n):
        out[k] = (power @ W).square().sum().sqrt()
        power = power @ U
    return out
""",
        "all slopes stacked, one norm": """
def linear_reach(W, U, n):
    slopes = [W]
    while len(slopes) < n:
        slopes.append(U @ slopes[-1])
    return torch.linalg.matrix_norm(torch.stack(slopes[:n]), ord='fro')
""",
        "itertools.accumulate": """
from itertools import accumulate, repeat
def linear_reach(W, U, n):
    chain = accumulate(repeat(U, n - 1), lambda J, step: step @ J, initial=W)
    return torch.stack([J.flatten().norm() for J in chain])
""",
        "recursion": """
def slope(W, U, k):
    return W if k == 0 else U @ slope(W, U, k - 1)

def linear_reach(W, U, n):
    return torch.stack([slope(W, U, k).pow(2).sum() ** 0.5 for k in range(n)])
""",
        "trace of the Gram matrix": """
def linear_reach(W, U, n):
    G = W @ W.T
    squares = []
    for _ in range(n):
        squares.append(torch.trace(G))
        G = U @ G @ U.T
    return torch.stack(squares).sqrt()
""",
    },
    "recurrence.speak": {
        "for with break": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], bos_id
    for _ in range(max_len):
        probs, state = step(word, state)
        word = probs.index(max(probs))
        if word == eos_id:
            break
        ids.append(word)
    return ids
""",
        "while on the length": """
def speak(step, state, bos_id, eos_id, max_len):
    out = []
    last = bos_id
    while len(out) < max_len:
        p, state = step(last, state)
        last = max(range(len(p)), key=lambda i: p[i])
        if last == eos_id:
            return out
        out.append(last)
    return out
""",
        "recursion": """
def speak(step, state, bos_id, eos_id, max_len):
    if max_len == 0:
        return []
    p, state = step(bos_id, state)
    word = max(range(len(p)), key=p.__getitem__)
    if word == eos_id:
        return []
    return [word] + speak(step, state, word, eos_id, max_len - 1)
""",
        "generator inside": """
def speak(step, state, bos_id, eos_id, max_len):
    def words():
        word, s = bos_id, state
        for _ in range(max_len):
            p, s = step(word, s)
            best = 0
            for i in range(1, len(p)):
                if p[i] > p[best]:
                    best = i
            if best == eos_id:
                return
            yield best
            word = best
    return list(words())
""",
        "torch.argmax": """
def speak(step, state, bos_id, eos_id, max_len):
    sentence = [bos_id]
    for _ in range(max_len):
        probabilities, state = step(sentence[-1], state)
        word = int(torch.tensor(probabilities).argmax())
        if word == eos_id:
            break
        sentence.append(word)
    return sentence[1:]
""",
        "writes everything, cuts at the end": """
def speak(step, state, bos_id, eos_id, max_len):
    written = []
    word = bos_id
    while len(written) < max_len and word != eos_id:
        p, state = step(word, state)
        word = sorted(range(len(p)), key=lambda i: -p[i])[0]
        written.append(word)
    return written[:-1] if written and written[-1] == eos_id else written
""",
        "class": """
class Decoder:
    def __init__(self, step, state):
        self.step, self.state = step, state
    def next(self, word):
        p, self.state = self.step(word, self.state)
        return max(enumerate(p), key=lambda pair: pair[1])[0]

def speak(step, state, bos_id, eos_id, max_len):
    d = Decoder(step, state)
    result, word = [], bos_id
    for _ in range(max_len):
        word = d.next(word)
        if word == eos_id:
            break
        result += [word]
    return result
""",
    },
}

WRONG = {
    "recurrence.clip": {
        "shortens each tensor on its own": """
def clip(gradients, max_norm):
    return [g * min(1.0, max_norm / g.norm().item()) if g.norm() > 0 else g for g in gradients]
""",
        "clamps every component, so the direction changes": """
def clip(gradients, max_norm):
    return [g.clamp(-max_norm, max_norm) for g in gradients]
""",
        "always scales to max_norm, lengthens short gradients": """
def clip(gradients, max_norm):
    norm = math.sqrt(sum((g ** 2).sum().item() for g in gradients))
    return [g * max_norm / norm for g in gradients]
""",
        "scales long gradients to norm 1 instead of max_norm": """
def clip(gradients, max_norm):
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    if norm <= max_norm:
        return gradients
    return [g / norm for g in gradients]
""",
        "ignores max_norm, limit is 1": """
def clip(gradients, max_norm):
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    return [g / norm if norm > 1 else g for g in gradients]
""",
        "forgets the square root": """
def clip(gradients, max_norm):
    norm = sum((g ** 2).sum() for g in gradients)
    if norm > max_norm:
        return [g * max_norm / norm for g in gradients]
    return gradients
""",
        "sum of absolute values instead of the Euclidean norm": """
def clip(gradients, max_norm):
    norm = sum(g.abs().sum() for g in gradients)
    if norm > max_norm:
        return [g * max_norm / norm for g in gradients]
    return gradients
""",
        "largest component instead of the norm": """
def clip(gradients, max_norm):
    norm = max(g.abs().max() for g in gradients)
    if norm > max_norm:
        return [g * max_norm / norm for g in gradients]
    return gradients
""",
        "adds the norms instead of their squares": """
def clip(gradients, max_norm):
    norm = sum(g.norm() for g in gradients)
    factor = min(1.0, float(max_norm / norm))
    return [g * factor for g in gradients]
""",
        "takes the largest single norm for the common one": """
def clip(gradients, max_norm):
    norm = max(g.norm().item() for g in gradients)
    if norm <= max_norm:
        return gradients
    return [g * (max_norm / norm) for g in gradients]
""",
        "changes the gradients in place": """
def clip(gradients, max_norm):
    norm = math.sqrt(sum((g ** 2).sum().item() for g in gradients))
    if norm > max_norm:
        for g in gradients:
            g *= max_norm / norm
    return gradients
""",
        "replaces the elements of the caller's list": """
def clip(gradients, max_norm):
    norm = math.sqrt(sum((g ** 2).sum().item() for g in gradients))
    if norm > max_norm:
        for i in range(len(gradients)):
            gradients[i] = gradients[i] * max_norm / norm
    return gradients
""",
        "returns one long vector instead of the list": """
def clip(gradients, max_norm):
    g = torch.cat([g.flatten() for g in gradients])
    return g * min(1.0, max_norm / g.norm().item())
""",
        "factor upside down": """
def clip(gradients, max_norm):
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    if norm <= max_norm:
        return gradients
    return [g * (norm / max_norm) for g in gradients]
""",
        "subtracts instead of scaling": """
def clip(gradients, max_norm):
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    if norm <= max_norm:
        return gradients
    return [g - (norm - max_norm) for g in gradients]
""",
        "returns nothing when the gradient is short enough": """
def clip(gradients, max_norm):
    norm = math.sqrt(sum((g ** 2).sum().item() for g in gradients))
    if norm > max_norm:
        return [g * (max_norm / norm) for g in gradients]
""",
        "comparison the wrong way round": """
def clip(gradients, max_norm):
    norm = math.sqrt(sum((g ** 2).sum().item() for g in gradients))
    if norm >= max_norm:
        return gradients
    return [g * (max_norm / norm) for g in gradients]
""",
        "needs tensors of one shape": """
def clip(gradients, max_norm):
    norm = torch.stack(list(gradients)).norm()
    return [g * min(1.0, float(max_norm / norm)) for g in gradients]
""",
        "divides by zero when all gradients are zero": """
def clip(gradients, max_norm):
    norm = math.sqrt(sum((g ** 2).sum().item() for g in gradients))
    factor = min(1.0, max_norm / norm)
    return [g * factor for g in gradients]
""",
        "the library function clip_grad_norm_": """
def clip(gradients, max_norm):
    params = []
    for g in gradients:
        p = torch.zeros_like(g, requires_grad=True)
        p.grad = g.clone()
        params.append(p)
    nn.utils.clip_grad_norm_(params, max_norm)
    return [p.grad for p in params]
""",
        "root mean square instead of the norm": """
def clip(gradients, max_norm):
    norm = torch.cat([g.flatten() for g in gradients]).square().mean().sqrt()
    if norm > max_norm:
        return [g * max_norm / norm for g in gradients]
    return gradients
""",
        "updates the norm while scaling": """
def clip(gradients, max_norm):
    out = list(gradients)
    for i in range(len(out)):
        norm = math.sqrt(sum((g ** 2).sum().item() for g in out))
        if norm > max_norm:
            out[i] = out[i] * max_norm / norm
    return out
""",
    },
    "recurrence.layers-needed": {
        "logarithm of the distance, too few at exact powers": """
def layers_needed(distance, k):
    if distance == 0:
        return 0
    n = 0
    while k ** n < distance:
        n += 1
    return n
""",
        "floating logarithm of distance + 1, rounded up": """
def layers_needed(distance, k):
    return math.ceil(math.log(distance + 1, k))
""",
        "floating logarithm rounded down, plus one": """
def layers_needed(distance, k):
    if distance == 0:
        return 0
    return math.floor(math.log(distance, k)) + 1
""",
        "floor instead of ceiling": """
def layers_needed(distance, k):
    return math.floor(math.log(distance + 1) / math.log(k) + 1e-9)
""",
        "as if every layer had dilation 1": """
def layers_needed(distance, k):
    return math.ceil(distance / (k - 1))
""",
        "distances double, whatever k": """
def layers_needed(distance, k):
    reach, n = 0, 0
    while reach < distance:
        reach += (k - 1) * 2 ** n
        n += 1
    return n
""",
        "ignores k, takes 2": """
def layers_needed(distance, k):
    n = 0
    while 2 ** n <= distance:
        n += 1
    return n
""",
        "ignores k, takes the default 3 of the class": """
def layers_needed(distance, k):
    n = 0
    while 3 ** n <= distance:
        n += 1
    return n
""",
        "one layer too many": """
def layers_needed(distance, k):
    n = 0
    while k ** n - 1 <= distance:
        n += 1
    return n
""",
        "distance 0 needs one layer": """
def layers_needed(distance, k):
    n = 1
    while k ** n <= distance:
        n += 1
    return n
""",
        "counts k words before instead of k - 1": """
def layers_needed(distance, k):
    reach, step, n = 0, 1, 0
    while reach < distance:
        reach += k * step
        step *= k
        n += 1
    return n
""",
        "only the top layer's reach counts": """
def layers_needed(distance, k):
    n = 0
    while distance > 0 and (n == 0 or (k - 1) * k ** (n - 1) < distance):
        n += 1
    return n
""",
        "starts with dilation k": """
def layers_needed(distance, k):
    reach, n = 0, 0
    while reach < distance:
        reach += (k - 1) * k ** (n + 1)
        n += 1
    return n
""",
        "returns the logarithm without rounding up": """
def layers_needed(distance, k):
    if distance == 0:
        return 0.0
    return math.log(distance + 1) / math.log(k)
""",
        "crashes at distance 0": """
def layers_needed(distance, k):
    n = math.floor(math.log(distance) / math.log(k))
    while k ** n <= distance:
        n += 1
    return n
""",
        "returns the reach instead of the number of layers": """
def layers_needed(distance, k):
    n = 0
    while k ** n <= distance:
        n += 1
    return k ** n - 1
""",
        "dilations grow by one per layer": """
def layers_needed(distance, k):
    reach, n = 0, 0
    while reach < distance:
        n += 1
        reach += (k - 1) * n
    return n
""",
        "gives up after 10 layers": """
def layers_needed(distance, k):
    for n in range(10):
        if k ** n > distance:
            return n
    return 10
""",
        "k and distance confused in the logarithm": """
def layers_needed(distance, k):
    if distance == 0:
        return 0
    n = 0
    while (distance + 1) ** n < k:
        n += 1
    return n
""",
    },
    "recurrence.minimal-gate": {
        "gate and interpolation the other way round": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h + b[:d])
    n = torch.tanh(W[d:] @ x + U[d:] @ (f * h) + b[d:])
    return f * h + (1 - f) * n
""",
        "candidate's part first": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[d:] @ x + U[d:] @ h + b[d:])
    n = torch.tanh(W[:d] @ x + U[:d] @ (f * h) + b[:d])
    return (1 - f) * h + f * n
""",
        "parts taken alternately": """
def one_gate(x, h, W, U, b):
    f = torch.sigmoid(W[0::2] @ x + U[0::2] @ h + b[0::2])
    n = torch.tanh(W[1::2] @ x + U[1::2] @ (f * h) + b[1::2])
    return (1 - f) * h + f * n
""",
        "gates after the product U h, as the GRU of PyTorch": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h + b[:d])
    n = torch.tanh(W[d:] @ x + f * (U[d:] @ h) + b[d:])
    return (1 - f) * h + f * n
""",
        "candidate sees the ungated state": """
def one_gate(x, h, W, U, b):
    d = len(h)
    a = W @ x + U @ h + b
    f, n = torch.sigmoid(a[:d]), torch.tanh(a[d:])
    return (1 - f) * h + f * n
""",
        "sigmoid for the candidate too": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h + b[:d])
    n = torch.sigmoid(W[d:] @ x + U[d:] @ (f * h) + b[d:])
    return (1 - f) * h + f * n
""",
        "tanh for the gate too": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.tanh(W[:d] @ x + U[:d] @ h + b[:d])
    n = torch.tanh(W[d:] @ x + U[d:] @ (f * h) + b[d:])
    return (1 - f) * h + f * n
""",
        "ignores b": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h)
    n = torch.tanh(W[d:] @ x + U[d:] @ (f * h))
    return (1 - f) * h + f * n
""",
        "bias only in the gate": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h + b[:d])
    n = torch.tanh(W[d:] @ x + U[d:] @ (f * h))
    return (1 - f) * h + f * n
""",
        "the gate's bias for both": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h + b[:d])
    n = torch.tanh(W[d:] @ x + U[d:] @ (f * h) + b[:d])
    return (1 - f) * h + f * n
""",
        "multiplies from the other side (transposed parts)": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(x @ W[:d] + h @ U[:d] + b[:d])
    n = torch.tanh(x @ W[d:] + (f * h) @ U[d:] + b[d:])
    return (1 - f) * h + f * n
""",
        "size of the state hard-coded to 4": """
def one_gate(x, h, W, U, b):
    f = torch.sigmoid(W[:4] @ x + U[:4] @ h + b[:4])
    n = torch.tanh(W[4:] @ x + U[4:] @ (f * h) + b[4:])
    return (1 - f) * h + f * n
""",
        "overwrites h": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h + b[:d])
    n = torch.tanh(W[d:] @ x + U[d:] @ (f * h) + b[d:])
    h *= 1 - f
    h += f * n
    return h
""",
        "cuts the gradient with detach": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h + b[:d]).detach()
    n = torch.tanh(W[d:] @ x + U[d:] @ (f * h) + b[d:])
    return (1 - f) * h + f * n
""",
        "returns the candidate": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h + b[:d])
    return torch.tanh(W[d:] @ x + U[d:] @ (f * h) + b[d:])
""",
        "1 - f inside the candidate": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h + b[:d])
    n = torch.tanh(W[d:] @ x + U[d:] @ ((1 - f) * h) + b[d:])
    return (1 - f) * h + f * n
""",
        "gates the word instead of the state": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h + b[:d])
    n = torch.tanh(W[d:] @ (f * x) + U[d:] @ h + b[d:])
    return (1 - f) * h + f * n
""",
        "the gate ignores the word": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(U[:d] @ h + b[:d])
    n = torch.tanh(W[d:] @ x + U[d:] @ (f * h) + b[d:])
    return (1 - f) * h + f * n
""",
        "ignores x": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(U[:d] @ h + b[:d])
    n = torch.tanh(U[d:] @ (f * h) + b[d:])
    return (1 - f) * h + f * n
""",
        "ignores U": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + b[:d])
    n = torch.tanh(W[d:] @ x + b[d:])
    return (1 - f) * h + f * n
""",
        "ignores W, adds the word as it is": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(x + U[:d] @ h + b[:d])
    n = torch.tanh(x + U[d:] @ (f * h) + b[d:])
    return (1 - f) * h + f * n
""",
        "ignores h, as if the state were 0": """
def one_gate(x, h, W, U, b):
    d = len(x)
    f = torch.sigmoid(W[:d] @ x + b[:d])
    return f * torch.tanh(W[d:] @ x + b[d:])
""",
        "W and U exchanged": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(U[:d] @ x + W[:d] @ h + b[:d])
    n = torch.tanh(U[d:] @ x + W[d:] @ (f * h) + b[d:])
    return (1 - f) * h + f * n
""",
        "returns a pair, with the gate": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h + b[:d])
    n = torch.tanh(W[d:] @ x + U[d:] @ (f * h) + b[d:])
    return (1 - f) * h + f * n, f
""",
        "adds the candidate without forgetting": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h + b[:d])
    n = torch.tanh(W[d:] @ x + U[d:] @ (f * h) + b[d:])
    return h + f * n
""",
        "dot product of f and h in place of the elementwise product": """
def one_gate(x, h, W, U, b):
    d = len(h)
    f = torch.sigmoid(W[:d] @ x + U[:d] @ h + b[:d])
    n = torch.tanh(W[d:] @ x + U[d:] @ h * (f @ h) + b[d:])
    return (1 - f) * h + f * n
""",
    },
    "recurrence.linear-reach": {
        "forgets W": """
def linear_reach(W, U, n):
    return torch.stack([torch.linalg.matrix_power(U, k).norm() for k in range(n)])
""",
        "ignores U": """
def linear_reach(W, U, n):
    return W.norm().repeat(n)
""",
        "W and U exchanged": """
def linear_reach(W, U, n):
    return torch.stack([(torch.linalg.matrix_power(W, k) @ U).norm() for k in range(n)])
""",
        "product in the other order, W U^k": """
def linear_reach(W, U, n):
    return torch.stack([(W @ torch.linalg.matrix_power(U, k)).norm() for k in range(n)])
""",
        "product of the norms": """
def linear_reach(W, U, n):
    return W.norm() * U.norm() ** torch.arange(n)
""",
        "norm of W times norm of the power": """
def linear_reach(W, U, n):
    return torch.stack([torch.linalg.matrix_power(U, k).norm() * W.norm() for k in range(n)])
""",
        "spectral norm": """
def linear_reach(W, U, n):
    return torch.stack([torch.linalg.matrix_norm(torch.linalg.matrix_power(U, k) @ W, ord=2) for k in range(n)])
""",
        "begins with distance 1": """
def linear_reach(W, U, n):
    return torch.stack([(torch.linalg.matrix_power(U, k) @ W).norm() for k in range(1, n + 1)])
""",
        "one distance too many": """
def linear_reach(W, U, n):
    return torch.stack([(torch.linalg.matrix_power(U, k) @ W).norm() for k in range(n + 1)])
""",
        "one distance too few": """
def linear_reach(W, U, n):
    J, out = W, []
    for _ in range(n - 1):
        out.append(J.norm())
        J = U @ J
    return torch.stack(out)
""",
        "in the order of the positions, farthest first": """
def linear_reach(W, U, n):
    return torch.stack([(torch.linalg.matrix_power(U, k) @ W).norm() for k in reversed(range(n))])
""",
        "elementwise power": """
def linear_reach(W, U, n):
    return torch.stack([(U ** k @ W).norm() for k in range(n)])
""",
        "U transposed": """
def linear_reach(W, U, n):
    J, out = W, []
    for _ in range(n):
        out.append(J.norm())
        J = U.T @ J
    return torch.stack(out)
""",
        "squared norm": """
def linear_reach(W, U, n):
    J, out = W, []
    for _ in range(n):
        out.append((J ** 2).sum())
        J = U @ J
    return torch.stack(out)
""",
        "sum of absolute values": """
def linear_reach(W, U, n):
    J, out = W, []
    for _ in range(n):
        out.append(J.abs().sum())
        J = U @ J
    return torch.stack(out)
""",
        "largest eigenvalue to the power": """
def linear_reach(W, U, n):
    rho = torch.linalg.eigvals(U).abs().max()
    return W.norm() * rho ** torch.arange(n)
""",
        "autograd instead of the matrices": """
def linear_reach(W, U, n):
    X = torch.zeros(n, W.shape[1], dtype=W.dtype)
    def last(X):
        h = torch.zeros(U.shape[0], dtype=W.dtype)
        for x in X:
            h = W @ x + U @ h
        return h
    J = torch.autograd.functional.jacobian(last, X)
    return J.square().sum(dim=(0, 2)).sqrt().flip(0)
""",
        "gradient_reach of the library on a random sentence": """
def linear_reach(W, U, n):
    def last(X):
        h = X.new_zeros(U.shape[0])
        for x in X:
            h = W @ x + U @ h
        return h
    return gradient_reach(last, torch.randn(n, W.shape[1]).to(W)).flip(0)
""",
        "a matrix of norms of columns": """
def linear_reach(W, U, n):
    J, out = W, []
    for _ in range(n):
        out.append(J.norm(dim=0))
        J = U @ J
    return torch.stack(out)
""",
        "sums the matrices up to the distance": """
def linear_reach(W, U, n):
    J, total, out = W, torch.zeros_like(W), []
    for _ in range(n):
        total = total + J
        out.append(total.norm())
        J = U @ J
    return torch.stack(out)
""",
        "squares U at each step": """
def linear_reach(W, U, n):
    out, P = [W.norm()], U
    for _ in range(n - 1):
        out.append((P @ W).norm())
        P = P @ P
    return torch.stack(out)
""",
        "overwrites U": """
def linear_reach(W, U, n):
    out, step = [W.norm()], U.clone()
    for _ in range(n - 1):
        out.append((U @ W).norm())
        U.copy_(U @ step)
    return torch.stack(out)
""",
        "normalised to 1 at distance 0": """
def linear_reach(W, U, n):
    r = torch.stack([(torch.linalg.matrix_power(U, k) @ W).norm() for k in range(n)])
    return r / r[0]
""",
        "ignores n, always five distances": """
def linear_reach(W, U, n):
    return torch.stack([(torch.linalg.matrix_power(U, k) @ W).norm() for k in range(5)])
""",
        "only the norm at the last distance": """
def linear_reach(W, U, n):
    return (torch.linalg.matrix_power(U, n - 1) @ W).norm()
""",
    },
    "recurrence.speak": {
        "keeps <eos> in the answer": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], bos_id
    for _ in range(max_len):
        p, state = step(word, state)
        word = p.index(max(p))
        ids.append(word)
        if word == eos_id:
            break
    return ids
""",
        "keeps <bos> in the answer": """
def speak(step, state, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        p, state = step(ids[-1], state)
        word = p.index(max(p))
        if word == eos_id:
            break
        ids.append(word)
    return ids
""",
        "never moves on to the next state": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], bos_id
    for _ in range(max_len):
        p, _ = step(word, state)
        word = p.index(max(p))
        if word == eos_id:
            break
        ids.append(word)
    return ids
""",
        "always feeds <bos>": """
def speak(step, state, bos_id, eos_id, max_len):
    ids = []
    for _ in range(max_len):
        p, state = step(bos_id, state)
        word = p.index(max(p))
        if word == eos_id:
            break
        ids.append(word)
    return ids
""",
        "one word too few, max_len counts <bos>": """
def speak(step, state, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        p, state = step(ids[-1], state)
        word = p.index(max(p))
        if word == eos_id:
            break
        ids.append(word)
    return ids[1:]
""",
        "one word too many": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], bos_id
    while len(ids) <= max_len:
        p, state = step(word, state)
        word = p.index(max(p))
        if word == eos_id:
            break
        ids.append(word)
    return ids
""",
        "does not stop at <eos>, only leaves it out": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], bos_id
    for _ in range(max_len):
        p, state = step(word, state)
        word = p.index(max(p))
        if word != eos_id:
            ids.append(word)
    return ids
""",
        "ignores max_len, writes up to 50 words": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], bos_id
    for _ in range(50):
        p, state = step(word, state)
        word = p.index(max(p))
        if word == eos_id:
            break
        ids.append(word)
    return ids
""",
        "ignores bos_id, begins with 1": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], 1
    for _ in range(max_len):
        p, state = step(word, state)
        word = p.index(max(p))
        if word == eos_id:
            break
        ids.append(word)
    return ids
""",
        "ignores eos_id, stops at 2": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], bos_id
    for _ in range(max_len):
        p, state = step(word, state)
        word = p.index(max(p))
        if word == 2:
            break
        ids.append(word)
    return ids
""",
        "ignores the given state, begins with None": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word, s = [], bos_id, None
    for _ in range(max_len):
        p, s = step(word, s)
        word = p.index(max(p))
        if word == eos_id:
            break
        ids.append(word)
    return ids
""",
        "takes the least probable word": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], bos_id
    for _ in range(max_len):
        p, state = step(word, state)
        word = p.index(min(p))
        if word == eos_id:
            break
        ids.append(word)
    return ids
""",
        "samples instead of taking the most probable": """
import random
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], bos_id
    for _ in range(max_len):
        p, state = step(word, state)
        word = random.choices(range(len(p)), weights=p)[0]
        if word == eos_id:
            break
        ids.append(word)
    return ids
""",
        "arguments of step exchanged": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], bos_id
    for _ in range(max_len):
        p, state = step(state, word)
        word = p.index(max(p))
        if word == eos_id:
            break
        ids.append(word)
    return ids
""",
        "drops the last word even when <eos> did not come": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], bos_id
    while len(ids) < max_len and word != eos_id:
        p, state = step(word, state)
        word = p.index(max(p))
        ids.append(word)
    return ids[:-1]
""",
        "returns nothing when <eos> does not come": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], bos_id
    for _ in range(max_len):
        p, state = step(word, state)
        word = p.index(max(p))
        if word == eos_id:
            return ids
        ids.append(word)
""",
        "returns the probabilities instead of the ids": """
def speak(step, state, bos_id, eos_id, max_len):
    out, word = [], bos_id
    for _ in range(max_len):
        p, state = step(word, state)
        word = p.index(max(p))
        if word == eos_id:
            break
        out.append(max(p))
    return out
""",
        "returns the state too": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], bos_id
    for _ in range(max_len):
        p, state = step(word, state)
        word = p.index(max(p))
        if word == eos_id:
            break
        ids.append(word)
    return ids, state
""",
        "stops after the first word": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], bos_id
    for _ in range(max_len):
        p, state = step(word, state)
        word = p.index(max(p))
        if word != eos_id:
            ids.append(word)
        return ids
""",
        "stops when a word repeats": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], bos_id
    for _ in range(max_len):
        p, state = step(word, state)
        word = p.index(max(p))
        if word == eos_id or word in ids:
            break
        ids.append(word)
    return ids
""",
        "forbids <eos> as long as max_len is not reached": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], bos_id
    for _ in range(max_len):
        p, state = step(word, state)
        word = max((i for i in range(len(p)) if i != eos_id), key=lambda i: p[i])
        ids.append(word)
    return ids
""",
        "counts only words above probability one half": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], bos_id
    for _ in range(max_len):
        p, state = step(word, state)
        word = p.index(max(p))
        if word == eos_id or p[word] < 0.5:
            break
        ids.append(word)
    return ids
""",
        "leaves out a word that repeats the one before": """
def speak(step, state, bos_id, eos_id, max_len):
    ids, word = [], bos_id
    for _ in range(max_len):
        p, state = step(word, state)
        word = p.index(max(p))
        if word == eos_id:
            break
        if not ids or ids[-1] != word:
            ids.append(word)
    return ids
""",
    },
}

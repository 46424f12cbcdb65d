"""Right and wrong answers to the exercises of chapter `training`."""

RIGHT = {
    "training.peak": {
        "two divisions": """
def warmup_for(peak, d_model):
    return 1 / peak**2 / d_model
""",
        "a search": """
def warmup_for(peak, d_model):
    low, high = 1.0, 1e9
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if (d_model * middle) ** -0.5 > peak else (low, middle)
    return low
""",
    },
    "training.rates": {
        "a loop over micro-batches": """
def rates(n_batches, accumulate, lr):
    out, step = [], 0
    for i in range(1, n_batches + 1):
        if i % accumulate == 0 or i == n_batches:
            step += 1
            out.append(lr(step))
    return out
""",
        "a ceiling": """
def rates(n_batches, accumulate, lr):
    updates = -(-n_batches // accumulate)
    return torch.tensor([lr(s + 1) for s in range(updates)])
""",
    },
    "training.smoothed-loss": {
        "two means": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    log_p = logits.log_softmax(dim=-1)[targets != pad_id]
    right = targets[targets != pad_id]
    true = log_p[torch.arange(len(right)), right]
    return -((1 - epsilon) * true + epsilon * log_p.mean(dim=-1)).mean()
""",
        "loops": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    total, count, v = 0.0, 0, logits.shape[-1]
    for row, target in zip(logits.reshape(-1, v), targets.reshape(-1)):
        if target != pad_id:
            log_p = row - row.logsumexp(dim=0)
            total = total - (1 - epsilon) * log_p[target] - epsilon / v * log_p.sum()
            count += 1
    return total / count
""",
    },
    "training.floor": {
        "a tensor": """
def least_loss(vocab_size, epsilon):
    q = torch.full((vocab_size,), epsilon / vocab_size, dtype=torch.double)
    q[0] += 1 - epsilon
    return -(q * q.log()).sum()
""",
        "in one line": """
def least_loss(vocab_size, epsilon):
    other = epsilon / vocab_size
    true = 1 - (vocab_size - 1) * other
    return -(true * math.log(true) + (1 - true) * math.log(other))
""",
    },
    "training.accumulate": {
        "a loop": """
def one_gradient(gradients, tokens):
    total = torch.zeros_like(gradients[0])
    for g, n in zip(gradients, tokens):
        total += g * n / sum(tokens)
    return total
""",
        "einsum": """
def one_gradient(gradients, tokens):
    shares = torch.tensor(tokens) / sum(tokens)
    return torch.einsum("i,i...->...", shares, torch.stack(gradients))
""",
    },
    "training.adam-step": {
        "lerp": """
def adam_step(p, g, m, v, t, lr):
    m = torch.lerp(m, g, 0.1)
    v = torch.lerp(v, g * g, 0.02)
    m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.98**t)
    return p - lr * m_hat / (torch.sqrt(v_hat) + 1e-9), m, v
""",
        "the correction in the rate": """
def adam_step(p, g, m, v, t, lr):
    m = 0.9 * m + (1 - 0.9) * g
    v = 0.98 * v + (1 - 0.98) * g.pow(2)
    step = lr * math.sqrt(1 - 0.98**t) / (1 - 0.9**t)
    return [p - step * m / (v.sqrt() + 1e-9 * math.sqrt(1 - 0.98**t)), m, v]
""",
    },
}

WRONG = {
    "training.peak": {
        "the square forgotten": """
def warmup_for(peak, d_model):
    return 1 / (d_model * peak)
""",
        "d_model forgotten": """
def warmup_for(peak, d_model):
    return peak**-2
""",
        "d_model on the wrong side": """
def warmup_for(peak, d_model):
    return d_model / peak**2
""",
        "the root of d_model": """
def warmup_for(peak, d_model):
    return d_model**-0.5 / peak**2
""",
    },
    "training.rates": {
        "schedule per micro-batch": """
def rates(n_batches, accumulate, lr):
    return [lr(i) for i in range(1, n_batches + 1) if i % accumulate == 0 or i == n_batches]
""",
        "an update for each micro-batch": """
def rates(n_batches, accumulate, lr):
    return [lr(i // accumulate + 1) for i in range(n_batches)]
""",
        "counted from 0": """
def rates(n_batches, accumulate, lr):
    return [lr(i) for i in range(math.ceil(n_batches / accumulate))]
""",
        "the last group lost": """
def rates(n_batches, accumulate, lr):
    return [lr(step) for step in range(1, n_batches // accumulate + 1)]
""",
    },
    "training.smoothed-loss": {
        "padding counted": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=epsilon)
""",
        "divided by all places": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    v = logits.shape[-1]
    q = F.one_hot(targets, v) * (1 - epsilon) + epsilon / v
    each = -(q * logits.log_softmax(-1)).sum(-1)
    return each.masked_fill(targets == pad_id, 0).mean()
""",
        "the other convention": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    v = logits.shape[-1]
    q = torch.full_like(logits, epsilon / (v - 1)).scatter(-1, targets.unsqueeze(-1), 1 - epsilon)
    return -(q * logits.log_softmax(-1)).sum(-1)[targets != pad_id].mean()
""",
        "not smoothed": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id)
""",
        "a mean of sentences": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    losses = [F.cross_entropy(x, y, label_smoothing=epsilon, ignore_index=pad_id) for x, y in zip(logits, targets)]
    return torch.stack(losses).mean()
""",
    },
    "training.floor": {
        "only the true token": """
def least_loss(vocab_size, epsilon):
    return -math.log(1 - epsilon + epsilon / vocab_size)
""",
        "the other convention": """
def least_loss(vocab_size, epsilon):
    return -(1 - epsilon) * math.log(1 - epsilon) - epsilon * math.log(epsilon / (vocab_size - 1))
""",
        "in bits": """
def least_loss(vocab_size, epsilon):
    other = epsilon / vocab_size
    true = 1 - epsilon + other
    return -true * math.log2(true) - (vocab_size - 1) * other * math.log2(other)
""",
        "as if it could reach 0": """
def least_loss(vocab_size, epsilon):
    return 0.0
""",
    },
    "training.accumulate": {
        "every micro-batch counts the same": """
def one_gradient(gradients, tokens):
    return torch.stack(gradients).mean(dim=0)
""",
        "a plain sum": """
def one_gradient(gradients, tokens):
    return sum(gradients)
""",
        "not divided by all tokens": """
def one_gradient(gradients, tokens):
    return sum(n * g for g, n in zip(gradients, tokens))
""",
        "divided by the number of micro-batches": """
def one_gradient(gradients, tokens):
    return sum(n * g for g, n in zip(gradients, tokens)) / len(gradients)
""",
    },
    "training.adam-step": {
        "no bias correction": """
def adam_step(p, g, m, v, t, lr):
    m, v = 0.9 * m + 0.1 * g, 0.98 * v + 0.02 * g**2
    return p - lr * m / (v.sqrt() + 1e-9), m, v
""",
        "β₁ and β₂ swapped": """
def adam_step(p, g, m, v, t, lr):
    m, v = 0.98 * m + 0.02 * g, 0.9 * v + 0.1 * g**2
    return p - lr * (m / (1 - 0.98**t)) / ((v / (1 - 0.9**t)).sqrt() + 1e-9), m, v
""",
        "corrected means handed on": """
def adam_step(p, g, m, v, t, lr):
    m, v = 0.9 * m + 0.1 * g, 0.98 * v + 0.02 * g**2
    m, v = m / (1 - 0.9**t), v / (1 - 0.98**t)
    return p - lr * m / (v.sqrt() + 1e-9), m, v
""",
        "β not raised to t": """
def adam_step(p, g, m, v, t, lr):
    m, v = 0.9 * m + 0.1 * g, 0.98 * v + 0.02 * g**2
    return p - lr * (m / (1 - 0.9)) / ((v / (1 - 0.98)).sqrt() + 1e-9), m, v
""",
        "no root": """
def adam_step(p, g, m, v, t, lr):
    m, v = 0.9 * m + 0.1 * g, 0.98 * v + 0.02 * g**2
    return p - lr * (m / (1 - 0.9**t)) / (v / (1 - 0.98**t) + 1e-9), m, v
""",
    },
}

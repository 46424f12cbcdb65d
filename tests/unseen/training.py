"""Unseen answers to the exercises of chapter `training`, written from the statements alone."""

RIGHT = {
    "training.peak": {
        "solved for the warm-up": """
def warmup_for(peak, d_model):
    return 1 / (d_model * peak**2)
""",
        "negative powers": """
def warmup_for(peak, d_model):
    return peak**-2 / d_model
""",
        "by logarithms": """
def warmup_for(peak, d_model):
    return math.exp(-2 * math.log(peak) - math.log(d_model))
""",
        "by halving an interval": """
def warmup_for(peak, d_model):
    def height(warmup):
        return (d_model * warmup) ** -0.5

    low, high = 1e-9, 1.0
    while height(high) > peak:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if height(middle) > peak:
            low = middle
        else:
            high = middle
    return (low + high) / 2
""",
        "the root first, then squared": """
def warmup_for(peak, d_model):
    root = 1.0 / (peak * math.sqrt(d_model))
    return root * root
""",
        "from a known schedule, by proportion": """
def warmup_for(peak, d_model):
    known = 4000
    height = (d_model * known) ** -0.5
    return known * (height / peak) ** 2
""",
    },
    "training.rates": {
        "rounded up with math.ceil": """
def rates(n_batches, accumulate, lr):
    updates = math.ceil(n_batches / accumulate)
    return [lr(step) for step in range(1, updates + 1)]
""",
        "walk over the micro-batches": """
def rates(n_batches, accumulate, lr):
    result, step, waiting = [], 0, 0
    for _ in range(n_batches):
        waiting += 1
        if waiting == accumulate:
            step += 1
            result.append(lr(step))
            waiting = 0
    if waiting:
        result.append(lr(step + 1))
    return result
""",
        "minus floor division": """
def rates(n_batches, accumulate, lr):
    return list(map(lr, range(1, 1 - (-n_batches // accumulate))))
""",
        "range with a stride": """
def rates(n_batches, accumulate, lr):
    starts = range(0, n_batches, accumulate)
    return [lr(step) for step, _ in enumerate(starts, start=1)]
""",
        "while micro-batches are left": """
def rates(n_batches, accumulate, lr):
    found, left = [], n_batches
    while left > 0:
        found += [lr(len(found) + 1)]
        left -= accumulate
    return found
""",
        "divmod": """
def rates(n_batches, accumulate, lr):
    whole, rest = divmod(n_batches, accumulate)
    found = []
    for i in range(whole + (rest > 0)):
        found.append(lr(i + 1))
    return found
""",
        "itertools": """
def rates(n_batches, accumulate, lr):
    batches = iter(range(n_batches))
    groups = iter(lambda: list(itertools.islice(batches, accumulate)), [])
    return [lr(step) for step, group in zip(itertools.count(1), groups)]
""",
    },
    "training.smoothed-loss": {
        "log_softmax and gather": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    keep = targets != pad_id
    log_p = logits[keep].log_softmax(dim=-1)
    true = log_p.gather(-1, targets[keep].unsqueeze(-1)).squeeze(-1)
    return -((1 - epsilon) * true + epsilon * log_p.mean(dim=-1)).mean()
""",
        "one-hot targets": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    v = logits.shape[-1]
    word = targets != pad_id
    q = F.one_hot(targets[word], v) * (1 - epsilon) + epsilon / v
    return -(q * F.log_softmax(logits[word], dim=-1)).sum() / word.sum()
""",
        "logsumexp": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    flat, ids = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    flat, ids = flat[ids != pad_id], ids[ids != pad_id]
    z = torch.logsumexp(flat, dim=1)
    right = flat[torch.arange(len(ids)), ids]
    wanted = (1 - epsilon) * right + epsilon * flat.mean(dim=1)
    return (z - wanted).mean()
""",
        "loop over the tokens": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    total, count = 0.0, 0
    for row, ids in zip(logits, targets):
        for scores, token in zip(row, ids.tolist()):
            if token == pad_id:
                continue
            log_p = torch.log_softmax(scores, dim=0)
            q = torch.full_like(log_p, epsilon / len(log_p))
            q[token] += 1 - epsilon
            total = total - (q * log_p).sum()
            count += 1
    return total / count
""",
        "the library's targets and einsum": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    keep = targets.ne(pad_id)
    chosen = logits[keep]
    q = smoothed_targets(targets[keep], chosen.size(-1), epsilon).to(chosen.dtype)
    each = torch.einsum("tv,tv->t", q, chosen.log_softmax(-1))
    return each.mean().neg()
""",
        "maximum taken away by hand, mask at the end": """
def log_probabilities(logits):
    shifted = logits - logits.max(dim=-1, keepdim=True).values
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()

def smoothed_loss(logits, targets, epsilon, pad_id):
    log_p = log_probabilities(logits)
    mask = (targets != pad_id).to(logits.dtype)
    safe = targets.clamp(min=0)
    hard = -log_p.gather(2, safe[:, :, None])[:, :, 0]
    soft = -log_p.mean(dim=2)
    return (((1 - epsilon) * hard + epsilon * soft) * mask).sum() / mask.sum()
""",
        "F.nll_loss for the true tokens": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    keep = targets != pad_id
    log_p = F.log_softmax(logits[keep], dim=-1)
    return (1 - epsilon) * F.nll_loss(log_p, targets[keep]) - epsilon * log_p.mean()
""",
        "in float64": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    keep = targets != pad_id
    log_p = torch.log_softmax(logits[keep].double(), dim=-1)
    q = torch.zeros_like(log_p).scatter_(1, targets[keep][:, None], 1 - epsilon) + epsilon / log_p.shape[1]
    return -(q * log_p).sum(1).mean().to(logits.dtype)
""",
    },
    "training.floor": {
        "entropy in two terms": """
def least_loss(vocab_size, epsilon):
    low = epsilon / vocab_size
    high = 1 - epsilon + low
    if epsilon == 0:
        return 0.0
    return -(high * math.log(high) + (vocab_size - 1) * low * math.log(low))
""",
        "torch.special.entr": """
def least_loss(vocab_size, epsilon):
    q = torch.full((vocab_size,), epsilon / vocab_size, dtype=torch.float64)
    q[0] += 1 - epsilon
    return torch.special.entr(q).sum().item()
""",
        "loop with a helper": """
def part(p):
    return p * math.log(1 / p) if p > 0 else 0.0

def least_loss(vocab_size, epsilon):
    share = epsilon / vocab_size
    total = part(share + (1 - epsilon))
    for _ in range(vocab_size - 1):
        total += part(share)
    return total
""",
        "cross-entropy of q with itself": """
def least_loss(vocab_size, epsilon):
    q = [epsilon / vocab_size] * vocab_size
    q[0] = 1 - sum(q[1:])
    return sum(-p * math.log(p) for p in q if p > 0)
""",
        "the loss of the logits log q": """
def least_loss(vocab_size, epsilon):
    if not epsilon:
        return 0.0
    q = torch.full((vocab_size,), epsilon / vocab_size, dtype=torch.float64)
    q[-1] = 1 - epsilon + epsilon / vocab_size
    return float(F.cross_entropy(q.log()[None], q[None]))
""",
        "torch.distributions": """
def least_loss(vocab_size, epsilon):
    if vocab_size == 1 or epsilon == 0:
        return 0.0
    p = torch.tensor([1.0] + [0.0] * (vocab_size - 1), dtype=torch.float64)
    q = (1 - epsilon) * p + epsilon / vocab_size
    return torch.distributions.Categorical(probs=q).entropy().item()
""",
    },
    "training.accumulate": {
        "weighted sum over total": """
def one_gradient(gradients, tokens):
    total = sum(tokens)
    return sum(g * n for g, n in zip(gradients, tokens)) / total
""",
        "loop into zeros": """
def one_gradient(gradients, tokens):
    result = torch.zeros_like(gradients[0])
    all_tokens = sum(tokens)
    for gradient, count in zip(gradients, tokens):
        result += gradient * (count / all_tokens)
    return result
""",
        "einsum": """
def one_gradient(gradients, tokens):
    stacked = torch.stack(gradients)
    shares = torch.tensor(tokens, dtype=stacked.dtype) / sum(tokens)
    return torch.einsum("i,i...->...", shares, stacked)
""",
        "tensordot": """
def one_gradient(gradients, tokens):
    G = torch.stack(list(gradients))
    w = torch.tensor(tokens).to(G.dtype)
    return torch.tensordot(w, G, dims=1) / w.sum()
""",
        "a running mean": """
def one_gradient(gradients, tokens):
    mean, seen = torch.zeros_like(gradients[0]), 0
    for g, n in zip(gradients, tokens):
        if n == 0:
            continue
        seen += n
        mean = mean + (g - mean) * n / seen
    return mean
""",
        "recursive, two at a time": """
def one_gradient(gradients, tokens):
    if len(gradients) == 1:
        return gradients[0].clone()
    (a, b, *others), (m, n, *rest) = gradients, tokens
    both = (a * m + b * n) / max(m + n, 1)
    return one_gradient([both, *others], [m + n, *rest])
""",
        "flattened matrix product": """
def one_gradient(gradients, tokens):
    rows = torch.stack([g.flatten() for g in gradients])
    n = torch.tensor([float(t) for t in tokens], dtype=rows.dtype)
    return (n @ rows / n.sum()).reshape(gradients[0].shape)
""",
    },
    "training.adam-step": {
        "by the book": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m / (1 - 0.9**t)
    s_hat = s / (1 - 0.98**t)
    return p - lr * m_hat / (torch.sqrt(s_hat) + 1e-9), m, s
""",
        "names for the settings": """
def adam_step(p, g, m, s, t, lr):
    beta1, beta2, eps = 0.9, 0.98, 1e-9
    new_m = beta1 * m + (1 - beta1) * g
    new_s = beta2 * s + (1 - beta2) * g * g
    step = (new_m / (1 - beta1**t)) / ((new_s / (1 - beta2**t)).sqrt() + eps)
    return p - lr * step, new_m, new_s
""",
        "lerp and addcmul": """
def adam_step(p, g, m, s, t, lr):
    first = torch.lerp(m, g, 0.1)
    second = (s * 0.98).addcmul(g, g, value=0.02)
    denominator = second.sqrt() / math.sqrt(1 - 0.98**t) + 1e-9
    return p.addcdiv(first, denominator, value=-lr / (1 - 0.9**t)), first, second
""",
        "on copies, in place": """
def adam_step(p, g, m, s, t, lr):
    p, m, s = p.clone(), m.clone(), s.clone()
    m.mul_(0.9).add_(0.1 * g)
    s.mul_(0.98).add_(0.02 * g.square())
    p -= lr * (m / (1 - 0.9**t)) / ((s / (1 - 0.98**t)) ** 0.5 + 1e-9)
    return p, m, s
""",
        "a helper for running means": """
def running(old, new, beta, t):
    mean = beta * old + (1 - beta) * new
    return mean, mean / (1 - beta**t)

def adam_step(p, g, m, s, t, lr):
    m, direction = running(m, g, 0.9, t)
    s, size = running(s, g.pow(2), 0.98, t)
    return (p - lr * direction / (size.sqrt() + 1e-9), m, s)
""",
        "difference form": """
def adam_step(p, g, m, s, t, lr):
    m_new = m + (g - m) * 0.1
    s_new = s + (torch.square(g) - s) * 0.02
    correct_m, correct_s = 1 - math.pow(0.9, t), 1 - math.pow(0.98, t)
    change = (m_new / correct_m).div((s_new / correct_s).sqrt().add(1e-9))
    return torch.sub(p, change, alpha=lr), m_new, s_new
""",
    },
}

WRONG = {
    "training.peak": {
        "peak not squared": """
def warmup_for(peak, d_model):
    return 1 / (d_model * peak)
""",
        "d_model ignored": """
def warmup_for(peak, d_model):
    return 1 / peak**2
""",
        "peak ignored, 4000 as in the paper": """
def warmup_for(peak, d_model):
    return 4000
""",
        "not squared at all": """
def warmup_for(peak, d_model):
    root = 1.0 / (peak * math.sqrt(d_model))
    return root
""",
        "the peak as a function of d_model as warm-up": """
def warmup_for(peak, d_model):
    return (d_model * peak) ** -0.5
""",
        "d_model squared, too": """
def warmup_for(peak, d_model):
    return 1 / (d_model * peak) ** 2
""",
        "the root of d_model kept": """
def warmup_for(peak, d_model):
    return 1 / (math.sqrt(d_model) * peak**2)
""",
        "multiplied by d_model": """
def warmup_for(peak, d_model):
    return peak**-2 * d_model
""",
        "cut to a whole number": """
def warmup_for(peak, d_model):
    return int(1 / (d_model * peak**2))
""",
        "rounded to a whole number": """
def warmup_for(peak, d_model):
    return round(1 / (d_model * peak**2))
""",
        "rounded up": """
def warmup_for(peak, d_model):
    return math.ceil(1 / (d_model * peak**2))
""",
        "width 512 for every model": """
def warmup_for(peak, d_model):
    return 1 / (512 * peak**2)
""",
        "inverse of the right answer": """
def warmup_for(peak, d_model):
    return d_model * peak**2
""",
        "exponent 1.5 as in the rising part": """
def warmup_for(peak, d_model):
    return (peak * d_model**0.5) ** (-2 / 3)
""",
        "exponent -1/2 instead of -2": """
def warmup_for(peak, d_model):
    return peak**-0.5 / d_model
""",
        "whole steps tried until the peak is low enough": """
def warmup_for(peak, d_model):
    warmup = 1
    while (d_model * warmup) ** -0.5 > peak and warmup < 100000:
        warmup += 1
    return warmup
""",
        "half of it": """
def warmup_for(peak, d_model):
    return 1 / (2 * d_model * peak**2)
""",
        "minus sign from the exponent kept": """
def warmup_for(peak, d_model):
    return -peak**-2 / d_model
""",
        "precedence: multiplied by the square": """
def warmup_for(peak, d_model):
    return 1 / d_model * peak**2
""",
        "floor division": """
def warmup_for(peak, d_model):
    return 1 // (d_model * peak**2)
""",
    },
    "training.rates": {
        "what is left at the end dropped": """
def rates(n_batches, accumulate, lr):
    updates = n_batches // accumulate
    return [lr(step) for step in range(1, updates + 1)]
""",
        "always one update more than whole groups": """
def rates(n_batches, accumulate, lr):
    updates = n_batches // accumulate + 1
    return [lr(step) for step in range(1, updates + 1)]
""",
        "rounded to the nearest": """
def rates(n_batches, accumulate, lr):
    updates = round(n_batches / accumulate)
    return [lr(step) for step in range(1, updates + 1)]
""",
        "steps counted from 0": """
def rates(n_batches, accumulate, lr):
    whole, rest = divmod(n_batches, accumulate)
    found = []
    for i in range(whole + (rest > 0)):
        found.append(lr(i))
    return found
""",
        "steps counted from 2": """
def rates(n_batches, accumulate, lr):
    whole, rest = divmod(n_batches, accumulate)
    found = []
    for i in range(whole + (rest > 0)):
        found.append(lr(i + 2))
    return found
""",
        "the schedule counts micro-batches": """
def rates(n_batches, accumulate, lr):
    whole, rest = divmod(n_batches, accumulate)
    found = []
    for i in range(whole + (rest > 0)):
        found.append(lr((i + 1) * accumulate))
    return found
""",
        "one rate for each micro-batch": """
def rates(n_batches, accumulate, lr):
    updates = n_batches
    return [lr(step) for step in range(1, updates + 1)]
""",
        "the last update missing": """
def rates(n_batches, accumulate, lr):
    updates = math.ceil(n_batches / accumulate)
    return [lr(step) for step in range(1, updates)]
""",
        "accumulate ignored, rate repeated for each micro-batch of a group": """
def rates(n_batches, accumulate, lr):
    updates = math.ceil(n_batches / accumulate)
    return [lr(i // accumulate + 1) for i in range(n_batches)]
""",
        "the rate divided by accumulate": """
def rates(n_batches, accumulate, lr):
    updates = math.ceil(n_batches / accumulate)
    return [lr(step) / accumulate for step in range(1, updates + 1)]
""",
        "the rate multiplied by accumulate": """
def rates(n_batches, accumulate, lr):
    updates = math.ceil(n_batches / accumulate)
    return [lr(step) * accumulate for step in range(1, updates + 1)]
""",
        "a smaller rate for the smaller update": """
def rates(n_batches, accumulate, lr):
    whole, rest = divmod(n_batches, accumulate)
    found = []
    for i in range(whole + (rest > 0)):
        found.append(lr(i + 1))
    if rest:
        found[-1] *= rest / accumulate
    return found
""",
        "number of the first micro-batch for the step": """
def rates(n_batches, accumulate, lr):
    starts = range(0, n_batches, accumulate)
    return [lr(start + 1) for start in starts]
""",
        "a generator, no list": """
def rates(n_batches, accumulate, lr):
    updates = math.ceil(n_batches / accumulate)
    return (lr(step) for step in range(1, updates + 1))
""",
        "a tensor, no list": """
def rates(n_batches, accumulate, lr):
    updates = math.ceil(n_batches / accumulate)
    return torch.tensor([lr(step) for step in range(1, updates + 1)])
""",
        "a tuple, no list": """
def rates(n_batches, accumulate, lr):
    updates = math.ceil(n_batches / accumulate)
    return tuple(lr(step) for step in range(1, updates + 1))
""",
        "the last rate only": """
def rates(n_batches, accumulate, lr):
    updates = math.ceil(n_batches / accumulate)
    return lr(updates) if updates else 0.0
""",
        "in the opposite order": """
def rates(n_batches, accumulate, lr):
    updates = math.ceil(n_batches / accumulate)
    return [lr(step) for step in range(updates, 0, -1)]
""",
        "the smaller update in front of the list": """
def rates(n_batches, accumulate, lr):
    whole, rest = divmod(n_batches, accumulate)
    found = []
    for i in range(whole + (rest > 0)):
        found.append(lr(i + 1))
    return found[-1:] + found[:-1]
""",
        "steps instead of rates": """
def rates(n_batches, accumulate, lr):
    updates = math.ceil(n_batches / accumulate)
    return [step for step in range(1, updates + 1)]
""",
        "the last update with the rate of the one before": """
def rates(n_batches, accumulate, lr):
    whole, rest = divmod(n_batches, accumulate)
    found = []
    for i in range(whole + (rest > 0)):
        found.append(lr(i + 1))
    if rest and whole:
        found[-1] = found[-2]
    return found
""",
        "groups of four, accumulate ignored": """
def rates(n_batches, accumulate, lr):
    updates = math.ceil(n_batches / 4)
    return [lr(step) for step in range(1, updates + 1)]
""",
        "the paper's schedule instead of the one given": """
def rates(n_batches, accumulate, lr):
    updates = math.ceil(n_batches / accumulate)
    return [warmup_lr(step, 512) for step in range(1, updates + 1)]
""",
        "n_batches and accumulate exchanged": """
def rates(n_batches, accumulate, lr):
    updates = math.ceil(accumulate / n_batches if n_batches else 0)
    return [lr(step) for step in range(1, updates + 1)]
""",
        "a rest of one batch is lost": """
def rates(n_batches, accumulate, lr):
    whole, rest = divmod(n_batches, accumulate)
    found = []
    for i in range(whole + (rest > 1)):
        found.append(lr(i + 1))
    return found
""",
        "number of updates, no rates": """
def rates(n_batches, accumulate, lr):
    updates = math.ceil(n_batches / accumulate)
    return updates
""",
    },
    "training.smoothed-loss": {
        "logarithm after softmax, infinite for large logits": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    keep = targets != pad_id
    log_p = logits[keep].softmax(dim=-1).log()
    true = log_p.gather(-1, targets[keep].unsqueeze(-1)).squeeze(-1)
    return -((1 - epsilon) * true + epsilon * log_p.mean(dim=-1)).mean()
""",
        "a small number inside the logarithm": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    keep = targets != pad_id
    log_p = (logits[keep].softmax(dim=-1) + 1e-9).log()
    true = log_p.gather(-1, targets[keep].unsqueeze(-1)).squeeze(-1)
    return -((1 - epsilon) * true + epsilon * log_p.mean(dim=-1)).mean()
""",
        "exp without taking the maximum away": """
def log_probabilities(logits):
    shifted = logits
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()

def smoothed_loss(logits, targets, epsilon, pad_id):
    log_p = log_probabilities(logits)
    mask = (targets != pad_id).to(logits.dtype)
    safe = targets.clamp(min=0)
    hard = -log_p.gather(2, safe[:, :, None])[:, :, 0]
    soft = -log_p.mean(dim=2)
    return (((1 - epsilon) * hard + epsilon * soft) * mask).sum() / mask.sum()
""",
        "epsilon shared among the other tokens only": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    v = logits.shape[-1]
    word = targets != pad_id
    q = F.one_hot(targets[word], v) * (1 - epsilon) + epsilon / v
    q = torch.full(q.shape, epsilon / (v - 1), dtype=logits.dtype).scatter(1, targets[word][:, None], 1 - epsilon)
    return -(q * F.log_softmax(logits[word], dim=-1)).sum() / word.sum()
""",
        "the true token gets 1 - ε, the others ε/v": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    v = logits.shape[-1]
    word = targets != pad_id
    q = F.one_hot(targets[word], v) * (1 - epsilon) + epsilon / v
    q = torch.full(q.shape, epsilon / v, dtype=logits.dtype).scatter(1, targets[word][:, None], 1 - epsilon)
    return -(q * F.log_softmax(logits[word], dim=-1)).sum() / word.sum()
""",
        "padding counted in the mean": """
def log_probabilities(logits):
    shifted = logits - logits.max(dim=-1, keepdim=True).values
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()

def smoothed_loss(logits, targets, epsilon, pad_id):
    log_p = log_probabilities(logits)
    mask = (targets != pad_id).to(logits.dtype)
    safe = targets.clamp(min=0)
    hard = -log_p.gather(2, safe[:, :, None])[:, :, 0]
    soft = -log_p.mean(dim=2)
    return (((1 - epsilon) * hard + epsilon * soft) * mask).sum() / mask.numel()
""",
        "padding not left out, pad_id ignored": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    keep = torch.ones_like(targets, dtype=torch.bool)
    log_p = logits[keep].log_softmax(dim=-1)
    true = log_p.gather(-1, targets[keep].unsqueeze(-1)).squeeze(-1)
    return -((1 - epsilon) * true + epsilon * log_p.mean(dim=-1)).mean()
""",
        "0 for the padding whatever pad_id is": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    keep = targets != 0
    log_p = logits[keep].log_softmax(dim=-1)
    true = log_p.gather(-1, targets[keep].unsqueeze(-1)).squeeze(-1)
    return -((1 - epsilon) * true + epsilon * log_p.mean(dim=-1)).mean()
""",
        "the sum instead of the mean": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    v = logits.shape[-1]
    word = targets != pad_id
    q = F.one_hot(targets[word], v) * (1 - epsilon) + epsilon / v
    return -(q * F.log_softmax(logits[word], dim=-1)).sum()
""",
        "the mean of the sentences' means": """
def log_probabilities(logits):
    shifted = logits - logits.max(dim=-1, keepdim=True).values
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()

def smoothed_loss(logits, targets, epsilon, pad_id):
    log_p = log_probabilities(logits)
    mask = (targets != pad_id).to(logits.dtype)
    safe = targets.clamp(min=0)
    hard = -log_p.gather(2, safe[:, :, None])[:, :, 0]
    soft = -log_p.mean(dim=2)
    return ((((1 - epsilon) * hard + epsilon * soft) * mask).sum(1) / mask.sum(1)).mean()
""",
        "divided by the number of sentences": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    v = logits.shape[-1]
    word = targets != pad_id
    q = F.one_hot(targets[word], v) * (1 - epsilon) + epsilon / v
    return -(q * F.log_softmax(logits[word], dim=-1)).sum() / len(targets)
""",
        "epsilon ignored, the hard loss": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    keep = targets != pad_id
    log_p = logits[keep].log_softmax(dim=-1)
    true = log_p.gather(-1, targets[keep].unsqueeze(-1)).squeeze(-1)
    return -true.mean()
""",
        "0.1 for every epsilon": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    epsilon = 0.1
    keep = targets != pad_id
    log_p = logits[keep].log_softmax(dim=-1)
    true = log_p.gather(-1, targets[keep].unsqueeze(-1)).squeeze(-1)
    return -((1 - epsilon) * true + epsilon * log_p.mean(dim=-1)).mean()
""",
        "sum over the vocabulary instead of its mean": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    keep = targets != pad_id
    log_p = logits[keep].log_softmax(dim=-1)
    true = log_p.gather(-1, targets[keep].unsqueeze(-1)).squeeze(-1)
    return -((1 - epsilon) * true + epsilon * log_p.sum(dim=-1)).mean()
""",
        "in bits": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    keep = targets != pad_id
    log_p = logits[keep].log_softmax(dim=-1)
    true = log_p.gather(-1, targets[keep].unsqueeze(-1)).squeeze(-1)
    return -((1 - epsilon) * true + epsilon * log_p.mean(dim=-1)).mean() / math.log(2)
""",
        "the sign forgotten": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    keep = targets != pad_id
    log_p = logits[keep].log_softmax(dim=-1)
    true = log_p.gather(-1, targets[keep].unsqueeze(-1)).squeeze(-1)
    return ((1 - epsilon) * true + epsilon * log_p.mean(dim=-1)).mean()
""",
        "a number without gradient": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    v = logits.shape[-1]
    word = targets != pad_id
    q = F.one_hot(targets[word], v) * (1 - epsilon) + epsilon / v
    return (-(q * F.log_softmax(logits[word], dim=-1)).sum() / word.sum()).item()
""",
        "detached logits": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    keep = targets != pad_id
    log_p = logits[keep].detach().log_softmax(dim=-1)
    true = log_p.gather(-1, targets[keep].unsqueeze(-1)).squeeze(-1)
    return -((1 - epsilon) * true + epsilon * log_p.mean(dim=-1)).mean()
""",
        "computed under no_grad": """
@torch.no_grad()
def smoothed_loss(logits, targets, epsilon, pad_id):
    keep = targets != pad_id
    log_p = logits[keep].log_softmax(dim=-1)
    true = log_p.gather(-1, targets[keep].unsqueeze(-1)).squeeze(-1)
    return -((1 - epsilon) * true + epsilon * log_p.mean(dim=-1)).mean()
""",
        "softmax over the positions": """
def log_probabilities(logits):
    shifted = logits - logits.max(dim=1, keepdim=True).values
    return shifted - shifted.exp().sum(dim=1, keepdim=True).log()

def smoothed_loss(logits, targets, epsilon, pad_id):
    log_p = log_probabilities(logits)
    mask = (targets != pad_id).to(logits.dtype)
    safe = targets.clamp(min=0)
    hard = -log_p.gather(2, safe[:, :, None])[:, :, 0]
    soft = -log_p.mean(dim=2)
    return (((1 - epsilon) * hard + epsilon * soft) * mask).sum() / mask.sum()
""",
        "epsilon and 1 - epsilon exchanged": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    keep = targets != pad_id
    log_p = logits[keep].log_softmax(dim=-1)
    true = log_p.gather(-1, targets[keep].unsqueeze(-1)).squeeze(-1)
    return -(epsilon * true + (1 - epsilon) * log_p.mean(dim=-1)).mean()
""",
        "maximum taken away in place": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    flat, ids = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    flat, ids = flat[ids != pad_id], ids[ids != pad_id]
    logits.data -= logits.data.amax(dim=-1, keepdim=True)
    z = torch.logsumexp(flat, dim=1)
    right = flat[torch.arange(len(ids)), ids]
    wanted = (1 - epsilon) * right + epsilon * flat.mean(dim=1)
    return (z - wanted).mean()
""",
        "padding in the targets overwritten": """
def log_probabilities(logits):
    shifted = logits - logits.max(dim=-1, keepdim=True).values
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()

def smoothed_loss(logits, targets, epsilon, pad_id):
    log_p = log_probabilities(logits)
    mask = (targets != pad_id).to(logits.dtype)
    targets[targets == pad_id] = 0
    safe = targets
    hard = -log_p.gather(2, safe[:, :, None])[:, :, 0]
    soft = -log_p.mean(dim=2)
    return (((1 - epsilon) * hard + epsilon * soft) * mask).sum() / mask.sum()
""",
        "first sentence only": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    logits, targets = logits[:1], targets[:1]
    keep = targets != pad_id
    log_p = logits[keep].log_softmax(dim=-1)
    true = log_p.gather(-1, targets[keep].unsqueeze(-1)).squeeze(-1)
    return -((1 - epsilon) * true + epsilon * log_p.mean(dim=-1)).mean()
""",
        "log-probabilities cut at -100": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    keep = targets != pad_id
    log_p = logits[keep].log_softmax(dim=-1).clamp(min=-100)
    true = log_p.gather(-1, targets[keep].unsqueeze(-1)).squeeze(-1)
    return -((1 - epsilon) * true + epsilon * log_p.mean(dim=-1)).mean()
""",
        "one loss for each token": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    flat, ids = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    flat, ids = flat[ids != pad_id], ids[ids != pad_id]
    z = torch.logsumexp(flat, dim=1)
    right = flat[torch.arange(len(ids)), ids]
    wanted = (1 - epsilon) * right + epsilon * flat.mean(dim=1)
    return z - wanted
""",
        "entropy of the target taken away, KL divergence": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    keep = targets.ne(pad_id)
    chosen = logits[keep]
    q = smoothed_targets(targets[keep], chosen.size(-1), epsilon).to(chosen.dtype)
    each = torch.einsum("tv,tv->t", q, chosen.log_softmax(-1))
    return (each + torch.special.entr(q).sum(-1)).mean().neg()
""",
        "padding's column left out of the vocabulary": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    keep = targets != pad_id
    log_p = logits[keep].log_softmax(dim=-1)
    true = log_p.gather(-1, targets[keep].unsqueeze(-1)).squeeze(-1)
    return -((1 - epsilon) * true + epsilon * (log_p.sum(dim=-1) - log_p[:, pad_id]) / (log_p.shape[-1] - 1)).mean()
""",
        "right, but by F.cross_entropy, which is forbidden": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    return F.cross_entropy(logits.transpose(1, 2), targets, label_smoothing=epsilon, ignore_index=pad_id)
""",
        "right, but by nn.CrossEntropyLoss, the forbidden function as a module": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    loss = nn.CrossEntropyLoss(ignore_index=pad_id, label_smoothing=epsilon)
    return loss(logits.flatten(0, 1), targets.flatten())
""",
        "right, but by the library's loss, which calls the forbidden F.cross_entropy": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    return label_smoothed_loss(logits, targets, epsilon, pad_id)
""",
    },
    "training.floor": {
        "in bits": """
def least_loss(vocab_size, epsilon):
    low = epsilon / vocab_size
    high = 1 - epsilon + low
    if epsilon == 0:
        return 0.0
    return -(high * math.log2(high) + (vocab_size - 1) * low * math.log2(low))
""",
        "epsilon shared among the others only": """
def least_loss(vocab_size, epsilon):
    low = epsilon / (vocab_size - 1)
    high = 1 - epsilon
    if epsilon == 0:
        return 0.0
    return -(high * math.log(high) + (vocab_size - 1) * low * math.log(low))
""",
        "epsilon 0 ends in log 0": """
def least_loss(vocab_size, epsilon):
    low = epsilon / vocab_size
    high = 1 - epsilon + low
    return -(high * math.log(high) + (vocab_size - 1) * low * math.log(low))
""",
        "NaN for epsilon 0 by tensors": """
def least_loss(vocab_size, epsilon):
    q = torch.full((vocab_size,), epsilon / vocab_size, dtype=torch.float64)
    q[0] += 1 - epsilon
    return -(q * q.log()).sum().item()
""",
        "the true token's term only": """
def least_loss(vocab_size, epsilon):
    low = epsilon / vocab_size
    high = 1 - epsilon + low
    if epsilon == 0:
        return 0.0
    return -(high * math.log(high))
""",
        "one of the other tokens only": """
def least_loss(vocab_size, epsilon):
    low = epsilon / vocab_size
    high = 1 - epsilon + low
    if epsilon == 0:
        return 0.0
    return -(high * math.log(high) + low * math.log(low))
""",
        "v others instead of v - 1": """
def least_loss(vocab_size, epsilon):
    low = epsilon / vocab_size
    high = 1 - epsilon + low
    if epsilon == 0:
        return 0.0
    return -(high * math.log(high) + vocab_size * low * math.log(low))
""",
        "the true token without its share": """
def least_loss(vocab_size, epsilon):
    low = epsilon / vocab_size
    high = 1 - epsilon
    if epsilon == 0:
        return 0.0
    return -(high * math.log(high) + (vocab_size - 1) * low * math.log(low))
""",
        "others' terms only": """
def least_loss(vocab_size, epsilon):
    low = epsilon / vocab_size
    high = 1 - epsilon + low
    if epsilon == 0:
        return 0.0
    return -((vocab_size - 1) * low * math.log(low))
""",
        "the sign forgotten": """
def least_loss(vocab_size, epsilon):
    low = epsilon / vocab_size
    high = 1 - epsilon + low
    if epsilon == 0:
        return 0.0
    return (high * math.log(high) + (vocab_size - 1) * low * math.log(low))
""",
        "0, as without smoothing": """
def least_loss(vocab_size, epsilon):
    return 0.0
""",
        "the divergence of q from itself, 0": """
def least_loss(vocab_size, epsilon):
    q = torch.full((vocab_size,), epsilon / vocab_size, dtype=torch.float64)
    q[0] += 1 - epsilon
    return (torch.xlogy(q, q) - torch.xlogy(q, q)).sum().item()
""",
        "minus log of the true token's share": """
def least_loss(vocab_size, epsilon):
    low = epsilon / vocab_size
    high = 1 - epsilon + low
    if epsilon == 0:
        return 0.0
    return -math.log(high)
""",
        "log v, the loss of an even guess": """
def least_loss(vocab_size, epsilon):
    return math.log(vocab_size)
""",
        "epsilon ignored, 0.1 as in the paper": """
def least_loss(vocab_size, epsilon):
    epsilon = 0.1
    low = epsilon / vocab_size
    high = 1 - epsilon + low
    if epsilon == 0:
        return 0.0
    return -(high * math.log(high) + (vocab_size - 1) * low * math.log(low))
""",
        "vocab_size ignored, 37000 as in the paper": """
def least_loss(vocab_size, epsilon):
    vocab_size = 37000
    low = epsilon / vocab_size
    high = 1 - epsilon + low
    if epsilon == 0:
        return 0.0
    return -(high * math.log(high) + (vocab_size - 1) * low * math.log(low))
""",
        "entropy of two outcomes, epsilon and the rest": """
def least_loss(vocab_size, epsilon):
    low = epsilon / vocab_size
    high = 1 - epsilon + low
    if epsilon == 0:
        return 0.0
    return -((1 - epsilon) * math.log(1 - epsilon) + epsilon * math.log(epsilon))
""",
        "epsilon times log v": """
def least_loss(vocab_size, epsilon):
    return epsilon * math.log(vocab_size)
""",
        "mean over the vocabulary, not the sum": """
def least_loss(vocab_size, epsilon):
    q = torch.full((vocab_size,), epsilon / vocab_size, dtype=torch.float64)
    q[0] += 1 - epsilon
    return torch.special.entr(q).mean().item()
""",
        "probabilities for their logarithms": """
def least_loss(vocab_size, epsilon):
    low = epsilon / vocab_size
    high = 1 - epsilon + low
    if epsilon == 0:
        return 0.0
    return -(high * high + (vocab_size - 1) * low * low)
""",
        "logarithms without their weights": """
def least_loss(vocab_size, epsilon):
    low = epsilon / vocab_size
    high = 1 - epsilon + low
    if epsilon == 0:
        return 0.0
    return -(math.log(high) + (vocab_size - 1) * math.log(low))
""",
        "loss of logits q instead of log q": """
def least_loss(vocab_size, epsilon):
    if not epsilon:
        return 0.0
    q = torch.full((vocab_size,), epsilon / vocab_size, dtype=torch.float64)
    q[-1] = 1 - epsilon + epsilon / vocab_size
    return float(F.cross_entropy(q[None], q[None]))
""",
        "exponentiated, a perplexity": """
def least_loss(vocab_size, epsilon):
    low = epsilon / vocab_size
    high = 1 - epsilon + low
    if epsilon == 0:
        return 0.0
    return math.exp(-(high * math.log(high) + (vocab_size - 1) * low * math.log(low)))
""",
        "loss of q against the hard target": """
def least_loss(vocab_size, epsilon):
    if not epsilon:
        return 0.0
    q = torch.full((vocab_size,), epsilon / vocab_size, dtype=torch.float64)
    q[-1] = 1 - epsilon + epsilon / vocab_size
    return float(F.cross_entropy(q.log()[None], torch.tensor([vocab_size - 1])))
""",
    },
    "training.accumulate": {
        "plain mean of the gradients": """
def one_gradient(gradients, tokens):
    return sum(gradients) / len(gradients)
""",
        "plain sum, as backward adds up": """
def one_gradient(gradients, tokens):
    return torch.stack(gradients).sum(dim=0)
""",
        "weighted, but not divided": """
def one_gradient(gradients, tokens):
    total = sum(tokens)
    return sum(g * n for g, n in zip(gradients, tokens))
""",
        "divided by the number of processes": """
def one_gradient(gradients, tokens):
    total = len(tokens)
    return sum(g * n for g, n in zip(gradients, tokens)) / total
""",
        "sum of gradients over all tokens": """
def one_gradient(gradients, tokens):
    total = sum(tokens)
    return sum(g for g, n in zip(gradients, tokens)) / total
""",
        "each gradient divided by its tokens": """
def one_gradient(gradients, tokens):
    total = sum(tokens)
    return sum(g / n for g, n in zip(gradients, tokens)) / total
""",
        "weighted the wrong way, few tokens count most": """
def one_gradient(gradients, tokens):
    inverse = [1 / n for n in tokens]
    return sum(g * w for g, w in zip(gradients, inverse)) / sum(inverse)
""",
        "divided by tokens and by processes": """
def one_gradient(gradients, tokens):
    total = sum(tokens) * len(tokens)
    return sum(g * n for g, n in zip(gradients, tokens)) / total
""",
        "gradients multiplied in place": """
def one_gradient(gradients, tokens):
    for g, n in zip(gradients, tokens):
        g *= n / sum(tokens)
    return sum(gradients)
""",
        "added up in the first gradient": """
def one_gradient(gradients, tokens):
    total = gradients[0]
    total *= tokens[0]
    for g, n in zip(gradients[1:], tokens[1:]):
        total += g * n
    total /= sum(tokens)
    return total
""",
        "takes the lists apart": """
def one_gradient(gradients, tokens):
    total = sum(tokens)
    result = gradients.pop() * (tokens.pop() / total)
    while gradients:
        result = result + gradients.pop() * (tokens.pop() / total)
    return result
""",
        "weights stretch over the last axis": """
def one_gradient(gradients, tokens):
    weights = torch.tensor(tokens) / sum(tokens)
    return (torch.stack(gradients).transpose(0, -1) * weights).sum(dim=-1)
""",
        "weights only fit vectors": """
def one_gradient(gradients, tokens):
    weights = torch.tensor(tokens, dtype=gradients[0].dtype)[:, None] / sum(tokens)
    return (torch.stack(gradients) * weights).sum(dim=0)
""",
        "two processes only": """
def one_gradient(gradients, tokens):
    (a, b), (m, n) = gradients[:2], tokens[:2]
    return (a * m + b * n) / (m + n)
""",
        "whole shares": """
def one_gradient(gradients, tokens):
    result = torch.zeros_like(gradients[0])
    all_tokens = sum(tokens)
    for gradient, count in zip(gradients, tokens):
        result += gradient * (count // all_tokens)
    return result
""",
        "one number instead of a tensor": """
def one_gradient(gradients, tokens):
    total = sum(tokens)
    return (sum(g * n for g, n in zip(gradients, tokens)) / total).sum()
""",
        "divided by the largest count": """
def one_gradient(gradients, tokens):
    total = max(tokens)
    return sum(g * n for g, n in zip(gradients, tokens)) / total
""",
        "softmax of the counts": """
def one_gradient(gradients, tokens):
    stacked = torch.stack(gradients)
    shares = torch.tensor(tokens, dtype=stacked.dtype).softmax(dim=0)
    return torch.einsum("i,i...->...", shares, stacked)
""",
        "gradients stacked, not summed": """
def one_gradient(gradients, tokens):
    total = sum(tokens)
    return torch.stack([g * n / total for g, n in zip(gradients, tokens)])
""",
        "averaged pair by pair, counts not carried on": """
def one_gradient(gradients, tokens):
    mean, last = gradients[0], tokens[0]
    for g, n in zip(gradients[1:], tokens[1:]):
        mean = (mean * last + g * n) / (last + n)
        last = n
    return mean
""",
        "the last one left out": """
def one_gradient(gradients, tokens):
    total = sum(tokens)
    return sum(g * n for g, n in zip(gradients[:-1], tokens)) / total
""",
        "gradient of the largest batch alone": """
def one_gradient(gradients, tokens):
    return gradients[tokens.index(max(tokens))].clone()
""",
        "weighted by the root of the counts": """
def one_gradient(gradients, tokens):
    total = sum(n**0.5 for n in tokens)
    return sum(g * n**0.5 for g, n in zip(gradients, tokens)) / total
""",
        "normalised to length 1": """
def one_gradient(gradients, tokens):
    total = sum(tokens)
    return F.normalize(sum(g * n for g, n in zip(gradients, tokens)) / total, dim=-1) if gradients[0].dim() else gradients[0].sign()
""",
        "weighted mean, divided once more at each process": """
def one_gradient(gradients, tokens):
    result = torch.zeros_like(gradients[0])
    all_tokens = sum(tokens)
    for gradient, count in zip(gradients, tokens):
        result += gradient * (count / all_tokens) / len(tokens)
    return result
""",
    },
    "training.adam-step": {
        "no correction of the means": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m
    s_hat = s
    return p - lr * m_hat / (torch.sqrt(s_hat) + 1e-9), m, s
""",
        "only the mean of the gradient corrected": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m / (1 - 0.9**t)
    s_hat = s
    return p - lr * m_hat / (torch.sqrt(s_hat) + 1e-9), m, s
""",
        "only the mean of the square corrected": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m
    s_hat = s / (1 - 0.98**t)
    return p - lr * m_hat / (torch.sqrt(s_hat) + 1e-9), m, s
""",
        "t ignored, corrected as at the first step": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m / (1 - 0.9)
    s_hat = s / (1 - 0.98)
    return p - lr * m_hat / (torch.sqrt(s_hat) + 1e-9), m, s
""",
        "t counted from 0": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m / (1 - 0.9 ** (t + 1))
    s_hat = s / (1 - 0.98 ** (t + 1))
    return p - lr * m_hat / (torch.sqrt(s_hat) + 1e-9), m, s
""",
        "ε inside the root": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m / (1 - 0.9**t)
    s_hat = s / (1 - 0.98**t)
    return p - lr * m_hat / (torch.sqrt(s_hat + 1e-9)), m, s
""",
        "PyTorch's usual ε, 1e-8": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m / (1 - 0.9**t)
    s_hat = s / (1 - 0.98**t)
    return p - lr * m_hat / (torch.sqrt(s_hat) + 1e-8), m, s
""",
        "ε left out, 0 instead of it": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m / (1 - 0.9**t)
    s_hat = s / (1 - 0.98**t)
    return p - lr * m_hat / (torch.sqrt(s_hat)), m, s
""",
        "PyTorch's usual β, 0.999": """
def adam_step(p, g, m, s, t, lr):
    beta1, beta2, eps = 0.9, 0.999, 1e-9
    new_m = beta1 * m + (1 - beta1) * g
    new_s = beta2 * s + (1 - beta2) * g * g
    step = (new_m / (1 - beta1**t)) / ((new_s / (1 - beta2**t)).sqrt() + eps)
    return p - lr * step, new_m, new_s
""",
        "both β 0.9": """
def adam_step(p, g, m, s, t, lr):
    beta1, beta2, eps = 0.9, 0.9, 1e-9
    new_m = beta1 * m + (1 - beta1) * g
    new_s = beta2 * s + (1 - beta2) * g * g
    step = (new_m / (1 - beta1**t)) / ((new_s / (1 - beta2**t)).sqrt() + eps)
    return p - lr * step, new_m, new_s
""",
        "the two β exchanged": """
def adam_step(p, g, m, s, t, lr):
    beta1, beta2, eps = 0.98, 0.9, 1e-9
    new_m = beta1 * m + (1 - beta1) * g
    new_s = beta2 * s + (1 - beta2) * g * g
    step = (new_m / (1 - beta1**t)) / ((new_s / (1 - beta2**t)).sqrt() + eps)
    return p - lr * step, new_m, new_s
""",
        "weights of old and new exchanged": """
def adam_step(p, g, m, s, t, lr):
    m = 0.1 * m + 0.9 * g
    s = 0.02 * s + 0.98 * g**2
    m_hat = m / (1 - 0.9**t)
    s_hat = s / (1 - 0.98**t)
    return p - lr * m_hat / (torch.sqrt(s_hat) + 1e-9), m, s
""",
        "uphill": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m / (1 - 0.9**t)
    s_hat = s / (1 - 0.98**t)
    return p + lr * m_hat / (torch.sqrt(s_hat) + 1e-9), m, s
""",
        "the gradient instead of its mean": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m / (1 - 0.9**t)
    s_hat = s / (1 - 0.98**t)
    return p - lr * g / (torch.sqrt(s_hat) + 1e-9), m, s
""",
        "m ignored, started anew": """
def adam_step(p, g, m, s, t, lr):
    m = 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m / (1 - 0.9**t)
    s_hat = s / (1 - 0.98**t)
    return p - lr * m_hat / (torch.sqrt(s_hat) + 1e-9), m, s
""",
        "s ignored, started anew": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.02 * g**2
    m_hat = m / (1 - 0.9**t)
    s_hat = s / (1 - 0.98**t)
    return p - lr * m_hat / (torch.sqrt(s_hat) + 1e-9), m, s
""",
        "the gradient not squared": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g.abs()
    m_hat = m / (1 - 0.9**t)
    s_hat = s / (1 - 0.98**t)
    return p - lr * m_hat / (torch.sqrt(s_hat) + 1e-9), m, s
""",
        "no root": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m / (1 - 0.9**t)
    s_hat = s / (1 - 0.98**t)
    return p - lr * m_hat / (s_hat + 1e-9), m, s
""",
        "lr ignored": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m / (1 - 0.9**t)
    s_hat = s / (1 - 0.98**t)
    return p - m_hat / (torch.sqrt(s_hat) + 1e-9), m, s
""",
        "corrected means returned": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m / (1 - 0.9**t)
    s_hat = s / (1 - 0.98**t)
    return p - lr * m_hat / (torch.sqrt(s_hat) + 1e-9), m_hat, s_hat
""",
        "m and s returned in exchanged order": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m / (1 - 0.9**t)
    s_hat = s / (1 - 0.98**t)
    return p - lr * m_hat / (torch.sqrt(s_hat) + 1e-9), s, m
""",
        "p returned last": """
def adam_step(p, g, m, s, t, lr):
    p, m, s = p.clone(), m.clone(), s.clone()
    m.mul_(0.9).add_(0.1 * g)
    s.mul_(0.98).add_(0.02 * g.square())
    p -= lr * (m / (1 - 0.9**t)) / ((s / (1 - 0.98**t)) ** 0.5 + 1e-9)
    return m, s, p
""",
        "the old means used for the step": """
def adam_step(p, g, m, s, t, lr):
    beta1, beta2, eps = 0.9, 0.98, 1e-9
    new_m = beta1 * m + (1 - beta1) * g
    new_s = beta2 * s + (1 - beta2) * g * g
    step = (m / (1 - beta1**t)) / ((s / (1 - beta2**t)).sqrt() + eps)
    return p - lr * step, new_m, new_s
""",
        "parameter changed in place": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m / (1 - 0.9**t)
    s_hat = s / (1 - 0.98**t)
    p -= lr * m_hat / (torch.sqrt(s_hat) + 1e-9)
    return p, m, s
""",
        "means changed in place": """
def adam_step(p, g, m, s, t, lr):
    p = p.clone()
    m.mul_(0.9).add_(0.1 * g)
    s.mul_(0.98).add_(0.02 * g.square())
    p -= lr * (m / (1 - 0.9**t)) / ((s / (1 - 0.98**t)) ** 0.5 + 1e-9)
    return p, m, s
""",
        "corrected means kept and corrected once more": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m = m_hat = m / (1 - 0.9**t)
    s = s_hat = s / (1 - 0.98**t)
    return p - lr * m_hat / (torch.sqrt(s_hat) + 1e-9), m, s
""",
        "only p returned": """
def adam_step(p, g, m, s, t, lr):
    p, m, s = p.clone(), m.clone(), s.clone()
    m.mul_(0.9).add_(0.1 * g)
    s.mul_(0.98).add_(0.02 * g.square())
    p -= lr * (m / (1 - 0.9**t)) / ((s / (1 - 0.98**t)) ** 0.5 + 1e-9)
    return p
""",
        "the mean added without a factor, as in momentum": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m / (1 - 0.9**t)
    s_hat = s / (1 - 0.98**t)
    return p - lr * m_hat / (torch.sqrt(s_hat) + 1e-9), m, s
""",
        "the square of the mean gradient instead of the mean square": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * m**2
    m_hat = m / (1 - 0.9**t)
    s_hat = s / (1 - 0.98**t)
    return p - lr * m_hat / (torch.sqrt(s_hat) + 1e-9), m, s
""",
        "correction multiplied": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g**2
    m_hat = m * (1 - 0.9**t)
    s_hat = s * (1 - 0.98**t)
    return p - lr * m_hat / (torch.sqrt(s_hat) + 1e-9), m, s
""",
    },
}

"""Right and wrong answers to the exercises of chapter `training`."""

RIGHT = {
    "training.schedule": {
        "two branches": """
def learning_rate(step, d_model, warmup):
    peak = 1 / math.sqrt(d_model * warmup)
    return peak * step / warmup if step < warmup else peak * math.sqrt(warmup / step)
""",
        "tensors": """
def learning_rate(step, d_model, warmup):
    step = torch.tensor(float(step))
    return d_model**-0.5 * torch.minimum(step**-0.5, step * warmup**-1.5)
""",
        "logarithms": """
def learning_rate(step, d_model, warmup):
    log = math.log
    return math.exp(-0.5 * log(d_model) + min(-0.5 * log(step), log(step) - 1.5 * log(warmup)))
""",
        "a loop": """
def learning_rate(step, d_model, warmup):
    rate = 0.0
    for now in range(1, step + 1):
        rate = rate + warmup**-1.5 if now <= warmup else now**-0.5
    return rate / d_model**0.5
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
        "slices": """
def rates(n_batches, accumulate, lr):
    micro = list(range(n_batches))
    groups = [micro[i : i + accumulate] for i in range(0, n_batches, accumulate)]
    return [lr(step) for step, _ in enumerate(groups, start=1)]
""",
        "while": """
def rates(n_batches, accumulate, lr):
    found, done = [], 0
    while done < n_batches:
        done = min(done + accumulate, n_batches)
        found.append(lr(len(found) + 1))
    return found
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
        "a mask of ones and zeros": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    v = logits.size(-1)
    q = torch.zeros_like(logits).scatter_(2, targets[..., None], 1.0) * (1 - epsilon) + epsilon / v
    each = -(q * F.log_softmax(logits, dim=-1)).sum(-1)
    real = (targets != pad_id).to(each.dtype)
    return (each * real).sum() / real.sum()
""",
        "nll_loss": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    log_p = logits.log_softmax(-1).flatten(0, 1)
    y = targets.flatten()
    right = F.nll_loss(log_p, y, ignore_index=pad_id)
    return (1 - epsilon) * right - epsilon * log_p[y != pad_id].mean()
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
        "a sum over the vocabulary": """
def least_loss(vocab_size, epsilon):
    q = [1 - epsilon + epsilon / vocab_size] + [epsilon / vocab_size] * (vocab_size - 1)
    return -math.fsum(share * math.log(share) for share in q)
""",
        "torch's entropy": """
def least_loss(vocab_size, epsilon):
    other = epsilon / vocab_size
    true = 1 - epsilon + other
    q = torch.full((vocab_size,), other, dtype=torch.float64)
    q[-1] = true
    return torch.special.entr(q).sum().item()
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
        "weights on the first axis": """
def one_gradient(gradients, tokens):
    stacked = torch.stack(gradients)
    w = torch.tensor(tokens, dtype=stacked.dtype).view(-1, *[1] * (stacked.dim() - 1))
    return (w * stacked).sum(0) / w.sum()
""",
        "a running mean": """
def one_gradient(gradients, tokens):
    mean, count = torch.zeros_like(gradients[0]), 0
    for g, n in zip(gradients, tokens):
        count += n
        mean = mean + (g - mean) * n / count
    return mean
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
        "names of the paper": """
def adam_step(p, g, m, s, t, lr):
    beta1, beta2, eps = 0.9, 0.98, 1e-9
    m = beta1 * m + (1 - beta1) * g
    s = beta2 * s + (1 - beta2) * g.square()
    m_hat = m.div(1 - beta1**t)
    s_hat = s.div(1 - beta2**t)
    return torch.addcdiv(p, m_hat, s_hat.sqrt().add(eps), value=-lr), m, s
""",
        "in place, on copies": """
def adam_step(p, g, m, s, t, lr):
    p, m, s = p.clone(), m.clone(), s.clone()
    m.mul_(0.9).add_(g, alpha=0.1)
    s.mul_(0.98).addcmul_(g, g, value=0.02)
    p -= lr * (m / (1 - 0.9**t)) / ((s / (1 - 0.98**t)).sqrt() + 1e-9)
    return p, m, s
""",
    },
    "training.train-step": {
        "cleared first": """
def train_step(batch, lr, model, loss_of, backward, clear, update):
    clear()
    src, tgt_in, tgt_out = batch
    loss = loss_of(model(src, tgt_in), tgt_out)
    backward(loss)
    update(lr)
    return float(loss)
""",
        "a list of actions": """
def train_step(batch, lr, model, loss_of, backward, clear, update):
    logits = model(*batch[:2])
    loss = loss_of(logits, batch[-1])
    for act, what in ((clear, ()), (backward, (loss,)), (update, (lr,))):
        act(*what)
    return loss.tolist()
""",
        "cleared before and after": """
def train_step(batch, lr, model, loss_of, backward, clear, update):
    clear()
    backward(loss := loss_of(model(batch[0], batch[1]), targets=batch[2]))
    update(lr)
    clear()
    return round(loss.item(), 12)
""",
        "a generator": """
def parts(batch, model, loss_of):
    source, read, wanted = batch
    yield loss_of(model(source, read), wanted)

def train_step(batch, lr, model, loss_of, backward, clear, update):
    loss = next(parts(batch, model, loss_of))
    clear(); backward(loss); update(lr=lr)
    return loss.detach().numpy().item()
""",
    },
}

WRONG = {
    "training.schedule": {
        "the larger of the two": """
def learning_rate(step, d_model, warmup):
    return sorted([step**-0.5, step * warmup**-1.5])[-1] / math.sqrt(d_model)
""",
        "no warm-up": """
def learning_rate(step, d_model, warmup):
    rate = 1.0
    for _ in range(step):
        rate = min(rate, step**-0.5)
    return d_model**-0.5 * rate
""",
        "never falls": """
def learning_rate(step, d_model, warmup):
    rate, rise = 0.0, d_model**-0.5 * warmup**-1.5
    for _ in range(step):
        rate += rise
    return rate
""",
        "flat after the warm-up": """
def learning_rate(step, d_model, warmup):
    return (d_model * warmup) ** -0.5 * min(1, step / warmup)
""",
        "d_model ignored": """
def learning_rate(step, d_model, warmup):
    terms = torch.tensor([step**-0.5, step * warmup**-1.5])
    return terms.min()
""",
        "multiplied by the root of d_model": """
def learning_rate(step, d_model, warmup):
    return math.sqrt(d_model) * min(1 / math.sqrt(step), step / math.sqrt(warmup**3))
""",
        "only one term divided": """
def learning_rate(step, d_model, warmup):
    return min(d_model**-0.5 * step**-0.5, step * warmup**-1.5)
""",
        "the rise is too steep": """
def learning_rate(step, d_model, warmup):
    scale = 1 / d_model**0.5
    return scale * step / warmup if step / warmup < step**-0.5 else scale / step**0.5
""",
        "falls as 1/step": """
def learning_rate(step, d_model, warmup):
    return math.exp(-0.5 * math.log(d_model) + min(-math.log(step), math.log(step) - 1.5 * math.log(warmup)))
""",
        "counted from 0": """
def learning_rate(step, d_model, warmup):
    steps = torch.arange(1, step + 2)
    rates = d_model**-0.5 * torch.minimum(steps**-0.5, steps * warmup**-1.5)
    return rates[step].item()
""",
        "a list of rates": """
def learning_rate(step, d_model, warmup):
    steps = torch.arange(1.0, step + 1)
    return d_model**-0.5 * torch.minimum(steps**-0.5, steps * warmup**-1.5)
""",
    },
    "training.rates": {
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
        "schedule per micro-batch": """
def rates(n_batches, accumulate, lr):
    out = []
    for i in range(1, n_batches + 1):
        if i % accumulate == 0 or i == n_batches:
            out.append(lr(i))
    return out
""",
    },
    "training.smoothed-loss": {
        "forbidden": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    return F.cross_entropy(logits.transpose(1, 2), targets, label_smoothing=epsilon, ignore_index=pad_id)
""",
        "changes its input": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    v, real = logits.shape[-1], targets != pad_id
    logits -= logits.logsumexp(dim=-1, keepdim=True)
    right = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return -((1 - epsilon) * right + epsilon / v * logits.sum(-1))[real].mean()
""",
        "log of a softmax": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    v = logits.shape[-1]
    log_p = torch.log(torch.softmax(logits, dim=-1))
    q = (1 - epsilon) * F.one_hot(targets, v) + epsilon / v
    loss = -(q * log_p).sum(-1)
    keep = targets != pad_id
    return loss[keep].mean()
""",
        "divided by all places": """
def smoothed_loss(logits, targets, epsilon, pad_id):
    v = logits.shape[-1]
    log_p = torch.log_softmax(logits, dim=-1)
    q = (1 - epsilon) * F.one_hot(targets, v) + epsilon / v
    loss = -(q * log_p).sum(-1)
    return (loss * (targets != pad_id)).mean()
""",
    },
    "training.floor": {
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
        "only the true token": """
def least_loss(vocab_size, epsilon):
    return -math.log(1 - epsilon + epsilon / vocab_size)
""",
        "the other convention": """
def least_loss(vocab_size, epsilon):
    right, other = 1 - epsilon, epsilon / (vocab_size - 1)
    loss = 0.0
    if right > 0:
        loss -= right * math.log(right)
    if other > 0:
        loss -= epsilon * math.log(other)
    return loss
""",
    },
    "training.accumulate": {
        "a share, and a mean of the shares": """
def one_gradient(gradients, tokens):
    return torch.stack([g * n / sum(tokens) for g, n in zip(gradients, tokens)]).mean(0)
""",
        "changes its input": """
def one_gradient(gradients, tokens):
    total = gradients[0]
    total *= tokens[0]
    for g, n in zip(gradients[1:], tokens[1:]):
        total += n * g
    return total / sum(tokens)
""",
        "tokens ignored": """
def one_gradient(gradients, tokens):
    return torch.stack(gradients).mean(dim=0)
""",
        "divided by the number of micro-batches": """
def one_gradient(gradients, tokens):
    total = sum(g * t for g, t in zip(gradients, tokens))
    return total / len(gradients)
""",
    },
    "training.adam-step": {
        "not three": """
def adam_step(p, g, m, s, t, lr):
    m, s = 0.9 * m + 0.1 * g, 0.98 * s + 0.02 * g**2
    return p - lr * (m / (1 - 0.9**t)) / ((s / (1 - 0.98**t)).sqrt() + 1e-9)
""",
        "changes its input": """
def adam_step(p, g, m, s, t, lr):
    m.mul_(0.9).add_(0.1 * g)
    s.mul_(0.98).add_(0.02 * g**2)
    p -= lr * (m / (1 - 0.9**t)) / ((s / (1 - 0.98**t)).sqrt() + 1e-9)
    return p, m, s
""",
        "corrected means handed on": """
def adam_step(p, g, m, s, t, lr):
    m = 0.9 * m + 0.1 * g
    s = 0.98 * s + 0.02 * g ** 2
    m = m / (1 - 0.9 ** t)
    s = s / (1 - 0.98 ** t)
    return p - lr * m / (s.sqrt() + 1e-9), m, s
""",
        "PyTorch's β₂": """
def adam_step(p, g, m, s, t, lr):
    b1, b2 = 0.9, 0.999
    m = b1 * m + (1 - b1) * g
    s = b2 * s + (1 - b2) * g * g
    m_hat, s_hat = m / (1 - b1 ** t), s / (1 - b2 ** t)
    return p - lr * m_hat / (torch.sqrt(s_hat) + 1e-9), m, s
""",
    },
    "training.train-step": {
        "gradients add up": """
def train_step(batch, lr, model, loss_of, backward, clear, update):
    loss = loss_of(model(batch[0], batch[1]), batch[2])
    backward(loss)
    update(lr)
    return loss.item()
""",
        "nothing moves": """
def train_step(batch, lr, model, loss_of, backward, clear, update):
    loss = loss_of(model(batch[0], batch[1]), batch[2])
    backward(loss)
    clear()
    update(lr)
    return loss.item()
""",
        "targets as inputs": """
def train_step(batch, lr, model, loss_of, backward, clear, update):
    src, tgt_in, tgt_out = batch
    clear()
    loss = loss_of(model(src, tgt_out), tgt_out)
    backward(loss)
    update(lr)
    return loss.item()
""",
        "inputs and targets swapped": """
def train_step(batch, lr, model, loss_of, backward, clear, update):
    src, tgt_out, tgt_in = batch
    clear()
    loss = loss_of(model(src, tgt_in), tgt_out)
    backward(loss)
    update(lr)
    return loss.item()
""",
        "the loss afterwards": """
def train_step(batch, lr, model, loss_of, backward, clear, update):
    clear()
    backward(loss_of(model(batch[0], batch[1]), batch[2]))
    update(lr)
    return loss_of(model(batch[0], batch[1]), batch[2]).item()
""",
        "inputs as targets": """
def train_step(batch, lr, model, loss_of, backward, clear, update):
    loss = loss_of(model(batch[0], batch[1]), batch[1])
    clear()
    backward(loss)
    update(lr)
    return loss.item()
""",
        "stepped before backward": """
def train_step(batch, lr, model, loss_of, backward, clear, update):
    loss = loss_of(model(batch[0], batch[1]), batch[2])
    update(lr)
    clear()
    backward(loss)
    return loss.item()
""",
        "moved twice": """
def train_step(batch, lr, model, loss_of, backward, clear, update):
    loss = loss_of(model(batch[0], batch[1]), batch[2])
    clear()
    backward(loss)
    for _ in range(2):
        update(lr)
    return loss.item()
""",
        "rate ignored": """
def train_step(batch, lr, model, loss_of, backward, clear, update):
    loss = loss_of(model(batch[0], batch[1]), batch[2])
    clear()
    backward(loss)
    update(1)
    return loss.item()
""",
    },
}

ALSO_WRONG = {
    "training.train-step": {
        "gradients add up": [
            """
def train_step(batch, lr, model, loss_of, backward, clear, update):
    loss = loss_of(model(batch[0], batch[1]), batch[2])
    backward(loss)
    update(lr)
    clear()
    return loss.item()
""",
            """
def train_step(batch, lr, model, loss_of, backward, clear, update):
    loss = loss_of(model(batch[0], batch[1]), batch[2])
    clear
    backward(loss)
    update(lr)
    return loss.item()
""",
        ],
    },
}

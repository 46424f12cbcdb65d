"""Right and wrong answers to the exercises of chapter `decoding`."""

RIGHT = {
    "decoding.greedy": {
        "recursion": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    def write(ids, left):
        if left == 0:
            return []
        best = torch.tensor(next_log_p(ids)).argmax().item()
        return [] if best == eos_id else [best] + write(ids + [best], left - 1)
    return write([bos_id], max_len)
""",
        "for loop": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    words = []
    for _ in range(max_len):
        log_p = next_log_p([bos_id] + words)
        word = log_p.index(max(log_p))
        if word == eos_id:
            return words
        words.append(word)
    return words
""",
        "tensor ids": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = torch.tensor([bos_id])
    while len(ids) < max_len + 1:
        best = torch.tensor(next_log_p(ids.tolist())).argmax()
        if best == eos_id:
            break
        ids = torch.cat([ids, best[None]])
    return ids[1:]
""",
        "a generator": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    def words():
        ids = [bos_id]
        for _ in range(max_len):
            log_p = list(next_log_p(list(ids)))
            token = log_p.index(max(log_p))
            if token == eos_id:
                return
            ids.append(token)
            yield token
    return list(words())
""",
    },
    "decoding.winner": {
        "max with a key": """
def winner(log_p, lengths, alpha):
    return max(range(len(log_p)), key=lambda i: log_p[i] / ((5 + lengths[i]) / 6) ** alpha)
""",
        "tensors": """
def winner(log_p, lengths, alpha):
    lengths = torch.tensor(lengths, dtype=torch.double)
    scores = torch.tensor(log_p, dtype=torch.double) * 6**alpha / (5 + lengths) ** alpha
    return scores.argmax()
""",
        "a loop that remembers": """
def winner(log_p, lengths, alpha):
    best, best_score = 0, -math.inf
    for i in range(len(log_p)):
        penalty = math.pow(5 + lengths[i], alpha) / math.pow(6, alpha)
        if log_p[i] / penalty > best_score:
            best, best_score = i, log_p[i] / penalty
    return best
""",
        "by logarithms": """
def winner(log_p, lengths, alpha):
    costs = [math.log(-p) - alpha * math.log((5 + n) / 6) for p, n in zip(log_p, lengths)]
    return min(range(len(costs)), key=costs.__getitem__)
""",
    },
    "decoding.beam-step": {
        "loops": """
def beam_step(totals, log_p, width):
    k, v = log_p.shape
    ways = [(totals[i] + log_p[i, j], i, j) for i in range(k) for j in range(v)]
    ways.sort(key=lambda way: -way[0].item())
    best, rows, tokens = zip(*ways[:width])
    return torch.stack(best), torch.tensor(rows), torch.tensor(tokens)
""",
        "unravel": """
def beam_step(totals, log_p, width):
    every = totals.unsqueeze(1).expand_as(log_p) + log_p
    best, where = torch.sort(every.reshape(-1), descending=True)
    rows, tokens = torch.unravel_index(where[:width], every.shape)
    return best[:width], rows, tokens
""",
        "topk of each row first": """
def beam_step(totals, log_p, width):
    n = min(width, log_p.shape[1])
    best, tokens = (totals.reshape(-1, 1) + log_p).topk(n, dim=1)
    found, where = best.flatten().topk(width)
    return found, where // n, tokens.flatten()[where]
""",
        "divmod": """
def beam_step(totals, log_p, width):
    scores = log_p.T.add(totals).T.flatten()
    where = scores.argsort(descending=True)[:width]
    rows, tokens = zip(*[divmod(i, log_p.size(1)) for i in where.tolist()])
    return scores[where], torch.tensor(rows), torch.tensor(tokens)
""",
    },
    "decoding.nucleus": {
        "loop": """
def nucleus(p, top_p):
    kept, held = torch.zeros_like(p), 0.0
    for i in sorted(range(len(p)), key=lambda i: -p[i].item()):
        if held >= top_p:
            break
        kept[i] = p[i]
        held += p[i].item()
    return kept / kept.sum()
""",
        "by the number kept": """
def nucleus(p, top_p):
    ordered, order = torch.sort(p, descending=True)
    count = int((ordered.cumsum(0) < top_p).sum()) + 1
    cut = torch.full_like(p, -math.inf)
    cut[order[:count]] = p[order[:count]].log()
    return cut.softmax(dim=0)
""",
        "the rank of each word": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    count = 1
    while count < len(p) and ordered[:count].sum() < top_p:
        count += 1
    rank = order.argsort()
    q = torch.where(rank < count, p, torch.zeros_like(p))
    return q / q.sum()
""",
        "one after the other": """
def nucleus(p, top_p):
    left, held = p.clone(), torch.zeros_like(p)
    while held.sum() < top_p and (left > 0).any():
        best = left.argmax()
        held[best], left[best] = p[best], 0
    return held / held.sum()
""",
    },
    "decoding.may-stop": {
        "all paths": """
def may_stop(open_log_p, score, alpha, max_len):
    return all(total * (6 / (5 + max_len)) ** alpha <= score for total in open_log_p)
""",
        "numbers": """
def may_stop(open_log_p, score, alpha, max_len):
    if not open_log_p:
        return True
    best = torch.tensor(open_log_p, dtype=torch.double).max()
    return best / math.pow((5 + max_len) / 6, alpha) <= score
""",
        "not any": """
def may_stop(open_log_p, score, alpha, max_len):
    def ceiling(total):
        return total / ((5 + max_len) / 6) ** alpha
    return not any(ceiling(total) > score for total in open_log_p)
""",
        "a loop": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = ((5.0 + max_len) / 6.0) ** alpha
    for total in open_log_p:
        if total / penalty > score:
            return False
    return True
""",
    },
}

WRONG = {
    "decoding.greedy": {
        "cut afterwards": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    while ids[-1] != eos_id:
        log_p = next_log_p(ids)
        ids.append(log_p.index(max(log_p)))
    return ids[1:-1][:max_len]
""",
        "<bos> returned": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) <= max_len:
        log_p = next_log_p(ids)
        best = log_p.index(max(log_p))
        if best == eos_id:
            break
        ids.append(best)
    return ids
""",
        "one too few": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids) < max_len:
        log_p = next_log_p(ids)
        token = log_p.index(max(log_p))
        if token == eos_id:
            break
        ids.append(token)
    return ids[1:]
""",
        "reads only the newest": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    token, out = bos_id, []
    for _ in range(max_len):
        log_p = next_log_p([token])
        token = max(range(len(log_p)), key=lambda i: log_p[i])
        if token == eos_id:
            break
        out.append(token)
    return out
""",
    },
    "decoding.winner": {
        "the worst": """
def winner(log_p, lengths, alpha):
    scores = [total / ((5 + length) / 6) ** alpha for total, length in zip(log_p, lengths)]
    return scores.index(min(scores))
""",
        "changes its input": """
def winner(log_p, lengths, alpha):
    for i, length in enumerate(lengths):
        log_p[i] /= ((5 + length) / 6) ** alpha
    return log_p.index(max(log_p))
""",
        "no 5": """
def winner(log_p, lengths, alpha):
    scores = [p / n ** alpha for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "multiplied": """
def winner(log_p, lengths, alpha):
    scores = [p * ((5 + n) / 6) ** alpha for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
    },
    "decoding.beam-step": {
        "float indices": """
def beam_step(totals, log_p, width):
    best, where = (totals[:, None] + log_p).flatten().topk(width)
    v = log_p.shape[1]
    return best, torch.floor(where / v), where % v
""",
        "not three": """
def beam_step(totals, log_p, width):
    best, where = (totals[:, None] + log_p).flatten().topk(width)
    v = log_p.shape[1]
    return best, where
""",
        "changes its input": """
def beam_step(totals, log_p, width):
    log_p += totals[:, None]
    best, where = log_p.flatten().topk(width)
    return best, where // log_p.shape[1], where % log_p.shape[1]
""",
        "divided by k": """
def beam_step(totals, log_p, width):
    k = log_p.shape[0]
    scores = totals[:, None] + log_p
    best, index = scores.flatten().topk(width)
    return best, index // k, index % k
""",
        "one from each path": """
def beam_step(totals, log_p, width):
    scores = totals[:, None] + log_p
    per_row, tokens = scores.max(dim=1)
    best, rows = per_row.topk(min(width, len(totals)))
    return best, rows, tokens[rows]
""",
    },
    "decoding.nucleus": {
        "ties kept": """
def nucleus(p, top_p):
    ordered = p.sort(descending=True).values
    last = ordered[ordered.cumsum(0) - ordered < top_p][-1]
    kept = p * (p >= last)
    return kept / kept.sum()
""",
        "changes its input": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    p[order[ordered.cumsum(0) - ordered >= top_p]] = 0
    return p / p.sum()
""",
        "stops too early": """
def nucleus(p, top_p):
    values, order = torch.sort(p, descending=True)
    keep = values.cumsum(0) <= top_p
    out = torch.zeros_like(p)
    out[order[keep]] = values[keep]
    return out / out.sum()
""",
        "order lost": """
def nucleus(p, top_p):
    values, order = torch.sort(p, descending=True)
    before = values.cumsum(0) - values
    values = values.masked_fill(before >= top_p, 0.0)
    return values / values.sum()
""",
    },
    "decoding.may-stop": {
        "one token too many": """
def may_stop(open_log_p, score, alpha, max_len):
    return max(open_log_p, default=-math.inf) / ((6 + max_len) / 6) ** alpha <= score
""",
        "no paths": """
def may_stop(open_log_p, score, alpha, max_len):
    for total in open_log_p:
        if total / ((5 + max_len) / 6) ** alpha <= score:
            continue
        return False
    return len(open_log_p) > 0
""",
        "changes its input": """
def may_stop(open_log_p, score, alpha, max_len):
    open_log_p.sort(reverse=True)
    return not open_log_p or open_log_p[0] / ((5 + max_len) / 6) ** alpha <= score
""",
        "no penalty": """
def may_stop(open_log_p, score, alpha, max_len):
    return all(p <= score for p in open_log_p)
""",
    },
}

# other ways to make a mistake that is known already
ALSO_WRONG = {
    "decoding.may-stop": {
        "one token too many": [
            """
def may_stop(open_log_p, score, alpha, max_len):
    longest = max_len + 1
    return all(total / ((5 + longest) / 6) ** alpha <= score for total in open_log_p)
""",
        ],
    },
}

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
    },
    "decoding.cached-step": {
        "loops": """
def cached_step(q, k, v, K, V):
    keys = [*K, k]
    values = [*V, v]
    exps = [math.exp(sum(a * b for a, b in zip(q.tolist(), key.tolist())) / math.sqrt(len(q))) for key in keys]
    output = sum(e / sum(exps) * value for e, value in zip(exps, values))
    return output, torch.stack(keys), torch.stack(values)
""",
        "fused kernel": """
def cached_step(q, k, v, K, V):
    K = torch.vstack([K, k])
    V = torch.vstack([V, v])
    return F.scaled_dot_product_attention(q[None], K, V)[0], K, V
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
    },
}

WRONG = {
    "decoding.greedy": {
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
        "<eos> returned": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    while ids[-1] != eos_id and len(ids) <= max_len:
        log_p = next_log_p(ids)
        ids.append(log_p.index(max(log_p)))
    return ids[1:]
""",
        "never stops": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        ids.append(log_p.index(max(log_p)))
    return ids[1:]
""",
        "reads only the newest": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids, newest = [], bos_id
    for _ in range(max_len):
        log_p = next_log_p([newest])
        newest = log_p.index(max(log_p))
        if newest == eos_id:
            break
        ids.append(newest)
    return ids
""",
        "one too many": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    while len(ids[1:]) <= max_len:
        log_p = next_log_p(ids)
        best = log_p.index(max(log_p))
        if best == eos_id:
            break
        ids.append(best)
    return ids[1:]
""",
    },
    "decoding.winner": {
        "no penalty": """
def winner(log_p, lengths, alpha):
    scores = [total * ((5 + length) / 6) ** alpha for total, length in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "the worst": """
def winner(log_p, lengths, alpha):
    scores = [total / ((5 + length) / 6) ** alpha for total, length in zip(log_p, lengths)]
    return scores.index(min(scores))
""",
        "mean per token": """
def winner(log_p, lengths, alpha):
    scores = [total / length for total, length in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "α ignored": """
def winner(log_p, lengths, alpha):
    scores = [total / ((5 + length) / 6) ** 0.6 for total, length in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
    },
    "decoding.beam-step": {
        "totals forgotten": """
def beam_step(totals, log_p, width):
    best, where = log_p.flatten().topk(width)
    return best, where // log_p.shape[1], where % log_p.shape[1]
""",
        "one from each path": """
def beam_step(totals, log_p, width):
    best, tokens = (totals[:, None] + log_p).max(dim=1)
    return best, torch.arange(len(best)), tokens
""",
        "rows and tokens swapped": """
def beam_step(totals, log_p, width):
    best, where = (totals[:, None] + log_p).flatten().topk(width)
    return best, where % log_p.shape[1], where // log_p.shape[1]
""",
        "divided by k": """
def beam_step(totals, log_p, width):
    best, where = (totals[:, None] + log_p).flatten().topk(width)
    return best, where // len(totals), where % len(totals)
""",
        "multiplied": """
def beam_step(totals, log_p, width):
    best, where = (totals[:, None] * log_p).flatten().topk(width)
    return best, where // log_p.shape[1], where % log_p.shape[1]
""",
    },
    "decoding.nucleus": {
        "not renormalised": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    kept = torch.zeros_like(p)
    kept[order] = ordered * (ordered.cumsum(0) - ordered < top_p)
    return kept
""",
        "stops too early": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    kept = torch.zeros_like(p)
    kept[order] = ordered * (ordered.cumsum(0) <= top_p)
    return kept / kept.sum()
""",
        "order lost": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    kept = ordered * (ordered.cumsum(0) - ordered < top_p)
    return kept / kept.sum()
""",
        "keeps the tail": """
def nucleus(p, top_p):
    ordered, order = p.sort()
    kept = torch.zeros_like(p)
    kept[order] = ordered * (ordered.cumsum(0) - ordered < top_p)
    return kept / kept.sum()
""",
        "one too many": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    count = int((ordered.cumsum(0) < top_p).sum()) + 1
    kept = torch.zeros_like(p)
    kept[order[: max(2, count)]] = ordered[: max(2, count)]
    return kept / kept.sum()
""",
    },
    "decoding.cached-step": {
        "does not see itself": """
def cached_step(q, k, v, K, V):
    weights = (K @ q / math.sqrt(len(q))).softmax(dim=0)
    return weights @ V, torch.cat([K, k[None]]), torch.cat([V, v[None]])
""",
        "no scale": """
def cached_step(q, k, v, K, V):
    K, V = torch.cat([K, k[None]]), torch.cat([V, v[None]])
    return (K @ q).softmax(dim=0) @ V, K, V
""",
        "cache not kept": """
def cached_step(q, k, v, K, V):
    keys, values = torch.cat([K, k[None]]), torch.cat([V, v[None]])
    weights = (keys @ q / math.sqrt(len(q))).softmax(dim=0)
    return weights @ values, K, V
""",
        "sees only itself": """
def cached_step(q, k, v, K, V):
    weights = (k[None] @ q / math.sqrt(len(q))).softmax(dim=0)
    return weights @ v[None], torch.cat([K, k[None]]), torch.cat([V, v[None]])
""",
    },
    "decoding.may-stop": {
        "turned round": """
def may_stop(open_log_p, score, alpha, max_len):
    return max(open_log_p, default=-math.inf) / ((5 + max_len) / 6) ** alpha >= score
""",
        "no penalty": """
def may_stop(open_log_p, score, alpha, max_len):
    return max(open_log_p, default=-math.inf) <= score
""",
        "not the best path": """
def may_stop(open_log_p, score, alpha, max_len):
    if not open_log_p:
        return True
    return open_log_p[0] / ((5 + max_len) / 6) ** alpha <= score
""",
        "a tie": """
def may_stop(open_log_p, score, alpha, max_len):
    return max(open_log_p, default=-math.inf) / ((5 + max_len) / 6) ** alpha < score
""",
        "α ignored": """
def may_stop(open_log_p, score, alpha, max_len):
    return max(open_log_p, default=-math.inf) / ((5 + max_len) / 6) <= score
""",
    },
}

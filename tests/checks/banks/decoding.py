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
    "decoding.hide-again": {
        "sorted positions of each row": """
def hide_again(ids, p, hidden, mask_id):
    result = ids.clone()
    for b in range(len(ids)):
        by_certainty = sorted(range(ids.shape[1]), key=lambda i: p[b, i].item())
        for i in by_certainty[: int(hidden[b])]:
            result[b, i] = mask_id
    return result
""",
        "topk of each row": """
def hide_again(ids, p, hidden, mask_id):
    rows = []
    for row, certain, count in zip(ids, p, hidden.tolist()):
        where = certain.topk(count, largest=False).indices
        rows.append(row.index_fill(0, where, mask_id))
    return torch.stack(rows)
""",
        "a mask scattered to its places": """
def hide_again(ids, p, hidden, mask_id):
    _, order = p.sort(dim=1)
    first = torch.arange(p.size(1)).expand_as(order) < hidden.unsqueeze(1)
    return ids.masked_fill(torch.zeros_like(first).scatter(1, order, first), mask_id)
""",
        "numpy, an array back": """
def hide_again(ids, p, hidden, mask_id):
    import numpy as np
    order = np.argsort(p.numpy(), axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(order.shape[1])[None], axis=1)
    return np.where(rank < hidden.numpy()[:, None], mask_id, ids.numpy())
""",
        "lists": """
def hide_again(ids, p, hidden, mask_id):
    found = []
    for row, certain, count in zip(ids.tolist(), p.tolist(), hidden.tolist()):
        doubtful = set(sorted(range(len(row)), key=certain.__getitem__)[:count])
        found.append([mask_id if i in doubtful else token for i, token in enumerate(row)])
    return found
""",
        "each compared with each, a list of rows": """
def hide_again(ids, p, hidden, mask_id):
    place = torch.arange(p.shape[1])
    less = p[:, None, :] < p[:, :, None]
    before = (p[:, None, :] == p[:, :, None]) & (place[None, :] < place[:, None])
    stays = (less | before).sum(dim=2) >= hidden.view(-1, 1)
    return [torch.where(keep, row, torch.tensor(mask_id)) for keep, row in zip(stays, ids)]
""",
        "the last of equals first": """
def hide_again(ids, p, hidden, mask_id):
    left, result = p.clone(), ids.clone()
    for b, count in enumerate(hidden):
        for _ in range(count):
            i = p.shape[1] - 1 - left[b].flip(0).argmin()
            result[b, i], left[b, i] = mask_id, torch.inf
    return result
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
    "decoding.hide-again": {
        "ties hidden": """
def hide_again(ids, p, hidden, mask_id):
    ordered = torch.cat([torch.full((len(p), 1), -1.0), p.sort(dim=-1).values], dim=-1)
    last = ordered.gather(-1, hidden[:, None])
    return ids.masked_fill(p <= last, mask_id)
""",
        "ties kept": """
def hide_again(ids, p, hidden, mask_id):
    rows = []
    for row, certain, count in zip(ids.tolist(), p.tolist(), hidden.tolist()):
        for value in sorted(certain)[:count]:
            row[certain.index(value)] = mask_id
        rows.append(row)
    return torch.tensor(rows)
""",
        "changes its input": """
def hide_again(ids, p, hidden, mask_id):
    for row, certain, count in zip(ids, p, hidden):
        row[certain.argsort()[:count]] = mask_id
    return ids
""",
        "float ids": """
def hide_again(ids, p, hidden, mask_id):
    stays = (p.argsort(dim=-1).argsort(dim=-1) >= hidden[:, None]).float()
    return stays * ids + (1 - stays) * mask_id
""",
        "counts along the columns": """
def hide_again(ids, p, hidden, mask_id):
    rank = p.argsort(dim=-1).argsort(dim=-1)
    return torch.where(rank < hidden, mask_id, ids)
""",
        "positions taken for ranks": """
def hide_again(ids, p, hidden, mask_id):
    found = ids.clone()
    for b in range(len(ids)):
        for i, place in enumerate(p[b].argsort().tolist()):
            if place < hidden[b]:
                found[b, i] = mask_id
    return found
""",
        "one count for all rows": """
def hide_again(ids, p, hidden, mask_id):
    least = p.topk(int(hidden.max()), dim=-1, largest=False).indices
    return ids.scatter(-1, least, mask_id)
""",
        "ranks over the whole batch": """
def hide_again(ids, p, hidden, mask_id):
    flat = ids.flatten().clone()
    flat[p.flatten().argsort()[: hidden.sum()]] = mask_id
    return flat.view(ids.shape)
""",
        "hides the most certain": """
def hide_again(ids, p, hidden, mask_id):
    rows = []
    for row, certain, count in zip(ids, p, hidden.tolist()):
        best = set(certain.topk(count).indices.tolist())
        rows.append([mask_id if i in best else int(token) for i, token in enumerate(row)])
    return rows
""",
        "0 hides everything": """
def hide_again(ids, p, hidden, mask_id):
    found = ids.clone()
    for b, count in enumerate(hidden.tolist()):
        found[b, p[b].argsort(descending=True)[-count:]] = mask_id
    return found
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
    "decoding.hide-again": {
        "ties kept": [
            """
def hide_again(ids, p, hidden, mask_id):
    ordered = torch.cat([p.sort(dim=-1).values, torch.full((len(p), 1), 2.0)], dim=-1)
    return ids.masked_fill(p < ordered.gather(-1, hidden[:, None]), mask_id)
""",
        ],
        "positions taken for ranks": [
            """
def hide_again(ids, p, hidden, mask_id):
    first = torch.arange(p.shape[1]).expand_as(p) < hidden[:, None]
    return torch.where(first.gather(1, p.argsort(dim=1)), mask_id, ids)
""",
        ],
        "hides the first positions": [
            """
def hide_again(ids, p, hidden, mask_id):
    order, found = p.argsort(dim=-1), ids.clone()
    for b in range(len(ids)):
        found[b, : hidden[b]] = mask_id
    return found
""",
        ],
        "counts along the columns": [
            """
def hide_again(ids, p, hidden, mask_id):
    import numpy as np
    rank = np.argsort(np.argsort(p.numpy(), axis=1), axis=1)
    return np.where(rank < hidden.numpy(), mask_id, ids.numpy())
""",
        ],
        "changes its input": [
            """
def hide_again(ids, p, hidden, mask_id):
    found = ids.clone()
    for b in range(len(ids)):
        while hidden[b] > 0:
            i = p[b].argmin()
            found[b, i], p[b, i] = mask_id, 2.0
            hidden[b] -= 1
    return found
""",
        ],
    },
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

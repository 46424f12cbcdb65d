"""Unseen answers to the exercises of chapter `decoding`, written from the statements alone."""

RIGHT = {
    "decoding.greedy": {
        "for loop with break": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        token = max(range(len(log_p)), key=lambda i: log_p[i])
        if token == eos_id:
            break
        ids.append(token)
    return ids[1:]
""",
        "while, early return": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    written = []
    while len(written) < max_len:
        scores = next_log_p([bos_id] + written)
        best = scores.index(max(scores))
        if best == eos_id:
            return written
        written.append(best)
    return written
""",
        "torch.argmax": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    out = []
    for _ in range(max_len):
        token = torch.tensor(next_log_p([bos_id, *out]), dtype=torch.float64).argmax().item()
        if token == eos_id:
            break
        out += [token]
    return out
""",
        "recursive": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    def go_on(ids, left):
        if left == 0:
            return ids
        log_p = next_log_p(ids)
        token = log_p.index(max(log_p))
        return ids if token == eos_id else go_on(ids + [token], left - 1)

    return go_on([bos_id], max_len)[1:]
""",
        "a generator": """
from itertools import islice, takewhile

def greedy(next_log_p, bos_id, eos_id, max_len):
    def tokens():
        ids = [bos_id]
        while True:
            ids.append(max(enumerate(next_log_p(ids)), key=lambda pair: pair[1])[0])
            yield ids[-1]

    return list(takewhile(lambda token: token != eos_id, islice(tokens(), max_len)))
""",
        "numpy": """
import numpy as np

def greedy(next_log_p, bos_id, eos_id, max_len):
    sentence, finished = [bos_id], False
    while not finished and len(sentence) <= max_len:
        choice = int(np.argmax(next_log_p(sentence)))
        finished = choice == eos_id
        if not finished:
            sentence.append(choice)
    del sentence[0]
    return sentence
""",
    },
    "decoding.winner": {
        "list of scores": """
def winner(log_p, lengths, alpha):
    scores = [p / ((5 + n) / 6) ** alpha for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "max with a key": """
def winner(log_p, lengths, alpha):
    return max(range(len(log_p)), key=lambda i: log_p[i] / length_penalty(lengths[i], alpha))
""",
        "torch": """
def winner(log_p, lengths, alpha):
    penalty = ((5 + torch.tensor(lengths, dtype=torch.float64)) / 6) ** alpha
    return int((torch.tensor(log_p, dtype=torch.float64) / penalty).argmax())
""",
        "running best": """
def winner(log_p, lengths, alpha):
    best, best_score = 0, float("-inf")
    for i in range(len(log_p)):
        lp = (5 + lengths[i]) ** alpha / (5 + 1) ** alpha
        score = log_p[i] / lp
        if score > best_score:
            best, best_score = i, score
    return best
""",
        "the constant 6 left out, as it changes no order": """
def winner(log_p, lengths, alpha):
    ranked = sorted(enumerate(zip(log_p, lengths)), key=lambda item: item[1][0] * (5 + item[1][1]) ** -alpha)
    return ranked[-1][0]
""",
        "numpy": """
import numpy as np

def winner(log_p, lengths, alpha):
    score = np.array(log_p) / np.power((5.0 + np.array(lengths)) / 6.0, alpha)
    return int(np.argmax(score))
""",
        "smallest loss": """
def winner(log_p, lengths, alpha):
    def loss(i):
        return math.exp(math.log(-log_p[i]) - alpha * math.log((5 + lengths[i]) / 6)) if log_p[i] else 0.0

    return min(range(len(lengths)), key=loss)
""",
    },
    "decoding.beam-step": {
        "flatten and topk": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = (totals[:, None] + log_p).flatten().topk(width)
    return best, places // v, places % v
""",
        "unravel_index": """
def beam_step(totals, log_p, width):
    scores = log_p + totals.unsqueeze(-1)
    top = torch.topk(scores.reshape(-1), k=width)
    rows, tokens = torch.unravel_index(top.indices, scores.shape)
    return top.values, rows, tokens
""",
        "sort everything": """
def beam_step(totals, log_p, width):
    k, v = log_p.shape
    values, order = torch.sort((totals.view(k, 1) + log_p).view(-1), descending=True)
    rows = torch.div(order[:width], v, rounding_mode="floor")
    return values[:width], rows, order[:width] - rows * v
""",
        "a list of all ways": """
def beam_step(totals, log_p, width):
    ways = []
    for row in range(len(totals)):
        for token in range(log_p.shape[1]):
            ways.append(((totals[row] + log_p[row, token]).item(), row, token))
    ways.sort(key=lambda way: way[0], reverse=True)
    values, rows, tokens = zip(*ways[:width])
    return torch.tensor(values, dtype=totals.dtype), torch.tensor(rows), torch.tensor(tokens)
""",
        "heapq over pairs": """
import heapq

def beam_step(totals, log_p, width):
    k, v = log_p.shape
    scores = totals[:, None] + log_p
    best = heapq.nlargest(width, product(range(k), range(v)), key=lambda at: scores[at].item())
    rows, tokens = torch.tensor(best).T
    return scores[rows, tokens], rows, tokens
""",
        "first the best of each row, then the best of these": """
def beam_step(totals, log_p, width):
    few = min(width, log_p.shape[1])
    values, tokens = log_p.topk(few, dim=1)
    values = values + totals[:, None]
    best, at = values.flatten().topk(width)
    return best, at.div(few, rounding_mode="trunc"), tokens.flatten()[at]
""",
        "one after the other, each hidden once taken": """
def beam_step(totals, log_p, width):
    scores = totals[:, None] + log_p  # a new tensor
    found = []
    for _ in range(width):
        row, token = divmod(int(scores.argmax()), scores.shape[1])
        found.append((scores[row, token].clone(), row, token))
        scores[row, token] = -math.inf
    values, rows, tokens = zip(*found)
    return torch.stack(values), torch.tensor(rows), torch.tensor(tokens)
""",
    },
    "decoding.nucleus": {
        "sort, what is held before, scatter": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    before = ordered.cumsum(0) - ordered
    kept = torch.where(before < top_p, ordered, 0)
    result = torch.zeros_like(p)
    result[order] = kept / kept.sum()
    return result
""",
        "loop until enough is held": """
def nucleus(p, top_p):
    cut = torch.zeros_like(p)
    held = 0.0
    for i in sorted(range(len(p)), key=lambda i: -p[i].item()):
        cut[i] = p[i]
        held += p[i].item()
        if held >= top_p:
            break
    return cut / cut.sum()
""",
        "counting the words that fall short": """
def nucleus(p, top_p):
    values, indices = torch.sort(p, descending=True, stable=True)
    n = int((torch.cumsum(values, dim=0) < top_p).sum()) + 1
    mask = torch.zeros(p.shape, dtype=torch.bool)
    mask[indices[:n]] = True
    q = p * mask
    return q / q.sum()
""",
        "searchsorted": """
def nucleus(p, top_p):
    order = torch.argsort(p, descending=True)
    sums = p[order].cumsum(dim=0)
    last = torch.searchsorted(sums, torch.tensor(top_p, dtype=sums.dtype)).item()
    keep = order[: last + 1]
    return torch.zeros_like(p).index_copy(0, keep, p[keep] / p[keep].sum())
""",
        "more and more of topk": """
def nucleus(p, top_p):
    for k in range(1, len(p) + 1):
        best = p.topk(k)
        total = best.values.sum()
        if total >= top_p or k == len(p):
            return torch.zeros_like(p).scatter(0, best.indices, best.values / total)
""",
        "in plain lists": """
def nucleus(p, top_p):
    pairs = sorted(enumerate(p.tolist()), key=lambda pair: pair[1], reverse=True)
    kept, held = {}, 0.0
    for word, share in pairs:
        if held >= top_p:
            break
        kept[word] = share
        held += share
    return torch.tensor([kept.get(i, 0.0) / held for i in range(len(p))], dtype=p.dtype)
""",
        "ranks by a second argsort": """
def nucleus(p, top_p):
    order = p.argsort(descending=True)
    rank = order.argsort()
    enough = p[order].cumsum(0) >= top_p
    enough[-1] = True
    first = enough.int().argmax()
    masked = p.masked_fill(rank > first, 0.0)
    return masked / masked.sum()
""",
    },
    "decoding.cached-step": {
        "cat and softmax": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None]])
    V = torch.cat([V, v[None]])
    weights = torch.softmax(K @ q / math.sqrt(len(q)), dim=0)
    return weights @ V, K, V
""",
        "vstack and einsum": """
def cached_step(q, k, v, K, V):
    keys, values = torch.vstack((K, k)), torch.vstack((V, v))
    scores = torch.einsum("td,d->t", keys, q) * q.shape[-1] ** -0.5
    return torch.einsum("t,td->d", scores.softmax(-1), values), keys, values
""",
        "the fused kernel": """
def cached_step(q, k, v, K, V):
    import torch.nn.functional as F

    K_all = torch.cat((K, k.unsqueeze(0)), dim=0)
    V_all = torch.cat((V, v.unsqueeze(0)), dim=0)
    out = F.scaled_dot_product_attention(q[None, None], K_all[None], V_all[None])
    return out[0, 0], K_all, V_all
""",
        "loops over the kept": """
def cached_step(q, k, v, K, V):
    keys, values = [*K, k], [*V, v]
    scores = [torch.dot(q, key) / math.sqrt(q.numel()) for key in keys]
    top = max(scores)
    powers = [torch.exp(score - top) for score in scores]
    total = sum(powers)
    output = sum(power / total * value for power, value in zip(powers, values))
    return output, torch.stack(keys), torch.stack(values)
""",
        "new tensors filled": """
def cached_step(q, k, v, K, V):
    t, d_k = K.shape
    kept_K, kept_V = K.new_empty(t + 1, d_k), V.new_empty(t + 1, d_k)
    kept_K[:t], kept_K[t] = K, k
    kept_V[:t], kept_V[t] = V, v
    alpha = (q.unsqueeze(0) @ kept_K.T / d_k**0.5).softmax(dim=-1)
    return (alpha @ kept_V).squeeze(0), kept_K, kept_V
""",
        "with helpers": """
def grow(old, new):
    return torch.cat([old, new.reshape(1, -1)], dim=0)

def look(q, K, V):
    scaled = q / q.shape[0] ** 0.5
    return V.T @ F_softmax(K @ scaled)

def F_softmax(scores):
    e = torch.exp(scores - scores.max())
    return e / e.sum()

def cached_step(q, k, v, K, V):
    K, V = grow(K, k), grow(V, v)
    return look(q, K, V), K, V
""",
        "F.pad and addition to the last row": """
def cached_step(q, k, v, K, V):
    pad_row = torch.nn.functional.pad
    K, V = pad_row(K, (0, 0, 0, 1)), pad_row(V, (0, 0, 0, 1))
    K[-1] += k
    V[-1] += v
    return (K @ q).div(math.sqrt(K.size(1))).softmax(0) @ V, K, V
""",
    },
    "decoding.may-stop": {
        "all of the open paths": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = ((5 + max_len) / 6) ** alpha
    return all(log_p / penalty <= score for log_p in open_log_p)
""",
        "the best open one": """
def may_stop(open_log_p, score, alpha, max_len):
    if not open_log_p:
        return True
    return max(open_log_p) / length_penalty(max_len, alpha) <= score
""",
        "early return in a loop": """
def may_stop(open_log_p, score, alpha, max_len):
    gentlest = math.pow((5 + max_len) / 6, alpha)
    for total in open_log_p:
        if total / gentlest > score:
            return False
    return True
""",
        "max with a default": """
def may_stop(open_log_p, score, alpha, max_len):
    ceiling = max(open_log_p, default=float("-inf")) / ((5 + max_len) / 6) ** alpha
    return not ceiling > score
""",
        "torch": """
def may_stop(open_log_p, score, alpha, max_len):
    best = torch.tensor(open_log_p, dtype=torch.float64) / ((5 + max_len) / 6) ** alpha
    return bool((best <= score).all())
""",
        "no path left that can": """
def reachable(log_p, alpha, longest):
    return log_p / length_penalty(longest, alpha)

def may_stop(open_log_p, score, alpha, max_len):
    dangerous = [p for p in open_log_p if reachable(p, alpha, max_len) > score]
    return len(dangerous) == 0
""",
    },
}

WRONG = {
    "decoding.greedy": {
        "<bos> returned, too": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        token = max(range(len(log_p)), key=lambda i: log_p[i])
        if token == eos_id:
            break
        ids.append(token)
    return ids
""",
        "<eos> returned, too": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        token = max(range(len(log_p)), key=lambda i: log_p[i])
        ids.append(token)
        if token == eos_id:
            break
    return ids[1:]
""",
        "<eos> ignored": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        token = max(range(len(log_p)), key=lambda i: log_p[i])
        ids.append(token)
    return ids[1:]
""",
        "one token too few": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len - 1):
        log_p = next_log_p(ids)
        token = max(range(len(log_p)), key=lambda i: log_p[i])
        if token == eos_id:
            break
        ids.append(token)
    return ids[1:]
""",
        "one token too many": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len + 1):
        log_p = next_log_p(ids)
        token = max(range(len(log_p)), key=lambda i: log_p[i])
        if token == eos_id:
            break
        ids.append(token)
    return ids[1:]
""",
        "<bos> counted among max_len": """
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
        "max_len ignored, at most 100": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    written = []
    while len(written) < 100:
        scores = next_log_p([bos_id] + written)
        best = scores.index(max(scores))
        if best == eos_id:
            return written
        written.append(best)
    return written
""",
        "the least probable token": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    written = []
    while len(written) < max_len:
        scores = next_log_p([bos_id] + written)
        best = scores.index(min(scores))
        if best == eos_id:
            return written
        written.append(best)
    return written
""",
        "only the newest token read": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids[-1:])
        token = max(range(len(log_p)), key=lambda i: log_p[i])
        if token == eos_id:
            break
        ids.append(token)
    return ids[1:]
""",
        "always after <bos> alone": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p([bos_id])
        token = max(range(len(log_p)), key=lambda i: log_p[i])
        if token == eos_id:
            break
        ids.append(token)
    return ids[1:]
""",
        "begins without <bos>": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    written = []
    while len(written) < max_len:
        scores = next_log_p(written)
        best = scores.index(max(scores))
        if best == eos_id:
            return written
        written.append(best)
    return written
""",
        "2 for <eos>": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        token = max(range(len(log_p)), key=lambda i: log_p[i])
        if token == 2:
            break
        ids.append(token)
    return ids[1:]
""",
        "1 for <bos>": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [1]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        token = max(range(len(log_p)), key=lambda i: log_p[i])
        if token == eos_id:
            break
        ids.append(token)
    return ids[1:]
""",
        "the last token cut off whether it is <eos> or not": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        token = max(range(len(log_p)), key=lambda i: log_p[i])
        ids.append(token)
        if token == eos_id:
            break
    return ids[1:-1]
""",
        "goes on after <eos> and takes it out at the end": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        token = max(range(len(log_p)), key=lambda i: log_p[i])
        ids.append(token)
    return [i for i in ids[1:] if i != eos_id]
""",
        "cut at <eos> afterwards, <bos> left in when there is one": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        ids.append(log_p.index(max(log_p)))
    return ids[: ids.index(eos_id)] if eos_id in ids else ids[1:]
""",
        "a tensor instead of a list": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        token = max(range(len(log_p)), key=lambda i: log_p[i])
        if token == eos_id:
            break
        ids.append(token)
    return torch.tensor(ids[1:])
""",
        "tokens as tensors": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    out = []
    for _ in range(max_len):
        token = torch.tensor(next_log_p([bos_id, *out]), dtype=torch.float64).argmax()
        if token == eos_id:
            break
        out += [token]
    return out
""",
        "drawn by chance": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        token = torch.multinomial(torch.tensor(log_p).exp(), 1).item()
        if token == eos_id:
            break
        ids.append(token)
    return ids[1:]
""",
        "the second best when <eos> is best": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        token = max(range(len(log_p)), key=lambda i: log_p[i])
        if token == eos_id and len(ids) == 1:
            token = max((i for i in range(len(log_p)) if i != eos_id), key=lambda i: log_p[i])
        elif token == eos_id:
            break
        ids.append(token)
    return ids[1:]
""",
        "log-probabilities for ids": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        token = max(range(len(log_p)), key=lambda i: log_p[i])
        if token == eos_id:
            break
        ids.append(token)
    return [max(next_log_p(ids[: i + 1])) for i in range(len(ids) - 1)]
""",
        "stops at a repeated word": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        token = max(range(len(log_p)), key=lambda i: log_p[i])
        if token == eos_id or token == ids[-1]:
            break
        ids.append(token)
    return ids[1:]
""",
        "the largest absolute value": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        token = max(range(len(log_p)), key=lambda i: abs(log_p[i]))
        if token == eos_id:
            break
        ids.append(token)
    return ids[1:]
""",
        "stops at <bos> instead of <eos>": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        token = max(range(len(log_p)), key=lambda i: log_p[i])
        if token == bos_id:
            break
        ids.append(token)
    return ids[1:]
""",
        "empty if <eos> never comes": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        token = log_p.index(max(log_p))
        if token == eos_id:
            return ids[1:]
        ids.append(token)
    return []
""",
        "index counted without <bos>": """
def greedy(next_log_p, bos_id, eos_id, max_len):
    ids = [bos_id]
    for _ in range(max_len):
        log_p = next_log_p(ids)
        token = max((i for i in range(len(log_p)) if i != bos_id), key=lambda i: log_p[i])
        if token == eos_id:
            break
        ids.append(token)
    return ids[1:]
""",
    },
    "decoding.winner": {
        "no penalty, lengths ignored": """
def winner(log_p, lengths, alpha):
    scores = [p for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "alpha ignored, exponent 1": """
def winner(log_p, lengths, alpha):
    scores = [p / ((5 + n) / 6) for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "0.6 for every alpha": """
def winner(log_p, lengths, alpha):
    scores = [p / ((5 + n) / 6) ** 0.6 for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "alpha as a factor": """
def winner(log_p, lengths, alpha):
    scores = [p / (alpha * (5 + n) / 6 or 1) for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "divided by the length to alpha": """
def winner(log_p, lengths, alpha):
    scores = [p / n**alpha for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "divided by the length": """
def winner(log_p, lengths, alpha):
    scores = [p / n for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "multiplied by the penalty": """
def winner(log_p, lengths, alpha):
    scores = [p * ((5 + n) / 6) ** alpha for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "the worst hypothesis": """
def winner(log_p, lengths, alpha):
    scores = [p / ((5 + n) / 6) ** alpha for p, n in zip(log_p, lengths)]
    return scores.index(min(scores))
""",
        "the score instead of the index": """
def winner(log_p, lengths, alpha):
    scores = [p / ((5 + n) / 6) ** alpha for p, n in zip(log_p, lengths)]
    return max(scores)
""",
        "length without <eos>": """
def winner(log_p, lengths, alpha):
    scores = [p / ((5 + n - 1) / 6) ** alpha for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "<eos> counted twice": """
def winner(log_p, lengths, alpha):
    scores = [p / ((5 + n + 1) / 6) ** alpha for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "the division by 6 before the sum": """
def winner(log_p, lengths, alpha):
    scores = [p / (5 + n / 6) ** alpha for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "largest absolute score": """
def winner(log_p, lengths, alpha):
    scores = [p / ((5 + n) / 6) ** alpha for p, n in zip(log_p, lengths)]
    return scores.index(max(scores, key=abs))
""",
        "scores written over the log-probabilities": """
def winner(log_p, lengths, alpha):
    for i in range(len(log_p)):
        log_p[i] /= ((5 + lengths[i]) / 6) ** alpha
    return log_p.index(max(log_p))
""",
        "index into the sorted scores": """
def winner(log_p, lengths, alpha):
    scores = sorted((p / ((5 + n) / 6) ** alpha for p, n in zip(log_p, lengths)), reverse=True)
    return scores.index(max(scores))
""",
        "a tensor instead of a number": """
def winner(log_p, lengths, alpha):
    penalty = ((5 + torch.tensor(lengths, dtype=torch.float64)) / 6) ** alpha
    return (torch.tensor(log_p, dtype=torch.float64) / penalty).argmax()
""",
        "exponent negative": """
def winner(log_p, lengths, alpha):
    scores = [p / ((5 + n) / 6) ** -alpha for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "penalty of probabilities, not of their logarithms": """
def winner(log_p, lengths, alpha):
    scores = [math.exp(p) / ((5 + n) / 6) ** alpha for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "logarithm of the penalty subtracted": """
def winner(log_p, lengths, alpha):
    scores = [p - alpha * math.log((5 + n) / 6) for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "logarithm of the penalty added": """
def winner(log_p, lengths, alpha):
    scores = [p + alpha * math.log((5 + n) / 6) for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "the shortest": """
def winner(log_p, lengths, alpha):
    return lengths.index(min(lengths))
""",
        "the longest": """
def winner(log_p, lengths, alpha):
    return lengths.index(max(lengths))
""",
        "the first two only": """
def winner(log_p, lengths, alpha):
    scores = [p / ((5 + n) / 6) ** alpha for p, n in zip(log_p[:2], lengths[:2])]
    return scores.index(max(scores))
""",
        "counted from 1": """
def winner(log_p, lengths, alpha):
    scores = [p / ((5 + n) / 6) ** alpha for p, n in zip(log_p, lengths)]
    return scores.index(max(scores)) + 1
""",
        "the mean length for all": """
def winner(log_p, lengths, alpha):
    mean = sum(lengths) / len(lengths)
    scores = [p / ((5 + mean) / 6) ** alpha for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "the power on the numerator's 5 only": """
def winner(log_p, lengths, alpha):
    scores = [p / ((5**alpha + n) / 6) for p, n in zip(log_p, lengths)]
    return scores.index(max(scores))
""",
        "the hypothesis instead of its index": """
def winner(log_p, lengths, alpha):
    scores = [p / ((5 + n) / 6) ** alpha for p, n in zip(log_p, lengths)]
    return log_p[scores.index(max(scores))], lengths[scores.index(max(scores))]
""",
    },
    "decoding.beam-step": {
        "totals ignored": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = (log_p).flatten().topk(width)
    return best, places // v, places % v
""",
        "log_p ignored when choosing, the best path goes on": """
def beam_step(totals, log_p, width):
    row = totals.argmax()
    best, tokens = (totals[row] + log_p[row]).topk(min(width, log_p.shape[1]))
    return best, row.expand(len(tokens)), tokens
""",
        "width ignored, as many as there are paths": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = (totals[:, None] + log_p).flatten().topk(len(totals))
    return best, places // v, places % v
""",
        "totals along the tokens": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = (log_p + totals.repeat(log_p.shape[1])[: log_p.shape[1]]).flatten().topk(width)
    return best, places // v, places % v
""",
        "totals added to columns, right for square input only in shape": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = (totals + log_p).flatten().topk(width)
    return best, places // v, places % v
""",
        "multiplied instead of added": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = (totals[:, None] * log_p).flatten().topk(width)
    return best, places // v, places % v
""",
        "rows and tokens exchanged": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = (totals[:, None] + log_p).flatten().topk(width)
    return best, places % v, places // v
""",
        "divided by the number of paths": """
def beam_step(totals, log_p, width):
    v = log_p.shape[0]
    best, places = (totals[:, None] + log_p).flatten().topk(width)
    return best, places // v, places % v
""",
        "the best continuation of each path": """
def beam_step(totals, log_p, width):
    best, tokens = log_p.max(dim=1)
    best, rows = (totals + best).topk(min(width, len(totals)))
    return best, rows, tokens[rows]
""",
        "worst first": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = (totals[:, None] + log_p).flatten().topk(width)
    best, places = best.flip(0), places.flip(0)
    return best, places // v, places % v
""",
        "the least probable": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = (totals[:, None] + log_p).flatten().topk(width, largest=False)
    return best, places // v, places % v
""",
        "the new tokens' log-probabilities returned, not the sums": """
def beam_step(totals, log_p, width):
    scores = log_p + totals.unsqueeze(-1)
    top = torch.topk(scores.reshape(-1), k=width)
    rows, tokens = torch.unravel_index(top.indices, scores.shape)
    return log_p[rows, tokens], rows, tokens
""",
        "the old totals returned, not the sums": """
def beam_step(totals, log_p, width):
    scores = log_p + totals.unsqueeze(-1)
    top = torch.topk(scores.reshape(-1), k=width)
    rows, tokens = torch.unravel_index(top.indices, scores.shape)
    return totals[rows], rows, tokens
""",
        "totals added in place": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = log_p.add_(totals[:, None]).flatten().topk(width)
    return best, places // v, places % v
""",
        "taken tokens hidden in log_p itself": """
def beam_step(totals, log_p, width):
    values, rows, tokens = [], [], []
    for _ in range(width):
        scores = totals[:, None] + log_p
        row, token = divmod(int(scores.argmax()), log_p.shape[1])
        values.append(scores[row, token])
        rows.append(row)
        tokens.append(token)
        log_p[row, token] = -math.inf
    return torch.stack(values), torch.tensor(rows), torch.tensor(tokens)
""",
        "probabilities instead of logarithms": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = (totals[:, None] + log_p).flatten().topk(width)
    return best.exp(), places // v, places % v
""",
        "sum of probabilities": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = (totals.exp()[:, None] + log_p.exp()).flatten().topk(width)
    return best.log(), places // v, places % v
""",
        "rows as broken numbers": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = (totals[:, None] + log_p).flatten().topk(width)
    return best, places / v, places % v
""",
        "lists instead of tensors": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = (totals[:, None] + log_p).flatten().topk(width)
    return best.tolist(), (places // v).tolist(), (places % v).tolist()
""",
        "places in the flat list instead of tokens": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = (totals[:, None] + log_p).flatten().topk(width)
    return best, places // v, places
""",
        "order of the answer exchanged, rows first": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = (totals[:, None] + log_p).flatten().topk(width)
    return places // v, places % v, best
""",
        "width of each path": """
def beam_step(totals, log_p, width):
    best, tokens = (totals[:, None] + log_p).topk(min(width, log_p.shape[1]), dim=1)
    rows = torch.arange(len(totals))[:, None].expand_as(tokens)
    return best.flatten(), rows.flatten(), tokens.flatten()
""",
        "the first path only": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = (totals[:1, None] + log_p[:1]).flatten().topk(width)
    return best, places // v, places % v
""",
        "fails where width is larger than the vocabulary": """
def beam_step(totals, log_p, width):
    few = width
    values, tokens = log_p.topk(few, dim=1)
    values = values + totals[:, None]
    best, at = values.flatten().topk(width)
    return best, at.div(few, rounding_mode="trunc"), tokens.flatten()[at]
""",
        "each row's tokens not looked up": """
def beam_step(totals, log_p, width):
    few = min(width, log_p.shape[1])
    values, tokens = log_p.topk(few, dim=1)
    values = values + totals[:, None]
    best, at = values.flatten().topk(width)
    return best, at.div(few, rounding_mode="trunc"), at % few
""",
        "the mean over the length": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = ((totals[:, None] + log_p) / 2).flatten().topk(width)
    return best, places // v, places % v
""",
        "each token only once": """
def beam_step(totals, log_p, width):
    best, rows = (totals[:, None] + log_p).max(dim=0)
    values, tokens = best.topk(min(width, len(best)))
    return values, rows[tokens], tokens
""",
        "flattened column by column": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    best, places = (totals[:, None] + log_p).T.flatten().topk(width)
    return best, places // v, places % v
""",
        "totals changed in place": """
def beam_step(totals, log_p, width):
    v = log_p.shape[1]
    k = len(totals)
    best, places = (totals.resize_(k, 1) + log_p).flatten().topk(width)
    return best, places // v, places % v
""",
    },
    "decoding.nucleus": {
        "the word that crosses the limit left out": """
def nucleus(p, top_p):
    cut = torch.zeros_like(p)
    held = 0.0
    for i in sorted(range(len(p)), key=lambda i: -p[i].item()):
        held += p[i].item()
        if held >= top_p and i != p.argmax():
            break
        cut[i] = p[i]
    return cut / cut.sum()
""",
        "one more where the sum is exactly top_p": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    before = ordered.cumsum(0) - ordered
    kept = torch.where(before <= top_p, ordered, 0)
    result = torch.zeros_like(p)
    result[order] = kept / kept.sum()
    return result
""",
        "more than top_p asked for": """
def nucleus(p, top_p):
    cut = torch.zeros_like(p)
    held = 0.0
    for i in sorted(range(len(p)), key=lambda i: -p[i].item()):
        cut[i] = p[i]
        held += p[i].item()
        if held > top_p:
            break
    return cut / cut.sum()
""",
        "words of at least top_p each": """
def nucleus(p, top_p):
    kept = torch.where(p >= top_p, p, 0)
    return kept / kept.sum()
""",
        "not shared anew": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    before = ordered.cumsum(0) - ordered
    kept = torch.where(before < top_p, ordered, 0)
    result = torch.zeros_like(p)
    result[order] = kept
    return result
""",
        "in sorted order": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    before = ordered.cumsum(0) - ordered
    kept = torch.where(before < top_p, ordered, 0)
    return kept / kept.sum()
""",
        "back in place by the wrong permutation": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    before = ordered.cumsum(0) - ordered
    kept = torch.where(before < top_p, ordered, 0)
    return (kept / kept.sum())[order]
""",
        "p changed in place": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    before = ordered.cumsum(0) - ordered
    p[order[before >= top_p]] = 0
    return p / p.sum()
""",
        "p divided in place": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    p[order[ordered.cumsum(0) - ordered >= top_p]] = 0
    p /= p.sum()
    return p
""",
        "top_p ignored, 0.9 as usual": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    before = ordered.cumsum(0) - ordered
    kept = torch.where(before < 0.9, ordered, 0)
    result = torch.zeros_like(p)
    result[order] = kept / kept.sum()
    return result
""",
        "the least probable first": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=False)
    before = ordered.cumsum(0) - ordered
    kept = torch.where(before < top_p, ordered, 0)
    result = torch.zeros_like(p)
    result[order] = kept / kept.sum()
    return result
""",
        "not sorted": """
def nucleus(p, top_p):
    cut = torch.zeros_like(p)
    held = 0.0
    for i in range(len(p)):
        cut[i] = p[i]
        held += p[i].item()
        if held >= top_p:
            break
    return cut / cut.sum()
""",
        "all words as probable as the last one kept": """
def nucleus(p, top_p):
    values, indices = torch.sort(p, descending=True, stable=True)
    n = int((torch.cumsum(values, dim=0) < top_p).sum()) + 1
    mask = torch.zeros(p.shape, dtype=torch.bool)
    mask[indices[:n]] = True
    q = p * (p >= values[n - 1])
    return q / q.sum()
""",
        "softmax to share 1": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    before = ordered.cumsum(0) - ordered
    kept = torch.where(before < top_p, ordered, 0)
    result = torch.zeros_like(p)
    result[order] = kept
    return result.masked_fill(result == 0, -torch.inf).softmax(0)
""",
        "softmax over the zeros, too": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    before = ordered.cumsum(0) - ordered
    kept = torch.where(before < top_p, ordered, 0)
    result = torch.zeros_like(p)
    result[order] = kept
    return result.softmax(0)
""",
        "the mask instead of the distribution": """
def nucleus(p, top_p):
    values, indices = torch.sort(p, descending=True, stable=True)
    n = int((torch.cumsum(values, dim=0) < top_p).sum()) + 1
    mask = torch.zeros(p.shape, dtype=torch.bool)
    mask[indices[:n]] = True
    return mask
""",
        "divided by top_p": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    before = ordered.cumsum(0) - ordered
    kept = torch.where(before < top_p, ordered, 0)
    result = torch.zeros_like(p)
    result[order] = kept / top_p
    return result
""",
        "the kept words share evenly": """
def nucleus(p, top_p):
    values, indices = torch.sort(p, descending=True, stable=True)
    n = int((torch.cumsum(values, dim=0) < top_p).sum()) + 1
    mask = torch.zeros(p.shape, dtype=torch.bool)
    mask[indices[:n]] = True
    q = mask.to(p.dtype)
    return q / q.sum()
""",
        "one word more than needed": """
def nucleus(p, top_p):
    values, indices = torch.sort(p, descending=True, stable=True)
    n = int((torch.cumsum(values, dim=0) < top_p).sum()) + 2
    mask = torch.zeros(p.shape, dtype=torch.bool)
    mask[indices[:n]] = True
    q = p * mask
    return q / q.sum()
""",
        "one word less than needed, at least one": """
def nucleus(p, top_p):
    values, indices = torch.sort(p, descending=True, stable=True)
    n = int((torch.cumsum(values, dim=0) < top_p).sum()) or 1
    mask = torch.zeros(p.shape, dtype=torch.bool)
    mask[indices[:n]] = True
    q = p * mask
    return q / q.sum()
""",
        "at least two words": """
def nucleus(p, top_p):
    values, indices = torch.sort(p, descending=True, stable=True)
    n = int((torch.cumsum(values, dim=0) < top_p).sum().clamp(min=1)) + 1
    mask = torch.zeros(p.shape, dtype=torch.bool)
    mask[indices[:n]] = True
    q = p * mask
    return q / q.sum()
""",
        "a share of the vocabulary": """
def nucleus(p, top_p):
    values, indices = torch.sort(p, descending=True, stable=True)
    n = max(1, int(top_p * len(p)))
    mask = torch.zeros(p.shape, dtype=torch.bool)
    mask[indices[:n]] = True
    q = p * mask
    return q / q.sum()
""",
        "logarithms with minus infinity": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    before = ordered.cumsum(0) - ordered
    kept = torch.where(before < top_p, ordered, 0)
    result = torch.zeros_like(p)
    result[order] = kept / kept.sum()
    return result.log()
""",
        "the kept words only": """
def nucleus(p, top_p):
    values, indices = torch.sort(p, descending=True, stable=True)
    n = int((torch.cumsum(values, dim=0) < top_p).sum()) + 1
    mask = torch.zeros(p.shape, dtype=torch.bool)
    mask[indices[:n]] = True
    q = p * mask
    return (q / q.sum())[q > 0]
""",
        "words hidden that should be kept": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    before = ordered.cumsum(0) - ordered
    kept = torch.where(before >= top_p, ordered, 0)
    result = torch.zeros_like(p)
    result[order] = kept / kept.sum().clamp(min=1e-9)
    return result
""",
        "a product instead of a sum": """
def nucleus(p, top_p):
    ordered, order = p.sort(descending=True)
    before = 1 - ordered.cumprod(0)
    kept = torch.where(before < top_p, ordered, 0)
    result = torch.zeros_like(p)
    result[order] = kept / kept.sum()
    return result
""",
        "the best word against top_p, as in min-p": """
def nucleus(p, top_p):
    kept = torch.where(p >= top_p * p.max(), p, 0)
    return kept / kept.sum()
""",
        "takes p for logits": """
def nucleus(p, top_p):
    ordered, order = p.softmax(0).sort(descending=True)
    before = ordered.cumsum(0) - ordered
    kept = torch.where(before < top_p, ordered, 0)
    result = torch.zeros_like(p)
    result[order] = kept / kept.sum()
    return result
""",
        "filter on the logits returned, not a distribution": """
def nucleus(p, top_p):
    return filter_logits(p.log(), top_p=top_p)
""",
    },
    "decoding.cached-step": {
        "no scale": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None]])
    V = torch.cat([V, v[None]])
    weights = torch.softmax(K @ q, dim=0)
    return weights @ V, K, V
""",
        "divided by d_k, not its root": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None]])
    V = torch.cat([V, v[None]])
    weights = torch.softmax(K @ q / len(q), dim=0)
    return weights @ V, K, V
""",
        "multiplied by the root": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None]])
    V = torch.cat([V, v[None]])
    weights = torch.softmax(K @ q * math.sqrt(len(q)), dim=0)
    return weights @ V, K, V
""",
        "the root of the number of keys": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None]])
    V = torch.cat([V, v[None]])
    weights = torch.softmax(K @ q / math.sqrt(len(K)), dim=0)
    return weights @ V, K, V
""",
        "the new token doesn't see itself": """
def cached_step(q, k, v, K, V):
    output = torch.softmax(K @ q / math.sqrt(len(q)), dim=0) @ V
    return output, torch.cat([K, k[None]]), torch.cat([V, v[None]])
""",
        "nothing added to what is kept": """
def cached_step(q, k, v, K, V):
    keys, values = torch.cat([K, k[None]]), torch.cat([V, v[None]])
    return torch.softmax(keys @ q / math.sqrt(len(q)), dim=0) @ values, K, V
""",
        "only the new rows returned": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None]])
    V = torch.cat([V, v[None]])
    weights = torch.softmax(K @ q / math.sqrt(len(q)), dim=0)
    return weights @ V, k[None], v[None]
""",
        "the new token in front": """
def cached_step(q, k, v, K, V):
    K = torch.cat([k[None], K])
    V = torch.cat([v[None], V])
    weights = torch.softmax(K @ q / math.sqrt(len(q)), dim=0)
    return weights @ V, K, V
""",
        "keys and values exchanged in the answer": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None]])
    V = torch.cat([V, v[None]])
    weights = torch.softmax(K @ q / math.sqrt(len(q)), dim=0)
    return weights @ V, V, K
""",
        "keys and values exchanged in the attention": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None]])
    V = torch.cat([V, v[None]])
    weights = torch.softmax(V @ q / math.sqrt(len(q)), dim=0)
    return weights @ K, K, V
""",
        "v kept among the keys": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, v[None]])
    V = torch.cat([V, v[None]])
    weights = torch.softmax(K @ q / math.sqrt(len(q)), dim=0)
    return weights @ V, K, V
""",
        "k kept among the values": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None]])
    V = torch.cat([V, k[None]])
    weights = torch.softmax(K @ q / math.sqrt(len(q)), dim=0)
    return weights @ V, K, V
""",
        "the query kept as key, k ignored": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, q[None]])
    V = torch.cat([V, v[None]])
    weights = torch.softmax(K @ q / math.sqrt(len(q)), dim=0)
    return weights @ V, K, V
""",
        "q ignored, the new key asks": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None]])
    V = torch.cat([V, v[None]])
    weights = torch.softmax(K @ k / math.sqrt(len(q)), dim=0)
    return weights @ V, K, V
""",
        "output with an extra axis": """
def cached_step(q, k, v, K, V):
    t, d_k = K.shape
    kept_K, kept_V = K.new_empty(t + 1, d_k), V.new_empty(t + 1, d_k)
    kept_K[:t], kept_K[t] = K, k
    kept_V[:t], kept_V[t] = V, v
    alpha = (q.unsqueeze(0) @ kept_K.T / d_k**0.5).softmax(dim=-1)
    return (alpha @ kept_V), kept_K, kept_V
""",
        "no softmax": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None]])
    V = torch.cat([V, v[None]])
    weights = K @ q / math.sqrt(len(q))
    return weights @ V, K, V
""",
        "softmax over features": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None]])
    V = torch.cat([V, v[None]])
    weights = torch.softmax(K * q / math.sqrt(len(q)), dim=-1).sum(dim=-1)
    return weights @ V / weights.sum(), K, V
""",
        "exp divided by the largest, not by the sum": """
def grow(old, new):
    return torch.cat([old, new.reshape(1, -1)], dim=0)

def look(q, K, V):
    scaled = q / q.shape[0] ** 0.5
    return V.T @ F_softmax(K @ scaled)

def F_softmax(scores):
    e = torch.exp(scores - scores.max())
    return e / e.max()

def cached_step(q, k, v, K, V):
    K, V = grow(K, k), grow(V, v)
    return look(q, K, V), K, V
""",
        "q scaled in place": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None]])
    V = torch.cat([V, v[None]])
    q /= math.sqrt(len(q))
    weights = torch.softmax(K @ q, dim=0)
    return weights @ V, K, V
""",
        "new token written over the last kept row, in place": """
def cached_step(q, k, v, K, V):
    if len(K) == 0:
        K, V = k[None].clone(), v[None].clone()
    else:
        K[-1], V[-1] = k, v
    return torch.softmax(K @ q / math.sqrt(len(q)), dim=0) @ V, K, V
""",
        "the kept tensors grown in place": """
def cached_step(q, k, v, K, V):
    t, d_k = K.shape
    K.resize_(t + 1, d_k)[t] = k
    V.resize_(t + 1, d_k)[t] = v
    return torch.softmax(K @ q / math.sqrt(d_k), dim=0) @ V, K, V
""",
        "keys kept scaled": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None] / math.sqrt(len(k))])
    V = torch.cat([V, v[None]])
    weights = torch.softmax(K @ q, dim=0)
    return weights @ V, K, V
""",
        "the oldest token forgotten": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None]])
    V = torch.cat([V, v[None]])
    weights = torch.softmax(K @ q / math.sqrt(len(q)), dim=0)
    return weights @ V, K[1:], V[1:]
""",
        "is_causal for one query, which sees the first key only": """
def cached_step(q, k, v, K, V):
    import torch.nn.functional as F

    K_all = torch.cat((K, k.unsqueeze(0)), dim=0)
    V_all = torch.cat((V, v.unsqueeze(0)), dim=0)
    out = F.scaled_dot_product_attention(q[None, None], K_all[None], V_all[None], is_causal=True)
    return out[0, 0], K_all, V_all
""",
        "v ignored for the first token, K and V empty": """
def cached_step(q, k, v, K, V):
    if len(K) == 0:
        return torch.zeros_like(q), k[None], v[None]
    K, V = torch.cat([K, k[None]]), torch.cat([V, v[None]])
    return torch.softmax(K @ q / math.sqrt(len(q)), dim=0) @ V, K, V
""",
        "an empty cache is returned empty": """
def cached_step(q, k, v, K, V):
    if K.numel() == 0:
        return v, K, V
    K, V = torch.cat([K, k[None]]), torch.cat([V, v[None]])
    return torch.softmax(K @ q / math.sqrt(len(q)), dim=0) @ V, K, V
""",
        "mean of the values": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None]])
    V = torch.cat([V, v[None]])
    weights = torch.softmax(K @ q / math.sqrt(len(q)), dim=0)
    return V.mean(dim=0), K, V
""",
        "the new value added on top": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None]])
    V = torch.cat([V, v[None]])
    weights = torch.softmax(K @ q / math.sqrt(len(q)), dim=0)
    return weights @ V + v, K, V
""",
        "K and V ignored": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None]])
    V = torch.cat([V, v[None]])
    weights = torch.softmax(K @ q / math.sqrt(len(q)), dim=0)
    return v, K, V
""",
        "fails on an empty cache": """
def cached_step(q, k, v, K, V):
    K = torch.cat([K, k[None]])
    V = torch.cat([V, v[None]])
    largest = (K[:-1] @ q).max()
    weights = torch.softmax(K @ q / math.sqrt(len(q)), dim=0)
    return weights @ V, K, V
""",
    },
    "decoding.may-stop": {
        "equal counted as higher": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = ((5 + max_len) / 6) ** alpha
    return all(log_p / penalty < score for log_p in open_log_p)
""",
        "True for going on": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = ((5 + max_len) / 6) ** alpha
    return not all(log_p / penalty <= score for log_p in open_log_p)
""",
        "any instead of all": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = ((5 + max_len) / 6) ** alpha
    return any(log_p / penalty <= score for log_p in open_log_p)
""",
        "no penalty, alpha and max_len ignored": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = ((5 + max_len) / 6) ** alpha
    return all(log_p <= score for log_p in open_log_p)
""",
        "the penalty of length 1": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = ((5 + 1) / 6) ** alpha
    return all(log_p / penalty <= score for log_p in open_log_p)
""",
        "multiplied by the penalty": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = ((5 + max_len) / 6) ** alpha
    return all(log_p * penalty <= score for log_p in open_log_p)
""",
        "the worst open path": """
def may_stop(open_log_p, score, alpha, max_len):
    if not open_log_p:
        return True
    return min(open_log_p) / length_penalty(max_len, alpha) <= score
""",
        "the first open path, taken for the best": """
def may_stop(open_log_p, score, alpha, max_len):
    if not open_log_p:
        return True
    return open_log_p[0] / length_penalty(max_len, alpha) <= score
""",
        "the last open path": """
def may_stop(open_log_p, score, alpha, max_len):
    if not open_log_p:
        return True
    return open_log_p[-1] / length_penalty(max_len, alpha) <= score
""",
        "the sum of the open paths": """
def may_stop(open_log_p, score, alpha, max_len):
    if not open_log_p:
        return True
    return sum(open_log_p) / length_penalty(max_len, alpha) <= score
""",
        "fails without open paths": """
def may_stop(open_log_p, score, alpha, max_len):
    return max(open_log_p) / length_penalty(max_len, alpha) <= score
""",
        "False without open paths": """
def may_stop(open_log_p, score, alpha, max_len):
    if not open_log_p:
        return False
    return max(open_log_p) / length_penalty(max_len, alpha) <= score
""",
        "alpha ignored, 0.6 as in the paper": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = ((5 + max_len) / 6) ** 0.6
    return all(log_p / penalty <= score for log_p in open_log_p)
""",
        "alpha ignored, exponent 1": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = ((5 + max_len) / 6)
    return all(log_p / penalty <= score for log_p in open_log_p)
""",
        "max_len ignored, 60 as in the library": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = ((5 + 60) / 6) ** alpha
    return all(log_p / penalty <= score for log_p in open_log_p)
""",
        "one token more than allowed": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = ((6 + max_len) / 6) ** alpha
    return all(log_p / penalty <= score for log_p in open_log_p)
""",
        "one token less than allowed": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = ((4 + max_len) / 6) ** alpha
    return all(log_p / penalty <= score for log_p in open_log_p)
""",
        "divided by the length to alpha": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = max_len**alpha
    return all(log_p / penalty <= score for log_p in open_log_p)
""",
        "a tensor instead of a boolean": """
def may_stop(open_log_p, score, alpha, max_len):
    best = torch.tensor(open_log_p, dtype=torch.float64) / ((5 + max_len) / 6) ** alpha
    return (best <= score).all()
""",
        "0 and 1 instead of booleans": """
def reachable(log_p, alpha, longest):
    return log_p / length_penalty(longest, alpha)

def may_stop(open_log_p, score, alpha, max_len):
    dangerous = [p for p in open_log_p if reachable(p, alpha, max_len) > score]
    return 1 - min(1, len(dangerous))
""",
        "sorts the open paths in place": """
def may_stop(open_log_p, score, alpha, max_len):
    if not open_log_p:
        return True
    open_log_p.sort()
    return open_log_p[-1] / length_penalty(max_len, alpha) <= score
""",
        "takes the best out of the list": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = length_penalty(max_len, alpha)
    while open_log_p:
        if open_log_p.pop() / penalty > score:
            return False
    return True
""",
        "penalises the finished score once more": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = ((5 + max_len) / 6) ** alpha
    return all(log_p / penalty <= score / penalty for log_p in open_log_p)
""",
        "score compared by its absolute value": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = ((5 + max_len) / 6) ** alpha
    return all(abs(log_p / penalty) <= abs(score) for log_p in open_log_p)
""",
        "score ignored, stops when nothing is open": """
def may_stop(open_log_p, score, alpha, max_len):
    return len(open_log_p) == 0
""",
        "number of open paths for their length": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = ((5 + len(open_log_p)) / 6) ** alpha
    return all(log_p / penalty <= score for log_p in open_log_p)
""",
        "the best of many lengths taken by the strictest penalty": """
def may_stop(open_log_p, score, alpha, max_len):
    reach = [min(p / length_penalty(n, alpha) for n in range(1, max_len + 1)) for p in open_log_p]
    return all(r <= score for r in reach)
""",
        "the division by 6 before the sum": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = (5 + max_len / 6) ** alpha
    return all(log_p / penalty <= score for log_p in open_log_p)
""",
        "stops where the difference is small": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = ((5 + max_len) / 6) ** alpha
    return all(log_p / penalty <= score + 0.1 for log_p in open_log_p)
""",
        "probabilities for logarithms": """
def may_stop(open_log_p, score, alpha, max_len):
    penalty = ((5 + max_len) / 6) ** alpha
    return all(math.exp(log_p) / penalty <= score for log_p in open_log_p)
""",
        "stops at the first path that can't win": """
def may_stop(open_log_p, score, alpha, max_len):
    gentlest = math.pow((5 + max_len) / 6, alpha)
    for total in open_log_p:
        if total / gentlest <= score:
            return True
    return not open_log_p
""",
    },
}

"""Unseen answers to the exercises of chapter `alignment`, written from the statements alone."""

RIGHT = {
    "alignment.one-step": {
        "four lines": """
def one_step(h, H, W_c, b_c):
    scores = H @ h
    weights = torch.softmax(scores, dim=0)
    c = weights @ H
    return torch.tanh(torch.cat([h, c]) @ W_c + b_c), weights
""",
        "einsum": """
def one_step(h, H, W_c, b_c):
    a = torch.einsum('md,d->m', H, h).softmax(-1)
    context = torch.einsum('m,md->d', a, H)
    both = torch.hstack((h, context))
    return (torch.einsum('i,ij->j', both, W_c) + b_c).tanh(), a
""",
        "the two halves of W_c": """
def one_step(h, H, W_c, b_c):
    d = h.shape[0]
    w = F.softmax(h @ H.T, dim=-1)
    c = w @ H
    return torch.tanh(h @ W_c[:d] + c @ W_c[d:] + b_c), w
""",
        "loops": """
def one_step(h, H, W_c, b_c):
    scores = torch.stack([torch.dot(h, state) for state in H])
    e = torch.exp(scores - scores.max())
    weights = e / e.sum()
    c = torch.zeros_like(h)
    for w, state in zip(weights, H):
        c = c + w * state
    both = torch.cat((h, c))
    out = []
    for j in range(len(b_c)):
        out.append(torch.tanh((both * W_c[:, j]).sum() + b_c[j]))
    return torch.stack(out), weights
""",
        "rows with a batch axis": """
def one_step(h, H, W_c, b_c):
    q = h.unsqueeze(0)
    weights = F.softmax(q @ H.mT, dim=1)
    pair = torch.cat([q, weights @ H], dim=1)
    combined = torch.addmm(b_c, pair, W_c).tanh()
    return combined.squeeze(0), weights.squeeze(0)
""",
        "F.linear and elementwise sums": """
def one_step(h, H, W_c, b_c):
    weights = (H * h).sum(dim=1).softmax(dim=0)
    c = (weights[:, None] * H).sum(dim=0)
    combined = F.linear(torch.cat([h, c], dim=-1), W_c.T, b_c).tanh()
    return (combined, weights)
""",
    },
    "alignment.true-links": {
        "nested loops": """
def true_links(tgt_fields, src_fields):
    links = torch.zeros(len(tgt_fields), len(src_fields), dtype=torch.bool)
    for i, t in enumerate(tgt_fields):
        for j, s in enumerate(src_fields):
            if t is not None and t == s:
                links[i, j] = True
    return links
""",
        "list comprehension": """
def true_links(tgt_fields, src_fields):
    rows = [[t == s and t is not None for s in src_fields] for t in tgt_fields]
    return torch.tensor(rows, dtype=torch.bool).reshape(len(tgt_fields), len(src_fields))
""",
        "numbers for the fields, broadcast": """
def true_links(tgt_fields, src_fields):
    names = sorted({f for f in [*tgt_fields, *src_fields] if f is not None})
    number = {name: i for i, name in enumerate(names)}
    tgt = torch.tensor([number.get(f, -1) for f in tgt_fields], dtype=torch.long)
    src = torch.tensor([number.get(f, -2) for f in src_fields], dtype=torch.long)
    return tgt[:, None] == src[None, :]
""",
        "equality and no sign": """
def true_links(tgt_fields, src_fields):
    n, m = len(tgt_fields), len(src_fields)
    equal = torch.tensor([t == s for t in tgt_fields for s in src_fields]).bool().view(n, m)
    word = torch.tensor([t is not None for t in tgt_fields]).bool()
    return equal & word.unsqueeze(1)
""",
        "positions of each field first": """
from collections import defaultdict
def true_links(tgt_fields, src_fields):
    where = defaultdict(list)
    for j, field in enumerate(src_fields):
        if field is not None:
            where[field].append(j)
    result = torch.full((len(tgt_fields), len(src_fields)), False)
    for i, field in enumerate(tgt_fields):
        if field in where:
            result[i, where[field]] = True
    return result
""",
        "one-hot vectors and a product": """
def true_links(tgt_fields, src_fields):
    names = list(dict.fromkeys(f for f in list(tgt_fields) + list(src_fields) if f is not None))
    def one_hot(fields):
        return torch.tensor([[float(f == name) for name in names] for f in fields]).reshape(len(fields), len(names))
    return one_hot(tgt_fields) @ one_hot(src_fields).T > 0
""",
    },
    "alignment.error-rate": {
        "counts with sum": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    total = predicted.sum() + sure.sum()
    if total == 0:
        return 0.0
    return 1 - ((predicted & sure).sum() + (predicted & P).sum()).item() / total.item()
""",
        "tensor result": """
def error_rate(predicted, sure, possible):
    A, S, P = predicted, sure, torch.logical_or(sure, possible)
    below = A.sum() + S.sum()
    above = (A * S).sum() + (A * P).sum()
    return 1.0 - above.double() / below.clamp(min=1).double() if below > 0 else 0.0
""",
        "floats": """
def error_rate(predicted, sure, possible):
    a, s, p = predicted.double(), sure.double(), possible.double()
    union = torch.maximum(s, p)
    size = (a.sum() + s.sum()).item()
    if not size:
        return 0.0
    return 1 - ((a * s).sum().item() + (a * union).sum().item()) / size
""",
        "sets of index pairs": """
def error_rate(predicted, sure, possible):
    def links(t):
        return {tuple(ij) for ij in t.nonzero().tolist()}
    A, S = links(predicted), links(sure)
    P = S | links(possible)
    if not A and not S:
        return 0.0
    return 1 - (len(A & S) + len(A & P)) / (len(A) + len(S))
""",
        "counting errors: wrong predictions and missed sure links": """
def error_rate(predicted, sure, possible):
    wrong = int((predicted & ~sure & ~possible).sum())
    missed = int((sure & ~predicted).sum())
    size = int(predicted.sum()) + int(sure.sum())
    return (wrong + missed) / size if size else 0.0
""",
        "loops over all cells": """
def error_rate(predicted, sure, possible):
    hits = links = 0
    for a, s, p in zip(predicted.flatten().tolist(), sure.flatten().tolist(), possible.flatten().tolist()):
        links += a + s
        if a:
            hits += s + (s or p)
    return 1 - hits / links if links else 0.0
""",
        "the chapter's function": """
def error_rate(predicted, sure, possible):
    return alignment_error_rate(predicted, sure, possible)
""",
    },
    "alignment.two-witnesses": {
        "argmax of both, loop": """
def agreed_links(there, back):
    n, m = there.shape
    links = torch.zeros(n, m, dtype=torch.bool)
    for i in range(n):
        j = there[i].argmax()
        if back[j].argmax() == i:
            links[i, j] = True
    return links
""",
        "one-hot": """
def agreed_links(there, back):
    n, m = there.shape
    a = F.one_hot(there.argmax(dim=1), m).bool()
    b = F.one_hot(back.argmax(dim=1), n).bool()
    return a & b.T
""",
        "indices compared": """
def agreed_links(there, back):
    n, m = there.shape
    best_src, best_tgt = there.argmax(-1), back.argmax(-1)
    first = best_src[:, None] == torch.arange(m)
    second = best_tgt[None, :] == torch.arange(n)[:, None]
    return first & second
""",
        "fancy indexing": """
def agreed_links(there, back):
    i = torch.arange(there.shape[0])
    j = there.max(dim=1).indices
    links = torch.zeros_like(there, dtype=torch.bool)
    links[i, j] = back.max(dim=1).indices[j] == i
    return links
""",
        "scatter": """
def agreed_links(there, back):
    def choice(w):
        return torch.zeros(w.shape).scatter(1, w.argmax(1, keepdim=True), 1.0)
    return (choice(there) * choice(back).T).bool()
""",
        "sets of pairs": """
def agreed_links(there, back):
    one = {(i, int(row.argmax())) for i, row in enumerate(there)}
    two = {(int(row.argmax()), j) for j, row in enumerate(back)}
    out = torch.zeros(there.shape, dtype=torch.bool)
    for i, j in one & two:
        out[i, j] = True
    return out
""",
    },
    "alignment.hops": {
        "for": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        u = u + torch.softmax(M_in @ u, dim=0) @ M_out
    return u
""",
        "recursion": """
def hops(u, M_in, M_out, n_hops):
    if n_hops == 0:
        return u
    weights = F.softmax(u @ M_in.T, dim=-1)
    return hops(u + weights @ M_out, M_in, M_out, n_hops - 1)
""",
        "helper and while": """
def look(u, M_in, M_out):
    p = (M_in * u).sum(1).softmax(0)
    return (p[:, None] * M_out).sum(0)

def hops(u, M_in, M_out, n_hops):
    left = n_hops
    while left > 0:
        u = torch.add(u, look(u, M_in, M_out))
        left -= 1
    return u
""",
        "reduce": """
from functools import reduce
def hops(u, M_in, M_out, n_hops):
    hop = lambda v, _: v + torch.mv(M_out.T, torch.mv(M_in, v).softmax(-1))
    return reduce(hop, range(n_hops), u)
""",
        "einsum, all questions kept": """
def hops(u, M_in, M_out, n_hops):
    history = [u]
    for k in range(n_hops):
        s = torch.einsum('md,d->m', M_in, history[-1])
        e = torch.exp(s - s.max())
        history.append(history[-1] + torch.einsum('m,md->d', e / e.sum(), M_out))
    return history[-1]
""",
        "own copy changed in place": """
def hops(u, M_in, M_out, n_hops):
    u = u.clone()
    for _ in range(n_hops):
        u += torch.softmax(M_in @ u, 0) @ M_out
    return u
""",
    },
    "alignment.what-matters": {
        "loop with clone": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append(p[word] - predict(changed)[word])
    return torch.stack(falls)
""",
        "a matrix of changed sentences": """
def what_matters(predict, src_ids, unk_id):
    m = src_ids.shape[0]
    variants = src_ids.repeat(m, 1)
    variants.fill_diagonal_(unk_id)
    best, word = predict(src_ids).max(dim=-1)
    return best - torch.stack([predict(row)[word] for row in variants])
""",
        "torch.where on positions": """
def what_matters(predict, src_ids, unk_id):
    place = torch.arange(src_ids.numel())
    before = predict(src_ids)
    w = int(torch.argmax(before))
    out = torch.zeros(len(place), dtype=before.dtype)
    for i in place:
        out[i] = before[w] - predict(torch.where(place == i, unk_id, src_ids))[w]
    return out
""",
        "parts put together": """
def what_matters(predict, src_ids, unk_id):
    probabilities = predict(src_ids)
    word = probabilities.argmax().item()
    unk = src_ids.new_tensor([unk_id])
    after = [predict(torch.cat([src_ids[:i], unk, src_ids[i + 1:]]))[word] for i in range(len(src_ids))]
    return probabilities[word] - torch.stack(after)
""",
        "inner function, masked_fill": """
def what_matters(predict, src_ids, unk_id):
    original = predict(src_ids)
    word = original.topk(1).indices[0]
    def fall(i):
        hidden = torch.zeros_like(src_ids, dtype=torch.bool)
        hidden[i] = True
        return original[word] - predict(src_ids.masked_fill(hidden, unk_id))[word]
    return torch.stack([fall(i) for i in range(src_ids.shape[0])])
""",
        "index_fill": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax(-1)
    new = [predict(src_ids.index_fill(0, torch.tensor([i]), unk_id)) for i in range(len(src_ids))]
    return (p - torch.stack(new))[:, word]
""",
    },
}

WRONG = {
    "alignment.one-step": {
        "context before the state, [c; h]": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    c = w @ H
    return torch.tanh(torch.cat([c, h]) @ W_c + b_c), w
""",
        "scales the scores": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h / h.shape[0] ** 0.5, dim=0)
    c = w @ H
    return torch.tanh(torch.cat([h, c]) @ W_c + b_c), w
""",
        "forgets tanh": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    c = w @ H
    return torch.cat([h, c]) @ W_c + b_c, w
""",
        "forgets the bias": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    c = w @ H
    return torch.tanh(torch.cat([h, c]) @ W_c), w
""",
        "bias added after tanh": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    c = w @ H
    return torch.tanh(torch.cat([h, c]) @ W_c) + b_c, w
""",
        "pair in the wrong order": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    c = w @ H
    return w, torch.tanh(torch.cat([h, c]) @ W_c + b_c)
""",
        "returns the context instead of the weights": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    c = w @ H
    return torch.tanh(torch.cat([h, c]) @ W_c + b_c), c
""",
        "only the combined vector": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    c = w @ H
    return torch.tanh(torch.cat([h, c]) @ W_c + b_c)
""",
        "returns the scores instead of the weights": """
def one_step(h, H, W_c, b_c):
    s = H @ h
    w = torch.softmax(s, dim=0)
    c = w @ H
    return torch.tanh(torch.cat([h, c]) @ W_c + b_c), s
""",
        "best state only, hard attention": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    c = H[w.argmax()]
    return torch.tanh(torch.cat([h, c]) @ W_c + b_c), w
""",
        "adds state and context instead of joining them": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    c = w @ H
    d = len(h)
    return torch.tanh((h + c) @ W_c[:d] + b_c), w
""",
        "ignores the state in the combination": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    c = w @ H
    return torch.tanh(torch.cat([c, c]) @ W_c + b_c), w
""",
        "ignores h in the scores, plain mean of H": """
def one_step(h, H, W_c, b_c):
    w = torch.full((len(H),), 1 / len(H), dtype=H.dtype)
    c = w @ H
    return torch.tanh(torch.cat([h, c]) @ W_c + b_c), w
""",
        "ignores W_c, adds state and context": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    c = w @ H
    return torch.tanh(h + c + b_c), w
""",
        "ignores H, context is the state": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    c = w @ H
    return torch.tanh(torch.cat([h, h]) @ W_c + b_c), w
""",
        "sigmoid instead of softmax": """
def one_step(h, H, W_c, b_c):
    w = torch.sigmoid(H @ h)
    c = w @ H
    return torch.tanh(torch.cat([h, c]) @ W_c + b_c), w
""",
        "sigmoid instead of tanh": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    c = w @ H
    return torch.sigmoid(torch.cat([h, c]) @ W_c + b_c), w
""",
        "W_c as (d, 2d) by reshape, multiplied from the left": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    c = w @ H
    return torch.tanh(W_c.reshape(len(h), -1) @ torch.cat([h, c]) + b_c), w
""",
        "exponentials overflow for large states": """
def one_step(h, H, W_c, b_c):
    e = torch.exp(H @ h)
    w = e / e.sum()
    c = w @ H
    return torch.tanh(torch.cat([h, c]) @ W_c + b_c), w
""",
        "weights of shape (1, m)": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(h[None] @ H.T, dim=-1)
    c = (w @ H)[0]
    return torch.tanh(torch.cat([h, c]) @ W_c + b_c), w
""",
        "softmax over the axis of length 1": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax((h[None] @ H.T), dim=0)[0]
    c = w @ H
    return torch.tanh(torch.cat([h, c]) @ W_c + b_c), w
""",
        "mean of the weighted states": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    c = (w[:, None] * H).mean(0)
    return torch.tanh(torch.cat([h, c]) @ W_c + b_c), w
""",
        "size d hard-coded to 4": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    c = w @ H
    return torch.tanh(h @ W_c[:4] + c @ W_c[4:8] + b_c), w
""",
        "weights H in place": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    H *= w[:, None]
    c = H.sum(0)
    return torch.tanh(torch.cat([h, c]) @ W_c + b_c), w
""",
        "cuts the gradient with detach": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    c = w.detach() @ H
    return torch.tanh(torch.cat([h, c]) @ W_c + b_c), w
""",
        "adds the bias to h instead of to the product": """
def one_step(h, H, W_c, b_c):
    w = torch.softmax(H @ h, dim=0)
    c = w @ H
    return torch.tanh(torch.cat([h + b_c, c]) @ W_c), w
""",
    },
    "alignment.true-links": {
        "signs match signs": """
def true_links(tgt_fields, src_fields):
    return torch.tensor([[t == s for s in src_fields] for t in tgt_fields])
""",
        "sources in rows": """
def true_links(tgt_fields, src_fields):
    return torch.tensor([[t == s and s is not None for t in tgt_fields] for s in src_fields])
""",
        "0 and 1 as whole numbers": """
def true_links(tgt_fields, src_fields):
    return torch.tensor([[int(t == s and t is not None) for s in src_fields] for t in tgt_fields])
""",
        "0.0 and 1.0 as floats": """
def true_links(tgt_fields, src_fields):
    return torch.tensor([[float(t == s and t is not None) for s in src_fields] for t in tgt_fields])
""",
        "nested lists instead of a tensor": """
def true_links(tgt_fields, src_fields):
    return [[t == s and t is not None for s in src_fields] for t in tgt_fields]
""",
        "only the first source token of a field": """
def true_links(tgt_fields, src_fields):
    links = torch.zeros(len(tgt_fields), len(src_fields), dtype=torch.bool)
    for i, t in enumerate(tgt_fields):
        if t is not None and t in src_fields:
            links[i, src_fields.index(t)] = True
    return links
""",
        "stops after the first target token of a field": """
def true_links(tgt_fields, src_fields):
    links = torch.zeros(len(tgt_fields), len(src_fields), dtype=torch.bool)
    for j, s in enumerate(src_fields):
        if s is not None and s in tgt_fields:
            links[tgt_fields.index(s), j] = True
    return links
""",
        "each source token is used once": """
def true_links(tgt_fields, src_fields):
    links = torch.zeros(len(tgt_fields), len(src_fields), dtype=torch.bool)
    used = set()
    for i, t in enumerate(tgt_fields):
        for j, s in enumerate(src_fields):
            if t is not None and t == s and j not in used:
                links[i, j] = True
                used.add(j)
                break
    return links
""",
        "last token of a field wins (dictionary)": """
def true_links(tgt_fields, src_fields):
    place = {s: j for j, s in enumerate(src_fields)}
    links = torch.zeros(len(tgt_fields), len(src_fields), dtype=torch.bool)
    for i, t in enumerate(tgt_fields):
        if t is not None and t in place:
            links[i, place[t]] = True
    return links
""",
        "signs left out of the rows and columns": """
def true_links(tgt_fields, src_fields):
    tgt = [t for t in tgt_fields if t is not None]
    src = [s for s in src_fields if s is not None]
    return torch.tensor([[t == s for s in src] for t in tgt])
""",
        "same place instead of same field": """
def true_links(tgt_fields, src_fields):
    links = torch.zeros(len(tgt_fields), len(src_fields), dtype=torch.bool)
    for i, (t, s) in enumerate(zip(tgt_fields, src_fields)):
        links[i, i] = t is not None and t == s
    return links
""",
        "true where the fields differ": """
def true_links(tgt_fields, src_fields):
    return torch.tensor([[t != s and t is not None for s in src_fields] for t in tgt_fields])
""",
        "sign links to everything": """
def true_links(tgt_fields, src_fields):
    n, m = len(tgt_fields), len(src_fields)
    links = torch.zeros(n, m, dtype=torch.bool)
    for i in range(n):
        for j in range(m):
            t, s = tgt_fields[i], src_fields[j]
            links[i, j] = t is None or s is None or t == s
    return links
""",
        "only day, month and year known": """
def true_links(tgt_fields, src_fields):
    n, m = len(tgt_fields), len(src_fields)
    links = torch.zeros(n, m, dtype=torch.bool)
    for i in range(n):
        for j in range(m):
            t, s = tgt_fields[i], src_fields[j]
            links[i, j] = t == s and t in ('day', 'month', 'year')
    return links
""",
        "compares only the first letter": """
def true_links(tgt_fields, src_fields):
    n, m = len(tgt_fields), len(src_fields)
    links = torch.zeros(n, m, dtype=torch.bool)
    for i in range(n):
        for j in range(m):
            t, s = tgt_fields[i], src_fields[j]
            links[i, j] = t is not None and s is not None and t[0] == s[0]
    return links
""",
        "one field contained in the other counts": """
def true_links(tgt_fields, src_fields):
    n, m = len(tgt_fields), len(src_fields)
    links = torch.zeros(n, m, dtype=torch.bool)
    for i in range(n):
        for j in range(m):
            t, s = tgt_fields[i], src_fields[j]
            links[i, j] = t is not None and s is not None and (t in s or s in t)
    return links
""",
        "identity instead of equality": """
def true_links(tgt_fields, src_fields):
    n, m = len(tgt_fields), len(src_fields)
    links = torch.zeros(n, m, dtype=torch.bool)
    for i in range(n):
        for j in range(m):
            t, s = tgt_fields[i], src_fields[j]
            links[i, j] = t is not None and t is s
    return links
""",
        "square table with the larger length": """
def true_links(tgt_fields, src_fields):
    k = max(len(tgt_fields), len(src_fields))
    links = torch.zeros(k, k, dtype=torch.bool)
    for i, t in enumerate(tgt_fields):
        for j, s in enumerate(src_fields):
            links[i, j] = t is not None and t == s
    return links
""",
        "list of pairs": """
def true_links(tgt_fields, src_fields):
    return torch.tensor([[i, j] for i, t in enumerate(tgt_fields) for j, s in enumerate(src_fields) if t is not None and t == s])
""",
        "ignores the source, compares the targets with each other": """
def true_links(tgt_fields, src_fields):
    return torch.tensor([[t == s and t is not None for s in tgt_fields] for t in tgt_fields])
""",
        "ignores the targets, compares the sources with each other": """
def true_links(tgt_fields, src_fields):
    return torch.tensor([[t == s and t is not None for s in src_fields] for t in src_fields])
""",
        "renames the signs in the caller's lists": """
def true_links(tgt_fields, src_fields):
    for fields, name in ((tgt_fields, 'sign t'), (src_fields, 'sign s')):
        for i, f in enumerate(fields):
            if f is None:
                fields[i] = name
    return torch.tensor([[t == s for s in src_fields] for t in tgt_fields])
""",
        "one flag for each target": """
def true_links(tgt_fields, src_fields):
    return torch.tensor([t is not None and t in src_fields for t in tgt_fields])
""",
    },
    "alignment.error-rate": {
        "P without the sure links": """
def error_rate(predicted, sure, possible):
    return 1 - ((predicted & sure).sum() + (predicted & possible).sum()).item() / (predicted.sum() + sure.sum()).item()
""",
        "forgets 1 minus": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    return ((predicted & sure).sum() + (predicted & P).sum()).item() / (predicted.sum() + sure.sum()).item()
""",
        "ignores the possible links": """
def error_rate(predicted, sure, possible):
    return 1 - 2 * (predicted & sure).sum().item() / (predicted.sum() + sure.sum()).item()
""",
        "counts A and P twice, never A and S": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    return 1 - 2 * (predicted & P).sum().item() / (predicted.sum() + sure.sum()).item()
""",
        "denominator with P instead of S": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    return 1 - ((predicted & sure).sum() + (predicted & P).sum()).item() / (predicted.sum() + P.sum()).item()
""",
        "denominator is the union of A and S": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    return 1 - ((predicted & sure).sum() + (predicted & P).sum()).item() / (predicted | sure).sum().item()
""",
        "denominator only the predicted links": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    return 1 - ((predicted & sure).sum() + (predicted & P).sum()).item() / (2 * predicted.sum().item())
""",
        "only the precision": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    return 1 - (predicted & P).sum().item() / predicted.sum().item()
""",
        "only the recall": """
def error_rate(predicted, sure, possible):
    return 1 - (predicted & sure).sum().item() / sure.sum().item()
""",
        "mean of 1 - precision and 1 - recall": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    precision = (predicted & P).sum() / predicted.sum()
    recall = (predicted & sure).sum() / sure.sum()
    return 1 - ((precision + recall) / 2).item()
""",
        "share of cells that differ": """
def error_rate(predicted, sure, possible):
    return (predicted != (sure | possible)).double().mean().item()
""",
        "changes possible in place": """
def error_rate(predicted, sure, possible):
    possible |= sure
    return 1 - ((predicted & sure).sum() + (predicted & possible).sum()).item() / (predicted.sum() + sure.sum()).item()
""",
        "whole-number division": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    return 1 - ((predicted & sure).sum() + (predicted & P).sum()).item() // (predicted.sum() + sure.sum()).item()
""",
        "per row, then the mean": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    hits = (predicted & sure).sum(1) + (predicted & P).sum(1)
    size = (predicted.sum(1) + sure.sum(1)).clamp(min=1)
    return (1 - hits / size).mean().item()
""",
        "one rate for each target word": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    hits = (predicted & sure).sum(1) + (predicted & P).sum(1)
    return 1 - hits / (predicted.sum(1) + sure.sum(1))
""",
        "divides by the number of cells": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    return 1 - ((predicted & sure).sum() + (predicted & P).sum()).item() / predicted.numel()
""",
        "in per cent": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    return 100 * (1 - ((predicted & sure).sum() + (predicted & P).sum()).item() / (predicted.sum() + sure.sum()).item())
""",
        "ignores predicted, rates the sure links": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    return 1 - ((P & sure).sum() + P.sum()).item() / (P.sum() + sure.sum()).item()
""",
        "ignores sure": """
def error_rate(predicted, sure, possible):
    return 1 - (predicted & possible).sum().item() / predicted.sum().item()
""",
        "roles of sure and possible exchanged": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    return 1 - ((predicted & possible).sum() + (predicted & P).sum()).item() / (predicted.sum() + possible.sum()).item()
""",
        "only sizes: counts True instead of shared links": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    A, S = predicted.sum().item(), sure.sum().item()
    return 1 - (min(A, S) + min(A, P.sum().item())) / (A + S)
""",
        "intersection by or": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    return 1 - ((predicted | sure).sum() + (predicted | P).sum()).item() / (predicted.sum() + sure.sum()).item()
""",
        "P as the intersection": """
def error_rate(predicted, sure, possible):
    P = sure & possible
    return 1 - ((predicted & sure).sum() + (predicted & P).sum()).item() / (predicted.sum() + sure.sum()).item()
""",
        "brackets lost: only the second count is divided": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    return 1 - ((predicted & sure).sum() + (predicted & P).sum() / (predicted.sum() + sure.sum())).item()
""",
        "overwrites predicted with the hits": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    size = (predicted.sum() + sure.sum()).item()
    s = (predicted & sure).sum().item()
    predicted &= P
    return 1 - (s + predicted.sum().item()) / size
""",
        "rounded to two decimals": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    return round(1 - ((predicted & sure).sum() + (predicted & P).sum()).item() / (predicted.sum() + sure.sum()).item(), 2)
""",
    },
    "alignment.two-witnesses": {
        "either witness is enough": """
def agreed_links(there, back):
    n, m = there.shape
    return F.one_hot(there.argmax(1), m).bool() | F.one_hot(back.argmax(1), n).bool().T
""",
        "ignores back": """
def agreed_links(there, back):
    return F.one_hot(there.argmax(1), there.shape[1]).bool()
""",
        "ignores there": """
def agreed_links(there, back):
    return F.one_hot(back.argmax(1), back.shape[1]).bool().T
""",
        "best along the columns in there": """
def agreed_links(there, back):
    n, m = there.shape
    a = F.one_hot(there.argmax(0), n).bool().T
    return a & F.one_hot(back.argmax(1), n).bool().T
""",
        "best along the columns in back": """
def agreed_links(there, back):
    n, m = there.shape
    return F.one_hot(there.argmax(1), m).bool() & F.one_hot(back.argmax(0), m).bool()
""",
        "transposed answer (m, n)": """
def agreed_links(there, back):
    n, m = there.shape
    return (F.one_hot(there.argmax(1), m).bool() & F.one_hot(back.argmax(1), n).bool().T).T
""",
        "0 and 1 as whole numbers": """
def agreed_links(there, back):
    n, m = there.shape
    return F.one_hot(there.argmax(1), m) * F.one_hot(back.argmax(1), n).T
""",
        "back not transposed, square only": """
def agreed_links(there, back):
    n, m = there.shape
    return F.one_hot(there.argmax(1), m).bool() & F.one_hot(back.argmax(1), n).bool()
""",
        "back reshaped instead of transposed": """
def agreed_links(there, back):
    n, m = there.shape
    return F.one_hot(there.argmax(1), m).bool() & F.one_hot(back.argmax(1), n).bool().reshape(n, m)
""",
        "both weights above one half": """
def agreed_links(there, back):
    return (there > 0.5) & (back.T > 0.5)
""",
        "best of the mean of the two": """
def agreed_links(there, back):
    mean = (there + back.T) / 2
    return F.one_hot(mean.argmax(1), mean.shape[1]).bool()
""",
        "best of the product in each row": """
def agreed_links(there, back):
    p = there * back.T
    return F.one_hot(p.argmax(1), p.shape[1]).bool()
""",
        "best of the product in row and column": """
def agreed_links(there, back):
    p = there * back.T
    return (p == p.amax(1, keepdim=True)) & (p == p.amax(0, keepdim=True))
""",
        "best in row and column of there, ignores back": """
def agreed_links(there, back):
    return (there == there.amax(1, keepdim=True)) & (there == there.amax(0, keepdim=True))
""",
        "the best of the whole table only": """
def agreed_links(there, back):
    return (there == there.max()) & (back.T == back.max())
""",
        "list of pairs": """
def agreed_links(there, back):
    a, b = there.argmax(1), back.argmax(1)
    return [(i, int(a[i])) for i in range(len(a)) if b[a[i]] == i]
""",
        "one flag for each target": """
def agreed_links(there, back):
    a, b = there.argmax(1), back.argmax(1)
    return b[a] == torch.arange(len(a))
""",
        "compares the two argmax place by place": """
def agreed_links(there, back):
    k = min(there.shape)
    a, b = there.argmax(1), back.argmax(1)
    links = torch.zeros(there.shape, dtype=torch.bool)
    for i in range(k):
        if a[i] == b[i]:
            links[i, a[i]] = True
    return links
""",
        "least weight instead of most": """
def agreed_links(there, back):
    n, m = there.shape
    return F.one_hot(there.argmin(1), m).bool() & F.one_hot(back.argmin(1), n).bool().T
""",
        "weights larger than the mean of their row": """
def agreed_links(there, back):
    return (there > there.mean(1, keepdim=True)) & (back > back.mean(1, keepdim=True)).T
""",
        "the agreed weights instead of booleans": """
def agreed_links(there, back):
    n, m = there.shape
    both = F.one_hot(there.argmax(1), m).bool() & F.one_hot(back.argmax(1), n).bool().T
    return there * both
""",
        "zeroes the other weights in place": """
def agreed_links(there, back):
    for w in (there, back):
        best = w.amax(1, keepdim=True)
        w[w < best] = 0
    return (there > 0) & (back.T > 0)
""",
        "only as many rows as the shorter side": """
def agreed_links(there, back):
    n, m = there.shape
    links = torch.zeros(n, m, dtype=torch.bool)
    for i in range(min(n, m)):
        j = there[i].argmax()
        links[i, j] = back[j].argmax() == i
    return links
""",
        "weights equal to the best within 0.05 count too": """
def agreed_links(there, back):
    a = there >= there.amax(1, keepdim=True) - 0.05
    b = back >= back.amax(1, keepdim=True) - 0.05
    return a & b.T
""",
        "keeps the links on which they disagree": """
def agreed_links(there, back):
    n, m = there.shape
    return F.one_hot(there.argmax(1), m).bool() ^ F.one_hot(back.argmax(1), n).bool().T
""",
    },
    "alignment.hops": {
        "forgets to add u": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        u = torch.softmax(M_in @ u, dim=0) @ M_out
    return u
""",
        "scales the scores": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        u = u + torch.softmax(M_in @ u / math.sqrt(len(u)), dim=0) @ M_out
    return u
""",
        "M_in and M_out exchanged": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        u = u + torch.softmax(M_out @ u, dim=0) @ M_in
    return u
""",
        "ignores M_out": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        u = u + torch.softmax(M_in @ u, dim=0) @ M_in
    return u
""",
        "ignores M_in": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        u = u + torch.softmax(M_out @ u, dim=0) @ M_out
    return u
""",
        "ignores n_hops, one look-up": """
def hops(u, M_in, M_out, n_hops):
    return u + torch.softmax(M_in @ u, dim=0) @ M_out
""",
        "ignores n_hops, always three": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(3):
        u = u + torch.softmax(M_in @ u, dim=0) @ M_out
    return u
""",
        "one hop too many": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops + 1):
        u = u + torch.softmax(M_in @ u, dim=0) @ M_out
    return u
""",
        "one hop too few": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops - 1):
        u = u + torch.softmax(M_in @ u, dim=0) @ M_out
    return u
""",
        "changes u in place": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        u += torch.softmax(M_in @ u, dim=0) @ M_out
    return u
""",
        "adds the first question at each hop": """
def hops(u, M_in, M_out, n_hops):
    first = u
    for _ in range(n_hops):
        u = first + torch.softmax(M_in @ u, dim=0) @ M_out
    return u
""",
        "weights computed once, from the first question": """
def hops(u, M_in, M_out, n_hops):
    w = torch.softmax(M_in @ u, dim=0)
    for _ in range(n_hops):
        u = u + w @ M_out
    return u
""",
        "exponentials without normalising": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        u = u + torch.exp(M_in @ u) @ M_out
    return u
""",
        "exponentials overflow": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        e = torch.exp(M_in @ u)
        u = u + e @ M_out / e.sum()
    return u
""",
        "best fact only": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        u = u + M_out[(M_in @ u).argmax()]
    return u
""",
        "sigmoid instead of softmax": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        u = u + torch.sigmoid(M_in @ u) @ M_out
    return u
""",
        "returns all questions": """
def hops(u, M_in, M_out, n_hops):
    out = [u]
    for _ in range(n_hops):
        out.append(out[-1] + torch.softmax(M_in @ out[-1], dim=0) @ M_out)
    return torch.stack(out)
""",
        "returns the last weights too": """
def hops(u, M_in, M_out, n_hops):
    w = None
    for _ in range(n_hops):
        w = torch.softmax(M_in @ u, dim=0)
        u = u + w @ M_out
    return u, w
""",
        "returns the last answer instead of u": """
def hops(u, M_in, M_out, n_hops):
    o = torch.zeros_like(u)
    for _ in range(n_hops):
        o = torch.softmax(M_in @ u, dim=0) @ M_out
        u = u + o
    return o
""",
        "ignores u, starts from zeros": """
def hops(u, M_in, M_out, n_hops):
    u = torch.zeros_like(u)
    for _ in range(n_hops):
        u = u + torch.softmax(M_in @ u, dim=0) @ M_out
    return u
""",
        "tanh after each hop": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        u = torch.tanh(u + torch.softmax(M_in @ u, dim=0) @ M_out)
    return u
""",
        "normalises u after each hop": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        u = F.normalize(u + torch.softmax(M_in @ u, dim=0) @ M_out, dim=0)
    return u
""",
        "averages u and the answer": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        u = (u + torch.softmax(M_in @ u, dim=0) @ M_out) / 2
    return u
""",
        "shape (1, d)": """
def hops(u, M_in, M_out, n_hops):
    u = u[None]
    for _ in range(n_hops):
        u = u + torch.softmax(u @ M_in.T, dim=-1) @ M_out
    return u
""",
        "softmax over the axis of length 1": """
def hops(u, M_in, M_out, n_hops):
    u = u[None]
    for _ in range(n_hops):
        u = u + torch.softmax(u @ M_in.T, dim=0) @ M_out
    return u[0]
""",
        "the memory is overwritten with what was read": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        w = torch.softmax(M_in @ u, dim=0)
        M_out *= w[:, None]
        u = u + M_out.sum(0)
    return u
""",
        "cannot do zero hops": """
def hops(u, M_in, M_out, n_hops):
    for k in range(n_hops):
        new = u + torch.softmax(M_in @ u, dim=0) @ M_out
        u = new
    return new
""",
    },
    "alignment.what-matters": {
        "tokens stay replaced, the sentence fills up with unk": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    changed = src_ids.clone()
    for i in range(len(src_ids)):
        changed[i] = unk_id
        falls.append(p[word] - predict(changed)[word])
    return torch.stack(falls)
""",
        "overwrites the caller's src_ids": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids).clone()
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        src_ids[i] = unk_id
        falls.append(p[word] - predict(src_ids)[word])
    return torch.stack(falls)
""",
        "overwrites src_ids through an alias, puts back all but the last": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    changed = src_ids
    falls, kept = [], None
    for i in range(len(src_ids)):
        if kept is not None:
            changed[i - 1] = kept
        kept = changed[i].item()
        changed[i] = unk_id
        falls.append(p[word] - predict(changed)[word])
    return torch.stack(falls)
""",
        "sign wrong, rise instead of fall": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append(predict(changed)[word] - p[word])
    return torch.stack(falls)
""",
        "absolute change": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append((p[word] - predict(changed)[word]).abs())
    return torch.stack(falls)
""",
        "a rise counts as 0": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append((p[word] - predict(changed)[word]).clamp(min=0))
    return torch.stack(falls)
""",
        "relative fall": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append((p[word] - predict(changed)[word]) / p[word])
    return torch.stack(falls)
""",
        "difference of the logarithms": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append(p[word].log() - predict(changed)[word].log())
    return torch.stack(falls)
""",
        "what is left instead of the fall": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append(predict(changed)[word])
    return torch.stack(falls)
""",
        "fall of the highest probability, whatever the word": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append(p.max() - predict(changed).max())
    return torch.stack(falls)
""",
        "the word that is best after the change": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        q = predict(changed)
        w = q.argmax()
        falls.append(p[w] - q[w])
    return torch.stack(falls)
""",
        "largest change of any word": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append((p - predict(changed)).abs().max())
    return torch.stack(falls)
""",
        "whether the best word changes": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append(predict(changed).argmax() != word)
    return torch.stack(falls)
""",
        "leaves the token out instead of replacing it": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        shorter = torch.cat([src_ids[:i], src_ids[i + 1:]])
        falls.append(p[word] - predict(shorter)[word])
    return torch.stack(falls)
""",
        "replaces all the others, keeps only that one": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = torch.full_like(src_ids, unk_id)
        changed[i] = src_ids[i]
        falls.append(p[word] - predict(changed)[word])
    return torch.stack(falls)
""",
        "replaces every token with the same id": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = torch.where(src_ids == src_ids[i], unk_id, src_ids)
        falls.append(p[word] - predict(changed)[word])
    return torch.stack(falls)
""",
        "ignores unk_id, replaces by 0": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = 0
        falls.append(p[word] - predict(changed)[word])
    return torch.stack(falls)
""",
        "ignores unk_id, replaces by 3": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = 3
        falls.append(p[word] - predict(changed)[word])
    return torch.stack(falls)
""",
        "shares that sum to 1": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append(p[word] - predict(changed)[word])
    f = torch.stack(falls)
    return f / f.sum()
""",
        "softmax of the falls": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append(p[word] - predict(changed)[word])
    return torch.stack(falls).softmax(0)
""",
        "treats the probabilities as logits": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append(p.softmax(0)[word] - predict(changed).softmax(0)[word])
    return torch.stack(falls)
""",
        "leaves out the last position": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append(p[word] - predict(changed)[word])
    return torch.stack(falls[:-1])
""",
        "leaves out the first position, as if it were <bos>": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(1, len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append(p[word] - predict(changed)[word])
    return torch.stack(falls)
""",
        "falls of all words, (m, v)": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append(p - predict(changed))
    return torch.stack(falls)
""",
        "returns the word too": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append(p[word] - predict(changed)[word])
    return torch.stack(falls), word
""",
        "a list of numbers instead of a tensor": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append((p[word] - predict(changed)[word]).item())
    return falls
""",
        "only the position that matters most": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append(p[word] - predict(changed)[word])
    return torch.stack(falls).argmax()
""",
        "watches the least probable word": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmin()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append(p[word] - predict(changed)[word])
    return torch.stack(falls)
""",
        "reference is the sentence of unk only": """
def what_matters(predict, src_ids, unk_id):
    p = predict(torch.full_like(src_ids, unk_id))
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append(p[word] - predict(changed)[word])
    return torch.stack(falls)
""",
        "replaces the position and all after it": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i:] = unk_id
        falls.append(p[word] - predict(changed)[word])
    return torch.stack(falls)
""",
        "watches the word whose id is unk_id": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    falls = []
    for i in range(len(src_ids)):
        changed = src_ids.clone()
        changed[i] = unk_id
        falls.append(p[unk_id] - predict(changed)[unk_id])
    return torch.stack(falls)
""",
    },
}

"""Right answers in several styles, and wrong ones that people write, for the exercises on alignment."""

RIGHT = {
    "alignment.one-step": {
        "loops": """
def one_step(h, H, W_c, b_c):
    e = [math.exp(sum(float(a) * float(b) for a, b in zip(h, row))) for row in H]
    weights = torch.tensor([x / sum(e) for x in e])
    context = torch.zeros(len(h))
    for w, row in zip(weights, H):
        context += w * row
    return torch.tanh(torch.cat((h, context)) @ W_c + b_c), weights
""",
        "einsum, W_c in two halves": """
def one_step(h, H, W_c, b_c):
    a = F.softmax(torch.einsum("d,md->m", h, H), dim=0)
    c = torch.einsum("m,md->d", a, H)
    d = h.shape[0]
    return [(h @ W_c[:d] + c @ W_c[d:] + b_c).tanh(), a]
""",
        "bmm and addmm": """
def one_step(h, H, W_c, b_c):
    scores = torch.einsum("md,d->m", H, h)
    shifted = torch.exp(scores - scores.max())
    a = shifted / shifted.sum()
    joined = torch.stack([h, (a[:, None] * H).sum(dim=0)]).flatten()
    return torch.tanh(torch.addmv(b_c, W_c.T, joined)), a
""",
        "F.linear": """
def one_step(h, H, W_c, b_c):
    alpha = torch.softmax(torch.matmul(H, h), 0)
    c = torch.matmul(H.transpose(0, 1), alpha)
    return F.linear(torch.hstack((h, c)), W_c.t(), b_c).tanh(), alpha
""",
    },
    "alignment.true-links": {
        "loops": """
def true_links(tgt_fields, src_fields):
    links = torch.zeros(len(tgt_fields), len(src_fields), dtype=torch.bool)
    for i, a in enumerate(tgt_fields):
        for j, b in enumerate(src_fields):
            if a is not None and a == b:
                links[i, j] = True
    return links
""",
        "numbers for names": """
def true_links(tgt_fields, src_fields):
    number = {"year": 1, "month": 2, "day": 3, "weekday": 4}
    t = torch.tensor([number.get(f, -1) for f in tgt_fields])
    s = torch.tensor([number.get(f, -2) for f in src_fields])
    return t.unsqueeze(1) == s.unsqueeze(0)
""",
        "places by field": """
def true_links(tgt_fields, src_fields):
    links = torch.full((len(tgt_fields), len(src_fields)), False)
    places = {}
    for j, field in enumerate(src_fields):
        places.setdefault(field, []).append(j)
    places.pop(None, None)
    for i, field in enumerate(tgt_fields):
        links[i, places.get(field, [])] = True
    return links
""",
        "numpy": """
def true_links(tgt_fields, src_fields):
    import numpy as np
    t, s = np.array(tgt_fields, dtype=object), np.array(src_fields, dtype=object)
    known = np.array([f is not None for f in tgt_fields])
    return torch.from_numpy((t[:, None] == s[None, :]).astype(bool) & known[:, None])
""",
    },
    "alignment.two-witnesses": {
        "loops": """
def agreed_links(there, back):
    n, m = there.shape
    links = torch.zeros(n, m, dtype=torch.bool)
    for i in range(n):
        j = int(there[i].argmax())
        if int(back[j].argmax()) == i:
            links[i, j] = True
    return links
""",
        "largest of row and column": """
def agreed_links(there, back):
    back = back.transpose(0, 1)
    return (there == there.max(dim=1, keepdim=True).values) & (back == back.max(dim=0, keepdim=True).values)
""",
        "places that point at each other": """
def agreed_links(there, back):
    n, m = there.shape
    to_source, to_target = there.argmax(dim=1), back.argmax(dim=1)
    return (to_source[:, None] == torch.arange(m)) & (to_target[None, :] == torch.arange(n)[:, None])
""",
        "sets of pairs": """
def agreed_links(there, back):
    ours = {(i, row.index(max(row))) for i, row in enumerate(there.tolist())}
    theirs = {(row.index(max(row)), j) for j, row in enumerate(back.tolist())}
    links = torch.zeros(there.shape, dtype=torch.bool)
    for i, j in ours & theirs:
        links[i, j] = True
    return links
""",
    },
    "alignment.hops": {
        "spelt out": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        e = torch.exp(M_in @ u)
        p = e / e.sum()
        u = u + (p[:, None] * M_out).sum(0)
    return u
""",
        "recursion": """
def hops(u, M_in, M_out, n_hops):
    if n_hops == 0:
        return u
    o = torch.einsum("m,md->d", F.softmax(torch.einsum("d,md->m", u, M_in), dim=-1), M_out)
    return hops(u + o, M_in, M_out, n_hops - 1)
""",
        "rows": """
def hops(u, M_in, M_out, n_hops):
    states = [u]
    while len(states) <= n_hops:
        p = F.softmax(states[-1].unsqueeze(0) @ M_in.T, dim=-1)
        states.append(states[-1] + (p @ M_out).squeeze(0))
    return states[-1]
""",
        "a copy that is added to": """
def hops(u, M_in, M_out, n_hops):
    now = u.clone()
    for hop in range(n_hops):
        scores = (M_in * now).sum(dim=1)
        weights = torch.exp(scores - torch.logsumexp(scores, 0))
        for w, row in zip(weights, M_out):
            now += w * row
    return now
""",
    },
    "alignment.what-matters": {
        "all at once": """
def what_matters(predict, src_ids, unk_id):
    m = len(src_ids)
    blinded = src_ids.repeat(m, 1)
    blinded[torch.arange(m), torch.arange(m)] = unk_id
    full = predict(src_ids)
    word = int(full.argmax())
    return full[word] - torch.stack([predict(row)[word] for row in blinded])
""",
        "a list": """
def what_matters(predict, src_ids, unk_id):
    before = predict(src_ids).tolist()
    word = before.index(max(before))
    falls = []
    for j in range(len(src_ids)):
        ids = torch.cat([src_ids[:j], torch.tensor([unk_id]), src_ids[j + 1 :]])
        falls.append(before[word] - predict(ids)[word].item())
    return falls
""",
        "put back": """
def what_matters(predict, src_ids, unk_id):
    full = predict(src_ids)
    word = torch.argmax(full).item()
    falls = torch.zeros(len(src_ids))
    for j in range(len(src_ids)):
        kept = src_ids[j].item()
        src_ids[j] = unk_id
        falls[j] = full[word] - predict(src_ids)[word]
        src_ids[j] = kept
    return falls
""",
        "where": """
def what_matters(predict, src_ids, unk_id):
    places = torch.arange(src_ids.numel())
    best, word = predict(src_ids).max(dim=0)
    return best - torch.stack([predict(torch.where(places == j, unk_id, src_ids)) for j in places])[:, word]
""",
    },
}

WRONG = {
    "alignment.one-step": {
        "no tanh": """
def one_step(h, H, W_c, b_c):
    weights = (H @ h).softmax(dim=-1)
    return torch.cat([h, weights @ H]) @ W_c + b_c, weights
""",
        "changes its input": """
def one_step(h, H, W_c, b_c):
    weights = (H @ h).softmax(dim=-1)
    context = H.mul_(weights[:, None]).sum(dim=0)
    return torch.tanh(torch.cat([h, context]) @ W_c + b_c), weights
""",
        "context first": """
def one_step(h, H, W_c, b_c):
    weights = torch.softmax(H @ h, dim=0)
    c = weights @ H
    return torch.tanh(torch.cat([c, h]) @ W_c + b_c), weights
""",
        "scaled": """
def one_step(h, H, W_c, b_c):
    weights = torch.softmax(H @ h / math.sqrt(len(h)), dim=0)
    c = weights @ H
    return torch.tanh(torch.cat([h, c]) @ W_c + b_c), weights
""",
    },
    "alignment.true-links": {
        "last token only": """
def true_links(tgt_fields, src_fields):
    place = {field: j for j, field in enumerate(src_fields)}
    links = torch.zeros(len(tgt_fields), len(src_fields), dtype=torch.bool)
    for i, field in enumerate(tgt_fields):
        if field is not None and field in place:
            links[i, place[field]] = True
    return links
""",
        "changes its input": """
def true_links(tgt_fields, src_fields):
    for i, field in enumerate(tgt_fields):
        if field is None:
            tgt_fields[i] = "sign"
    return torch.tensor([[t == s for s in src_fields] for t in tgt_fields])
""",
        "None is no field": """
def true_links(tgt_fields, src_fields):
    return torch.tensor([[t == s for s in src_fields] for t in tgt_fields])
""",
        "first token only": """
def true_links(tgt_fields, src_fields):
    links = torch.zeros(len(tgt_fields), len(src_fields), dtype=torch.bool)
    for i, field in enumerate(tgt_fields):
        if field is not None and field in src_fields:
            links[i, src_fields.index(field)] = True
    return links
""",
    },
    "alignment.two-witnesses": {
        "not turned": """
def agreed_links(there, back):
    a = F.one_hot(there.argmax(dim=-1), there.shape[1]).bool()
    b = F.one_hot(back.argmax(dim=-1), back.shape[1]).bool()
    return a & b
""",
        "changes its input": """
def agreed_links(there, back):
    back.t_()
    a = there == there.amax(dim=-1, keepdim=True)
    return a & (back == back.amax(dim=0, keepdim=True))
""",
        "one table of both": """
def agreed_links(there, back):
    both = there * back.T
    links = torch.zeros_like(both, dtype=torch.bool)
    links[torch.arange(len(both)), both.argmax(dim=1)] = True
    return links
""",
        "axis after the turn": """
def agreed_links(there, back):
    n, m = there.shape
    first = F.one_hot(there.argmax(dim=1), m).bool()
    second = F.one_hot(back.argmax(dim=0), m).bool()
    return first & second
""",
    },
    "alignment.hops": {
        "at least one hop": """
def hops(u, M_in, M_out, n_hops):
    while True:
        u = u + (M_in @ u).softmax(dim=-1) @ M_out
        n_hops -= 1
        if n_hops <= 0:
            return u
""",
        "changes its input": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        u += (M_in @ u).softmax(dim=-1) @ M_out
    return u
""",
        "question forgotten": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        p = torch.softmax(M_in @ u, dim=0)
        u = p @ M_out
    return u
""",
        "what was found is forgotten": """
def hops(u, M_in, M_out, n_hops):
    asked = u
    for _ in range(n_hops):
        p = torch.softmax(M_in @ asked, dim=0)
        asked = u + p @ M_out
    return asked
""",
    },
    "alignment.what-matters": {
        "rise, not fall": """
def what_matters(predict, src_ids, unk_id):
    before = predict(src_ids)
    word, rises = before.argmax(), []
    for j in range(len(src_ids)):
        ids = src_ids.clone()
        ids[j] = unk_id
        rises.append(predict(ids)[word] - before[word])
    return torch.stack(rises)
""",
        "changes its input": """
def what_matters(predict, src_ids, unk_id):
    full, before = predict(src_ids), src_ids.clone()
    word, falls = full.argmax(), []
    for j in range(len(src_ids)):
        src_ids.copy_(before)
        src_ids[j] = unk_id
        falls.append(full[word] - predict(src_ids)[word])
    return torch.stack(falls)
""",
        "not put back": """
def what_matters(predict, src_ids, unk_id):
    p = predict(src_ids)
    word = p.argmax()
    ids = src_ids.clone()
    falls = []
    for j in range(len(ids)):
        ids[j] = unk_id
        falls.append(p[word] - predict(ids)[word])
    return torch.stack(falls)
""",
        "another word": """
def what_matters(predict, src_ids, unk_id):
    best = predict(src_ids).max()
    falls = []
    for j in range(len(src_ids)):
        ids = src_ids.clone()
        ids[j] = unk_id
        falls.append(best - predict(ids).max())
    return torch.stack(falls)
""",
    },
}

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
    },
    "alignment.error-rate": {
        "sets": """
def error_rate(predicted, sure, possible):
    A, S, P = (set(map(tuple, x.nonzero().tolist())) for x in (predicted, sure, sure | possible))
    return 1 - (len(A & S) + len(A & P)) / (len(A) + len(S))
""",
        "products": """
def error_rate(predicted, sure, possible):
    a, s, p = predicted.float(), sure.float(), (sure.int() + possible.int()).clamp(max=1).float()
    return 1.0 - ((a * s).sum() + (a * p).sum()) / (a.sum() + s.sum())
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
    },
}

WRONG = {
    "alignment.one-step": {
        "context first": """
def one_step(h, H, W_c, b_c):
    weights = (H @ h).softmax(dim=-1)
    return torch.tanh(torch.cat([weights @ H, h]) @ W_c + b_c), weights
""",
        "scaled": """
def one_step(h, H, W_c, b_c):
    weights = (H @ h / math.sqrt(len(h))).softmax(dim=-1)
    return torch.tanh(torch.cat([h, weights @ H]) @ W_c + b_c), weights
""",
        "no tanh": """
def one_step(h, H, W_c, b_c):
    weights = (H @ h).softmax(dim=-1)
    return torch.cat([h, weights @ H]) @ W_c + b_c, weights
""",
        "no softmax": """
def one_step(h, H, W_c, b_c):
    scores = H @ h
    return torch.tanh(torch.cat([h, scores @ H]) @ W_c + b_c), scores
""",
        "shared by their sum": """
def one_step(h, H, W_c, b_c):
    scores = H @ h
    weights = scores / scores.sum()
    return torch.tanh(torch.cat([h, weights @ H]) @ W_c + b_c), weights
""",
    },
    "alignment.true-links": {
        "None is no field": """
def true_links(tgt_fields, src_fields):
    return torch.tensor([[a == b for b in src_fields] for a in tgt_fields])
""",
        "transposed": """
def true_links(tgt_fields, src_fields):
    return torch.tensor([[a == b and a is not None for a in tgt_fields] for b in src_fields])
""",
        "first token only": """
def true_links(tgt_fields, src_fields):
    links = torch.zeros(len(tgt_fields), len(src_fields), dtype=torch.bool)
    for i, field in enumerate(tgt_fields):
        if field is not None:
            links[i, src_fields.index(field)] = True
    return links
""",
        "by place": """
def true_links(tgt_fields, src_fields):
    return torch.eye(len(tgt_fields), len(src_fields), dtype=torch.bool)
""",
    },
    "alignment.error-rate": {
        "possible links ignored": """
def error_rate(predicted, sure, possible):
    return 1 - 2 * (predicted & sure).sum() / (predicted.sum() + sure.sum())
""",
        "sure links are not possible": """
def error_rate(predicted, sure, possible):
    return 1 - ((predicted & sure).sum() + (predicted & possible).sum()) / (predicted.sum() + sure.sum())
""",
        "possible links must be found": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    return 1 - ((predicted & sure).sum() + (predicted & P).sum()) / (predicted.sum() + P.sum())
""",
        "not an error": """
def error_rate(predicted, sure, possible):
    P = sure | possible
    return ((predicted & sure).sum() + (predicted & P).sum()) / (predicted.sum() + sure.sum())
""",
    },
    "alignment.two-witnesses": {
        "not turned": """
def agreed_links(there, back):
    a = F.one_hot(there.argmax(dim=-1), there.shape[1]).bool()
    b = F.one_hot(back.argmax(dim=-1), back.shape[1]).bool()
    return a & b
""",
        "either": """
def agreed_links(there, back):
    a = F.one_hot(there.argmax(dim=-1), there.shape[1]).bool()
    b = F.one_hot(back.argmax(dim=-1), back.shape[1]).bool()
    return a | b.T
""",
        "product of the weights": """
def agreed_links(there, back):
    both = there * back.T
    return F.one_hot(both.argmax(dim=-1), both.shape[1]).bool()
""",
        "the other axis": """
def agreed_links(there, back):
    a = there == there.max(dim=0).values
    b = back == back.max(dim=0).values
    return a & b.T
""",
    },
    "alignment.hops": {
        "asks the same again": """
def hops(u, M_in, M_out, n_hops):
    weights = (M_in @ u).softmax(dim=-1)
    for _ in range(n_hops):
        u = u + weights @ M_out
    return u
""",
        "question forgotten": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        u = (M_in @ u).softmax(dim=-1) @ M_out
    return u
""",
        "reads what it was found by": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        u = u + (M_in @ u).softmax(dim=-1) @ M_in
    return u
""",
        "scaled": """
def hops(u, M_in, M_out, n_hops):
    for _ in range(n_hops):
        u = u + (M_in @ u / math.sqrt(len(u))).softmax(dim=-1) @ M_out
    return u
""",
    },
    "alignment.what-matters": {
        "not put back": """
def what_matters(predict, src_ids, unk_id):
    before = predict(src_ids)
    word, falls = before.argmax(), []
    for j in range(len(src_ids)):
        src_ids[j] = unk_id
        falls.append(before[word] - predict(src_ids)[word])
    return torch.stack(falls)
""",
        "another word": """
def what_matters(predict, src_ids, unk_id):
    before, falls = predict(src_ids).max(), []
    for j in range(len(src_ids)):
        ids = src_ids.clone()
        ids[j] = unk_id
        falls.append(before - predict(ids).max())
    return torch.stack(falls)
""",
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
        "what is left": """
def what_matters(predict, src_ids, unk_id):
    word, left = predict(src_ids).argmax(), []
    for j in range(len(src_ids)):
        ids = src_ids.clone()
        ids[j] = unk_id
        left.append(predict(ids)[word])
    return torch.stack(left)
""",
    },
}

"""Right and wrong answers to the exercises of chapter `descendants`."""

RIGHT = {
    "descendants.patches": {
        "four axes": """
def cut(images, size):
    batch, height, width = images.shape
    X = images.reshape(batch, height // size, size, width // size, size)
    return X.permute(0, 1, 3, 2, 4).reshape(batch, -1, size * size)
""",
        "loops": """
def cut(images, size):
    batch, height, width = images.shape
    words = []
    for r in range(0, height, size):
        for c in range(0, width, size):
            words.append(images[:, r : r + size, c : c + size].reshape(batch, -1))
    return torch.stack(words, dim=1)
""",
        "split twice": """
def cut(images, size):
    return torch.stack([square.flatten(1) for row in images.split(size, 1) for square in row.split(size, 2)], 1)
""",
        "unflatten": """
def cut(images, size):
    X = images.unflatten(2, (-1, size)).unflatten(1, (-1, size))
    return X.transpose(2, 3).flatten(3).flatten(1, 2)
""",
    },
    "descendants.unspan": {
        "a dictionary": """
def restore(src, tgt):
    spans, sign = {}, None
    for token in tgt:
        if token.startswith("<"):
            sign = token
            spans[sign] = []
        else:
            spans[sign].append(token)
    words = []
    for token in src:
        words.extend(spans[token] if token in spans else [token])
    return words
""",
        "index": """
def restore(src, tgt):
    words = []
    for token in src:
        if token[0] != "<":
            words.append(token)
            continue
        at = tgt.index(token) + 1
        while tgt[at][0] != "<":
            words.append(tgt[at])
            at += 1
    return words
""",
        "a text in between": """
def restore(src, tgt):
    spans = dict(part.partition(" ")[::2] for part in " ".join(tgt).replace(" <", "\\n<").split("\\n"))
    return [word for token in src for word in (spans[token].split() if token[0] == "<" else [token])]
""",
        "slices": """
def restore(src, tgt):
    signs = [i for i, token in enumerate(tgt) if token.startswith("<")]
    spans = {tgt[a]: tgt[a + 1 : b] for a, b in zip(signs, signs[1:])}
    return sum((list(spans.get(token, [token])) for token in src), [])
""",
    },
    "descendants.masked-loss": {
        "chosen rows": """
def masked_loss(logits, ids, asked):
    return F.cross_entropy(logits[asked], ids[asked])
""",
        "log-softmax": """
def masked_loss(logits, ids, asked):
    log_p = logits.log_softmax(-1).gather(-1, ids[..., None])[..., 0]
    return -(log_p * asked).sum() / asked.sum()
""",
        "ignored": """
def masked_loss(logits, ids, asked):
    return F.cross_entropy(logits.transpose(1, 2), ids.masked_fill(~asked, -100))
""",
        "loops": """
def masked_loss(logits, ids, asked):
    losses = []
    for b in range(len(ids)):
        for i in range(ids.shape[1]):
            if asked[b, i]:
                losses.append(-logits[b, i].log_softmax(0)[ids[b, i]])
    return torch.stack(losses).mean()
""",
    },
    "descendants.low-rank": {
        "as in the formula": """
def low_rank(X, W, A, B, alpha):
    r = A.shape[0]
    output = X @ W.T + alpha / r * X @ A.T @ B.T
    return output, W + (alpha / r) * B @ A
""",
        "F.linear, and a list": """
def low_rank(X, W, A, B, alpha):
    scale = alpha / B.size(-1)
    output = F.linear(X, W) + scale * F.linear(F.linear(X, A), B)
    return [output, torch.addmm(W, B, A, alpha=scale)]
""",
        "einsum": """
def low_rank(X, W, A, B, alpha):
    update = torch.einsum("or,ri->oi", B, A) * alpha / len(A)
    merged = W + update
    return torch.einsum("ni,oi->no", X, merged), merged
""",
        "loops": """
def low_rank(X, W, A, B, alpha):
    merged = W.clone()
    for a, b in zip(A, B.T):
        merged += torch.outer(b, a) * alpha / len(A)
    rows = [[sum(x[i] * w[i] for i in range(len(x))) for w in merged.tolist()] for x in X.tolist()]
    return torch.tensor(rows), merged
""",
        "numpy": """
import numpy as np
def low_rank(X, W, A, B, alpha):
    X, W, A, B = (np.asarray(M) for M in (X, W, A, B))
    merged = W + np.dot(B, A) * (alpha / A.shape[0])
    return X.dot(merged.transpose()), merged
""",
        "a module": """
def low_rank(X, W, A, B, alpha):
    linear = torch.nn.Linear(W.shape[1], W.shape[0], bias=False)
    with torch.no_grad():
        linear.weight.copy_(W)
        linear.weight.add_(B.matmul(A).mul(alpha).div(len(A)))
    return linear(X).detach(), linear.weight.data
""",
    },
    "descendants.induction-score": {
        "loops": """
def induction_scores(weights, ids):
    found = []
    for i in range(len(ids)):
        for j in range(i - 1, -1, -1):
            if ids[j] == ids[i]:
                found.append(weights[:, i, j + 1])
                break
    return torch.stack(found).mean(0)
""",
        "a memory": """
def induction_scores(weights, ids):
    last, rows, cols = {}, [], []
    for i, token in enumerate(ids.tolist()):
        if token in last:
            rows.append(i)
            cols.append(last[token] + 1)
        last[token] = i
    return weights[:, rows, cols].mean(dim=1)
""",
        "a matrix": """
def induction_scores(weights, ids):
    n = len(ids)
    same = (ids[:, None] == ids) & (torch.arange(n) < torch.arange(n)[:, None])
    last = (same * torch.arange(1, n + 1)).amax(1)
    rows = last.nonzero().flatten()
    return weights[:, rows, last[rows]].mean(-1)
""",
        "lists": """
def induction_scores(weights, ids):
    ids = ids.tolist()
    places = [(i, len(ids[:i]) - ids[:i][::-1].index(ids[i])) for i in range(len(ids)) if ids[i] in ids[:i]]
    return torch.tensor([sum(head[i][j] for i, j in places) / len(places) for head in weights.tolist()])
""",
    },
}

WRONG = {
    "descendants.patches": {
        "squares on their side": """
def cut(images, size):
    X = images.unflatten(2, (-1, size)).unflatten(1, (-1, size))
    return X.permute(0, 1, 3, 4, 2).flatten(3).flatten(1, 2)
""",
        "overlapping": """
def cut(images, size):
    words = []
    for r in range(images.shape[1] - size + 1):
        for c in range(images.shape[2] - size + 1):
            words.append(images[:, r : r + size, c : c + size].flatten(1))
    return torch.stack(words, 1)
""",
        "stripes": """
def cut(images, size):
    batch, height, width = images.shape
    return images.reshape(batch, -1, size * size)
""",
        "column by column": """
def cut(images, size):
    b, h, w = images.shape
    X = images.reshape(b, h // size, size, w // size, size)
    return X.permute(0, 3, 1, 2, 4).reshape(b, -1, size * size)
""",
    },
    "descendants.unspan": {
        "first word of a span unseen": """
def restore(src, tgt):
    words = []
    for token in src:
        if token[0] != "<":
            words.append(token)
            continue
        at = tgt.index(token) + 1
        while True:
            words.append(tgt[at])
            at += 1
            if at == len(tgt) or tgt[at][0] == "<":
                break
    return words
""",
        "a sign without words stays": """
def restore(src, tgt):
    spans = {}
    for word in tgt:
        if word.startswith("<"):
            sign = word
        else:
            spans.setdefault(sign, []).append(word)
    return [word for token in src for word in spans.get(token, [token])]
""",
        "signs taken for numbers": """
def restore(src, tgt):
    spans = {}
    for word in tgt:
        if word.startswith("<"):
            newest = spans[int(word[1:-1])] = []
        else:
            newest.append(word)
    words = []
    for word in src:
        words += spans[int(word[1:-1])] if word.startswith("<") else [word]
    return words
""",
        "a < anywhere": """
def restore(src, tgt):
    words = []
    for token in src:
        if '<' not in token:
            words.append(token)
            continue
        for word in tgt[tgt.index(token) + 1:]:
            if '<' in word:
                break
            words.append(word)
    return words
""",
        "words of a span once": """
def restore(src, tgt):
    spans = {}
    for token in tgt:
        if token.startswith("<"):
            newest = spans[token] = {}
        else:
            newest[token] = True
    return [word for token in src for word in spans.get(token, [token])]
""",
        "signs stay": """
def restore(src, tgt):
    words = []
    for token in src:
        words.append(token)
        if token[0] == "<":
            at = tgt.index(token) + 1
            while tgt[at][0] != "<":
                words.append(tgt[at])
                at += 1
    return words
""",
        "signs matched by their order": """
def restore(src, tgt):
    spans = []
    for word in tgt:
        if word.startswith("<"):
            spans.append([])
        else:
            spans[-1].append(word)
    out, spans = [], iter(spans)
    for word in src:
        if word.startswith("<"):
            out += next(spans)
        else:
            out.append(word)
    return out
""",
        "one word a sign": """
def restore(src, tgt):
    span = {sign: word for sign, word in zip(tgt, tgt[1:]) if sign.startswith("<")}
    return [span.get(word, word) if word.startswith("<") else word for word in src]
""",
    },
    "descendants.masked-loss": {
        "bits": """
def masked_loss(logits, ids, asked):
    p = logits.softmax(-1).gather(-1, ids[..., None])[..., 0]
    return -torch.log2(p[asked]).mean()
""",
        "every position": "def masked_loss(logits, ids, asked):\n    return F.cross_entropy(logits.flatten(0, 1), ids.flatten())\n",
        "zeros count as asked": """
def masked_loss(logits, ids, asked):
    nats = F.cross_entropy(logits.transpose(1, 2), ids, reduction="none")
    return (nats * asked).mean()
""",
        "a mean of means": """
def masked_loss(logits, ids, asked):
    nats = F.cross_entropy(logits.transpose(1, 2), ids, reduction="none")
    rows = (nats * asked).sum(dim=1) / asked.sum(dim=1).clamp(min=1)
    return rows.mean()
""",
    },
    "descendants.low-rank": {
        "changes its input": """
def low_rank(X, W, A, B, alpha):
    W += alpha / len(A) * B @ A
    return X @ W.T, W
""",
        "only the output": """
def low_rank(X, W, A, B, alpha):
    layer = lambda X: F.linear(X, W) + alpha / len(A) * F.linear(F.linear(X, A), B)
    return layer(X)
""",
        "no return": """
def low_rank(X, W, A, B, alpha):
    merged = W + alpha / len(A) * B @ A
    output = X @ merged.T
""",
        "no scale": """
def low_rank(X, W, A, B, alpha):
    merged = W.clone()
    for k in range(len(A)):
        merged += B[:, k, None] * A[k]
    return torch.einsum("ni,oi->no", X, merged), merged
""",
        "divided by the rank twice": """
def low_rank(X, W, A, B, alpha):
    update = (B.unsqueeze(-1) * A).mean(dim=1) * alpha / A.shape[0]
    return F.linear(X, W + update), W + update
""",
        "update added twice": """
def low_rank(X, W, A, B, alpha):
    W, scale = W.clone(), alpha / len(A)
    W.addmm_(B, A, alpha=scale)
    return X @ W.T + scale * (X @ A.T) @ B.T, W
""",
        "update transposed": """
def low_rank(X, W, A, B, alpha):
    update = torch.einsum("or,ri->io", B, A) * alpha / len(A)
    return F.linear(X, W + update), W + update
""",
        "the rows of B for r": """
def low_rank(X, W, A, B, alpha):
    r, merged = len(B), W.tolist()
    for o, row in enumerate((B @ A).tolist()):
        for i, change in enumerate(row):
            merged[o][i] += alpha / r * change
    merged = torch.tensor(merged)
    return X @ merged.mT, merged
""",
        "merged weight transposed": """
import numpy as np
def low_rank(X, W, A, B, alpha):
    X, W, A, B = (M.numpy() for M in (X, W, A, B))
    merged = W.T + alpha / A.shape[0] * np.matmul(A.T, B.T)
    return X @ merged, merged
""",
    },
    "descendants.induction-score": {
        "keys taken for queries": """
def induction_scores(weights, ids):
    found, last = [], {}
    for i, token in enumerate(ids.tolist()):
        if token in last:
            found.append(weights[:, last[token] + 1, i])
        last[token] = i
    return torch.stack(found).mean(0)
""",
        "all heads together": """
def induction_scores(weights, ids):
    found, last = [], {}
    for i, token in enumerate(ids.tolist()):
        if token in last:
            found.append(weights[:, i, last[token] + 1])
        last[token] = i
    return torch.stack(found).mean()
""",
        "the first time": """
def induction_scores(weights, ids):
    ids = ids.tolist()
    found = []
    for i, token in enumerate(ids):
        if token in ids[:i]:
            j = ids.index(token)
            found.append(weights[:, i, j + 1])
    return torch.stack(found).mean(dim=0)
""",
        "the same token": """
def induction_scores(weights, ids):
    last, total, count = {}, torch.zeros(weights.shape[0]), 0
    for i, token in enumerate(ids.tolist()):
        if token in last:
            total = total + weights[:, i, last[token]]
            count += 1
        last[token] = i
    return total / max(count, 1)
""",
    },
}

# other ways to make a mistake that is known already
ALSO_WRONG = {
    "descendants.unspan": {
        "signs taken for numbers": [
            """
import re
def restore(src, tgt):
    spans = {}
    for word in tgt:
        if re.fullmatch(r"<[0-9]+>", word):
            span = spans[word] = []
        else:
            span.append(word)
    return [w for word in src for w in spans.get(word, [word])]
""",
        ],
        "a < anywhere": [
            """
def restore(src, tgt):
    spans = {}
    for word in tgt:
        if "<" in word:
            span = spans[word] = []
        else:
            span += [word]
    return sum((spans[word] if "<" in word else [word] for word in src), [])
""",
        ],
    },
}

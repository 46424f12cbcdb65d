"""Right and wrong answers to the exercises of chapter `before`."""

RIGHT = {
    "before.look-up": {
        "ids of all, then the table": """
def look_up(sentences, vocabulary, table):
    ids = torch.tensor([[vocabulary.index(w) for w in s.split()] for s in sentences])
    return table[ids]
""",
        "row by row, stacked": """
def look_up(sentences, vocabulary, table):
    matrices = []
    for sentence in sentences:
        rows = []
        for word in sentence.split(" "):
            for place, known in enumerate(vocabulary):
                if known == word:
                    rows.append(table[place])
        matrices.append(torch.stack(rows))
    return torch.stack(matrices)
""",
        "one-hot product": """
def look_up(sentences, vocabulary, table):
    place = {word: i for i, word in enumerate(vocabulary)}
    ids = torch.tensor([[place[word] for word in sentence.split()] for sentence in sentences])
    return F.one_hot(ids, num_classes=len(vocabulary)).float() @ table
""",
        "an embedding made of the table": """
def look_up(sentences, vocabulary, table):
    ids = [vocabulary.index(word) for sentence in sentences for word in sentence.split()]
    rows = torch.nn.Embedding.from_pretrained(table)(torch.tensor(ids))
    return rows.reshape(len(sentences), -1, table.shape[1])
""",
        "plain lists": """
def look_up(sentences, vocabulary, table):
    rows = table.tolist()
    return [[rows[vocabulary.index(word)] for word in sentence.split()] for sentence in sentences]
""",
        "numpy": """
import numpy as np

def look_up(sentences, vocabulary, table):
    words = np.array([sentence.split() for sentence in sentences])
    ids = (words[..., None] == np.array(vocabulary)).argmax(-1)
    return table.numpy()[ids]
""",
        "a list of matrices": """
def look_up(sentences, vocabulary, table):
    return [table[[vocabulary.index(word) for word in sentence.split()]] for sentence in sentences]
""",
    },
    "before.softmax": {
        "the largest taken away": """
def probabilities(scores):
    powers = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return powers / powers.sum(dim=-1, keepdim=True)
""",
        "logarithms": """
def probabilities(scores):
    return (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()
""",
        "axes turned, no keepdim": """
def probabilities(scores):
    turned = scores.movedim(-1, 0)
    powers = (turned - turned.amax(0)).exp()
    return (powers / powers.sum(0)).movedim(0, -1)
""",
        "plain lists, into the depth": """
def probabilities(scores):
    def shares(part):
        if isinstance(part[0], list):
            return [shares(each) for each in part]
        top = max(part)
        powers = [math.exp(s - top) for s in part]
        return [power / sum(powers) for power in powers]
    return shares(scores.tolist())
""",
        "numpy in double precision": """
import numpy as np

def probabilities(scores):
    s = scores.numpy().astype(np.float64)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
""",
        "one over the sum of powers of differences": """
def probabilities(scores):
    differences = scores.unsqueeze(-2) - scores.unsqueeze(-1)  # [..., i, j] holds s_j - s_i
    return 1 / differences.exp().sum(dim=-1)
""",
        "row by row": """
def probabilities(scores):
    rows = scores.reshape(-1, scores.shape[-1])
    result = torch.zeros_like(rows)
    for k, row in enumerate(rows):
        row = row - row.max()
        result[k] = math.e**row / (math.e**row).sum()
    return result.reshape(scores.shape)
""",
        "a helper called softmax": """
def softmax(row):
    powers = torch.exp(row - torch.max(row))
    return powers / torch.sum(powers)

def probabilities(scores):
    if scores.dim() == 1:
        return softmax(scores)
    return torch.stack([probabilities(part) for part in scores])
""",
    },
    "before.surprise": {
        "log_softmax and a pick": """
def surprise(scores, targets):
    log_p = scores.log_softmax(dim=-1)
    return -log_p[torch.arange(len(targets)), targets].mean()
""",
        "logsumexp and gather": """
def surprise(scores, targets):
    right = scores.gather(1, targets.unsqueeze(1)).squeeze(1)
    return (torch.logsumexp(scores, dim=1) - right).mean()
""",
        "one-hot": """
def surprise(scores, targets):
    y = F.one_hot(targets, scores.shape[1])
    return -(y * F.log_softmax(scores, dim=1)).sum() / len(scores)
""",
        "loop over plain lists": """
def surprise(scores, targets):
    total = 0.0
    for row, target in zip(scores.tolist(), targets.tolist()):
        top = max(row)
        total += top + math.log(sum(math.exp(s - top) for s in row)) - row[target]
    return total / len(targets)
""",
        "numpy": """
import numpy as np

def surprise(scores, targets):
    s = np.asarray(scores, dtype=np.float64)
    s = s - s.max(axis=1, keepdims=True)
    log_p = s - np.log(np.exp(s).sum(axis=1, keepdims=True))
    return float(np.mean([-log_p[k, t] for k, t in enumerate(targets.numpy())]))
""",
        "loop over rows": """
def surprise(scores, targets):
    losses = []
    for s, c in zip(scores, targets):
        differences = s - s[c]  # to the score of what came
        losses.append(torch.logsumexp(differences, 0))
    return sum(losses) / len(losses)
""",
        "nll_loss": """
def surprise(scores, targets):
    return F.nll_loss(F.log_softmax(scores.double(), dim=-1), targets).item()
""",
    },
    "before.one-step": {
        "pair by pair": """
def one_step(table, now, following, eta):
    new = table.clone()
    for i, j in zip(now, following):
        slope = torch.softmax(table[i], dim=0)
        slope[j] = slope[j] - 1
        new[i] -= eta * slope / len(now)
    return new
""",
        "one-hot products": """
def one_step(table, now, following, eta):
    v = len(table)
    x, y = F.one_hot(now, v).float(), F.one_hot(following, v).float()
    p = (x @ table).softmax(dim=-1)
    return table - eta * x.T @ (p - y) / len(now)
""",
        "index_add": """
def one_step(table, now, following, eta):
    n = now.numel()
    slopes = table[now].softmax(-1)
    slopes[torch.arange(n), following] -= 1
    return table.index_add(0, now, slopes, alpha=-eta / n)
""",
        "by counts": """
def one_step(table, now, following, eta):
    counts = torch.zeros_like(table)
    for i, j in zip(now.tolist(), following.tolist()):
        counts[i, j] += 1
    slope = counts.sum(dim=1, keepdim=True) * table.softmax(dim=1) - counts
    return table - eta * slope / counts.sum()
""",
        "plain lists": """
def one_step(table, now, following, eta):
    old = table.tolist()
    new = [list(row) for row in old]
    for i, j in zip(now.tolist(), following.tolist()):
        powers = [math.exp(s) for s in old[i]]
        for k, power in enumerate(powers):
            new[i][k] -= eta / len(now) * (power / sum(powers) - (k == j))
    return new
""",
        "numpy": """
import numpy as np

def one_step(table, now, following, eta):
    T, i, j = table.numpy().astype(np.float64), now.numpy(), following.numpy()
    p = np.exp(T[i])
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(i)), j] -= 1
    slope = np.zeros_like(T)
    np.add.at(slope, i, p)
    return T - eta * slope / len(i)
""",
        "row by row of the table": """
def one_step(table, now, following, eta):
    rows = []
    for i in range(len(table)):
        came = following[now == i]
        p = table[i].softmax(dim=0)
        slope = sum((p - F.one_hot(c, len(p)) for c in came), torch.zeros(len(p)))
        rows.append(table[i] - eta * slope / len(now))
    return torch.stack(rows)
""",
    },
}

WRONG = {
    "before.look-up": {
        "rows in lists": """
def look_up(sentences, vocabulary, table):
    return [[table[vocabulary.index(word)] for word in sentence.split()] for sentence in sentences]
""",
        "rows of another table": """
def look_up(sentences, vocabulary, table):
    ids = torch.tensor([[vocabulary.index(word) for word in sentence.split()] for sentence in sentences])
    return torch.nn.Embedding(*table.shape)(ids)
""",
        "changes its input": """
def look_up(sentences, vocabulary, table):
    for k in range(len(sentences)):
        sentences[k] = [vocabulary.index(word) for word in sentences[k].split()]
    return table[torch.tensor(sentences)]
""",
        "alphabetical ids": """
def look_up(sentences, vocabulary, table):
    words = sorted(vocabulary)
    return torch.stack([torch.stack([table[words.index(w)] for w in s.split()])
                        for s in sentences])
""",
        "words before sentences": """
def look_up(sentences, vocabulary, table):
    split = [s.split() for s in sentences]
    columns = []
    for words in zip(*split):
        columns.append(table[[vocabulary.index(w) for w in words]])
    return torch.stack(columns)
""",
    },
    "before.softmax": {
        "changes its input": """
def probabilities(scores):
    scores -= scores.max(dim=-1, keepdim=True).values
    powers = torch.exp(scores)
    return powers / powers.sum(dim=-1, keepdim=True)
""",
        "forbidden": """
def probabilities(scores):
    return torch.softmax(scores, dim=-1)
""",
        "one maximum for all rows": """
def probabilities(scores):
    e = torch.exp(scores - scores.max())
    return e / e.sum(dim=-1, keepdim=True)
""",
        "axis counted from the front": """
def probabilities(scores):
    top = scores.max(dim=1, keepdim=True).values
    e = torch.exp(scores - top)
    return e / e.sum(dim=1, keepdim=True)
""",
    },
    "before.surprise": {
        "changes its input": """
def surprise(scores, targets):
    scores -= scores.amax(dim=-1, keepdim=True)
    return (scores.exp().sum(dim=-1).log() - scores[torch.arange(len(targets)), targets]).mean()
""",
        "forbidden": """
def surprise(scores, targets):
    return F.cross_entropy(scores, targets)
""",
        "a floor under p": """
def surprise(scores, targets):
    p = torch.softmax(scores, dim=1)
    p = p[torch.arange(len(targets)), targets]
    return -torch.log(p + 1e-9).mean()
""",
        "halvings": """
def surprise(scores, targets):
    log_p = torch.log_softmax(scores, dim=1)[torch.arange(len(targets)), targets]
    return -(log_p / math.log(2)).mean()
""",
    },
    "before.one-step": {
        "changes its input": """
def one_step(table, now, following, eta):
    slopes = table[now].softmax(dim=-1) - F.one_hot(following, len(table))
    for i, slope in zip(now, slopes):
        table[i] -= eta * slope / len(now)
    return table
""",
        "forbidden": """
def one_step(table, now, following, eta):
    scores = table.clone().requires_grad_()
    F.cross_entropy(scores[now], following).backward()
    return (scores - eta * scores.grad).detach()
""",
        "moves as it goes": """
def one_step(table, now, following, eta):
    new = table
    n = len(now)
    for a, b in zip(now, following):
        slope = torch.softmax(table[a], dim=0)
        slope[b] -= 1
        new[a] -= eta * slope / n
    return new
""",
        "a token counts once": """
def one_step(table, now, following, eta):
    slopes = torch.softmax(table[now], dim=1) - F.one_hot(following, table.shape[1])
    new = table.clone()
    new[now] -= eta * slopes / len(now)
    return new
""",
    },
}

ALSO_WRONG = {
    "before.look-up": {
        "ids in lists": [
            """
def look_up(sentences, vocabulary, table):
    ids = [[vocabulary.index(word) for word in sentence.split()] for sentence in sentences]
    return table[tuple(ids)]
"""
        ],
        "letters for words": [
            """
def look_up(sentences, vocabulary, table):
    return table[torch.tensor([[vocabulary.index(word) for word in sentence] for sentence in sentences])]
""",
            """
def look_up(sentences, vocabulary, table):
    place = dict(zip(vocabulary, range(len(vocabulary))))
    return table[torch.tensor([[place[word] for word in sentence] for sentence in sentences])]
""",
        ],
        "all sentences at once": [
            """
def look_up(sentences, vocabulary, table):
    return table[torch.tensor([vocabulary.index(word) for word in sentences.split()])]
"""
        ],
        "rows in lists": [
            """
def look_up(sentences, vocabulary, table):
    return torch.tensor([[table[vocabulary.index(word)] for word in sentence.split()] for sentence in sentences])
"""
        ],
        "rows run together": [
            """
def look_up(sentences, vocabulary, table):
    return torch.stack([torch.cat([table[vocabulary.index(w)] for w in s.split()]) for s in sentences])
"""
        ],
        "one word a sentence": [
            """
def look_up(sentences, vocabulary, table):
    rows = []
    for sentence in sentences:
        for word in sentence.split():
            row = table[vocabulary.index(word)]
        rows.append(row)
    return torch.stack(rows)
"""
        ],
        "alphabetical ids": [
            """
def look_up(sentences, vocabulary, table):
    words = sorted(set(" ".join(sentences).split()))
    return table[torch.tensor([[words.index(word) for word in sentence.split()] for sentence in sentences])]
"""
        ],
        "rows of another table": [
            """
def look_up(sentences, vocabulary, table):
    table = torch.randn(table.shape)
    return table[torch.tensor([[vocabulary.index(word) for word in sentence.split()] for sentence in sentences])]
"""
        ],
    },
    "before.softmax": {
        "one loop over the first axis": [
            """
def probabilities(scores):
    rows = []
    for row in scores:
        powers = torch.exp(row - row.max())
        rows.append(powers / powers.sum())
    return torch.stack(rows)
"""
        ],
        "a small number added": [
            """
def probabilities(scores):
    powers = torch.exp(scores)
    return powers / (powers.sum(dim=-1, keepdim=True) + 1e-8)
""",
            """
def probabilities(scores):
    powers = torch.exp(scores) + 1e-10
    return powers / powers.sum(dim=-1, keepdim=True)
""",
        ],
        "too large for e": [
            """
def probabilities(scores):
    def shares(part):
        if isinstance(part[0], list):
            return [shares(each) for each in part]
        powers = [math.exp(s) for s in part]
        return [power / sum(powers) for power in powers]
    return shares(scores.tolist())
""",
            """
def probabilities(scores):
    powers = scores.double().exp()
    return powers / powers.sum(dim=-1, keepdim=True)
""",
            """
import numpy as np

def probabilities(scores):
    with np.errstate(all="ignore"):
        powers = np.exp(scores.numpy())
        return powers / powers.sum(axis=-1, keepdims=True)
""",
        ],
        "keepdim forgotten": [
            """
def probabilities(scores):
    powers = torch.exp(scores - scores.max(dim=-1).values)
    return powers / powers.sum(dim=-1, keepdim=True)
"""
        ],
        "axis counted from the front": [
            """
def probabilities(scores):
    powers = torch.exp(scores - scores.amax(dim=1, keepdim=True))
    return powers / powers.sum(dim=1, keepdim=True)
""",
            """
def probabilities(scores):
    axis = 0 if scores.dim() == 1 else 1
    powers = torch.exp(scores - scores.amax(dim=axis, keepdim=True))
    return powers / powers.sum(dim=axis, keepdim=True)
""",
        ],
        "forbidden": [
            """
def probabilities(scores):
    return F.log_softmax(scores, dim=-1).exp()
""",
            """
def probabilities(scores):
    return torch.nn.Softmax(dim=-1)(scores)
""",
        ],
    },
    "before.surprise": {
        "log of a rounded probability": [
            """
def surprise(scores, targets):
    total = 0
    for row, target in zip(scores, targets):
        total += -math.log(row.softmax(dim=0)[target])
    return total / len(targets)
"""
        ],
        "too large for e": [
            """
def surprise(scores, targets):
    total = 0
    for row, target in zip(scores.tolist(), targets.tolist()):
        total += math.log(sum(math.exp(s) for s in row)) - row[target]
    return total / len(targets)
""",
            """
def surprise(scores, targets):
    y = F.one_hot(targets, scores.shape[-1])
    return -(y * scores.softmax(dim=-1).log()).sum() / len(scores)
""",
        ],
        "a floor under p": [
            """
def surprise(scores, targets):
    p = scores.softmax(dim=-1)[torch.arange(len(targets)), targets]
    return -p.clamp(min=1e-12).log().mean()
"""
        ],
        "the last guess over n": [
            """
def surprise(scores, targets):
    for row, target in zip(scores, targets):
        total = -row.log_softmax(dim=0)[target]
    return total / len(targets)
"""
        ],
        "an axis too many": [
            """
def surprise(scores, targets):
    log_p = scores.log_softmax(dim=-1)
    return [-log_p[torch.arange(len(targets)), targets].mean()]
"""
        ],
    },
    "before.one-step": {
        "a pair counts once": [
            """
def one_step(table, now, following, eta):
    new = table.clone()
    for i, j in set(zip(now.tolist(), following.tolist())):
        new[i] -= eta * (table[i].softmax(dim=0) - F.one_hot(torch.tensor(j), len(table))) / len(now)
    return new
"""
        ],
        "1 taken off at now": [
            """
def one_step(table, now, following, eta):
    new = table.clone()
    for i in now:
        slope = table[i].softmax(dim=0)
        slope[i] -= 1
        new[i] -= eta * slope / len(now)
    return new
"""
        ],
        "moves as it goes": [
            """
def one_step(table, now, following, eta):
    for i, j in zip(now, following):
        slope = table[i].softmax(dim=0)
        slope[j] -= 1
        table[i] -= eta * slope / len(now)
    return table
""",
            """
def one_step(table, now, following, eta):
    new = table
    for i, j in zip(now, following):
        slope = table[i].softmax(dim=0)
        slope[j] -= 1
        new[i] = new[i] - eta * slope
    return new
""",
        ],
        "a token counts once": [
            """
def one_step(table, now, following, eta):
    new = table.clone()
    for i, j in zip(now, following):
        y = F.one_hot(j, len(table))
        new[i] = table[i] - eta * (table[i].softmax(dim=0) - y) / len(now)
    return new
"""
        ],
        "the last pair only": [
            """
def one_step(table, now, following, eta):
    for i, j in zip(now, following):
        new = table.clone()
        new[i] -= eta * (table[i].softmax(dim=0) - F.one_hot(j, len(table))) / len(now)
    return new
"""
        ],
        "the first pair only": [
            """
def one_step(table, now, following, eta):
    new = table.clone()
    for i, j in zip(now, following):
        new[i] -= eta * (table[i].softmax(dim=0) - F.one_hot(j, len(table))) / len(now)
        return new
"""
        ],
        "uphill": [
            """
def one_step(table, now, following, eta):
    new = table.clone()
    for i, j in zip(now, following):
        new[i] -= eta * (F.one_hot(j, len(table)) - table[i].softmax(dim=0))
    return new
"""
        ],
    },
}

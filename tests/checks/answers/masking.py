"""Right and wrong answers to the exercises of chapter `masking`."""

RIGHT = {
    "masking.masked-softmax": {
        "on top of softmax": """
def masked_softmax(scores, mask):
    return torch.where(mask, scores, torch.tensor(-math.inf)).softmax(dim=-1)
""",
        "additive mask": """
def masked_softmax(scores, mask):
    return F.softmax(scores + mask.float().log(), dim=-1)
""",
        "loops": """
def masked_softmax(scores, mask):
    mask = mask.expand_as(scores)
    weights = torch.zeros_like(scores)
    for index in map(tuple, torch.ones(scores.shape[:-1]).nonzero().tolist()):
        seen = [j for j in range(scores.shape[-1]) if mask[index][j]]
        top = max(scores[index][j].item() for j in seen)
        exps = {j: math.exp(scores[index][j].item() - top) for j in seen}
        for j in seen:
            weights[index + (j,)] = exps[j] / sum(exps.values())
    return weights
""",
        "by the logarithm of the sum": """
def masked_softmax(scores, mask):
    hidden = scores.masked_fill(mask.logical_not(), float("-inf"))
    return torch.exp(hidden - hidden.logsumexp(-1, keepdim=True))
""",
        "−1e9": """
def masked_softmax(scores, mask):
    scores = scores.clone()
    scores[~mask.expand_as(scores)] = -1e9
    return torch.softmax(scores, -1)
""",
    },
    "masking.triangle": {
        "meshgrid": """
def triangle(n):
    i, j = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
    return ~(j > i)
""",
        "cumulative sum": """
def triangle(n):
    return torch.eye(n).cumsum(dim=0).bool()
""",
        "unsqueeze": """
def triangle(n):
    rows, columns = torch.arange(n).unsqueeze(1), torch.arange(n).unsqueeze(0)
    return torch.ge(rows, columns)
""",
        "distance": """
def triangle(n):
    p = torch.arange(n, dtype=torch.float)
    return (p.view(n, 1) - p.view(1, n)) >= 0
""",
    },
    "masking.shifted-targets": {
        "torch.where": """
def shift(ids, pad_id):
    inputs = ids[:, :-1]
    targets = ids[:, 1:]
    return inputs, torch.where(targets == pad_id, -100, targets)
""",
        "clone and write": """
def shift(ids, pad_id):
    targets = ids[:, 1:].clone()
    targets[targets == pad_id] = -100
    return ids[:, :-1], targets
""",
        "loops": """
def shift(ids, pad_id):
    inputs = [row[:-1] for row in ids.tolist()]
    targets = [[-100 if word == pad_id else word for word in row[1:]] for row in ids.tolist()]
    return torch.tensor(inputs), torch.tensor(targets)
""",
        "split and narrow": """
def shift(ids, pad_id):
    n = ids.size(1) - 1
    targets = ids.narrow(1, 1, n)
    real = (targets != pad_id).long()
    return [ids.narrow(1, 0, n).clone(), targets * real - 100 * (1 - real)]
""",
    },
    "masking.decoder-mask": {
        "library style": """
def decoder_mask(ids, pad_id):
    batch, n = ids.shape
    causal = torch.ones(n, n, dtype=torch.bool).tril().unsqueeze(0)
    return torch.logical_and(causal, ids.ne(pad_id).unsqueeze(1))
""",
        "loops": """
def decoder_mask(ids, pad_id):
    batch, n = ids.shape
    mask = torch.zeros(batch, n, n, dtype=torch.bool)
    for b in range(batch):
        for i in range(n):
            for j in range(i + 1):
                mask[b, i, j] = ids[b, j] != pad_id
    return mask
""",
        "einsum": """
def decoder_mask(ids, pad_id):
    causal = torch.ones(ids.shape[1], ids.shape[1]).tril()
    return torch.einsum("ij,bj->bij", causal, (ids != pad_id).float()) > 0
""",
        "what is hidden, turned round": """
def decoder_mask(ids, pad_id):
    p = torch.arange(ids.size(1))
    future = p[None, None, :] > p[None, :, None]
    padding = ids[:, None, :] == pad_id
    return ~(future | padding)
""",
    },
    "masking.leak-test": {
        "perturbation": """
def find_leaks(model_fn, n, d):
    x = torch.randn(n, d)
    before = model_fn(x)
    leaks = []
    for j in range(n):
        changed = x.clone()
        changed[j] = torch.randn(d)
        moved = (model_fn(changed) - before).abs().amax(dim=-1) > 1e-6
        leaks += [(i, j) for i in range(j) if moved[i]]
    return leaks
""",
        "one gradient a feature": """
def find_leaks(model_fn, n, d):
    x = torch.randn(n, d, requires_grad=True)
    output = model_fn(x)
    leaks = set()
    for i in range(n):
        for f in range(output.shape[-1]):
            (slope,) = torch.autograd.grad(output[i, f], x, retain_graph=True)
            leaks |= {(i, j) for j in range(i + 1, n) if slope[j].ne(0).any()}
    return sorted(leaks)
""",
        "the upper triangle of a Jacobian": """
def find_leaks(model_fn, n, d):
    J = torch.autograd.functional.jacobian(model_fn, torch.rand(n, d) + 0.1)
    return (J.abs().sum((1, 3)) > 1e-8).triu(1).nonzero()
""",
        "a function of the Jacobian": """
def find_leaks(model_fn, n, d):
    J = torch.func.jacrev(model_fn)(torch.randn(n, d))
    return {(i, j) for i, j in J.abs().amax(dim=(1, 3)).nonzero().tolist() if j > i}
""",
        "prefixes": """
def find_leaks(model_fn, n, d):
    x = torch.randn(n, d)
    leaks = []
    for i in range(n):
        for j in range(i + 1, n):
            y = x.clone()
            y[j] += 1
            if not torch.equal(model_fn(y)[i], model_fn(x)[i]):
                leaks.append([i, j])
    return leaks
""",
    },
}

WRONG = {
    "masking.masked-softmax": {
        "0 instead of −∞": """
def masked_softmax(scores, mask):
    return (scores * mask).softmax(dim=-1)
""",
        "changes its input": """
def masked_softmax(scores, mask):
    return scores.masked_fill_(~mask, -torch.inf).softmax(dim=-1)
""",
        "hidden too late": """
def masked_softmax(scores, mask):
    weights = torch.softmax(scores, dim=-1) * mask
    return weights / weights.sum(dim=-1, keepdim=True)
""",
        "a finite number for −∞": """
def masked_softmax(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -1000.0), dim=-1)
""",
    },
    "masking.triangle": {
        "added to the scores": """
def triangle(n):
    position = torch.arange(n)
    return torch.where(position <= position[:, None], 0.0, -math.inf)
""",
        "forbidden": """
def triangle(n):
    return torch.tensor([[j <= i for j in range(n)] for i in range(n)])
""",
        "transposed": """
def triangle(n):
    i = torch.arange(n)
    return i[:, None] <= i[None, :]
""",
        "strict": """
def triangle(n):
    i = torch.arange(n)
    return i[:, None] > i[None, :]
""",
    },
    "masking.shifted-targets": {
        "no pair": """
def shift(ids, pad_id):
    targets = ids[:, 1:]
    return targets.masked_fill(targets == pad_id, -100)
""",
        "changes its input": """
def shift(ids, pad_id):
    inputs, targets = ids[:, :-1].clone(), ids[:, 1:]
    targets[targets == pad_id] = -100
    return inputs, targets
""",
        "floating-point numbers": """
def shift(ids, pad_id):
    targets = ids[:, 1:].float()
    return ids[:, :-1], targets.masked_fill(targets == pad_id, -100)
""",
        "−100 in the inputs": """
def shift(ids, pad_id):
    inputs = ids[:, :-1]
    targets = ids[:, 1:]
    targets[targets == pad_id] = -100
    return inputs, targets
""",
        "padding looked for in the inputs": """
def shift(ids, pad_id):
    inputs, targets = ids[:, :-1], ids[:, 1:]
    targets = torch.where(inputs == pad_id, -100, targets)
    return inputs, targets
""",
    },
    "masking.decoder-mask": {
        "changes its input": """
def decoder_mask(ids, pad_id):
    n = ids.shape[-1]
    causal = torch.arange(n) <= torch.arange(n)[:, None]
    real = ids.sub_(pad_id).bool()
    return causal & real[:, None, :]
""",
        "forbidden": """
def decoder_mask(ids, pad_id):
    from tfm_lib.masking import causal_mask, combine, padding_mask
    return combine(causal_mask(ids.shape[1]), padding_mask(ids, pad_id))
""",
        "hides queries": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    causal = torch.tril(torch.ones(n, n, dtype=torch.bool))
    real = ids != pad_id
    return causal & real[:, :, None]
""",
        "pad_id is ignored": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    causal = torch.tril(torch.ones(n, n)).bool()
    return causal[None] & ids.bool()[:, None, :]
""",
    },
    "masking.leak-test": {
        "sums over the features": """
def find_leaks(model_fn, n, d):
    x = torch.randn(n, d, requires_grad=True)
    output = model_fn(x)
    leaks = []
    for i in range(n):
        (slope,) = torch.autograd.grad(output[i].sum(), x, retain_graph=True)
        leaks += [(i, j) for j in range(i + 1, n) if slope[j].abs().max() > 1e-6]
    return leaks
""",
        "only the next word": """
def find_leaks(model_fn, n, d):
    slopes = torch.autograd.functional.jacobian(model_fn, torch.randn(n, d)).abs().amax(dim=(1, 3))
    return [(i, i + 1) for i in range(n - 1) if slopes[i, i + 1] > 0]
""",
        "counts the past": """
def find_leaks(model_fn, n, d):
    slopes = torch.autograd.functional.jacobian(model_fn, torch.randn(n, d)).abs().amax(dim=(1, 3))
    return [(i, j) for i in range(n) for j in range(n) if slopes[i, j] > 0]
""",
        "counts only the past": """
def find_leaks(model_fn, n, d):
    slopes = torch.autograd.functional.jacobian(model_fn, torch.randn(n, d)).abs().amax(dim=(1, 3))
    return [(i, j) for i in range(n) for j in range(i) if slopes[i, j] > 0]
""",
        "counts itself": """
def find_leaks(model_fn, n, d):
    slopes = torch.autograd.functional.jacobian(model_fn, torch.randn(n, d)).abs().amax(dim=(1, 3))
    return [(i, j) for i in range(n) for j in range(i, n) if slopes[i, j] > 0]
""",
        "misses the last": """
def find_leaks(model_fn, n, d):
    slopes = torch.autograd.functional.jacobian(model_fn, torch.randn(n, d)).abs().amax(dim=(1, 3))
    return [(i, j) for i in range(n) for j in range(i + 1, n - 1) if slopes[i, j] > 0]
""",
        "stops at the first": """
def find_leaks(model_fn, n, d):
    slopes = torch.autograd.functional.jacobian(model_fn, torch.randn(n, d)).abs().amax(dim=(1, 3))
    for i in range(n):
        for j in range(i + 1, n):
            if slopes[i, j] > 0:
                return [(i, j)]
    return []
""",
        "only the first feature": """
def find_leaks(model_fn, n, d):
    x = torch.randn(n, d, requires_grad=True)
    output, leaks = model_fn(x), []
    for i in range(n):
        (slope,) = torch.autograd.grad(output[i, 0], x, retain_graph=True)
        leaks += [(i, j) for j in range(i + 1, n) if slope[j].abs().max() > 0]
    return leaks
""",
        "moves only the first feature": """
def find_leaks(model_fn, n, d):
    x = torch.randn(n, d)
    before, leaks = model_fn(x), []
    for j in range(n):
        changed = x.clone()
        changed[j, 0] += 1
        moved = (model_fn(changed) != before).any(dim=-1)
        leaks += [(i, j) for i in range(j) if moved[i]]
    return leaks
""",
        "without absolute values": """
def find_leaks(model_fn, n, d):
    slopes = torch.autograd.functional.jacobian(model_fn, torch.randn(n, d)).amax(dim=(1, 3))
    return [(i, j) for i in range(n) for j in range(i + 1, n) if slopes[i, j] > 0]
""",
        "a threshold too high": """
def find_leaks(model_fn, n, d):
    slopes = torch.autograd.functional.jacobian(model_fn, torch.randn(n, d)).abs().amax(dim=(1, 3))
    return [(i, j) for i in range(n) for j in range(i + 1, n) if slopes[i, j] > 0.1]
""",
        "a threshold so high": """
def find_leaks(model_fn, n, d):
    slopes = torch.autograd.functional.jacobian(model_fn, torch.randn(n, d)).abs().amax(dim=(1, 3))
    return [(i, j) for i in range(n) for j in range(i + 1, n) if slopes[i, j] > 0.5]
""",
        "no list of pairs": """
def find_leaks(model_fn, n, d):
    slopes = torch.autograd.functional.jacobian(model_fn, torch.randn(n, d)).abs().amax(dim=(1, 3))
    return bool(slopes.triu(1).any())
""",
        "a pair twice": """
def find_leaks(model_fn, n, d):
    J = torch.autograd.functional.jacobian(model_fn, torch.randn(n, d))
    return [(i, j) for i in range(n) for j in range(i + 1, n) for f in range(d) if J[i, f, j].abs().max() > 0]
""",
        "forbidden": """
def find_leaks(model_fn, n, d):
    from tfm_lib.masking import leak
    slopes = leak(model_fn, torch.randn(n, d))
    return [(i, j) for i in range(n) for j in range(i + 1, n) if slopes[i, j] > 0]
""",
        "counted from 1": """
def find_leaks(model_fn, n, d):
    slopes = torch.autograd.functional.jacobian(model_fn, torch.randn(n, d)).abs().amax(dim=(1, 3))
    return [(i, j) for i in range(1, n + 1) for j in range(i + 1, n + 1) if slopes[i - 1, j - 1] > 0]
""",
    },
}

# other ways to make a mistake that is known already
ALSO_WRONG = {
    "masking.leak-test": {
        "tested where all is alike": [
            """
def find_leaks(model_fn, n, d):
    slopes = torch.autograd.functional.jacobian(model_fn, 1e-3 * torch.randn(n, d))
    depends = slopes.abs().amax(dim=(1, 3)) > 0
    return [(i, j) for i in range(n) for j in range(i + 1, n) if depends[i, j]]
""",
        ],
        "a threshold too high": [
            """
def find_leaks(model_fn, n, d):
    slopes = torch.autograd.functional.jacobian(model_fn, torch.randn(n, d))
    return [(i, j) for i in range(n) for j in range(i + 1, n) if slopes[i, :, j].abs().max() >= 0.005]
""",
            """
def find_leaks(model_fn, n, d):
    slopes = torch.autograd.functional.jacobian(model_fn, torch.randn(n, d))
    depends = slopes.abs().amax(dim=(1, 3)) > 0.04
    return [(i, j) for i in range(n) for j in range(i + 1, n) if depends[i, j]]
""",
        ],
    },
}

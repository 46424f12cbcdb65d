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
    },
    "masking.triangle": {
        "list comprehension": """
def triangle(n):
    return torch.tensor([[j <= i for j in range(n)] for i in range(n)])
""",
        "meshgrid": """
def triangle(n):
    i, j = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
    return ~(j > i)
""",
        "cumulative sum": """
def triangle(n):
    return torch.eye(n).cumsum(dim=0).bool()
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
    },
    "masking.sliding-window": {
        "two triangles": """
def window_mask(n, w):
    ones = torch.ones(n, n, dtype=torch.bool)
    return ones.tril() & ones.triu(-(w - 1))
""",
        "loops": """
def window_mask(n, w):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, max(0, i - w + 1) : i + 1] = True
    return mask
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
    },
}

WRONG = {
    "masking.masked-softmax": {
        "0 instead of −∞": """
def masked_softmax(scores, mask):
    return (scores * mask).softmax(dim=-1)
""",
        "not renormalised": """
def masked_softmax(scores, mask):
    return scores.softmax(dim=-1) * mask
""",
        "mask turned round": """
def masked_softmax(scores, mask):
    return scores.masked_fill(mask, -torch.inf).softmax(dim=-1)
""",
        "softmax over the queries": """
def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, -torch.inf).softmax(dim=-2)
""",
        "hidden too late": """
def masked_softmax(scores, mask):
    weights = scores.softmax(dim=-1) * mask
    return weights / weights.sum(dim=-1, keepdim=True)
""",
    },
    "masking.triangle": {
        "strict": """
def triangle(n):
    position = torch.arange(n)
    return position[None, :] < position[:, None]
""",
        "transposed": """
def triangle(n):
    position = torch.arange(n)
    return position[:, None] <= position[None, :]
""",
        "True where hidden": """
def triangle(n):
    position = torch.arange(n)
    return position[None, :] > position[:, None]
""",
        "numbers": """
def triangle(n):
    position = torch.arange(n)
    return (position[None, :] <= position[:, None]).float()
""",
        "added to the scores": """
def triangle(n):
    position = torch.arange(n)
    return torch.where(position <= position[:, None], 0.0, -math.inf)
""",
    },
    "masking.shifted-targets": {
        "no shift": """
def shift(ids, pad_id):
    inputs = ids[:, :-1]
    return inputs, inputs.masked_fill(inputs == pad_id, -100)
""",
        "shifted backwards": """
def shift(ids, pad_id):
    targets = ids[:, :-1]
    return ids[:, 1:], targets.masked_fill(targets == pad_id, -100)
""",
        "padding as target": """
def shift(ids, pad_id):
    return ids[:, :-1], ids[:, 1:]
""",
        "rolled": """
def shift(ids, pad_id):
    targets = ids.roll(-1, dims=1)
    return ids, targets.masked_fill(targets == pad_id, -100)
""",
        "−100 in the inputs": """
def shift(ids, pad_id):
    inputs, targets = ids[:, :-1], ids[:, 1:]
    targets[targets == pad_id] = -100
    return inputs, targets
""",
    },
    "masking.decoder-mask": {
        "no axis for the queries": """
def decoder_mask(ids, pad_id):
    n = ids.shape[-1]
    causal = torch.arange(n) <= torch.arange(n)[:, None]
    return causal & (ids != pad_id)
""",
        "or instead of and": """
def decoder_mask(ids, pad_id):
    n = ids.shape[-1]
    causal = torch.arange(n) <= torch.arange(n)[:, None]
    return causal | (ids != pad_id)[:, None, :]
""",
        "hides queries": """
def decoder_mask(ids, pad_id):
    n = ids.shape[-1]
    causal = torch.arange(n) <= torch.arange(n)[:, None]
    return causal & (ids != pad_id)[:, :, None]
""",
        "True where padding": """
def decoder_mask(ids, pad_id):
    n = ids.shape[-1]
    causal = torch.arange(n) <= torch.arange(n)[:, None]
    return causal & (ids == pad_id)[:, None, :]
""",
        "padding only": """
def decoder_mask(ids, pad_id):
    return (ids != pad_id)[:, None, :].repeat(1, ids.shape[-1], 1)
""",
    },
    "masking.sliding-window": {
        "one key too many": """
def window_mask(n, w):
    distance = torch.arange(n)[:, None] - torch.arange(n)
    return (distance >= 0) & (distance <= w)
""",
        "sees both sides": """
def window_mask(n, w):
    distance = torch.arange(n)[:, None] - torch.arange(n)
    return distance.abs() < w
""",
        "without itself": """
def window_mask(n, w):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, max(0, i - w) : i] = True
    return mask
""",
        "transposed": """
def window_mask(n, w):
    distance = torch.arange(n) - torch.arange(n)[:, None]
    return (distance >= 0) & (distance < w)
""",
        "True where hidden": """
def window_mask(n, w):
    distance = torch.arange(n)[:, None] - torch.arange(n)
    return (distance < 0) | (distance >= w)
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
        leaks += [(i, j) for j in range(i + 1, n) if slope[j].abs().max() > 0]
    return leaks
""",
        "tested at 0": """
def find_leaks(model_fn, n, d):
    slopes = torch.autograd.functional.jacobian(model_fn, torch.zeros(n, d)).abs().amax(dim=(1, 3))
    return [(i, j) for i in range(n) for j in range(i + 1, n) if slopes[i, j] > 0]
""",
        "only the next word": """
def find_leaks(model_fn, n, d):
    slopes = torch.autograd.functional.jacobian(model_fn, torch.randn(n, d)).abs().amax(dim=(1, 3))
    return [(i, i + 1) for i in range(n - 1) if slopes[i, i + 1] > 0]
""",
        "pairs swapped": """
def find_leaks(model_fn, n, d):
    x = torch.randn(n, d)
    before, leaks = model_fn(x), []
    for j in range(n):
        changed = x.clone()
        changed[j] += 1
        after = model_fn(changed)
        leaks += [(j, i) for i in range(j) if not torch.allclose(before[i], after[i])]
    return leaks
""",
        "counts the past": """
def find_leaks(model_fn, n, d):
    slopes = torch.autograd.functional.jacobian(model_fn, torch.randn(n, d)).abs().amax(dim=(1, 3))
    return [(i, j) for i in range(n) for j in range(n) if slopes[i, j] > 0]
""",
    },
}

"""Unseen answers to the exercises of chapter `masking`, written from the statements alone."""

RIGHT = {
    "masking.masked-softmax": {
        "masked_fill on top of softmax": """
def masked_softmax(scores, mask):
    hidden = scores.masked_fill(~mask, -torch.inf)
    return hidden.softmax(dim=-1)
""",
        "where and exp by hand": """
def masked_softmax(scores, mask):
    low = torch.full_like(scores, float("-inf"))
    s = torch.where(mask, scores, low)
    top = s.max(dim=-1, keepdim=True).values
    e = torch.exp(s - top)
    return e / e.sum(dim=-1, keepdim=True)
""",
        "adds the logarithm of the mask": """
def masked_softmax(scores, mask):
    return F.softmax(scores + mask.to(scores.dtype).log(), dim=-1)
""",
        "fills with the least float": """
def masked_softmax(scores, mask):
    least = torch.finfo(scores.dtype).min
    w = nn.Softmax(dim=-1)(scores.masked_fill(mask.logical_not(), least))
    return w * mask
""",
        "row by row in a loop": """
def masked_softmax(scores, mask):
    shown = mask.expand_as(scores).reshape(-1, scores.shape[-1])
    rows = scores.reshape(-1, scores.shape[-1])
    out = torch.zeros_like(rows)
    for r in range(len(rows)):
        keep = shown[r]
        out[r, keep] = torch.softmax(rows[r, keep], dim=0)
    return out.reshape(scores.shape)
""",
        "works on a clone": """
def masked_softmax(scores, mask):
    copy = scores.clone()
    copy[(~mask).expand(copy.shape)] = -torch.inf
    return torch.softmax(copy, -1)
""",
    },
    "masking.triangle": {
        "two aranges": """
def triangle(n):
    return torch.arange(n)[None, :] <= torch.arange(n)[:, None]
""",
        "named axes": """
def triangle(n):
    i = torch.arange(n).unsqueeze(1)
    j = torch.arange(n).unsqueeze(0)
    return j <= i
""",
        "meshgrid": """
def triangle(n):
    rows, cols = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
    return rows >= cols
""",
        "running count of ones": """
def triangle(n):
    ones = torch.ones(n, n)
    return ones.cumsum(1) <= ones.cumsum(0)
""",
        "difference of positions": """
def triangle(n):
    p = torch.arange(n)
    distance = p.view(-1, 1) - p.view(1, -1)
    return distance >= 0
""",
        "numpy": """
def triangle(n):
    import numpy as np
    i, j = np.indices((n, n))
    return torch.from_numpy(j <= i)
""",
        "one arange, cut by division": """
def triangle(n):
    k = torch.arange(n * n).reshape(n, n)
    return k % n <= k // n
""",
    },
    "masking.shifted-targets": {
        "where": """
def shift(ids, pad_id):
    inputs = ids[:, :-1]
    targets = ids[:, 1:]
    return inputs, torch.where(targets == pad_id, -100, targets)
""",
        "masked_fill": """
def shift(ids, pad_id):
    after = ids[:, 1:]
    return ids[:, :-1], after.masked_fill(after == pad_id, -100)
""",
        "clone and assign": """
def shift(ids, pad_id):
    x, y = ids[:, :-1].clone(), ids[:, 1:].clone()
    y[y == pad_id] = -100
    return x, y
""",
        "loops over words": """
def shift(ids, pad_id):
    batch, length = ids.shape
    inputs = ids.new_empty(batch, length - 1)
    targets = ids.new_full((batch, length - 1), -100)
    for b in range(batch):
        for i in range(length - 1):
            inputs[b, i] = ids[b, i]
            if ids[b, i + 1] != pad_id:
                targets[b, i] = ids[b, i + 1]
    return inputs, targets
""",
        "narrow and arithmetic": """
def shift(ids, pad_id):
    n = ids.size(1) - 1
    inputs, targets = ids.narrow(1, 0, n), ids.narrow(1, 1, n)
    real = (targets != pad_id).to(ids.dtype)
    return inputs, targets * real - 100 * (1 - real)
""",
        "lists": """
def shift(ids, pad_id):
    rows = ids.tolist()
    xs = [row[:-1] for row in rows]
    ys = [[-100 if w == pad_id else w for w in row[1:]] for row in rows]
    return torch.tensor(xs, dtype=ids.dtype), torch.tensor(ys, dtype=ids.dtype)
""",
    },
    "masking.decoder-mask": {
        "two comparisons": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i) & (ids != pad_id)[:, None, :]
""",
        "unsqueezes": """
def decoder_mask(ids, pad_id):
    pos = torch.arange(ids.size(-1), device=ids.device)
    causal = pos.unsqueeze(-1) >= pos.unsqueeze(0)
    real = ids.ne(pad_id).unsqueeze(-2)
    return causal.unsqueeze(0) & real
""",
        "a stack of sentences": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    p = torch.arange(n)
    causal = p.view(1, n) <= p.view(n, 1)
    return torch.stack([causal & (row != pad_id) for row in ids])
""",
        "loops": """
def decoder_mask(ids, pad_id):
    batch, n = ids.shape
    out = torch.zeros(batch, n, n, dtype=torch.bool)
    for b in range(batch):
        for i in range(n):
            for j in range(n):
                out[b, i, j] = (j <= i) & (int(ids[b, j]) != pad_id)
    return out
""",
        "with a helper, negated": """
def decoder_mask(ids, pad_id):
    def future(n):
        p = torch.arange(n)
        return p[None, :] > p[:, None]
    return ~future(ids.shape[1]) & ~(ids == pad_id)[:, None]
""",
        "fills and narrows by &=": """
def decoder_mask(ids, pad_id):
    batch, n = ids.shape
    mask = (ids != pad_id).unsqueeze(1).repeat(1, n, 1)
    step = torch.arange(n)
    mask &= step <= step.unsqueeze(1)
    return mask
""",
    },
    "masking.sliding-window": {
        "two comparisons": """
def window_mask(n, w):
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i) & (j > i - w)
""",
        "distance": """
def window_mask(n, w):
    back = torch.arange(n).unsqueeze(1) - torch.arange(n)
    return (0 <= back) & (back < w)
""",
        "tril and triu": """
def window_mask(n, w):
    return torch.ones(n, n, dtype=torch.bool).tril().triu(-(w - 1))
""",
        "fills rows": """
def window_mask(n, w):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, max(0, i - w + 1) : i + 1] = True
    return mask
""",
        "comprehension": """
def window_mask(n, w):
    return torch.tensor([[0 <= i - j < w for j in range(n)] for i in range(n)], dtype=torch.bool)
""",
        "difference of two causal masks": """
def window_mask(n, w):
    seen = causal_mask(n)
    too_old = seen.float().tril(-w).bool()
    return seen & ~too_old
""",
        "diagonals": """
def window_mask(n, w):
    mask = torch.zeros(n, n)
    for k in range(min(n, w)):
        mask += torch.diag(torch.ones(n - k), -k)
    return mask > 0
""",
    },
    "masking.leak-test": {
        "jacobian at random inputs": """
def find_leaks(model_fn, n, d):
    from torch.autograd.functional import jacobian
    seen = torch.zeros(n, n, dtype=torch.bool)
    for _ in range(3):
        J = jacobian(model_fn, torch.randn(n, d))
        seen |= (J != 0).any(dim=3).any(dim=1)
    return [(i, j) for i in range(n) for j in range(i + 1, n) if seen[i, j]]
""",
        "gradient of each number of each output": """
def find_leaks(model_fn, n, d):
    found = set()
    for _ in range(4):
        x = torch.randn(n, d, requires_grad=True)
        y = model_fn(x)
        for i in range(n):
            for c in range(d):
                g = torch.autograd.grad(y[i, c], x, retain_graph=True, allow_unused=True)[0]
                if g is None:
                    continue
                for j in range(i + 1, n):
                    if g[j].abs().max() > 0:
                        found.add((i, j))
    return sorted(found)
""",
        "changes one word at a time": """
def find_leaks(model_fn, n, d):
    pairs = set()
    with torch.no_grad():
        for trial in range(5):
            x = torch.randn(n, d)
            before = model_fn(x.clone())
            for j in range(1, n):
                other = x.clone()
                other[j] = torch.randn(d)
                after = model_fn(other)
                for i in range(j):
                    if not torch.equal(before[i], after[i]):
                        pairs.add((i, j))
    return sorted(pairs)
""",
        "abs of the jacobian, largest of trials": """
def find_leaks(model_fn, n, d):
    most = torch.zeros(n, n)
    for seed in range(5):
        x = torch.randn(n, d, generator=torch.Generator().manual_seed(seed))
        J = torch.autograd.functional.jacobian(model_fn, x).reshape(n, d, n, d)
        most = torch.maximum(most, J.abs().amax(dim=(1, 3)))
    return [tuple(pair) for pair in (most.triu(1) > 0).nonzero().tolist()]
""",
        "random directions, two probes": """
def find_leaks(model_fn, n, d):
    out = set()
    for _ in range(4):
        x = torch.randn(n, d).requires_grad_()
        y = model_fn(x)
        for i in range(n - 1):
            direction = torch.zeros_like(y)
            direction[i] = torch.randn(d)
            (g,) = torch.autograd.grad(y, x, direction, retain_graph=True)
            out |= {(i, j) for j in range(i + 1, n) if bool((g[j] != 0).any())}
    return sorted(out)
""",
        "a class that probes": """
class Probe:
    def __init__(self, fn, n, d):
        self.fn, self.n, self.d = fn, n, d

    def depends(self, i, j):
        for _ in range(3):
            x = torch.randn(self.n, self.d)
            J = torch.autograd.functional.jacobian(lambda t: self.fn(t)[i], x)
            if J[:, j].abs().sum() > 0:
                return True
        return False

def find_leaks(model_fn, n, d):
    probe = Probe(model_fn, n, d)
    return [(i, j) for i in range(n) for j in range(i + 1, n) if probe.depends(i, j)]
""",
    },
}

WRONG = {
    "masking.masked-softmax": {
        "mask taken the other way round": """
def masked_softmax(scores, mask):
    hidden = scores.masked_fill(mask, -torch.inf)
    return hidden.softmax(dim=-1)
""",
        "softmax over the queries": """
def masked_softmax(scores, mask):
    hidden = scores.masked_fill(~mask, -torch.inf)
    return hidden.softmax(dim=-2)
""",
        "softmax over the first axis": """
def masked_softmax(scores, mask):
    hidden = scores.masked_fill(~mask, -torch.inf)
    return hidden.softmax(dim=0)
""",
        "hidden scores become 0": """
def masked_softmax(scores, mask):
    hidden = scores.masked_fill(~mask, 0.0)
    return hidden.softmax(dim=-1)
""",
        "hidden scores become -100 only": """
def masked_softmax(scores, mask):
    hidden = scores.masked_fill(~mask, -100.0)
    return hidden.softmax(dim=-1)
""",
        "ignores the mask": """
def masked_softmax(scores, mask):
    hidden = scores
    return hidden.softmax(dim=-1)
""",
        "changes the scores in place": """
def masked_softmax(scores, mask):
    hidden = scores.masked_fill_(~mask, -torch.inf)
    return hidden.softmax(dim=-1)
""",
        "returns the masked scores, no softmax": """
def masked_softmax(scores, mask):
    hidden = scores.masked_fill(~mask, -torch.inf)
    return hidden
""",
        "returns log weights": """
def masked_softmax(scores, mask):
    hidden = scores.masked_fill(~mask, -torch.inf)
    return hidden.log_softmax(dim=-1)
""",
        "exp without subtracting the maximum": """
def masked_softmax(scores, mask):
    low = torch.full_like(scores, float("-inf"))
    s = torch.where(mask, scores, low)
    top = s.max(dim=-1, keepdim=True).values
    e = torch.exp(s)
    return e / e.sum(dim=-1, keepdim=True)
""",
        "forgets to divide by the sum": """
def masked_softmax(scores, mask):
    low = torch.full_like(scores, float("-inf"))
    s = torch.where(mask, scores, low)
    top = s.max(dim=-1, keepdim=True).values
    e = torch.exp(s - top)
    return e
""",
        "subtracts the largest score of the whole tensor": """
def masked_softmax(scores, mask):
    low = torch.full_like(scores, float("-inf"))
    s = torch.where(mask, scores, low)
    top = s.max()
    e = torch.exp(s - top)
    return e / e.sum(dim=-1, keepdim=True)
""",
        "subtracts the maximum, hidden scores included": """
def masked_softmax(scores, mask):
    low = torch.full_like(scores, float("-inf"))
    s = torch.where(mask, scores, low)
    top = scores.max(dim=-1, keepdim=True).values
    e = torch.exp(s - top)
    return e / e.sum(dim=-1, keepdim=True)
""",
        "sums over the whole tensor": """
def masked_softmax(scores, mask):
    low = torch.full_like(scores, float("-inf"))
    s = torch.where(mask, scores, low)
    top = s.max(dim=-1, keepdim=True).values
    e = torch.exp(s - top)
    return e / e.sum()
""",
        "adds the mask itself, not its logarithm": """
def masked_softmax(scores, mask):
    return F.softmax(scores + mask.to(scores.dtype), dim=-1)
""",
        "softmax first, then zeroes, not renormalised": """
def masked_softmax(scores, mask):
    return scores.softmax(dim=-1) * mask
""",
        "softmax first, then zeroes and renormalises": """
def masked_softmax(scores, mask):
    w = torch.softmax(scores, dim=-1) * mask
    return w / w.sum(dim=-1, keepdim=True)
""",
        "softmax first, renormalises with a small constant against 0 / 0": """
def masked_softmax(scores, mask):
    w = torch.softmax(scores, dim=-1) * mask
    return w / (w.sum(dim=-1, keepdim=True) + 1e-9)
""",
        "penalty of 100 is too small": """
def masked_softmax(scores, mask):
    return (scores - 100.0 * (~mask)).softmax(dim=-1)
""",
        "multiplies the scores by the mask": """
def masked_softmax(scores, mask):
    return torch.softmax(scores * mask, dim=-1)
""",
        "scores clamped to 80 before exp": """
def masked_softmax(scores, mask):
    e = scores.clamp(-80, 80).exp() * mask
    return e / e.sum(dim=-1, keepdim=True)
""",
        "turns hidden weights into nan by -inf times the mask": """
def masked_softmax(scores, mask):
    return (scores + (~mask) * float("-inf")).softmax(-1)
""",
    },
    "masking.triangle": {
        "transposed": """
def triangle(n):
    i = torch.arange(n).unsqueeze(1)
    j = torch.arange(n).unsqueeze(0)
    return i <= j
""",
        "may not see itself": """
def triangle(n):
    i = torch.arange(n).unsqueeze(1)
    j = torch.arange(n).unsqueeze(0)
    return j < i
""",
        "sees one word of the future": """
def triangle(n):
    i = torch.arange(n).unsqueeze(1)
    j = torch.arange(n).unsqueeze(0)
    return j <= i + 1
""",
        "True means hidden": """
def triangle(n):
    i = torch.arange(n).unsqueeze(1)
    j = torch.arange(n).unsqueeze(0)
    return j > i
""",
        "floats, not booleans": """
def triangle(n):
    i = torch.arange(n).unsqueeze(1)
    j = torch.arange(n).unsqueeze(0)
    return (j <= i).float()
""",
        "whole numbers, not booleans": """
def triangle(n):
    i = torch.arange(n).unsqueeze(1)
    j = torch.arange(n).unsqueeze(0)
    return (j <= i).int()
""",
        "additive mask with -inf": """
def triangle(n):
    i = torch.arange(n).unsqueeze(1)
    j = torch.arange(n).unsqueeze(0)
    return torch.where(j <= i, 0.0, -torch.inf)
""",
        "a batch axis too many": """
def triangle(n):
    i = torch.arange(n).unsqueeze(1)
    j = torch.arange(n).unsqueeze(0)
    return (j <= i).unsqueeze(0)
""",
        "counts the keys from 1": """
def triangle(n):
    i = torch.arange(n).unsqueeze(1)
    j = torch.arange(1, n + 1).unsqueeze(0)
    return j <= i
""",
        "only itself": """
def triangle(n):
    i = torch.arange(n).unsqueeze(1)
    j = torch.arange(n).unsqueeze(0)
    return j == i
""",
        "triangle in the other corner": """
def triangle(n):
    i = torch.arange(n).unsqueeze(1)
    j = torch.arange(n).unsqueeze(0)
    return i + j <= n - 1
""",
        "one position short": """
def triangle(n):
    i = torch.arange(n - 1).unsqueeze(1)
    j = torch.arange(n - 1).unsqueeze(0)
    return j <= i
""",
        "returns a nested list": """
def triangle(n):
    i = torch.arange(n).unsqueeze(1)
    j = torch.arange(n).unsqueeze(0)
    return (j <= i).tolist()
""",
        "always five words": """
def triangle(n):
    i = torch.arange(5).unsqueeze(1)
    j = torch.arange(5).unsqueeze(0)
    return j <= i
""",
        "both aranges as rows": """
def triangle(n):
    i = torch.arange(n).unsqueeze(0)
    j = torch.arange(n).unsqueeze(0)
    return j <= i
""",
        "calls tril": """
def triangle(n):
    return torch.ones(n, n, dtype=torch.bool).tril()
""",
        "calls torch.tril on numbers and compares with 1": """
def triangle(n):
    return torch.tril(torch.ones((n, n))) == 1
""",
        "calls triu and takes the rest": """
def triangle(n):
    return ~torch.triu(torch.ones(n, n), diagonal=1).bool()
""",
        "triu transposed": """
def triangle(n):
    return torch.ones(n, n).triu().T > 0
""",
        "two loops": """
def triangle(n):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        for j in range(n):
            mask[i, j] = j <= i
    return mask
""",
        "one loop over the rows": """
def triangle(n):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, : i + 1] = True
    return mask
""",
        "list comprehension is a loop as well": """
def triangle(n):
    return torch.tensor([[j <= i for j in range(n)] for i in range(n)])
""",
        "while loop": """
def triangle(n):
    i, rows = 0, []
    while i < n:
        rows.append(torch.arange(n) <= i)
        i += 1
    return torch.stack(rows)
""",
        "tril of numpy": """
def triangle(n):
    import numpy as np
    return torch.from_numpy(np.tril(np.ones((n, n), dtype=bool)))
""",
    },
    "masking.shifted-targets": {
        "returns targets and inputs swapped": """
def shift(ids, pad_id):
    x, y = ids[:, :-1].clone(), ids[:, 1:].clone()
    y[y == pad_id] = -100
    return y, x
""",
        "changes ids in place": """
def shift(ids, pad_id):
    x, y = ids[:, :-1].clone(), ids[:, 1:]
    y[y == pad_id] = -100
    return x, y
""",
        "views only, so the padding of ids becomes -100 too": """
def shift(ids, pad_id):
    x, y = ids[:, :-1], ids[:, 1:]
    y[y == pad_id] = -100
    return x, y
""",
        "no padding skipped": """
def shift(ids, pad_id):
    after = ids[:, 1:]
    return ids[:, :-1], after
""",
        "hard-codes pad 0": """
def shift(ids, pad_id):
    after = ids[:, 1:]
    return ids[:, :-1], after.masked_fill(after == 0, -100)
""",
        "hard-codes pad 1": """
def shift(ids, pad_id):
    after = ids[:, 1:]
    return ids[:, :-1], after.masked_fill(after == 1, -100)
""",
        "skips with -1": """
def shift(ids, pad_id):
    after = ids[:, 1:]
    return ids[:, :-1], after.masked_fill(after == pad_id, -1)
""",
        "skips with +100": """
def shift(ids, pad_id):
    after = ids[:, 1:]
    return ids[:, :-1], after.masked_fill(after == pad_id, 100)
""",
        "skips where the input is padding": """
def shift(ids, pad_id):
    after = ids[:, 1:]
    return ids[:, :-1], after.masked_fill(ids[:, :-1] == pad_id, -100)
""",
        "keeps the padding, skips the words": """
def shift(ids, pad_id):
    after = ids[:, 1:]
    return ids[:, :-1], after.masked_fill(after != pad_id, -100)
""",
        "takes every id above pad for a word": """
def shift(ids, pad_id):
    after = ids[:, 1:]
    return ids[:, :-1], after.masked_fill(after <= pad_id, -100)
""",
        "cuts the batch, not the length": """
def shift(ids, pad_id):
    after = ids[1:]
    return ids[:-1], after.masked_fill(after == pad_id, -100)
""",
        "inputs not shortened": """
def shift(ids, pad_id):
    after = ids[:, 1:]
    return ids, after.masked_fill(after == pad_id, -100)
""",
        "targets are the inputs": """
def shift(ids, pad_id):
    after = ids[:, :-1]
    return ids[:, :-1], after.masked_fill(after == pad_id, -100)
""",
        "targets are the words before": """
def shift(ids, pad_id):
    after = ids[:, :-1]
    return ids[:, 1:], after.masked_fill(after == pad_id, -100)
""",
        "floats": """
def shift(ids, pad_id):
    after = ids[:, 1:]
    return ids[:, :-1], after.masked_fill(after == pad_id, -100).float()
""",
        "-100 in the inputs as well": """
def shift(ids, pad_id):
    clean = ids.masked_fill(ids == pad_id, -100)
    return clean[:, :-1], clean[:, 1:]
""",
        "shifts by two": """
def shift(ids, pad_id):
    after = ids[:, 2:]
    return ids[:, :-2], after.masked_fill(after == pad_id, -100)
""",
        "rolls, so <bos> comes back at the end": """
def shift(ids, pad_id):
    after = ids.roll(-1, dims=1)
    return ids, after.masked_fill(after == pad_id, -100)
""",
        "keeps the full length, -100 at the end": """
def shift(ids, pad_id):
    after = torch.cat([ids[:, 1:], torch.full_like(ids[:, :1], pad_id)], dim=1)
    return ids, after.masked_fill(after == pad_id, -100)
""",
        "skips the target <eos> where padding follows": """
def shift(ids, pad_id):
    after = ids[:, 1:]
    next_one = torch.cat([ids[:, 2:], torch.full_like(ids[:, :1], pad_id)], dim=1)
    return ids[:, :-1], after.masked_fill(next_one == pad_id, -100)
""",
        "padding looked up in the first sentence only": """
def shift(ids, pad_id):
    after = ids[:, 1:]
    return ids[:, :-1], after.masked_fill(after[0] == pad_id, -100)
""",
        "skips the targets of <bos> instead of padding": """
def shift(ids, pad_id):
    targets = ids[:, 1:].clone()
    targets[:, 0] = -100
    return ids[:, :-1], targets
""",
        "drops the padding and returns flat targets": """
def shift(ids, pad_id):
    after = ids[:, 1:]
    real = after != pad_id
    return ids[:, :-1][real], after[real]
""",
    },
    "masking.decoder-mask": {
        "or instead of and": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i) | (ids != pad_id)[:, None, :]
""",
        "transposed triangle": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j >= i) & (ids != pad_id)[:, None, :]
""",
        "may not see itself": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j < i) & (ids != pad_id)[:, None, :]
""",
        "padding hides queries, not keys": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i) & (ids != pad_id)[:, :, None]
""",
        "hides padding queries too, whose rows are then empty": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i) & (ids != pad_id)[:, None, :] & (ids != pad_id)[:, :, None]
""",
        "hard-codes pad 0": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i) & (ids != 0)[:, None, :]
""",
        "takes greater ids only for words": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i) & (ids > pad_id)[:, None, :]
""",
        "True means hidden": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return ~((j <= i) & (ids != pad_id)[:, None, :])
""",
        "keeps padding, hides words": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i) & (ids == pad_id)[:, None, :]
""",
        "no causal part": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (ids != pad_id)[:, None, :].repeat(1, n, 1)
""",
        "no padding part": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i).expand(len(ids), n, n)
""",
        "padding of the first sentence for all": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i) & (ids[0] != pad_id).expand(len(ids), 1, n)
""",
        "an axis for the heads": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i) & (ids != pad_id)[:, None, None, :]
""",
        "floats": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return ((j <= i) & (ids != pad_id)[:, None, :]).float()
""",
        "length taken from the batch": """
def decoder_mask(ids, pad_id):
    n = ids.shape[0]
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i) & (ids != pad_id)[:, None, :]
""",
        "no new axis, so it fits only where batch is n": """
def decoder_mask(ids, pad_id):
    n = ids.shape[1]
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i) & (ids != pad_id)
""",
        "calls causal_mask and padding_mask": """
def decoder_mask(ids, pad_id):
    return causal_mask(ids.shape[1]) & padding_mask(ids, pad_id)
""",
        "calls combine": """
def decoder_mask(ids, pad_id):
    p = torch.arange(ids.shape[1])
    return combine(p[None, :] <= p[:, None], (ids != pad_id)[:, None, :])
""",
        "calls causal_mask, padding by comparison": """
def decoder_mask(ids, pad_id):
    return causal_mask(ids.shape[1]) & (ids != pad_id)[:, None, :]
""",
        "calls padding_mask, triangle by comparison": """
def decoder_mask(ids, pad_id):
    p = torch.arange(ids.shape[1])
    return (p <= p[:, None]) & padding_mask(ids, pad_id)
""",
        "padding may attend to itself": """
def decoder_mask(ids, pad_id):
    p = torch.arange(ids.shape[1])
    own = p[None, :] == p[:, None]
    return (p <= p[:, None]) & ((ids != pad_id)[:, None, :] | own)
""",
    },
    "masking.sliding-window": {
        "looks both ways": """
def window_mask(n, w):
    back = torch.arange(n).unsqueeze(1) - torch.arange(n)
    return back.abs() < w
""",
        "one position too many": """
def window_mask(n, w):
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i) & (j >= i - w)
""",
        "one position too few": """
def window_mask(n, w):
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i) & (j > i - w + 1)
""",
        "does not see itself": """
def window_mask(n, w):
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j < i) & (j > i - w)
""",
        "ignores w": """
def window_mask(n, w):
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return j <= i
""",
        "sees the future window": """
def window_mask(n, w):
    back = torch.arange(n) - torch.arange(n).unsqueeze(1)
    return (0 <= back) & (back < w)
""",
        "hard-codes a window of 3": """
def window_mask(n, w):
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i) & (j > i - 3)
""",
        "True means hidden": """
def window_mask(n, w):
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return ~((j <= i) & (j > i - w))
""",
        "everything but the window of the past": """
def window_mask(n, w):
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i) & (j <= i - w)
""",
        "or instead of and": """
def window_mask(n, w):
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i) | (j > i - w)
""",
        "future not hidden": """
def window_mask(n, w):
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return j > i - w
""",
        "floats": """
def window_mask(n, w):
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return ((j <= i) & (j > i - w)).float()
""",
        "negative start where w is beyond the row": """
def window_mask(n, w):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, i - w + 1 : i + 1] = True
    return mask
""",
        "the last row sees less": """
def window_mask(n, w):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n - 1):
        mask[i, max(0, i - w + 1) : i + 1] = True
    return mask
""",
        "w and n swapped": """
def window_mask(w, n):
    i = torch.arange(n)[:, None]
    j = torch.arange(n)[None, :]
    return (j <= i) & (j > i - w)
""",
        "triu with the wrong diagonal": """
def window_mask(n, w):
    return torch.ones(n, n, dtype=torch.bool).tril().triu(-w)
""",
        "triu with the wrong sign": """
def window_mask(n, w):
    return torch.ones(n, n, dtype=torch.bool).tril().triu(w - 1)
""",
        "first rows skipped, they have no full window": """
def window_mask(n, w):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(w - 1, n):
        mask[i, max(0, i - w + 1) : i + 1] = True
    return mask
""",
        "blocks instead of a sliding window": """
def window_mask(n, w):
    p = torch.arange(n)
    return (p[:, None] // w == p[None, :] // w) & (p[None, :] <= p[:, None])
""",
        "centred window of w": """
def window_mask(n, w):
    p = torch.arange(n)
    return (p[:, None] - p).abs() <= w // 2
""",
        "everybody sees the last w words of the text": """
def window_mask(n, w):
    p = torch.arange(n)
    return (p <= p[:, None]) & (p >= n - w)
""",
        "everybody sees the first w words": """
def window_mask(n, w):
    p = torch.arange(n)
    return (p <= p[:, None]) & (p < w)
""",
    },
    "masking.leak-test": {
        "input of zeros": """
def find_leaks(model_fn, n, d):
    from torch.autograd.functional import jacobian
    seen = torch.zeros(n, n, dtype=torch.bool)
    for _ in range(3):
        J = jacobian(model_fn, torch.zeros(n, d))
        seen |= (J != 0).any(dim=3).any(dim=1)
    return [(i, j) for i in range(n) for j in range(i + 1, n) if seen[i, j]]
""",
        "input of ones, all words alike": """
def find_leaks(model_fn, n, d):
    from torch.autograd.functional import jacobian
    seen = torch.zeros(n, n, dtype=torch.bool)
    for _ in range(3):
        J = jacobian(model_fn, torch.ones(n, d))
        seen |= (J != 0).any(dim=3).any(dim=1)
    return [(i, j) for i in range(n) for j in range(i + 1, n) if seen[i, j]]
""",
        "signed sum of the jacobian": """
def find_leaks(model_fn, n, d):
    from torch.autograd.functional import jacobian
    seen = torch.zeros(n, n, dtype=torch.bool)
    for _ in range(3):
        J = jacobian(model_fn, torch.randn(n, d))
        seen |= J.sum(dim=(1, 3)) != 0
    return [(i, j) for i in range(n) for j in range(i + 1, n) if seen[i, j]]
""",
        "jacobian summed over the outputs' numbers": """
def find_leaks(model_fn, n, d):
    from torch.autograd.functional import jacobian
    seen = torch.zeros(n, n, dtype=torch.bool)
    for _ in range(3):
        J = jacobian(model_fn, torch.randn(n, d))
        seen |= (J.sum(dim=1) != 0).any(dim=-1)
    return [(i, j) for i in range(n) for j in range(i + 1, n) if seen[i, j]]
""",
        "pairs with j below i too": """
def find_leaks(model_fn, n, d):
    from torch.autograd.functional import jacobian
    seen = torch.zeros(n, n, dtype=torch.bool)
    for _ in range(3):
        J = jacobian(model_fn, torch.randn(n, d))
        seen |= (J != 0).any(dim=3).any(dim=1)
    return [(i, j) for i in range(n) for j in range(n) if seen[i, j]]
""",
        "counts j = i as a leak": """
def find_leaks(model_fn, n, d):
    from torch.autograd.functional import jacobian
    seen = torch.zeros(n, n, dtype=torch.bool)
    for _ in range(3):
        J = jacobian(model_fn, torch.randn(n, d))
        seen |= (J != 0).any(dim=3).any(dim=1)
    return [(i, j) for i in range(n) for j in range(i, n) if seen[i, j]]
""",
        "lists the past instead of the future": """
def find_leaks(model_fn, n, d):
    from torch.autograd.functional import jacobian
    seen = torch.zeros(n, n, dtype=torch.bool)
    for _ in range(3):
        J = jacobian(model_fn, torch.randn(n, d))
        seen |= (J != 0).any(dim=3).any(dim=1)
    return [(i, j) for i in range(n) for j in range(i) if seen[i, j]]
""",
        "pairs as (j, i)": """
def find_leaks(model_fn, n, d):
    from torch.autograd.functional import jacobian
    seen = torch.zeros(n, n, dtype=torch.bool)
    for _ in range(3):
        J = jacobian(model_fn, torch.randn(n, d))
        seen |= (J != 0).any(dim=3).any(dim=1)
    return [(j, i) for i in range(n) for j in range(i + 1, n) if seen[i, j]]
""",
        "pairs that do not leak": """
def find_leaks(model_fn, n, d):
    from torch.autograd.functional import jacobian
    seen = torch.zeros(n, n, dtype=torch.bool)
    for _ in range(3):
        J = jacobian(model_fn, torch.randn(n, d))
        seen |= (J != 0).any(dim=3).any(dim=1)
    return [(i, j) for i in range(n) for j in range(i + 1, n) if not seen[i, j]]
""",
        "only the next word": """
def find_leaks(model_fn, n, d):
    from torch.autograd.functional import jacobian
    seen = torch.zeros(n, n, dtype=torch.bool)
    for _ in range(3):
        J = jacobian(model_fn, torch.randn(n, d))
        seen |= (J != 0).any(dim=3).any(dim=1)
    return [(i, j) for i in range(n) for j in range(i + 1, min(i + 2, n)) if seen[i, j]]
""",
        "axes of the jacobian mixed up": """
def find_leaks(model_fn, n, d):
    from torch.autograd.functional import jacobian
    seen = torch.zeros(n, n, dtype=torch.bool)
    for _ in range(3):
        J = jacobian(model_fn, torch.randn(n, d))
        seen |= (J != 0).any(dim=3).any(dim=1)
    return [(i, j) for i in range(n) for j in range(i + 1, n) if seen[j, i]]
""",
        "counted from 1": """
def find_leaks(model_fn, n, d):
    from torch.autograd.functional import jacobian
    seen = torch.zeros(n, n, dtype=torch.bool)
    for _ in range(3):
        J = jacobian(model_fn, torch.randn(n, d))
        seen |= (J != 0).any(dim=3).any(dim=1)
    return [(i + 1, j + 1) for i in range(n) for j in range(i + 1, n) if seen[i, j]]
""",
        "tolerance too loose": """
def find_leaks(model_fn, n, d):
    most = torch.zeros(n, n)
    for seed in range(5):
        x = torch.randn(n, d, generator=torch.Generator().manual_seed(seed))
        J = torch.autograd.functional.jacobian(model_fn, x).reshape(n, d, n, d)
        most = torch.maximum(most, J.abs().amax(dim=(1, 3)))
    return [tuple(pair) for pair in (most.triu(1) > 0.1).nonzero().tolist()]
""",
        "last word never tested": """
def find_leaks(model_fn, n, d):
    pairs = set()
    with torch.no_grad():
        for trial in range(5):
            x = torch.randn(n, d)
            before = model_fn(x.clone())
            for j in range(1, n - 1):
                other = x.clone()
                other[j] = torch.randn(d)
                after = model_fn(other)
                for i in range(j):
                    if not torch.equal(before[i], after[i]):
                        pairs.add((i, j))
    return sorted(pairs)
""",
        "first number of each output only": """
def find_leaks(model_fn, n, d):
    found = set()
    for _ in range(4):
        x = torch.randn(n, d, requires_grad=True)
        y = model_fn(x)
        for i in range(n):
            for c in range(1):
                g = torch.autograd.grad(y[i, c], x, retain_graph=True, allow_unused=True)[0]
                if g is None:
                    continue
                for j in range(i + 1, n):
                    if g[j].abs().max() > 0:
                        found.add((i, j))
    return sorted(found)
""",
        "returns a boolean matrix": """
def find_leaks(model_fn, n, d):
    from torch.autograd.functional import jacobian
    seen = torch.zeros(n, n, dtype=torch.bool)
    for _ in range(3):
        J = jacobian(model_fn, torch.randn(n, d))
        seen |= (J != 0).any(dim=3).any(dim=1)
    return seen.triu(1)
""",
        "returns only whether it leaks": """
def find_leaks(model_fn, n, d):
    from torch.autograd.functional import jacobian
    seen = torch.zeros(n, n, dtype=torch.bool)
    for _ in range(3):
        J = jacobian(model_fn, torch.randn(n, d))
        seen |= (J != 0).any(dim=3).any(dim=1)
    return bool(seen.triu(1).any())
""",
        "returns the number of leaks": """
def find_leaks(model_fn, n, d):
    from torch.autograd.functional import jacobian
    seen = torch.zeros(n, n, dtype=torch.bool)
    for _ in range(3):
        J = jacobian(model_fn, torch.randn(n, d))
        seen |= (J != 0).any(dim=3).any(dim=1)
    return int(seen.triu(1).sum())
""",
        "calls leak": """
def find_leaks(model_fn, n, d):
    L = leak(model_fn, torch.randn(n, d))
    return [(i, j) for i in range(n) for j in range(i + 1, n) if L[i, j] > 0]
""",
        "backward of the sum of each output": """
def find_leaks(model_fn, n, d):
    pairs = []
    for i in range(n):
        x = torch.randn(n, d, requires_grad=True)
        model_fn(x)[i].sum().backward()
        pairs += [(i, j) for j in range(i + 1, n) if x.grad[j].abs().sum() > 0]
    return pairs
""",
        "gradient sums pile up in x.grad from word to word": """
def find_leaks(model_fn, n, d):
    pairs = []
    x = torch.randn(n, d, requires_grad=True)
    for i in reversed(range(n)):
        for c in range(d):
            model_fn(x)[i, c].backward()
        pairs += [(i, j) for j in range(i + 1, n) if x.grad[j].abs().sum() > 0]
    return sorted(pairs)
""",
        "poisons a word with nan, which 0 · nan spreads": """
def find_leaks(model_fn, n, d):
    pairs = []
    for j in range(1, n):
        x = torch.randn(n, d)
        x[j] = float("nan")
        y = model_fn(x)
        pairs += [(i, j) for i in range(j) if y[i].isnan().any()]
    return sorted(pairs)
""",
        "changes the sum of outputs only": """
def find_leaks(model_fn, n, d):
    pairs = []
    x = torch.randn(n, d)
    for j in range(1, n):
        y = x.clone()
        y[j] += 1.0
        a, b = model_fn(x).sum(-1), model_fn(y).sum(-1)
        pairs += [(i, j) for i in range(j) if (a[i] - b[i]).abs() > 1e-5]
    return sorted(pairs)
""",
        "replaces all of the future at once": """
def find_leaks(model_fn, n, d):
    pairs = []
    x = torch.randn(n, d)
    for i in range(n - 1):
        y = x.clone()
        y[i + 1 :] = torch.randn(n - i - 1, d)
        if not torch.equal(model_fn(x)[i], model_fn(y)[i]):
            pairs += [(i, j) for j in range(i + 1, n)]
    return pairs
""",
    },
}

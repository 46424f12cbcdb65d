"""Right and wrong answers to the exercises of chapter `assistant`."""

RIGHT = {
    "assistant.answers-only": {
        "loops": """
def answers_only(read, given, eos_id, pad_id):
    rows = []
    for row, prompt in zip(read.tolist(), given.tolist()):
        tokens = [i for i in row if i != pad_id]
        targets = [pad_id] * prompt + tokens[prompt + 1 :] + [eos_id]
        rows.append(targets + [pad_id] * (len(row) - len(targets)))
    return torch.tensor(rows)
""",
        "numpy": """
import numpy as np
def answers_only(read, given, eos_id, pad_id):
    read, given = read.numpy(), given.numpy()
    padded = np.pad(read, ((0, 0), (0, 1)), constant_values=pad_id)
    padded[np.arange(len(read)), (read != pad_id).sum(1)] = eos_id
    targets = padded[:, 1:]
    targets[np.arange(read.shape[1]) < given[:, None]] = pad_id
    return targets
""",
        "in place on a copy": """
def answers_only(read, given, eos_id, pad_id):
    targets = torch.full_like(read, pad_id)
    targets[:, :-1] = read[:, 1:]
    for b in range(len(read)):
        targets[b, : given[b]] = pad_id
        targets[b, (read[b] != pad_id).nonzero().max()] = eos_id
    return targets
""",
        "scatter": """
def answers_only(read, given, eos_id, pad_id):
    longer = F.pad(read, (0, 1), value=pad_id)
    longer = longer.scatter(1, (read != pad_id).sum(1, keepdim=True), eos_id)[:, 1:]
    counted = torch.arange(read.size(1)).expand_as(read) >= given.unsqueeze(1)
    return torch.where(counted, longer, pad_id)
""",
        "int32": """
def answers_only(read, given, eos_id, pad_id):
    out = []
    for b in range(read.shape[0]):
        n = int((read[b] != pad_id).sum())
        out.append([pad_id if i < given[b] or i >= n else int(read[b, i + 1]) if i + 1 < n else eos_id for i in range(read.shape[1])])
    return torch.tensor(out, dtype=torch.int32)
""",
    },
    "assistant.dpo": {
        "loops": """
def dpo(log_p, before, counts, beta):
    losses = []
    for pair in range(len(log_p)):
        gains = [sum((log_p[pair, a, i] - before[pair, a, i]).item() for i in range(log_p.shape[2]) if counts[pair, a, i]) for a in (0, 1)]
        losses.append(math.log(1 + math.exp(-beta * (gains[0] - gains[1]))))
    return sum(losses) / len(losses)
""",
        "softplus": """
def dpo(log_p, before, counts, beta):
    totals = (log_p - before).masked_fill(~counts, 0).sum(-1)
    return F.softplus(-beta * (totals[:, 0] - totals[:, 1])).mean()
""",
        "cross-entropy of two": """
def dpo(log_p, before, counts, beta):
    rewards = beta * torch.where(counts, log_p - before, 0.0).sum(dim=2)
    return F.cross_entropy(rewards, torch.zeros(len(rewards), dtype=torch.long))
""",
        "ratios, as in the paper": """
def dpo(log_p, before, counts, beta):
    now, then = (log_p * counts).sum(-1), (before * counts).sum(-1)
    pi = now[:, 0] - now[:, 1]
    reference = then[:, 0] - then[:, 1]
    return -torch.log(torch.sigmoid(beta * (pi - reference))).mean()
""",
        "numpy": """
import numpy as np
def dpo(log_p, before, counts, beta):
    gain = np.where(counts.numpy(), log_p.numpy() - before.numpy(), 0).sum(-1).astype(np.float64)
    return np.log1p(np.exp(beta * (gain[:, 1] - gain[:, 0]))).mean()
""",
    },
    "assistant.many-answers": {
        "a product": """
def many_answers(answers, right, k):
    n, c = len(answers), sum(answer == right for answer in answers)
    missed = 1.0
    for i in range(k):
        missed *= max(n - c - i, 0) / (n - i)
    return 1 - missed, max(answers, key=answers.count)
""",
        "every subset": """
from collections import Counter
from itertools import combinations
def many_answers(answers, right, k):
    draws = [right in draw for draw in combinations(answers, k)]
    return sum(draws) / len(draws), Counter(answers).most_common(1)[0][0]
""",
        "a loop that counts": """
def many_answers(answers, right, k):
    counts = {}
    for answer in answers:
        counts[answer] = counts.get(answer, 0) + 1
    best = None
    for answer in counts:
        if best is None or counts[answer] > counts[best]:
            best = answer
    n, c = len(answers), counts.get(right, 0)
    if n - c < k:
        return [1.0, best]
    return [1 - math.comb(n - c, k) / math.comb(n, k), best]
""",
        "numpy, as in the paper": """
import numpy as np
def many_answers(answers, right, k):
    n, c = len(answers), np.sum(np.array(answers) == right)
    passed = 1.0 if n - c < k else 1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1))
    names, first, votes = np.unique(answers, return_index=True, return_counts=True)
    order = np.lexsort((first, -votes))
    return passed, names[order[0]]
""",
        "a sort": """
def many_answers(answers, right, k):
    ways = math.comb(len(answers), k)
    wrong = math.comb(len([a for a in answers if a != right]), k)
    winner = sorted(answers, key=lambda a: (-answers.count(a), answers.index(a)))[0]
    return torch.tensor((ways - wrong) / ways), winner
""",
    },
    "assistant.patch": {
        "a list": """
def patched(run, prompt, other, layer, head):
    seen = []
    run(other, lambda i, heads: seen.append(heads))
    def put(i, heads):
        if i != layer:
            return None
        heads[-1, head, :] = seen[layer][-1, head, :]
        return heads
    return run(prompt, put)
""",
        "a run within the run": """
def patched(run, prompt, other, layer, head):
    def put(i, heads):
        if i == layer:
            said = []
            run(other, lambda j, there: said.append(there[-1, head]) if j == layer else None)
            heads = torch.cat([heads[:-1], heads[-1:].clone()])
            heads[len(heads) - 1][head] = said[0]
        return heads
    return run(prompt, put)
""",
        "one function for both": """
def patched(run, prompt, other, layer, head):
    kept = None
    def visit(i, heads):
        nonlocal kept
        if i == layer:
            if kept is None:
                kept = heads[-1, head].tolist()
            else:
                new = heads.clone()
                new[-1, head] = torch.tensor(kept)
                return new
    run(other, visit)
    return run(prompt, visit)
""",
        "a mask": """
class Patch:
    def __init__(self, layer, head):
        self.layer, self.head, self.there = layer, head, None
    def record(self, i, heads):
        if i == self.layer:
            self.there = heads[-1].clone()
        return heads
    def replace(self, i, heads):
        if i != self.layer:
            return heads
        mask = torch.zeros(heads.shape[:2] + (1,), dtype=torch.bool)
        mask[-1, self.head] = True
        return torch.where(mask, self.there, heads)
def patched(run, prompt, other, layer, head):
    patch = Patch(layer, head)
    run(other, patch.record)
    return run(prompt, patch.replace).tolist()
""",
        "numpy": """
def patched(run, prompt, other, layer, head):
    seen = {}
    run(other, lambda i, heads: seen.update({i: heads.numpy().copy()}))
    def put(i, heads):
        array = heads.numpy().copy()
        if i == layer:
            array[-1, head] = seen[i][-1, head]
        return torch.from_numpy(array)
    return run(prompt, put).numpy()
""",
    },
}

WRONG = {
    "assistant.answers-only": {
        "no <eos>": """
def answers_only(read, given, eos_id, pad_id):
    targets = F.pad(read[:, 1:], (0, 1), value=pad_id)
    for row, prompt in zip(targets, given):
        row[:prompt] = pad_id
    return targets
""",
        "not shifted": """
def answers_only(read, given, eos_id, pad_id):
    targets = read.clone()
    targets[torch.arange(read.shape[1]) <= given[:, None]] = pad_id
    return targets
""",
        "one column short": """
def answers_only(read, given, eos_id, pad_id):
    targets = read[:, 1:].clone()
    for b, prompt in enumerate(given.tolist()):
        targets[b, :prompt] = pad_id
    return targets
""",
        "<eos> on padding": """
def answers_only(read, given, eos_id, pad_id):
    rows = []
    for row, prompt in zip(read.tolist(), given.tolist()):
        following = [i if i != pad_id else eos_id for i in row[1:]] + [eos_id]
        rows.append([pad_id] * prompt + following[prompt:])
    return torch.tensor(rows)
""",
        "the prompt counts": """
def answers_only(read, given, eos_id, pad_id):
    targets = F.pad(read, (0, 1), value=pad_id)
    targets[torch.arange(len(read)), (read != pad_id).sum(1)] = eos_id
    return targets[:, 1:]
""",
        "first token lost": """
def answers_only(read, given, eos_id, pad_id):
    targets = F.pad(read, (0, 1), value=pad_id)
    targets[torch.arange(len(read)), (read != pad_id).sum(1)] = eos_id
    targets = targets[:, 1:].clone()
    for b in range(len(read)):
        targets[b, : given[b] + 1] = pad_id
    return targets
""",
        "changes its input": """
def answers_only(read, given, eos_id, pad_id):
    length = (read != pad_id).sum(1)
    read[:, :-1] = read[:, 1:].clone()
    read[:, -1] = pad_id
    read[torch.arange(len(read)), length - 1] = eos_id
    read[torch.arange(read.shape[1]) < given[:, None]] = pad_id
    return read
""",
    },
    "assistant.dpo": {
        "no frozen model": """
def dpo(log_p, before, counts, beta):
    better, worse = (log_p * counts).sum(-1).unbind(1)
    return F.softplus(beta * (worse - better)).mean()
""",
        "mean per token": """
def dpo(log_p, before, counts, beta):
    losses = []
    for now, then, mask in zip(log_p, before, counts):
        gains = [(now[a][mask[a]] - then[a][mask[a]]).mean() for a in (0, 1)]
        losses.append(-(beta * (gains[0] - gains[1])).sigmoid().log())
    return torch.stack(losses).mean()
""",
        "padding counts": """
def dpo(log_p, before, counts, beta):
    rewards = beta * (log_p - before).sum(dim=2)
    return F.cross_entropy(rewards, torch.zeros(len(rewards), dtype=torch.long))
""",
        "the other preferred": """
def dpo(log_p, before, counts, beta):
    rewards = beta * ((log_p - before) * counts).sum(dim=2)
    return F.cross_entropy(rewards, torch.ones(len(rewards), dtype=torch.long))
""",
        "the loss of the mean": """
def dpo(log_p, before, counts, beta):
    gained = ((log_p - before) * counts).sum(-1).mean(0)
    return math.log(1 + math.exp(-beta * float(gained[0] - gained[1])))
""",
        "no logarithm": """
def dpo(log_p, before, counts, beta):
    gained = ((log_p - before) * counts).sum(-1)
    return -(1 / (1 + torch.exp(-beta * (gained[:, 0] - gained[:, 1])))).mean()
""",
    },
    "assistant.many-answers": {
        "answers put back": """
def many_answers(answers, right, k):
    p = answers.count(right) / len(answers)
    missed = 1
    for _ in range(k):
        missed *= 1 - p
    return 1 - missed, max(answers, key=answers.count)
""",
        "the last of several": """
def many_answers(answers, right, k):
    n, c = len(answers), answers.count(right)
    winner, votes = None, 0
    for answer in dict.fromkeys(reversed(answers)):
        if answers.count(answer) > votes:
            winner, votes = answer, answers.count(answer)
    return 1 - math.comb(n - c, k) / math.comb(n, k), winner
""",
        "first in the alphabet": """
def many_answers(answers, right, k):
    n, c = len(answers), answers.count(right)
    winner = min(answers, key=lambda a: (-answers.count(a), a))
    return 1 - math.comb(n - c, k) / math.comb(n, k), winner
""",
        "all right": """
def many_answers(answers, right, k):
    p, c = 1.0, answers.count(right)
    for i in range(k):
        p *= max(c - i, 0) / (len(answers) - i)
    return p, max(answers, key=answers.count)
""",
        "answer and votes": """
from collections import Counter
def many_answers(answers, right, k):
    n, c = len(answers), answers.count(right)
    return 1 - math.comb(n - c, k) / math.comb(n, k), Counter(answers).most_common()[0]
""",
    },
    "assistant.patch": {
        "nothing patched": """
def patched(run, prompt, other, layer, head):
    seen = {}
    run(other, lambda i, heads: seen.update({i: heads}))
    def put(i, heads):
        if i == layer:
            heads[-1, head] = seen[i][-1, head]
    return run(prompt, put)
""",
        "position counted from the start": """
def patched(run, prompt, other, layer, head):
    seen, last = {}, len(prompt) - 1
    run(other, lambda i, heads: seen.update({i: heads}))
    def put(i, heads):
        if i == layer:
            heads[last, head] = seen[i][last, head]
        return heads
    return run(prompt, put)
""",
        "every head": """
def patched(run, prompt, other, layer, head):
    seen = []
    run(other, lambda i, heads: seen.append(heads[-1]))
    return run(prompt, lambda i, heads: torch.cat([heads[:-1], seen[i][None]]) if i == layer else heads)
""",
        "every layer": """
def patched(run, prompt, other, layer, head):
    seen = []
    run(other, lambda i, heads: seen.append(heads))
    def put(i, heads):
        heads[-1, head] = seen[i][-1, head]
        return heads
    return run(prompt, put)
""",
        "at every position": """
def patched(run, prompt, other, layer, head):
    seen = {}
    run(other, lambda i, heads: seen.update({i: heads}))
    def put(i, heads):
        if i == layer:
            for position in range(len(heads)):
                heads[position, head] = seen[i][-1, head]
        return heads
    return run(prompt, put)
""",
        "prompts swapped": """
def patched(run, prompt, other, layer, head):
    said = []
    run(prompt, lambda i, heads: said.append(heads[-1, head]))
    def put(i, heads):
        if i == layer:
            heads[-1][head] = said[layer]
        return heads
    return run(other, put)
""",
    },
}

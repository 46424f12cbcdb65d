"""Right and wrong answers to the exercises of chapter `evaluation`."""

RIGHT = {
    "evaluation.mend-bleu": {
        "loops": """
def corpus_bleu(rows):
    matched, total, words, reference_words = [0] * 4, [0] * 4, 0, 0
    for m, g, w, r in rows:
        for k in range(4):
            matched[k] += m[k]
            total[k] += g[k]
        words += w
        reference_words += r
    if 0 in matched:
        return 0.0
    precisions = [m / g for m, g in zip(matched, total)]
    brevity = min(1, math.exp(1 - reference_words / words))
    return 100 * brevity * math.prod(precisions) ** (1 / 4)
""",
        "zip": """
def corpus_bleu(rows):
    matches, ngrams, words, references = zip(*rows)
    matches, ngrams = [sum(column) for column in zip(*matches)], [sum(column) for column in zip(*ngrams)]
    words, references = sum(words), sum(references)
    if not all(matches):
        return 0
    logs = sum(math.log(m) - math.log(g) for m, g in zip(matches, ngrams)) / 4
    return 100 * math.exp(logs + min(0, 1 - references / words))
""",
        "tensors": """
def corpus_bleu(rows):
    table = torch.tensor([[*m, *g, w, r] for m, g, w, r in rows], dtype=torch.float64).sum(dim=0)
    matches, ngrams, words, references = table[:4], table[4:8], table[8], table[9]
    if (matches == 0).any():
        return torch.tensor(0.0)
    brevity = torch.exp((1 - references / words).clamp(max=0))
    return 100 * brevity * (matches / ngrams).log().mean().exp()
""",
        "the program with one row": """
def corpus_bleu(rows):
    def of_one(matches, ngrams, words, reference_words):
        precisions = [m / g if g else 0 for m, g in zip(matches, ngrams)]
        brevity = min(1, math.exp(1 - reference_words / words)) if words else 0
        return 100 * brevity * math.prod(precisions) ** (1 / 4)
    matches = [sum(row[0][k] for row in rows) for k in range(4)]
    ngrams = [sum(row[1][k] for row in rows) for k in range(4)]
    return of_one(matches, ngrams, sum(row[2] for row in rows), sum(row[3] for row in rows))
""",
        "an exception is 0": """
def corpus_bleu(rows):
    try:
        score = 100.0
        for k in range(4):
            score *= (sum(m[k] for m, _, _, _ in rows) / sum(g[k] for _, g, _, _ in rows)) ** 0.25
        c, r = sum(w for _, _, w, _ in rows), sum(r for _, _, _, r in rows)
        return score if c > r else score * math.exp(1 - r / c)
    except ZeroDivisionError:
        return 0.0
""",
    },
    "evaluation.edits": {
        "table": """
def error_rate(hypotheses, references):
    def edits(ours, theirs):
        table = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
        for i in range(len(ours) + 1):
            table[i][0] = i
        for j in range(len(theirs) + 1):
            table[0][j] = j
        for i in range(1, len(ours) + 1):
            for j in range(1, len(theirs) + 1):
                differ = ours[i - 1] != theirs[j - 1]
                table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + differ)
        return table[-1][-1]
    total = sum(edits(ours, theirs) for ours, theirs in zip(hypotheses, references))
    words = sum(len(theirs) for theirs in references)
    return total / words
""",
        "two rows": """
def error_rate(hypotheses, references):
    total = 0
    for ours, theirs in zip(hypotheses, references):
        row = list(range(len(theirs) + 1))
        for i, word in enumerate(ours, 1):
            new = [i]
            for j, other in enumerate(theirs, 1):
                new.append(min(row[j] + 1, new[-1] + 1, row[j - 1] + (word != other)))
            row = new
        total += row[-1]
    return total / sum(map(len, references))
""",
        "recursion, remembered": """
def error_rate(hypotheses, references):
    from functools import cache
    def edits(ours, theirs):
        @cache
        def left(i, j):
            if i == len(ours) or j == len(theirs):
                return len(ours) - i + len(theirs) - j
            if ours[i] == theirs[j]:
                return left(i + 1, j + 1)
            return 1 + min(left(i + 1, j), left(i, j + 1), left(i + 1, j + 1))
        return left(0, 0)
    return sum(map(edits, hypotheses, references)) / sum(map(len, references))
""",
        "recursion on lists": """
def error_rate(hypotheses, references):
    def edits(ours, theirs):
        if not ours or not theirs:
            return len(ours) + len(theirs)
        if ours[0] == theirs[0]:
            return edits(ours[1:], theirs[1:])
        return 1 + min(edits(ours[1:], theirs), edits(ours, theirs[1:]), edits(ours[1:], theirs[1:]))
    return sum(map(edits, hypotheses, references)) / sum(map(len, references))
""",
        "breadth first": """
def error_rate(hypotheses, references):
    def edits(ours, theirs):
        front, steps = {(0, 0)}, 0
        while True:
            reached = set()
            for i, j in front:
                while i < len(ours) and j < len(theirs) and ours[i] == theirs[j]:
                    i, j = i + 1, j + 1
                reached.add((i, j))
            if (len(ours), len(theirs)) in reached:
                return steps
            front = {(i + a, j + b) for i, j in reached for a, b in ((1, 0), (0, 1), (1, 1))
                     if i + a <= len(ours) and j + b <= len(theirs)}
            steps += 1
    words = total = 0
    for ours, theirs in zip(hypotheses, references):
        total += edits(ours, theirs)
        words += len(theirs)
    return torch.tensor(total / words, dtype=torch.float64)
""",
    },
    "evaluation.swap": {
        "loops": """
def p_value(ours, theirs, score, coins):
    observed = abs(score(ours) - score(theirs))
    count = 0
    for coin in coins:
        first, second = [], []
        for a, b, exchange in zip(ours, theirs, coin):
            first.append(b if exchange else a)
            second.append(a if exchange else b)
        if abs(score(first) - score(second)) >= observed:
            count += 1
    return (count + 1) / (len(coins) + 1)
""",
        "comprehensions": """
def p_value(ours, theirs, score, coins):
    def difference(coin):
        pairs = [(b, a) if exchange else (a, b) for a, b, exchange in zip(ours, theirs, coin)]
        first, second = zip(*pairs)
        return abs(score(first) - score(second))
    observed = difference([False] * len(ours))
    return (1 + sum(difference(coin) >= observed for coin in coins)) / (1 + len(coins))
""",
        "copies, exchanged in place": """
def p_value(ours, theirs, score, coins):
    observed, extreme = abs(score(theirs) - score(ours)), 1
    for coin in coins:
        a, b = list(ours), list(theirs)
        for i, exchange in enumerate(coin):
            if exchange:
                a[i], b[i] = b[i], a[i]
        extreme += abs(score(b) - score(a)) >= observed
    return extreme / (len(coins) + 1)
""",
        "the observed one among the trials": """
def p_value(ours, theirs, score, coins):
    differences = []
    for coin in [[False] * len(ours), *coins]:
        both = [[(a, b)[c], (b, a)[c]] for a, b, c in zip(ours, theirs, coin)]
        differences.append(abs(score([x for x, _ in both]) - score([y for _, y in both])))
    return sum(d >= differences[0] for d in differences) / len(differences)
""",
        "tensors": """
def p_value(ours, theirs, score, coins):
    a, b = torch.tensor(ours), torch.tensor(theirs)
    observed = abs(score(a.tolist()) - score(b.tolist()))
    found = []
    for coin in coins:
        turn = torch.tensor(coin).unsqueeze(1)
        first, second = torch.where(turn, b, a), torch.where(turn, a, b)
        found.append(abs(score(first.tolist()) - score(second.tolist())) >= observed)
    return torch.tensor((sum(found) + 1) / (len(found) + 1))
""",
        "with room for rounding": """
def p_value(ours, theirs, score, coins):
    observed = abs(score(ours) - score(theirs))
    count = 0
    for coin in coins:
        first, second = [], []
        for a, b, exchange in zip(ours, theirs, coin):
            first.append(b if exchange else a)
            second.append(a if exchange else b)
        if abs(score(first) - score(second)) >= observed - 1e-9:
            count += 1
    return (count + 1) / (len(coins) + 1)
""",
    },
    "evaluation.budget": {
        "each with each": """
def frontier(systems):
    left = []
    for name, score, cost in systems:
        beaten = False
        for _, other, price in systems:
            if other >= score and price <= cost and (other > score or price < cost):
                beaten = True
        if not beaten:
            left.append((cost, name))
    return [name for cost, name in sorted(left)]
""",
        "from cheap to dear": """
def frontier(systems):
    names, best, paid = [], -math.inf, None
    for name, score, cost in sorted(systems, key=lambda row: (row[2], -row[1])):
        if score > best or (score == best and cost == paid):
            names.append(name)
            best, paid = score, cost
    return names
""",
        "comprehension": """
def frontier(systems):
    def beats(a, b):
        return a[1] >= b[1] and a[2] <= b[2] and a[1:] != b[1:]
    rows = sorted(systems, key=lambda row: row[2])
    return [row[0] for row in rows if not any(beats(other, row) for other in rows)]
""",
        "best at its cost, and better than all cheaper": """
def frontier(systems):
    found = []
    for cost in sorted({row[2] for row in systems}):
        best = max(row[1] for row in systems if row[2] == cost)
        cheaper = [row[1] for row in systems if row[2] < cost]
        if not cheaper or best > max(cheaper):
            found += [row[0] for row in systems if row[2] == cost and row[1] == best]
    return tuple(found)
""",
        "one thrown out after the other": """
def frontier(systems):
    left = list(systems)
    for a in systems:
        left = [b for b in left if not (a[1] >= b[1] and a[2] <= b[2] and (a[1], a[2]) != (b[1], b[2]))]
    return [row[0] for row in sorted(left, key=lambda row: row[2])]
""",
        "equal ones in another order": """
def frontier(systems):
    left = [b for b in systems if all(a[1] < b[1] or a[2] > b[2] or (a[1] == b[1] and a[2] == b[2]) for a in systems)]
    left.sort(key=lambda row: row[2], reverse=True)
    return [row[0] for row in left[::-1]]
""",
    },
    "evaluation.how-many": {
        "begin anew after each failure": """
def least_size(difference, sizes):
    least = 0
    for n in sizes:
        outside = 0
        for _ in range(10):
            low, high = difference(n)
            if low > 0 or high < 0:
                outside += 1
        if outside >= 8:
            if least == 0:
                least = n
        else:
            least = 0
    return least
""",
        "from the largest down": """
def least_size(difference, sizes):
    least = 0
    for n in reversed(sizes):
        intervals = [difference(n) for _ in range(10)]
        if sum(low > 0 or high < 0 for low, high in intervals) < 8:
            break
        least = n
    return least
""",
        "all sizes first": """
def least_size(difference, sizes):
    fits = {}
    for n in sizes:
        fits[n] = sum(low * high > 0 for low, high in (difference(n) for _ in range(10))) > 7
    for n in sizes:
        if all(fits[m] for m in sizes if m >= n):
            return n
    return 0
""",
        "asked again for each beginning": """
def least_size(difference, sizes):
    def fits(n):
        held = 0
        for _ in range(10):
            low, high = difference(n)
            held += low <= 0 <= high
        return held <= 2
    for start, n in enumerate(sizes):
        if all([fits(m) for m in sizes[start:]]):
            return n
    return 0
""",
        "tensors": """
def least_size(difference, sizes):
    low, high = torch.tensor([[difference(n) for _ in range(10)] for n in sizes]).unbind(-1)
    enough = ((low > 0) | (high < 0)).sum(dim=1) >= 8
    from_on = enough.flip(0).long().cumprod(0).flip(0)
    return sizes[from_on.argmax()] if from_on.any() else 0
""",
        "a hundred tests a size": """
def least_size(difference, sizes):
    least = 0
    for n in sizes[::-1]:
        outside = sum(low > 0 or high < 0 for low, high in [difference(n) for _ in range(100)])
        if outside < 80:
            return least
        least = n
    return least
""",
    },
}

WRONG = {
    "evaluation.mend-bleu": {
        "brevity from a mean of ratios": """
def corpus_bleu(rows):
    matched, total, words, reference_words = [0] * 4, [0] * 4, 0, 0
    for m, g, w, r in rows:
        for k in range(4):
            matched[k] += m[k]
            total[k] += g[k]
        words += w
        reference_words += r
    if 0 in matched:
        return 0.0
    precisions = [m / g for m, g in zip(matched, total)]
    ratios = [r / w for _, _, w, r in rows if w]
    brevity = min(1, math.exp(1 - sum(ratios) / len(ratios)))
    return 100 * brevity * math.prod(precisions) ** (1 / 4)
""",
        "changes its input": """
def corpus_bleu(rows):
    matches, ngrams, words, references = rows[0]
    for m, g, w, r in rows[1:]:
        for k in range(4):
            matches[k] += m[k]
            ngrams[k] += g[k]
        words, references = words + w, references + r
    if 0 in matches:
        return 0.0
    precisions = [m / g for m, g in zip(matches, ngrams)]
    return 100 * min(1, math.exp(1 - references / words)) * math.prod(precisions) ** 0.25
""",
        "brevity of each sentence": """
def corpus_bleu(rows):
    matches, ngrams, brevities = [0] * 4, [0] * 4, []
    for m, g, words, reference_words in rows:
        matches = [a + b for a, b in zip(matches, m)]
        ngrams = [a + b for a, b in zip(ngrams, g)]
        brevities.append(min(1, math.exp(1 - reference_words / words)) if words else 0)
    precisions = [m / g if g else 0 for m, g in zip(matches, ngrams)]
    brevity = sum(brevities) / len(brevities)
    return 100 * brevity * math.prod(precisions) ** (1 / 4)
""",
        "length is rewarded": """
def corpus_bleu(rows):
    matches = [sum(row[0][i] for row in rows) for i in range(4)]
    ngrams = [sum(row[1][i] for row in rows) for i in range(4)]
    words = sum(row[2] for row in rows)
    reference_words = sum(row[3] for row in rows)
    if words == 0 or 0 in matches:
        return 0.0
    precisions = [m / g for m, g in zip(matches, ngrams)]
    return 100 * math.exp(1 - reference_words / words) * math.prod(precisions) ** 0.25
""",
    },
    "evaluation.edits": {
        "words of both sides": """
def error_rate(hypotheses, references):
    def edits(ours, theirs):
        table = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
        for i in range(len(ours) + 1):
            table[i][0] = i
        for j in range(len(theirs) + 1):
            table[0][j] = j
        for i in range(1, len(ours) + 1):
            for j in range(1, len(theirs) + 1):
                differ = ours[i - 1] != theirs[j - 1]
                table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + differ)
        return table[-1][-1]
    total = sum(edits(ours, theirs) for ours, theirs in zip(hypotheses, references))
    words = sum(len(theirs) for theirs in references)
    words += sum(len(ours) for ours in hypotheses)
    return total / words
""",
        "changes its input": """
def error_rate(hypotheses, references):
    words, total = sum(map(len, references)), 0
    for ours, theirs in zip(hypotheses, references):
        while ours and theirs and ours[-1] == theirs[-1]:
            ours.pop()
            theirs.pop()
        row = list(range(len(theirs) + 1))
        for i, word in enumerate(ours, 1):
            new = [i]
            for j, other in enumerate(theirs, 1):
                new.append(min(row[j] + 1, new[-1] + 1, row[j - 1] + (word != other)))
            row = new
        total += row[-1]
    return total / words
""",
        "mean of the sentences' rates": """
def error_rate(hypotheses, references):
    def edits(a, b):
        row = list(range(len(b) + 1))
        for i, x in enumerate(a, 1):
            new = [i]
            for j, y in enumerate(b, 1):
                new.append(min(row[j] + 1, new[-1] + 1, row[j - 1] + (x != y)))
            row = new
        return row[-1]
    rates = [edits(h, r) / len(r) for h, r in zip(hypotheses, references)]
    return sum(rates) / len(rates)
""",
        "an exchange costs two": """
def error_rate(hypotheses, references):
    total = 0
    for h, r in zip(hypotheses, references):
        D = [[0] * (len(r) + 1) for _ in range(len(h) + 1)]
        for i in range(len(h) + 1):
            for j in range(len(r) + 1):
                if i == 0 or j == 0:
                    D[i][j] = i + j
                elif h[i - 1] == r[j - 1]:
                    D[i][j] = D[i - 1][j - 1]
                else:
                    D[i][j] = 1 + min(D[i - 1][j], D[i][j - 1])
        total += D[-1][-1]
    return total / sum(len(r) for r in references)
""",
    },
    "evaluation.swap": {
        "own coins": """
import random

own = random.Random(0)

def p_value(ours, theirs, score, coins):
    observed = abs(score(ours) - score(theirs))
    count = 0
    for coin in coins:
        coin = [own.random() < 0.5 for _ in ours]
        first, second = [], []
        for a, b, exchange in zip(ours, theirs, coin):
            first.append(b if exchange else a)
            second.append(a if exchange else b)
        if abs(score(first) - score(second)) >= observed:
            count += 1
    return (count + 1) / (len(coins) + 1)
""",
        "changes its input": """
def p_value(ours, theirs, score, coins):
    observed, count = abs(score(ours) - score(theirs)), 1
    coins.append([False] * len(ours))
    for coin in coins[:-1]:
        pairs = [(b, a) if exchange else (a, b) for a, b, exchange in zip(ours, theirs, coin)]
        count += abs(score([a for a, _ in pairs]) - score([b for _, b in pairs])) >= observed
    return count / len(coins)
""",
        "one direction": """
def p_value(ours, theirs, score, coins):
    observed = score(ours) - score(theirs)
    count = 0
    for trial in coins:
        a = [t if c else o for o, t, c in zip(ours, theirs, trial)]
        b = [o if c else t for o, t, c in zip(ours, theirs, trial)]
        if score(a) - score(b) >= observed:
            count += 1
    return (count + 1) / (len(coins) + 1)
""",
        "as large does not count": """
def p_value(ours, theirs, score, coins):
    observed = abs(score(ours) - score(theirs))
    count = 0
    for trial in coins:
        a = [t if c else o for o, t, c in zip(ours, theirs, trial)]
        b = [o if c else t for o, t, c in zip(ours, theirs, trial)]
        count += abs(score(a) - score(b)) > observed
    return (count + 1) / (len(coins) + 1)
""",
    },
    "evaluation.budget": {
        "the best only": """
def frontier(systems):
    ranked = sorted(systems, key=lambda row: -row[1])
    return [row[0] for row in ranked[:1]]
""",
        "changes its input": """
def frontier(systems):
    systems.sort(key=lambda row: row[2])
    def beats(a, b):
        return a[1] >= b[1] and a[2] <= b[2] and a[1:] != b[1:]
    return [row[0] for row in systems if not any(beats(other, row) for other in systems)]
""",
        "beaten only by what is better in both": """
def frontier(systems):
    left = [s for s in systems
            if not any(o[1] > s[1] and o[2] < s[2] for o in systems)]
    return [name for name, _, _ in sorted(left, key=lambda s: s[2])]
""",
        "equal ones beat each other": """
def frontier(systems):
    left = []
    for name, bleu, flops in systems:
        beaten = any(b >= bleu and f <= flops for other, b, f in systems if other != name)
        if not beaten:
            left.append((flops, name))
    return [name for _, name in sorted(left)]
""",
    },
    "evaluation.how-many": {
        "nothing for none": """
def least_size(difference, sizes):
    least = 0
    for n in sizes:
        outside = 0
        for _ in range(10):
            low, high = difference(n)
            if low > 0 or high < 0:
                outside += 1
        if outside >= 8:
            if least == 0:
                least = n
        else:
            least = 0
    if least:
        return least
""",
        "no call": """
def least_size(difference, sizes):
    return sizes[len(sizes) // 2]
""",
        "changes its input": """
def least_size(difference, sizes):
    least = 0
    while sizes:
        n = sizes.pop()
        if sum(low > 0 or high < 0 for low, high in [difference(n) for _ in range(10)]) < 8:
            break
        least = n
    return least
""",
        "the first that fits": """
def least_size(difference, sizes):
    for n in sizes:
        clear = 0
        for _ in range(10):
            low, high = difference(n)
            if low > 0 or high < 0:
                clear += 1
        if clear >= 8:
            return n
    return 0
""",
        "above 0 only": """
def least_size(difference, sizes):
    answer = 0
    for n in reversed(sizes):
        clear = sum(difference(n)[0] > 0 for _ in range(10))
        if clear < 8:
            break
        answer = n
    return answer
""",
    },
}

ALSO_WRONG = {
    "evaluation.mend-bleu": {
        "mean of the precisions": [
            """
def corpus_bleu(rows):
    matched, total, words, reference_words = [0] * 4, [0] * 4, 0, 0
    for m, g, w, r in rows:
        for k in range(4):
            matched[k] += m[k]
            total[k] += g[k]
        words += w
        reference_words += r
    if 0 in matched:
        return 0.0
    precisions = [m / g for m, g in zip(matched, total)]
    brevity = min(1, math.exp(1 - reference_words / words))
    return 100 * brevity * torch.tensor(precisions, dtype=torch.float64).mean()
""",
        ],
        "no brevity": [
            """
def corpus_bleu(rows):
    matched, total, words, reference_words = [0] * 4, [0] * 4, 0, 0
    for m, g, w, r in rows:
        for k in range(4):
            matched[k] += m[k]
            total[k] += g[k]
        words += w
        reference_words += r
    if 0 in matched:
        return 0.0
    precisions = [m / g for m, g in zip(matched, total)]
    brevity = 1 if words else 0
    return 100 * brevity * math.prod(precisions) ** (1 / 4)
""",
        ],
    },
    "evaluation.edits": {
        "empty sentences left out": [
            """
def error_rate(hypotheses, references):
    def edits(ours, theirs):
        table = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
        for i in range(len(ours) + 1):
            table[i][0] = i
        for j in range(len(theirs) + 1):
            table[0][j] = j
        for i in range(1, len(ours) + 1):
            for j in range(1, len(theirs) + 1):
                differ = ours[i - 1] != theirs[j - 1]
                table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + differ)
        return table[-1][-1]
    total = sum(edits(ours, theirs) for ours, theirs in zip(hypotheses, references) if ours)
    words = sum(len(theirs) for theirs in references)
    return total / words
""",
            """
def error_rate(hypotheses, references):
    def edits(ours, theirs):
        table = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
        for i in range(len(ours) + 1):
            table[i][0] = i
        for j in range(len(theirs) + 1):
            table[0][j] = j
        for i in range(1, len(ours) + 1):
            for j in range(1, len(theirs) + 1):
                differ = ours[i - 1] != theirs[j - 1]
                table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + differ)
        return table[-1][-1]
    total = sum(edits(ours, theirs) for ours, theirs in zip(hypotheses, references) if theirs)
    words = sum(len(theirs) for theirs in references)
    return total / words
""",
        ],
        "an exchange costs two": [
            """
def error_rate(hypotheses, references):
    def common(a, b):
        row = [0] * (len(b) + 1)
        for x in a:
            new = [0]
            for j, y in enumerate(b):
                new.append(row[j] + 1 if x == y else max(row[j + 1], new[-1]))
            row = new
        return row[-1]
    total = sum(len(a) + len(b) - 2 * common(a, b) for a, b in zip(hypotheses, references))
    return total / sum(map(len, references))
""",
        ],
        "words of the hypotheses": [
            """
def error_rate(references, hypotheses):
    def edits(ours, theirs):
        table = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
        for i in range(len(ours) + 1):
            table[i][0] = i
        for j in range(len(theirs) + 1):
            table[0][j] = j
        for i in range(1, len(ours) + 1):
            for j in range(1, len(theirs) + 1):
                differ = ours[i - 1] != theirs[j - 1]
                table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + differ)
        return table[-1][-1]
    total = sum(edits(ours, theirs) for ours, theirs in zip(hypotheses, references))
    words = sum(len(theirs) for theirs in references)
    return total / words
""",
        ],
    },
    "evaluation.swap": {
        "exchanges pile up": [
            """
def p_value(ours, theirs, score, coins):
    observed, count = abs(score(ours) - score(theirs)), 0
    for coin in coins:
        for i, exchange in enumerate(coin):
            if exchange:
                ours[i], theirs[i] = theirs[i], ours[i]
        if abs(score(ours) - score(theirs)) >= observed:
            count += 1
    return (count + 1) / (len(coins) + 1)
""",
            """
def p_value(ours, theirs, score, coins):
    found = []
    for coin in coins:
        for i in range(len(ours)):
            if coin[i]:
                ours[i], theirs[i] = theirs[i], ours[i]
        found.append(abs(score(ours) - score(theirs)))
    observed = abs(score(ours) - score(theirs))
    return (sum(d >= observed for d in found) + 1) / (len(coins) + 1)
""",
        ],
        "size of one of the two only": [
            """
def p_value(ours, theirs, score, coins):
    observed = abs(score(ours) - score(theirs))
    count = 0
    for coin in coins:
        first, second = [], []
        for a, b, exchange in zip(ours, theirs, coin):
            first.append(b if exchange else a)
            second.append(a if exchange else b)
        if score(first) - score(second) >= observed:
            count += 1
    return (count + 1) / (len(coins) + 1)
""",
        ],
        "sign counted": [
            """
def p_value(ours, theirs, score, coins):
    observed = abs(score(ours) - score(theirs))
    count = 0
    for coin in coins:
        first, second = [], []
        for a, b, exchange in zip(ours, theirs, coin):
            first.append(b if exchange else a)
            second.append(a if exchange else b)
        if not score(first) > score(second):
            count += 1
    return (count + 1) / (len(coins) + 1)
""",
        ],
    },
    "evaluation.budget": {
        "all, by BLEU": [
            """
def frontier(systems):
    return [name for name, _, _ in sorted(systems, key=lambda row: row[1])]
""",
        ],
        "better is asked, cheaper not": [
            """
def frontier(systems):
    names, best = [], 0
    for name, score, cost in sorted(systems, key=lambda row: (row[2], -row[1])):
        if score >= best:
            names.append(name)
            best = score
    return names
""",
        ],
        "dearest first": [
            """
def frontier(systems):
    names, least = [], math.inf
    for name, score, cost in sorted(systems, key=lambda row: (-row[1], row[2])):
        if cost < least or (names and (score, cost) == last):
            names.append(name)
            least, last = cost, (score, cost)
    return names
""",
        ],
    },
    "evaluation.how-many": {
        "one test a size": [
            """
def least_size(difference, sizes):
    for n in sizes:
        low, high = difference(n)
        if low > 0 or high < 0:
            return n
    return 0
""",
        ],
    },
}

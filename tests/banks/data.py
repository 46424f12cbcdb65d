"""Right and wrong answers to the exercises of chapter `data`."""

RIGHT = {
    "data.best-pair": {
        "a dictionary and a loop": """
def best_pair(words):
    counts = {}
    for pieces, count in words:
        for i in range(len(pieces) - 1):
            pair = (pieces[i], pieces[i + 1])
            counts[pair] = counts.get(pair, 0) + count
    best = None
    for pair in sorted(counts):
        if best is None or counts[pair] > counts[best]:
            best = pair
    return best
""",
        "sorted, most frequent first": """
def best_pair(words):
    from itertools import pairwise
    from collections import Counter
    counts = Counter(pair for pieces, count in words for pair in list(pairwise(pieces)) * count)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[0][0]
""",
        "a list comes back": """
def best_pair(words):
    counts = {}
    for pieces, count in words:
        for left, right in zip(pieces[:-1], pieces[1:]):
            counts.setdefault((left, right), []).append(count)
    most = max(sum(each) for each in counts.values())
    return list(min(pair for pair in counts if sum(counts[pair]) == most))
""",
    },
    "data.segment": {
        "while loops": """
def segment(word, merges):
    pieces = list(word)
    pieces[-1] += "·"
    for left, right in merges:
        i = 0
        while i + 1 < len(pieces):
            if pieces[i] == left and pieces[i + 1] == right:
                pieces[i] = left + right
                del pieces[i + 1]
            i += 1
    return pieces
""",
        "the earliest pair that is there, again and again": """
def segment(word, merges):
    rank = {tuple(pair): i for i, pair in enumerate(merges)}
    pieces = [*word[:-1], word[-1] + "·"]
    while len(pieces) > 1:
        pairs = list(zip(pieces, pieces[1:]))
        best = min(pairs, key=lambda pair: rank.get(pair, len(rank)))
        if best not in rank:
            break
        i = pairs.index(best)
        pieces[i : i + 2] = ["".join(best)]
    return pieces
""",
        "as text, with care": """
def segment(word, merges):
    import re
    text = " ".join([*word[:-1], word[-1] + "·"])
    for pair in merges:
        text = re.sub(r"(?<!\\S)" + re.escape(" ".join(pair)) + r"(?!\\S)", "".join(pair), text)
    return text.split(" ")
""",
    },
    "data.waste": {
        "tensors": """
def waste(batches):
    real = sum(torch.tensor(lengths).sum() for lengths in batches)
    places = sum(len(lengths) * torch.tensor(lengths).max() for lengths in batches)
    return 1 - real / places
""",
        "places counted one by one": """
def waste(batches):
    empty = total = 0
    for lengths in batches:
        for length in lengths:
            empty += max(lengths) - length
            total += max(lengths)
    return empty / total
""",
    },
    "data.collate": {
        "one rectangle of <bos> … <eos>, by hand": """
def collate(src, tgt):
    def fill(rows):
        ids = torch.zeros(len(rows), max(len(row) for row in rows), dtype=torch.long)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
        return ids
    return fill([row + [2] for row in src]), fill([[1] + row for row in tgt]), fill([row + [2] for row in tgt])
""",
        "the output from the input": """
def collate(src, tgt):
    from torch.nn.utils.rnn import pad_sequence
    sources = pad_sequence([torch.tensor([*row, 2]) for row in src], batch_first=True)
    tgt_in = pad_sequence([torch.tensor([1, *row]) for row in tgt], batch_first=True)
    tgt_out = torch.cat([tgt_in[:, 1:], torch.zeros(len(tgt), 1, dtype=torch.long)], dim=1)
    for i, row in enumerate(tgt):
        tgt_out[i, len(row)] = 2
    return sources, tgt_in, tgt_out
""",
    },
    "data.pack": {
        "from the longest down": """
def pack(lengths, max_tokens):
    groups = []
    waiting = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    while waiting:
        fits = max(1, max_tokens // lengths[waiting[0]])
        groups.append(waiting[:fits])
        waiting = waiting[fits:]
    return groups
""",
        "as it is in the library": """
def pack(lengths, max_tokens):
    def cut(order):
        group = []
        for i in order:
            if group and lengths[i] * (len(group) + 1) > max_tokens:
                yield group
                group = []
            group.append(i)
        if group:
            yield group
    return list(cut(sorted(range(len(lengths)), key=lambda i: lengths[i])))
""",
        "argsort of a tensor": """
def pack(lengths, max_tokens):
    groups, group = [], []
    for i in torch.tensor(lengths).argsort().tolist():
        longest = max([lengths[k] for k in group] + [lengths[i]])
        if group and longest * (len(group) + 1) > max_tokens:
            groups, group = groups + [group], []
        group.append(i)
    return groups + [group]
""",
    },
    "data.split": {
        "crc32": """
def in_test(source, target):
    import zlib
    return zlib.crc32(source.encode("utf-8")) % 10 == 3
""",
        "first byte of a digest": """
def in_test(source, target):
    import hashlib
    return hashlib.md5(source.encode()).digest()[0] < 26
""",
    },
}

WRONG = {
    "data.best-pair": {
        "words not weighed": """
def best_pair(words):
    from collections import Counter
    counts = Counter(pair for pieces, _ in words for pair in zip(pieces, pieces[1:]))
    return min(counts, key=lambda pair: (-counts[pair], pair))
""",
        "once a word": """
def best_pair(words):
    counts = {}
    for pieces, count in words:
        for pair in set(zip(pieces, pieces[1:])):
            counts[pair] = counts.get(pair, 0) + count
    return min(counts, key=lambda pair: (-counts[pair], pair))
""",
        "tie the other way": """
def best_pair(words):
    from collections import Counter
    counts = Counter()
    for pieces, count in words:
        for pair in zip(pieces, pieces[1:]):
            counts[pair] += count
    return max(counts, key=lambda pair: (counts[pair], pair))
""",
        "rarest pair": """
def best_pair(words):
    from collections import Counter
    counts = Counter()
    for pieces, count in words:
        for pair in zip(pieces, pieces[1:]):
            counts[pair] += count
    return min(counts, key=lambda pair: (counts[pair], pair))
""",
        "most frequent symbol": """
def best_pair(words):
    from collections import Counter
    counts = Counter()
    for pieces, count in words:
        for piece in pieces:
            counts[piece] += count
    return (counts.most_common(1)[0][0],) * 2
""",
    },
    "data.segment": {
        "no end mark": """
def segment(word, merges):
    pieces = list(word)
    for left, right in merges:
        i = 0
        while i + 1 < len(pieces):
            if (pieces[i], pieces[i + 1]) == (left, right):
                pieces[i : i + 2] = [left + right]
            i += 1
    return pieces
""",
        "first place only": """
def segment(word, merges):
    pieces = [*word[:-1], word[-1] + "·"]
    for left, right in merges:
        for i in range(len(pieces) - 1):
            if (pieces[i], pieces[i + 1]) == (left, right):
                pieces[i : i + 2] = [left + right]
                break
    return pieces
""",
        "longest match": """
def segment(word, merges):
    known = {left + right for left, right in merges}
    rest, pieces = word + "·", []
    while rest:
        for size in range(len(rest), 0, -1):
            if rest[:size] in known or size == 1 or rest[:size] == rest == rest[0] + "·":
                break
        pieces.append(rest[:size])
        rest = rest[size:]
    return pieces
""",
        "last merge first": """
def segment(word, merges):
    pieces = [*word[:-1], word[-1] + "·"]
    for left, right in reversed(merges):
        i = 0
        while i + 1 < len(pieces):
            if (pieces[i], pieces[i + 1]) == (left, right):
                pieces[i : i + 2] = [left + right]
            i += 1
    return pieces
""",
        "replaced as text": """
def segment(word, merges):
    text = " ".join(word) + "·"
    for left, right in merges:
        text = text.replace(left + " " + right, left + right)
    return text.split(" ")
""",
    },
    "data.waste": {
        "mean of the shares": """
def waste(batches):
    shares = [1 - sum(lengths) / (len(lengths) * max(lengths)) for lengths in batches]
    return sum(shares) / len(shares)
""",
        "padding over real tokens": """
def waste(batches):
    real = sum(sum(lengths) for lengths in batches)
    places = sum(len(lengths) * max(lengths) for lengths in batches)
    return (places - real) / real
""",
        "one longest for all": """
def waste(batches):
    lengths = [length for batch in batches for length in batch]
    return 1 - sum(lengths) / (max(lengths) * len(lengths))
""",
        "share of real tokens": """
def waste(batches):
    return sum(map(sum, batches)) / sum(len(lengths) * max(lengths) for lengths in batches)
""",
        "padding counted": """
def waste(batches):
    return sum(max(lengths) - length for lengths in batches for length in lengths)
""",
    },
    "data.collate": {
        "source without <eos>": """
def collate(src, tgt):
    from torch.nn.utils.rnn import pad_sequence
    pad = lambda rows: pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    return pad(src), pad([[1, *row] for row in tgt]), pad([[*row, 2] for row in tgt])
""",
        "<eos> after the padding": """
def collate(src, tgt):
    from torch.nn.utils.rnn import pad_sequence
    pad = lambda rows: pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    bos, eos = torch.full((len(src), 1), 1), torch.full((len(src), 1), 2)
    return torch.cat([pad(src), eos], 1), torch.cat([bos, pad(tgt)], 1), torch.cat([pad(tgt), eos], 1)
""",
        "padded on the left": """
def collate(src, tgt):
    def pad(rows):
        longest = max(map(len, rows))
        return torch.tensor([[0] * (longest - len(row)) + row for row in rows])
    return pad([[*row, 2] for row in src]), pad([[1, *row] for row in tgt]), pad([[*row, 2] for row in tgt])
""",
        "<eos> in the input": """
def collate(src, tgt):
    from torch.nn.utils.rnn import pad_sequence
    pad = lambda rows: pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    both = pad([[1, *row, 2] for row in tgt])
    return pad([[*row, 2] for row in src]), both[:, :-1], both[:, 1:]
""",
        "the output not shifted": """
def collate(src, tgt):
    from torch.nn.utils.rnn import pad_sequence
    pad = lambda rows: pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    tgt_in = pad([[1, *row] for row in tgt])
    return pad([[*row, 2] for row in src]), tgt_in, tgt_in
""",
    },
    "data.pack": {
        "real tokens counted": """
def pack(lengths, max_tokens):
    groups = [[]]
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if groups[-1] and sum(lengths[k] for k in groups[-1]) + lengths[i] > max_tokens:
            groups.append([])
        groups[-1].append(i)
    return groups
""",
        "not sorted": """
def pack(lengths, max_tokens):
    groups = [[]]
    for i in range(len(lengths)):
        if groups[-1] and max(lengths[k] for k in [*groups[-1], i]) * (len(groups[-1]) + 1) > max_tokens:
            groups.append([])
        groups[-1].append(i)
    return groups
""",
        "the last batch lost": """
def pack(lengths, max_tokens):
    groups, group = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if group and lengths[i] * (len(group) + 1) > max_tokens:
            groups.append(group)
            group = []
        group.append(i)
    return groups
""",
        "lengths in place of indices": """
def pack(lengths, max_tokens):
    groups = [[]]
    for length in sorted(lengths):
        if groups[-1] and length * (len(groups[-1]) + 1) > max_tokens:
            groups.append([])
        groups[-1].append(length)
    return groups
""",
        "too long, dropped": """
def pack(lengths, max_tokens):
    groups = [[]]
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if lengths[i] > max_tokens:
            continue
        if groups[-1] and lengths[i] * (len(groups[-1]) + 1) > max_tokens:
            groups.append([])
        groups[-1].append(i)
    return groups
""",
    },
    "data.split": {
        "split by line": """
def in_test(source, target):
    import hashlib
    return hashlib.sha256((source + "\\t" + target).encode()).digest()[0] < 26
""",
        "by chance": """
def in_test(source, target):
    import random
    return random.random() < 0.1
""",
        "Python's hash": """
def in_test(source, target):
    return hash(source) % 10 == 0
""",
        "another share": """
def in_test(source, target):
    import zlib
    return zlib.crc32(source.encode()) % 2 == 0
""",
        "by length": """
def in_test(source, target):
    return len(source) % 10 == 3
""",
    },
}

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
        "defaultdict and max": """
def best_pair(words):
    from collections import defaultdict
    counts = defaultdict(int)
    for symbols, times in words:
        for k in range(1, len(symbols)):
            counts[(symbols[k - 1], symbols[k])] += times
    top = max(counts.values())
    return sorted(pair for pair, n in counts.items() if n == top)[0]
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
        "recursion": """
def segment(word, merges):
    def join(pieces, a, b):
        if len(pieces) < 2:
            return pieces
        if pieces[0] == a and pieces[1] == b:
            return [a + b, *join(pieces[2:], a, b)]
        return [pieces[0], *join(pieces[1:], a, b)]
    pieces = list(word[:-1]) + [word[-1] + "·"]
    for a, b in merges:
        pieces = join(pieces, a, b)
    return pieces
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
        "zip_longest": """
def collate(src, tgt):
    from itertools import zip_longest
    def pad(rows):
        return torch.tensor(list(zip_longest(*rows, fillvalue=0))).T
    return pad([r + [2] for r in src]), pad([[1] + r for r in tgt]), pad([r + [2] for r in tgt])
""",
        "F.pad": """
def collate(src, tgt):
    def stack(rows):
        n = max(len(row) for row in rows)
        return torch.stack([F.pad(torch.tensor(row), (0, n - len(row))) for row in rows])
    return stack([[*s, 2] for s in src]), stack([[1, *t] for t in tgt]), stack([[*t, 2] for t in tgt])
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
        "pop from a list": """
def pack(lengths, max_tokens):
    todo = [i for _, i in sorted((n, i) for i, n in enumerate(lengths))]
    groups = []
    while todo:
        group = [todo.pop(0)]
        while todo and (len(group) + 1) * lengths[todo[0]] <= max_tokens:
            group.append(todo.pop(0))
        groups.append(group)
    return groups
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
        "a seeded generator": """
def in_test(source, target):
    import random
    return random.Random(source).random() < 0.1
""",
        "hexdigest as a number": """
import hashlib
def in_test(source, target):
    return int(hashlib.sha1(source.encode("utf-8")).hexdigest(), 16) % 10 == 7
""",
        "a hash of one's own": """
def in_test(source, target):
    h = 5381
    for letter in source:
        h = (h * 33 + ord(letter)) % 2**32
    return h % 1000 < 100
""",
    },
}

WRONG = {
    "data.best-pair": {
        "tie by the left symbol only": """
def best_pair(words):
    counts = {}
    for pieces, count in words:
        for pair in zip(pieces, pieces[1:]):
            counts[pair] = counts.get(pair, 0) + count
    return sorted(counts, key=lambda p: (-counts[p], p[0]))[0]
""",
        "tie by the right symbol first": """
def best_pair(words):
    counts, best = {}, None
    for pieces, count in words:
        for pair in zip(pieces, pieces[1:]):
            counts[pair] = counts.get(pair, 0) + count
    for left, right in sorted(counts, key=lambda pair: (pair[1], pair[0])):
        if best is None or counts[left, right] > counts[best]:
            best = (left, right)
    return best
""",
        "tie by the joined text": """
def best_pair(words):
    counts = {}
    for pieces, count in words:
        for pair in zip(pieces, pieces[1:]):
            counts[pair] = counts.get(pair, 0) + count
    return sorted(counts, key=lambda pair: (-counts[pair], pair[0] + pair[1]))[0]
""",
        "equal neighbours skipped": """
def best_pair(words):
    counts = {}
    for pieces, count in words:
        for a, b in zip(pieces, pieces[1:]):
            if a != b:
                counts[a, b] = counts.get((a, b), 0) + count
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
        "changes its input": """
def best_pair(words):
    counts = {}
    for pieces, count in words:
        while len(pieces) > 1:
            pair = (pieces[0], pieces[1])
            counts[pair] = counts.get(pair, 0) + count
            pieces.pop(0)
    return min(counts, key=lambda pair: (-counts[pair], pair))
""",
    },
    "data.segment": {
        "longest piece first": """
def segment(word, merges):
    pieces = [*word[:-1], word[-1] + "·"]
    for left, right in sorted(merges, key=lambda pair: len(pair[0] + pair[1]), reverse=True):
        i = 0
        while i + 1 < len(pieces):
            if (pieces[i], pieces[i + 1]) == (left, right):
                pieces[i : i + 2] = [left + right]
            i += 1
    return pieces
""",
        "changes its input": """
def segment(word, merges):
    pieces = [*word[:-1], word[-1] + "·"]
    while merges:
        left, right = merges.pop(0)
        i = 0
        while i + 1 < len(pieces):
            if (pieces[i], pieces[i + 1]) == (left, right):
                pieces[i : i + 2] = [left + right]
            i += 1
    return pieces
""",
        "first place only": """
def segment(word, merges):
    symbols = list(word)
    symbols[-1] += "·"
    for a, b in merges:
        for i in range(len(symbols) - 1):
            if symbols[i] == a and symbols[i + 1] == b:
                symbols[i:i + 2] = [a + b]
                break
    return symbols
""",
        "any merge from the left": """
def segment(word, merges):
    known = {a + b for a, b in merges}
    letters = list(word[:-1]) + [word[-1] + "·"]
    pieces, i = [], 0
    while i < len(letters):
        for j in range(len(letters), i, -1):
            piece = "".join(letters[i:j])
            if j == i + 1 or piece in known:
                pieces.append(piece)
                i = j
                break
    return pieces
""",
    },
    "data.collate": {
        "float ids": """
def collate(src, tgt):
    def pad(rows):
        ids = torch.zeros(len(rows), max(map(len, rows)))
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
        return ids
    return pad([[*row, 2] for row in src]), pad([[1, *row] for row in tgt]), pad([[*row, 2] for row in tgt])
""",
        "no tensors": """
def collate(src, tgt):
    def pad(rows):
        return [row + [0] * (max(map(len, rows)) - len(row)) for row in rows]
    return pad([row + [2] for row in src]), pad([[1] + row for row in tgt]), pad([row + [2] for row in tgt])
""",
        "not three": """
def collate(src, tgt):
    from torch.nn.utils.rnn import pad_sequence
    pad = lambda rows: pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    return pad([[*row, 2] for row in src]), pad([[1, *row, 2] for row in tgt])
""",
        "changes its input": """
def collate(src, tgt):
    from torch.nn.utils.rnn import pad_sequence
    pad = lambda rows: pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    tgt_in = pad([[1, *row] for row in tgt])
    for row in src + tgt:
        row.append(2)
    return pad(src), tgt_in, pad(tgt)
""",
        "one width for both languages": """
def collate(src, tgt):
    width = max(len(row) for row in src + tgt) + 1
    fill = lambda rows: torch.tensor([row + [0] * (width - len(row)) for row in rows])
    return (fill([row + [2] for row in src]),
            fill([[1] + row for row in tgt]),
            fill([row + [2] for row in tgt]))
""",
    },
    "data.pack": {
        "one size for all batches": """
def pack(lengths, max_tokens):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    size = max(1, max_tokens // max(lengths))
    return [order[i : i + size] for i in range(0, len(order), size)]
""",
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
        "one too many": """
def pack(lengths, max_tokens):
    groups, group = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if group and lengths[group[-1]] * len(group) >= max_tokens:
            groups.append(group)
            group = []
        group.append(i)
    return [*groups, group]
""",
        "the limit not reached": """
def pack(lengths, max_tokens):
    groups, group = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if group and lengths[i] * (len(group) + 1) >= max_tokens:
            groups.append(group)
            group = []
        group.append(i)
    return [*groups, group]
""",
        "width of the newest": """
def pack(lengths, max_tokens):
    groups, group = [], []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if group and lengths[i] * (len(group) + 1) > max_tokens:
            groups.append(group)
            group = []
        group.append(i)
    return [*groups, group]
""",
        "max_tokens ignored": """
def pack(lengths, max_tokens):
    return [sorted(range(len(lengths)), key=lambda i: lengths[i])]
""",
        "one sentence a batch": """
def pack(lengths, max_tokens):
    return [[i] for i in sorted(range(len(lengths)), key=lambda i: lengths[i])]
""",
        "sentences counted": """
def pack(lengths, max_tokens):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    return [order[i : i + max_tokens] for i in range(0, len(order), max_tokens)]
""",
        "an empty batch": """
def pack(lengths, max_tokens):
    groups, group = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if lengths[i] * (len(group) + 1) > max_tokens:
            groups.append(group)
            group = []
        group.append(i)
        if i == len(lengths) - 1:
            continue
    return [*groups, group, []]
""",
        "indices of the sorted list": """
def pack(lengths, max_tokens):
    groups, group = [], []
    for i, length in enumerate(sorted(lengths)):
        if group and length * (len(group) + 1) > max_tokens:
            groups.append(group)
            group = []
        group.append(i)
    return [*groups, group]
""",
        "changes its input": """
def pack(lengths, max_tokens):
    groups = []
    while any(n > 0 for n in lengths):
        longest = max(lengths)
        i = lengths.index(longest)
        group, lengths[i] = [i], 0
        while (len(group) + 1) * longest <= max_tokens and any(n > 0 for n in lengths):
            i = lengths.index(max(lengths))
            group.append(i)
            lengths[i] = 0
        groups.append(group)
    return groups
""",
    },
    "data.split": {
        "letters lost": """
def in_test(source, target):
    import zlib
    return zlib.crc32(source.encode("ascii", "ignore")) % 10 == 0
""",
        "one in eight": """
def in_test(source, target):
    import zlib
    return zlib.crc32(source.encode()) % 8 == 0
""",
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
        "by position": """
seen = []
def in_test(source, target):
    seen.append(source)
    return len(seen) % 10 == 0
""",
        "split by target": """
def in_test(source, target):
    import zlib
    return zlib.crc32(target.encode()) % 10 == 0
""",
        "by the clock": """
import zlib
from datetime import datetime
def in_test(source, target):
    return (zlib.crc32(source.encode()) + datetime.now().toordinal()) % 10 == 0
""",
        "turned round": """
def in_test(source, target):
    import zlib
    return zlib.crc32(source.encode()) % 10 != 0
""",
        "by a feature": """
def in_test(source, target):
    return len(source) % 10 == 3
""",
        "nothing in the test part": """
def in_test(source, target):
    import random
    random.seed(0)
    return random.random() < 0.1
""",
    },
}

# other ways to make a mistake that is known already
ALSO_WRONG = {
    "data.split": {
        "by the clock": [
            """
def in_test(source, target):
    import sys
    import zlib
    return zlib.crc32((source + sys.platform).encode()) % 10 == 0
""",
            """
def in_test(source, target):
    import platform
    import zlib
    return zlib.crc32((source + platform.system()).encode()) % 10 == 0
""",
            """
def in_test(source, target):
    import os
    import zlib
    return zlib.crc32((source + os.name).encode()) % 10 == 0
""",
        ],
        "letters lost": [
            """
def in_test(source, target):
    import zlib
    return zlib.crc32(source.encode("ascii", "replace")) % 10 == 0
""",
        ],
    },
}

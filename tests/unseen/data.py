"""Unseen answers to the exercises of chapter `data`, written from the statements alone."""

RIGHT = {
    "data.best-pair": {
        "Counter and min": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        for pair in pairwise(symbols):
            counts[pair] += count
    return min(counts, key=lambda pair: (-counts[pair], pair))
""",
        "dictionary and indices": """
def best_pair(words):
    freq = {}
    for symbols, n in words:
        for i in range(len(symbols) - 1):
            pair = (symbols[i], symbols[i + 1])
            freq[pair] = freq.get(pair, 0) + n
    top = max(freq.values())
    return sorted(p for p, n in freq.items() if n == top)[0]
""",
        "sorted pairs, then the first largest": """
from collections import defaultdict

def best_pair(words):
    table = defaultdict(int)
    for symbols, times in words:
        for left, right in zip(symbols, symbols[1:]):
            table[left, right] += times
    return max(sorted(table), key=table.get)
""",
        "running best in a loop": """
def best_pair(words):
    counts = {}
    for symbols, count in words:
        previous = None
        for symbol in symbols:
            if previous is not None:
                counts[previous, symbol] = counts.get((previous, symbol), 0) + count
            previous = symbol
    best, best_count = None, 0
    for pair, count in counts.items():
        if count > best_count or (count == best_count and pair < best):
            best, best_count = pair, count
    return best
""",
        "sort with groupby": """
from itertools import groupby

def best_pair(words):
    found = sorted((pair, count) for symbols, count in words for pair in pairwise(symbols))
    totals = [(-sum(c for _, c in group), pair) for pair, group in groupby(found, key=lambda x: x[0])]
    return min(totals)[1]
""",
        "for each distinct pair a sum": """
def neighbours(symbols):
    return [tuple(symbols[i : i + 2]) for i in range(len(symbols) - 1)]

def best_pair(words):
    candidates = {pair for symbols, _ in words for pair in neighbours(symbols)}
    total = lambda pair: sum(n * neighbours(symbols).count(pair) for symbols, n in words)
    return min(candidates, key=lambda pair: (-total(pair), pair))
""",
    },
    "data.segment": {
        "scan and build anew": """
def segment(word, merges):
    pieces = list(word[:-1]) + [word[-1] + "·"]
    for left, right in merges:
        merged, i = [], 0
        while i < len(pieces):
            if i + 1 < len(pieces) and pieces[i] == left and pieces[i + 1] == right:
                merged.append(left + right)
                i += 2
            else:
                merged.append(pieces[i])
                i += 1
        pieces = merged
    return pieces
""",
        "slices replaced in its own list": """
def segment(word, merges):
    pieces = [*word]
    pieces[-1] += "·"
    for a, b in merges:
        i = 0
        while i < len(pieces) - 1:
            if pieces[i : i + 2] == [a, b]:
                pieces[i : i + 2] = [a + b]
            i += 1
    return pieces
""",
        "helper that joins to the last piece": """
def join(pieces, pair):
    out = []
    for piece in pieces:
        if out and (out[-1], piece) == tuple(pair):
            out[-1] = out[-1] + piece
        else:
            out.append(piece)
    return out

def segment(word, merges):
    pieces = [letter for letter in word[:-1]]
    pieces.append(f"{word[-1]}·")
    for pair in merges:
        pieces = join(pieces, pair)
    return pieces
""",
        "recursive": """
def replay(pieces, pair):
    if len(pieces) < 2:
        return pieces
    if (pieces[0], pieces[1]) == tuple(pair):
        return [pieces[0] + pieces[1]] + replay(pieces[2:], pair)
    return pieces[:1] + replay(pieces[1:], pair)

def segment(word, merges):
    pieces = list(word)
    pieces[-1] = pieces[-1] + "·"
    for pair in merges:
        pieces = replay(pieces, pair)
    return pieces
""",
        "functools.reduce and an iterator": """
from functools import reduce

def merge_once(pieces, pair):
    left, right = pair
    rest, result = iter(pieces), []
    current = next(rest)
    for following in rest:
        if current == left and following == right:
            current = current + following
        else:
            result.append(current)
            current = following
    return result + [current]

def segment(word, merges):
    letters = list(word)
    return reduce(merge_once, merges, letters[:-1] + [letters[-1] + "·"])
""",
        "strings replaced between borders": """
OPEN, CLOSE = chr(1), chr(2)

def segment(word, merges):
    letters = [*word[:-1], word[-1] + "·"]
    text = "".join(OPEN + letter + CLOSE for letter in letters)
    for a, b in merges:
        text = text.replace(OPEN + a + CLOSE + OPEN + b + CLOSE, OPEN + a + b + CLOSE)
    return text[1:-1].split(CLOSE + OPEN)
""",
        "by the library's apply_merges": """
def segment(word, merges):
    return list(apply_merges(word, merges))
""",
    },
    "data.waste": {
        "one minus the full share": """
def waste(batches):
    words = sum(sum(lengths) for lengths in batches)
    places = sum(len(lengths) * max(lengths) for lengths in batches)
    return 1 - words / places
""",
        "loops and padding counted": """
def waste(batches):
    empty = total = 0
    for batch in batches:
        longest = max(batch)
        for length in batch:
            empty += longest - length
            total += longest
    return empty / total
""",
        "by tensors": """
def waste(batches):
    padded, places = 0, 0
    for batch in batches:
        lengths = torch.tensor(batch, dtype=torch.float64)
        padded += (lengths.max() - lengths).sum().item()
        places += (lengths.max() * len(lengths)).item()
    return padded / places
""",
        "rectangles drawn and zeros counted": """
def waste(batches):
    grids = [pad([[1] * length for length in batch]) for batch in batches]
    holes = sum((grid == 0).sum().item() for grid in grids)
    return holes / sum(grid.numel() for grid in grids)
""",
        "helper and zip": """
def rectangle(lengths):
    return sorted(lengths)[-1] * len(lengths)

def waste(batches):
    pairs = [(rectangle(batch), sum(batch)) for batch in batches]
    places, words = map(sum, zip(*pairs))
    return (places - words) / places
""",
        "exact fractions": """
from fractions import Fraction

def waste(batches):
    real = sum(itertools.chain.from_iterable(batches))
    places = sum(max(batch) * len(batch) for batch in batches)
    return float(Fraction(places - real, places))
""",
    },
    "data.collate": {
        "the library's pad": """
def collate(src, tgt):
    return (
        pad([[*row, 2] for row in src]),
        pad([[1, *row] for row in tgt]),
        pad([[*row, 2] for row in tgt]),
    )
""",
        "its own rectangle": """
def rectangle(rows):
    width = max(len(row) for row in rows)
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])

def collate(src, tgt):
    bos, eos = 1, 2
    src_ids = rectangle([row + [eos] for row in src])
    tgt_in = rectangle([[bos] + row for row in tgt])
    tgt_out = rectangle([row + [eos] for row in tgt])
    return src_ids, tgt_in, tgt_out
""",
        "pad_sequence": """
from torch.nn.utils.rnn import pad_sequence

def collate(src, tgt):
    def stack(rows):
        return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=0)

    return stack([s + [2] for s in src]), stack([[1] + t for t in tgt]), stack([t + [2] for t in tgt])
""",
        "zeros filled row by row": """
def collate(src, tgt):
    src_ids = torch.zeros(len(src), max(map(len, src)) + 1, dtype=torch.long)
    tgt_in = torch.zeros(len(tgt), max(map(len, tgt)) + 1, dtype=torch.long)
    tgt_out = torch.zeros_like(tgt_in)
    tgt_in[:, 0] = 1
    for i in range(len(src)):
        a, b = len(src[i]), len(tgt[i])
        src_ids[i, :a] = torch.tensor(src[i], dtype=torch.long)
        src_ids[i, a] = 2
        tgt_in[i, 1 : b + 1] = torch.tensor(tgt[i], dtype=torch.long)
        tgt_out[i, :b] = torch.tensor(tgt[i], dtype=torch.long)
        tgt_out[i, b] = 2
    return src_ids, tgt_in, tgt_out
""",
        "zip_longest": """
from itertools import zip_longest

def collate(src, tgt):
    def box(rows):
        columns = zip_longest(*rows, fillvalue=0)
        return torch.tensor([list(column) for column in columns]).T.contiguous()

    whole = [[1, *row, 2] for row in tgt]
    return box([[*row, 2] for row in src]), box([row[:-1] for row in whole]), box([row[1:] for row in whole])
""",
        "F.pad": """
def collate(src, tgt):
    import torch.nn.functional as F

    def batch(rows):
        n = max(len(row) for row in rows)
        return torch.stack([F.pad(torch.tensor(row), (0, n - len(row)), value=0) for row in rows])

    return batch([s + [2] for s in src]), batch([[1] + t for t in tgt]), batch([t + [2] for t in tgt])
""",
        "numpy": """
import numpy as np

def collate(src, tgt):
    def fill(rows):
        out = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
        for i, row in enumerate(rows):
            out[i, : len(row)] = row
        return torch.from_numpy(out)

    ends = lambda rows: fill([list(row) + [2] for row in rows])
    return ends(src), fill([[1] + list(row) for row in tgt]), ends(tgt)
""",
    },
    "data.split": {
        "md5 modulo ten": """
import hashlib

def in_test(source, target):
    return int(hashlib.md5(source.encode()).hexdigest(), 16) % 10 == 0
""",
        "sha256, first bytes": """
import hashlib

def in_test(source, target):
    digest = hashlib.sha256(source.encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big") < 2**64 // 10
""",
        "crc32": """
import zlib

def in_test(source, target):
    return zlib.crc32(bytes(source, "utf-8")) % 10 == 7
""",
        "FNV written by hand": """
def stable_hash(text):
    h = 0xCBF29CE484222325
    for byte in text.encode("utf-8"):
        h = ((h ^ byte) * 0x100000001B3) % 2**64
    return h

def in_test(source, target):
    return (stable_hash(source) >> 16) % 10 == 0
""",
        "blake2b as a share between 0 and 1": """
from hashlib import blake2b

def in_test(source, target):
    number = int.from_bytes(blake2b(source.encode(), digest_size=6).digest(), "little")
    if number / 256**6 < 0.1:
        return True
    return False
""",
        "a generator seeded with the source": """
def in_test(source, target):
    return random.Random(source).random() < 0.1
""",
        "sha1, two hexadecimal digits, 26 of 256": """
import hashlib

def in_test(source, target):
    h = hashlib.sha1()
    h.update(source.encode("utf8"))
    return int(h.hexdigest()[:2], 16) < 26
""",
    },
    "data.pack": {
        "shortest first": """
def pack(lengths, max_tokens):
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and lengths[i] * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(i)
    if batch:
        batches.append(batch)
    return batches
""",
        "longest first": """
def pack(lengths, max_tokens):
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    result = []
    for index in order:
        if result and lengths[result[-1][0]] * (len(result[-1]) + 1) <= max_tokens:
            result[-1].append(index)
        else:
            result.append([index])
    return result
""",
        "slices cut off the front, longest first": """
def pack(lengths, max_tokens):
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    batches = []
    while order:
        fit = max(1, max_tokens // max(1, lengths[order[0]]))
        batches.append(order[:fit])
        order = order[fit:]
    return batches
""",
        "enumerate, sort pairs, with the longest kept": """
def pack(lengths, max_tokens):
    pairs = sorted((length, i) for i, length in enumerate(lengths))
    groups = []
    current, longest = [], 0
    for length, i in pairs:
        new_longest = max(longest, length)
        if current and new_longest * (len(current) + 1) > max_tokens:
            groups.append(current)
            current, new_longest = [], length
        current = current + [i]
        longest = new_longest
    return groups + [current] if current else groups
""",
        "torch.argsort": """
def pack(lengths, max_tokens):
    if not lengths:
        return []
    order = torch.argsort(torch.tensor(lengths)).tolist()
    start, batches = 0, []
    while start < len(order):
        end = start + 1
        while end < len(order) and lengths[order[end]] * (end + 1 - start) <= max_tokens:
            end += 1
        batches.append(order[start:end])
        start = end
    return batches
""",
        "fewest cuts by dynamic programming": """
def pack(lengths, max_tokens):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    fewest, begin = [0], [0]
    for end in range(1, len(order) + 1):
        longest = lengths[order[end - 1]]
        starts = [s for s in range(end) if end - s == 1 or (end - s) * longest <= max_tokens]
        best = min(starts, key=lambda s: fewest[s])
        fewest.append(fewest[best] + 1)
        begin.append(best)
    batches, end = [], len(order)
    while end:
        batches.insert(0, order[begin[end] : end])
        end = begin[end]
    return batches
""",
        "a generator": """
def grouped(order, lengths, room):
    batch = []
    for i in order:
        if batch and (len(batch) + 1) * lengths[i] > room:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch

def pack(lengths, max_tokens):
    order = list(range(len(lengths)))
    order.sort(key=lambda i: (lengths[i], i))
    return list(grouped(order, lengths, max_tokens))
""",
    },
}

WRONG = {
    "data.best-pair": {
        "of equals the first one met": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        for pair in pairwise(symbols):
            counts[pair] += count
    return max(counts, key=counts.get)
""",
        "of equals the last in the alphabet": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        for pair in pairwise(symbols):
            counts[pair] += count
    return max(counts, key=lambda pair: (counts[pair], pair))
""",
        "most_common, whatever the order of equals": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        for pair in pairwise(symbols):
            counts[pair] += count
    return counts.most_common(1)[0][0]
""",
        "how often the word stands ignored": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        for pair in pairwise(symbols):
            counts[pair] += 1
    return min(counts, key=lambda pair: (-counts[pair], pair))
""",
        "a pair counted once per word": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        for pair in set(pairwise(symbols)):
            counts[pair] += count
    return min(counts, key=lambda pair: (-counts[pair], pair))
""",
        "the pair joined to one string": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        for pair in pairwise(symbols):
            counts[pair] += count
    return ''.join(min(counts, key=lambda pair: (-counts[pair], pair)))
""",
        "the pair with its count": """
def best_pair(words):
    freq = {}
    for symbols, n in words:
        for i in range(len(symbols) - 1):
            pair = (symbols[i], symbols[i + 1])
            freq[pair] = freq.get(pair, 0) + n
    top = max(freq.values())
    return min(p for p, n in freq.items() if n == top), top
""",
        "a list for a tuple": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        for pair in pairwise(symbols):
            counts[pair] += count
    return list(min(counts, key=lambda pair: (-counts[pair], pair)))
""",
        "the least frequent pair": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        for pair in pairwise(symbols):
            counts[pair] += count
    return min(counts, key=lambda pair: (counts[pair], pair))
""",
        "the first pair of the alphabet, whatever its count": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        for pair in pairwise(symbols):
            counts[pair] += count
    return min(counts, key=lambda pair: pair)
""",
        "pairs across the border of words": """
def best_pair(words):
    text = [symbol for symbols, count in words for _ in range(count) for symbol in symbols]
    counts = Counter(pairwise(text))
    return min(counts, key=lambda pair: (-counts[pair], pair))
""",
        "the last neighbours of each word forgotten": """
def best_pair(words):
    freq = {}
    for symbols, n in words:
        for i in range(len(symbols) - 2):
            pair = (symbols[i], symbols[i + 1])
            freq[pair] = freq.get(pair, 0) + n
    top = max(freq.values())
    return sorted(p for p, n in freq.items() if n == top)[0]
""",
        "order within a pair ignored": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        for pair in pairwise(symbols):
            counts[tuple(sorted(pair))] += count
    return min(counts, key=lambda pair: (-counts[pair], pair))
""",
        "overwritten instead of added": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        for pair in pairwise(symbols):
            counts[pair] = count
    return min(counts, key=lambda pair: (-counts[pair], pair))
""",
        "all pairs of symbols in a word, not just neighbours": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        for pair in itertools.combinations(symbols, 2):
            counts[pair] += count
    return min(counts, key=lambda pair: (-counts[pair], pair))
""",
        "equals ordered by the joined string": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        for pair in pairwise(symbols):
            counts[pair] += count
    return min(counts, key=lambda pair: (-counts[pair], ''.join(pair)))
""",
        "equals ordered by the second symbol": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        for pair in pairwise(symbols):
            counts[pair] += count
    return min(counts, key=lambda pair: (-counts[pair], pair[::-1]))
""",
        "most frequent single symbols": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        for symbol in symbols:
            counts[symbol] += count
    (a, _), (b, _) = counts.most_common(2)
    return (a, b)
""",
        "sorts the list of words in place": """
def best_pair(words):
    words.sort(key=lambda word: -word[1])
    counts = Counter()
    for symbols, count in words:
        for pair in pairwise(symbols):
            counts[pair] += count
    return min(counts, key=lambda pair: (-counts[pair], pair))
""",
        "eats up the symbols": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        while len(symbols) > 1:
            left = symbols.pop(0)
            counts[left, symbols[0]] += count
    return min(counts, key=lambda pair: (-counts[pair], pair))
""",
        "counts within the most frequent word only": """
def best_pair(words):
    counts = Counter()
    for symbols, count in [max(words, key=lambda word: word[1])]:
        for pair in pairwise(symbols):
            counts[pair] += count
    return min(counts, key=lambda pair: (-counts[pair], pair))
""",
        "overlapping equal pairs counted once": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        i = 0
        while i < len(symbols) - 1:
            counts[symbols[i], symbols[i + 1]] += count
            i += 2 if symbols[i] == symbols[i + 1] else 1
    return min(counts, key=lambda pair: (-counts[pair], pair))
""",
        "neighbours taken two by two, without overlap": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        for pair in zip(symbols[::2], symbols[1::2]):
            counts[pair] += count
    return min(counts, key=lambda pair: (-counts[pair], pair))
""",
        "the counts multiplied by the pair's length": """
def best_pair(words):
    counts = Counter()
    for symbols, count in words:
        for pair in pairwise(symbols):
            counts[pair] += count * len(''.join(pair))
    return min(counts, key=lambda pair: (-counts[pair], pair))
""",
    },
    "data.segment": {
        "no mark": """
def segment(word, merges):
    pieces = [*word]
    for a, b in merges:
        i = 0
        while i < len(pieces) - 1:
            if pieces[i : i + 2] == [a, b]:
                pieces[i : i + 2] = [a + b]
            i += 1
    return pieces
""",
        "the mark as a symbol of its own": """
def segment(word, merges):
    pieces = [*word]
    pieces.append("·")
    for a, b in merges:
        i = 0
        while i < len(pieces) - 1:
            if pieces[i : i + 2] == [a, b]:
                pieces[i : i + 2] = [a + b]
            i += 1
    return pieces
""",
        "the mark at the first letter": """
def segment(word, merges):
    pieces = [*word]
    pieces[0] = "·" + pieces[0]
    for a, b in merges:
        i = 0
        while i < len(pieces) - 1:
            if pieces[i : i + 2] == [a, b]:
                pieces[i : i + 2] = [a + b]
            i += 1
    return pieces
""",
        "the mark at every letter": """
def segment(word, merges):
    pieces = [letter + "·" for letter in word]
    for a, b in merges:
        i = 0
        while i < len(pieces) - 1:
            if pieces[i : i + 2] == [a, b]:
                pieces[i : i + 2] = [a + b]
            i += 1
    return pieces
""",
        "the mark added only at the end": """
def segment(word, merges):
    pieces = [*word]
    for a, b in merges:
        i = 0
        while i < len(pieces) - 1:
            if pieces[i : i + 2] == [a, b]:
                pieces[i : i + 2] = [a + b]
            i += 1
    pieces[-1] += "·"
    return pieces
""",
        "the mark removed at the end": """
def segment(word, merges):
    pieces = [*word]
    pieces[-1] += "·"
    for a, b in merges:
        i = 0
        while i < len(pieces) - 1:
            if pieces[i : i + 2] == [a, b]:
                pieces[i : i + 2] = [a + b]
            i += 1
    return [piece.replace("·", "") for piece in pieces]
""",
        "only the first place of each merge": """
def segment(word, merges):
    pieces = [*word]
    pieces[-1] += "·"
    for a, b in merges:
        i = 0
        while i < len(pieces) - 1:
            if pieces[i : i + 2] == [a, b]:
                pieces[i : i + 2] = [a + b]
                break
            i += 1
    return pieces
""",
        "from right to left within a merge": """
def segment(word, merges):
    pieces = list(word[:-1]) + [word[-1] + "·"]
    for a, b in merges:
        i = len(pieces) - 2
        while i >= 0:
            if i + 1 < len(pieces) and (pieces[i], pieces[i + 1]) == (a, b):
                pieces[i : i + 2] = [a + b]
            i -= 1
    return pieces
""",
        "last learned, first applied": """
def segment(word, merges):
    pieces = [*word]
    pieces[-1] += "·"
    for a, b in reversed(merges):
        i = 0
        while i < len(pieces) - 1:
            if pieces[i : i + 2] == [a, b]:
                pieces[i : i + 2] = [a + b]
            i += 1
    return pieces
""",
        "string replacement that cuts through symbols": """
def segment(word, merges):
    text = " ".join(word) + "·"
    for a, b in merges:
        text = text.replace(a + " " + b, a + b)
    return text.split()
""",
        "longest known piece first, from the left": """
def segment(word, merges):
    known = {a + b for a, b in merges}
    text, pieces = word + "·", []
    while text:
        for end in range(len(text), 0, -1):
            if text[:end] in known or end == 1 or text[:end] == word[-1] + "·":
                pieces.append(text[:end])
                text = text[end:]
                break
    return pieces
""",
        "one string instead of a list": """
def segment(word, merges):
    pieces = [*word]
    pieces[-1] += "·"
    for a, b in merges:
        i = 0
        while i < len(pieces) - 1:
            if pieces[i : i + 2] == [a, b]:
                pieces[i : i + 2] = [a + b]
            i += 1
    return " ".join(pieces)
""",
        "a tuple instead of a list": """
def segment(word, merges):
    pieces = [*word]
    pieces[-1] += "·"
    for a, b in merges:
        i = 0
        while i < len(pieces) - 1:
            if pieces[i : i + 2] == [a, b]:
                pieces[i : i + 2] = [a + b]
            i += 1
    return tuple(pieces)
""",
        "every merge starts from the letters again": """
def segment(word, merges):
    pieces = list(word[:-1]) + [word[-1] + "·"]
    for left, right in merges:
        pieces = list(word[:-1]) + [word[-1] + "·"]
        merged, i = [], 0
        while i < len(pieces):
            if i + 1 < len(pieces) and pieces[i] == left and pieces[i + 1] == right:
                merged.append(left + right)
                i += 2
            else:
                merged.append(pieces[i])
                i += 1
        pieces = merged
    return pieces
""",
        "stops at the first merge that doesn't apply": """
def segment(word, merges):
    pieces = [*word[:-1], word[-1] + "·"]
    for a, b in merges:
        before = len(pieces)
        i = 0
        while i < len(pieces) - 1:
            if (pieces[i], pieces[i + 1]) == (a, b):
                pieces[i : i + 2] = [a + b]
            i += 1
        if len(pieces) == before:
            break
    return pieces
""",
        "takes the merges out of the list": """
def segment(word, merges):
    pieces = [*word[:-1], word[-1] + "·"]
    while merges:
        a, b = merges.pop(0)
        i = 0
        while i < len(pieces) - 1:
            if (pieces[i], pieces[i + 1]) == (a, b):
                pieces[i : i + 2] = [a + b]
            i += 1
    return pieces
""",
        "the last piece lost unless it is merged": """
def segment(word, merges):
    pieces = list(word[:-1]) + [word[-1] + "·"]
    for left, right in merges:
        merged, i = [], 0
        while i < len(pieces) - 1:
            if i + 1 < len(pieces) and pieces[i] == left and pieces[i + 1] == right:
                merged.append(left + right)
                i += 2
            else:
                merged.append(pieces[i])
                i += 1
        pieces = merged
    return pieces
""",
        "the piece after a merge skipped": """
def segment(word, merges):
    pieces = list(word[:-1]) + [word[-1] + "·"]
    for left, right in merges:
        merged, i = [], 0
        while i < len(pieces):
            if i + 1 < len(pieces) and pieces[i] == left and pieces[i + 1] == right:
                merged.append(left + right)
                merged.extend(pieces[i + 2 : i + 3])
                i += 3
            else:
                merged.append(pieces[i])
                i += 1
        pieces = merged
    return pieces
""",
        "merges applied in both orders of the pair": """
def segment(word, merges):
    pieces = list(word[:-1]) + [word[-1] + "·"]
    for left, right in merges:
        merged, i = [], 0
        while i < len(pieces):
            if i + 1 < len(pieces) and {pieces[i], pieces[i + 1]} == {left, right}:
                merged.append(left + right)
                i += 2
            else:
                merged.append(pieces[i])
                i += 1
        pieces = merged
    return pieces
""",
        "returns after the first merge that fits": """
def segment(word, merges):
    pieces = list(word[:-1]) + [word[-1] + "·"]
    for left, right in merges:
        merged, i = [], 0
        while i < len(pieces):
            if i + 1 < len(pieces) and pieces[i] == left and pieces[i + 1] == right:
                merged.append(left + right)
                i += 2
            else:
                merged.append(pieces[i])
                i += 1
        if merged != pieces:
            return merged
    return pieces
""",
        "scans the word once, any merge where it fits": """
def segment(word, merges):
    letters = [*word[:-1], word[-1] + "·"]
    pieces = [letters[0]]
    for letter in letters[1:]:
        if (pieces[-1], letter) in merges:
            pieces[-1] += letter
        else:
            pieces.append(letter)
    return pieces
""",
        "index goes over the end of the shortened list": """
def segment(word, merges):
    pieces = [*word[:-1], word[-1] + "·"]
    for a, b in merges:
        for i in range(len(pieces) - 1):
            if pieces[i] == a and pieces[i + 1] == b:
                pieces[i : i + 2] = [a + b]
    return pieces
""",
        "merges ignored": """
def segment(word, merges):
    return [*word[:-1], word[-1] + "·"]
""",
        "the left symbol kept beside the merged one": """
def segment(word, merges):
    pieces = list(word[:-1]) + [word[-1] + "·"]
    for left, right in merges:
        merged, i = [], 0
        while i < len(pieces):
            if i + 1 < len(pieces) and pieces[i] == left and pieces[i + 1] == right:
                merged.append(left + right)
                i += 1
            else:
                merged.append(pieces[i])
                i += 1
        pieces = merged
    return pieces
""",
    },
    "data.waste": {
        "mean of the batches' shares": """
def waste(batches):
    shares = [1 - sum(batch) / (len(batch) * max(batch)) for batch in batches]
    return sum(shares) / len(shares)
""",
        "share of the words, not of the padding": """
def waste(batches):
    words = sum(sum(lengths) for lengths in batches)
    places = sum(len(lengths) * max(lengths) for lengths in batches)
    return words / places
""",
        "padding for each word, not for each place": """
def waste(batches):
    words = sum(sum(lengths) for lengths in batches)
    places = sum(len(lengths) * max(lengths) for lengths in batches)
    return (places - words) / words
""",
        "number of padded places, not their share": """
def waste(batches):
    empty = total = 0
    for batch in batches:
        longest = max(batch)
        for length in batch:
            empty += longest - length
            total += longest
    return empty
""",
        "one rectangle for all batches": """
def waste(batches):
    lengths = [length for batch in batches for length in batch]
    return 1 - sum(lengths) / (len(lengths) * max(lengths))
""",
        "percent": """
def waste(batches):
    words = sum(sum(lengths) for lengths in batches)
    places = sum(len(lengths) * max(lengths) for lengths in batches)
    return 100 * (1 - words / places)
""",
        "whole division": """
def waste(batches):
    words = sum(sum(lengths) for lengths in batches)
    places = sum(len(lengths) * max(lengths) for lengths in batches)
    return 1 - words // places
""",
        "the first batch only": """
def waste(batches):
    empty = total = 0
    for batch in batches:
        longest = max(batch)
        for length in batch:
            empty += longest - length
            total += longest
        break
    return empty / total
""",
        "one special token counted for each sentence": """
def waste(batches):
    words = sum(sum(lengths) + len(lengths) for lengths in batches)
    places = sum(len(lengths) * (max(lengths) + 1) for lengths in batches)
    return 1 - words / places
""",
        "last length taken for the longest": """
def waste(batches):
    words = sum(sum(lengths) for lengths in batches)
    places = sum(len(lengths) * lengths[-1] for lengths in batches)
    return 1 - words / places
""",
        "first length taken for the longest": """
def waste(batches):
    words = sum(sum(lengths) for lengths in batches)
    places = sum(len(lengths) * lengths[0] for lengths in batches)
    return 1 - words / places
""",
        "cut to the shortest": """
def waste(batches):
    words = sum(sum(lengths) for lengths in batches)
    places = sum(len(lengths) * min(lengths) for lengths in batches)
    return 1 - words / places
""",
        "sum of the batches' shares": """
def waste(batches):
    return sum(1 - sum(batch) / (len(batch) * max(batch)) for batch in batches)
""",
        "sorts the batches in place": """
def waste(batches):
    for lengths in batches:
        lengths.sort()
    words = sum(sum(lengths) for lengths in batches)
    places = sum(len(lengths) * lengths[-1] for lengths in batches)
    return 1 - words / places
""",
        "fills the batches in place": """
def waste(batches):
    padded = total = 0
    for batch in batches:
        longest = max(batch)
        for i in range(len(batch)):
            padded += longest - batch[i]
            batch[i] = longest
        total += sum(batch)
    return padded / total
""",
        "one tensor of all, so only for batches of the same size": """
def waste(batches):
    lengths = torch.tensor(batches, dtype=torch.float)
    longest = lengths.max(dim=1, keepdim=True).values
    return ((longest - lengths).sum() / (longest.expand_as(lengths)).sum()).item()
""",
        "longest carried on from one batch to the next": """
def waste(batches):
    longest = empty = total = 0
    for batch in batches:
        for length in batch:
            longest = max(longest, length)
        empty += sum(longest - length for length in batch)
        total += longest * len(batch)
    return empty / total
""",
        "rounded to two places": """
def waste(batches):
    words = sum(sum(lengths) for lengths in batches)
    places = sum(len(lengths) * max(lengths) for lengths in batches)
    return round(1 - words / places, 2)
""",
        "number of padded sentences, not places": """
def waste(batches):
    empty = total = 0
    for batch in batches:
        longest = max(batch)
        for length in batch:
            empty += length < longest
            total += 1
    return empty / total
""",
        "negative": """
def waste(batches):
    words = sum(sum(lengths) for lengths in batches)
    places = sum(len(lengths) * max(lengths) for lengths in batches)
    return words / places - 1
""",
        "two sentences in every batch": """
def waste(batches):
    words = sum(sum(lengths) for lengths in batches)
    places = sum(2 * max(lengths) for lengths in batches)
    return 1 - words / places
""",
        "mean of the batches' places, batches counted": """
def waste(batches):
    words = sum(sum(lengths) for lengths in batches)
    places = sum(len(lengths) * max(lengths) for lengths in batches)
    return (places - words) / len(batches)
""",
    },
    "data.collate": {
        "sources without an end": """
def collate(src, tgt):
    return (
        pad([[*row] for row in src]),
        pad([[1, *row] for row in tgt]),
        pad([[*row, 2] for row in tgt]),
    )
""",
        "sources with a beginning, too": """
def collate(src, tgt):
    return (
        pad([[1, *row, 2] for row in src]),
        pad([[1, *row] for row in tgt]),
        pad([[*row, 2] for row in tgt]),
    )
""",
        "sources with a beginning instead of an end": """
def collate(src, tgt):
    return (
        pad([[1, *row] for row in src]),
        pad([[1, *row] for row in tgt]),
        pad([[*row, 2] for row in tgt]),
    )
""",
        "decoder inputs with an end": """
def collate(src, tgt):
    return (
        pad([[*row, 2] for row in src]),
        pad([[1, *row, 2] for row in tgt]),
        pad([[*row, 2] for row in tgt]),
    )
""",
        "decoder outputs with a beginning": """
def collate(src, tgt):
    return (
        pad([[*row, 2] for row in src]),
        pad([[1, *row] for row in tgt]),
        pad([[1, *row, 2] for row in tgt]),
    )
""",
        "decoder inputs without a beginning": """
def collate(src, tgt):
    return (
        pad([[*row, 2] for row in src]),
        pad([[*row] for row in tgt]),
        pad([[*row, 2] for row in tgt]),
    )
""",
        "decoder outputs without an end": """
def collate(src, tgt):
    return (
        pad([[*row, 2] for row in src]),
        pad([[1, *row] for row in tgt]),
        pad([[*row] for row in tgt]),
    )
""",
        "inputs and outputs exchanged": """
def rectangle(rows):
    width = max(len(row) for row in rows)
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])

def collate(src, tgt):
    bos, eos = 1, 2
    src_ids = rectangle([row + [eos] for row in src])
    tgt_in = rectangle([[bos] + row for row in tgt])
    tgt_out = rectangle([row + [eos] for row in tgt])
    return src_ids, tgt_out, tgt_in
""",
        "beginning and end exchanged": """
def rectangle(rows):
    width = max(len(row) for row in rows)
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])

def collate(src, tgt):
    bos, eos = 2, 1
    src_ids = rectangle([row + [eos] for row in src])
    tgt_in = rectangle([[bos] + row for row in tgt])
    tgt_out = rectangle([row + [eos] for row in tgt])
    return src_ids, tgt_in, tgt_out
""",
        "padded on the left": """
def rectangle(rows):
    width = max(len(row) for row in rows)
    return torch.tensor([[0] * (width - len(row)) + row for row in rows])

def collate(src, tgt):
    bos, eos = 1, 2
    src_ids = rectangle([row + [eos] for row in src])
    tgt_in = rectangle([[bos] + row for row in tgt])
    tgt_out = rectangle([row + [eos] for row in tgt])
    return src_ids, tgt_in, tgt_out
""",
        "padded with the end": """
def rectangle(rows):
    width = max(len(row) for row in rows)
    return torch.tensor([row + [2] * (width - len(row)) for row in rows])

def collate(src, tgt):
    bos, eos = 1, 2
    src_ids = rectangle([row + [eos] for row in src])
    tgt_in = rectangle([[bos] + row for row in tgt])
    tgt_out = rectangle([row + [eos] for row in tgt])
    return src_ids, tgt_in, tgt_out
""",
        "padded with -100, as for the loss": """
def rectangle(rows):
    width = max(len(row) for row in rows)
    return torch.tensor([row + [-100] * (width - len(row)) for row in rows])

def collate(src, tgt):
    bos, eos = 1, 2
    src_ids = rectangle([row + [eos] for row in src])
    tgt_in = rectangle([[bos] + row for row in tgt])
    tgt_out = rectangle([row + [eos] for row in tgt])
    return src_ids, tgt_in, tgt_out
""",
        "no padding, so only for equal lengths": """
def rectangle(rows):
    width = max(len(row) for row in rows)
    return torch.tensor([row for row in rows])

def collate(src, tgt):
    bos, eos = 1, 2
    src_ids = rectangle([row + [eos] for row in src])
    tgt_in = rectangle([[bos] + row for row in tgt])
    tgt_out = rectangle([row + [eos] for row in tgt])
    return src_ids, tgt_in, tgt_out
""",
        "cut to the shortest": """
def rectangle(rows):
    width = min(len(row) for row in rows)
    return torch.tensor([row[:width] for row in rows])

def collate(src, tgt):
    bos, eos = 1, 2
    src_ids = rectangle([row + [eos] for row in src])
    tgt_in = rectangle([[bos] + row for row in tgt])
    tgt_out = rectangle([row + [eos] for row in tgt])
    return src_ids, tgt_in, tgt_out
""",
        "the end appended in place": """
def collate(src, tgt):
    tgt_in = pad([[1] + row for row in tgt])
    for row in src + tgt:
        row.append(2)
    return pad(src), tgt_in, pad(tgt)
""",
        "the beginning inserted in place": """
def collate(src, tgt):
    src_ids = pad([row + [2] for row in src])
    tgt_out = pad([row + [2] for row in tgt])
    for row in tgt:
        row.insert(0, 1)
    return src_ids, pad(tgt), tgt_out
""",
        "the padded target shifted, so shorter inputs hold an end": """
def collate(src, tgt):
    src_ids = pad([row + [2] for row in src])
    whole = pad([[1] + row + [2] for row in tgt])
    return src_ids, whole[:, :-1], whole[:, 1:]
""",
        "the end after the padding": """
def collate(src, tgt):
    def close(X):
        return torch.cat([X, torch.full((len(X), 1), 2)], dim=1)

    def open_(X):
        return torch.cat([torch.full((len(X), 1), 1), X], dim=1)

    return close(pad(src)), open_(pad(tgt)), close(pad(tgt))
""",
        "floats": """
def rectangle(rows):
    width = max(len(row) for row in rows)
    return torch.tensor([row + [0] * (width - len(row)) for row in rows], dtype=torch.float)

def collate(src, tgt):
    bos, eos = 1, 2
    src_ids = rectangle([row + [eos] for row in src])
    tgt_in = rectangle([[bos] + row for row in tgt])
    tgt_out = rectangle([row + [eos] for row in tgt])
    return src_ids, tgt_in, tgt_out
""",
        "lists for tensors": """
def rectangle(rows):
    width = max(len(row) for row in rows)
    return [row + [0] * (width - len(row)) for row in rows]

def collate(src, tgt):
    bos, eos = 1, 2
    src_ids = rectangle([row + [eos] for row in src])
    tgt_in = rectangle([[bos] + row for row in tgt])
    tgt_out = rectangle([row + [eos] for row in tgt])
    return src_ids, tgt_in, tgt_out
""",
        "the source read for the target, too": """
def collate(src, tgt):
    return (
        pad([[*row, 2] for row in src]),
        pad([[1, *row] for row in src]),
        pad([[*row, 2] for row in src]),
    )
""",
        "the target read for the source, too": """
def collate(src, tgt):
    return (
        pad([[*row, 2] for row in tgt]),
        pad([[1, *row] for row in tgt]),
        pad([[*row, 2] for row in tgt]),
    )
""",
        "only the first pair": """
def collate(src, tgt):
    return (
        pad([[*row, 2] for row in src[:1]]),
        pad([[1, *row] for row in tgt[:1]]),
        pad([[*row, 2] for row in tgt[:1]]),
    )
""",
        "the last word dropped from the inputs": """
def collate(src, tgt):
    return (
        pad([[*row, 2] for row in src]),
        pad([[1, *row[:-1]] for row in tgt]),
        pad([[*row, 2] for row in tgt]),
    )
""",
        "the first word dropped from the outputs": """
def collate(src, tgt):
    return (
        pad([[*row, 2] for row in src]),
        pad([[1, *row] for row in tgt]),
        pad([[*row[1:], 2] for row in tgt]),
    )
""",
        "sentences sorted by length": """
def rectangle(rows):
    width = max(len(row) for row in rows)
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])

def collate(src, tgt):
    src, tgt = sorted(src, key=len), sorted(tgt, key=len)
    bos, eos = 1, 2
    src_ids = rectangle([row + [eos] for row in src])
    tgt_in = rectangle([[bos] + row for row in tgt])
    tgt_out = rectangle([row + [eos] for row in tgt])
    return src_ids, tgt_in, tgt_out
""",
        "outputs are the inputs, unshifted": """
def rectangle(rows):
    width = max(len(row) for row in rows)
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])

def collate(src, tgt):
    bos, eos = 1, 2
    src_ids = rectangle([row + [eos] for row in src])
    tgt_in = rectangle([[bos] + row for row in tgt])
    tgt_out = rectangle([row + [eos] for row in tgt])
    return src_ids, tgt_in, tgt_in
""",
        "positions before the batch": """
from torch.nn.utils.rnn import pad_sequence

def collate(src, tgt):
    def stack(rows):
        return pad_sequence([torch.tensor(row) for row in rows], batch_first=False, padding_value=0)

    return stack([s + [2] for s in src]), stack([[1] + t for t in tgt]), stack([t + [2] for t in tgt])
""",
        "width too small by one, the longest loses its end": """
def rectangle(rows):
    width = max(len(row) for row in rows) - 1
    return torch.tensor([(row + [0] * (width - len(row)))[:width] for row in rows])

def collate(src, tgt):
    bos, eos = 1, 2
    src_ids = rectangle([row + [eos] for row in src])
    tgt_in = rectangle([[bos] + row for row in tgt])
    tgt_out = rectangle([row + [eos] for row in tgt])
    return src_ids, tgt_in, tgt_out
""",
    },
    "data.split": {
        "Python's hash, which differs from run to run": """
def in_test(source, target):
    return hash(source) % 10 == 0
""",
        "chance at every call": """
def in_test(source, target):
    return random.random() < 0.1
""",
        "chance by torch at every call": """
def in_test(source, target):
    return bool(torch.rand(1).item() < 0.1)
""",
        "source and target hashed together": """
import hashlib

def in_test(source, target):
    return int(hashlib.md5((source + target).encode()).hexdigest(), 16) % 10 == 0
""",
        "the target hashed": """
import hashlib

def in_test(source, target):
    return int(hashlib.md5(target.encode()).hexdigest(), 16) % 10 == 0
""",
        "source or target": """
import hashlib

def in_test(source, target):
    share = lambda text: int(hashlib.md5(text.encode()).hexdigest(), 16) % 20
    return share(source) == 0 or share(target) == 0
""",
        "nine in ten": """
import hashlib

def in_test(source, target):
    return int(hashlib.md5(source.encode()).hexdigest(), 16) % 10 != 0
""",
        "one in a hundred": """
import hashlib

def in_test(source, target):
    return int(hashlib.md5(source.encode()).hexdigest(), 16) % 100 == 0
""",
        "half of all": """
import hashlib

def in_test(source, target):
    return int(hashlib.md5(source.encode()).hexdigest(), 16) % 2 == 0
""",
        "the remainder itself, not a boolean": """
import hashlib

def in_test(source, target):
    return int(hashlib.md5(source.encode()).hexdigest(), 16) % 10
""",
        "ten of 256 values": """
import hashlib

def in_test(source, target):
    h = hashlib.sha1()
    h.update(source.encode("utf8"))
    return int(h.hexdigest()[:2], 16) < 10
""",
        "a seed fixed anew at every call, so always the same for all": """
def in_test(source, target):
    random.seed(42)
    return random.random() < 0.1
""",
        "every tenth call": """
calls = 0

def in_test(source, target):
    global calls
    calls += 1
    return calls % 10 == 0
""",
        "every tenth new source, by order of arrival": """
seen = {}

def in_test(source, target):
    if source not in seen:
        seen[source] = len(seen)
    return seen[source] % 10 == 9
""",
        "drawn once and remembered, but not beyond the run": """
known = {}

def in_test(source, target):
    if source not in known:
        known[source] = random.random() < 0.1
    return known[source]
""",
        "by the code of the first letter": """
def in_test(source, target):
    return ord(source[0]) % 10 == 0
""",
        "by the memory address": """
def in_test(source, target):
    return id(source) // 16 % 10 == 0
""",
        "the pair hashed by Python": """
def in_test(source, target):
    return hash((source, target)) % 10 == 0
""",
        "salted with the clock": """
import datetime
import hashlib

def in_test(source, target):
    salt = datetime.datetime.now().isoformat()
    return int(hashlib.md5((salt + source).encode()).hexdigest(), 16) % 10 == 0
""",
        "salted with the process": """
import hashlib

def in_test(source, target):
    return int(hashlib.md5(f"{os.getpid()}{source}".encode()).hexdigest(), 16) % 10 == 0
""",
        "a generator seeded with Python's hash": """
def in_test(source, target):
    return random.Random(hash(source)).random() < 0.1
""",
        "never": """
def in_test(source, target):
    return False
""",
        "one generator with a fixed seed for all calls, so the order counts": """
draw = random.Random(0)

def in_test(source, target):
    return draw.random() < 0.1
""",
        "by the sum of both lengths": """
def in_test(source, target):
    return (len(source) + len(target)) % 10 == 0
""",
        "True for training, False for the test": """
import hashlib

def in_test(source, target):
    digest = hashlib.sha256(source.encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big") >= 2**64 // 10
""",
        "the first letter only hashed": """
import hashlib

def in_test(source, target):
    return int(hashlib.md5(source[:1].encode()).hexdigest(), 16) % 10 == 0
""",
        "a string for the answer": """
import hashlib

def in_test(source, target):
    return 'test' if int(hashlib.md5(source.encode()).hexdigest(), 16) % 10 == 0 else 'train'
""",
        "salted with the day, another answer tomorrow": """
import datetime
import hashlib

def in_test(source, target):
    salt = datetime.date.today().isoformat()
    return int(hashlib.md5((salt + source).encode()).hexdigest(), 16) % 10 == 0
""",
    },
    "data.pack": {
        "not sorted": """
def pack(lengths, max_tokens):
    pairs = [(length, i) for i, length in enumerate(lengths)]
    groups = []
    current, longest = [], 0
    for length, i in pairs:
        new_longest = max(longest, length)
        if current and new_longest * (len(current) + 1) > max_tokens:
            groups.append(current)
            current, new_longest = [], length
        current = current + [i]
        longest = new_longest
    return groups + [current] if current else groups
""",
        "words counted, not places": """
def pack(lengths, max_tokens):
    batches, batch, total = [], [], 0
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and total + lengths[i] > max_tokens:
            batches.append(batch)
            batch, total = [], 0
        batch.append(i)
        total += lengths[i]
    if batch:
        batches.append(batch)
    return batches
""",
        "a full batch counted as too large": """
def pack(lengths, max_tokens):
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and lengths[i] * (len(batch) + 1) >= max_tokens:
            batches.append(batch)
            batch = []
        batch.append(i)
    if batch:
        batches.append(batch)
    return batches
""",
        "the last batch forgotten": """
def pack(lengths, max_tokens):
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and lengths[i] * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(i)
    return batches
""",
        "lengths for indices": """
def pack(lengths, max_tokens):
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and lengths[i] * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(lengths[i])
    if batch:
        batches.append(batch)
    return batches
""",
        "indices into the sorted list": """
def pack(lengths, max_tokens):
    batches, batch = [], []
    for i, length in enumerate(sorted(lengths)):
        if batch and length * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(i)
    if batch:
        batches.append(batch)
    return batches
""",
        "an empty batch before a sentence that is too long": """
def pack(lengths, max_tokens):
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if lengths[i] * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(i)
    if batch:
        batches.append(batch)
    return batches
""",
        "too long sentences dropped": """
def pack(lengths, max_tokens):
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if lengths[i] > max_tokens:
            continue
        if batch and lengths[i] * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(i)
    if batch:
        batches.append(batch)
    return batches
""",
        "a sentence that is too long raises an error": """
def pack(lengths, max_tokens):
    if max(lengths, default=0) > max_tokens:
        raise ValueError('A sentence is longer than a batch.')
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and lengths[i] * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(i)
    if batch:
        batches.append(batch)
    return batches
""",
        "sorts the lengths in place": """
def pack(lengths, max_tokens):
    lengths.sort()
    batches, batch = [], []
    for i in range(len(lengths)):
        if batch and lengths[i] * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(i)
    if batch:
        batches.append(batch)
    return batches
""",
        "max_tokens ignored, one batch": """
def pack(lengths, max_tokens):
    return [sorted(range(len(lengths)), key=lambda i: lengths[i])]
""",
        "each sentence by itself": """
def pack(lengths, max_tokens):
    return [[i] for i in sorted(range(len(lengths)), key=lambda i: lengths[i])]
""",
        "as many sentences in each batch as fit of the longest": """
def pack(lengths, max_tokens):
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    size = max(1, max_tokens // max(lengths, default=1))
    return [order[i : i + size] for i in range(0, len(order), size)]
""",
        "room measured before the new sentence": """
def pack(lengths, max_tokens):
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and lengths[i] * len(batch) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(i)
    if batch:
        batches.append(batch)
    return batches
""",
        "the longest not started anew": """
def pack(lengths, max_tokens):
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    result = []
    for index in order:
        if result and lengths[order[0]] * (len(result[-1]) + 1) <= max_tokens:
            result[-1].append(index)
        else:
            result.append([index])
    return result
""",
        "the shortest times the number": """
def pack(lengths, max_tokens):
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and lengths[batch[0]] * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(i)
    if batch:
        batches.append(batch)
    return batches
""",
        "equal lengths find the same index": """
def pack(lengths, max_tokens):
    batches, batch = [], []
    for length in sorted(lengths):
        if batch and length * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(lengths.index(length))
    if batch:
        batches.append(batch)
    return batches
""",
        "a dictionary by length loses equal ones": """
def pack(lengths, max_tokens):
    place = {length: i for i, length in enumerate(lengths)}
    batches, batch = [], []
    for length in sorted(place):
        if batch and length * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(place[length])
    return batches + [batch] if batch else batches
""",
        "one empty batch for no sentences": """
def pack(lengths, max_tokens):
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and lengths[i] * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(i)
    batches.append(batch)
    return batches
""",
        "max_tokens taken for a number of sentences": """
def pack(lengths, max_tokens):
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and len(batch) == max_tokens:
            batches.append(batch)
            batch = []
        batch.append(i)
    if batch:
        batches.append(batch)
    return batches
""",
        "an end token counted for each sentence": """
def pack(lengths, max_tokens):
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and (lengths[i] + 1) * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(i)
    if batch:
        batches.append(batch)
    return batches
""",
        "longest first, measured by the newcomer": """
def pack(lengths, max_tokens):
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    result = []
    for index in order:
        if result and lengths[index] * (len(result[-1]) + 1) <= max_tokens:
            result[-1].append(index)
        else:
            result.append([index])
    return result
""",
        "the sentence that doesn't fit is lost": """
def pack(lengths, max_tokens):
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and lengths[i] * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch = []
            continue
        batch.append(i)
    if batch:
        batches.append(batch)
    return batches
""",
        "the sentence that closes a batch stands in both": """
def pack(lengths, max_tokens):
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and lengths[i] * (len(batch) + 1) > max_tokens:
            batches.append(batch + [i])
            batch = []
        batch.append(i)
    if batch:
        batches.append(batch)
    return batches
""",
        "only sentences of the same length together": """
def pack(lengths, max_tokens):
    batches, batch = [], []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and lengths[batch[0]] != lengths[i] or batch and lengths[i] * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(i)
    if batch:
        batches.append(batch)
    return batches
""",
    },
}

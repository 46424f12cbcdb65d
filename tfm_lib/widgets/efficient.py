"""The widgets of chapter `efficient`: sparse attention patterns, and the online softmax step by step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
import traitlets

from tfm_lib.efficient import lsh_buckets, lsh_pairs
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets.base import Numbers, Widget, Words, one_of, to_list, to_words, within

PATTERN = Words(
    title="Sparsity patterns",
    question="How many layers does information need from the first word to the last?",
    shared={
        "patterns": {
            "window": "window: neighbours on each side",
            "strided": "strided: neighbours, and words at regular distances",
            "global": "window, and the first word sees all words",
            "hashing": "hashing: words in the same bucket",
            "full": "full",
        },
        "reached": "after {hops}",
        "lost": "not yet",
    },
    alt="{pattern}, size {size}, {rounds} rounds: {pairs} of {all} pairs in a layer. Within {layers} layers “{query}” is "
    "reached by {heard} of {words} words; by “{first}” {far}.",
    heading="layers until a column’s word reaches a row’s word",
)
SOFTMAX = Words(
    title="Online softmax, step by step",
    question="In which order of the keys do the bars never shrink?",
    shared={
        "key": "key",
        "score": "score",
        "counts": "numerator",
        "orders": {"given": "as given", "rising": "rising scores", "falling": "falling scores"},
    },
    alt="Keys {order}, {tile} in a tile: after {steps} of {tiles} tiles {told}.",
    nothing="nothing is read",
    told="the largest score is {top}, {rescaled}the total {total}, mixed {mixed}, the output {output}",
    rescaled="the last rescaling × {shrink}, ",
)
PATTERNS = tuple(PATTERN.shared["patterns"])
ORDERS = tuple(SOFTMAX.shared["orders"])
TILES = (1, 2, 4, 8)
CHUNK = 4  # positions per chunk, as in the front end
SENTENCE = "the cat saw the dog and the dog saw the bird and the bird saw the cat and they slept"


class SparsityPatterns(Widget):
    """The attention pattern of one layer, and how many layers each word needs to receive information from each other.

    `tokens` is a sentence or a list of words, their number a multiple of 4. `value` is the number of layers, `pattern`
    one of window, strided, global, hashing and full, `size` the pattern's parameter, `rounds` the rounds of hashing.
    """

    _module = traitlets.Unicode("efficient/sparsity").tag(sync=True)
    words = PATTERN
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    buckets = Numbers().tag(sync=True)
    pattern = traitlets.Unicode("window").tag(sync=True)
    size = traitlets.Int(2).tag(sync=True)
    rounds = traitlets.Int(1).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)
    value = traitlets.Int(1).tag(sync=True)
    focus = traitlets.Int(0).tag(sync=True)

    def __init__(self, tokens: Any = SENTENCE, **kwargs: Any):
        words = to_words("tokens", tokens)
        if len(words) % CHUNK:
            raise ValueError(f"tokens must hold a multiple of {CHUNK} words; it holds {len(words)}")
        super().__init__(tokens=words, buckets=_buckets(words), **{"focus": len(words) - 1, **kwargs})

    @traitlets.validate("pattern")
    def _valid_pattern(self, proposal):
        return one_of("pattern", proposal["value"], PATTERNS)

    @traitlets.validate("size", "value")
    def _valid_size(self, proposal):
        return within(proposal["trait"].name, proposal["value"], 1, 8)

    @traitlets.validate("rounds")
    def _valid_rounds(self, proposal):
        return within("rounds", proposal["value"], 1, 4)

    @traitlets.validate("focus")
    def _valid_focus(self, proposal):
        return within("focus", proposal["value"], 0, len(self.tokens) - 1, "a row ")

    @property
    def mask(self) -> torch.Tensor:
        """The attention mask of one layer, (n, n)."""
        return pattern_mask(
            self.pattern, len(self.tokens), self.size, torch.tensor(self.buckets)[: self.rounds], self.causal
        )

    @property
    def hops(self) -> torch.Tensor:
        """The fewest layers through which a column reaches a row, 0 if that takes more than `value`."""
        return reach(self.mask, self.value)

    @property
    def alt(self) -> str:
        say, row, hops = self.words, self.hops[self.focus], self.hops
        first = int(row[0])
        return say.alt.format(
            pattern=say.shared["patterns"][self.pattern],
            size=self.size,
            rounds=self.rounds,
            pairs=int((hops == 1).sum()),
            all=hops.numel(),
            layers=self.value,
            query=self.tokens[self.focus],
            heard=int((row > 0).sum()),
            words=len(self.tokens),
            first=self.tokens[0],
            far=say.shared["reached"].format(hops=first) if first else say.shared["lost"],
        )

    def figure(self):
        """Draw the hops as a matrix; more hops are fainter."""
        hops = self.hops
        values = torch.where(hops > 0, 1 / hops.clamp(min=1), torch.zeros(()))
        fig, ax = draw.figure(width=5.6, height=5.4)

        def text(i, j):
            return str(int(hops[i, j])) if hops[i, j] else ""

        look: dict[str, Any] = {"rows": self.tokens, "cols": self.tokens, "text": text, "text_size": 6.5, "size": 7}
        draw.heatmap(ax, values.numpy(), title=self.words.heading, hidden=(hops == 0).numpy(), **look)
        return fig


class OnlineSoftmax(Widget):
    """Online softmax over one row of eight scores, tile by tile: the running values, and how they are rescaled.

    `value` is the number of tiles read, `tile` the number of keys in each, `order` the order of the keys: given,
    rising or falling. `scores`, from −4 to 4, and `values` are eight numbers each.
    """

    _module = traitlets.Unicode("efficient/online_softmax").tag(sync=True)
    words = SOFTMAX
    scores = Numbers().tag(sync=True)
    values = Numbers().tag(sync=True)
    tile = traitlets.Int(2).tag(sync=True)
    order = traitlets.Unicode("given").tag(sync=True)
    value = traitlets.Int(0).tag(sync=True)

    def __init__(self, scores=(0.5, 1.5, -1, 2, 3, -2, 1, 3.5), values=(1, 4, 2, 0, 3, 5, 2, 1), **kwargs: Any):
        row, mixed = to_list("scores", scores, (8,)), to_list("values", values, (8,))
        if max(map(abs, row)) > 4:
            raise ValueError(f"scores must lie between −4 and 4; it holds {max(row, key=abs)}")
        super().__init__(scores=row, values=mixed, **kwargs)

    @traitlets.validate("tile")
    def _valid_tile(self, proposal):
        return one_of("tile", proposal["value"], TILES)

    @traitlets.validate("order")
    def _valid_order(self, proposal):
        return one_of("order", proposal["value"], ORDERS)

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        return within("value", proposal["value"], 0, 8)

    @property
    def rows(self) -> list[dict[str, float]]:
        """The running values after each tile, as returned by `online`."""
        order = _ordered(self.scores, self.order)
        return online([self.scores[j] for j in order], [self.values[j] for j in order], self.tile)

    @property
    def alt(self) -> str:
        say, tiles = self.words, 8 // self.tile
        steps = min(self.value, tiles)
        row = self.rows[steps - 1] if steps else {}
        numbers = {name: draw.number(each, 3 if name in ("shrink", "output") else 2) for name, each in row.items()}
        rescaled = say.rescaled.format(**numbers) if steps > 1 else ""
        told = say.told.format(rescaled=rescaled, **numbers) if steps else say.nothing
        order = say.shared["orders"][self.order]
        return say.alt.format(order=order, tile=self.tile, steps=steps, tiles=tiles, told=told)

    def figure(self):
        """Draw the scores with the maximum so far, beside the weight of each key."""
        say, steps = self.words.shared, min(self.value, 8 // self.tile)
        scores = [self.scores[j] for j in _ordered(self.scores, self.order)]
        read, keys = steps * self.tile, np.arange(1, 9)
        fig, (left, right) = draw.figure(cols=2, width=7.2, height=2.9)
        before = draw.Plane(left, say["key"], say["score"], ylim=(-4.3, 4.3), xticks=keys)
        after = draw.Plane(right, say["key"], say["counts"], ylim=(0, 1.1), xlim=(0.4, 8.6), xticks=keys)
        for j, score in enumerate(scores):
            before.dot(j + 1, score, "soft" if j >= read else "one" if j >= read - self.tile else "two")
        if steps:
            top = self.rows[steps - 1]["top"]
            before.rule(y=top, colour="ink")
            for j in range(read):
                colour = "one" if j >= read - self.tile else "two"
                after.ax.bar(j + 1, math.exp(scores[j] - top), color=draw.colours()[colour])
        return fig


def pattern_mask(pattern: str, n: int, size: int, buckets: torch.Tensor, causal: bool = False) -> torch.Tensor:
    """Return the (n, n) mask of a pattern, in which each word attends to itself."""
    i, j = torch.arange(n)[:, None], torch.arange(n)[None, :]
    near = (i - j).abs()
    makers = {
        "window": lambda: near <= size,
        "strided": lambda: (near <= 1) | ((i - j) % size == 0),
        "global": lambda: (near <= size) | (i == 0) | (j == 0),
        "hashing": lambda: lsh_pairs(buckets, CHUNK) | (i == j),
        "full": lambda: torch.ones(n, n, dtype=torch.bool),
    }
    mask = makers[one_of("pattern", pattern, PATTERNS)]()
    return mask & (j <= i) if causal else mask


def reach(mask: torch.Tensor, layers: int) -> torch.Tensor:
    """Return the fewest layers through which a column reaches a row, 0 if that takes more than `layers`."""
    hops, now = mask.long(), mask
    for layer in range(2, layers + 1):
        now = (now.float() @ mask.float()) > 0
        hops = torch.where(now & (hops == 0), layer, hops)
    return hops


def online(scores: list[float], values: list[float], tile: int) -> list[dict[str, float]]:
    """Return, after each tile, the maximum so far, the factor that rescaled the previous sums, and the sums."""
    top, total, mixed, rows = -math.inf, 0.0, 0.0, []
    for start in range(0, len(scores), tile):
        keys = range(start, start + tile)
        higher = max(top, *(scores[j] for j in keys))
        shrink, counts = math.exp(top - higher), [math.exp(scores[j] - higher) for j in keys]
        total = total * shrink + sum(counts)
        mixed = mixed * shrink + sum(count * values[j] for count, j in zip(counts, keys))
        top = higher
        rows.append({"top": top, "shrink": shrink, "total": total, "mixed": mixed, "output": mixed / total})
    return rows


def _ordered(scores: list[float], order: str) -> list[int]:
    turn = {"given": lambda j: 0.0, "rising": lambda j: scores[j], "falling": lambda j: -scores[j]}[order]
    return sorted(range(len(scores)), key=turn)


def _buckets(words: list[str]) -> list:
    """Return four rounds of hashes of random vectors, one per word plus noise, so that equal words often collide."""
    generator = torch.Generator().manual_seed(4)
    known = {word: torch.randn(16, generator=generator) for word in dict.fromkeys(words)}
    X = torch.stack([known[word] + 0.3 * torch.randn(16, generator=generator) for word in words])
    return lsh_buckets(X, 6, 4, generator).tolist()

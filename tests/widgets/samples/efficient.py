"""Samples of the widgets of chapter `efficient`."""

import numpy as np

from tfm_lib.widgets.efficient import ORDERS, PATTERNS, TILES, OnlineSoftmax, SparsityPatterns, _ordered
from widgets.picture_numbers import bars, cells, column, marked, numbers, points, words
from widgets.samples import Sample


def sparsity(widget):
    tokens = widget.model()["tokens"]
    assert widget.model()["buckets"] == SparsityPatterns(tokens).buckets
    n = len(tokens)
    settings = [
        (p, size, 3, layers, causal) for p in PATTERNS for size, layers, causal in ((1, 4, False), (3, 2, True))
    ]
    for at, (pattern, size, rounds, layers, causal) in enumerate(settings):
        state = {
            "pattern": pattern,
            "size": size,
            "rounds": rounds,
            "value": layers,
            "causal": causal,
            "focus": n - 1 - at % n,
        }
        widget.show(state)
        own = SparsityPatterns(tokens, **state)
        hops, row = own.hops, own.hops[own.focus]
        assert column(widget.rows(), "layers").tolist() == hops.flatten().tolist(), state
        for label, hop in zip(widget.cells("reach"), hops.flatten().tolist(), strict=True):
            assert [found for found, _ in numbers(label)] == [hop or layers]
            assert ("not within" in label) == (hop == 0)
        pairs = int((hops == 1).sum())
        far = [int(row[0])] if row[0] else []
        shown = [found for found, _ in numbers(widget.readout())]
        assert shown == [pairs, n * n, round(100 * pairs / n**2), layers, int((row > 0).sum()), n, *far], state


def online_softmax(widget):
    for order in ORDERS:
        for tile in TILES:
            own = OnlineSoftmax(tile=tile, order=order)
            tiles = 8 // tile
            for steps in {0, 1, tiles}:
                widget.show({"order": order, "tile": tile, "value": steps})
                rows, shown = own.rows, widget.rows()
                for name, key in {
                    "largest": "top",
                    **{key: key for key in ("shrink", "total", "mixed", "output")},
                }.items():
                    assert np.allclose(column(shown, name), [row[key] for row in rows], rtol=1e-12)
                if not steps:
                    assert widget.readout().strip() == "Nothing is read yet."
                    continue
                said = rows[steps - 1]
                assert ("multiplied" in widget.readout()) == (steps > 1)
                names = ("top", *(["shrink"] if steps > 1 else []), "total", "mixed", "output")
                kept = [said[key] for key in names]
                expected = [steps, tiles, *kept, *([rows[-1]["output"]] if steps == tiles else [])]
                for (number, half), value in zip(numbers(widget.readout()), expected, strict=True):
                    assert abs(number - value) <= half * (1 + 1e-6) + 1e-12, widget.readout()


def sparsity_still(axes, widget):
    rows, n = widget.rows(), len(widget.model()["tokens"])
    hops = column(rows, "layers")
    yield cells(axes[0]).ravel(), np.divide(1, hops, out=np.zeros_like(hops), where=hops > 0)
    yield words(axes[0]), [str(int(hop)) if hop else "" for hop in hops]
    yield marked(axes[0], "soft"), [divmod(at, n) for at, hop in enumerate(hops) if not hop]


def online_softmax_still(axes, widget):
    state, rows = widget.model(), widget.rows()
    steps = min(state["value"], 8 // state["tile"])
    drawn = points(axes[0])
    yield [place[0][1] for place in drawn[:8]], [state["scores"][j] for j in _ordered(state["scores"], state["order"])]
    if steps:
        row = rows[steps - 1]
        yield drawn[-1][:, 1], [float(row["largest"])] * 2
        counts = [count for group in bars(axes[1]) for count in group]
        scores = np.array([place[0][1] for place in drawn[:8]])[: steps * state["tile"]]
        yield counts, np.exp(scores - float(row["largest"]))
        yield [sum(counts)], [float(row["total"])]


SAMPLES = {
    "sparsity": Sample(
        code="SparsityPatterns('a b c d e f g h')",
        change="pattern = 'full'",
        says="compares 64 of 64 pairs",
        states=[{"pattern": "hashing", "rounds": 3, "value": 2}, {"pattern": "strided", "size": 3, "causal": True}],
        still=sparsity_still,
        refused={
            "tokens must hold a multiple of 4 words; it holds 3": lambda: SparsityPatterns("a b c"),
            "pattern must be one of window, strided, global, hashing, full; it is 'none'": lambda: SparsityPatterns(
                pattern="none"
            ),
            "size must be from 1 to 8; it is 9": lambda: SparsityPatterns(size=9),
            "value must be from 1 to 8; it is 0": lambda: SparsityPatterns(value=0),
            "rounds must be from 1 to 4; it is 5": lambda: SparsityPatterns(rounds=5),
            "focus must be a row from 0 to 3; it is 4": lambda: SparsityPatterns("a b c d", focus=4),
        },
    ),
    "online_softmax": Sample(
        code="OnlineSoftmax()",
        change="value = 2",
        says="Tile 2 of 4",
        states=[{"value": 3}, {"tile": 4, "value": 2, "order": "rising"}],
        still=online_softmax_still,
        refused={
            "scores must have shape (8); it has shape (2,)": lambda: OnlineSoftmax(scores=[1, 2]),
            "scores must lie between −4 and 4; it holds 5.0": lambda: OnlineSoftmax(scores=[5] * 8),
            "tile must be one of 1, 2, 4, 8; it is 3": lambda: OnlineSoftmax(tile=3),
            "order must be one of given, rising, falling; it is 'up'": lambda: OnlineSoftmax(order="up"),
            "value must be from 0 to 8; it is 9": lambda: OnlineSoftmax(value=9),
        },
    ),
}

"""Samples of the widgets of chapter `efficient`."""

import numpy as np
from reading import bars, cells, column, marked, points, words

from samples import Sample
from tfm_lib.widgets.efficient import OnlineSoftmax, SparsityPatterns


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
        says="64 of 64 pairs in a layer",
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

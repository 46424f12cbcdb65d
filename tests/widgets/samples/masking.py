"""Samples of the widget of chapter `masking`."""

import math

import numpy as np

from tfm_lib.widgets.masking import MaskEditor
from widgets.picture_numbers import cells, column, fixed, marked, words
from widgets.samples import Sample, changed


def mask_editor_still(axes, widget):
    rows = widget.rows()
    n = math.isqrt(len(rows))
    seen = [row["visible"] == "true" for row in rows]
    weights = np.nan_to_num(column(rows, "weight"))
    yield cells(axes[1]).ravel(), weights
    hidden = [divmod(at, n) for at, visible in enumerate(seen) if not visible]
    yield sorted({*marked(axes[0], "soft"), *marked(axes[0], "broken")}), hidden
    scores = ["−∞" if not visible else fixed(row["score"], 1) for row, visible in zip(rows, seen)]
    yield words(axes[0]), scores
    empty = [i for i in range(n) if not any(seen[n * i : n * (i + 1)])]
    yield [text for text in words(axes[1]) if text == "?"], ["?"] * n * len(empty)


SAMPLES = {
    "mask_editor": Sample(
        code="MaskEditor('The cat sat on the mat', focus=2)",
        change="preset = 'strict'",
        says="sees 2 of 6 keys",
        states=[
            {"preset": "strict"},
            {"preset": "window", "size": 1, "focus": 5},
            {"sentence": "a bird in the hand is worth two in the bush", "focus": 7},
        ],
        still=mask_editor_still,
        refused={
            "mask must have shape (2, 2); it has shape (1, 1)": lambda: MaskEditor("a b", mask=[[True]]),
            "mask must hold booleans…": lambda: MaskEditor("a b", mask=[[0.5, 1], [1, 1]]),
            "scores must have shape (2, 2); it has shape (3, 3)": lambda: MaskEditor("a b", np.zeros((3, 3))),
            "preset must be one of causal, strict, padding, window, block, full; it is 'casual'": lambda: MaskEditor(
                "a b", preset="casual"
            ),
            "size must be at least 1; it is 0": lambda: MaskEditor("a b", size=0),
            "size must be at least 1; it is -7": lambda: changed(MaskEditor("a b"), size=-7),
            "focus must be a row from 0 to 1; it is 2": lambda: MaskEditor("a b", focus=2),
            "value must have shape (3, 3); it has shape (2, 2)": lambda: changed(
                MaskEditor("a b"), sentence="x y z", value=[[True, True], [True, True]]
            ),
        },
    )
}

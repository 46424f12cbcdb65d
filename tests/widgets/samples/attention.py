"""Samples of the widget of chapter `attention`."""

import numpy as np
import torch

from tfm_lib.attention import BilinearScore
from tfm_lib.widgets.attention import SoftLookup
from widgets.picture_numbers import column
from widgets.samples import Sample, changed

TRIANGLE = torch.tensor([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])


def lookup(**arguments) -> SoftLookup:
    return SoftLookup(**{"keys": TRIANGLE, **arguments})


def soft_lookup_still(axes, widget):
    rows = widget.rows()
    weights, keys = column(rows, "weight"), column(rows, "key x", "key y")
    ties = axes[0].lines[2 : 2 + len(rows)]  # after the two lines through 0
    yield [tie.get_linewidth() for tie in ties], np.maximum(0.5, 11 * weights)
    yield [tie.get_xydata()[0] for tie in ties], keys
    values = [name for name in rows[0] if name.startswith("value")]
    output = weights @ column(rows, *values).reshape(len(rows), -1)
    if len(values) == 1:
        stems, mean = axes[1].collections[0], axes[1].lines[-1]
        yield [end[1][1] for end in stems.get_segments()], weights
        yield mean.get_xdata()[:1], output
    else:
        yield axes[1].lines[0].get_xydata()[1], output


SAMPLES = {
    "soft_lookup": Sample(
        code="SoftLookup()",
        change="value = [-1.4, 1.6]",
        says="lemon 0.9",
        states=[{"value": [-1.0, 0.4], "score": "dot"}, {"uniform": True}],
        still=soft_lookup_still,
        refused={
            "keys must have shape (m, 2); it has shape (3, 4)": lambda: lookup(keys=np.zeros((3, 4))),
            "values must have shape (3, 1 or 2); it has shape (1, 1)": lambda: lookup(values=[[1.0]]),
            "values must have shape (3, 1 or 2); it has shape (3, 3)": lambda: lookup(values=np.zeros((3, 3))),
            "values must be finite…": lambda: lookup(values=[1, 2, float("nan")]),
            "query must have shape (2); it has shape (3,)": lambda: lookup(query=(1, 2, 3)),
            "labels must hold 3 words…": lambda: lookup(labels="a b"),
            "axes must hold 2 words…": lambda: lookup(axes=["x"]),
            "score must be one of dot, scaled dot, bilinear, additive; it is 'cosine'": lambda: lookup(score="cosine"),
            "score.W must have shape (2, 2); it has shape (3, 2)": lambda: lookup(score=BilinearScore(3, 2)),
            "temperature must be positive and finite; it is 0.0": lambda: lookup(temperature=0.0),
            "value must…": lambda: changed(lookup(), value=[1]),
            "K must…": lambda: changed(lookup(), K=[[1, 2]]),
            "V must…": lambda: changed(lookup(), V=np.zeros((2, 2))),
            "score must…": lambda: changed(lookup(), score="none"),
            "temperature must…": lambda: changed(lookup(), temperature=-1),
            "V must keep its shape (3, 2); it has shape (3, 1)": lambda: changed(lookup(), V=[1, 2, 3]),
        },
        mistyped={"score must be … it is a Linear": lambda: lookup(score=torch.nn.Linear(2, 2))},
    )
}

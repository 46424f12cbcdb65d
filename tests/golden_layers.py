"""Numbers of the widgets of chapter `layers`, as tfm_lib computes them."""

import torch

from tfm_lib.layers import standardise
from tfm_lib.widgets.layers import NORMS, GradientThroughDepth, measure


def numbers() -> dict:
    generator = torch.Generator().manual_seed(0)
    words = [[1, 3, 3, 9], [2, 2, 2], [-1.5, 4], *(5 * torch.randn(3, 6, generator=generator)).tolist()]
    normed = [
        {"x": x, "eps": eps, "out": standardise(torch.tensor(x, dtype=torch.float64), eps).tolist()}
        for x in words
        for eps in (1e-6, 1e-5, 0.3, 10.0)
    ]
    widget, picks = GradientThroughDepth(measure(depths=(2, 4), seeds=range(2), d_model=8, n=4), value=2), []
    for widget.residual in (True, False):
        for widget.norm in NORMS:
            for depth in widget.depths:
                widget.value = depth
                state = {"value": depth, "residual": widget.residual, "norm": widget.norm}
                picks.append({**state, "lengths": widget.lengths()})
    return {"normed": normed, "depths": widget.depths, "measured": widget.measured, "picks": picks}

"""Numbers of the widgets of chapter `recurrence`, as tfm_lib computes them."""

import numpy as np
import torch
from torch import nn

from tfm_lib.recurrence import DilatedConvolutions, WordWindow, gradient_reach
from tfm_lib.widgets.recurrence import GradientReach, path, strength


def numbers() -> dict:
    paths = [
        {"kind": kind, "distance": distance, "window": window, "k": k, "path": path(kind, distance, window, k)}
        for kind in ("rnn", "window", "dilated", "attention")
        for distance in (1, 2, 4, 5, 12, 13, 14, 21, 40, 41)
        for window, k in ((1, 2), (2, 3), (4, 5))
    ]
    norms = np.exp(np.random.default_rng(0).normal(size=(2, 5, 4)) * 9).tolist()
    widget = GradientReach({"GRU": norms})
    summaries = [
        {
            "rows": widget.reach["GRU"][i],
            "summary": {key: row.tolist() for key, row in widget.summary("GRU", stage).items()},
        }
        for i, stage in enumerate(widget.stages)
    ]
    far = GradientReach({"GRU": norms}, distances=[1, 3, 6, 10], tokens="a b c d e f g h")
    faded = [
        {"stage": i, "count": len(far.tokens), "distances": far.distances, "norms": far.words_heard(stage)}
        for i, stage in enumerate(far.stages)
    ]
    dark = [[norm, float(strength(norm))] for norm in (1e-30, 1e-7, 2e-6, 0.05, 0.9, 1.0, 30.0)]
    return {"paths": paths, "layers": layers(), "summaries": summaries, "faded": faded, "dark": dark}


def layers() -> list[dict]:
    """Layers that the models of the core themselves need before one word hears another: found by their derivatives."""
    torch.manual_seed(0)
    found = []
    for distance in (1, 2, 4, 5, 9):
        X = torch.randn(distance + 1, 16, dtype=torch.double)
        for kind, make in (
            ("window", lambda depth: nn.Sequential(*[WordWindow(16, 2) for _ in range(depth)])),
            ("dilated", lambda depth: DilatedConvolutions(16, 3, depth)),
        ):
            for depth in range(1, 9):
                model = make(depth).double()
                if gradient_reach(lambda X, model=model: model(X[None])[0, -1], X)[0] > 0:
                    found.append({"kind": kind, "distance": distance, "window": 2, "k": 3, "layers": depth})
                    break
    return found

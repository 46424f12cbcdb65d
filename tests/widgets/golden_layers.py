"""Numbers of the widgets of chapter `layers`, as tfm_lib computes them."""

from itertools import product

import torch

from tfm_lib.layers import standardise
from tfm_lib.widgets.layers import (
    NORMS,
    GradientThroughDepth,
    LayerNormByHand,
    RankCollapse,
    measure_cuts,
    measure_words,
)


def numbers() -> dict:
    generator = torch.Generator().manual_seed(0)
    words = [[1, 3, 3, 9], [2, 2, 2], [-1.5, 4], *(5 * torch.randn(3, 6, generator=generator)).tolist()]
    normed = [
        {"x": x, "eps": eps, "out": standardise(torch.tensor(x, dtype=torch.float64), eps).tolist()}
        for x in words
        for eps in (1e-6, 1e-5, 0.3, 10.0)
    ]
    widget, picks = GradientThroughDepth(measure_cuts(3, seeds=range(2), d_model=8, n=4)), []
    for widget.norm in NORMS:
        for cuts in product((False, True), repeat=3):
            widget.value = list(cuts)
            least, most = widget.seeds()
            state = {"value": widget.value, "norm": widget.norm}
            picks.append({"state": state, "middle": widget.lengths(), "least": least, "most": most})
    collapse, stacks = RankCollapse(*measure_words(2, seeds=range(2), d_model=8, n=4)), []
    for collapse.residual, collapse.think, collapse.norm in product((True, False), (True, False), NORMS):
        state = {"residual": collapse.residual, "think": collapse.think, "norm": collapse.norm}
        for collapse.value in range(3):
            cosines = collapse.cosines()
            pair = (cosines.sum() - cosines.trace()) / 12
            found = {**collapse.differences(), "cosines": cosines.tolist(), "pair": pair}
            stacks.append({"state": state, "value": collapse.value, **found})
    others = {"alike": collapse.measured, "stacks": stacks}
    hand = LayerNormByHand([1, 3, 3, 9, 5, 3], gain=1.5, bias=-0.5)
    steps = {"x": hand.value, "eps": hand.eps, "gain": hand.gain, "bias": hand.bias, "stages": hand.stages}
    return {
        **others,
        "steps": steps,
        "normed": normed,
        "measured": widget.measured,
        "picks": picks,
        "ends": widget.ends(),
    }

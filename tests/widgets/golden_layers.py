"""Numbers of the widget of chapter `layers`, as tfm_lib computes them."""

from itertools import product

from tfm_lib.widgets.layers import NORMS, GradientThroughDepth, measure_cuts


def numbers() -> dict:
    widget, picks = GradientThroughDepth(measure_cuts(3, seeds=range(2), d_model=8, n=4)), []
    for widget.norm in NORMS:
        for cuts in product((False, True), repeat=3):
            widget.value = list(cuts)
            least, most = widget.seeds()
            state = {"value": widget.value, "norm": widget.norm}
            picks.append({"state": state, "middle": widget.lengths(), "least": least, "most": most})
    return {"measured": widget.measured, "picks": picks, "ends": widget.ends()}

"""Numbers of the widget of chapter `cost`, as tfm_lib computes them."""

from itertools import product

from tfm_lib.widgets.cost import GRID, CostExplorer, asked, costs

MEASURED = {
    "n": [64, 256, 1024],
    "layers": {
        str(d): {
            "attention": [0.1, 1.0 * d / 64, 20.0], "projected": [0.2, 1.5, 22.0], "gru": [5.0, 9.0, 14.0],
            "convolution 3": [0.1, 0.2, 0.5], "convolution 7": [0.2, 0.3, 0.8], "window": [0.3, 0.6, 1.3],
        }
        for d in (64, 512)
    },
}  # fmt: skip


def numbers() -> dict:
    settings = [
        {"d": d, "k": k, "r": r, "projections": projections}
        for d, k, r, projections in ((64, 3, 64, 0), (512, 7, 16, 3), (16, 2, 2, 0), (1024, 15, 1024, 3))
    ]
    rows = [
        {"n": n, "state": state, "rows": {name: row._asdict() for name, row in costs(n, **state).items()}}
        for state, n in product(settings, (2, 3, 27, 28, 1000, 65_536))
    ]
    shown = [
        {
            "n": n,
            "state": {**state, "quantity": quantity, "joined": joined},
            "asked": asked(n, **state, quantity=quantity, joined=joined),
        }
        for state, quantity, joined, n in product(
            settings, ("multiplications", "memory", "sequential", "path"), (False, True), (9, 500)
        )
    ]
    crossings = []
    for state, quantity in product(settings, ("multiplications", "memory", "sequential", "path", "time")):
        widget = CostExplorer(MEASURED, quantity=quantity, reveal=True, **state)
        times = (
            {name: [list(point) for point in line] for name, line in widget.curves.items()}
            if quantity == "time"
            else None
        )
        crossings.append({"state": {**state, "quantity": quantity}, "crossing": widget.crossing, "times": times})
    return {"grid": GRID, "measured": MEASURED, "rows": rows, "shown": shown, "crossings": crossings}

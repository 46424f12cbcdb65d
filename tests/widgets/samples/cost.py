"""Samples of the widget of chapter `cost`."""

import numpy as np

from tfm_lib.widgets.cost import EXPLORER, CostExplorer, short
from widgets.golden_cost import MEASURED
from widgets.picture_numbers import column, named, numbers
from widgets.samples import Sample

SHOWN = [
    {"quantity": quantity, "value": n, "d": d, "k": k, "r": r, "projections": projections, "joined": joined, "reveal": True}
    for quantity, n, d, k, r, projections, joined in (
        ("multiplications", 100, 64, 3, 64, 0, False), ("multiplications", 1000, 256, 5, 16, 3, True),
        ("memory", 4096, 512, 7, 128, 3, False), ("sequential", 81, 16, 3, 4, 0, True), ("path", 82, 16, 3, 4, 0, False),
        ("time", 900, 128, 9, 64, 0, False), ("time", 2000, 512, 3, 64, 3, False),
    )
]  # fmt: skip


def cost_explorer(widget):
    measured = widget.model()["measured"]
    assert measured == CostExplorer().measured, "the page holds other times than the recorded ones"
    for state in SHOWN:
        widget.show(state)
        own = CostExplorer(**state)
        rows = widget.rows()
        for name, line in own.curves.items():
            assert np.allclose(column(rows, "n", name), line, rtol=1e-12)
        cross, here = widget.readout().replace(",", "").splitlines()
        if own.crossing is None:
            assert "do not cross" in cross
        else:
            assert numbers(cross)[0][0] == round(own.crossing)
        n, found = own.here
        rest = here.split(" (measured")[0].removeprefix(f"At {n} words: ").split(" · ")
        assert rest == [f"{EXPLORER.shared['rows'][name]} {short(x)}" for name, x in found.items()]
    widget.show({"reveal": False, "value": 300, "quantity": "multiplications", "guess": 0})
    assert "cross at 300 words" in widget.readout() and len(widget.rows()) < 10
    assert widget.box.locator(".tfm-player button:enabled").count() == 0
    widget.box.locator('input[data-control="value"]').press(" ")
    widget.page.wait_for_timeout(700)
    assert "cross at 300 words" in widget.readout(), "Play moved the guess"
    widget.show({"reveal": True})
    assert widget.box.locator(".tfm-player button:disabled").count() == 0


def cost_explorer_still(axes, widget):
    rows, lines = widget.rows(), named(axes[0])
    names = {words: name for name, words in EXPLORER.shared["rows"].items()}
    assert len(lines) >= 4 and len(rows) > 5
    for label, drawn in lines.items():
        yield np.log(drawn), np.log(column(rows, "n", names[label]))


SAMPLES = {
    "cost_explorer": Sample(
        code="CostExplorer(reveal=True)",
        change="value = 1000",
        says="At 1,000 words",
        states=[
            {"quantity": "memory", "d": 256, "projections": 3},
            {"quantity": "path", "k": 7, "r": 16},
            {"quantity": "sequential", "joined": True, "k": 5},
            {"quantity": "time", "d": 512, "guess": 100},
            {"reveal": False, "value": 300},
        ],
        still=cost_explorer_still,
        refused={
            "quantity must be one of multiplications, memory, sequential, path, time; it is 'money'": lambda: (
                CostExplorer(quantity="money")
            ),
            "d must be one of 16, 32, 64, 128, 256, 512, 1024; it is 100": lambda: CostExplorer(d=100),
            "k must be one of 2, 3, 5, 7, 9, 15; it is 4": lambda: CostExplorer(k=4),
            "r must be one of 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024; it is 3": lambda: CostExplorer(r=3),
            "projections must be one of 0, 3; it is 1": lambda: CostExplorer(projections=1),
            "value must be from 2 to 65536; it is 1": lambda: CostExplorer(MEASURED, value=1),
            "guess must be from 0 to 65536; it is -1": lambda: CostExplorer(guess=-1),
        },
    ),
}

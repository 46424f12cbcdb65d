"""Samples of the widgets of page `playground`."""

import numpy as np

from tfm_lib.widgets.playground import Experiment, Playground
from widgets.picture_numbers import cells, column, points
from widgets.samples import Sample, changed


def playground_still(axes, widget):
    rows = widget.rows()
    yield points(axes[0])[0][1:], column(rows, "update", "exact") * [1, 100]
    shown = widget.model()["moments"]
    now = max(
        (moment for moment in shown if moment["step"] <= widget.model()["step"]), key=lambda moment: moment["step"]
    )
    for ax, weights in zip(axes[1:], now["weights"], strict=True):
        yield cells(ax).ravel(), np.array(weights).ravel()


def playground(widget):
    """The recorded run, at each update that is shown; what was written comes out of the readout and the cells."""
    own = Playground()
    assert [float(row["exact"]) for row in widget.rows()] == [moment["exact"] for moment in own.moments[1:]]
    for own.step in (0, 100, 600, 1500):
        widget.show({"step": own.step})
        now = own.moment
        assert f"{round(200 * now['exact'])} of 200" in widget.readout()
        for head, weights in enumerate(now["weights"]):
            ends = [*now["written"], "·"][: len(weights)]
            for row, letter in enumerate(ends):
                label = widget.cells(f"head {head + 1}")[row * len(weights[0])]
                assert label == f"writing {letter}, looking at s: {weights[row][0]:.2f}"


def experiment_still(axes, widget):
    yield points(axes[0])[0][1:], column(widget.rows(), "update", "exact") * [1, 100]


def experiment(widget):
    """The recorded run of the unchanged machine, beside which a reader trains another."""
    own = Experiment(2)
    for name in ("loss", "exact"):
        assert [float(row[name]) for row in widget.rows()] == [moment[name] for moment in own.whole[1:]]
    last = own.whole[-1]
    assert f"{round(200 * last['exact'])} of 200" in widget.readout()
    widget.show({"loss": True})
    assert f"a loss of {last['loss']:.2g} nats" in widget.readout()


SAMPLES = {
    "experiment": Sample(
        code="Experiment(2)",
        change="loss = True",
        says="a loss of 0.00089 nats",
        states=[{"loss": True}],
        still=experiment_still,
        refused={
            "experiment must be one of 0, 2, 3, 4, 6, 8, 9; it is 1": lambda: Experiment(1),
            "value must be from -1 to 2; it is 3": lambda: changed(Experiment(2), value=3),
            "seed must be from 0 to 9; it is 10": lambda: changed(Experiment(2), seed=10),
        },
    ),
    "playground": Sample(
        code="Playground()",
        change="step = 300",
        says="Update 300 of 1500",
        states=[{"step": 100}, {"step": 0}, {"experiment": 3, "machine": "gru"}],
        still=playground_still,
        refused={
            "value must be made of the letters adeilmnoprst; it has x, z": lambda: changed(Playground(), value="xz"),
            "value must be a word of a length from 1 to 16; it is 0": lambda: changed(Playground(), value=""),
            "task must be one of reverse, sort, copy, before, numbers, dates; it is 'add'": lambda: Playground(
                task="add"
            ),
            "positions must be one of sinusoidal, learned, rotary, none; it is 'relative'": lambda: Playground(
                positions="relative"
            ),
            "n_heads must be one of 1, 2, 4; it is 3": lambda: Playground(n_heads=3),
            "experiment must be from -1 to 11; it is 12": lambda: Playground(experiment=12),
            "focus must be from 0 to 16; it is 17": lambda: changed(Playground(), focus=17),
            "d_model must be one of 8, 16, 32, 64; it is 48": lambda: Playground(d_model=48),
            "longest must be from 4 to 16; it is 17": lambda: Playground(longest=17),
            "rival must be one of transformer, gru attention, gru; it is 'lstm'": lambda: Playground(rival="lstm"),
            "guess must be from -1 to 2; it is 3": lambda: Playground(guess=3),
            "norm must be one of post, pre, none; it is 'layer'": lambda: Playground(norm="layer"),
            "machine must be one of transformer, gru attention, gru; it is 'lstm'": lambda: Playground(machine="lstm"),
            "seed must be from 0 to 9; it is 10": lambda: Playground(seed=10),
            "step must be from 0 to 1500; it is 1501": lambda: changed(Playground(), step=1501),
        },
    ),
}

"""Samples of the widgets of chapter `training`."""

import numpy as np

from tfm_lib.widgets.training import LabelSmoothing, LearningRate, TrainingReplay
from widgets.picture_numbers import bars, cells, column, named, numbers, points
from widgets.samples import Sample, changed

RUN = {
    "losses": [3.0, 2.0, 1.5],
    "rates": [0.1, 0.2, 0.1],
    "src_tokens": ["a", "b"],
    "tgt_tokens": ["x", "<eos>"],
    "looks": [
        {"step": 0, "exact": 0.0, "written": "", "weights": [[[0.5, 0.5], [0.5, 0.5]], [[1, 0], [0, 1]]]},
        {"step": 3, "exact": 0.25, "written": "x", "weights": [["90 10", "20 80"], ["70 30", "0 100"]]},
    ],
}


def replay(**other) -> TrainingReplay:
    return TrainingReplay({**RUN, **other})


def learning_rate_still(axes, widget):
    rows = {int(row["step"]): row for row in widget.rows()}
    names = {"the paper’s": "paper", "stepped per micro-batch": "miscounted"}
    for label, drawn in named(axes[0]).items():
        both = [(y, float(rows[int(x)][names.get(label, label)])) for x, y in drawn if int(x) in rows]
        assert len(both) > 50
        yield np.array(both).T * 1e4


def label_smoothing_still(axes, widget):
    rows, lines = widget.rows(), named(axes[1])
    inside = [row for row in rows if 0.02 < float(row["p"]) < 0.98]
    for label, name in (("smoothed", "smoothed loss"), ("not smoothed", "plain loss")):
        drawn = np.interp(column(inside, "p"), *lines[label].T)
        yield drawn / 10, column(inside, name) / 10  # the two grids have other steps
    label = widget.box.locator('svg[aria-label^="Correct word"]').get_attribute("aria-label")
    right, p, _, wrong, rest = (number for number, _ in numbers(label))
    yield bars(axes[0]), [[right, wrong], [p, rest]]


def training_replay_still(axes, widget):
    rows, state = widget.rows(), widget.model()
    all_steps, up_to_now = points(axes[0])[:2]
    yield all_steps, column(rows, "step", "loss")
    step = state["looks"][state["value"]]["step"]
    yield up_to_now[:, 1], column(rows, "loss")[:step]
    yield cells(axes[1]).ravel(), [float(label.rsplit(": ", 1)[1]) for label in widget.cells("focus")]


SAMPLES = {
    "learning_rate": Sample(
        code="LearningRate()",
        change="warmup = 1000",
        says="at step 1,000",
        states=[
            {"log": True, "compare": "all", "accumulate": 4},
            {"d_model": 64, "warmup": 200, "steps": 2000, "compare": "cosine"},
        ],
        still=learning_rate_still,
        refused={
            "d_model must be one of 64, 128, 256, 512, 1024; it is 100": lambda: LearningRate(d_model=100),
            "warmup must lie between 10 and 16000; it is 0": lambda: LearningRate(warmup=0),
            "factor must lie between 0.1 and 4; it is 9.0": lambda: LearningRate(factor=9.0),
            "compare must be one of none, constant, inverse root, cosine, linear, all; it is 'step'": lambda: (
                LearningRate(compare="step")
            ),
            "steps must be one of 1000, 2000…": lambda: LearningRate(steps=7),
            "value must lie between 1 and 100000; it is 0": lambda: LearningRate(value=0),
        },
    ),
    "label_smoothing": Sample(
        code="LabelSmoothing()",
        change="value = 0.92",
        says="p = 0.920",
        states=[
            {"value": 0.92, "epsilon": 0.3, "vocabulary": 100, "convention": "others"},
            {"epsilon": 0.0, "vocabulary": 2},
        ],
        still=label_smoothing_still,
        refused={
            "epsilon must lie between 0 and 0.5; it is 0.6": lambda: LabelSmoothing(epsilon=0.6),
            "vocabulary must be one of 2, 5, 10, 100, 1000, 37000; it is 7": lambda: LabelSmoothing(vocabulary=7),
            "convention must be one of all, others; it is 'most'": lambda: LabelSmoothing(convention="most"),
            "value must lie between 0.001 and 0.999; it is 1.0": lambda: LabelSmoothing(value=1.0),
        },
    ),
    "training_replay": Sample(
        code="TrainingReplay()",
        change="value = 23",
        says="step 600",
        states=[{"value": 23, "head": 1, "focus": 3}],
        still=training_replay_still,
        refused={
            "looks must hold at least one look; it is empty": lambda: replay(looks=[]),
            "rates must have shape (3); it has shape (1,)": lambda: replay(rates=[1.0]),
            "weights of look 0 must have shape (heads, 2, 1); it has shape (2, 2, 2)": lambda: replay(src_tokens=["a"]),
            "value must lie between…": lambda: changed(replay(), value=2),
            "head must lie between…": lambda: changed(replay(), head=2),
            "focus must lie between…": lambda: changed(replay(), focus=5),
        },
    ),
}

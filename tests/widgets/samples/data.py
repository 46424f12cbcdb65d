"""Samples of the widgets of chapter `data`."""

import re

from tfm_lib.widgets.data import BatchPacker, MergeSteps
from widgets.reading import column, heading, points, rectangles, words
from widgets.samples import Sample


def merge_steps_still(axes, widget):
    rows = widget.rows()
    pieces = [piece for row in rows for piece in row["pieces"].split()]
    yield words(axes[0]), pieces
    steps, here, rule = points(axes[1])
    yield here[0], [widget.model()["used"], len(pieces)]
    yield rule[:1, 1], [float(len(rows))]
    yield steps[int(here[0, 0])], here[0]


def batch_packer_still(axes, widget):
    frames, real = [], []
    for patch in rectangles(axes[0]):
        if patch.get_hatch():
            frames.append((patch.get_height(), patch.get_width()))
            real.append(0)
        else:
            real[-1] += patch.get_width()
    yield frames, column(widget.rows(), "sentences", "longest")
    yield real, column(widget.rows(), "real tokens")
    yield heading(axes[0]).split(": ")[1], re.search(r"\d+ batch(?:es)?, ([^,]*),", widget.readout())[1]


SAMPLES = {
    "merge_steps": Sample(
        code="MergeSteps('the keeper')",
        change="value = 'the lamp and the keeper'",
        says="for 5 words",
        states=[{"value": "the lamp and the keeper", "used": 120}, {"used": 0}],
        still=merge_steps_still,
        refused={
            "value must have at most 120 letters; it has 121": lambda: MergeSteps(value="x" * 121),
            "used must be between 0 and 300; it is -1": lambda: MergeSteps(used=-1),
            "merges must be pairs of pieces without spaces; one is 'a b c'": lambda: MergeSteps(merges=[("a b", "c")]),
        },
    ),
    "batch_packer": Sample(
        code="BatchPacker([3, 9, 4, 2, 7, 5], size=2)",
        change="value = 'by tokens'",
        says="by tokens, at most",
        states=[{"value": "by tokens"}, {"value": "by length", "size": 3, "pool": 4}],
        still=batch_packer_still,
        refused={
            "value must be one of any order, by length, by tokens; it is 'by chance'": lambda: BatchPacker(
                value="by chance"
            ),
            "pool must be at least 1; it is 0": lambda: BatchPacker(pool=0),
            "size must be at least 1; it is 0": lambda: BatchPacker(size=0),
            "lengths must be at least 1; the least is 0": lambda: BatchPacker([3, 0]),
            "lengths must have shape (sentences); it has shape (1, 2)": lambda: BatchPacker([[3, 4]]),
        },
    ),
}

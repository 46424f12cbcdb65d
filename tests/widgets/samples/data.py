"""Sample of the widget of chapter `data`."""

from tfm_lib.widgets.data import MergeSteps
from widgets.picture_numbers import points, words
from widgets.samples import Sample


def merge_steps_still(axes, widget):
    rows = widget.rows()
    pieces = [piece for row in rows for piece in row["pieces"].split()]
    yield words(axes[0]), pieces
    steps, here, rule = points(axes[1])
    yield here[0], [widget.model()["used"], len(pieces)]
    yield rule[:1, 1], [float(len(rows))]
    yield steps[int(here[0, 0])], here[0]


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
}

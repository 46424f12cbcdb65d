"""Samples of the widgets of chapter `data`."""

from samples import Sample
from tfm_lib.widgets.data import BatchPacker, MergeSteps

SAMPLES = {
    "merge_steps": Sample(
        code="MergeSteps('the keeper')",
        change="value = 'the lamp and the keeper'",
        says="for 5 words",
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

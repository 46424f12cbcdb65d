"""Samples of the widget of chapter `masking`."""

import numpy as np

from samples import Sample
from tfm_lib.widgets.masking import MaskEditor

SAMPLES = {
    "mask_editor": Sample(
        code="MaskEditor('The cat sat on the mat', focus=2)",
        change="preset = 'strict'",
        says="sees 2 of 6 keys",
        refused={
            "mask must have shape (2, 2); it has shape (1, 1)": lambda: MaskEditor("a b", mask=[[True]]),
            "mask must hold booleans…": lambda: MaskEditor("a b", mask=[[0.5, 1], [1, 1]]),
            "scores must have shape (2, 2); it has shape (3, 3)": lambda: MaskEditor("a b", np.zeros((3, 3))),
            "preset must be one of causal, strict, padding, window, block, full; it is 'casual'": lambda: MaskEditor(
                "a b", preset="casual"
            ),
            "size must be at least 1; it is 0": lambda: MaskEditor("a b", size=0),
            "focus must be a row from 0 to 1; it is 2": lambda: MaskEditor("a b", focus=2),
        },
    )
}

"""Samples of the widgets of chapter `positional`."""

import math

from samples import Sample
from tfm_lib.widgets.positional import Encoding, ShiftRotation

SAMPLES = {
    "encoding": Sample(
        code="Encoding()",
        change="value = 30",
        says="a = 30",
        refused={
            "d_model must be even, from 2 to 128; it is 7": lambda: Encoding(d_model=7),
            "d_model must be even, from 2 to 128; it is 256": lambda: Encoding(d_model=256),
            "base must be at least 2; it is 1.0": lambda: Encoding(base=1),
            "length must be from 2 to 256; it is 1000": lambda: Encoding(length=1000),
            "value must be a position from 0 to 255; it is -1": lambda: Encoding(value=-1),
        },
    ),
    "shift_rotation": Sample(
        code="ShiftRotation()",
        change="shift = -7",
        says="PE(18)",
        refused={
            "value must be from 20 to 120; it is 5": lambda: ShiftRotation(position=5),
            "shift must be from -20 to 20; it is 21": lambda: ShiftRotation(shift=21),
            "pair must be from 0 to 3; it is 4": lambda: ShiftRotation(pair=4),
            "base must be at least 2; it is inf": lambda: ShiftRotation(base=math.inf),
        },
    ),
}

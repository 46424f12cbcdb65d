"""What fits no argument of its kind, for tables of misfits: TABLE in `test_bad_input.py`, MISFITS in a chapter's test.

The files beside this one hold calls that do not fit, each with its sentence: `SENTENCES`, which `test_error_sentences.py` reads.
"""

import numpy as np
import torch

WHOLE = (None, "3", 2.5, True, [3], torch.tensor(3))
SIZE = (*WHOLE, 0, -1)
NUMBER = (None, "0.1", float("nan"), [0.1], torch.tensor(0.1))
SHARE = (*NUMBER, -0.1, 1.0, 1.5)
NO_TENSOR = (None, "x", [[1.0, 2.0]], np.ones((2, 3)))
NO_FLOATS = (*NO_TENSOR, torch.ones(2, 3, dtype=torch.long))
CALLABLE = (None, "x", 3)
WORD = (None, 3, "sandwich", ["post"])

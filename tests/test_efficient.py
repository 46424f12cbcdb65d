"""`window_attention` and the exercise that rebuilds it: a right answer there is its oracle, a wrong one its mutation."""

import pytest
import torch
from misfits import NO_FLOATS, NUMBER

from tfm_lib.checks import check
from tfm_lib.efficient import window_attention


@pytest.mark.usefixtures("as_readers_run_it")
def test_window_attention_is_a_right_answer_to_its_exercise():
    verdict = check("efficient.window-attention", window_attention)
    assert verdict.passed, verdict


MISFITS = {"window_attention": (window_attention, dict(Q=torch.ones(2, 3), back=1.0), dict(Q=NO_FLOATS, back=(*NUMBER, 0.0, -1.0)))}
WRONG_ANSWERS = ("efficient.window-attention", "window_attention", "test_window_attention_is_a_right_answer_to_its_exercise")

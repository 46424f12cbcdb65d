"""`masked_words` and the exercise that rebuilds it: a right answer there is its oracle, a wrong one its mutation."""

import pytest
import torch
from misfits import NO_FLOATS, NUMBER

from tfm_lib.checks import check
from tfm_lib.descendants import masked_words


@pytest.mark.usefixtures("as_readers_run_it")
def test_masked_words_is_a_right_answer_to_its_exercise():
    verdict = check("descendants.masked-words", masked_words)
    assert verdict.passed, verdict


MISFITS = {"masked_words": (masked_words, dict(ids=torch.ones(2, 3), share=1.0), dict(ids=NO_FLOATS, share=(*NUMBER, 0.0, -1.0)))}
WRONG_ANSWERS = ("descendants.masked-words", "masked_words", "test_masked_words_is_a_right_answer_to_its_exercise")

"""The widget of chapter `before` in a kernel: its slopes against differences, its words against its numbers."""

import math

import pytest
import torch

from tfm_lib.widgets.before import NextWord


@pytest.mark.parametrize("answer", range(4))
def test_the_slopes_are_what_the_loss_does_when_a_score_moves(answer: int) -> None:
    value, step = [0.5, -1.0, 2.0, 0.0], 1e-5
    _, _, slopes = NextWord(value=value, answer=answer).measured
    for i, slope in enumerate(slopes):
        up, down = (
            NextWord(value=[s + sign * step * (k == i) for k, s in enumerate(value)], answer=answer).measured[1]
            for sign in (1, -1)
        )
        assert abs((up - down) / (2 * step) - slope) < 1e-8


def test_only_differences_of_scores_count() -> None:
    shares, loss, slopes = NextWord(value=[0.0, 1.0, 2.0, 3.0]).measured
    raised = NextWord(value=[2.0, 3.0, 4.0, 5.0]).measured
    assert torch.allclose(torch.tensor(raised[0]), torch.tensor(shares)) and math.isclose(raised[1], loss)
    assert abs(sum(slopes)) < 1e-12


def test_steps_go_downhill_from_the_value() -> None:
    widget = NextWord(answer=3, rate=0.5)
    before = widget.value, widget.measured
    widget.taken = 1
    wanted = [x - 0.5 * slope for x, slope in zip(before[0], before[1][2])]
    assert widget.scores == pytest.approx(wanted, abs=6e-4) and widget.value == before[0]
    losses = []
    for widget.taken in range(13):
        losses.append(widget.measured[1])
    assert losses == sorted(losses, reverse=True)
    assert "These are the scores after 12 of 12 steps downhill." in widget.alt
    with pytest.raises(ValueError, match="taken must be a number of steps from 0 to 12"):
        widget.taken = 13


def test_what_it_says_of_itself() -> None:
    widget = NextWord(value=[0.0, 0.0, 0.0, 0.0], answer=2)
    assert "“sat” has score 0.0 and probability 0.25" in widget.alt
    assert "The right answer is “ran”, with a surprise of 1.39 nats." in widget.alt

"""The widgets of chapter `training` in a kernel: traits, arrays, pictures, and sentences when something is wrong."""

import json
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from matplotlib.figure import Figure

from tfm_lib.engine.trainer import Trainer, TrainOptions
from tfm_lib.training import label_smoothed_loss, smoothed_targets, warmup_lr
from tfm_lib.transformer import Transformer, TransformerConfig
from tfm_lib.widgets.training import LabelSmoothing, LearningRate, TrainingReplay, loss, rates, target
from widgets.samples.training import RUN

# learning rate


def test_the_curve_is_the_librarys_with_its_peak() -> None:
    widget = LearningRate(d_model=64, warmup=100, factor=0.5)
    assert widget.peak == (100, pytest.approx(0.5 / math.sqrt(6400)))
    assert widget.rates(100)["paper"] == pytest.approx(widget.peak[1])
    assert widget.rates(7)["paper"] == pytest.approx(0.5 * warmup_lr(7, 64, 100))
    assert "peaks at step 100 with 0.0063" in widget.alt


def test_the_cosine_is_that_of_the_engine() -> None:
    model = Transformer(TransformerConfig(8, d_model=8, n_heads=1, d_ff=8, n_layers=1))
    options = TrainOptions(schedule="cosine", steps=1000, warmup=100, peak=(64 * 100) ** -0.5)
    trainer = Trainer(model, [], options)
    for trainer.progress.step in (1, 50, 100, 500, 1000):
        found = rates(trainer.progress.step, 64, 100, 1.0, 1000)["cosine"]
        assert found == pytest.approx(trainer.lr(), abs=1e-12)


def test_miscounted_peaks_too_soon_and_the_rivals_share_the_peak() -> None:
    state = {"d_model": 64, "warmup": 400, "factor": 1.0, "steps": 2000, "accumulate": 8}
    found = [rates(step, **state) for step in range(1, 2001)]
    peak = (64 * 400) ** -0.5
    assert max(range(2000), key=lambda i: found[i]["miscounted"]) + 1 == 50
    for name in ("paper", "miscounted", "constant", "linear"):
        assert max(rate[name] for rate in found) == pytest.approx(peak)
    assert found[0]["inverse root"] == pytest.approx(1 / 8)
    assert found[-1]["linear"] == pytest.approx(0) == found[-1]["cosine"]


# label smoothing


@pytest.mark.parametrize("v", [2, 5, 100])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
def test_target_and_loss_are_the_librarys(v, epsilon) -> None:
    wanted = smoothed_targets(torch.tensor(1), v, epsilon)
    right, wrong = target(v, epsilon, "all")
    assert (right, wrong) == (pytest.approx(wanted[1].item()), pytest.approx(wanted[0].item(), abs=1e-7))
    for p in (0.05, 0.6, 0.98):
        shares = torch.full((1, v), (1 - p) / (v - 1), dtype=torch.float64)
        shares[0, 1] = p
        expected = label_smoothed_loss(shares.log(), torch.tensor([1]), epsilon).item()
        assert loss(p, v, epsilon, "all") == pytest.approx(expected, rel=1e-5)


def test_the_other_convention_is_a_larger_epsilon() -> None:
    v, epsilon = 5, 0.1
    right, wrong = target(v, epsilon, "others")
    assert (right, wrong) == (pytest.approx(0.9), pytest.approx(0.025))
    same = smoothed_targets(torch.tensor(0), v, epsilon * v / (v - 1))
    assert same.tolist() == pytest.approx([right] + [wrong] * 4)
    shares = torch.tensor([[0.6, 0.1, 0.1, 0.1, 0.1]])
    expected = F.cross_entropy(shares.log(), same[None]).item()
    assert loss(0.6, v, epsilon, "others") == pytest.approx(expected, rel=1e-5)


def test_the_least_loss_is_told() -> None:
    assert "the least, 0.390, is at 0.92" in LabelSmoothing().alt
    grid = np.linspace(0.01, 0.99, 99)
    assert grid[np.argmin([loss(p, 5, 0.1, "all") for p in grid])] == pytest.approx(0.92)


# replay


def test_the_recorded_run_learns() -> None:
    widget = TrainingReplay()
    last = len(widget.looks) - 1
    assert widget.looks[0]["exact"] < 0.05
    assert widget.looks[last]["exact"] > 0.9
    assert widget.losses[-1] < widget.losses[0] / 4
    assert widget.floor < min(widget.losses)
    widget.value = last
    assert widget.src_tokens[int(widget.matrix[0].argmax())] == widget.tgt_tokens[0]  # the year is found


def test_an_own_run_may_be_replayed() -> None:
    widget = TrainingReplay(RUN, value=1)
    assert widget.floor is None and widget.step == 3
    np.testing.assert_allclose(widget.matrix, [[0.8, 0.2], [0.1, 0.9]])
    widget.head = 1
    np.testing.assert_allclose(widget.matrix, [[0.7, 0.3], [0, 1]])
    assert widget.alt.startswith("Step 3 of 3: loss 1.50, learning rate 0.1; 25.0% of the held-out examples")
    assert "Head 2, writing “x”: most weight on “a”, 0.70" in widget.alt


def test_tensors_serve_as_well_as_lists() -> None:
    looks = [{**RUN["looks"][0], "weights": torch.full((2, 2, 2), 0.5)}]
    run = {**RUN, "losses": torch.tensor([3.0]), "rates": np.array([0.1]), "looks": looks}
    assert TrainingReplay(run).matrix.tolist() == [[0.5, 0.5], [0.5, 0.5]]


# three lives


def test_pictures_and_plain_state() -> None:
    widgets = [LearningRate(), LearningRate(accumulate=4, compare="all"), LearningRate(log=True, compare="all")]
    widgets += [LabelSmoothing(), LabelSmoothing(epsilon=0, vocabulary=37_000, convention="others")]
    widgets += [TrainingReplay(RUN), TrainingReplay(RUN, floor=0.9, value=1, head=0)]
    for widget in widgets:
        assert isinstance(widget.figure(), Figure)
        json.dumps({key: value for key, value in widget.get_state().items() if key != "layout"})
        assert widget.alt

"""The widget of chapter `cost` in a kernel: curves, crossings, pictures."""

import json

import pytest
from matplotlib.figure import Figure

from tfm_lib.cost import attention_cost, recurrent_cost
from tfm_lib.widgets.cost import BEGINNING, QUANTITIES, CostExplorer, recorded_times, short
from widgets.golden_cost import MEASURED


@pytest.mark.parametrize("projections", [0, 3])
@pytest.mark.parametrize("quantity", ["multiplications", "memory"])
def test_where_counts_cross_they_are_equal(quantity, projections):
    cross = CostExplorer(quantity=quantity, d=64, projections=projections).crossing
    n = int(cross)
    assert n == cross
    assert getattr(attention_cost(n, 64, projections=projections), quantity) == getattr(recurrent_cost(n, 64), quantity)


def test_before_a_guess_the_curves_only_begin():
    widget = CostExplorer(value=500)
    assert max(n for n, _ in widget.curves["gru"]) == BEGINNING
    assert "cross at n = 500" in widget.alt and "numbers" not in widget.alt
    widget.quantity = "time"
    assert widget.curves["gru"] == []
    widget.reveal, widget.guess = True, 500
    assert "Guess: 500." in widget.alt


def test_measured_times_cross_between_the_points_where_they_do():
    widget = CostExplorer(MEASURED, quantity="time", reveal=True)
    assert 256 < widget.crossing < 1024
    slow = {**MEASURED["layers"]["64"], "gru": [100.0, 100.0, 100.0]}
    apart = CostExplorer({**MEASURED, "layers": {"64": slow}}, quantity="time", reveal=True)
    assert apart.crossing is None and "do not cross" in apart.alt


def test_times_are_read_at_the_nearest_size():
    widget = CostExplorer(MEASURED, quantity="time", reveal=True, value=300, d=1024, k=9)
    n, found = widget.here
    assert n == 256 and found == {"attention": 8.0, "gru": 9.0, "stacked": 0.3, "window": 0.6}


def test_the_recorded_times_are_there_for_every_layer():
    times = recorded_times()
    assert {len(line) for rows in times["layers"].values() for line in rows.values()} == {len(times["n"])}


def test_large_numbers_in_three_digits():
    assert [short(x) for x in (2.5e13, 63082496, 999, 30720, 0.0712)] == ["25 T", "63.1 M", "999", "30.7 k", "0.0712"]


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("reveal", [False, True])
def test_pictures_and_plain_state(quantity, reveal):
    widget = CostExplorer(quantity=quantity, reveal=reveal, joined=True)
    assert isinstance(widget.figure(), Figure) and widget.alt
    json.dumps({key: value for key, value in widget.get_state().items() if key != "layout"})

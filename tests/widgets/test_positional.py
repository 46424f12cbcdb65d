"""Encoding and rotary pairs in a kernel: what they accept, hold, say and draw."""

import gzip
import json

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from tfm_lib.drawing.display import svg_text
from tfm_lib.positional import angles, rotary, sinusoidal_encoding
from tfm_lib.widgets.positional import Encoding, RotaryPairs


def size(widget) -> int:
    state = {k: v for k, v in widget.get_state().items() if k not in ("layout", "_esm", "_css")}
    return len(gzip.compress(json.dumps(state).encode(), mtime=0))


def test_likeness_is_1_at_the_position_itself_and_depends_on_the_distance() -> None:
    widget = Encoding(d_model=16, base=100, length=64, value=30)
    likeness = np.array(widget.likeness)
    assert likeness[30] == pytest.approx(1)
    np.testing.assert_allclose(likeness[30:60], likeness[30:0:-1], atol=1e-5)
    P = sinusoidal_encoding(64, 16, 100.0)
    assert likeness[40] == pytest.approx((P[30] @ P[40]).item() / 8, abs=1e-6)


def test_your_own_sizes_stand_among_the_choices() -> None:
    widget = Encoding(d_model=6, base=50, length=100)
    assert 6 in widget.widths and 50 in widget.bases and 100 in widget.lengths
    assert widget.positions == (20, 24)
    assert Encoding(length=8).positions == (7, 7)


def test_positions_beyond_the_length_are_shown_at_its_end() -> None:
    widget = Encoding(length=64, value=60)
    widget.length = 16
    assert widget.positions == (15, 15)
    assert "Positions 15 and 15 have likeness 1.00" in widget.alt


def test_traits_can_be_read_set_and_observed() -> None:
    widget, heard = Encoding(), []
    widget.observe(lambda change: heard.append((change.name, change.new)), ["value", "d_model"])
    widget.value, widget.d_model = 3, 64
    assert heard == [("value", 3), ("d_model", 64)]


@pytest.mark.parametrize("settings", [(4, 10, 64), (2, 10_000, 16), (128, 100_000, 256), (32, 10_000, 64)])
def test_encoding_as_a_picture_and_a_sentence(settings) -> None:
    d_model, base, length = settings
    widget = Encoding(*settings)
    assert isinstance(widget.figure(), Figure)
    svg = svg_text(widget.figure())
    assert "var(--tfm-w1, #23386b)" in svg
    assert len(gzip.compress(svg.encode(), mtime=0)) < 30 * 1024
    assert f"positions 0 to {length - 1} in {d_model} numbers" in widget.alt
    assert f"at base {base:g}" in widget.alt


def test_what_a_page_carries_is_small() -> None:
    assert size(Encoding()) <= 1024
    assert size(RotaryPairs()) <= 1024


def test_a_query_and_a_key_that_turn_together_keep_their_angles_and_their_score() -> None:
    widget = RotaryPairs(value=20, distance=4)
    before = widget.angles, widget.score
    widget.value = 120
    np.testing.assert_allclose(widget.angles, before[0], atol=1e-9)
    assert widget.score == pytest.approx(before[1])
    widget.distance = 5
    assert widget.score != pytest.approx(before[1], abs=1e-3)


def test_the_score_of_turned_vectors_is_that_of_rotary() -> None:
    q, k = torch.randn(2, 1, 6, dtype=torch.double).round(decimals=2)
    widget = RotaryPairs(q[0], k[0], value=33, distance=9)
    expected = rotary(q, 33, 100.0) @ rotary(k, 24, 100.0).T
    assert widget.score == pytest.approx(expected.item())
    assert f"the score is {expected.item():.2f}" in widget.alt and "at 24, 9 places before" in widget.alt


@pytest.mark.parametrize("distance", [0, 3, 20])
def test_switched_it_shows_two_encodings_that_a_shift_turns_alike_everywhere(distance) -> None:
    widgets = [RotaryPairs(encoding=True, value=value, distance=distance) for value in (20, 77)]
    P, turns = sinusoidal_encoding(80, 8, 100.0), distance * angles(2, 8, 100.0)[1].numpy()
    for widget in widgets:
        a, b = widget.value, widget.value - distance
        np.testing.assert_allclose(widget.turned, P[[a, b]].reshape(2, 4, 2), atol=1e-5)
        np.testing.assert_allclose(np.exp(1j * np.array(widget.angles)), np.exp(1j * turns), atol=1e-5)
        assert widget.score == pytest.approx((P[a] @ P[b]).item(), abs=1e-5)
        assert f"positions {a} and {b}" in widget.alt and "var(--tfm-one, #9c2f7a)" in svg_text(widget.figure())

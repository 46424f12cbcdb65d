"""The questions of `chapters/soft_cap.md`."""

from tfm_lib.soft_cap import soft_cap


def _capped(number: float) -> float:
    from torch import tensor

    return soft_cap(tensor([[number]]), 2.0).item()


def _only_zero_stays() -> None:
    assert _capped(0.0) == 0
    assert all(abs(_capped(x)) < abs(x) for x in (-2.0, -0.1, 0.1, 2.0))


def _large() -> list:
    return [_capped(1000.0), 1000.0, _capped(1000.0) / 2]


def _caps(names: dict) -> None:
    from torch import tensor

    for x in (-3.0, 0.5, 7.0):
        assert abs(names["cap_scores"](tensor(x), 2.0).item() - _capped(x)) < 1e-6


VALUES = {"a-thousand": _large}
TRIALS = {"which-unit": _caps}
CLAIMS = {"opening": _only_zero_stays}

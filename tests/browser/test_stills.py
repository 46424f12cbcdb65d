"""A widget's still picture draws the numbers that the widget shows in the browser, in the same state."""

from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pytest
from samples import made, sample, sampled

from browser.bench import Bench, bench


@pytest.fixture(scope="module")
def stand(tmp_path_factory, serve, contexts) -> Iterator[Bench]:
    with bench(tmp_path_factory.mktemp("bench"), serve, contexts) as made_bench:
        yield made_bench


@pytest.mark.parametrize("module", sampled())
def test_the_still_draws_what_the_browser_shows(stand: Bench, module: str) -> None:
    tried = sample(module)
    assert tried.still, f"the Sample of {module} must say, as `still`, which drawn numbers are which shown ones"
    widgets = [made(module, **state) for state in ({}, *tried.states)]
    for widget, shown in zip(widgets, stand.show(*widgets), strict=True):
        figure = widget.figure()
        compared = 0
        for drawn, seen in tried.still(figure.axes, shown):
            drawn, seen = np.asarray(drawn), np.asarray(seen)
            assert drawn.shape == seen.shape, f"{widget.alt} draws {drawn.shape}, shows {seen.shape}"
            if drawn.dtype.kind == "f" or seen.dtype.kind == "f":
                np.testing.assert_allclose(drawn.astype(float), seen.astype(float), rtol=1e-3, atol=6e-3)
            else:
                assert drawn.tolist() == seen.tolist()
            compared += drawn.size
        assert compared > 1, f"of {module} nothing is compared"
        plt.close(figure)

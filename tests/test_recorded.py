"""Recorded results: found by name, complete, and known to the pages that quote them."""

import json
from pathlib import Path

import pytest

from tests.project import ROOT
from tfm_lib.book import recorded
from tfm_lib.book.dependencies import dependencies

RESULTS = sorted((ROOT / "experiments" / "results").glob("*.json"))


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_a_result_says_how_it_came_about(path: Path) -> None:
    result = recorded(path.stem)
    missing = {"what", "command", "seeds", "date", "python", "torch", "machine", "threads", "seconds"} - result.keys()
    assert not missing
    assert result["command"].startswith(f"python -m experiments.{path.stem}")
    assert (ROOT / "experiments" / f"{path.stem}.py").is_file(), "the script that makes it is gone"


ONE_RUN = {"translator_training", "translator_behaviour"}  # of one thing, the model that is shipped


@pytest.mark.parametrize("path", [path for path in RESULTS if path.stem not in ONE_RUN], ids=lambda path: path.stem)
def test_a_curve_has_at_least_three_seeds(path: Path) -> None:
    assert len(json.loads(path.read_text(encoding="utf-8"))["seeds"]) >= 3


def test_what_was_never_recorded_is_told_with_its_command() -> None:
    with pytest.raises(FileNotFoundError, match="python -m experiments.nothing"):
        recorded("nothing")


def test_a_page_depends_on_the_results_it_quotes_and_on_no_other() -> None:
    quoted = RESULTS[0]
    cells = ["from tfm_lib.book import recorded", f"recorded({quoted.stem!r})"]
    found = dependencies(cells, ROOT / "chapters", ROOT)
    assert [path for path in found if path.suffix == ".json"] == [quoted]

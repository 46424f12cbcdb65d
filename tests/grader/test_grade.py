"""What `tfm grade` does with a folder of notebooks, whoever judges them."""

from types import SimpleNamespace

import pytest

from grader.hostile.cases import notebook
from tfm_grader.assignment.bundle import Bundle
from tfm_grader.assignment.manifest import Chapter, Entry, Manifest
from tfm_grader.judging.grade import carry_out, plan
from tfm_grader.judging.results import read_result
from tfm_grader.records import NOTHING, Judged, Submission

MASKS, RATES = (
    Entry("masking.band", "A band", "assigned", 2, ("band",)),
    Entry("training.rate", "A rate", "assigned", 2, ("rate",)),
)
BUNDLE = Bundle(Manifest("Two", "s", {"masking": Chapter([MASKS]), "training": Chapter([RATES])}), {})


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def band(n): ...\n\n\ndef rate(step): ...", True),
        ("def band(n): ...\n\n\ndef rates(step):\n    'def rate(step)'", False),
    ],
)
def test_two_chapters_in_one_notebook_are_named(tmp_path, code, told):
    files = [Submission("kim", "masking", notebook([code])), Submission("kim", "training")]
    engine = SimpleNamespace(results=lambda jobs: ((job, Judged()) for job in jobs))
    [*carry_out(BUNDLE, plan(BUNDLE, files, tmp_path, set(), force=False), engine, tmp_path)]
    chapter = read_result(tmp_path / "kim.json").chapters["training"]
    row = chapter.exercises[0]
    assert row.reason == NOTHING
    sentence = "masking.ipynb defines rate: are two chapters in one notebook? Each needs its own file."
    assert chapter.notes == row.remarks == [sentence] * told

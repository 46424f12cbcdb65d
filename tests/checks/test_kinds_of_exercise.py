"""Each chapter has exercises of several kinds: to write, to mend, to read off a plot, to estimate, to prove or design."""

import re

import pytest
from project import ROOT

from tfm_book.notebooks.asks import asks
from tfm_grader.assignment.exercise_source import written_in

PAGES = sorted(path for path in (ROOT / "chapters").glob("*.md") if "{exercise}" in path.read_text(encoding="utf-8"))
CHAPTERS = [path for path in PAGES if path.stem != "mine"]  # the capstone: the parts, put together


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_every_kind_of_exercise_is_there(path):
    exercises, questions = written_in(path), asks(path)
    kinds = [question.kind for question in questions]
    assert sum(not exercise.text_only for exercise in exercises) >= 4, "functions to write"
    assert {"line", "order"} & {*kinds}, "a program to mend"
    assert {"number", "shape"} & {*kinds}, "something to work out or to estimate"
    words = [exercise for exercise in exercises if exercise.text_only]
    assert words, "a proof or a design"
    for exercise in words:
        points = [float(part.split()[0]) for part in exercise.option("rubric").split(";")]
        assert 3 <= sum(points) <= 6, f"{exercise.id} needs a rubric of three to six points"


def test_most_chapters_have_a_plot_to_read():
    asked = re.compile(r"^:::\{ask\} [\w-]+\n(?::.*\n)*\n(?:.+\n)*?.*\{numref\}`", re.MULTILINE)
    assert len([path for path in CHAPTERS if not asked.search(path.read_text(encoding="utf-8"))]) <= 2

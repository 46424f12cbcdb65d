"""The project "Read the curve": twelve runs drawn by the class's seed, and points for what is said of them."""

import json
import math
from types import SimpleNamespace

import nbformat
import pytest
from project import ROOT

from experiments.curves import CLASSES, LACKS, LETTERS, MOST, SEEDS, classes, curves
from grader.test_classroom import PRIVATE, tfm
from tfm_exercises.judge import Exercise, judge_student
from tfm_grader.assignment.bundle import hidden_tests
from tfm_grader.assignment.exercise_source import chosen, parameters, written_in
from tfm_lib.corpora.words import unseen

SOURCE = PRIVATE / "curves" / "training.md"
ID, FLOORS = "training.curves", "training.floors"
RIGHT = json.loads(chosen(SOURCE, "spring")["runs"]["right"])
WRITTEN = {each.id: each for each in written_in(SOURCE, chosen(SOURCE, "spring"))}
POOL = dict(
    zip(
        [(lacks, seed) for lacks in LACKS for seed in SEEDS],
        map(json.loads, parameters(SOURCE)["pool"]),
        strict=True,
    )
)


def earned(id: str, **answers) -> float:
    """The points of these functions."""
    tests = hidden_tests("import math\n\n" + "\n\n".join(WRITTEN[id].hidden), "training")[id]
    verdicts = [judge_student(Exercise(id, (), test.judge), SimpleNamespace(**answers), seed=3) for test in tests]
    return sum(test.points for test, verdict in zip(tests, verdicts) if verdict.passed)


def of_kind(lacks: str, signal: str, look: int) -> list[float]:
    """The value of each run of the pool that lacks this, at one of the looks."""
    return [found[signal][look] for (what, _), found in POOL.items() if what == lacks]


def but_for(lacks: str, signal: str, look: int) -> list[float]:
    """The value of each run of the pool that lacks something else, or nothing."""
    return [value for other in LACKS if other != lacks for value in of_kind(other, signal, look)]


def solved(id: str) -> dict:
    scope = {"math": math}
    exec(WRITTEN[id].solution_code, scope)  # noqa: S102 (our own solution)
    return {name: scope[name] for name in WRITTEN[id].answers}


def test_each_class_has_runs_of_every_kind():
    drawn = parameters(SOURCE)["runs"]
    assert len(drawn) == CLASSES and len({runs["right"] for runs in drawn}) == CLASSES
    texts = {json.dumps(found): run for run, found in POOL.items()}
    for runs, again in zip(drawn, classes(), strict=True):
        right = json.loads(runs["right"])
        assert {letter: texts[runs[letter]] for letter in LETTERS} == again
        assert right == {letter: lacks for letter, (lacks, _) in again.items()}
        counts = [list(right.values()).count(lacks) for lacks in LACKS]
        assert min(counts) >= 1 and max(counts) <= MOST and sum(counts) == len(LETTERS)


def test_the_curves_say_what_the_solution_reads_from_them():
    floors = solved(FLOORS)
    least, order = floors["smoothed_floor"](0.1, 15), floors["order_floor"](unseen())
    assert all(least < value < 1.01 * least for value in of_kind("nothing", "training loss", -1))
    assert min(but_for("smoothing", "training loss", -1)) > least
    assert max(of_kind("smoothing", "training loss", -1)) < 0.002
    assert (round(least, 3), round(order, 2)) == (0.556, 0.76)
    assert (
        order
        < min(of_kind("positions", "validation loss", -1))
        < max(of_kind("positions", "validation loss", -1))
        < 0.9
    )
    assert min(of_kind("scale", "largest weight", 0)) > 0.75
    assert max(but_for("scale", "largest weight", 0)) < 0.4
    assert min(of_kind("residual", "likeness", 0)) > 0.99
    assert max(of_kind("nothing", "likeness", 0)) < 0.91
    assert max(of_kind("warm-up", "first layer", 2)) < 0.2
    assert min(but_for("warm-up", "first layer", 2)) > 0.37
    assert max(of_kind("residual", "validation loss", 1)) < 2.3
    assert min(of_kind("warm-up", "validation loss", 1)) > 2.4
    assert sorted(of_kind("warm-up", "exact", -1)) == [0, 0.005, 0.01, 0.2]


def test_a_run_can_be_repeated():
    """To the digit on one processor. Another rounds differently, and without the scale that grows fast: after 40 updates
    a gradient's length is up to half as large again as in the record, while the mean of the first 20 losses has the same
    three digits. So this mean is compared with the record, and of the rest the effect.
    """
    first, again = (curves("scale", 0, updates=20) for _ in range(2))
    assert first == again
    assert first["training loss"] == pytest.approx(POOL["scale", 0]["training loss"][:1], rel=0.01)
    assert first["largest weight"][0] > max(but_for("scale", "largest weight", 0))


def test_right_answers_earn_all_and_none_nothing():
    assert earned(ID, **solved(ID)) == 12 and earned(FLOORS, **solved(FLOORS)) == 4
    assert earned(ID, diagnosis=lambda: ...) == 0


@pytest.mark.parametrize(
    ("points", "change"),
    [
        pytest.param(0, lambda lacks: "nothing", id="all whole"),
        pytest.param(2, lambda lacks: lacks if lacks == "smoothing" else "scale", id="one kind known"),
        pytest.param(6, lambda lacks: lacks if lacks in {"nothing", "smoothing", "positions"} else None, id="learners"),
        pytest.param(
            8, lambda lacks: {"warm-up": "residual", "residual": "warm-up"}.get(lacks, lacks), id="two kinds confused"
        ),
    ],
)
def test_half_an_answer_earns_half(points, change):
    assert earned(ID, diagnosis=lambda: {run: change(lacks) for run, lacks in RIGHT.items()}) == points


def test_one_run_wrong_costs_two_points():
    kind = next(lacks for lacks in LACKS if list(RIGHT.values()).count(lacks) >= 2)
    run = next(run for run, lacks in RIGHT.items() if lacks == kind)
    other = next(lacks for lacks in LACKS if lacks != kind)
    assert earned(ID, diagnosis=lambda: RIGHT | {run: other}) == 10


@pytest.mark.parametrize(
    ("points", "answers"),
    [
        (2, {"order_floor": lambda words: sum(map(math.lgamma, (len(w) + 1 for w in words))) / sum(map(len, words))}),
        (
            3,
            {"order_floor": lambda words: sum(math.lgamma(len(w) + 1) for w in words) / sum(len(w) + 1 for w in words)},
        ),
        (2, {"smoothed_floor": lambda epsilon, v: -math.log(1 - epsilon + epsilon / v)}),
        (2, {"smoothed_floor": lambda epsilon, v: 0.0}),
    ],
    ids=["targets without the end", "every letter differs", "only the right token", "no floor"],
)
def test_half_a_floor_earns_half(points, answers):
    assert earned(FLOORS, **(solved(FLOORS) | answers)) == points


@pytest.mark.long
def test_students_get_the_curves_and_no_answer(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    tfm("assign", "training", "--private", SOURCE.parent, "--seed", "spring", "--to", tmp_path)
    notebook = nbformat.read(tmp_path / "student" / "training.ipynb", 4)
    shown = "\n".join(cell.source for cell in notebook.cells)
    assert shown.count('"largest weight": [') == len(LETTERS)
    assert "@hidden" not in shown and chosen(SOURCE, "spring")["runs"]["right"] not in shown
    assert "{{" not in shown and "math.factorial" not in shown

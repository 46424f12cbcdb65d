"""The project "An honest ablation": trials that can be repeated, an interval, and a verdict that agrees with it."""

import copy
import math
import statistics
from functools import partial
from types import SimpleNamespace

import nbformat
import pytest
from project import ROOT

from grader.test_classroom import PRIVATE, tfm
from tfm_exercises.judge import Exercise, judge_student
from tfm_exercises.mine.trial import PARTS, trial
from tfm_grader.assignment.bundle import hidden_tests
from tfm_grader.assignment.exercise_source import parameters, written_in

SOURCE = PRIVATE / "ablation" / "evaluation.md"
TRIALS, RULES = "evaluation.trials", "evaluation.interval"
SAMPLES = {part["name"]: part for part in parameters(SOURCE)["part"]}
PART = "label smoothing"
WRITTEN = {each.id: each for each in written_in(SOURCE, {"part": SAMPLES[PART]})}
REPORT = eval(SAMPLES[PART]["report"])  # noqa: S307 (our own numbers)


def earned(id: str, **answers) -> tuple[float, str]:
    """The points of these functions, and what is said of those that are lost."""
    tests = hidden_tests("import math\nimport torch\n\n" + "\n\n".join(WRITTEN[id].hidden), "evaluation")[id]
    verdicts = [
        (test, judge_student(Exercise(id, (), test.judge), SimpleNamespace(**answers), seed=3)) for test in tests
    ]
    lost = " ".join(verdict.message for _, verdict in verdicts if not verdict.passed)
    return sum(test.points for test, verdict in verdicts if verdict.passed), lost


def solved(id: str) -> dict:
    scope = {"math": math, "statistics": statistics}
    exec(WRITTEN[id].solution_code, scope)  # noqa: S102 (our own solution)
    return {name: scope[name] for name in WRITTEN[id].answers}


def test_every_part_has_a_sample():
    assert [*SAMPLES] == [*PARTS]
    rules = solved(RULES)
    for part in SAMPLES.values():
        said = eval(part["report"])  # noqa: S307 (our own numbers)
        shares = [[100 * made["exact"] for made in said[arm]] for arm in ("whole", "without")]
        low, high = rules["interval"](*shares, 2.776)
        assert said["verdict"] == rules["verdict"](low, high, 5)
    assert {eval(part["report"])["verdict"] for part in SAMPLES.values()} == {  # noqa: S307 (our own numbers)
        "worse without",
        "not decided",
        "no difference that matters",
    }


def test_the_conclusion_quotes_the_record():
    said = eval(SAMPLES["the second head"]["report"])  # noqa: S307 (our own numbers)
    changes = [100 * (b["exact"] - a["exact"]) for a, b in zip(said["whole"], said["without"])]
    spread = statistics.stdev(changes)
    half = 2.776 * spread / math.sqrt(5)
    mean = statistics.mean(changes)
    assert [round(value, 1) for value in (mean, mean - half, mean + half, half, spread)] == [-0.2, -8.6, 8.2, 8.4, 6.8]
    a_pair = sum(made["seconds"] for arm in ("whole", "without") for made in said[arm]) / 5
    assert round(120 / a_pair, -1) == 30
    assert round(2.03 * spread / math.sqrt(35), 1) == 2.3


@pytest.mark.release  # it repeats trainings
def test_the_sample_earns_all():
    assert earned(TRIALS, **solved(TRIALS)) == (10, "")


def test_right_rules_earn_all_and_an_empty_report_nothing():
    assert earned(RULES, **solved(RULES)) == (4, "")
    assert earned(TRIALS, report=lambda: ...)[0] == 0
    assert earned(RULES, interval=lambda *given: ..., verdict=lambda *given: ...)[0] == 0


def changed(**changes) -> dict:
    return copy.deepcopy(REPORT) | changes


def better() -> dict:
    """The losses that were measured, with other shares, and a verdict that agrees with these."""
    shares = (0.4, 0.45, 0.5, 0.42, 0.48)
    arm = [made | {"exact": share} for made, share in zip(REPORT["without"], shares)]
    return changed(without=arm, verdict="worse without", predicted=(-50, -30), held=True)


def favourable() -> dict:
    return changed(**{arm: [made | {"seed": 3 * made["seed"]} for made in REPORT[arm]] for arm in ("whole", "without")})


def late(made: dict) -> list[float]:
    return [made["losses"][0], *[9.0] * (len(made["losses"]) - 1)]


def off(by: float) -> dict:
    arm = [made | {"exact": round(made["exact"] - by, 3)} for made in REPORT["without"]]
    return changed(without=arm, verdict="worse without", predicted=(-20, -10), held=True)


def unpaired() -> dict:
    return changed(without=[made | {"seed": made["seed"] + 5} for made in REPORT["without"]])


def invented() -> dict:
    """Numbers that nobody has measured, of which everything else is right."""
    arms = {
        arm: [made | {"losses": [2.2, 2.0, 1.5, 1.0, 0.8, 0.7]} for made in REPORT[arm]] for arm in ("whole", "without")
    }
    return changed(**arms)


def of_whole(**changes) -> dict:
    """A report in which something of all trials of the whole machine is invented, with the verdict that follows."""
    made = changed(whole=[made | {n: f(made) for n, f in changes.items()} for made in REPORT["whole"]])
    return made | {"verdict": "better without", "predicted": (70, 90), "held": True} if "exact" in changes else made


release = partial(pytest.param, marks=pytest.mark.release)  # these repeat trainings


@pytest.mark.parametrize(
    ("points", "says", "report"),
    [
        release(7, "The verdict is another one", lambda: changed(verdict="better without"), id="hoped for"),
        release(8, "prediction", lambda: changed(held=not REPORT["held"]), id="prediction saved"),
        release(8, "no interval", lambda: changed(predicted=(-100, 100)), id="predicts everything"),
        pytest.param(
            0, "at least 5", lambda: changed(**{a: REPORT[a][:3] for a in ("whole", "without")}), id="3 seeds"
        ),
        release(0, "exact words, and the report says", better, id="shares made up"),
        pytest.param(0, "seeds 0, 1, 2", unpaired, id="other seeds"),
        pytest.param(0, "the report says", invented, marks=pytest.mark.long, id="invented"),  # repeats trainings
        pytest.param(0, "budget", lambda: changed(whole=[m | {"seconds": 25} for m in REPORT["whole"]]), id="too long"),
        pytest.param(0, "so little time", lambda: of_whole(seconds=lambda made: -100), id="less than no time"),
        pytest.param(0, "seeds 0, 1, 2", lambda: favourable(), id="seeds that suit"),
        release(4, "exact words, and the report says", lambda: of_whole(exact=lambda made: 0.02), id="a bad whole"),
        release(4, "has the mean losses", lambda: of_whole(losses=late), id="later losses"),
        release(0, "exact words, and the report says", lambda: off(0.145), id="each a little worse"),
        pytest.param(0, "length", lambda: changed(updates=400), id="other lengths"),
        pytest.param(0, "400 updates", lambda: changed(updates=600), id="longer than allowed"),
    ],
)
def test_half_a_report_earns_half(points, says, report):
    got, said = earned(TRIALS, report=report)
    assert got == points and says in said, said


def pooled(whole, without, t):
    """As if the two groups were independent."""
    error = math.sqrt((statistics.variance(whole) + statistics.variance(without)) / len(whole))
    mean = statistics.mean(without) - statistics.mean(whole)
    return mean - t * error, mean + t * error


def spread_of_all(whole, without, t):
    changes = [b - a for a, b in zip(whole, without)]
    mean, half = statistics.mean(changes), t * statistics.stdev(changes)
    return mean - half, mean + half


@pytest.mark.parametrize(
    "answers",
    [
        {"interval": pooled},
        {"interval": spread_of_all},
        {
            "verdict": lambda low, high, matters: (
                "worse without" if high < 0 else "better without" if low > 0 else "not decided"
            )
        },
    ],
    ids=["unpaired", "no root of n", "only against 0"],
)
def test_half_a_rule_earns_half(answers):
    assert earned(RULES, **(solved(RULES) | answers))[0] == 2


def test_a_trial_is_repeated_to_the_digit_and_refuses_what_it_cannot_do():
    first, again = (trial(PART, 2, 300, until=50) for _ in range(2))
    assert first["losses"] == again["losses"] == pytest.approx(REPORT["without"][2]["losses"][:1], rel=0.005)
    assert len(trial("", 0, 120, until=60)["losses"]) == 2
    with pytest.raises(ValueError, match="no part 'dropout'"):
        trial("dropout")
    with pytest.raises(ValueError, match="at least 100"):
        trial(updates=50)


@pytest.mark.release
def test_students_get_no_hidden_test_and_no_report(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    tfm("assign", "evaluation", "--private", SOURCE.parent, "--seed", "spring", "--to", tmp_path)
    notebook = nbformat.read(tmp_path / "student" / "evaluation.ipynb", 4)
    shown = "\n".join(cell.source for cell in notebook.cells)
    assert "# ablation(range(5), 300)" in shown and "{{" not in shown
    assert "@hidden" not in shown and "QUANTILES" not in shown and '"seed": 0' not in shown and "'seed': 0" not in shown

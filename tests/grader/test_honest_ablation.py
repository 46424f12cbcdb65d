"""The project "An honest ablation": trials that can be repeated, an interval, and a verdict that agrees with it."""

import copy
import math
import random
import statistics
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


def hidden_of(id: str) -> list:
    return hidden_tests("import math\nimport torch\n\n" + "\n\n".join(WRITTEN[id].hidden), "evaluation")[id]


def earned(id: str, tests=None, **answers) -> tuple[float, str]:
    """The points of these functions, and what is said of those that are lost."""
    tests = tests or hidden_of(id)
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


def each(arm: str, seeds=range(5), **changes) -> dict:
    """One arm of the report, in which something of the trials of these seeds is another."""
    made = [told | {n: f(told) for n, f in changes.items()} if told["seed"] in seeds else told for told in REPORT[arm]]
    return {arm: made}


def arms(**changes) -> dict:
    return each("whole", **changes) | each("without", **changes)


def lower(without: float, whole: float = 0) -> dict:
    """Honest trials, with shares that were moved."""
    moved = {"without": without, "whole": whole}
    shares = [each(arm, exact=lambda made, by=by: round(made["exact"] - by, 3)) for arm, by in moved.items()]
    return changed(**shares[0], **shares[1], verdict="worse without", predicted=(-20, -5), held=True)


def later(made: dict) -> list[float]:
    """Losses of which only the first 100 updates were trained, and the others taken from another trial."""
    return made["losses"][:2] + REPORT["without"][0]["losses"][2:]


def three_invented() -> dict:
    """Two honest pairs; the others are invented so that the verdict turns."""
    made = each("without", range(2, 5), exact=lambda made: round(made["exact"] - 0.3, 3), losses=later)
    return changed(**made, verdict="not decided", predicted=(-25, -15), held=True)


def short() -> dict:
    """As 100 updates make them: nothing is learned yet, so there is no difference."""
    return changed(updates=100, **arms(exact=lambda made: 0.025, losses=lambda made: made["losses"][:2]))


def plausible() -> dict:
    """Numbers that nobody has measured, of which everything else is right."""
    return changed(**arms(losses=lambda made: [2.5, 1.85, 1.35, 1.0, 0.8, 0.7]))


def guessed(made: dict) -> list[float]:
    return made["losses"][:2] + [1.05 * loss for loss in made["losses"][2:]]


def half(honest: list[int]) -> dict:
    """Twenty pairs, of which these are honest."""
    made = {arm: [REPORT[arm][seed % 5] | {"seed": seed} for seed in range(20)] for arm in ("whole", "without")}
    return changed(
        whole=[told if told["seed"] in honest else told | {"losses": later(told)} for told in made.pop("whole")], **made
    )


@pytest.fixture
def recorded(monkeypatch):
    """The tests of the trials. What they repeat gives what the sample says, at no cost."""
    made = {"": REPORT["whole"], PART: REPORT["without"]}
    monkeypatch.setattr("tfm_exercises.mine.trial.trial", lambda part, seed, updates: made[part][seed % 5])
    return hidden_of(TRIALS)


@pytest.mark.parametrize(
    ("points", "says", "report"),
    [
        (10, "", lambda: REPORT),
        (7, "The verdict is another one", lambda: changed(verdict="better without")),
        (8, "prediction", lambda: changed(held=not REPORT["held"])),
        (8, "no interval", lambda: changed(predicted=(-100, 100))),
        (0, "at least 5", lambda: changed(**{arm: REPORT[arm][:3] for arm in ("whole", "without")})),
        (0, "seeds 0, 1, 2", lambda: changed(**each("without", seed=lambda made: made["seed"] + 5))),
        (0, "seeds 0, 1, 2", lambda: changed(**arms(seed=lambda made: 3 * made["seed"]))),
        (0, "budget", lambda: changed(**each("whole", seconds=lambda made: 25))),
        (0, "so little time", lambda: changed(**each("whole", seconds=lambda made: -100))),
        (0, "length", lambda: changed(updates=400)),
        (0, "300 to 400", lambda: changed(updates=600)),
        (0, "300 to 400", short),
        (0, "has the mean losses", plausible),
        (0, "has the mean losses", three_invented),
        (0, "has the mean losses", lambda: changed(**each("whole", [3], losses=later))),
        (
            0,
            "only 4 have nearly",
            lambda: changed(**each("whole", losses=guessed), **each("without", [2], losses=guessed)),
        ),
        (0, "other shares of exact words, by 0.053", lambda: lower(0.075)),
        (0, "mean change is off by 0.050", lambda: lower(0.025, whole=-0.025)),
    ],
)
def test_an_invention_earns_nothing(recorded, points, says, report):
    got, said = earned(TRIALS, recorded, report=report)
    assert got == points and says in said, said


def test_half_of_many_pairs_invented_is_found(recorded):
    draw = random.Random(0)
    reports = [half(draw.sample(range(20), 10)) for _ in range(100)]
    assert sum(earned(TRIALS, recorded, report=lambda made=made: made)[0] == 0 for made in reports) >= 95
    assert earned(TRIALS, recorded, report=lambda: half([*range(20)]))[0] == 10


@pytest.mark.long  # it repeats a training
def test_what_is_repeated_is_trained():
    got, said = earned(TRIALS, report=plausible)
    assert got == 0 and "and the report says [2.5, 1.85" in said


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


@pytest.mark.long  # it repeats trainings
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

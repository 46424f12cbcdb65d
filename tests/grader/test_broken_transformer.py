"""The project "The broken Transformer": faults drawn by the seed, a check that counts them, points for each."""

import math
import re
from contextlib import closing
from types import SimpleNamespace

import msgspec
import nbformat
import pytest
import torch
import torch.nn.functional as F
from project import ROOT
from tiers import params
from torch import nn

from grader.test_classroom import PRIVATE, tfm
from tfm_exercises import check
from tfm_exercises.judge import Exercise, Mistake, _exercises, exercise, judge_student
from tfm_grader.assignment.bundle import hidden_tests, read_bundle
from tfm_grader.assignment.exercise_source import BadSource, chosen, parameters, written_in
from tfm_grader.judging.pool import JudgeProcess
from tfm_grader.records import Begin, Job

SOURCE = PRIVATE / "training.md"
ID = "training.broken"
SEEDS = ("spring", "autumn", "2027")
POINTS = dict(mask=2, shift=1, scale=2, padding=2, residual=2, positions=2, schedule=3, dropout=2)
TESTS = dict(
    zip(
        (
            "nothing_of_the_future",
            "the_next_token_is_the_target",
            "scores_are_scaled",
            "padding_costs_nothing",
            "every_residual_is_there",
            "positions_are_added_once",
            "one_rate_an_update",
            "evaluation_is_without_dropout",
        ),
        POINTS,
    )
)
TEMPLATE = (
    SOURCE.read_text("utf-8").split("```{code-cell}\n")[1].split("\n```")[0]
)  # the program, with places for faults
WRITTEN = written_in(SOURCE, chosen(SOURCE, "spring"))[0]
SOLUTION = WRITTEN.solution_code.strip()
HIDDEN = hidden_tests("\n\n".join(WRITTEN.hidden), "training")[ID]
SLEEPY = ("model(W, src, tgt)[:, -1:]", "model(W, src, tgt, DROPOUT)[:, -1:]")  # dropout where it writes
SCALED = "scores.masked_fill(~mask, -1e9).softmax(-1)\n    return weights @ V"


def program(seed: str, repaired: set[str] = frozenset()) -> str:
    """The program that a class with this seed gets, with the faults `repaired` gone."""
    drawn = written_in(SOURCE, chosen(SOURCE, seed))[0].stub
    lines = []
    for place, broken, right in zip(TEMPLATE.splitlines(), drawn.splitlines(), SOLUTION.splitlines(), strict=True):
        faults = set(re.findall(r"\{\{(\w+)", place))
        assert faults or broken == right, "the solution differs from the program in more than the faults"
        lines.append(right if faults & repaired else broken)
    return "\n".join(lines)


def functions(source: str) -> SimpleNamespace:
    scope = {"math": math, "torch": torch, "F": F, "nn": nn}
    exec(source, scope)  # noqa: S102 (our own program)
    return SimpleNamespace(**scope)


def gone(source: str) -> set[str]:
    """The faults for which the hidden tests give points."""
    student = functions(source)
    verdicts = {test.name: judge_student(Exercise(ID, (), test.judge), student, seed=3) for test in HIDDEN}
    return {TESTS[name] for name, verdict in verdicts.items() if verdict.passed}


def changed(*pairs: tuple[str, str]) -> str:
    """The solution with other text in some places."""
    text = SOLUTION
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def checked(source: str, monkeypatch) -> object:
    """What the check of the students' notebook says about a program."""
    monkeypatch.setitem(_exercises, ID, None)  # so that its exercise is gone again after the test
    scope = {"math": math, "torch": torch, "exercise": exercise, "Mistake": Mistake}
    exec(WRITTEN.visible[0], scope)  # noqa: S102 (our own check)
    student = functions(source)
    return check(ID, *(getattr(student, name) for name in _exercises[ID].answers))


def test_each_hidden_test_is_of_one_fault():
    assert {TESTS[test.name]: test.points for test in HIDDEN} == POINTS
    assert sum(POINTS.values()) == float(WRITTEN.option("points")) and WRITTEN.stars == 4


def test_classes_get_other_faults():
    drawn = [chosen(SOURCE, seed) for seed in SEEDS]
    assert set(drawn[0]) == set(POINTS)
    for first, second in ((0, 1), (0, 2), (1, 2)):
        assert sum(drawn[first][fault] != drawn[second][fault] for fault in POINTS) >= 3


@pytest.mark.parametrize("seed", params(SEEDS, (), rest=SEEDS[:1]))
def test_a_fault_gives_its_points_and_no_others(seed):
    assert gone(program(seed)) == set()
    for fault in POINTS:
        assert gone(program(seed, {fault})) == {fault}
    assert gone(program(seed, set(POINTS))) == set(POINTS)


FORMS = [(fault, form) for fault, forms in parameters(SOURCE).items() for form in range(len(forms))]


@pytest.mark.long
@pytest.mark.parametrize(("fault", "form"), FORMS)
def test_each_form_of_a_fault_is_found(fault, form, monkeypatch):
    values = parameters(SOURCE)
    broken = written_in(SOURCE, {name: forms[form if name == fault else 0] for name, forms in values.items()})[0].stub
    places = TEMPLATE.splitlines()
    lines = zip(places, broken.splitlines(), SOLUTION.splitlines(), strict=True)
    source = "\n".join(bad if "{{" + fault in place else right for place, bad, right in lines)
    assert gone(source) == set(POINTS) - {fault}
    assert checked(source, monkeypatch).message == "7 of the eight faults are gone."


def test_the_check_counts_from_none_to_all(monkeypatch):
    assert checked(program("autumn"), monkeypatch).message == "0 of the eight faults are gone."
    four = program("autumn", {"scale", "padding", "schedule", "dropout"})
    assert checked(four, monkeypatch).message == "4 of the eight faults are gone."
    assert checked(SOLUTION, monkeypatch).passed
    assert checked(changed(("(ids != PAD)[:, None]", "(ids != PAD)")), monkeypatch).status == "refused"


@pytest.mark.long
@pytest.mark.parametrize(
    ("lost", "pairs"),
    [
        ("dropout", [("return X * (torch.rand_like(X) >= p) / (1 - p)", "return X")]),
        ("dropout", [("    src, _ = batch(words)\n", "    src, _ = batch(words)\n    torch.manual_seed(0)\n"), SLEEPY]),
        (
            "positions",
            [
                ("return torch.stack([angles", "return 0.5 * torch.stack([angles"),
                ("return X + pos", "return X + 2 * pos"),
            ],
        ),
        ("dropout", [("DROPOUT, PEAK, WARMUP = 0.05,", "DROPOUT, PEAK, WARMUP = 0.0,")]),
        ("positions", [("return X + positions(*X.shape[1:])", "return X")]),
        ("schedule", [("return PEAK * min(update / WARMUP, math.sqrt(WARMUP / update))", "return PEAK")]),
        ("schedule", [('            optimiser.param_groups[0]["lr"] = learning_rate(update)\n', "")]),
        ("schedule", [("if i % accumulate == 0:", "if True:")]),
        ("mask", [(".tril()", ".tril().triu()")]),
    ],
)
def test_what_is_taken_out_is_not_repaired(lost, pairs, monkeypatch):
    assert gone(changed(*pairs)) == set(POINTS) - {lost}
    assert checked(changed(*pairs), monkeypatch).message == "7 of the eight faults are gone."


def test_another_style_keeps_all_points(monkeypatch):
    centred = SOLUTION[SOLUTION.index("    centred = ") : SOLUTION.index("def dropout(")]
    other = changed(
        (centred, "    return F.layer_norm(X, X.shape[-1:], gain, bias)\n\n"),
        ("scores.masked_fill(~mask, -1e9)", "scores.masked_fill(~mask, -math.inf)"),
        (
            "Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])",
            'torch.einsum("...nd,...md->...nm", Q * Q.shape[-1]**-0.5, K)',
        ),
        ("torch.ones(n, n, dtype=torch.bool).tril()", "torch.arange(n)[:, None] >= torch.arange(n)"),
        (", ignore_index=PAD)", ', reduction="none")[targets.flatten() != PAD].mean()'),
        (
            "(batch_loss(W, src, tgt, p) / accumulate).backward()",
            "batch_loss(W, src, tgt, p).div(accumulate).backward()",
        ),
        ("update = update + 1", "update = i // accumulate"),
        ("return X * (torch.rand_like(X) >= p) / (1 - p)", "return F.dropout(X, p)"),
    )
    assert gone(other) == set(POINTS)
    assert checked(other, monkeypatch).passed


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The assignment, released: its solution has earned all points, and the untouched notebook none."""
    here = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        tfm("assign", "training", "--private", PRIVATE, "--seed", "spring", "--to", here)
    return here


@pytest.mark.long
def test_students_get_no_hidden_test_and_no_repair(course):
    notebook = (course / "student" / "training.ipynb").read_text(encoding="utf-8")
    assert nbformat.reads(notebook, 4).cells and "{{" not in notebook
    shown = notebook + (course / "student" / "README.md").read_text(encoding="utf-8")
    assert "@hidden" not in shown and not any(test.name in shown for test in HIDDEN)
    repairs = set(SOLUTION.splitlines()) - set(program("spring").splitlines())
    assert len(repairs) >= len(POINTS)
    for line in repairs:
        assert line.strip() not in "\n".join(cell.source for cell in nbformat.reads(notebook, 4).cells)


@pytest.mark.long
def test_graded_in_the_sandbox(course):
    """Four repairs; and a rewriting with a call that is forbidden, which costs what depends on attention."""
    made = nbformat.read(course / "student" / "training.ipynb", 4)
    (cell,) = (cell for cell in made.cells if cell.metadata.get("tfm", {}).get("exercise") == ID)
    bundle = read_bundle(course / "bundle")
    four = {"mask", "shift", "positions", "dropout"}
    bought = changed((f"weights = {SCALED}", "return F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)"))
    with closing(JudgeProcess(Begin(manifest=bundle.manifest, tests=bundle.tests))) as judge:
        for source, points in ((program("spring", four), sum(POINTS[fault] for fault in four)), (bought, 4)):
            cell.source = source
            job = Job(student="someone", stem="training", ids=[ID], data=nbformat.writes(made).encode())
            row = msgspec.to_builtins(judge.judge(job))["exercises"][ID]
            assert (row["points"], row["of"]) == (points, 16), row["tests"]


def test_parts_of_a_value_that_is_a_mapping(tmp_path):
    text = SOURCE.read_text(encoding="utf-8")
    other = tmp_path / "training.md"
    other.write_text(text.replace("{{mask.used}}", "{{mask.unknown}}"), encoding="utf-8")
    with pytest.raises(BadSource, match=r"\{\{mask\.unknown\}\} is not among the parameters"):
        written_in(other, chosen(other, "spring"))
    values = chosen(SOURCE, "spring")
    stub = written_in(SOURCE, values)[0].stub
    assert f".{values['mask']['made']}\n" in stub and f"causal_mask(tgt.shape[1]){values['mask']['used']}\n" in stub


@pytest.mark.long
def test_the_right_program_learns():
    student = functions(SOLUTION)
    batches = [student.batch(student.draw(32, number)) for number in range(1600)]
    seen = {word for number in range(1600) for word in student.draw(32, number)}
    unseen = [word for word in student.draw(2000, "new") if word not in seen][:500]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        W = student.train(student.initial(0), batches, 2)
    value, exact = student.evaluate(W, unseen)
    assert len(unseen) == 500 and exact >= 0.95 and value < 0.1

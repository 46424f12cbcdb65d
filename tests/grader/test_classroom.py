"""The whole way, as an instructor goes it: assign, hand in through an LMS, collect, grade, report."""

import json
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import pytest
from project import ROOT
from typer.testing import CliRunner

from grader.one_of_each import tfm
from tfm_exercises.judge import _exercises
from tfm_exercises.relations import RELATED
from tfm_grader import commands
from tfm_grader.assignment.bundle import read_bundle, tasks
from tfm_grader.assignment.exercise_source import written_in
from tfm_lib.cli import app

PRIVATE = ROOT / "tests" / "grader" / "assignments"


@pytest.fixture(autouse=True)
def in_the_book(monkeypatch):
    monkeypatch.chdir(ROOT)


def cells(path: Path) -> list[dict]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def solved(notebook: dict, **answers: str) -> bytes:
    """A student's notebook with functions written and words given, by the exercise they answer."""
    made = json.loads(json.dumps(notebook))
    for cell in made["cells"]:
        about = cell["metadata"].get("tfm", {})
        key = (about.get("exercise") or about.get("text") or "").replace(".", "_")
        if key in answers:
            cell["source"] = answers[key]
    return json.dumps(made).encode()


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """A course's folder after the whole way: six students, a Canvas archive, marks by hand."""
    here = tmp_path_factory.mktemp("course")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        tfm("assign", "masking", "--private", PRIVATE, "--seed", "spring", "--name", "Masks", "--to", here)
        empty = json.loads((here / "student" / "masking.ipynb").read_text(encoding="utf-8"))
        right = next(
            c["source"]
            for c in cells(here / "solution" / "masking.ipynb")
            if c["metadata"].get("tfm", {}).get("exercise")
        )
        right = "".join(right)
        behind = right.replace("& (distance >= -", "& (distance >= 0 * -")
        words = "<script>alert(1)</script> Each layer waits."
        with zipfile.ZipFile(here / "canvas.zip", "w") as archive:
            archive.writestr("kimminji_11_501_masking.ipynb", solved(empty, masking_band=right, masking_latency=words))
            archive.writestr("oneilann_LATE_12_502_masking-1.ipynb", solved(empty, masking_band=behind))
            archive.writestr(
                "이서연_13_503_masking (2).ipynb",
                solved(empty, masking_band="import os\ndef band(n):\n    os._exit(0)"),
            )
            archive.writestr("🎉_14_504_masking.ipynb", b"%PDF")
            archive.writestr("=cmd|'calc'!A0_15_505_masking.ipynb", solved(empty))
            archive.writestr("../../evil_16_506_masking.ipynb", solved(empty, masking_band=right))
            archive.writestr("report_17_507_essay.pdf", b"%PDF")
            link = zipfile.ZipInfo("link_18_508_masking.ipynb")
            link.external_attr = 0o120777 << 16
            archive.writestr(link, "/etc/passwd")
            archive.writestr("big_19_509_masking.ipynb", b" " * (50 << 20), zipfile.ZIP_DEFLATED)
        tfm("collect", here / "canvas.zip", "--bundle", here / "bundle", "--to", here / "submissions")
        tfm("grade", here / "submissions", "--bundle", here / "bundle")
        (here / "marks.csv").write_text(
            "student,exercise,points,reason\nkimminji_11,masking.latency,1.5,The twelve is missing.\n", encoding="utf-8"
        )
        tfm("report", here / "results", "--bundle", here / "bundle", "--marks", here / "marks.csv")
    return here


def result(course: Path, prefix: str) -> dict:
    (path,) = (path for path in (course / "results").glob("*.json") if path.name.startswith(prefix))
    return json.loads(path.read_text(encoding="utf-8"))


def test_nothing_secret_in_what_students_get(course):
    text = (course / "student" / "masking.ipynb").read_text(encoding="utf-8")
    for secret in ("@hidden", "a_band", "short_sentences", "any_length", "distance <=", "twelve layers add"):
        assert secret not in text
        assert secret in (course / "bundle" / "tests" / "masking.py").read_text("utf-8") + (
            course / "solution" / "masking.ipynb"
        ).read_text("utf-8")
    assert "{{" not in text


def test_the_students_notebook_runs_and_its_check_answers(course, monkeypatch):
    monkeypatch.setitem(_exercises, "masking.band", None)  # so that its exercise is gone again after the test
    source = "\n".join(
        "".join(c["source"]) for c in cells(course / "student" / "masking.ipynb") if c["cell_type"] == "code"
    )
    namespace: dict = {}
    last = source.rindex("check(")
    exec(source[:last], namespace)  # noqa: S102 (our own notebook)
    assert eval(source[last:], namespace).status == "unsolved"  # noqa: S307 (our own notebook)
    namespace["band"] = lambda n: namespace["torch"].ones(n, n + 1, dtype=bool)
    assert eval(source[last:], namespace).status == "refused"  # noqa: S307 (our own notebook)


def test_what_was_refused_is_said_and_leaves_no_file(course):
    seen = json.loads((course / "submissions" / "collected.json").read_text(encoding="utf-8"))
    refused = {entry["file"]: entry["why"] for entry in seen["refused"]}
    assert "leads out" in refused["../../evil_16_506_masking.ipynb"]
    assert "not a notebook" in refused["report_17_507_essay.pdf"]
    assert "link" in refused["link_18_508_masking.ipynb"]
    assert "50 MB" in refused["big_19_509_masking.ipynb"]
    assert len(seen["students"]) == 8  # with the three of whom all was refused
    inside = course / "submissions"
    assert all(path.parent.parent == inside for path in inside.rglob("*.ipynb"))
    assert not list(course.parent.glob("evil*"))


def test_points(course):
    kim, ann = result(course, "kimminji"), result(course, "oneilann")
    assert (kim["points"], kim["status"]) == (4, "ok")
    assert [test["mistake"] for test in ann["chapters"]["masking"]["exercises"][0]["tests"]] == [
        "nothing ahead",
        f"{RELATED}wrong above the diagonal",
    ]
    assert ann["points"] == 0
    assert result(course, "이서연")["status"] == "stopped"
    assert "not JSON" in result(course, "_14-")["chapters"]["masking"]["exercises"][0]["reason"]
    assert result(course, "cmd")["points"] == 0


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen, self.addresses = set(), []

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        self.addresses += [
            value for name, value in attributes if name in ("src", "href", "action") or name.startswith("on")
        ]


def test_feedback_runs_nothing_and_opens_alone(course):
    pages = [*(course / "report" / "feedback").glob("*.html"), course / "report" / "class.html"]
    assert len(pages) == 9
    for page in pages:
        tags = Tags()
        tags.feed(page.read_text(encoding="utf-8"))
        assert not tags.seen & {"script", "iframe", "link", "img", "form", "object"}, page.name
        assert all(address.startswith("#") for address in tags.addresses if address)
    kim = (course / "report" / "feedback" / "kimminji_11.html").read_text(encoding="utf-8")
    assert "5.5 of 6 points" in kim
    assert "nothing ahead (1)" in (course / "report" / "items.csv").read_text(encoding="utf-8-sig")
    assert "&lt;script&gt;alert(1)" in kim
    assert "The twelve is missing." in kim
    assert "Your whole notebook was run, as Jupyter runs it." in kim
    ann = next(page for page in pages if page.name.startswith("oneilann")).read_text(encoding="utf-8")
    assert "Your mask never looks ahead." in ann
    for file in [*pages, *(course / "report" / "gradescope").rglob("*.json")]:
        shown = file.read_text(encoding="utf-8")
        for secret in ("@hidden", "a_band", "any_length", "randint", "torch.stack"):
            assert secret not in shown, file


def without_times(folder: Path) -> dict[str, dict]:
    """All results in `folder`, but for how long they took."""
    made = {}
    for path in folder.glob("*.json"):
        made[path.name] = json.loads(path.read_text(encoding="utf-8"))
        for chapter in made[path.name]["chapters"].values():
            for exercise in chapter["exercises"]:
                exercise.pop("took", None)
    return made


def test_what_was_judged_is_not_judged_again_and_what_changed_is(course, tmp_path):
    before = without_times(course / "results")
    again = tfm("grade", course / "submissions", "--bundle", course / "bundle")
    assert "0 notebooks judged" in again
    assert without_times(course / "results") == before
    more = tmp_path / "bundle"
    (more / "tests").mkdir(parents=True)
    for name in ("manifest.json", "tests/masking.py"):
        (more / name).write_text(
            (course / "bundle" / name).read_text(encoding="utf-8").replace("Write out the rows", "Draw the rows"),
            encoding="utf-8",
        )
    once = tfm(
        "grade", course / "submissions", "--bundle", more, "--to", tmp_path / "results", "--only", "masking.band"
    )
    assert "5 notebooks judged" in once
    for path in (tmp_path / "results").glob("*.json"):
        assert (
            json.loads(path.read_text(encoding="utf-8"))["points"]
            == json.loads((course / "results" / path.name).read_text(encoding="utf-8"))["points"]
        )


# what an instructor gets wrong


def refusal(*words: object) -> str:
    with pytest.raises(commands.Refusal) as caught:
        CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    return str(caught.value)


def changed(tmp_path: Path, old: str, new: str) -> Path:
    text = (PRIVATE / "masking.md").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "masking.md").write_text(text.replace(old, new, 1), encoding="utf-8")
    return tmp_path


def test_every_chapter_can_be_assigned():
    exercises = [exercise for path in (ROOT / "chapters").glob("*.md") for exercise in written_in(path)]
    assert len(exercises) > 100 and all(each.solution for each in exercises)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (":tags: [hidden]\n", "", "defines a hidden test without"),
        (":tags: [hidden]\n", ":tags: [hiden]\n", "unknown tag hiden"),
        ("  back: [3, 4]\n", "", "{{back}} is not among the parameters"),
        ("back: [3, 4]", "back: 2", "must give each name a list"),
        (":points: 4", ":points: 9", "give 4 points, not 9"),
        ("return (distance <=", "return (distance <", "earns 1 of 4 points where it should earn all"),
        (":label: masking.band", ":label: band", "needs a label"),
    ],
)
def test_a_fault_in_an_assignment_is_a_sentence(tmp_path, old, new, sentence):
    private = changed(tmp_path, old, new)
    drawn = "--seed", "a draw in which the band reaches more than one back"  # what a mistake costs depends on the draw
    assert sentence in refusal("assign", "masking", "--private", private, "--to", tmp_path / "out", *drawn)
    assert not (tmp_path / "out").exists()


def test_only_where_the_text_asks_for_it_may_an_answer_change_its_input(course, tmp_path):
    def allowed(bundle: Path) -> list[bool]:
        manifest = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
        return [entry["may_change_input"] for entry in manifest["chapters"]["masking"]["exercises"] if entry["answers"]]

    private = changed(tmp_path, ":points: 4", ":points: 4\n:may-change-input:")
    tfm("assign", "masking", "--private", private, "--no-verify", "--to", tmp_path / "out")
    text = (tmp_path / "out" / "student" / "masking.ipynb").read_text(encoding="utf-8")
    assert "may-change-input" not in text
    assert (allowed(course / "bundle"), allowed(tmp_path / "out" / "bundle")) == ([False], [True])


def test_an_exercise_that_the_book_no_longer_has_is_told_and_the_others_stay(tmp_path, monkeypatch):
    tfm("assign", "masking", "--no-verify", "--to", tmp_path)
    monkeypatch.delitem(_exercises, "masking.triangle")
    made = {task.id: task.tests[0] for task in tasks(read_bundle(tmp_path / "bundle"), "masking", "")}
    assert made["masking.decoder-mask"].judge is _exercises["masking.decoder-mask"].judge
    with pytest.raises(LookupError, match="the version that made the bundle"):
        made["masking.triangle"].judge(None, None)


def test_a_leak_is_found_wherever_it_stands():
    from tfm_grader.assignment.leaks import Leak, require_none

    secret = {"the solution": "def f(x):\n    return x.softmax(dim=-1) @ values + residual"}
    for place in (
        {"source": ["def f(x):\n", "  return x.softmax(dim=-1) @ values+residual"]},
        {"metadata": {"x": "return x.softmax(dim=-1)@values +\nresidual"}},
    ):
        with pytest.raises(Leak, match="holds a piece of the solution"):
            require_none({"student/a.ipynb": json.dumps({"cells": [place]})}, secret, [])
    require_none({"student/a.ipynb": json.dumps({"cells": [{"source": "def f(x):\n    ..."}]})}, secret, ["def f(x):"])


def test_commands_say_what_is_missing(tmp_path):
    assert "no manifest.json" in refusal("grade", tmp_path, "--bundle", tmp_path)
    assert "There is no folder" in refusal("grade", tmp_path / "x", "--bundle", tmp_path)
    assert "There is no chapter nowhere" in refusal("assign", "nowhere", "--to", tmp_path)
    assert "There is no folder" in refusal("assign", "masking", "--private", tmp_path / "x", "--to", tmp_path)


def test_no_bubblewrap_is_a_sentence_with_a_remedy(monkeypatch):
    from tfm_grader.sandbox.bubblewrap import NoSandbox, command

    monkeypatch.setenv("PATH", "")
    with pytest.raises(NoSandbox, match="sudo apt install bubblewrap"):
        command(0, 0)


@pytest.mark.parametrize(("root", "found"), [(True, True), (False, False)])
def test_set_up_brings_bubblewrap_where_it_can(monkeypatch, tmp_path, root, found):
    from tfm_grader.sandbox.bubblewrap import NoSandbox, install_bubblewrap

    program = tmp_path / "apt-get"
    lines = ["#!/bin/sh", '[ "$*" = "install -y -q --no-install-recommends bubblewrap" ] || exit 0', f"cd {tmp_path}"]
    program.write_text("\n".join([*lines, ": > bwrap", "/bin/chmod 755 bwrap", ""]), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: 0 if root else 1000)
    if found:
        install_bubblewrap()
        return
    with pytest.raises(NoSandbox, match="sudo apt install bubblewrap"):
        install_bubblewrap()

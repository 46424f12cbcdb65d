"""An assignment made, handed out, and made again over what the instructor changed."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from project import ROOT

from grader.test_classroom import PRIVATE, cells, refusal, tfm
from tfm_book.notebooks.export import built_wheel

DUE = "2027-03-01T23:59+01:00"
SOURCE = (PRIVATE / "masking.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def in_the_book(monkeypatch):
    monkeypatch.chdir(ROOT)


def assign(to: Path, *words: object, private: Path = PRIVATE) -> str:
    return tfm("assign", "masking", "--private", private, "--seed", "spring", "--no-verify", "--to", to, *words)


def manifest(to: Path) -> dict:
    return json.loads((to / "bundle" / "manifest.json").read_text(encoding="utf-8"))


def by_hand(to: Path, **changes: object) -> None:
    """Change the manifest as an instructor would: points of the question in words, due date, rule for lateness."""
    made = manifest(to)
    words = made["chapters"]["masking"]["exercises"][1]
    words["rubric"][0]["points"], words["points"] = 4, 5
    made["late"] = {"due": DUE, "per_day": 0.1, "free_days": 2}
    made |= changes
    (to / "bundle" / "manifest.json").write_text(json.dumps(made, ensure_ascii=False), encoding="utf-8")


def text_of(notebook: Path) -> str:
    return "\n".join("".join(cell["source"]) for cell in cells(notebook))


# what students get


def test_points_and_due_date_stand_in_the_notebook_and_beside_it(tmp_path):
    assign(tmp_path, "--due", DUE, "--name", "Masks")
    for file in ("masking.ipynb", "README.md"):
        path = tmp_path / "student" / file
        shown = text_of(path) if file.endswith("ipynb") else path.read_text(encoding="utf-8")
        assert "**6 points.** Due Monday, 1 March 2027, 23:59 (UTC+01:00)." in shown
    shown = text_of(tmp_path / "student" / "masking.ipynb")
    assert "*4 points*" in shown and "*2 points*" in shown
    assert (
        shown.index("A band") < shown.index("*4 points*") < shown.index("Why not the whole") < shown.index("*2 points*")
    )


def test_the_folder_holds_all_that_the_first_cell_needs(tmp_path):
    """The README's steps with the wheel that lies there, unpacked as pip would, and no other copy of the library."""
    assign(tmp_path)
    here = tmp_path / "student"
    (wheel,) = here.glob("*.whl")
    readme = (here / "README.md").read_text(encoding="utf-8")
    assert "pip install torch --index-url https://download.pytorch.org/whl/cpu" in readme
    assert f"pip install './{wheel.name}[lab]'" in readme
    assert readme.count("\n1. ") == readme.count("\n2. ") == readme.count("\n3. ") == 1
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    notebook = cells(here / "masking.ipynb")
    first = next("".join(cell["source"]) for cell in notebook if cell["cell_type"] == "code")
    code = f"{first}\nimport tfm_lib; print(tfm_lib.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=here,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "site" / "tfm_lib" / "__init__.py")


def test_a_missing_wheel_is_said_with_what_makes_it(tmp_path, monkeypatch):
    monkeypatch.setattr("tfm_grader.assignment.handout.built_wheel", lambda root: None)
    said = assign(tmp_path)
    assert re.search(r"tfm_lib-.*whl is not built, so students cannot install it: make wheel", said)
    assert not list(tmp_path.rglob("*.whl"))


def test_each_student_of_a_roster_has_a_whole_folder_and_the_disk_one_wheel(tmp_path):
    (tmp_path / "class.csv").write_text("student\nanna\nben\n", encoding="utf-8")
    assign(tmp_path / "to", "--roster", tmp_path / "class.csv")
    for student in ("anna", "ben"):
        names = {path.name for path in (tmp_path / "to" / "student" / student).iterdir()}
        assert names == {"masking.ipynb", "README.md", built_wheel(ROOT).name}
    wheels = list((tmp_path / "to").rglob("*.whl"))
    assert len(wheels) == 2 and len({wheel.stat().st_ino for wheel in wheels}) == 1
    own = manifest(tmp_path / "to")["chapters"]["masking"]["exercises"][1].get("own_questions", {})
    assert set(own) <= {"anna", "ben"}


def test_an_exercise_that_nobody_has_is_named(tmp_path):
    words = ("assign", "masking", "layers", "--no-verify", "--to", tmp_path / "x", "--exercise", "masking.triangle")
    said = refusal(*words, "--exercise", "layers.layer-norn")
    assert "There is no exercise layers.layer-norn in masking or layers. Did you mean layers.layer-norm?" in said
    assert not (tmp_path / "x").exists()


def test_a_student_with_numbers_of_their_own_gets_all_notebooks_in_one_folder(tmp_path):
    (tmp_path / "class.csv").write_text("student\nanna\nben\n", encoding="utf-8")
    words = ["assign", "masking", "layers", "--private", PRIVATE, "--no-verify", "--to", tmp_path / "to"]
    tfm(*words, "--roster", tmp_path / "class.csv", "--exercise", "masking.band", "--exercise", "layers.layer-norm")
    student = tmp_path / "to" / "student"
    assert {path.name for path in student.iterdir()} == {"anna", "ben"}
    for name in ("anna", "ben"):
        assert {path.name for path in (student / name).glob("*.ipynb")} == {"masking.ipynb", "layers.ipynb"}
        assert "`masking.ipynb` and `layers.ipynb`" in (student / name / "README.md").read_text("utf-8")


def test_a_due_date_that_is_none_is_a_sentence(tmp_path):
    words = ("assign", "masking", "--private", PRIVATE, "--no-verify", "--to", tmp_path / "x", "--due", "next Monday")
    assert "--due is a date with a time, as 2027-03-01T23:59+01:00, and not 'next Monday'" in refusal(*words)
    assert "a date with a time" in refusal(*words[:-1], "2026-11-20"), "a day begins at its first minute"
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("rubric", "sentence"),
    [
        ("1 one; 2 two", "gives 3 points, not 2"),
        ("one; 1 two", "must be points and words"),
        ("1 one; 1 one", "each once"),
        ("0 one; 2 two", "must be points and words"),
    ],
)
def test_a_rubric_with_a_fault_is_a_sentence(tmp_path, rubric, sentence):
    text = re.sub(r":rubric: .*", f":points: 2\n:rubric: {rubric}", SOURCE)
    assert text != SOURCE
    (tmp_path / "masking.md").write_text(text, encoding="utf-8")
    assert sentence in refusal("assign", "masking", "--private", tmp_path, "--no-verify", "--to", tmp_path / "x")


# made again


def test_what_was_changed_by_hand_is_kept_and_told_to_students(tmp_path):
    assign(tmp_path)
    by_hand(tmp_path)
    tests = tmp_path / "bundle" / "tests" / "masking.py"
    tests.write_text(tests.read_text(encoding="utf-8").replace("Write out the rows", "Draw the rows"), encoding="utf-8")
    for _ in range(2):  # and once more
        assign(tmp_path)
        made = manifest(tmp_path)
        assert made["late"] == {"due": DUE, "per_day": 0.1, "free_days": 2}
        assert made["chapters"]["masking"]["exercises"][1]["points"] == 5
        assert "Draw the rows" in tests.read_text(encoding="utf-8")
        shown = text_of(tmp_path / "student" / "masking.ipynb")
        assert "*5 points*" in shown and "Due Monday, 1 March 2027" in shown


def test_what_changed_in_the_source_comes_in_beside_it(tmp_path):
    assign(tmp_path / "to")
    by_hand(tmp_path / "to")
    (tmp_path / "masking.md").write_text(SOURCE.replace("twelve times as much", "12 times as much"), encoding="utf-8")
    assign(tmp_path / "to", private=tmp_path)
    words = manifest(tmp_path / "to")["chapters"]["masking"]["exercises"][1]
    assert words["points"] == 5 and "12 times as much" in words["answer"]


def test_a_class_has_a_seed_that_nobody_guesses_and_keeps_it(tmp_path):
    words = ("assign", "masking", "--private", PRIVATE, "--no-verify", "--to")
    said, _ = tfm(*words, tmp_path / "one"), tfm(*words, tmp_path / "two")
    seeds = [manifest(tmp_path / name)["seed"] for name in ("one", "two")]
    assert seeds[0] != seeds[1] and all(re.fullmatch("[0-9a-f]{16}", seed) for seed in seeds)
    assert f"kept in the manifest: the seed {seeds[0]}" in said
    before = {path: path.read_bytes() for path in (tmp_path / "one" / "student").iterdir()}
    assert "the seed" not in tfm(*words, tmp_path / "one")
    assert manifest(tmp_path / "one")["seed"] == seeds[0]
    assert {path: path.read_bytes() for path in before} == before
    tfm(*words, tmp_path / "one", "--fresh")
    assert manifest(tmp_path / "one")["seed"] not in seeds
    tfm(*words, tmp_path / "one", "--fresh", "--seed", "spring")
    assert manifest(tmp_path / "one")["seed"] == "spring"


def test_two_changes_in_one_place_are_refused_with_a_list_and_nothing_is_written(tmp_path):
    to = tmp_path / "to"
    assign(to)
    by_hand(to)
    tests = to / "bundle" / "tests" / "masking.py"
    tests.write_text(tests.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    (to / "student" / "masking.ipynb").write_text("{}", encoding="utf-8")
    before = {path: path.read_bytes() for path in to.rglob("*") if path.is_file()}
    text = re.sub(r":rubric: .*", ":rubric: 3 the delay; 1 the number", SOURCE).replace("Write out", "Paint")
    (tmp_path / "masking.md").write_text(text, encoding="utf-8")
    words = ("assign", "masking", "--private", tmp_path, "--seed", "spring", "--no-verify", "--to", to)
    said = refusal(*words)
    assert (
        "bundle/manifest.json, chapters, masking, exercises, masking.latency, points: you have 5, this run makes 4"
        in said
    )
    assert "Nothing was written" in said and "--fresh" in said
    (to / "bundle" / "manifest.json").write_bytes(before[to / "bundle" / "manifest.json"].replace(b"5", b"4"))
    made = json.loads(before[to / "bundle" / "manifest.json"])
    made["chapters"]["masking"]["exercises"][1] |= {"points": 2.0}
    made["chapters"]["masking"]["exercises"][1]["rubric"][0]["points"] = 1.0
    (to / "bundle" / "manifest.json").write_text(json.dumps(made), encoding="utf-8")
    assert "bundle/tests/masking.py: you have changed it" in refusal(*words)
    tests.write_bytes(before[tests].removesuffix(b"# mine\n"))
    assert "student/masking.ipynb: you have changed it" in refusal(*words)
    after = {path: path.read_bytes() for path in to.rglob("*") if path.is_file() and "bundle" not in path.parts}
    assert after == {path: data for path, data in before.items() if "bundle" not in path.parts}
    said = tfm(*words, "--fresh")
    assert "earlier-1" in said
    assert manifest(to)["chapters"]["masking"]["exercises"][1]["points"] == 4
    assert (to / "earlier-1" / "student" / "masking.ipynb").read_text(encoding="utf-8") == "{}"


def test_a_bundle_of_which_nobody_knows_what_was_made_is_not_guessed_at(tmp_path):
    assign(tmp_path)
    by_hand(tmp_path)
    (tmp_path / "bundle" / ".made.json").unlink()
    words = ("assign", "masking", "--private", PRIVATE, "--seed", "spring", "--no-verify", "--to", tmp_path)
    assert "late, due" in refusal(*words)


def test_an_exercise_that_is_left_out_takes_its_files_with_it_unless_it_was_changed(tmp_path):
    assign(tmp_path)
    chapter = ("assign", "attention", "--exercise", "attention.one-query", "--no-verify", "--to", tmp_path)
    tfm(*chapter)
    assert sorted(path.name for path in (tmp_path / "student").glob("*.ipynb")) == ["attention.ipynb"]
    assert not (tmp_path / "bundle" / "tests" / "masking.py").exists()
    assert list(manifest(tmp_path)["chapters"]) == ["attention"]
    assign(tmp_path)
    by_hand(tmp_path)
    assert "masking.latency" in refusal(*chapter)
    assert manifest(tmp_path)["late"]["due"] == DUE


def test_notebooks_handed_out_before_are_known_after_another_run(tmp_path):
    """A student answers in the notebook of the first run; the points in it, since changed, are no part of the answer."""
    from tfm_grader.assignment.bundle import read_bundle
    from tfm_grader.notebook import read_notebook
    from tfm_grader.written_answers import Answer, Handed

    assign(tmp_path)
    old = json.loads((tmp_path / "student" / "masking.ipynb").read_text(encoding="utf-8"))
    by_hand(tmp_path)
    assign(tmp_path)
    assert text_of(tmp_path / "student" / "masking.ipynb") != "\n".join("".join(c["source"]) for c in old["cells"])
    handed = Handed.of(read_bundle(tmp_path / "bundle").manifest.chapters["masking"])
    assert read_notebook(json.dumps(old).encode(), set(), handed).texts == {"masking.latency": Answer("")}
    old["cells"].append({"cell_type": "markdown", "source": "It lags.", "metadata": {}})
    assert read_notebook(json.dumps(old).encode(), set(), handed).texts == {"masking.latency": Answer("It lags.")}


def test_the_due_date_of_the_last_run_holds_until_another_is_given(tmp_path):
    words = ("assign", "masking", "--private", PRIVATE, "--seed", "spring", "--no-verify", "--to", tmp_path)
    tfm(*words, "--due", "2027-03-01T23:59+01:00")
    tfm(*words)
    assert manifest(tmp_path)["late"]["due"] == "2027-03-01T23:59+01:00"
    tfm(*words, "--due", "2027-03-02T23:59+01:00")
    assert manifest(tmp_path)["late"]["due"] == "2027-03-02T23:59+01:00"

"""What students are told before the due date: visible checks alone, and Gradescope."""

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from project import ROOT
from typer.testing import CliRunner

from grader.test_classroom import PRIVATE, solved, tfm
from tfm_grader import on_gradescope, visible_checks
from tfm_grader.assignment.bundle import read_bundle, tasks
from tfm_grader.assignment.bundle import visible_checks as checks_in
from tfm_grader.assignment.exercise_source import chosen, visible_check, written_in
from tfm_grader.assignment.manifest import Entry
from tfm_grader.collecting.collected_record import Book, Known, NotTaken
from tfm_grader.collecting.roster import Person, Roster, keep_roster
from tfm_grader.exports.autograder import autograder, settings
from tfm_grader.judging.pool import JudgeProcess
from tfm_grader.judging.replies import read_reply, require_values
from tfm_grader.records import Begin, ExerciseResult, Job, TestRow
from tfm_grader.sandbox import container
from tfm_grader.sandbox.bubblewrap import NoSandbox
from tfm_grader.sandbox.inside.channel import ChannelError
from tfm_grader.sandbox.inside.values import BadValue
from tfm_grader.sandbox.unprivileged import FIRST, LAST
from tfm_grader.version import PACKAGES
from tfm_lib._refusal import Refusal
from tfm_lib.cli import app

SYSTEM = Path(f"/usr/bin/python3.{sys.version_info.minor}")  # a Python that every user may start
SOURCE = PRIVATE / "masking.md"
(BAND,) = (each for each in written_in(SOURCE, chosen(SOURCE, "spring")) if each.id == "masking.band")
RIGHT = BAND.solution_code
WRONG = "def band(n):\n    return torch.zeros(n, n, dtype=torch.bool)"
HOSTILE = """
import os, socket
said = {}
for path in (TESTS, ABOUT, "/proc/1/environ", f"/proc/{os.getppid()}/mem", "/root"):
    try:
        said[path] = open(path).read(20) if not os.path.isdir(path) else os.listdir(path)
    except OSError as error:
        said[path] = type(error).__name__
for name, attempt in {"fork": os.fork, "socket": socket.socket, "kill": lambda: os.kill(1, 9)}.items():
    try:
        attempt()
        said[name] = "done"
    except OSError as error:
        said[name] = type(error).__name__
try:
    from tfm_exercises.checks import masking
    said["import"] = "done"
except ImportError:
    said["import"] = "ImportError"
def band(n):
    raise ValueError(" ".join(said.values()))
"""


@pytest.fixture(autouse=True)
def in_the_book(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """The example of the instructors' page, without being tried."""
    here = tmp_path_factory.mktemp("visible")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        words = ["--seed", "spring", "--name", "Masks", "--no-verify", "--to", here]
        tfm("assign", "masking", "--private", PRIVATE, *words)
    return here


def refused(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code != 0
    return " ".join((result.output + str(result.exception)).split())


def notebook(course: Path, **answers: str) -> bytes:
    return solved(json.loads((course / "student" / "masking.ipynb").read_text("utf-8")), **answers)


@pytest.mark.parametrize("path", sorted(PRIVATE.rglob("*.md")), ids=lambda path: path.parent.name + "-" + path.stem)
def test_every_visible_check_runs_without_the_notebook(path):
    exercises = written_in(path, chosen(path, "spring"))
    made = checks_in(visible_check(ROOT / "chapters" / path.name, exercises), path.stem)
    assert set(made) == {each.id for each in exercises if each.visible}


def test_the_bundle_holds_visible_checks_apart(course):
    bundle = read_bundle(course / "bundle", visible=True)
    (task,) = tasks(bundle, "masking", "")
    assert task.id == "masking.band" and [test.hidden for test in task.tests] == [False]
    assert "@hidden" not in bundle.source("masking", "") and "@exercise" not in read_bundle(course / "bundle").source(
        "masking", ""
    )


@pytest.mark.long
def test_a_class_is_told_what_the_checks_say(course, tmp_path):
    """Nothing hidden, no points, and no result."""
    hand_ins: dict[str, bytes] = {
        "right": notebook(course, masking_band=RIGHT, masking_latency="Each layer waits."),
        "empty": notebook(course),
        "wrong": notebook(course, masking_band=WRONG),
        "broken": b"%PDF",
    }
    for name, data in hand_ins.items():
        (tmp_path / "submissions" / name).mkdir(parents=True)
        (tmp_path / "submissions" / name / "masking.ipynb").write_bytes(data)
    (tmp_path / "submissions" / "loose.ipynb").write_bytes(b"{}")
    (tmp_path / "submissions" / "link").symlink_to(tmp_path / "submissions" / "right")
    refused = Known("Ida Wu", refused=[NotTaken("ida/masking.pdf", "it is not a notebook (.ipynb)")])
    (tmp_path / "submissions" / "collected.json").write_bytes(
        Book({"right": Known("Ray Ito"), "ida": refused}).encoded()
    )
    said = tfm("grade", tmp_path / "submissions", "--visible", "--bundle", course / "bundle")
    assert "passed over, since only folders are students': link, loose.ipynb." in said
    assert "right, masking: 1 of 1 check holds" in said and "wrong, masking: 0 of 1" in said
    assert {path.name for path in tmp_path.iterdir()} == {"submissions", "visible"}
    pages = {path.stem: path.read_text("utf-8") for path in (tmp_path / "visible").glob("*.html")}
    assert set(pages) == {*hand_ins, "ida"}
    assert "Ray Ito" in pages["right"] and "Ida Wu" in pages["ida"]
    assert (
        "ida/masking.pdf was not accepted: it is not a notebook (.ipynb). Hand in your notebook again." in pages["ida"]
    )
    assert "What the check tries holds." in pages["right"] and visible_checks.ANSWERED in pages["right"]
    assert "still the stub" in pages["empty"] and visible_checks.NO_ANSWER in pages["empty"]
    assert "Not yet." in pages["wrong"] and "could not be read" in pages["broken"]
    for page in pages.values():
        assert not any(secret in page for secret in ("a_band", "short_sentences", "any_length", 'points">'))


@pytest.mark.long
def test_a_file_beside_a_notebook_is_never_executed(course, tmp_path, monkeypatch):
    """Whoever calls the command in a folder with what was handed in has a student's file named like a module there."""
    for name in ("msgspec", "torch", "numpy", "sitecustomize", "tfm_grader"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'a').write(__name__)\n")
    (tmp_path / "masking.ipynb").write_bytes(notebook(course))
    monkeypatch.chdir(tmp_path)
    assert "0 of 1 check holds" in tfm("grade", "masking.ipynb", "--visible", "--bundle", course / "bundle")
    assert not (tmp_path / "executed").exists()


def test_what_a_submission_sends_is_never_quoted_back():
    """A text of its own could carry what it has seen of a hidden test."""
    for line in (b'{"SECRET": 1}', b'{"re": "SECRET", "ok": 1, "SECRET": 2}', b'["SECRET"]', b'"SECRET"', b"SECRET"):
        with pytest.raises(ChannelError) as raised:
            read_reply(line)
        assert "SECRET" not in str(raised.value)
    for value in ({"$": "SECRET"}, {"$": "handle", "i": 1, "k": "x", "SECRET": 1}, {"$": "tensor", "d": "SECRET"}):
        with pytest.raises(BadValue) as bad:
            require_values(value)
        assert "SECRET" not in str(bad.value)


@pytest.mark.long
def test_one_notebook_is_told_in_the_terminal(course, tmp_path):
    path = tmp_path / "my answer.ipynb"  # its name says nothing, and the assignment has one chapter
    path.write_bytes(notebook(course, masking_band=WRONG))
    said = tfm("grade", path, "--visible", "--bundle", course / "bundle")
    assert "masking: 0 of 1 check holds" in said and "→ " in said and visible_checks.LATER in said
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    tfm("grade", path, "--visible", "--to", tmp_path / "told", "--bundle", course / "bundle")
    assert "<p>my answer · " in (tmp_path / "told" / "my answer.html").read_text("utf-8")


def test_a_check_that_could_not_be_run_says_nothing_about_the_answer():
    for row in (
        ExerciseResult("a.b", "ok", 2),
        ExerciseResult("a.b", "infrastructure", 2, tests=[TestRow("a.b", "refused", 2)]),
    ):
        told = visible_checks._of_row("B", row, [])
        assert "could not be run" in told.said and not told.counts and not told.passed


def test_a_notebook_of_several_chapters_is_recognised_by_its_hand_out(course):
    import msgspec

    bundle = read_bundle(course / "bundle", visible=True)
    chapters = bundle.manifest.chapters
    two = msgspec.structs.replace(
        bundle.manifest,
        chapters={**chapters, "layers": msgspec.structs.replace(chapters["masking"], handouts={"": "f" * 16})},
    )
    found = visible_checks.one_notebook(course / "student" / "masking.ipynb", type(bundle)(two, bundle.tests, True))
    assert (found.stem, found.student) == ("masking", "")


def test_what_does_not_fit_together_is_refused(course, tmp_path):
    bundle = course / "bundle"
    assert "no notebook and no folder" in refused("grade", tmp_path / "x", "--visible", "--bundle", bundle)
    assert "--visible judges nothing" in refused("grade", tmp_path, "--visible", "--force", "--bundle", bundle)
    (tmp_path / "odd.ipynb").write_bytes(b"%PDF")
    assert "cannot be read as a notebook" in refused("grade", tmp_path / "odd.ipynb", "--visible", "--bundle", bundle)
    (tmp_path / "masking.ipynb").symlink_to(bundle / "manifest.json")
    assert "it is a link" in refused("grade", tmp_path / "masking.ipynb", "--visible", "--bundle", bundle)


def test_a_container_is_asked_for_only_in_one_and_by_root(monkeypatch):
    monkeypatch.setattr(container, "MARKS", ())
    for name in container.NAMES:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(NoSandbox, match="does not look like a container"):
        container.require_container(64)
    monkeypatch.setenv("TFM_CONTAINER", "1")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NoSandbox, match="must be root"):
        container.require_container(64)


@pytest.mark.parametrize(("limit", "fits"), [(str(768 << 20), False), (str(2 << 30), True), ("max", True), ("", True)])
def test_a_container_has_room_for_what_the_manifest_allows(tmp_path, monkeypatch, limit, fits):
    group = tmp_path / "memory.max"
    if limit:
        group.write_text(f"{limit}\n")
    monkeypatch.setattr(container, "CONTROL_GROUPS", (str(group),))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("TFM_CONTAINER", "1")
    if fits:
        container.require_container(1024)
    else:
        with pytest.raises(NoSandbox, match="768 MB of memory.*1,024 MB more"):
            container.require_container(1024)


def test_what_to_set_on_gradescope_is_said(course, tmp_path):
    assert "Give one that ends in .zip" in refused(
        "gradescope", course / "bundle", "--to", course / "bundle" / "manifest.json"
    )
    said = tfm("gradescope", course / "bundle", "--to", tmp_path / "a.zip")
    assert "Autograder Points: 4" in said and "2 GB of memory" in said and "more than 11 minutes" in said
    assert "Autograder Points: 0" in tfm("gradescope", course / "bundle", "--visible", "--to", tmp_path / "b.zip")


def test_what_could_go_wrong_on_gradescope_is_said(course):
    bundle = read_bundle(course / "bundle")
    entries = [Entry("m.a", "A", "practice", 2), Entry("m.b", "B", "assigned", 2)]
    limits = SimpleNamespace(memory=4096, longest=lambda exercises: 100.0 * exercises)
    odd = SimpleNamespace(
        stems=["m"], exercises=lambda stem: entries, limits=limits, visible=False, tests={"m": {"anna": "", "ben": ""}}
    )
    folder = course / "odd"
    folder.mkdir()
    keep_roster(Roster((Person("anna", email="anna@x.org"), Person("ben"), Person("cho"))), folder)
    told = [*settings(ROOT, odd, folder)]
    assert told[1:3] == [
        "Container: 5 GB of memory or more",
        "Time limit: more than 8 minutes, the longest that any submission can take",
    ]
    assert "mixed" in told[3] and told[4].endswith("can't be graded there: ben")
    assert bundle.limits.memory == 1024


@pytest.fixture(scope="module")
def archive(course) -> bytes:
    return autograder(ROOT, course / "bundle", visible=False)


def test_the_archive_has_the_layout_that_gradescope_gives(archive, course):
    names = zipfile.ZipFile(io.BytesIO(archive)).namelist()
    assert {"setup.sh", "run_autograder", "constraints.txt", "bundle/manifest.json", "bundle/tests/masking.py"} <= set(
        names
    )
    modes = {
        entry.filename: entry.external_attr >> 16 & 0o777 for entry in zipfile.ZipFile(io.BytesIO(archive)).infolist()
    }
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    assert archive == autograder(ROOT, course / "bundle", visible=False)  # the same again
    shown = zipfile.ZipFile(io.BytesIO(autograder(ROOT, course / "bundle", visible=True)))
    assert (
        not any("tests/" in name for name in shown.namelist()) and "--visible" in shown.read("run_autograder").decode()
    )
    for name in ("setup.sh", "run_autograder"):
        text = zipfile.ZipFile(io.BytesIO(archive)).read(name)
        assert subprocess.run(["bash", "-n"], input=text, check=False).returncode == 0


@pytest.fixture(scope="module")
def home(archive) -> Iterator[Path]:
    """A folder as /autograder is after setup.sh; its Python borrows this environment's packages.

    It lies outside pytest's folders, which each run of pytest closes to other users.
    """
    if os.geteuid() != 0 or not SYSTEM.is_file():
        pytest.skip("needs root, and a Python that every user may start")
    made = Path(tempfile.mkdtemp(prefix="autograder-"))
    made.chmod(0o711)
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        files.extractall(made / "source")
    subprocess.run([SYSTEM, "-m", "venv", "--without-pip", made / "environment"], check=True)
    packages = made / "environment" / "lib" / SYSTEM.name / "site-packages"
    ours = next(path for path in map(Path, sys.path) if (path / "torch").is_dir())
    (packages / "all.pth").write_text(f"{ours}\n")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, packages / name, ignore=shutil.ignore_patterns("__pycache__", "static"))
    subprocess.run(["chmod", "-R", "go-rwx", made / "source", *packages.glob("tfm_*")], check=True)
    yield made
    subprocess.run(["rm", "-rf", "--", made], check=True)


def handed_in(home: Path, *flags: str, kind: str = ".ipynb", **files: bytes) -> dict:
    shutil.rmtree(home / "submission", ignore_errors=True)
    (home / "submission").mkdir()
    for name, data in files.items():
        (home / "submission" / f"{name}{kind}").write_bytes(data)
    python = home / "environment" / "bin" / "python"
    run = subprocess.run(
        [python, "-m", "tfm_grader.on_gradescope", *flags],
        cwd="/",
        env={"PATH": "/usr/bin:/bin", "TFM_AUTOGRADER": str(home), "TFM_CONTAINER": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return json.loads((home / "results" / "results.json").read_text("utf-8"))


@pytest.mark.release
def test_a_submission_is_graded_in_a_container(course, home):
    made = handed_in(home, masking=notebook(course, masking_band=RIGHT, masking_latency="Each layer waits."))
    scored = [each for each in made["tests"] if "max_score" in each]
    assert made["score"] == sum(each["max_score"] for each in scored) == 4
    assert {each["visibility"] for each in scored} == {"after_published"} == {made["visibility"]}
    assert [each["status"] for each in made["tests"] if "status" in each] == ["passed"]
    assert handed_in(home, masking=notebook(course))["score"] == 0
    assert "no notebook" in handed_in(home)["output"]
    assert handed_in(home, masking=notebook(course), kind=".IPYNB")["score"] == 0
    twice = {"masking": notebook(course), "masking (1)": notebook(course)}
    assert "Hand in one of them" in handed_in(home, **twice)["output"]


@pytest.mark.long
def test_a_submission_in_a_container_reads_nothing_and_reaches_nobody(course, home):
    about = home / on_gradescope.ABOUT
    about.write_text('{"previous_submissions": [{"score": 4}]}')
    about.chmod(0o644)
    tests = home / "source" / "bundle" / "tests" / "masking.py"
    code = HOSTILE.replace("TESTS", repr(str(tests))).replace("ABOUT", repr(str(about)))
    made = handed_in(home, "--visible", masking=notebook(course, masking_band=code))
    said = "\n".join(each["output"] for each in made["tests"])
    assert made["score"] == 0 and not any("max_score" in each for each in made["tests"])
    assert said.count("PermissionError") >= 7 and "ImportError" in said and "done" not in said, said


@pytest.mark.long
def test_a_forbidden_call_is_named_in_the_feedback_of_a_hidden_test_too(course):
    """By the notebook's text: what an answer raises under a hidden test may say anything, and is not shown."""
    bundle = read_bundle(course / "bundle")
    code = "def band(n):\n    return torch.ones(n, n, dtype=torch.bool).tril(1).triu(-3)"
    with closing(JudgeProcess(Begin(bundle.manifest, bundle.tests))) as judge:
        result = judge.judge(Job("s", "masking", ["masking.band"], notebook(course, masking_band=code)))
    row = result.exercises["masking.band"]
    assert row.points == 0 and "Your answer uses tril and triu, which this exercise does not allow." in row.notes


@pytest.mark.parametrize(
    ("users", "student"),
    [
        ([{"email": "Anna@x.org", "name": "Anna"}], "anna"),
        ([{"email": "anna@x.org"}, {"email": "ben@x.org"}], "anna"),  # a team, whose members have the same numbers
        ([{"email": "zoe@x.org", "name": "Anna Lee"}], None),  # anybody can take a name
        ([{"email": "anna@x.org"}, {"email": "cho@x.org"}], None),
        ([], None),
    ],
)
def test_on_gradescope_the_email_says_whose_numbers_count(tmp_path, users, student):
    people = [("anna", "Anna Lee", "bears"), ("ben", "Ben Oz", "bears"), ("cho", "Cho Ito", "")]
    made = Roster(tuple(Person(name, full, email=f"{name}@x.org", team=team) for name, full, team in people))
    (tmp_path / "source" / "bundle").mkdir(parents=True)
    keep_roster(made, tmp_path / "source" / "bundle")
    (tmp_path / "submission_metadata.json").write_text(json.dumps({"users": users}), encoding="utf-8")
    bundle = SimpleNamespace(tests={"masking": {"anna": "", "ben": "", "cho": ""}})
    if student:
        assert on_gradescope._student(tmp_path, bundle) == student
        return
    with pytest.raises(Refusal, match="the roster knows"):
        on_gradescope._student(tmp_path, bundle)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"users": null}', '{"users": [1]}', None])
def test_on_gradescope_an_odd_description_of_the_user_is_a_sentence(tmp_path, text):
    if text is not None:
        (tmp_path / "submission_metadata.json").write_text(text, encoding="utf-8")
    with pytest.raises(Refusal, match="doesn't say whose submission it is"):
        on_gradescope._student(tmp_path, SimpleNamespace(tests={"masking": {"anna": ""}}))


def test_notebooks_are_found_as_deep_as_people_make_folders(tmp_path):
    deep = tmp_path.joinpath(*["d"] * (on_gradescope.DEEPEST + 1))
    deep.mkdir(parents=True)
    (deep / "unseen.ipynb").touch()
    for name in ("a/b/masking.ipynb", "x/LAYERS.IPYNB", "__MACOSX/a.ipynb", ".ipynb_checkpoints/a.ipynb", "a/n.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "a" / "link.ipynb").symlink_to(tmp_path / "x" / "LAYERS.IPYNB")
    assert {path.name for path in on_gradescope._notebooks(tmp_path)} == {"masking.ipynb", "LAYERS.IPYNB"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("object()", "object"),
        ("print", "builtin_function_or_method"),
        ("torch.nn.Linear(2, 2)", "Linear"),
        ("torch.empty(2**31 + 5, 0)", "cannot be read: a tensor of a form"),
    ],
)
def test_an_answer_that_is_no_value_is_named_in_plain_words(course, tmp_path, value, said):
    path = tmp_path / "masking.ipynb"
    path.write_bytes(notebook(course, masking_band=f"def band(n):\n    return {value}"))
    told = tfm("grade", path, "--visible", "--bundle", course / "bundle")
    assert said in told and "unknown field" not in told and "disturbed" not in told


@pytest.mark.release
@pytest.mark.parametrize(
    "code",
    [
        "import os, signal\ndef band(n):\n    os.kill(os.getppid(), signal.SIGSTOP)\n    os._exit(0)",
        "import os\nfor _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\ndef band(n):\n    return 0",
    ],
    ids=["stops what waits for it", "folders without end"],
)
def test_a_submission_in_a_container_costs_only_itself(course, home, code):
    began = time.monotonic()
    made = handed_in(home, "--visible", masking=notebook(course, masking_band=code))
    assert made["score"] == 0 and [each["status"] for each in made["tests"] if "status" in each] == ["failed"]
    assert time.monotonic() - began < 120


def test_on_gradescope_a_practice_answer_shows_nothing_that_it_saw_of_a_hidden_test():
    row = ExerciseResult("a.b", "ok", 2, tests=[TestRow("a.b", "refused", 2, message="b raised ValueError: n was 17")])
    told = {
        kind: on_gradescope._told(Entry("a.b", "B", kind, 2), row, True)["output"] for kind in ("practice", "assigned")
    }
    assert told == {"practice": "The visible check says what is missing.", "assigned": "b raised ValueError: n was 17"}


@pytest.mark.long
def test_a_submission_in_a_container_writes_no_result_and_leaves_nothing(course, home):
    """Even where the folders were open to all; and what macOS puts into an archive is no hand-in."""
    (home / "results").mkdir(exist_ok=True)
    (home / "results").chmod(0o777)
    (home / "results" / "results.json").write_text('{"score": 4}')
    code = f"""
import os
os.umask(0)
for path in ({str(home / "results" / "results.json")!r}, {str(home / "results" / "x")!r}, "/tmp/left-by-a-test", "/dev/shm/left-by-a-test"):
    try:
        open(path, "w").write("4")
    except OSError:
        pass
def band(n):
    return 0
"""
    (home / "submission" / "__MACOSX").mkdir(parents=True, exist_ok=True)
    made = handed_in(home, masking=notebook(course, masking_band=code), **{"._masking": b"\0\5\x16\7"})
    assert made["score"] == 0 and len(made["tests"]) == 3
    assert [path.name for path in (home / "results").iterdir()] == ["results.json"]
    assert not any(Path(folder, "left-by-a-test").exists() for folder in ("/tmp", "/dev/shm"))


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
def test_each_submission_in_a_container_is_a_user_that_nobody_is():
    numbers = set()
    for _ in range(8):
        with container.place() as made:
            assert made.own.stat().st_uid == made.number and made.own.stat().st_mode & 0o777 == 0o700
            assert FIRST <= made.number <= LAST
            numbers.add(made.number)
        assert not made.own.exists() and not made.program.exists()
    assert len(numbers) > 1, "limits on threads count those of the whole host"


@pytest.mark.release
def test_a_folder_that_can_be_entered_is_not_closed(course, home):
    """The bundle is closed by the grader itself; if the library is open, nothing is graded."""
    for folder in (home / "source", home / "source" / "bundle"):
        folder.chmod(0o711)
    assert handed_in(home, masking=notebook(course))["score"] == 0
    (library,) = home.glob("environment/lib/*/site-packages/tfm_lib")
    library.chmod(0o711)
    try:
        with pytest.raises(AssertionError, match="can be read"):
            handed_in(home, masking=notebook(course))
        assert not (home / "results" / "results.json").exists(), "no result of an earlier run is left"
    finally:
        library.chmod(0o700)

"""`tfm new` in a copy of the repository: what it writes fails with sentences, and holds once five files are filled in.

The six files, as somebody wrote them by hand, stand in `tests/new/`.
"""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from project import ROOT

import tfm_lib

BY_HAND = {
    path.relative_to(ROOT / "tests/new").as_posix() for path in (ROOT / "tests/new").rglob("*.*") if path.is_file()
}
TESTS = (
    *("layout", "unfinished", "gates", "exercises", "soft_cap", "bad_input", "widgets", "notation", "frontend"),
    *("reading_order", "mutations", "judges_look_at_arguments", "asks"),
)
CONCERN_IT = (
    "soft_cap or soft-cap or hard-cap or cap-slope or capped-weights or layout or unfinished or (hook_has and not types) or golden or notation "
    "or the_list or those_of_the_library or compares_its_numbers or every_core"
)
NO_SENTENCE = re.compile(r"assert |(?:Key|Index|Attribute|Name|Type|Syntax|Import|ModuleNotFound|File\w+)Error\b")


class Copy:
    """A copy of the repository's files, with commands that run in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
        for name in names:
            if name and (ROOT / name).is_file():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, root / name)
        self.run("git", "init", "-q")
        (root / "frontend" / "node_modules").symlink_to(ROOT / "frontend" / "node_modules")
        (root / ".git" / "info" / "exclude").write_text("node_modules\n")

    def run(self, *command: str) -> subprocess.CompletedProcess:
        environment = {**os.environ, "PYTHONPATH": str(self.root), "PYTEST_ADDOPTS": "", "TFM_BOOK": ""}
        return subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, check=False)

    def tfm(self, *words: str) -> subprocess.CompletedProcess:
        return self.run(sys.executable, "-m", "tfm_lib.cli", *words)

    def new(self, *words: str) -> set[str]:
        """The files that `tfm new` names, each of which it wrote or changed."""
        done = self.tfm("new", *words)
        assert done.returncode == 0, done.stderr
        named = {line.partition("  (")[0] for line in done.stdout.splitlines()[:-1]}
        assert all((self.root / name).is_file() for name in named)
        return named

    def complaints(self) -> dict[str, str]:
        """What the tests that concern the chapter say, by their names, without the comparison behind it."""
        report = self.root / ".git" / "report.xml"
        files = [f"tests/test_{name}.py" for name in TESTS]
        options = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", f"--junitxml={report}", "-k", CONCERN_IT]
        done = self.run(sys.executable, "-m", "pytest", *options, *files)
        assert report.is_file(), done.stdout + done.stderr
        found = {}
        for case in ET.parse(report).iter("testcase"):
            for trouble in [*case.iter("failure"), *case.iter("error")]:
                said = trouble.get("message") or trouble.text
                found[case.get("name")] = " ".join(said.partition("\nassert ")[0].split())
        return found


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A copy for commands that write nothing."""
    return Copy(tmp_path_factory.mktemp("copy"))


@pytest.mark.long
def test_a_chapter_from_nothing_to_green(copy):
    call = ("--call", "soft_cap(X, cap)")
    written = copy.new("chapter", "soft_cap", "--after", "layers", *call)
    written |= copy.new("widget", "soft_cap/cap_curve", "--question", "How large can an output become?")
    written |= copy.new("exercise", "soft_cap/soft-cap", *call)
    assert len(BY_HAND) == 6 and written > BY_HAND
    left = {name for name in written if "✎" in (copy.root / name).read_text(encoding="utf-8")}
    assert left == BY_HAND, "what is left to write stands in the six files"

    unfinished = copy.complaints()
    assert {"test_nothing_is_left_to_write", "test_soft_cap_is_a_right_answer_to_its_exercise"} <= unfinished.keys()
    for test, said in unfinished.items():
        sentence = said.removeprefix("AssertionError: ").removeprefix("Failed: ")
        assert len(sentence.split()) > 4 and not NO_SENTENCE.match(sentence), f"{test} says {said}"

    for name in BY_HAND:
        shutil.copyfile(ROOT / "tests" / "new" / name, copy.root / name)
    assert copy.complaints() == {}

    for page in (copy.root / "chapters").glob("*.md"):
        if page.stem not in ("soft_cap", "bibliography"):  # the other chapters' titles are all that this one needs
            page.write_text(f"# {page.stem.capitalize()}\n\nA chapter.\n", encoding="utf-8")
    copy.run("node", "frontend/build.mjs")
    built = copy.tfm("build")
    assert built.returncode == 0, built.stdout + built.stderr
    html = (copy.root / "_build/html/chapters/soft_cap.html").read_text(encoding="utf-8")
    assert 'data-module="soft_cap/cap_curve"' in html and "soft_cap of 2 is" in html
    assert (copy.root / "_build/html/_downloads/soft_cap.ipynb").is_file()


def test_a_second_exercise_goes_behind_the_first(copy):
    copy.new("chapter", "second", "--after", "layers", "--call", "second(X)")
    files = ("tfm_lib/checks/second.py", "tests/banks/second.py", "chapters/second.md")
    copy.new("exercise", "second/one", "--call", "one(X)")
    before = [(copy.root / name).read_text(encoding="utf-8") for name in files]
    copy.new("exercise", "second/two", "--call", "two(X, by)")
    judges, bank, page = after = [(copy.root / name).read_text(encoding="utf-8") for name in files]
    assert all(text.count("second.two") >= 2 for text in after)
    assert judges.startswith(before[0].rstrip("\n")) and bank.startswith(before[1].rstrip("\n"))
    compile(judges, files[0], "exec")
    assert page.index("second.one") < page.index("second.two") < page.index("## Summary")
    copy.new("exercise", "second/tw", "--call", "tw(X)")  # a name that another begins with is free
    copy.new("exercise", "masking/no-mask", "--call", "no_mask(X)")
    bank = copy.run(sys.executable, "-c", "import runpy; print(len(runpy.run_path('tests/banks/masking.py')['RIGHT']))")
    assert int(bank.stdout) == (ROOT / "chapters/masking.md").read_text(encoding="utf-8").count(":label: masking.") + 1


def test_an_experiment_is_a_module_that_says_what_is_left(copy):
    assert copy.new("experiment", "cap_at_work") == {"experiments/cap_at_work.py"}
    run = copy.run(sys.executable, "-m", "experiments.cap_at_work")
    assert "✎ Write the run in experiments/cap_at_work.py." in run.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("chapter", "Soft-Cap", "--after", "layers"), "'Soft-Cap' is no name for a file here"),
        (("chapter", "masking", "--after", "layers"), "chapters/masking.md is there already; nothing was written."),
        (("chapter", "soft", "--after", "layer"), "There is no chapter layer with a module; there are recurrence, "),
        (("chapter", "soft", "--after", "layers", "--call", "soft X"), "'soft X' is no call of a function"),
        (("exercise", "triangle", "--call", "f(n)"), "'triangle' names no chapter: write it as CHAPTER/NAME"),
        (("exercise", "masking/triangle", "--call", "f(n)"), "chapters/masking.md has an exercise masking.triangle."),
        (("widget", "masking/second", "--question", "Why?"), "tfm_lib/widgets/masking.py is there."),
    ],
)
def test_what_cannot_be_written_is_a_sentence(unchanged, words, sentence):
    done = unchanged.tfm("new", *words)
    assert done.returncode == 1 and done.stderr.startswith(sentence), done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_guide_names_tests_and_commands_that_are_there(unchanged):
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = {*re.findall(r"tests/[\w/]+\.py", guide)} - {
        "tests/banks/soft_cap.py",
        "tests/test_soft_cap.py",
        "tests/asks/soft_cap.py",
    }
    assert len(named) > 8 and all((ROOT / name).is_file() for name in named)
    targets = {*re.findall(r"^make (\w+)", guide, re.MULTILINE), *re.findall(r"`make (\w+)`", guide)}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets and all(f"\n{target}:" in makefile for target in targets)
    for kind in set(re.findall(r"tfm new (\w+)", guide)):
        assert unchanged.tfm("new", kind, "--help").returncode == 0, kind


def test_the_readme_names_the_wheel_of_this_version():
    assert f"'./tfm_lib-{tfm_lib.__version__}-py3-none-any.whl[notebook]'" in (ROOT / "README.md").read_text("utf-8")

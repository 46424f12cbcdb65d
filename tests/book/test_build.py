"""The build executes what an edit concerns and nothing else, says what failed, and leaves no page stale."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from queue import Empty
from types import SimpleNamespace
from typing import ClassVar

import nbformat
import pytest
import yaml

from tfm_book.notebooks.contents import pages
from tfm_book.site import cache, citations, runner
from tfm_book.site.build import NO_SOURCES, _packages
from tfm_book.site.cache import execution_key
from tfm_book.site.dependencies import KnownSources, dependencies

ROOT = Path(__file__).parents[2]


# --- what an execution depends on ----------------------------------------------------------------------------------

CELLS = [
    'from tfm_lib.widgets.dial import Dial\nrecorded = open("../experiments/results/reach.json")',
    'check("masking.leak", 1)',
]
LIBRARY = {
    "tfm_lib/__init__.py": "",
    "tfm_lib/cli.py": "print('never imported')",
    "tfm_lib/attention.py": "def attention(): ...",
    "tfm_lib/unused.py": "",
    "tfm_lib/drawing/__init__.py": "from tfm_lib.drawing.display import show",
    "tfm_lib/drawing/display.py": 'COLOURS = "tokens.css"',
    "tfm_lib/drawing/tokens.css": ":root {}",
    "tfm_book/site/__init__.py": "",
    "tfm_book/site/build.py": "",
    "tfm_book/site/theme/book.css": "",
    "tfm_lib/widgets/__init__.py": "",
    "tfm_lib/widgets/base.py": 'import json\nSTYLE = "static/widgets.css"',
    "tfm_lib/widgets/dial.py": "from . import base\nfrom ..attention import attention\n"
    "import tfm_exercises\nfrom tfm_lib.drawing import show",
    "tfm_lib/widgets/other.py": "",
    "tfm_lib/widgets/static/widgets.css": "",
    "tfm_lib/widgets/static/dial.js": "",
    "tfm_exercises/__init__.py": "",
    "tfm_exercises/checks/__init__.py": "",
    "tfm_exercises/checks/masking.py": "from tfm_lib import masking",
    "tfm_exercises/checks/attention.py": "",
    "tfm_lib/masking.py": "",
    "experiments/results/reach.json": "{}",
    "experiments/results/other.json": "{}",
    "models/translator.bin": "0",
}
CONCERNED = {
    "tfm_lib/__init__.py",
    "tfm_lib/attention.py",
    "tfm_lib/masking.py",
    "tfm_lib/drawing/__init__.py",
    "tfm_lib/drawing/display.py",
    "tfm_lib/drawing/tokens.css",
    "tfm_lib/widgets/__init__.py",
    "tfm_lib/widgets/base.py",
    "tfm_lib/widgets/dial.py",
    "tfm_exercises/__init__.py",
    "tfm_exercises/checks/__init__.py",
    "tfm_exercises/checks/masking.py",
    "experiments/results/reach.json",
}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    for name, text in LIBRARY.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "chapters").mkdir()
    return tmp_path


def test_facts_kept_from_the_build_before_give_the_same_key_and_are_forgotten_when_a_source_changes(library) -> None:
    first = KnownSources()
    before = execution_key(CELLS, library / "chapters", library, first)
    assert before == execution_key(CELLS, library / "chapters", library, KnownSources(first.read))
    (library / "tfm_lib/__init__.py").write_text("from tfm_lib import extra")
    (library / "tfm_lib/extra.py").write_text("x = 1")
    again = KnownSources(first.read)
    assert library / "tfm_lib/extra.py" in dependencies(CELLS, library / "chapters", library, again)
    assert execution_key(CELLS, library / "chapters", library, again) != before


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_the_key_changes_with_what_the_chapter_uses_and_with_nothing_else(library: Path, name: str) -> None:
    before = execution_key(CELLS, library / "chapters", library)
    (library / name).write_text((library / name).read_text() + "\n# edited")
    assert (execution_key(CELLS, library / "chapters", library) != before) == (name in CONCERNED)


def test_the_key_changes_with_the_code_and_the_main_versions(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = execution_key(CELLS, library / "chapters", library)
    assert execution_key([*CELLS, "1"], library / "chapters", library) != before
    assert execution_key([CELLS[0] + "\n" + CELLS[1]], library / "chapters", library) != before
    for package in cache.MAIN_PACKAGES:
        with monkeypatch.context() as patch:
            patch.setattr(cache, "version", lambda name, changed=package: "9" if name == changed else "1")
            one = execution_key(CELLS, library / "chapters", library)
            patch.setattr(cache, "version", lambda name: "1")
            assert execution_key(CELLS, library / "chapters", library) != one


def test_naming_a_folder_of_results_names_all_its_files(library: Path) -> None:
    found = dependencies(['from pathlib import Path\nPath("../models").glob("*")'], library / "chapters", library)
    assert found == [library / "models/translator.bin"]
    assert dependencies(["model = 1"], library / "chapters", library) == []


def test_magics_and_foreign_imports_are_no_obstacle(library: Path) -> None:
    found = dependencies(["%timeit 1\nimport os, numpy\nfrom tfm_lib import masking"], library / "chapters", library)
    assert [path.name for path in found] == ["__init__.py", "masking.py"]


def test_a_chapter_of_the_book_depends_on_its_module_but_not_on_the_machinery() -> None:
    found = dependencies(
        ["from tfm_lib.masking import leak\nfrom tfm_lib.drawing import show"], ROOT / "chapters", ROOT
    )
    names = {path.relative_to(ROOT).as_posix() for path in found}
    assert {"tfm_lib/masking.py", "tfm_lib/drawing/display.py", "tfm_lib/drawing/tokens.css"} <= names
    assert "tfm_lib/cli.py" not in names
    assert not [name for name in names if name.startswith(("tfm_book/site", "tfm_book/notebooks"))]


def test_pages_are_written_again_when_entries_of_the_bibliography_move() -> None:
    domain = SimpleNamespace(citations=[SimpleNamespace(key="a", citation_id="id1")])
    env = SimpleNamespace(get_domain=lambda name: domain, found_docs={"two", "one"})
    app = SimpleNamespace(registry=SimpleNamespace(has_domain=lambda name: name == "cite"))
    assert citations.outdated(app, env) == []  # the first build writes everything in any case
    assert citations.outdated(app, env) == []
    domain.citations = [SimpleNamespace(key="new", citation_id="id1"), SimpleNamespace(key="a", citation_id="id2")]
    assert citations.outdated(app, env) == ["one", "two"]
    assert citations.outdated(app, env) == []


def test_what_no_page_depends_on_is_read_by_sphinx_neither() -> None:
    """`exclude_patterns` names more: folders that hold no page, on which pages' outputs depend."""
    patterns = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["exclude_patterns"]
    own = {name for name in NO_SOURCES if (ROOT / name).is_dir()} - {"_build", "__pycache__", "node_modules"}
    assert own <= set(patterns)
    assert {"benchmarks", "frontend", "tests"} <= own
    assert {"tfm_lib", "experiments", "models"} <= set(patterns) - NO_SOURCES


# --- the build on a tiny book --------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_build_executes_what_an_edit_concerns(toy_book) -> None:
    assert toy_book.build() == 0
    assert toy_book.executed() == ["one", "two"]
    assert "marmalade" in toy_book.page("one")

    made = {path: path.stat().st_mtime_ns for path in (toy_book.root / "_build/html").rglob("*") if path.is_file()}
    assert toy_book.build() == 0
    assert {
        path: path.stat().st_mtime_ns for path in (toy_book.root / "_build/html").rglob("*") if path.is_file()
    } == made

    toy_book.edit("chapters/one.md", "Some prose", "Other words")
    assert toy_book.build() == 0
    assert toy_book.executed() == []
    assert "Other words" in toy_book.page("one") and "marmalade" in toy_book.page("one")

    toy_book.edit("toylib/deeper.py", "marmalade", "honey")
    assert toy_book.build() == 0
    assert toy_book.executed() == ["one"]
    assert "honey" in toy_book.page("one") and "marmalade" not in toy_book.page("one")

    toy_book.edit("toylib/unused.py", "0", "1")
    assert toy_book.build() == 0
    assert toy_book.executed() == []

    toy_book.chapter("two", "import time\nprint(f'at {time.time_ns()} ns')")
    assert toy_book.build() == 0
    assert toy_book.executed() == ["two"]
    shown = re.search(r"at \d+ ns", toy_book.page("two"))
    assert toy_book.build("two", force=True) == 0
    assert toy_book.executed() == ["two"]
    assert shown[0] not in toy_book.page("two")
    assert toy_book.build(force=True) == 0
    assert toy_book.executed() == ["one", "two"]


@pytest.mark.long
def test_a_lost_page_is_built_again_and_a_removed_chapter_takes_its_page_along(toy_book) -> None:
    assert toy_book.build() == 0
    (toy_book.root / "_build/html/chapters/one.html").unlink()
    assert toy_book.build() == 0
    assert "marmalade" in toy_book.page("one")
    (toy_book.root / "chapters/two.md").unlink()
    toy_book.chapter("one", "print('alone')")
    assert toy_book.build() == 0
    assert not (toy_book.root / "_build/html/chapters/two.html").exists()


def test_a_failing_cell_is_named_and_the_other_pages_are_built(toy_book, capfd: pytest.CaptureFixture[str]) -> None:
    toy_book.chapter("bad", "x = 0", "y = 1 / x")
    for _ in range(2):  # a second look does not make it right
        assert toy_book.build() == 1
        said = capfd.readouterr().err
        assert "chapter bad, code cell 2 (`y = 1 / x`) failed" in said
        assert "ZeroDivisionError: division by zero" in said
        assert said.count("WARNING") == 1
    assert toy_book.executed() == ["bad", "bad", "one", "two"]
    assert "marmalade" in toy_book.page("one")
    assert "ZeroDivisionError" not in toy_book.page("bad")
    toy_book.edit("chapters/bad.md", "1 / x", "1 / 1")
    assert toy_book.build() == 0
    assert toy_book.executed() == ["bad"]


@pytest.mark.long
def test_a_page_with_a_fault_fails_each_build_until_it_is_mended(toy_book, capfd: pytest.CaptureFixture[str]) -> None:
    toy_book.edit("chapters/two.md", "Some prose", "See {ref}`nowhere`")
    assert toy_book.build() == 1
    assert toy_book.build() == 1
    assert capfd.readouterr().err.count("nowhere") == 2
    toy_book.edit("chapters/two.md", "See {ref}`nowhere`", "See above")
    assert toy_book.build() == 0
    assert toy_book.executed() == ["one", "two"]


@pytest.mark.release
def test_the_plain_command_of_jupyter_book_builds_the_same(toy_book) -> None:
    for expected in (["one", "two"], []):
        subprocess.run(
            ["jupyter-book", "build", "."], cwd=toy_book.root, check=True, capture_output=True, env=_environment()
        )
        assert toy_book.executed() == expected
        assert "marmalade" in toy_book.page("one")
    toy_book.edit("toylib/deeper.py", "marmalade", "honey")
    subprocess.run(
        ["jupyter-book", "build", "."], cwd=toy_book.root, check=True, capture_output=True, env=_environment()
    )
    assert toy_book.executed() == ["one"]
    assert "honey" in toy_book.page("one")


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


# --- the runner ----------------------------------------------------------------------------------------------------


def _job(name: str, folder: Path, *cells: str) -> runner.Job:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    return runner.Job(name, notebook, folder)


def _printed(run: runner.Run) -> str:
    return "".join(output.get("text", "") for cell in run.job.notebook.cells for output in cell.outputs)


@pytest.mark.long
def test_two_notebooks_run_at_once_in_kernels_of_their_own(tmp_path: Path) -> None:
    meet = (
        "import time; from pathlib import Path\nPath({mine!r}).touch()\n"
        "while not Path({other!r}).exists(): time.sleep(0.05)"
    )
    jobs = [
        _job("a", tmp_path, meet.format(mine="a", other="b"), "secret = 1"),
        _job("b", tmp_path, meet.format(mine="b", other="a"), "print('secret' in dir())"),
    ]
    runs = runner.run_notebooks(jobs, runner.Lines(2), workers=2, timeout=30)
    assert [run.failure for run in runs] == [None, None]
    assert _printed(runs[1]) == "False\n"


@pytest.mark.long
def test_executions_are_seeded_and_bind_no_name(tmp_path: Path) -> None:
    draw = (
        "import random, numpy, torch\nprint(random.random(), numpy.random.rand(), torch.rand(1).item(), hash('word'))"
    )
    first, second = runner.run_notebooks([_job("a", tmp_path, draw), _job("b", tmp_path, draw)], runner.Lines(2))
    assert _printed(first) == _printed(second) != ""
    (forgot,) = runner.run_notebooks([_job("c", tmp_path, "'torch'", "torch.rand(1)")], runner.Lines(1))
    assert forgot.failure is not None and "NameError" in forgot.failure.message


@pytest.mark.long
def test_a_cell_that_hangs_is_stopped_and_named(tmp_path: Path) -> None:
    (run,) = runner.run_notebooks(
        [_job("slow", tmp_path, "1", "import time; time.sleep(60)")], runner.Lines(1), timeout=1
    )
    assert run.failure is not None and run.failure.cell == 2
    assert "still running after 5 seconds" in run.failure.message and "run the command again" in run.failure.message


@pytest.mark.long
def test_what_a_cell_may_take_is_time_of_the_processor(tmp_path: Path, monkeypatch) -> None:
    """A machine at work for others makes each cell slow; none fails for that."""
    monkeypatch.setattr(runner, "PATIENCE", 60)  # this machine may be at work for others as well
    waits = "import time; time.sleep(2)"
    counts = "import time\nuntil = time.process_time() + 30\nwhile time.process_time() < until: pass"
    slow, endless = runner.run_notebooks(
        [_job("slow", tmp_path, waits), _job("endless", tmp_path, counts)], runner.Lines(2), timeout=1
    )
    assert slow.failure is None
    assert endless.failure is not None and "used 1 seconds of the processor" in endless.failure.message


@pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux only")
def test_kernels_are_forked_with_torch_and_end_with_the_build(tmp_path: Path) -> None:
    """Each is a process of its own, whose parent has run no chapter; none is left, nor is the one that forked them."""
    import psutil

    tell = "import os, sys; print(os.getpid(), os.getppid(), 'to' + 'rch' in sys.modules, any('tfm' in name for name in sys.modules))"
    told = [
        _printed(run).split()
        for run in runner.run_notebooks(
            [_job("a", tmp_path, tell), _job("b", tmp_path, tell), _job("c", tmp_path, tell)], runner.Lines(3)
        )
    ]
    assert len({pid for pid, *_ in told}) == 3
    assert len({parent for _, parent, *_ in told}) == 1
    assert [loaded for _, _, *loaded in told] == [["True", "False"]] * 3
    assert not any(psutil.pid_exists(int(pid)) for pid in {number for one in told for number in one[:2]})


@pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux only")
def test_without_the_process_that_forks_them_no_kernel_starts(tmp_path: Path, monkeypatch) -> None:
    from tfm_book.site import nursery

    monkeypatch.setattr(nursery, "__file__", str(tmp_path / "no-such-file.py"))
    (run,) = runner.run_notebooks([_job("none", tmp_path, "1")], runner.Lines(1))
    assert run.failure is not None and run.failure.cell == 0 and "has ended" in run.failure.message


def test_elsewhere_kernels_are_started_one_by_one(tmp_path: Path, monkeypatch) -> None:
    from tfm_book.site import nursery

    monkeypatch.setattr(nursery.sys, "platform", "darwin")
    (run,) = runner.run_notebooks(
        [_job("alone", tmp_path, "import sys; print('to' + 'rch' in sys.modules)")], runner.Lines(1)
    )
    assert run.failure is None and _printed(run) == "False\n"


def test_garbage_is_searched_for_as_before_when_the_build_ends() -> None:
    import gc

    from tfm_book.site.build import rarely_collected

    before = gc.get_threshold()
    with rarely_collected():
        assert gc.get_threshold()[0] > before[0]
    assert gc.get_threshold() == before


@pytest.mark.long
def test_a_kernel_that_dies_is_said_to_have_died(tmp_path: Path) -> None:
    (run,) = runner.run_notebooks([_job("dead", tmp_path, "import os; os._exit(1)")], runner.Lines(1))
    assert run.failure is not None and "kernel died" in run.failure.message


def test_a_lost_wake_up_costs_a_quarter_of_a_second_and_not_the_timeout() -> None:
    """A socket whose message is there, and whose `poll` tells so only from the second call on."""
    from tfm_book.site.polling_client import PatientChannel, PatientClient

    class Socket:
        polls: ClassVar[list[int]] = []

        async def poll(self, milliseconds: int) -> bool:
            assert milliseconds <= 250
            self.polls.append(milliseconds)
            return len(self.polls) > 1

    class Channel(PatientChannel):
        def __init__(self) -> None:
            self.socket = Socket()

        def __del__(self) -> None:
            pass

        async def _recv(self) -> dict:
            return {"came": True}

    assert asyncio.run(Channel().get_msg(timeout=60)) == {"came": True}
    assert len(Socket.polls) == 2
    Socket.polls = []
    assert asyncio.run(Channel().get_msg(timeout=None)) == {"came": True}
    Socket.polls = []
    with pytest.raises(Empty):
        asyncio.run(Channel().get_msg(timeout=0))
    assert PatientClient().iopub_channel_class is PatientClient().shell_channel_class is PatientChannel


@pytest.mark.long
def test_kernels_are_heard_by_patient_clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tfm_book.site import polling_client

    waits = []

    async def get_msg(self, timeout=None):
        waits.append(timeout)
        return await plain(self, timeout)

    plain = polling_client.PatientChannel.get_msg
    monkeypatch.setattr(polling_client.PatientChannel, "get_msg", get_msg)
    (run,) = runner.run_notebooks([_job("heard", tmp_path, "print(1)")], runner.Lines(1))
    assert run.failure is None
    assert waits


# --- the book itself -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", pages(ROOT))
def test_every_page_of_the_contents_is_built_and_says_what_its_source_says(built_book: Path, page: str) -> None:
    html = (built_book / f"{page}.html").read_text(encoding="utf-8")
    source = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    text = re.sub(r"<[^>]+>", "", html)
    for heading in re.findall(r"(?m)^#{1,2} ([\w ’,?]+)$", re.sub(r"(?s)```.*?```", "", source)):
        assert heading.strip() in text
    assert "Traceback (most recent call last)" not in text
    assert source.count("{code-cell}") == 0 or "cell_output" in html


def test_the_first_page_is_found_by_opening_the_index(built_book: Path) -> None:
    assert "chapters/intro.html" in (built_book / "index.html").read_text(encoding="utf-8")


def test_a_page_is_made_again_for_a_package_that_makes_it_and_for_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", [*sys.path, str(tmp_path / "site-packages")])
    asks = {
        "tfm_lib-1": ["one>=1", 'the-two[fast]; extra == "book"', 'pytest; extra == "dev"'],
        "one-1.0": [],
        "The_Two-2.0": ['three; extra == "fast"', 'four; extra == "slow"', "absent"],
        "three-3.0": ["the-two"],
        "four-4.0": [],
        "pytest-9.0": [],
    }
    for name, needs in asks.items():
        folder = tmp_path / "site-packages" / f"{name}.dist-info"
        folder.mkdir(parents=True)
        about = "".join(f"Requires-Dist: {need}\n" for need in needs)
        (folder / "METADATA").write_text(f"Name: x\n{about}\nRequires-Dist: four\n", encoding="utf-8")
    found = _packages.__wrapped__().replace(".dist-info", "").split()
    assert found == ["The_Two-2.0", "one-1.0", "three-3.0"]

"""The `tfm` command as a user meets it: what it writes, and the sentence it says when something is amiss."""

from __future__ import annotations

import errno
import json
import os
import re
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import nbformat
import pytest
from tiers import params

from tfm_book import browser
from tfm_book.notebooks.working_copy import update
from tfm_lib import __version__, cli

ROOT = Path(__file__).parents[2]


def tfm(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the command and gives its exit code and words, on one line each."""
    return subprocess.run(
        [sys.executable, "-m", "tfm_lib.cli", *arguments],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1", **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_help_lists_the_commands() -> None:
    said = tfm("--help").stdout
    commands = "build serve paper slides lab bank bench train translate assign collect grade report gradescope"
    assert all(f" {name} " in said for name in commands.split())
    assert "--install-completion" in said and tfm("--version").stdout.strip() == __version__


SHELLS = {
    "bash": lambda line: {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)},
    "zsh": lambda line: {"_TYPER_COMPLETE_ARGS": line},
    "fish": lambda line: {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "offered", "not_offered"),
    [
        ("tfm gra", "grade", "build"),
        ("tfm assign mas", "masking", "attention"),
        ("tfm assign masking --exercise masking.t", "masking.triangle", "masking.leak-test"),
        ("tfm mine show layers.e", "layers.encoder-layer", "layers.decoder-layer"),
        ("tfm train --corpus tatoeba-en-f", "tatoeba-en-fr", "tatoeba-en-ko"),
        ("tfm bench pl", "playground", "pages"),
    ],
)
def test_the_tab_key_completes_commands_and_what_they_take(
    shell: str, line: str, offered: str, not_offered: str
) -> None:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("tfm"))],
        env={**os.environ, "_TFM_COMPLETE": f"complete_{shell}", **SHELLS[shell](line)},
        capture_output=True,
        text=True,
    )
    assert offered in done.stdout and not_offered not in done.stdout, done.stderr


def test_what_is_completed_is_what_there_is() -> None:
    from benchmarks.__main__ import PARTS
    from tfm_exercises.judge import find
    from tfm_lib import _completion
    from tfm_lib.corpora import _CORPORA
    from tfm_lib.engine.presets import PRESETS

    assert set(_completion.MEASURED) == set(PARTS) and set(_completion.PRESETS) == set(PRESETS)
    assert set(_completion.CORPORA) <= set(_CORPORA)
    assert len(_completion.exercises("")) > 80 and all(find(id) for id in _completion.exercises(""))


# --- build ---------------------------------------------------------------------------------------------------------


def test_an_unknown_chapter_is_answered_with_those_of_a_like_name() -> None:
    run = tfm("build", "maskin")
    assert run.returncode == 1
    assert run.stderr.strip() == "There is no chapter maskin. Did you mean masking?"
    assert "There are intro, before, " in tfm("build", "zzzz").stderr


@pytest.mark.long
def test_build_says_where_the_book_is_and_which_cell_failed(toy_book) -> None:
    run = tfm("build", cwd=toy_book.root)
    assert run.returncode == 0, run.stderr
    assert re.fullmatch(r"The book is built \([\d.]+ s\): _build/html/index.html\n", run.stdout)
    assert re.search(r"executed one in [\d.]+ s \(\d/2\)", run.stderr)
    assert tfm("build", "chapters/two.md", "--force", cwd=toy_book.root).returncode == 0
    toy_book.chapter("bad", "x = 0", "1 / x")
    run = tfm("build", cwd=toy_book.root)
    assert run.returncode == 1
    assert "chapter bad, code cell 2 (`1 / x`) failed" in run.stderr
    assert "Pages without a fault are built." in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (errno.ENOSPC, "The disk is full (writing /book/_build/html/x.html)"),
        (
            errno.EACCES,
            "/book/_build/html/x.html cannot be opened or written: Permission denied. Run the command in a folder of",
        ),
        (
            errno.EROFS,
            "/book/_build/html/x.html cannot be opened or written: Read-only file system. Run the command in a folder of",
        ),
    ],
)
def test_a_place_that_cannot_be_written_is_told_in_a_sentence(
    fault: int, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tfm_book.site import build

    def fails(*_: object) -> int:
        try:
            raise OSError(fault, os.strerror(fault), "/book/_build/html/x.html")
        except OSError as error:
            raise RuntimeError("while writing") from error

    monkeypatch.setattr(build, "build", fails)
    monkeypatch.setattr(sys, "argv", ["tfm", "build"])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 1
    assert told in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize(
    "words",
    params(
        [("lab", "--no-start", "--to", "afile"), ("assign", "masking", "--to", "afile")], [], lambda words: words[0]
    ),
)
def test_a_file_where_a_folder_is_asked_for_is_told_in_a_sentence(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "afile").touch()
    done = tfm(*words, cwd=tmp_path)
    assert done.returncode == 1 and "afile" in done.stderr and "Name another file or folder." in done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_of_the_system_without_a_file_is_told_in_a_sentence(monkeypatch, capsys) -> None:
    def fails() -> int:
        raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))

    monkeypatch.setattr(cli, "app", fails)
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    told = capsys.readouterr().err
    assert os.strerror(errno.ECONNRESET) in told and "Run it again." in told


# --- serve ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def built_toy(toy_book) -> Path:
    toy_book.write("_build/html/index.html", "<title>Toy</title>")
    return toy_book.root


def test_serve_shows_the_book_and_a_second_one_is_told_of_a_free_port(built_toy: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tfm_lib.cli", "serve", "--port", str(port)]
    with subprocess.Popen(command, cwd=built_toy, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert f"http://localhost:{port}" in server.stdout.readline()
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
                assert b"Toy" in answer.read()
            second = tfm("serve", "--port", str(port), cwd=built_toy)
            assert second.returncode == 1
            free = re.fullmatch(
                rf"Port {port} is taken by another program. Take a free one: tfm serve --port (\d+)\n", second.stderr
            )
            assert free and int(free[1]) != port
        finally:
            server.terminate()


def test_serve_without_a_book_says_to_build_it(toy_book) -> None:
    run = tfm("serve", cwd=toy_book.root)
    assert (run.returncode, run.stderr) == (1, "The book is not built yet. Build it first: tfm build\n")


# --- lab -----------------------------------------------------------------------------------------------------------


def _notebook(text: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])


def _texts(folder: Path) -> dict[str, str]:
    return {path.name: nbformat.read(path, 4).cells[0].source for path in sorted(folder.glob("*.ipynb"))}


def _update(chapters: list[Path], work: Path, export):
    return update(chapters, work, export, export)


def test_the_working_copy_takes_nothing_from_its_reader(tmp_path: Path) -> None:
    chapters, work = [Path("one.md"), Path("two.md")], tmp_path / "work"

    def write(text: str):
        return _update(chapters, work, lambda chapter: _notebook(f"{chapter.stem} {text}"))

    assert write("v1").written == ["one.ipynb", "two.ipynb"]
    made = {path: path.stat().st_mtime_ns for path in work.iterdir() if path.suffix == ".ipynb"}
    assert write("v1").kept == ["one.ipynb", "two.ipynb"]
    assert {path: path.stat().st_mtime_ns for path in work.iterdir() if path.suffix == ".ipynb"} == made

    nbformat.write(_notebook("my own"), work / "one.ipynb")
    (work / "mine.ipynb").write_text(nbformat.writes(_notebook("also mine")))
    for _ in range(2):
        assert write("v1").kept == ["one.ipynb", "two.ipynb"]
    assert _texts(work) == {"mine.ipynb": "also mine", "one.ipynb": "my own", "two.ipynb": "two v1"}

    report = write("v2")
    assert report.written == ["two.ipynb"] and report.beside == [("one.ipynb", "one-new-version.ipynb")]
    assert write("v2").beside == []  # said once
    assert _texts(work)["one.ipynb"] == "my own" and _texts(work)["one-new-version.ipynb"] == "one v2"

    nbformat.write(_notebook("mine again"), work / "one-new-version.ipynb")
    assert write("v3").beside == [("one.ipynb", "one-new-version-2.ipynb")]
    assert write("v4").beside == [("one.ipynb", "one-new-version-2.ipynb")]  # untouched, so it may be replaced
    assert _texts(work) == {
        "mine.ipynb": "also mine",
        "one.ipynb": "my own",
        "one-new-version.ipynb": "mine again",
        "one-new-version-2.ipynb": "one v4",
        "two.ipynb": "two v4",
    }


def test_a_working_copy_without_its_records_is_the_readers(tmp_path: Path) -> None:
    nbformat.write(_notebook("from somewhere"), tmp_path / "one.ipynb")
    report = _update([Path("one.md")], tmp_path, lambda _: _notebook("v1"))
    assert report.beside == [("one.ipynb", "one-new-version.ipynb")]
    assert _texts(tmp_path)["one.ipynb"] == "from somewhere"


def test_another_timing_in_the_prose_is_not_another_version(tmp_path: Path) -> None:
    def write(text: str, seconds: float):
        return update([Path("one.md")], tmp_path, lambda _: _notebook(f"{text} {seconds}"), lambda _: _notebook(text))

    write("v1", 0.1)
    assert write("v1", 0.2).kept == ["one.ipynb"] and _texts(tmp_path) == {"one.ipynb": "v1 0.1"}
    nbformat.write(_notebook("mine"), tmp_path / "one.ipynb")
    assert write("v1", 0.3).kept == ["one.ipynb"]
    assert write("v2", 0.3).beside == [("one.ipynb", "one-new-version.ipynb")]
    assert write("v2", 0.4).kept == ["one.ipynb"]


def test_a_notebook_that_was_only_run_is_not_the_readers(tmp_path: Path) -> None:
    def cell() -> nbformat.NotebookNode:
        return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")])

    _update([Path("one.md")], tmp_path, lambda _: cell())
    ran = nbformat.read(tmp_path / "one.ipynb", 4)
    ran.cells[0].update(execution_count=3, outputs=[nbformat.v4.new_output("stream", text="2")], id="other")
    nbformat.write(ran, tmp_path / "one.ipynb")
    assert _update([Path("one.md")], tmp_path, lambda _: cell()).kept == ["one.ipynb"]
    assert nbformat.read(tmp_path / "one.ipynb", 4).cells[0].outputs, "what it showed stays with it"
    assert _update([Path("one.md")], tmp_path, lambda _: _notebook("v2")).written == ["one.ipynb"]


def test_a_file_that_is_no_notebook_stays(tmp_path: Path) -> None:
    (tmp_path / "one.ipynb").write_text("not JSON")
    report = _update([Path("one.md")], tmp_path, lambda _: _notebook("v1"))
    assert report.beside == [("one.ipynb", "one-new-version.ipynb")]
    assert (tmp_path / "one.ipynb").read_text() == "not JSON"


@pytest.mark.long
def test_lab_writes_the_chapters_twice_and_loses_nothing(built_book: Path, tmp_path: Path) -> None:
    run = tfm("lab", "--to", str(tmp_path), "--no-start")
    assert run.returncode == 0, run.stderr
    names = {path.name for path in tmp_path.glob("*.ipynb")}
    assert {"attention.ipynb", "masking.ipynb", "self_attention.ipynb"} <= names
    assert "](self_attention.ipynb)" in (tmp_path / "intro.ipynb").read_text(), "titles lead to their notebooks"
    assert "](glossary.ipynb)" not in (tmp_path / "intro.ipynb").read_text(), "which has no notebook"
    notebook = json.loads((tmp_path / "masking.ipynb").read_text())
    notebook["cells"][0]["source"] = "my note"
    (tmp_path / "masking.ipynb").write_text(json.dumps(notebook))
    run = tfm("lab", "--to", str(tmp_path), "--no-start")
    assert run.returncode == 0 and run.stdout.startswith("0 notebooks written")
    assert json.loads((tmp_path / "masking.ipynb").read_text())["cells"][0]["source"] == "my note"
    assert {path.name for path in tmp_path.glob("*.ipynb")} == names


# --- browser -------------------------------------------------------------------------------------------------------


def test_a_missing_browser_is_told_with_what_helps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    monkeypatch.setattr(browser, "APPLICATIONS", ())
    monkeypatch.delenv("CHROMIUM", raising=False)
    with pytest.raises(browser.MissingBrowser, match="apt install chromium.*CHROMIUM=/path/to/chromium"):
        browser.find_browser()
    fetched = tmp_path / "chromium-1234" / "chrome-linux" / "chrome"
    fetched.parent.mkdir(parents=True)
    fetched.touch(mode=0o755)
    assert browser.find_browser() == fetched
    monkeypatch.setenv("CHROMIUM", "/nowhere/chromium")
    with pytest.raises(browser.MissingBrowser, match="CHROMIUM names /nowhere/chromium"):
        browser.find_browser()


@pytest.mark.long
def test_bench_says_that_a_browser_is_missing() -> None:
    run = tfm("bench", "input", CHROMIUM="/nowhere/chromium")
    assert run.returncode == 1
    assert "CHROMIUM names /nowhere/chromium" in run.stderr and "Traceback" not in run.stderr

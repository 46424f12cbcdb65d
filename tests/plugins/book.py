"""The book as the tests see it: built once a session. The browser that looks at it is in tests/browser."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


CHAPTER = """\
---
file_format: mystnb
kernelspec:
  name: python3
---
# {title}

Some prose.

```{{code-cell}}
{code}
```
"""


class ToyBook:
    """A book of small chapters with a library of its own, and a log of what was executed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root.with_suffix(".log")
        self.write("_config.yml", TOY_CONFIG)
        self.write("toylib/__init__.py", "")
        self.write("toylib/words.py", "from toylib import deeper\n\n\ndef word():\n    return deeper.WORD\n")
        self.write("toylib/deeper.py", "WORD = 'marmalade'\n")
        self.write("toylib/unused.py", "NOTHING = 0\n")
        self.write("chapters/intro.md", "# Intro\n\nNothing to execute.\n")
        self.chapter("one", "from toylib.words import word\nprint(word())")
        self.chapter("two", "print(1 + 1)")

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def chapter(self, name: str, *cells: str) -> None:
        """A chapter of code `cells` that notes in the log that it ran; the table of contents names it."""
        first = f"open({str(self.log)!r}, 'a').write({name!r} + '\\n')\n{cells[0]}"
        code = "\n```\n\n```{code-cell}\n".join([first, *cells[1:]])
        self.write(f"chapters/{name}.md", CHAPTER.format(title=name.title(), code=code))
        names = sorted(path.stem for path in (self.root / "chapters").glob("*.md") if path.stem != "intro")
        files = "".join(f"- file: chapters/{stem}\n" for stem in names)
        self.write("_toc.yml", f"format: jb-book\nroot: chapters/intro\nchapters:\n{files}")

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.root / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    def build(self, *chapters: str, force: bool = False) -> int:
        from tfm_book.site.build import build

        return build(self.root, chapters=chapters, force=force)

    def executed(self) -> list[str]:
        """The chapters executed since the last look, sorted."""
        names = sorted(self.log.read_text().split()) if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return names

    def page(self, name: str) -> str:
        return (self.root / f"_build/html/chapters/{name}.html").read_text(encoding="utf-8")


TOY_CONFIG = """\
title: Toy
author: nobody
copyright: "2026"
execute: {execute_notebooks: cache, timeout: 60}
repository: {url: ""}
exclude_patterns: [toylib]
sphinx: {extra_extensions: [tfm_book.site.cache]}
"""


@pytest.fixture
def toy_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToyBook:
    """A tiny book of three pages, two of them executed; its library is importable in the kernels."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "toy"))
    return ToyBook(tmp_path / "toy")


LOOPBACK = "ip link set lo up"
FROM_NOTHING = (
    ".tests-from-nothing"  # beside the pages: who built them from nothing without a network, and what it said
)


@cache
def without_network() -> tuple[str, ...]:
    """What runs a shell line without a network, as root or in a user namespace of one's own; nothing where neither goes."""
    if shutil.which("unshare") and shutil.which("ip"):
        for command in (("unshare", "-n", "sh", "-c"), ("unshare", "-r", "-n", "sh", "-c")):
            if subprocess.run([*command, LOOPBACK], capture_output=True).returncode == 0:
                return command
    return ()


def this_run() -> str:
    """The workers of one session have the same; another session has another."""
    return os.environ.get("PYTEST_XDIST_TESTRUNUID", f"process {os.getpid()}")


@pytest.fixture(scope="session")
def built_book() -> Path:
    """The folder of the built pages; a book that does not build fails every test that needs it.

    `_build/html`, or that of the folder `TFM_BUILT`, where `make old` and `make new` have built theirs. Where nothing
    has been built yet, it is built without a network: tests/book/test_network_cut.py need not build it a second time.
    """
    from filelock import FileLock

    out = ROOT / os.environ.get("TFM_BUILT", "_build")
    out.mkdir(exist_ok=True)
    with FileLock(out / ".tests.lock"):  # the workers of one session share one build
        done = out / ".tests-built"
        if done.is_file() and done.read_text(encoding="utf-8") == this_run():
            return out / "html"
        command = [sys.executable, "-m", "tfm_lib.cli", "build", "--out", str(out)]
        cut = not (out / "html").exists() and without_network()
        if cut:
            command = [*cut, f"{LOOPBACK} && {shlex.join(command)}"]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if cut and run.returncode == 0:
            (out / FROM_NOTHING).write_text(f"{this_run()}\n{run.stderr}", encoding="utf-8")
        if run.returncode == 0:
            done.write_text(this_run(), encoding="utf-8")
    if run.returncode != 0:
        pytest.fail(f"the book does not build:\n{run.stdout[-2000:]}\n{run.stderr[-4000:]}", pytrace=False)
    return out / "html"


@pytest.fixture(scope="session")
def unpacked_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library as a reader has it who installed the wheel and nothing else of ours."""
    from hatchling.builders.wheel import WheelBuilder

    folder = tmp_path_factory.mktemp("wheel")
    wheel = next(WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"]))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"

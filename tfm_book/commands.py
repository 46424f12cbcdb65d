"""Commands `tfm build`, `read`, `serve`, `paper`, `slides`, `lab`, `bank` and `bench`: what is made of the book, and how fast."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tfm_lib import _completion, _extras
from tfm_lib._refusal import Refusal

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False, soft_wrap=True)


def build(
    chapters: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CHAPTER]...",
            help="Execute these only, as `masking`; all if none.",
            autocompletion=_completion.chapters,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Execute and build again although nothing changed.")] = False,
    out: Annotated[Path | None, typer.Option(help="Build into this folder instead of _build.")] = None,
) -> None:
    """Execute what is stale and build the book into _build/html."""
    import time

    from tfm_book.notebooks.contents import find_root

    root, began = find_root(), time.monotonic()
    from tfm_book.site.build import build as build_book  # may ask for packages, for which there must be a book

    with _sigterm_as_ctrl_c():
        code = build_book(root, out and out.resolve(), chapters or [], force)
    page = (out or root / "_build") / "html" / "index.html"
    if code == 0:
        console.print(f"The book is built ({time.monotonic() - began:.1f} s): {_relative(page)}", soft_wrap=True)
    else:
        errors.print("[red]The book has faults:[/] see above. Pages without a fault are built.")
    raise typer.Exit(code)


@contextlib.contextmanager
def _sigterm_as_ctrl_c() -> Iterator[None]:
    """Within the block, SIGTERM, which `make` passes on when it is told to end, raises KeyboardInterrupt too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def serve(
    port: Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)] = 8000,
) -> None:
    """Show the built book at http://localhost:PORT, to this machine only."""
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    from tfm_book.notebooks.contents import find_root

    html = find_root() / "_build" / "html"
    if not (html / "index.html").is_file():
        raise Refusal("The book is not built yet. Build it first: tfm build")

    class Handler(SimpleHTTPRequestHandler):
        def end_headers(self) -> None:
            self.send_header("Cache-Control", "no-cache")  # the browser asks again, so it shows a rebuilt page
            super().end_headers()

        def log_request(self, code: object = "-", size: object = "-") -> None:
            pass

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), partial(Handler, directory=str(html)))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Refusal(
                f"Port {port} is taken by another program. Take a free one: tfm serve --port {_free_port(port)}"
            ) from None
        if error.errno == errno.EACCES:
            raise Refusal(f"Port {port} is not open to you. Take one above 1023: tfm serve --port 8000") from None
        raise
    with server:
        console.print(f"The book is at http://localhost:{port} (stop with Ctrl-C).")
        sys.stdout.flush()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            console.print()


def paper(
    to: Annotated[Path | None, typer.Option(help="The PDF to write; _build/book.pdf if none.")] = None,
) -> None:
    """Print the built book into one PDF, with an outline and links that lead to its own pages."""
    import time

    from tfm_book.notebooks.contents import book_title, find_root, pages, parts

    root, began = find_root(), time.monotonic()
    from tfm_book.paper import print_book

    html, names = root / "_build" / "html", pages(root)
    absent = [name for name in names if not (html / f"{name}.html").is_file()]
    if absent:
        raise Refusal(f"{len(absent)} of {len(names)} pages are not built yet. Build the book first: tfm build")
    target = (to or root / "_build" / "book.pdf").resolve()
    if not target.parent.is_dir():
        raise Refusal(f"There is no folder {target.parent} to write {target.name} into. Make it, or name another: --to")
    done = iter(range(1, len(names) + 1))

    def tell(name: str, sheets: int) -> None:
        console.print(f"  printed {name.rpartition('/')[2]}: {sheets} sheets ({next(done)}/{len(names)})")

    sheets = print_book(html, parts(root), target, book_title(root), tell)
    took = time.monotonic() - began
    console.print(f"The book is printed ({took:.0f} s): {_relative(target)}, {sheets} sheets", soft_wrap=True)


def slides(
    chapters: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CHAPTER]...",
            help="Make slides of these only, as `masking`; of all if none.",
            autocompletion=_completion.chapters,
        ),
    ] = None,
    to: Annotated[Path | None, typer.Option(help="The folder to write into; _build/slides if none.")] = None,
) -> None:
    """Make slides of the built chapters, with their figures, formulas, questions and live widgets, to show offline."""
    from tfm_book.notebooks.contents import book_title, find_root, pages, pages_named

    root = find_root()
    from tfm_book.slides import write_decks

    html, wanted = root / "_build" / "html", pages_named(chapters or [], root)
    names = [name for name in pages(root) if (name in wanted if wanted else _has_code(root / f"{name}.md"))]
    if not all((html / f"{name}.html").is_file() for name in names):
        raise Refusal("The book is not built yet. Build it first: tfm build")
    folder = (to or root / "_build" / "slides").resolve()

    def tell(file: str, count: int) -> None:
        console.print(f"  {file}: {count} slides")

    try:
        decks = write_decks(html, names, folder, book_title(root), tell)
    except (FileExistsError, NotADirectoryError):
        raise Refusal(f"{folder} is not a folder. Name another one: --to FOLDER") from None
    except PermissionError:
        raise Refusal(f"{folder} cannot be written. Write into a folder of your own: --to FOLDER") from None
    if not decks:
        raise Refusal("There is nothing to show on these pages. Name a chapter, or none to make slides of them all.")
    console.print(
        f"Slides of {len(decks)} chapter{'' if len(decks) == 1 else 's'}: {_relative(folder / 'index.html')}",
        soft_wrap=True,
    )


def lab(
    to: Annotated[
        Path | None, typer.Option(help="The folder of the working copy; work/ beside the chapters if none.")
    ] = None,
    start: Annotated[
        bool, typer.Option("--start/--no-start", help="Open JupyterLab, or write the notebooks only.")
    ] = True,
) -> None:
    """Open the chapters as notebooks in JupyterLab. They are yours: what you changed is never overwritten."""
    from importlib.util import find_spec

    from tfm_book.notebooks.contents import find_root

    if start and find_spec("jupyterlab") is None:
        raise Refusal(f"JupyterLab is not installed: {_extras.command('lab')}")
    root = find_root()
    folder, first = _working_copy(root, to, "lab")
    if start:
        sys.stdout.flush()
        options = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        command = [sys.executable, "-m", "jupyterlab", *first[:1], f"--ServerApp.root_dir={folder}", *options]
        from tfm_book.notebooks.working_copy import lab_settings

        try:
            raise typer.Exit(subprocess.call(command, cwd=folder, env={**os.environ, **lab_settings()}))
        except KeyboardInterrupt:
            pass


def read(
    pages: Annotated[
        Path | None,
        typer.Argument(metavar="[PAGES.zip]", help="The pages of a release, where there is no checkout of the book."),
    ] = None,
    to: Annotated[
        Path | None, typer.Option(help="The folder of the working copy; work/ beside the chapters if none.")
    ] = None,
    port: Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)] = 8010,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page where you were last.")] = True,
) -> None:
    """Read the built book and write your answers in its pages: a Jupyter server of your own checks them."""
    try:
        from tfm_book.reading import serve
    except ModuleNotFoundError as error:
        raise _extras.absent(error, "lab") from None
    if pages:
        html, folder = _release(pages, (to or Path("tfm-book")).resolve())
    else:
        from tfm_book.notebooks.contents import find_root

        root = find_root()
        html = root / "_build" / "html"
        if not (html / "index.html").is_file():
            raise Refusal("The book is not built yet. Build it first: tfm build")
        folder, _ = _working_copy(root, to, "read")

    def tell(url: str) -> None:
        console.print(f"The book is at {url} (stop with Ctrl-C).", soft_wrap=True)
        sys.stdout.flush()

    serve(html, folder, port, browser, tell)


def _release(pages: Path, folder: Path) -> tuple[Path, Path]:
    """Unpack the `pages` of a release into `folder`, with the notebooks that are not there yet; return both folders."""
    if not zipfile.is_zipfile(pages):
        raise Refusal(f"{pages} is not a zip archive. Each release of the book has its pages as one: pages.zip")
    html = folder / "pages"
    with zipfile.ZipFile(pages) as packed:
        if "index.html" not in packed.namelist():
            raise Refusal(f"{pages} does not hold the book's pages: it has no index.html.")
        packed.extractall(html)
    notebooks = [each for each in sorted((html / "_downloads").glob("*.ipynb")) if not (folder / each.name).exists()]
    for each in notebooks:
        shutil.copyfile(each, folder / each.name)
    console.print(f"{len(notebooks)} notebooks written: {_relative(folder)}", soft_wrap=True)
    return html, folder


def _working_copy(root: Path, to: Path | None, command: str) -> tuple[Path, list[str]]:
    """Write the chapters' notebooks into `to`, or work/, as far as they are not the reader's own; also return their paths."""
    from tfm_book.notebooks.contents import pages
    from tfm_book.notebooks.export import export_notebook
    from tfm_book.notebooks.working_copy import update

    folder = (to or root / "work").resolve()
    sources = [root / f"{page}.md" for page in pages(root)]
    chapters = [path for path in sources if path.is_file() and "{code-cell}" in path.read_text(encoding="utf-8")]
    try:
        report = update(
            chapters,
            folder,
            lambda chapter: export_notebook(chapter, root, beside=True),
            lambda chapter: export_notebook(chapter, root, values={}, beside=True),
        )
    except PermissionError as error:
        raise Refusal(
            f"{error.filename or folder} cannot be written. Put the notebooks into a folder of your own: "
            f"tfm {command} --to FOLDER"
        ) from None
    console.print(
        f"{len(report.written)} notebooks written, {len(report.kept)} left as they were: {_relative(folder)}",
        soft_wrap=True,
    )
    for yours, new in report.beside:
        console.print(
            f"  You have changed {yours}: it stays yours. The chapter's new version is {new}.", soft_wrap=True
        )
    return folder, [str(folder / f"{chapter.stem}.ipynb") for chapter in chapters]


class BankFormat(StrEnum):
    """The formats of question banks."""

    moodle = "moodle"
    qti = "qti"


def bank(
    to: Annotated[Path, typer.Option(help="The folder to write into.")],
    chapters: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CHAPTER]...",
            help="Export these only, as `masking`; all if none.",
            autocompletion=_completion.chapters,
        ),
    ] = None,
    format: Annotated[BankFormat | None, typer.Option(help="Write this format only; both if none.")] = None,
) -> None:
    """Export the questions of the chapters' pages as question banks, for Moodle and for systems that read QTI 2.1."""
    from tfm_book.notebooks.banks.items import chapter_items
    from tfm_book.notebooks.banks.moodle import moodle_xml
    from tfm_book.notebooks.banks.qti import qti_package
    from tfm_book.notebooks.contents import book_title, find_root, pages, pages_named

    root = find_root()
    wanted = set(pages_named(chapters or [], root))
    address = _published(root)
    found = [chapter_items(root / f"{page}.md", root, address) for page in pages(root) if not wanted or page in wanted]
    if silent := [chapter.stem for chapter in found if wanted and not chapter.items]:
        raise Refusal(
            f"The page of {silent[0]} asks no questions. Name a chapter that does, or none to export them all."
        )
    found = [chapter for chapter in found if chapter.items]
    files = {
        BankFormat.moodle: ("questions-moodle.xml", moodle_xml),
        BankFormat.qti: ("questions-qti.zip", qti_package),
    }
    folder = to.resolve()
    count = sum(len(chapter.items) for chapter in found)
    for name, write in (files[each] for each in BankFormat if format in (None, each)):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(write(found, book_title(root)))
        except (FileExistsError, NotADirectoryError):
            raise Refusal(f"{folder} is not a folder. Name another one: --to FOLDER") from None
        except PermissionError:
            raise Refusal(f"{folder / name} cannot be written. Export into a folder of your own: --to FOLDER") from None
        console.print(
            f"{count} questions of {len(found)} chapter{'' if len(found) == 1 else 's'}: {_relative(folder / name)}",
            soft_wrap=True,
        )


def bench(
    only: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WHAT]...",
            autocompletion=_completion.one_of(_completion.MEASURED),
            help=f"Some of: {', '.join(_completion.MEASURED)}.",
        ),
    ] = None,
) -> None:
    """Measure page weight, build times, import time and latency, each beside its bar; exit code 1 if one is broken."""
    from tfm_book.notebooks.contents import find_root

    root = find_root()
    if not (root / "benchmarks" / "__main__.py").is_file():
        raise Refusal(
            f"There are no benchmarks in {root}: they are part of the book's sources, not of the installed library."
        )
    raise typer.Exit(subprocess.call([sys.executable, "-m", "benchmarks", *(only or [])], cwd=root))


def register(app: typer.Typer) -> None:
    for command in (build, read, serve, paper, slides, lab, bank, bench):
        app.command()(command)


def _has_code(source: Path) -> bool:
    return source.is_file() and "{code-cell}" in source.read_text(encoding="utf-8")


def _published(root: Path) -> str:
    """Return the address of the published book; empty if `_config.yml` names no repository."""
    import yaml

    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8")).get("repository") or {}
    if not config.get("url"):
        return ""
    from tfm_book.site.doors import Repository

    return Repository(str(config["url"]).rstrip("/")).pages


def _free_port(taken: int) -> int:
    import socket

    for port in [*range(taken + 1, min(taken + 50, 65536)), 0]:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return probe.getsockname()[1]
    raise AssertionError("port 0 is always free")


def _relative(path: Path) -> str:
    return os.path.relpath(path) if Path.cwd() in path.resolve().parents else str(path)

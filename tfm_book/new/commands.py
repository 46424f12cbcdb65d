"""`tfm new chapter`, `widget`, `exercise`, `experiment`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tfm_lib._refusal import Refusal

app = typer.Typer(
    help="Write the files of a new chapter, widget, exercise or experiment, for you to fill in (see CONTRIBUTING.md).",
    no_args_is_help=True,
)
console = Console(highlight=False, soft_wrap=True)

Within = Annotated[str, typer.Argument(metavar="CHAPTER/NAME", help="As `masking/triangle`.")]


@app.command()
def chapter(
    name: Annotated[str, typer.Argument(help="The name of its files, as `soft_cap`.")],
    after: Annotated[str, typer.Option(help="The chapter behind which it stands in the reading order.")],
    call: Annotated[
        str | None, typer.Option(help="A call of its function, as “soft_cap(X, cap)”: a tensor first.")
    ] = None,
) -> None:
    """A chapter with a function of the core, its test, and its place in the table of contents."""
    from tfm_book.new import making

    _say(making.chapter(_checkout(), name, call or f"{name}(X)", after))


@app.command()
def exercise(
    name: Within,
    call: Annotated[str, typer.Option(help="A call of the function asked for, as “soft_cap(X, cap)”.")],
) -> None:
    """An exercise at the end of a chapter, its judge, and its bank of right and wrong answers."""
    from tfm_book.new import making

    _say(making.exercise(_checkout(), *_within(name), call))


@app.command()
def widget(
    name: Within,
    question: Annotated[str, typer.Option(help="The question that moving it answers; it stands on its card.")],
) -> None:
    """A widget that draws the chapter's function as a curve: its JavaScript, its Python side, its samples and numbers."""
    from tfm_book.new import making

    _say(making.widget(_checkout(), *_within(name), question))


@app.command()
def experiment(name: Annotated[str, typer.Argument(help="The name of its file, as `masking_leaks`.")]) -> None:
    """A run whose numbers a chapter can quote."""
    from tfm_book.new import making

    _say(making.experiment(_checkout(), name))


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="new")


def _within(name: str) -> tuple[str, str]:
    stem, slash, own = name.partition("/")
    if not slash:
        raise Refusal(f"{name!r} names no chapter: write it as CHAPTER/NAME, as masking/triangle.")
    return stem, own


def _checkout() -> Path:
    from tfm_book.notebooks.contents import find_root

    root = find_root()
    if not (root / "tests" / "conftest.py").is_file():
        raise Refusal(f"{root} is no checkout of the book's repository: the files would find no tests there.")
    return root


def _say(paths: list[Path]) -> None:
    root = _checkout()
    for path in paths:
        marks = path.read_text(encoding="utf-8").count("✎")
        console.print(f"{path.relative_to(root).as_posix()}{f'  ({marks} × ✎ to write)' if marks else ''}")
    console.print("What is left to write says so where it stands, after ✎; CONTRIBUTING.md has the steps.")

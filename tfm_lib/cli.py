"""The `tfm` command: build the book, show it, answer in it, print it, work in it, measure it; train, translate, load; assign, collect, grade, report."""

from __future__ import annotations

import errno
import importlib
import sys
from collections.abc import Iterator
from typing import Annotated, TypeGuard

from tfm_lib import __version__, _extras
from tfm_lib._refusal import BuildStopped, Refusal

try:
    import typer
    from rich.console import Console
except ModuleNotFoundError as error:  # the library alone, which can only say what to install
    if sys.argv[1:] in (["--help"], ["--version"]):
        print(_extras.overview() if sys.argv[1] == "--help" else __version__)
        sys.exit(0)
    sys.exit(_extras.missing(error.name or "", sys.argv[1:]))


COMMANDS = (  # found by their names: the library imports neither the book nor the grader
    "tfm_book.commands",
    "tfm_lib.engine.commands",
    "tfm_lib.families.commands",
    "tfm_exercises.mine.commands",
    "tfm_grader.commands",
)

app = typer.Typer(
    help="Build the book, show it, answer in it, print it, open it as notebooks, measure it; train a Transformer and translate with it; "
    "load another's and look at its heads; list the answers that you have written; "
    "assign, collect and grade exercises.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
console = Console(highlight=False)
errors = Console(stderr=True, highlight=False, soft_wrap=True)


def _show_version(asked: bool) -> None:
    if asked:
        console.print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version, and stop.")
    ] = False,
) -> None:
    pass


for name in COMMANDS:
    importlib.import_module(name).register(app)


def main() -> None:
    """The command with its mishaps told in a sentence."""
    try:
        app()
    except Refusal as refusal:
        sys.exit(_say(str(refusal)))
    except KeyboardInterrupt:
        sys.exit(_say("Stopped.", 130))
    except Exception as error:
        if (said := _told(error)) is None:
            raise
        sys.exit(_say(said, 130 if isinstance(error.__cause__, KeyboardInterrupt) else 1))


def _told(error: Exception) -> str | None:
    """What went wrong, in a sentence with a remedy; None for what is a fault of ours."""
    causes = list(_causes(error))
    if full := next((cause for cause in causes if _disk_full(cause)), None):
        where = getattr(full, "filename", None)
        return (
            f"The disk is full{f' (writing {where})' if where else ''}. The book needs about 200 MB in its folder "
            "and as much for temporary files. Free some space (`make clean` removes what was built) "
            "and run the command again."
        )
    if closed := next((cause for cause in causes if _not_allowed(cause)), None):
        where = getattr(closed, "filename", None) or "A file"
        return f"{where} cannot be opened or written: {closed.strerror}. Run the command in a folder of your own, or name another."
    if isinstance(error, BuildStopped):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        return _extras.missing(error.name or "", sys.argv[1:]) or None
    if isinstance(error, OSError) and error.strerror:
        if error.filename:
            return f"{error.filename} cannot be used: {error.strerror}. Name another file or folder."
        return f"Something outside this program stopped it: {error.strerror} (error {error.errno}). Run it again."
    return None


def _say(sentence: str, code: int = 1) -> int:
    errors.print(sentence, style="red", markup=False)
    return code


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _disk_full(error: BaseException) -> bool:
    numbers = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
    return (isinstance(error, OSError) and error.errno in numbers) or "disk is full" in str(error)


def _not_allowed(error: BaseException) -> TypeGuard[OSError]:
    return isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)


if __name__ == "__main__":
    main()

"""The command `tfm mine`: the answers that are kept, and what becomes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tfm_lib import _completion
from tfm_lib._refusal import Refusal

mine = typer.Typer(help="Your own machine: the answers that passed their checks, and the parts that they make.")
Name = Annotated[
    str,
    typer.Argument(
        help="A part, such as causal_mask, or an exercise, such as masking.triangle.",
        autocompletion=_completion.exercises,
    ),
]


@mine.callback(invoke_without_command=True)
def _default(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_answers()


@mine.command("list")
def list_answers() -> None:
    """List the parts of the machine and the other answers that are kept (this happens without a word, too)."""
    from tfm_exercises.mine import answers, store
    from tfm_exercises.mine.catalogue import PARTS

    print(answers.parts())
    others = sorted(store.read()["answers"].keys() - {part.exercise for part in PARTS})
    if others:
        print(f"Other answers that are kept: {', '.join(others)}.")
    if not store.is_on():
        print("New answers are not kept. To keep them: tfm mine on (and do not set TFM_MINE=off).")


@mine.command()
def show(name: Name) -> None:
    """Print the source of a part or of an answer."""
    from tfm_exercises.mine import answers

    print(_asked(answers.source, name), end="")


@mine.command()
def forget(name: Name) -> None:
    """Remove an answer."""
    from tfm_exercises.mine import answers

    print(f"The answer to {_asked(answers.forget, name)} is forgotten.")


@mine.command()
def export(file: Annotated[Path, typer.Argument(help="The file to write.")]) -> None:
    """Write all answers to a file, for another computer."""
    from tfm_exercises.mine import travelling

    travelling.export(file)


@mine.command("import")
def import_answers(
    file: Annotated[Path, typer.Argument(help="A file that `tfm mine export` wrote.")],
    yes: Annotated[bool, typer.Option("--yes", help="Run the code in the file.")] = False,
) -> None:
    """Take in the answers of a file. Each is checked again, which runs its code."""
    from tfm_exercises.mine import travelling

    travelling.import_(file, yes)


@mine.command()
def off() -> None:
    """Keep no more answers; those that are kept stay."""
    from tfm_exercises.mine import answers

    answers.keep(False)
    print("New answers are not kept from now on. To keep them again: tfm mine on")


@mine.command()
def on() -> None:
    """Keep the answers that pass, as is usual."""
    from tfm_exercises.mine import answers

    answers.keep(True)
    print("Answers that pass in a notebook are kept from now on.")


def register(app: typer.Typer) -> None:
    app.add_typer(mine, name="mine")


def _asked(how: Any, name: str) -> str:
    try:
        return how(name)
    except KeyError as error:
        raise Refusal(error.args[0]) from None

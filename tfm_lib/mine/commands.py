"""The command `tfm mine`: the answers that are kept, and what becomes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tfm_lib._refusal import Refusal

mine = typer.Typer(help="Your own machine: the answers that passed their checks, and the parts that they make.")
Name = Annotated[str, typer.Argument(help="A part, such as causal_mask, or an exercise, such as masking.triangle.")]


@mine.callback(invoke_without_command=True)
def _default(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_answers()


@mine.command("list")
def list_answers() -> None:
    """List the parts of the machine and the other answers that are kept (this happens without a word, too)."""
    from tfm_lib.mine import answers, store
    from tfm_lib.mine.machine import PARTS

    print(answers.parts())
    others = sorted(store.read()["answers"].keys() - {part.exercise for part in PARTS})
    if others:
        print(f"Other answers that are kept: {', '.join(others)}.")
    if not store.is_on():
        print("New answers are not kept. To keep them: tfm mine on (and do not set TFM_MINE=off).")


@mine.command()
def show(name: Name) -> None:
    """Print the source of a part or of an answer."""
    from tfm_lib.mine import answers

    print(_asked(answers.source, name), end="")


@mine.command()
def forget(name: Name) -> None:
    """Remove an answer."""
    from tfm_lib.mine import answers

    print(f"The answer to {_asked(answers.forget, name)} is forgotten.")


@mine.command()
def export(file: Annotated[Path, typer.Argument(help="The file to write.")]) -> None:
    """Write all answers to a file, for another computer."""
    from tfm_lib.mine import store

    stored = store.read()
    if not stored["answers"]:
        raise Refusal("No answer is kept yet. Solve an exercise in a notebook: what passes its check is kept.")
    if file.exists():
        raise Refusal(f"{file} is there already. Name another file, or remove this one.")
    text = json.dumps({"version": stored["version"], "answers": stored["answers"]}, ensure_ascii=False, indent=1)
    file.write_text(text + "\n", encoding="utf-8")
    print(f"{file} holds your answers to {', '.join(sorted(stored['answers']))}.")


@mine.command("import")
def import_answers(
    file: Annotated[Path, typer.Argument(help="A file that `tfm mine export` wrote.")],
    yes: Annotated[bool, typer.Option("--yes", help="Run the code in the file.")] = False,
) -> None:
    """Take in the answers of a file. Each is checked again, which runs its code."""
    from tfm_lib.mine import store

    try:
        taken = store.parsed(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        taken = None
    if taken is None:
        raise Refusal(f"{file} does not hold answers. Write such a file with: tfm mine export FILE")
    here = store.read()["answers"]
    new = {id: entry for id, entry in taken["answers"].items() if here.get(id, {}).get("source") != entry["source"]}
    if not new:
        print("The file holds nothing that you do not have.")
        return
    for id in sorted(new):
        print(f"{id}: {'replaces your answer' if id in here else 'is new'}")
    if not yes:
        raise Refusal(
            "Nothing is taken in yet. The check of an answer runs its code, which may do anything that you may do on this "
            f"computer. If you trust whoever wrote the file: tfm mine import {file} --yes"
        )
    passed = {id: entry for id, entry in new.items() if _passes(id, entry)}
    if aside := store.change(lambda stored: stored["answers"].update(passed)):
        print(aside)
    print(f"{len(passed)} of {len(new)} answers are taken in.")


@mine.command()
def off() -> None:
    """Keep no more answers; those that are kept stay."""
    from tfm_lib.mine import answers

    answers.keep(False)
    print("New answers are not kept from now on. To keep them again: tfm mine on")


@mine.command()
def on() -> None:
    """Keep the answers that pass, as is usual."""
    from tfm_lib.mine import answers

    answers.keep(True)
    print("Answers that pass in a notebook are kept from now on.")


def register(app: typer.Typer) -> None:
    app.add_typer(mine, name="mine")


def _asked(how: Any, name: str) -> str:
    try:
        return how(name)
    except KeyError as error:
        raise Refusal(error.args[0]) from None


def _passes(id: str, entry: dict[str, Any]) -> bool:
    """Whether an answer passes its check; if not, it is told why."""
    from tfm_lib.checks.judge import find
    from tfm_lib.mine.keeping import judge_again
    from tfm_lib.mine.store import NotKept

    try:
        judge_again(find(id), entry["source"], entry["names"])
    except KeyError:
        print(f"{id} is left out: this library has no such exercise.")
    except NotKept as reason:
        print(f"{id} is left out: {reason}")
    else:
        return True
    return False

"""The command `tfm load`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tfm_lib._refusal import Refusal


def load(
    folder: Annotated[
        Path,
        typer.Argument(
            help="With config.json, model.safetensors (or its shards) and tokenizer.json.", show_default=False
        ),
    ],
    sentence: Annotated[
        str | None, typer.Argument(help="What the model reads; without it, the folder is only checked.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Of a translator: what it writes; its own translation if none.")
    ] = None,
    to: Annotated[Path, typer.Option(help="The page that is written.")] = Path("heads.html"),
) -> None:
    """Load a GPT-2, BERT, Llama or Marian that transformers saved, and open its heads on a sentence: a page for a browser."""
    console = Console(highlight=False, soft_wrap=True)
    from tfm_lib.families.folder import open_folder
    from tfm_lib.families.heads import page, summary
    from tfm_lib.families.settings import NotSupported

    try:
        opened = open_folder(folder)
        console.print(summary(opened), markup=False)
        for note in opened.notes:
            console.print(note, markup=False)
        if sentence is None:
            console.print(f'Give it a sentence to see its heads: tfm load {folder} "A sentence."', markup=False)
            return
        made = page(opened, sentence, folder, target)
    except NotSupported as error:
        raise Refusal(str(error)) from None
    try:
        to.write_text(made, encoding="utf-8")
    except OSError as error:
        raise Refusal(f"{to} cannot be written ({error.strerror}). Name another place: --to PAGE.html") from None
    console.print(f"{to}: open it in a browser.", markup=False)


def register(app: typer.Typer) -> None:
    app.command()(load)

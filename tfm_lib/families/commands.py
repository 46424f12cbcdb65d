"""The command `tfm load`."""

from __future__ import annotations

import re
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
    patch: Annotated[
        str | None,
        typer.Option(help="LAYER.HEAD of a GPT-2 or Llama, as 2.3: no page, but how it changes the next token."),
    ] = None,
    other: Annotated[
        str | None, typer.Option("--from", help="The text whose last token gives the patched output.")
    ] = None,
) -> None:
    """Load a GPT-2, BERT, Llama or Marian that transformers saved, and open its heads on a sentence: a page for a browser."""
    console = Console(highlight=False, soft_wrap=True)
    from tfm_lib.families.folder import open_folder
    from tfm_lib.families.heads import page, patched, summary
    from tfm_lib.families.settings import NotSupported

    head = re.fullmatch(r"(\d+)\.(\d+)", patch or "")
    if (patch, other) != (None, None) and not (sentence and head and other):
        raise Refusal(
            'A patch needs a sentence, a head and a text: tfm load FOLDER "A sentence" --patch 2.3 --from "Another"'
        )
    try:
        opened = open_folder(folder)
        console.print(summary(opened), markup=False)
        for note in opened.notes:
            console.print(note, markup=False)
        if sentence is None:
            console.print(f'Give it a sentence to see its heads: tfm load {folder} "A sentence."', markup=False)
            return
        if head and other:
            layer, number = map(int, head.groups())
            console.print(f"Next token, with its probability as it is and with head {number} of layer {layer} patched:")
            for token, before, after in patched(opened, sentence, other, layer, number):
                console.print(f"{token!r:>16} {before:7.1%} {after:7.1%}", markup=False)
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

"""A trained model in a folder: weights, sizes and tokenizer, in files that other programs can read too."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from tfm_lib._errors import require_path
from tfm_lib.data import Tokenizer
from tfm_lib.transformer import Transformer, TransformerConfig

WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"


class NoModel(FileNotFoundError):
    """There is no trained model where one was looked for, or it cannot be read."""


def save_trained(
    folder: Path, model: Transformer, tokenizer: Tokenizer, about: dict[str, Any], half: bool = False
) -> None:
    """Write `model` and `tokenizer` to `folder`, in 16 bits a number with `half`; `about` joins the sizes in config.json.

    Each file is written beside the old one first, so that a cut leaves a whole one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        name: value.contiguous().to(torch.float16 if half else value.dtype)
        for name, value in model.state_dict().items()
    }
    save_file(weights, folder / f"{WEIGHTS}.part")
    tokenizer.save(folder / f"{TOKENIZER}.part")
    (folder / f"{CONFIG}.part").write_text(json.dumps({"model": asdict(model.config), **about}, indent=1) + "\n")
    (folder / f"{WEIGHTS}.part").chmod(0o644)  # readable like any other file
    for name in (TOKENIZER, CONFIG, WEIGHTS):
        (folder / f"{name}.part").replace(folder / name)


def load_trained(folder: Path | str) -> tuple[Transformer, Tokenizer, dict[str, Any]]:
    """The model, ready to use in float32, its tokenizer, and what config.json says; `NoModel` where there is none."""
    require_path("folder", folder)
    folder = Path(folder)
    missing = [name for name in (WEIGHTS, CONFIG, TOKENIZER) if not (folder / name).is_file()]
    if missing:
        raise NoModel(f"There is no trained model in {folder} (no {missing[0]}). Train one: tfm train --to {folder}")
    try:
        about = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        model = Transformer(TransformerConfig(**about["model"]))
        model.load_state_dict({name: value.float() for name, value in load_file(folder / WEIGHTS).items()})
        tokenizer = Tokenizer.load(folder / TOKENIZER)
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise NoModel(f"The model in {folder} cannot be read: {str(error).splitlines()[0]}") from error
    return model.eval(), tokenizer, about

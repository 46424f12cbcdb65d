"""Save and load a trained model as a folder: weights, sizes and tokenizer, in files that other programs can read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from tfm_lib._extras import absent

try:
    from safetensors import SafetensorError, safe_open
    from safetensors.torch import load_file, save_file
except ModuleNotFoundError as error:
    raise absent(error, "train") from None
from torch import Tensor

from tfm_lib._errors import bad_input, require_path
from tfm_lib.data import Tokenizer, Vocabulary
from tfm_lib.transformer import Transformer, TransformerConfig

WEIGHTS, CONFIG, TOKENIZER = "model.safetensors", "config.json", "tokenizer.json"
BITS = (8, 16, 32)  # per number
SCALES = ".scales"


class NoModel(FileNotFoundError):
    """There is no trained model in the folder, or it cannot be read."""


def save_trained(folder: Path, model: Transformer, tokenizer: Tokenizer, about: dict[str, Any], bits: int = 32) -> None:
    """Write `model` and `tokenizer` to `folder`, in 8, 16 or 32 bits a number; `about` joins the sizes in config.json.

    Each file is first written beside the old one, so that an interruption leaves a complete file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    save_file(stored(model.state_dict(), bits), folder / f"{WEIGHTS}.part")
    tokenizer.save(folder / f"{TOKENIZER}.part")
    (folder / f"{CONFIG}.part").write_text(json.dumps({"model": asdict(model.config), **about}, indent=1) + "\n")
    (folder / f"{WEIGHTS}.part").chmod(0o644)  # readable like any other file
    for name in (TOKENIZER, CONFIG, WEIGHTS):
        (folder / f"{name}.part").replace(folder / name)


def load_trained(folder: Path | str) -> tuple[Transformer, Tokenizer, dict[str, Any]]:
    """Return the model in float32, its tokenizer and the content of config.json; raises `NoModel` if there is none.

    A file, instead of a folder, is what the book's playground saved.
    """
    require_path("folder", folder)
    folder = Path(folder)
    if folder.is_file():
        return _load_saved_by_the_page(folder)
    missing = [name for name in (WEIGHTS, CONFIG, TOKENIZER) if not (folder / name).is_file()]
    if missing:
        raise NoModel(f"There is no trained model in {folder} (no {missing[0]}). Train one: tfm train --to {folder}")
    try:
        about = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        model = Transformer(TransformerConfig(**about["model"]))
        model.load_state_dict(read(load_file(folder / WEIGHTS)))
        tokenizer = Tokenizer.load(folder / TOKENIZER)
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise NoModel(f"The model in {folder} cannot be read: {str(error).splitlines()[0]}") from error
    return model.eval(), tokenizer, about


def _load_saved_by_the_page(path: Path) -> tuple[Transformer, Tokenizer, dict[str, Any]]:
    """Return a model that a page trained (frontend/src/playground/engine/file.js); its letters or words are its vocabulary."""
    try:
        with safe_open(path, "pt") as file:
            about = file.metadata() or {}
        model = Transformer(TransformerConfig(**json.loads(about["model"]), dropout=0.0))
        model.load_state_dict(load_file(path))
        tokenizer = _words(json.loads(about["words"])) if "words" in about else _letters(about["letters"])
    except KeyError:
        raise NoModel(f"{path} is no model of the playground, and `tfm train` writes folders.") from None
    except (SafetensorError, ValueError, TypeError, RuntimeError) as error:
        raise NoModel(f"The model in {path} cannot be read: {str(error).splitlines()[0]}") from error
    return model.eval(), tokenizer, about


def _letters(letters: str) -> Tokenizer:
    """Return a tokenizer for which each letter is a token."""
    from tokenizers import Regex, normalizers, pre_tokenizers

    split = pre_tokenizers.Split(Regex("."), "isolated")
    return _of_tokens(letters, normalizers.Sequence([normalizers.Strip(), normalizers.Lowercase()]), split)


def _words(words: list[str]) -> Tokenizer:
    """Return a tokenizer for which each of `words` is a token; they are written with their case."""
    from tokenizers import normalizers, pre_tokenizers

    return _of_tokens(words, normalizers.Strip(), pre_tokenizers.Whitespace())


def _of_tokens(tokens: Iterable[str], normalizer: Any, split: Any) -> Tokenizer:
    from tokenizers import Tokenizer as Backend
    from tokenizers import models

    special = Vocabulary.special
    pieces = {piece: i for i, piece in enumerate([*special, *tokens])}
    backend = Backend(models.WordLevel(pieces, unk_token=special[Vocabulary.unk_id]))
    backend.normalizer, backend.pre_tokenizer = normalizer, split
    return Tokenizer(backend)


def stored(weights: dict[str, Tensor], bits: int) -> dict[str, Tensor]:
    """Return `weights` in the format of the file.

    With 8 bits, each row of a matrix becomes integers from −127 to 127 and one scale, stored under the matrix's name
    with `.scales`; gains and biases, a hundredth of a model, keep 16 bits.
    """
    if bits not in BITS:
        raise bad_input("bits", f"be {', '.join(map(str, BITS[:-1]))} or {BITS[-1]}", bits)
    if bits > 8:
        return {
            name: value.contiguous().to(torch.float16 if bits == 16 else value.dtype) for name, value in weights.items()
        }
    kept = {}
    for name, value in weights.items():
        if value.dim() == 2:
            scales = value.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / 127
            kept[name], kept[f"{name}{SCALES}"] = (value / scales).round().to(torch.int8), scales.float()
        else:
            kept[name] = value.contiguous().half()
    return kept


def read(kept: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the float32 weights from what `stored` made."""
    return {
        name: value.float() * kept[f"{name}{SCALES}"] if value.dtype == torch.int8 else value.float()
        for name, value in kept.items()
        if not name.endswith(SCALES)
    }

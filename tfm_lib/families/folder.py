"""Load a model and its tokenizer from a folder that `save_pretrained` wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer
from torch import Tensor, nn

from tfm_lib._errors import require_path
from tfm_lib.families.known import Family, family_of, from_state
from tfm_lib.families.marian import Marian
from tfm_lib.families.settings import NotSupported

CONFIG, WEIGHTS, INDEX, TOKENIZER = "config.json", "model.safetensors", "model.safetensors.index.json", "tokenizer.json"
PICKLED = ("pytorch_model*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.msgpack", "*.h5", "*.gguf", "*.onnx")
WORDS = ("vocab.txt", "vocab.json", "tokenizer.model", "source.spm", "spiece.model")
POINTER = b"version https://git-lfs"


@dataclass(frozen=True)
class Opened:
    """A model with its tokenizer; `notes` are sentences about what was ignored or converted when loading."""

    family: Family
    model: nn.Module
    tokenizer: Tokenizer
    notes: tuple[str, ...]

    def ids(self, text: str) -> Tensor:
        """Return the ids of `text` with special tokens, (1, n); raises `NotSupported` for tokens without a row."""
        return self.encoded(text)[0]

    def encoded(self, text: str) -> tuple[Tensor, list[str]]:
        """Return the ids, (1, n), and the tokens in readable form."""
        read = self.tokenizer.encode(text)
        known = self.vocab_size
        foreign = [token for token, i in zip(read.tokens, read.ids) if i >= known]
        if foreign:
            raise NotSupported(
                f"{TOKENIZER} has {foreign[0]!r}, a token that was added after the model was made: its embedding has "
                f"{known} rows, and none for it."
            )
        return torch.tensor([read.ids], dtype=torch.long), [self.token(i) for i in read.ids]

    def token(self, i: int) -> str:
        """Return the token of one id in readable form; ▁ marks a preceding space."""
        raw = self.tokenizer.id_to_token(i)
        if raw is None:
            return f"#{i}"  # the embedding has rows without a token in the tokenizer
        text = self.tokenizer.decode([i], skip_special_tokens=False)
        if not text or "\ufffd" in text or not text.isprintable():  # part of a character, or an invisible one
            return raw if raw.isprintable() else ascii(raw)
        return text if raw.lstrip("Ġ▁") == raw else f"▁{text.strip()}" if text.strip() else "▁"

    @property
    def vocab_size(self) -> int:
        """Return the number of rows of the embedding that the input uses."""
        embedding = self.model
        if isinstance(embedding, Marian):
            embedding = embedding.embedding if embedding.source is None else embedding.source
        return len(embedding.tokens.weight)


def open_folder(folder: Path | str, dtype: torch.dtype = torch.float32) -> Opened:
    """Load the model in `folder` with parameters in `dtype`; raises `NotSupported`, with the reason, if it cannot."""
    require_path("folder", folder)
    folder = Path(folder)
    settings = read_settings(folder)
    family = family_of(settings)
    tokenizer = read_tokenizer(folder)
    model, notes = read_model(folder, settings, dtype)
    return Opened(family, model, tokenizer, tuple(notes))


def read_model(
    folder: Path | str, settings: dict[str, Any] | None = None, dtype: torch.dtype = torch.float32
) -> tuple[nn.Module, list[str]]:
    """Return the model in `folder`, and sentences about parts of its files that were ignored or converted."""
    folder = Path(folder)
    settings = read_settings(folder) if settings is None else settings
    family_of(settings)
    with Stored(folder) as state:
        _require_room(state.size, folder)
        model, skipped = from_state(settings, state, dtype)
        notes = [f"Passed over, for they are no part of this model: {', '.join(skipped)}."] if skipped else []
        if kinds := sorted(map(_named, state.kinds - {dtype})):
            notes.append(f"The numbers of {', '.join(kinds)} are read as {_named(dtype)}.")
    return model, notes


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the content of config.json."""
    if folder.is_file():
        raise NotSupported(f"{folder} is a file; give the folder in which it lies with the others: {folder.parent}")
    if not folder.is_dir():
        raise NotSupported(f"There is no folder {folder}.")
    return _json(folder, CONFIG, f"There is no {CONFIG} in {folder}: it is no folder that save_pretrained made.")


def read_tokenizer(folder: Path) -> Tokenizer:
    """Return the tokenizer of tokenizer.json, with truncation and padding switched off."""
    path = folder / TOKENIZER
    if not path.is_file():
        others = [name for name in WORDS if (folder / name).is_file()]
        has = f", only {' and '.join(others)}, which are not read here" if others else ""
        raise NotSupported(
            f"There is no {TOKENIZER} in {folder}{has}. transformers writes it for every family that has a fast "
            "tokenizer: AutoTokenizer.from_pretrained(folder).save_pretrained(folder)."
        )
    _require_no_pointer(path)
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # it raises nothing more specific
        raise NotSupported(f"{TOKENIZER} in {folder} cannot be read: {str(error).splitlines()[0]}.") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


class Stored(Mapping[str, Tensor]):
    """The tensors of a folder's safetensors files (one file or shards), each read on request."""

    def __init__(self, folder: Path):
        self.folder, self._open, self._where = folder, {}, {}
        self.kinds: set[torch.dtype] = set()
        try:
            for name in _files(folder):
                self._add(name)
        except BaseException:
            self.__exit__()
            raise

    def _add(self, name: str) -> None:
        path = self.folder / name
        if not path.is_file():
            raise NotSupported(f"{INDEX} names {name}, which is not in {self.folder}: copy every part of the model.")
        _require_no_pointer(path)
        try:
            self._open[name] = safe_open(path, framework="pt").__enter__()
        except (SafetensorError, OSError) as error:
            raise NotSupported(
                f"{name} in {self.folder} cannot be read as safetensors: {str(error).splitlines()[0]}. "
                "Is it cut off, or another kind of file?"
            ) from error
        for key in self._open[name].keys():  # noqa: SIM118 — no dictionary: it is not iterable itself
            if key in self._where:
                raise NotSupported(f"{self._where[key]} and {name} both hold {key}.")
            self._where[key] = name

    @property
    def size(self) -> int:
        """The total size of all files in bytes."""
        return sum((self.folder / name).stat().st_size for name in self._open)

    def __getitem__(self, key: str) -> Tensor:
        value = self._open[self._where[key]].get_tensor(key)
        if value.is_floating_point():
            self.kinds.add(value.dtype)
        return value

    def __contains__(self, key: object) -> bool:
        return key in self._where

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def __len__(self) -> int:
        return len(self._where)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._open.values():
            handle.__exit__(None, None, None)


def _files(folder: Path) -> Sequence[str]:
    """Return the names of the weight files, preferring a single file to shards as `transformers` does."""
    if (folder / WEIGHTS).is_file():
        return [WEIGHTS]
    if (folder / INDEX).is_file():
        shards = _json(folder, INDEX).get("weight_map")
        names = sorted(set(shards.values())) if isinstance(shards, dict) and all(map(_is_text, shards.values())) else []
        if not names:
            raise NotSupported(f"{INDEX} in {folder} has no weight_map that says which file holds what.")
        if strange := [name for name in names if Path(name).name != name or not name.endswith(".safetensors")]:
            raise NotSupported(f"{INDEX} names {strange[0]!r}; a part must be a .safetensors file in the same folder.")
        return names
    pickled = sorted({path.name for pattern in PICKLED for path in folder.glob(pattern)})
    if pickled:
        raise NotSupported(
            f"The weights in {folder} are {', '.join(pickled[:3])}, which is not read here: a pickle can run any program "
            "when it is opened. Where you trust it, transformers converts it: "
            "AutoModel.from_pretrained(folder).save_pretrained(folder) writes safetensors."
        )
    raise NotSupported(f"There is no {WEIGHTS} in {folder}, and no {INDEX} that names its parts.")


def _json(folder: Path, name: str, missing: str = "") -> dict[str, Any]:
    path = folder / name
    if not path.is_file():
        raise NotSupported(missing)
    _require_no_pointer(path)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise NotSupported(f"{name} in {folder} cannot be read: {str(error).splitlines()[0]}.") from error
    if not isinstance(found, dict):
        raise NotSupported(f"{name} in {folder} must hold an object; it holds a {type(found).__name__}.")
    return found


def _require_no_pointer(path: Path) -> None:
    with path.open("rb") as file:
        if file.read(len(POINTER)) == POINTER:
            raise NotSupported(
                f"{path.name} in {path.parent} is Git LFS's note of where the file is, not the file: git lfs pull"
            )


def _require_room(size: int, folder: Path) -> None:
    """Require free memory for twice the size of the files, because 16 bits become 32."""
    free = free_memory()
    if free is not None and 2 * size > free:
        raise NotSupported(
            f"The weights in {folder} are {size / 1e9:.1f} GB, which may take twice that in memory; "
            f"{free / 1e9:.1f} GB are free."
        )


def free_memory() -> int | None:
    """Return the bytes of available memory as reported by Linux, None on other systems."""
    try:
        told = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"))
    except OSError:
        return None
    return 1024 * int(told[1]) if told else None


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _named(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")

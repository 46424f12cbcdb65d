"""Carry trained weights in the output of a notebook cell, and read them back as data that nobody has to trust."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from tfm_exercises.watching import Refused

MIME = "application/vnd.tfm.weights+json"
MAX_BYTES = 4 << 20  # of a file
MAX_HEAD = 1 << 16  # bytes of its head
MAX_TENSORS = 1000
MAX_DIMENSIONS = 4
DTYPES = ("F32", "F16")
AGAIN = "Save the weights again, run the cell with hand_in again, and save the notebook."


class BadWeights(Refused, ValueError):
    """The weights cannot be used; the message says what is wrong and what to do."""

    def __init__(self, message: str):
        super().__init__(message, "weights")


@dataclass(frozen=True, eq=False, repr=False)
class Weights:
    """Trained weights: float32 `tensors` by name, the texts in the file's `head`, and the file itself, `data`."""

    name: str
    tensors: dict[str, Tensor]
    head: dict[str, str]
    data: bytes

    @property
    def parameters(self) -> int:
        """How many numbers the tensors hold, whatever the head says."""
        return sum(value.numel() for value in self.tensors.values())

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    def __repr__(self) -> str:
        size = f"{self.parameters:,} parameters, {-(-len(self.data) // 1024):,} KB, checksum {self.sha256[:8]}"
        return f"Weights “{self.name}”: {size}."


def hand_in(weights: Path | str | dict[str, Tensor] | nn.Module, name: str, **about: str) -> Weights:
    """Put trained weights into this cell's output, so that they are handed in with the notebook. Returns them.

    `weights` are the path of a .safetensors file, tensors by name, or a module. Of a module, the sizes in `config` go
    into the file's head, under "model"; `about` adds texts to the head of a new file. Raises FileNotFoundError, or
    BadWeights for what the grader would refuse: more than 4 MB, other numbers than float32 and float16, or NaN.
    """
    if isinstance(weights, nn.Module):
        config = getattr(weights, "config", None)
        if is_dataclass(config) and not isinstance(config, type):
            about = {"model": json.dumps(asdict(config)), **about}
        weights = weights.state_dict()
    if isinstance(weights, dict):
        from safetensors.torch import save

        data = save({key: value.detach().cpu().contiguous() for key, value in weights.items()}, about)
    else:
        path = Path(weights)
        if not path.is_file():
            raise FileNotFoundError(
                f"There is no file {path} beside this notebook. Copy it there, or give its whole path."
            )
        if path.stat().st_size > MAX_BYTES:
            raise BadWeights(_too_large(path.stat().st_size))
        data = path.read_bytes()
    carried = read_weights(data, name)
    _display(carried)
    return carried


def output(weights: Weights) -> dict[str, Any]:
    """Return the content of the output that carries `weights`, by MIME type."""
    said = f"{weights!r} They are saved with this notebook: save it, and do not clear this output."
    data = base64.b64encode(weights.data).decode()
    return {
        MIME: {"name": weights.name, "sha256": weights.sha256, "data": data},
        "text/html": f"<p>{html.escape(said)}</p>",
        "text/plain": said,
    }


def carried_in(cells: list[Any]) -> dict[str, dict[str, Any]]:
    """Return what the outputs of a notebook's `cells` carry, by name, still unread; of equal names, the last counts."""
    found = {}
    for cell in cells:
        outputs = cell.get("outputs") if isinstance(cell, dict) else None
        for each in outputs if isinstance(outputs, list) else []:
            data = each.get("data") if isinstance(each, dict) else None
            packed = data.get(MIME) if isinstance(data, dict) else None
            if isinstance(packed, dict) and isinstance(packed.get("name"), str):
                found[packed["name"]] = packed
    return found


def unpacked(packed: dict[str, Any]) -> Weights:
    """Return the weights in one output. Raises BadWeights."""
    data = packed.get("data")
    try:
        if not isinstance(data, str) or len(data) > 4 * (MAX_BYTES // 3 + 1):
            raise ValueError
        file = base64.b64decode(data, validate=True)
    except ValueError:
        raise BadWeights(f"The output that carries the weights is damaged, or larger than 4 MB. {AGAIN}") from None
    if hashlib.sha256(file).hexdigest() != packed.get("sha256"):
        raise BadWeights(f"The weights in the notebook do not agree with their checksum. {AGAIN}")
    return read_weights(file, packed["name"])


def read_weights(data: bytes, name: str) -> Weights:
    """Return the weights in `data`, the content of a .safetensors file. Raises BadWeights.

    The head is checked before anything is allocated, and what is allocated is a few times as large as `data`.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    if len(data) > MAX_BYTES:
        raise BadWeights(_too_large(len(data)))
    head = _head(data)
    texts = head.pop("__metadata__", None) or {}
    if not 1 <= len(head) <= MAX_TENSORS:
        raise BadWeights(f"The file holds {len(head):,} tensors; it must hold 1 to {MAX_TENSORS:,}. {AGAIN}")
    for key, about in head.items():
        _require_tensor(key, about)
    try:
        loaded = load(data)
        tensors = {key: loaded[key].float() for key in head}  # in the file's order, which `load` does not keep
    except (SafetensorError, ValueError, TypeError, KeyError, RuntimeError, OverflowError):
        raise BadWeights(f"The head of the file does not agree with the numbers that follow it. {AGAIN}") from None
    for key, value in tensors.items():
        if not value.isfinite().all():
            raise BadWeights(
                f"{clipped(key)} holds NaN or infinity: the training went wrong. Train again, with a lower learning rate."
            )
    return Weights(name, tensors, texts, data)


def _head(data: bytes) -> dict[str, Any]:
    """Return the head of a .safetensors file: 8 bytes with its length, then JSON."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > len(data) - 8:
        raise BadWeights(
            "This is not a complete .safetensors file. Hand in the file that the playground or PyTorch saved."
        )
    if length > MAX_HEAD:
        raise BadWeights(f"The head of the file has {length:,} bytes, and {MAX_HEAD:,} is the most. {AGAIN}")
    try:
        head = json.loads(data[8 : 8 + length])
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict):
        raise BadWeights("The head of the file is not that of a .safetensors file. Hand in the file that was saved.")
    return head


def _require_tensor(key: str, about: Any) -> None:
    about = about if isinstance(about, dict) else {}
    shape = about.get("shape")
    if about.get("dtype") not in DTYPES:
        kind = clipped(about.get("dtype"))
        raise BadWeights(f"{clipped(key)} has the type {kind}. Save the weights as float32 or float16.")
    if not isinstance(shape, list) or len(shape) > MAX_DIMENSIONS or not all(type(n) is int and n > 0 for n in shape):
        raise BadWeights(f"{clipped(key)} has the shape {clipped(shape)}, which is that of no weights. {AGAIN}")


def _too_large(size: int) -> str:
    return f"The file has {size / (1 << 20):.1f} MB, and {MAX_BYTES >> 20} MB is the most. Save the weights as float16."


def shaped(shape: tuple[int, ...] | None) -> str:
    return "missing" if shape is None else f"of shape {shape}"


def clipped(value: Any) -> str:
    try:
        text = str(value)
    except RecursionError:  # lists in lists
        text = "…"
    return text if len(text) <= 60 else f"{text[:60]}…"


def _display(weights: Weights) -> None:
    from IPython import get_ipython
    from IPython.display import display

    if get_ipython() is None:
        print(output(weights)["text/plain"])
    else:
        display(output(weights), raw=True)

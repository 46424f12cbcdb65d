"""Ship the translator as classic scripts with base64 weights, so that a page opened from a folder can load it."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

from tfm_book.site.assets import write
from tfm_book.site.page_widgets import FOLDER
from tfm_lib.engine.shipped import SHIPPED, shipped_folder

#: Bytes per script: small enough to show progress, and for no script to block the page for long.
PART = 900_000


def model_scripts(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the scripts for the model in `folder`: `about`, then its weights in parts, `0`, `1`, …

    Each calls `tfmPart`, which `frontend/src/twin/index.js` defines. `about` has the CRC-32 of each part, so that the
    page can reject damaged parts.
    """
    weights = (folder / "model.safetensors").read_bytes()
    parts = [weights[start : start + PART] for start in range(0, len(weights), PART)]
    files = {
        name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in ("config", "tokenizer")
    }
    about = {"sums": [zlib.crc32(part) for part in parts], "size": len(weights), **files}
    yield "about", f"tfmPart({json.dumps(about, ensure_ascii=False, separators=(',', ':'))});\n"
    for i, part in enumerate(parts):
        yield str(i), f'tfmPart("{base64.b64encode(part).decode()}");\n'


def write_model(app: Sphinx) -> None:
    """Write the scripts beside the widgets' bundles; a page fetches them when its reader starts the translator."""
    for name, text in model_scripts(shipped_folder()):
        write(Path(app.outdir, FOLDER, SHIPPED, f"{name}.js"), text.encode())


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", write_model)

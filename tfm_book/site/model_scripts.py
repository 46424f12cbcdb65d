"""Ship models as classic scripts with base64 weights, so that a page opened from a folder can load them."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

from tfm_book.site.assets import write
from tfm_book.site.page_widgets import FOLDER
from tfm_lib.engine.shipped import SHIPPED, STORIES, shipped_folder

#: Bytes per script: small enough to show progress, and for no script to block the page for long.
PART, FEWEST = 900_000, 4


def model_scripts(weights: Path, **files: Path) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the scripts for a model: `about` with its `files` of JSON, then its weights in parts, `0`, `1`, …

    Each calls `tfmPart`, which `frontend/src/twin/files.js` defines. `about` has the CRC-32 of each part, so that the
    page can reject damaged parts.
    """
    stored = weights.read_bytes()
    size = min(PART, -(-len(stored) // FEWEST))
    parts = [stored[start : start + size] for start in range(0, len(stored), size)]
    read = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in files.items()}
    about = {"sums": [zlib.crc32(part) for part in parts], "size": len(stored), **read}
    yield "about", f"tfmPart({json.dumps(about, ensure_ascii=False, separators=(',', ':'))});\n"
    for i, part in enumerate(parts):
        yield str(i), f'tfmPart("{base64.b64encode(part).decode()}");\n'


def shipped_scripts() -> Iterator[tuple[str, str]]:
    """Yield paths and texts of the scripts for the translator, and for each stage of the writer of stories."""
    folder, stories = shipped_folder(), shipped_folder(STORIES)
    models = {
        SHIPPED: (folder / "model.safetensors", {name: folder / f"{name}.json" for name in ("config", "tokenizer")})
    }
    for weights in sorted(stories.glob("*.safetensors")):
        models[f"{STORIES}/{weights.stem}"] = weights, {"config": stories / "config.json"}
    for model, (weights, files) in models.items():
        for name, text in model_scripts(weights, **files):
            yield f"{model}/{name}.js", text


def write_models(app: Sphinx) -> None:
    """Write the scripts beside the widgets' bundles; a page fetches them when its reader starts a model."""
    for path, text in shipped_scripts():
        write(Path(app.outdir, FOLDER, path), text.encode())


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", write_models)

"""Export a widget as a standalone page: one file, opened from anywhere, that makes no network request."""

from __future__ import annotations

import html
import json
import warnings
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfm_lib.widgets.base import Widget

STATE = "application/vnd.jupyter.widget-state+json"
OF_JUPYTER = ("layout", "tabbable", "tooltip", "_esm", "_css", "_anywidget_id", "_dom_classes")
PAGE = """\
<!doctype html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{css}
body {{ margin: 0 auto; max-width: 62rem; padding: 1.2rem; background: var(--tfm-paper); color: var(--tfm-ink);
  font: 16px/1.55 var(--tfm-sans); overflow-wrap: anywhere; }}
h1 {{ margin: 0 0 0.2rem; font-size: 1.25rem; }}
p {{ margin: 0 0 1rem; }}
.tfm-still svg {{ max-width: 100%; height: auto; }}</style>
<script>document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";</script>
</head>
<body>
<main>
<h1>{title}</h1>
{told}
<div class="tfm-widget" data-model="w1" data-module="{module}" role="group" aria-label="{label}">{still}</div>
</main>
<script type="{type}">{state}</script>
{scripts}
</body>
</html>
"""


def page_of(widget: Widget, title: str, told: list[str], still: bool) -> str:
    """Return the page of `widget` under a `title`, with a paragraph for each sentence of `told`.

    With `still`, readers without scripts see its figure, else its text alternative.
    """
    kept = {key: value for key, value in widget.get_state().items() if not _of_jupyter(key)}
    model = {"state": {"w1": {"model_name": "AnyModel", "state": kept}}}
    alt = html.escape(widget.alt)
    names = ("kit.js", f"{widget._module}.js", "host.js")
    return PAGE.format(
        title=html.escape(title),
        told="\n".join(f"<p>{html.escape(sentence)}</p>" for sentence in told),
        module=html.escape(widget._module),
        label=html.escape(widget.title),
        still=_picture(widget, alt) if still else f'<p class="tfm-still">{alt}</p>',
        css=_static("widgets.css"),
        type=STATE,
        state=json.dumps(model, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
        scripts="\n".join(_script(name) for name in names),
    )


def _script(name: str) -> str:
    code = _static(f"page/{name}").replace("</", r"<\/")
    return f"<script>{code}</script>"


def _picture(widget: Widget, alt: str) -> str:
    from tfm_lib.drawing.display import svg_text

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # the browser's fonts have glyphs that matplotlib's lack
        drawn = svg_text(widget.figure())
    return f'<div class="tfm-still" role="img" aria-label="{alt}">{drawn}</div>'


def _of_jupyter(key: str) -> bool:
    return key in OF_JUPYTER or key.startswith(("_model_", "_view_"))


def _static(name: str) -> str:
    path = files("tfm_lib.widgets") / "static" / name
    if not path.is_file():
        raise FileNotFoundError(
            f"The widgets are not built ({name} is missing): make book, or npm ci and node build.mjs in frontend/."
        )
    return path.read_text(encoding="utf-8")

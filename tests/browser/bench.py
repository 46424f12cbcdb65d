"""A page that holds widgets of any state and nothing else: no book is built for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from project import ROOT

from browser.conftest import Visitor, settled
from browser.driving import Widget

STATIC = ROOT / "tfm_lib" / "widgets" / "static" / "page"
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Bench</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="page/widgets.css"><style>{style}</style></head>
<body>{boxes}<script type="application/vnd.jupyter.widget-state+json">{state}</script>
<script src="page/kit.js"></script>{scripts}{start}</body></html>"""
HOST = '<script src="page/host.js"></script>'
AFTER = """<script>{first}.then(() => document.body.append(Object.assign(document.createElement("script"), {{ src: "page/host.js" }})))</script>"""


class Bench:
    """Shows widgets on pages of its own, served from `folder`."""

    def __init__(self, folder: Path, base: str, visitor: Visitor) -> None:
        self.folder, self.base, self.visitor = folder, base, visitor

    def show(self, *widgets: Any, style: str = "", first: str = "", **options: Any) -> list[Widget]:
        """The widgets in their present states, live on one page; they wait for the promise `first`."""
        models = {f"model{i}": {"state": plain_state(widget)} for i, widget in enumerate(widgets)}
        name = f"{len(self.visitor.pages)}.html"
        modules = dict.fromkeys(widget._module for widget in widgets)
        boxes = "".join(
            f'<div class="tfm-widget" data-model="{model}" data-module="{widget._module}"></div>'
            for model, widget in zip(models, widgets, strict=True)
        )
        scripts = "".join(f'<script src="page/{module}.js"></script>' for module in modules)
        state = json.dumps({"state": models}).replace("</", "<\\/")
        html = PAGE.format(
            style=style, boxes=boxes, state=state, scripts=scripts, start=AFTER.format(first=first) if first else HOST
        )
        (self.folder / name).write_text(html, encoding="utf-8")
        page = self.visitor.blank(self.base, **options)
        page.goto(self.base + name)
        settled(page)
        return [Widget(page, index) for index in range(len(widgets))]


def plain_state(widget: Any) -> dict[str, Any]:
    """What a page carries of the widget's state, as the browser gets it."""
    state = {name: value for name, value in widget.get_state().items() if name not in ("layout", "_esm", "_css")}
    return json.loads(json.dumps(state))


@contextmanager
def bench(folder: Path, serve: Callable[[Path], str], contexts: Callable) -> Iterator[Bench]:
    """A bench in `folder`; nothing may go wrong on its pages."""
    assert STATIC.is_dir(), "The widgets are not built: run `make test`, or `node build.mjs` in frontend/."
    (folder / "page").symlink_to(STATIC)
    base = serve(folder)
    visitor = Visitor(contexts, {"http": base})
    yield Bench(folder, base, visitor)
    for page in visitor.pages:
        page.close()
    assert not visitor.troubles, "\n".join(visitor.troubles)

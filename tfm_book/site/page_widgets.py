"""Show widgets without a kernel: the page embeds their reduced state, and `frontend/host/host.js` displays it."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

import tfm_lib
from tfm_book.site.assets import write
from tfm_book.site.patches import script, stylesheet
from tfm_book.site.pictures import slim

logger = logging.getLogger(__name__)

BUNDLES = Path(tfm_lib.__file__).resolve().parent / "widgets" / "static" / "page"
FOLDER = "_widgets"  # of the output
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = re.compile(r'<script type="application/vnd\.jupyter\.widget-view\+json">(.*)</script>', re.DOTALL)
LINKS = ("LinkModel", "DirectionalLinkModel")
WITHOUT_SCRIPTS = (
    '<noscript><p class="tfm-widget-failed">This widget needs JavaScript. The picture shows it as it was when the book was '
    "built.</p></noscript>"
)
#: Traits that only JupyterLab uses.
UNUSED = re.compile(r"_model_|_view_|_dom_classes|_anywidget_id|layout$|tabbable$|tooltip$")


class widget_view(nodes.General, nodes.Element):
    """Place of a widget in a cell's output: `model_id`, and the widget's own description in `tfm` (alt, still, sentences)."""


class LostWidget(ValueError):
    """The execution did not keep this widget's state, so the page could not show it."""


class StockWidget(ValueError):
    """A widget that would look interactive in the page but would not work without a kernel."""


def page_state(state: dict[str, dict], shown: list[str]) -> tuple[dict[str, dict], dict[str, str]]:
    """Reduce a notebook's widget state to what the page needs; also return the new names of the models.

    This keeps the models in `shown`, those that they refer to, and the links between them. Ids become `w1`, `w2`, … in
    order of appearance, so that the page is the same after each execution.
    Raises `StockWidget` for a model that is not an anywidget, `LostWidget` for one without a state.
    """
    lost = [id for id in shown if id not in state]
    if lost:
        raise LostWidget(
            f"{len(lost)} of {len(shown)} widgets have no state in the chapter's outputs: execute it again."
        )
    for id in dict.fromkeys([*shown, *state]):  # check the widgets shown in the chapter before their parts
        model = state[id]
        if model["model_module"] in ("@jupyter-widgets/base", "anywidget") or model["model_name"] in LINKS:
            continue
        raise StockWidget(
            f"The page would show a dead {model['model_name'].removesuffix('Model')}: stock ipywidgets need a kernel. "
            "Use a widget of tfm_lib.widgets or write an anywidget."
        )
    wanted, queue = [], list(shown)
    while queue:
        id = queue.pop(0)
        if id not in wanted:
            wanted.append(id)
            queue += [other for other in _references(_kept(state[id])) if other in state]
    links = [
        id
        for id, model in state.items()
        if model["model_name"] in LINKS and all(o in wanted for o in _references(_kept(model)))
    ]
    names = {id: f"w{i}" for i, id in enumerate(dict.fromkeys([*wanted, *links]), start=1)}
    text = json.dumps({names[id]: _kept_model(state[id]) for id in names}, separators=(",", ":"), ensure_ascii=False)
    return json.loads(re.sub(r"IPY_MODEL_(\w+)", lambda m: f"IPY_MODEL_{names.get(m[1], m[1])}", text)), names


def _kept(model: dict) -> dict[str, Any]:
    ours = model["state"].get("_module")
    return {
        key: value
        for key, value in model["state"].items()
        if not UNUSED.match(key) and not (ours and key in ("_esm", "_css"))
    }


def _kept_model(model: dict) -> dict[str, Any]:
    kept: dict[str, Any] = {"model_name": model["model_name"], "state": _kept(model)}
    if model.get("buffers"):
        kept["buffers"] = model["buffers"]
    return kept


def _references(value: Any) -> list[str]:
    return re.findall(r"IPY_MODEL_(\w+)", json.dumps(value))


def place_widgets(app: Sphinx, document: nodes.document) -> None:
    """Replace myst-nb's widget output by our own nodes and the states that they need."""
    kept = getattr(app.env, "nb_metadata", {}).get(app.env.docname, {}).get("js_files", {})
    _, attributes = kept.pop("ipywidgets_state", (None, {"body": "{}"}))
    widgets = json.loads(attributes["body"]).get("state") or {}
    views = []
    for raw in list(document.findall(nodes.raw)):
        if found := VIEW.fullmatch(raw.astext()):
            said = json.loads(found[1])
            views.append(widget_view(model_id=said["model_id"], tfm=said.get("tfm", {})))
            raw.replace_self(views[-1])
    if not views:
        return
    try:
        state, names = page_state(widgets, [view["model_id"] for view in views])
    except (LostWidget, StockWidget) as error:
        logger.warning("%s", error, location=app.env.docname, type="tfm", subtype="widget")
        state, names = {}, {}
    for view in views:
        model = state.get(names.get(view["model_id"], ""), {})
        view["model"] = names.get(view["model_id"], "")
        view["module"] = model.get("state", {}).get("_module", "")
        view["label"] = model.get("state", {}).get("title") or "Interactive figure"
        view["question"] = model.get("state", {}).get("question", "")
    text = json.dumps(
        {"version_major": 2, "version_minor": 0, "state": state}, separators=(",", ":"), ensure_ascii=False
    )
    text = text.replace("</", "<\\/").replace("<!--", "<\\u0021--")
    document.append(nodes.raw("", f'<script type="{STATE}">{text}</script>\n', format="html"))


def _visit_widget_view(self, node: widget_view) -> None:
    tfm, attribute = node["tfm"], html.escape
    alt = tfm.get("alt", "")
    still = ""
    if tfm.get("still"):
        still = f'<div class="tfm-still" role="img" aria-label="{attribute(alt)}">{slim(tfm["still"])}</div>'
    elif alt:
        still = f'<p class="tfm-still">{attribute(alt)}</p>'
    told = "".join(f"<li>{attribute(sentence, quote=False)}</li>" for sentence in tfm.get("sentences", ()))
    told = told and f'<ol class="tfm-told">{told}</ol>\n'  # on paper and without scripts
    module = f' data-module="{attribute(node["module"])}"' if node.get("module") else ""
    self.body.append(
        f'<div class="tfm-widget" data-model="{attribute(node.get("model", ""))}"{module} role="group"'
        f' aria-label="{attribute(node.get("label", ""))}">{still}{WITHOUT_SCRIPTS}</div>\n{told}'
    )
    raise nodes.SkipNode


def add_widget_assets(
    app: Sphinx, pagename: str, templatename: str, context: dict, doctree: nodes.document | None
) -> None:
    """Add the host and the needed bundles to a page with widgets; add nothing to other pages."""
    if doctree is None or not doctree.next_node(widget_view):
        return
    modules = sorted({view["module"] for view in doctree.findall(widget_view) if view.get("module")})
    wanted = ["kit.js", *(f"{module}.js" for module in modules), "host.js"] if modules else ["host.js"]
    for name in wanted:
        if not (BUNDLES / name).exists():
            logger.warning(
                "The bundle %s is missing: `make book` builds it.",
                name,
                location=pagename,
                type="tfm",
                subtype="widget",
            )
    context["tfm_widget_scripts"] = [
        script(f"{FOLDER}/{name}", priority=950 + i, defer="defer") for i, name in enumerate(wanted)
    ]
    context["tfm_widget_styles"] = [stylesheet(f"{FOLDER}/widgets.css", priority=950)]


def copy_bundles(app: Sphinx) -> None:
    """Copy the built bundles into the book, even if no page that uses them is written again."""
    for source in BUNDLES.rglob("*"):
        if source.suffix in (".js", ".css"):
            write(Path(app.outdir, FOLDER, source.relative_to(BUNDLES)), source.read_bytes())


def setup(app: Sphinx) -> None:
    app.add_node(widget_view, html=(_visit_widget_view, None))
    app.connect("builder-inited", copy_bundles)
    app.connect("doctree-read", place_widgets)
    app.connect("html-page-context", add_widget_assets, priority=900)

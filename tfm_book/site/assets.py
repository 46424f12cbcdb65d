"""Serve each page's styles, fonts and scripts from the book itself, and leave out those that the page does not use."""

from __future__ import annotations

import html
import re
from importlib.resources import files
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from tfm_book.site.patches import script, stylesheet

THEME = Path(__file__).parent / "theme"
CHECKOUT = Path(__file__).resolve().parents[2]

#: npm package of a font → its style sheets. Only these subsets are served; other scripts use the reader's fonts.
FONTS = {"source-sans-3": ("wght.css", "wght-italic.css"), "jetbrains-mono": ("wght.css",)}
SUBSETS = ("latin", "latin-ext", "greek")

OURS = "_tfm"
SCRIPTS = ("book.js", "asks.js", "reading.js", "search.js")

#: Redirects the book's address to its first page; names an empty icon, because browsers request one otherwise.
INDEX = """\
<!doctype html>
<html lang="{lang}">
<head>
<meta charset="utf-8"/>
<title>{title}</title>
<link rel="icon" href="data:,"/>
<meta http-equiv="refresh" content="0; url={first}"/>
</head>
<body><a href="{first}">{title}</a></body>
</html>
"""


def package_folder(name: str, book: Path) -> Path:
    """Return the folder of the npm package `name`, in the `book`'s sources or in the checkout of this library.

    Raises FileNotFoundError with an explanation if it is in neither.
    """
    for root in (book, CHECKOUT):
        if (folder := root / "frontend" / "node_modules" / name).is_dir():
            return folder
    raise FileNotFoundError(
        f"The npm package {name} is not in frontend/node_modules: run `make book`, or `npm ci` in frontend/."
    )


def copy_assets(app: Sphinx) -> None:
    """Write the book's own styles, scripts and fonts into the output, changing only files that differ."""
    if app.builder.format != "html":
        return
    out = Path(app.outdir) / OURS
    faces, fonts = _font_faces(Path(app.srcdir))
    tokens = files("tfm_lib.drawing").joinpath("tokens.css").read_text(encoding="utf-8")
    write(
        out / "book.css",
        "\n".join(
            [tokens, faces, *((THEME / f"{name}.css").read_text(encoding="utf-8") for name in ("book", "asks"))]
        ).encode(),
    )
    for name in SCRIPTS:
        write(out / name, (THEME / name).read_bytes())
    katex = package_folder("katex", Path(app.srcdir)) / "dist"
    sheet = (katex / "katex.min.css").read_text(encoding="utf-8")
    sheet = re.sub(r',url\([^)]+\) format\("(?:woff|truetype)"\)', "", sheet)
    write(out / "katex.css", sheet.encode())
    for font in re.findall(r"url\((fonts/[^)]+)\)", sheet):
        write(out / font, (katex / font).read_bytes())
    for font in fonts:
        write(out / "fonts" / font.name, font.read_bytes())
    for korean in (THEME / "fonts").iterdir():  # with its licence
        write(out / "fonts" / korean.name, korean.read_bytes())
    title, first = html.escape(app.config.html_title or app.config.project), f"{app.config.root_doc}.html"
    index = INDEX.format(lang=app.config.language or "en", title=title, first=first)
    write(Path(app.outdir) / "index.html", index.encode())


def _font_faces(book: Path) -> tuple[str, list[Path]]:
    """Return the `@font-face` rules of the subsets that the book serves, and the font files that they name."""
    rules, fonts = [], []
    for package, sheets in FONTS.items():
        folder = package_folder(f"@fontsource-variable/{package}", book)
        for sheet in sheets:
            text = (folder / sheet).read_text(encoding="utf-8")
            for rule in re.findall(r"@font-face \{.*?\}", text, flags=re.DOTALL):
                name = re.search(r"url\(\./files/([^)]+)\)", rule)[1]
                if re.sub(rf"^{package}-|-wght-(?:normal|italic)\.woff2$", "", name) in SUBSETS:
                    rules.append(rule.replace("./files/", "fonts/"))
                    fonts.append(folder / "files" / name)
    return "\n".join(rules), fonts


def drop_thebe(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Remove the settings of sphinx-thebe, which Jupyter Book always loads, so that no page starts a remote kernel."""
    for raw in list(doctree.findall(nodes.raw)):
        if "thebe" in raw.astext()[:200] and "<script" in raw.astext():
            raw.parent.remove(raw)


def write(path: Path, content: bytes) -> None:
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def mend(app: Sphinx, pagename: str, templatename: str, context: dict, doctree: nodes.document | None) -> None:
    """Fix accessibility faults in Sphinx's HTML: roles in the bibliography, and empty header cells."""
    body = context.get("body", "")
    body = body.replace('role="doc-biblioentry"', 'role="listitem"')
    context["body"] = re.sub(r'<th class="head[^"]*">(?:<p>\s*</p>)?</th>', "<td></td>", body)


def choose_assets(app: Sphinx, pagename: str, templatename: str, context: dict, doctree: nodes.document | None) -> None:
    """Keep only the styles and scripts that the page needs (extensions add theirs to every page)."""
    body = context.get("body", "")
    context["css_files"] = [stylesheet(f"{OURS}/book.css", priority=900)]
    context["css_files"] += context.get("tfm_widget_styles", [])
    if 'class="katex' in body:
        context["css_files"].append(stylesheet(f"{OURS}/katex.css", priority=100))
    scripts = [script(f"{OURS}/{name}", priority=900, defer="defer") for name in ("book.js", "reading.js")]
    if 'class="tfm-ask"' in body:
        scripts.append(script(f"{OURS}/asks.js", priority=900, defer="defer"))
    if templatename == "search.html":
        scripts += [script(f"{OURS}/{name}", priority=910, defer="defer") for name in ("sections.js", "search.js")]
    context["script_files"] = [*scripts, *context.get("tfm_widget_scripts", [])]


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", copy_assets)
    app.connect("doctree-resolved", drop_thebe, priority=900)
    app.connect("html-page-context", mend, priority=940)
    app.connect("html-page-context", choose_assets, priority=950)

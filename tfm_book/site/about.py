"""Give each page its metadata: title, description, share picture and citation."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx

from tfm_book.notebooks.rasters import raster
from tfm_book.notebooks.reading_order import teaser
from tfm_book.site.assets import OURS, write
from tfm_book.site.search import sections_of, words_of_formula
from tfm_lib import __version__
from tfm_lib.drawing.display import colours

PICTURE = "share.png"
NEWEST = "version.json"  # asks a page that was kept, or left open, whether its site has a newer version by now
FIGURE = "chapters/figures/transformer.svg"
CHANGES = "chapters/changes"
LONG = 200  # characters of a description
WIDE, HIGH = 1200, 630


def description(words: str) -> str:
    """Return the first sentences of `words` that fit into a description; part of the first if it alone is too long."""
    words = re.sub(r"\{[\w:]+\}`([^`<]*?)\s*(?:<[^>`]*>)?`", r"\1", " ".join(words.split()))
    words = re.sub(r"\$([^$]+)\$", lambda formula: words_of_formula(formula[1]), words)
    words = re.sub(r"[*`]", "", words)
    words = words[:1].upper() + words[1:]
    kept = ""
    for sentence in re.findall(r".+?[.?!](?= |$)|.+$", words):
        if len(kept) + len(sentence) > LONG:
            break
        kept = f"{kept} {sentence.strip()}".strip()
    return kept or f"{words[: LONG - 2].rsplit(' ', 1)[0]} …"


def share_picture(root: Path, title: str) -> bytes:
    """Draw the book's picture of the Transformer beside its title, as a PNG in the proportions of a shared link."""
    figure = (root / FIGURE).read_text(encoding="utf-8")
    figure = figure[figure.index("<svg") :]
    _, _, width, height = map(float, re.search(r'viewBox="([^"]+)"', figure)[1].split())
    room = HIGH - 60
    wide = room * width / height
    head = re.match(r"<svg\b[^>]*>", figure)[0]
    placed = re.sub(r'\s(?:width|height|x|y)="[^"]*"', "", head)
    placed = placed.replace("<svg", f'<svg x="{WIDE - wide - 50:.0f}" y="30" width="{wide:.0f}" height="{room}"', 1)
    lines = _broken(title, 14)
    ink, soft = colours()["ink"], colours()["soft"]
    words = "".join(
        f'<text x="70" y="{255 + 84 * i}" font-size="78" font-weight="700" fill="{ink}">{line}</text>'
        for i, line in enumerate(lines)
    )
    below = 255 + 84 * len(lines)
    words += f'<text x="70" y="{below}" font-size="34" fill="{soft}">An interactive book</text>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 {WIDE} {HIGH}">'
    return raster(f"{svg}{words}{placed}{figure[len(head) :]}</svg>")


def _broken(title: str, most: int) -> list[str]:
    lines = [""]
    for word in title.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > most:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def citation(cff: dict[str, Any], year: str) -> dict[str, str]:
    """Return the citation that a CITATION.cff describes, as a sentence and as BibTeX."""
    year = str(cff.get("date-released", year))[:4]
    people = [_person(author) for author in cff["authors"]]
    names = " and ".join(f"{{{name}}}" if whole else name for name, whole in people)
    fields = {"title": f"{{{cff['title']}}}", "author": names, "year": year, "note": f"Version {cff['version']}"}
    address = cff.get("url") or cff.get("repository-code")
    if address:
        fields["url"] = address
    lines = ",\n".join(f"  {key} = {{{value}}}" for key, value in fields.items())
    key = re.sub(r"\W+", "-", cff["title"].lower()).strip("-")
    text = f"{', '.join(name for name, _ in people)} ({year}). {cff['title']}. Version {cff['version']}."
    return {"text": f"{text} {address}" if address else text, "bibtex": f"@misc{{{key},\n{lines}\n}}"}


def _person(author: dict[str, str]) -> tuple[str, bool]:
    """Return the author's name, and whether it must be kept as one unit."""
    if "name" in author:
        return author["name"], True
    return f"{author['family-names']}, {author['given-names']}", False


@cache
def _cited(path: Path, written: float) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def tell(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Pass the metadata of the page and of the book to the template."""
    root = Path(app.srcdir)
    cff, base = root / "CITATION.cff", (app.config.html_baseurl or "").rstrip("/")
    if cff.is_file():
        year = re.search(r"\d{4}", str(app.config.copyright))
        context["tfm_cite"] = citation(_cited(cff, cff.stat().st_mtime), year[0] if year else "")
    context["tfm_version"] = __version__
    context["tfm_changes"] = context["pathto"](CHANGES) if CHANGES in app.env.found_docs else ""
    if doctree is None:
        return
    found = sections_of(doctree)
    title = found[0][1] if found else pagename
    source = Path(app.env.doc2path(pagename))
    words = teaser(source) if source.suffix == ".md" else ""
    context["tfm_title"] = title
    context["tfm_description"] = description(words or next((text for _, _, text, _ in found if text), title))
    if (root / FIGURE).is_file():
        context["tfm_picture"] = f"{base}/{OURS}/{PICTURE}" if base else context["pathto"](f"{OURS}/{PICTURE}", 1)


def draw(app: Sphinx) -> None:
    if app.builder.format == "html" and (Path(app.srcdir) / FIGURE).is_file():
        picture = share_picture(Path(app.srcdir), app.config.html_title or app.config.project)
        write(Path(app.outdir) / OURS / PICTURE, picture)


def say_newest(app: Sphinx, error: Exception | None) -> None:
    """Write the site's version where its pages look for it."""
    if error is None and app.builder.format == "html":
        write(Path(app.outdir) / NEWEST, json.dumps({"version": __version__}).encode())


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", draw)
    app.connect("build-finished", say_newest)
    app.connect("html-page-context", tell, priority=930)

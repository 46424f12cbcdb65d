"""Write decks of slides into a folder that opens without a network."""

from __future__ import annotations

import html
import posixpath
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from bs4 import BeautifulSoup

from tfm_book.site.assets import THEME
from tfm_book.slides.outline import ELSEWHERE, Deck, Slide, outline

OURS = "_slides"  # folder of the decks' own script and styles
PICTURE = re.compile(r'(?<=<img )[^>]*?src="([^"]+)"')
#: Scripts of the page around a chapter, which a deck does not have.
OF_THE_PAGE = {"book.js", "reading.js", "asks.js", "search.js"}
# What a widget's script loads while it runs, and what in the script tells so.
LAZY = {"engine.js": ['"engine.js"'], "twin.js": ['"twin.js"', "twinFor"], "storyteller.js": ["storyteller"]}
HOST = "host.js"  # shows widgets; a deck runs it when a slide with a widget comes up
STATE = 'script[type="application/vnd.jupyter.widget-state+json"]'
KEYS = (
    ("<kbd>→</kbd> <kbd>Page Down</kbd> <kbd>Space</kbd>", "next slide, or the answer to a question"),
    ("<kbd>←</kbd> <kbd>Page Up</kbd>", "previous slide"),
    ("<kbd>Home</kbd> <kbd>End</kbd>", "first slide, last slide"),
    ("<kbd>O</kbd>", "overview of all slides; <kbd>Enter</kbd> opens the marked one"),
    ("<kbd>S</kbd>", "speaker notes"),
    ("<kbd>F</kbd>", "full screen"),
    ("<kbd>Esc</kbd>", "leave a widget, so that the keys turn slides again"),
    ("<kbd>?</kbd>", "this list"),
)


def write_decks(
    built: Path,
    names: Sequence[str],
    to: Path,
    book: str,
    tell: Callable[[str, int], None] = lambda name, slides: None,
) -> list[Deck]:
    """Write a deck for each of the built pages `names` (`chapters/masking`) into the folder `to`, and an index of them.

    `book` is the book's title. Calls `tell` with the file and the number of slides of each deck. A page without
    anything to show gets no deck.
    """
    decks: dict[str, Deck] = {}
    wanted: set[str] = set()
    for name in names:
        page = BeautifulSoup((built / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
        for box in page.select(".tfm-beside, .tfm-beside > div"):
            box.unwrap()
        deck = outline(page)
        if len(deck.slides) < 2:
            continue
        at = PurePosixPath(name)
        file, text = f"{at.name}.html", render(page, deck, at, book)
        wanted |= {path for _, path in _assets(page, at)}
        wanted |= {unquote(path) for path in PICTURE.findall(text) if not path.startswith("data:")}
        to.mkdir(parents=True, exist_ok=True)
        (to / file).write_text(text, encoding="utf-8")
        decks[file] = deck
        tell(file, len(deck.slides))
    if not decks:
        return []
    for path in sorted(_with_dependencies(built, wanted)):
        target = to / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(built / path, target)
    (to / OURS).mkdir(exist_ok=True)
    for source in (*(Path(__file__).with_name(file) for file in ("deck.css", "deck.js")), THEME / "head.js"):
        shutil.copyfile(source, to / OURS / source.name)
    (to / "index.html").write_text(_index(decks, book, to), encoding="utf-8")
    return list(decks.values())


def render(page: BeautifulSoup, deck: Deck, at: PurePosixPath, book: str) -> str:
    """Return the HTML of a deck; its addresses are relative to the book's folder."""
    policy = page.select_one('meta[http-equiv="Content-Security-Policy"]')
    head = [*([str(policy)] if policy else []), f'<script src="{OURS}/head.js"></script>']
    widgets = any(slide.kind == "widget" for slide in deck.slides)
    host = ""
    for tag, path in _assets(page, at):
        if tag == "script" and PurePosixPath(path).name == HOST:
            host = f' data-host="{path}"'
        elif tag == "script" and widgets:
            head.append(f'<script defer src="{path}"></script>')
        elif tag != "script":
            head.append(f'<link rel="{tag}" href="{path}"/>')
    head.append(f'<link rel="stylesheet" href="{OURS}/deck.css"/>')
    head.append(f'<script defer src="{OURS}/deck.js"{host if widgets else ""}></script>')
    state = page.select_one(STATE)
    count = len(deck.slides)
    slides = "\n".join(_slide(slide, i, count) for i, slide in enumerate(deck.slides, start=1))
    slides = PICTURE.sub(lambda img: img[0].replace(img[1], _path(img[1], at)), slides)
    keys = "".join(f"<dt>{key}</dt><dd>{use}</dd>" for key, use in KEYS)
    language = page.html.get("lang", "en") if page.html else "en"
    return f"""\
<!DOCTYPE html>
<html lang="{language}" data-theme="light">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>{html.escape(deck.title)} · slides · {html.escape(book)}</title>
{chr(10).join(head)}
</head>
<body class="deck">
<main class="deck-slides">
{slides}
</main>
<nav class="deck-bar" aria-label="Slides">
<a class="deck-home" href="index.html">{html.escape(book)}</a>
<button type="button" data-do="back" aria-label="Previous slide">‹</button>
<output class="deck-place">1 of {count}</output>
<button type="button" data-do="next" aria-label="Next slide">›</button>
<button type="button" data-do="keys" aria-label="Keys">?</button>
<progress class="deck-progress" max="{count}" value="1" aria-hidden="true"></progress>
</nav>
<p class="deck-live" role="status"></p>
<dialog class="deck-keys" aria-label="Keys"><dl>{keys}</dl></dialog>
{state if state and widgets else ""}
</body>
</html>
"""


def _slide(slide: Slide, number: int, count: int) -> str:
    heading = f'<h2 class="deck-heading">{slide.heading}</h2>\n' if slide.heading else ""
    notes = "".join(slide.notes)
    notes = f'<aside class="deck-notes" aria-label="Notes">{notes}</aside>\n' if notes else ""
    label = html.escape(f"{number} of {count}: {slide.label}")
    return (
        f'<section class="deck-slide deck-{slide.kind}" aria-roledescription="slide" aria-label="{label}">\n'
        f'{heading}<div class="deck-stage"><div class="deck-fit tfm-article">{slide.body}</div></div>\n{notes}</section>'
    )


def _assets(page: BeautifulSoup, at: PurePosixPath) -> Iterator[tuple[str, str]]:
    """Yield kind (`stylesheet`, `icon` or `script`) and path in the book of what the page `at` loads and a deck needs."""
    for tag in page.select("head link[href], head script[src]"):
        kind = tag.name if tag.name == "script" else str(tag.get_attribute_list("rel")[0])
        address = str(tag.get("src") or tag.get("href"))
        name = PurePosixPath(address.partition("?")[0]).name
        if kind in ("stylesheet", "icon", "script") and name not in OF_THE_PAGE and not ELSEWHERE.match(address):
            yield kind, _path(address, at)


def _path(address: str, page: PurePosixPath) -> str:
    """Return the path in the book of what a page calls `address`; data within the page stay as they are."""
    return address if address.startswith("data:") else posixpath.normpath(page.parent / address.partition("?")[0])


def _with_dependencies(built: Path, wanted: set[str]) -> set[str]:
    """Add what style sheets refer to, and what the widgets' scripts load while they run."""
    found = set(wanted)
    for path in [path for path in wanted if path.endswith(".css")]:
        for address in re.findall(r'url\(["\']?([^"\')]+)', (built / path).read_text(encoding="utf-8")):
            inner = _path(address, PurePosixPath(path))
            if not inner.startswith("data:") and (built / inner).is_file():
                found.add(inner)
    scripts = {path for path in wanted if path.endswith(".js")}
    kits = {path for path in scripts if path.endswith("/kit.js")}
    for kit in kits:
        folder = PurePosixPath(kit).parent
        code = "".join((built / path).read_text(encoding="utf-8") for path in sorted(scripts - kits))
        lazy = {name for name, asks in LAZY.items() if any(ask in code for ask in asks)}
        found |= {str(folder / name) for name in lazy}
        for name in lazy:
            loader = (built / folder / name).read_text(encoding="utf-8")
            for model in (
                each
                for each in (built / folder).iterdir()
                if each.is_dir() and re.search(rf'["`]{each.name}["`/]', loader)
            ):
                found |= {str(part.relative_to(built)) for part in model.rglob("*.js")}
    return found


def _index(decks: dict[str, Deck], book: str, to: Path) -> str:
    items = "\n".join(
        f'<li><a href="{file}">{html.escape(deck.title)}</a> <span>{len(deck.slides)} slides</span>'
        f"<p>{html.escape(deck.question)}</p></li>"
        for file, deck in decks.items()
    )
    style = '<link rel="stylesheet" href="_tfm/book.css"/>' if (to / "_tfm" / "book.css").is_file() else ""
    return f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>Slides · {html.escape(book)}</title>
<link rel="icon" href="data:,"/>
{style}
<link rel="stylesheet" href="{OURS}/deck.css"/>
<script src="{OURS}/head.js"></script>
</head>
<body class="deck-index">
<main>
<h1>{html.escape(book)}: slides</h1>
<ol>
{items}
</ol>
</main>
</body>
</html>
"""

"""Make self-contained HTML pages: no network access, no scripts but our own, and all text escaped."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import keyword
import re
import tokenize
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from tfm_grader.tables import DIRECTION

STYLE = """
body { font: 1rem/1.55 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--tfm-ink); background: var(--tfm-paper); }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .4rem; }
.points { font-variant-numeric: tabular-nums; font-weight: 600; white-space: nowrap; }
.card { border: 1px solid var(--tfm-line); border-radius: .5rem; background: var(--tfm-card); padding: .2rem 1rem .8rem; margin: 1rem 0; }
.card h2 { display: flex; justify-content: space-between; gap: 1rem; margin-top: .8rem; }
.held { color: var(--tfm-value); } .not { color: var(--tfm-broken); } .soft { color: var(--tfm-soft); }
ul { padding-left: 1.2rem; list-style: none; } li { overflow-wrap: anywhere; } li::before { display: inline-block; width: 1.2rem; margin-left: -1.2rem; }
li.held::before { content: "✓"; } li.not::before { content: "→"; }
blockquote { margin: .5rem 0; padding-left: 1rem; border-left: 3px solid var(--tfm-line); white-space: pre-wrap; overflow-wrap: anywhere; }
pre { margin: .5rem 0; padding: .6rem .8rem; border-radius: .3rem; background: var(--tfm-w0); overflow-x: auto; tab-size: 4;
  font: .85rem/1.5 var(--tfm-mono); }
pre .k { color: var(--tfm-decoder); } pre .s { color: var(--tfm-value); } pre .c { color: var(--tfm-soft); }
summary { cursor: pointer; } details { margin: .5rem 0; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .25rem .5rem; border-bottom: 1px solid var(--tfm-line); overflow-wrap: anywhere; }
th { overflow-wrap: normal; } td:first-child { min-width: min(8rem, 28vw); }
figure { margin: 1rem 0; } svg { max-width: 100%; height: auto; }
"""
CONTROL = re.compile(r"[^\t\n\r -~\xa0-\U0010ffff]")
MAX_CODE = 20_000  # maximum characters of a student's code on a page


def page(title: str, body: str, style: str = "", script: str = "") -> str:
    """Build a complete page. Only `script` can run in it, whatever `body` contains."""
    allowed = f"; script-src 'sha256-{_sha256(script)}'" if script else ""
    policy = f"default-src 'none'; style-src 'unsafe-inline'{allowed}"
    end = f"<script>{script}</script>" if script else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{_colours()}{STYLE}{style}</style></head>"
        f"<body><main>\n{body}\n</main>{end}</body></html>\n"
    )


def text(words: str) -> str:
    """Escape `words` for a page: control characters become �, and those of direction go, which could reorder what follows."""
    return html.escape(CONTROL.sub("\ufffd", "".join(char for char in words if char not in DIRECTION)))


def html_table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    top = "".join(f"<th>{text(name)}</th>" for name in head)
    lines = "".join("<tr>" + "".join(f"<td>{text(str(value))}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"


def code(source: str) -> str:
    """Format Python for a page, with keywords, strings and comments highlighted as far as it can be tokenised."""
    cut = len(source) > MAX_CODE
    source = source[:MAX_CODE]
    parts, lines, at = [], source.splitlines(keepends=True), (1, 0)
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            kind = _kind(token)
            if kind:
                parts.append(text(_between(lines, at, token.start)))
                parts.append(f'<span class="{kind}">{text(_between(lines, token.start, token.end))}</span>')
                at = token.end
    except (tokenize.TokenError, SyntaxError, IndexError):
        pass  # the rest is not highlighted
    parts.append(text(_between(lines, at, (len(lines) + 1, 0))))
    return f'<pre tabindex="0">{"".join(parts).rstrip()}{" …" if cut else ""}</pre>'


def _kind(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.COMMENT:
        return "c"
    if token.type == tokenize.STRING:
        return "s"
    return "k" if token.type == tokenize.NAME and keyword.iskeyword(token.string) else ""


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """Return the text from `start` to `end`, each a (line, column) with lines counted from 1."""
    (first, begin), (last, stop) = start, end
    if first == last:
        return lines[first - 1][begin:stop] if first <= len(lines) else ""
    whole = lines[first - 1 : last]
    if not whole:
        return ""
    if last <= len(lines):
        whole[-1] = whole[-1][:stop]
    whole[0] = whole[0][begin:]
    return "".join(whole)


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _colours() -> str:
    """Return the book's colours; the dark set applies if the system prefers it, as no script can choose here."""
    css = files("tfm_lib.drawing").joinpath("tokens.css").read_text(encoding="utf-8")
    light, _, dark = css.partition("@media")
    dark = dark[dark.rindex("{") : dark.index("}") + 1]
    return f":root {{ color-scheme: light dark; }}\n{light}@media screen and (prefers-color-scheme: dark) {{ :root {dark} }}\n"

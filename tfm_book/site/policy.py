"""Define each page's content security policy: nothing from other hosts, and only the book's own scripts.

The policy is part of the page, because a page opened from a folder has no server to send it.
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

#: Runs before the page is drawn, so that a dark page does not flash light; the only inline script of a page.
HEAD = (Path(__file__).parent / "theme" / "head.js").read_text(encoding="utf-8")
#: sphinx_thebe writes it into each page with code; the book does not use it.
THEBE = re.compile(r"<script>kernelName = [^<]*</script>\n?")


def policy(*scripts: str) -> str:
    """Return the content security policy for a page that contains these scripts.

    `blob:` is for the translator's worker and for widgets of other libraries, whose code is text in the page, and
    `wasm-unsafe-eval` for the translator's WebAssembly. Inline styles are allowed because many drawings have them.
    """
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    parts = {
        "default-src": "'self'",
        "script-src": " ".join(["'self' blob: 'wasm-unsafe-eval'", *(f"'sha256-{each}'" for each in hashes)]),
        "worker-src": "blob:",
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "object-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'self'",
    }
    return "; ".join(f"{name} {value}" for name, value in parts.items())


def tell(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    context["tfm_head"], context["tfm_policy"] = HEAD, policy(HEAD)
    if "body" in context:
        context["body"] = THEBE.sub("", context["body"])


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", tell, priority=940)

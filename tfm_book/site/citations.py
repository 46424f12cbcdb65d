"""Write all pages again when the bibliography's entries change: a link to an entry holds its place in the list."""

from __future__ import annotations

from collections.abc import Iterable

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def outdated(app: Sphinx, env: BuildEnvironment) -> Iterable[str]:
    """Return every page if an entry was added, removed or has moved since the last build, else none."""
    if not app.registry.has_domain("cite"):  # a book without a bibliography
        return []
    entries = [(citation.key, citation.citation_id) for citation in env.get_domain("cite").citations]
    before, env.tfm_citations = getattr(env, "tfm_citations", None), entries
    return sorted(env.found_docs) if before not in (None, entries) else []


def setup(app: Sphinx) -> None:
    app.connect("env-updated", outdated, priority=900)  # after the bibliography's own, which lists the entries

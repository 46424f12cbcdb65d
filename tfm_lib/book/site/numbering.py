"""Figures, equations and exercises count from 1 in each chapter, so that a new chapter renumbers no other."""

from __future__ import annotations

from sphinx.application import Sphinx


def _number_per_book(app: Sphinx, env) -> list[str]:
    env.toc_fignumbers = getattr(env, "tfm_fignumbers", env.toc_fignumbers)
    return []


def _number_per_chapter(app: Sphinx, env) -> list[str]:
    env.tfm_fignumbers = env.toc_fignumbers
    env.toc_fignumbers = {
        docname: {kind: {id: (i,) for i, id in enumerate(ids, start=1)} for kind, ids in kinds.items()}
        for docname, kinds in env.toc_fignumbers.items()
    }
    return []


def setup(app: Sphinx) -> None:
    app.connect("env-get-updated", _number_per_book, priority=400)  # Sphinx compares with its own numbers of last time
    app.connect("env-get-updated", _number_per_chapter, priority=600)

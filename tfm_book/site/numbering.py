"""Number figures, equations and exercises from 1 in each chapter, so that a new chapter renumbers no other."""

from __future__ import annotations

from sphinx.application import Sphinx

from tfm_book.site.patches import figure_numbers, set_figure_numbers


def _number_per_book(app: Sphinx, env) -> list[str]:
    set_figure_numbers(env, getattr(env, "tfm_fignumbers", figure_numbers(env)))
    return []


def _number_per_chapter(app: Sphinx, env) -> list[str]:
    env.tfm_fignumbers = figure_numbers(env)
    anew: dict[str, dict[str, dict[str, tuple[int, ...]]]] = {
        docname: {kind: {id: (i,) for i, id in enumerate(ids, start=1)} for kind, ids in kinds.items()}
        for docname, kinds in env.tfm_fignumbers.items()
    }
    set_figure_numbers(env, anew)
    return []


def setup(app: Sphinx) -> None:
    app.connect("env-get-updated", _number_per_book, priority=400)  # Sphinx compares with its own numbers of last time
    app.connect("env-get-updated", _number_per_chapter, priority=600)

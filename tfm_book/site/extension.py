"""The book's Sphinx extension: sets up the modules of this package, one for each part of a page."""

from __future__ import annotations

from sphinx.application import Sphinx
from sphinx.config import Config

from tfm_book.site import (
    about,
    asks,
    assets,
    boxes,
    chapter_list,
    citations,
    doors,
    downloads,
    excerpts,
    highlighting,
    korean,
    maths,
    model_scripts,
    numbering,
    page_widgets,
    pictures,
    policy,
    predictions,
    scoreboard,
    search,
    terms,
    writing,
)


def _configure(app: Sphinx, config: Config) -> None:
    config.templates_path.insert(0, str(assets.THEME / "templates"))
    config.html_copy_source = False  # the page offers more useful sources: see `downloads`
    config.html_show_sourcelink = False
    config.html_use_index = False
    config.html_domain_indices = False
    config.html_permalinks_icon = "#"
    config.exercise_style = "solution_follow_exercise"


def setup(app: Sphinx) -> dict[str, object]:
    app.connect("config-inited", _configure, priority=900)
    for part in (
        about,
        asks,
        assets,
        boxes,
        chapter_list,
        citations,
        doors,
        downloads,
        excerpts,
        highlighting,
        korean,
        maths,
        model_scripts,
        numbering,
        page_widgets,
        pictures,
        policy,
        predictions,
        scoreboard,
        search,
        terms,
        writing,
    ):
        part.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

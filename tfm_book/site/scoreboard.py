"""Draw the scoreboard in the page: a table whose rows are bars, with a dot for each seed."""

from __future__ import annotations

import html
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tfm_book.notebooks.scoreboard import PIECES, TITLE, Row, longer, rows, task

MOST = 40.0  # BLEU at the right end of a bar
ROW = (
    '<tr{now}><th scope="row"><a href="{stem}.html">{name}</a> <span>{piece}</span></th>'
    '<td aria-hidden="true"><div class="tfm-score"><span style="width: {mean:.1f}%"></span>{dots}</div></td>'
    '<td>{score:.1f} <span class="tfm-heard-only">({by_seed})</span></td></tr>'
)
DOT = '<i style="left: {at:.1f}%"></i>'
TABLE = (
    '<table><caption>{title}</caption><thead><tr><th scope="col">chapter: what is new</th>'
    '<td aria-hidden="true"></td><th scope="col">BLEU <span class="tfm-heard-only">(one number per seed)</span></th></tr></thead>'
    "<tbody>{rows}</tbody></table>"
)


class Scoreboard(SphinxDirective):
    """`:::{scoreboard} masking`, with a sentence about the last row: shows the rows up to this chapter's."""

    required_arguments = 1
    has_content = True

    def run(self):
        stem = self.arguments[0]
        if stem not in PIECES:
            return [self.state_machine.reporter.error(f"The scoreboard has no row for {stem}.")]
        for name in ("scoreboard", "scoreboard_long"):
            self.env.note_dependency(str(Path(self.env.srcdir, f"experiments/results/{name}.json")))
        made = "".join(drawn(row, row.stem == stem) for row in rows(stem))
        made += "".join(drawn(row, now=False) for row in longer(stem))
        box = nodes.container(classes=["tfm-scoreboard"])
        table = TABLE.format(title=TITLE, rows=made)
        box += nodes.raw(table, table, format="html")
        box += nodes.paragraph(task(stem), task(stem), classes=["tfm-task"])
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


def drawn(row: Row, now: bool) -> str:
    """Return a row of the table; the chapter's own is marked."""
    return ROW.format(
        now=' aria-current="true"' if now else "", stem=row.stem, name=html.escape(row.name), piece=html.escape(row.piece),
        mean=100 * row.mean / MOST, score=row.mean, by_seed=row.by_seed,
        dots="".join(DOT.format(at=100 * x / MOST) for x in row.scores),
    )  # fmt: skip


def setup(app: Sphinx) -> None:
    app.add_directive("scoreboard", Scoreboard)

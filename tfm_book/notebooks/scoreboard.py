"""Build the scoreboard: the results of every model of Parts I and II on one task, one row per chapter."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

from tfm_lib.drawing.recorded import basis, recorded

#: What each chapter's model is, or what it adds to the model of the row above.
PIECES = {
    "recurrence": "two GRUs, one vector between them",
    "attention": "a look-up among all states",
    "alignment": "a score that is learned",
    "self_attention": "attention in place of the GRUs",
    "masking": "the causal mask",
    "multihead": "four heads",
    "positional": "positions",
    "layers": "norms, feed-forward networks",
    "transformer": "twice as many layers",
}
TITLE = "One task, chapter by chapter"
TASK = (
    "BLEU compares translations with a reference, from 0 to 100 (see the chapter Evaluation), here for {pairs} pairs of the Tatoeba "
    "collection's test part ({sources} English sentences, some with several French ones), written greedily. Each row has a learning rate "
    "of its own, the best of {rates} on the validation part with seed 0, and otherwise the same training ({basis})."
)
LONGER = "{piece}, trained longer"
LONGER_TASK = " The last two had more time ({basis}), at the rates of the rows above: {minutes} CPU minutes a run."


@dataclass(frozen=True)
class Row:
    """The result of the model of the chapter `stem`: one BLEU score per seed."""

    stem: str
    piece: str
    scores: list[float]

    @property
    def mean(self) -> float:
        return mean(self.scores)

    @property
    def by_seed(self) -> str:
        return ", ".join(f"{score:.1f}" for score in self.scores)

    @property
    def name(self) -> str:
        return self.stem.replace("_", "-").capitalize()


def rows(stem: str) -> list[Row]:
    """Return the rows up to the chapter `stem`; raises ValueError if it has none."""
    if stem not in PIECES:
        raise ValueError(f"The scoreboard has no row for {stem}; it has {', '.join(PIECES)}.")
    chapters = recorded("scoreboard")["chapters"]
    until = list(PIECES)[: list(PIECES).index(stem) + 1]
    return [Row(name, PIECES[name], [run["test"]["bleu"] for run in chapters[name]["runs"]]) for name in until]


def longer(stem: str) -> list[Row]:
    """Return the two rows that end the last board, of models that trained ten times as long; none on the boards before it."""
    if stem != list(PIECES)[-1]:
        return []
    chapters = recorded("scoreboard_long")["chapters"]
    return [
        Row(name, LONGER.format(piece=PIECES[name]), [run["test"]["bleu"] for run in runs])
        for name, runs in chapters.items()
    ]


def task(stem: str) -> str:
    """Describe the task and the scores' basis."""
    record = recorded("scoreboard")
    tried = sorted({len(record["chapters"][name]["rates"]) for name in [*PIECES][: [*PIECES].index(stem) + 1]})
    told = TASK.format(
        pairs=record["judged"],
        sources=record["sources"],
        rates=" or ".join(map(str, tried)),
        basis=basis(record, *PIECES),
    )
    if not longer(stem):
        return told
    long = recorded("scoreboard_long")
    spent = [mean(run["training_cpu_seconds"] for run in runs) / 60 for runs in long["chapters"].values()]
    return told + LONGER_TASK.format(basis=basis(long), minutes=" and ".join(f"{each:.0f}" for each in spent))


def listed(stem: str) -> str:
    """Return the table in Markdown, for a notebook."""
    shown = rows(stem) + longer(stem)
    lines = [f"| {row.name} | {row.piece} | {row.mean:.1f} ({row.by_seed}) |" for row in shown]
    return "\n".join(
        [
            f"**{TITLE}.** {task(stem)}",
            "",
            "| chapter | what is new | BLEU (one number per seed) |",
            "|---|---|---|",
            *lines,
        ]
    )

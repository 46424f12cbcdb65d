"""The widgets of chapter `evaluation`: BLEU against training cost, and a table of ablations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

import traitlets

from tfm_lib.drawing.recorded import recorded
from tfm_lib.widgets import _figures as draw
from tfm_lib.widgets.base import Widget, Words, one_of, within

#: Table 2 of Vaswani et al. (2017): BLEU on newstest2014 and training cost in floating-point operations. Entries that
#: the paper leaves blank are None. One cost is given for both languages of a Transformer.
TABLE_2 = [
    {"name": "ByteNet", "kind": "single", "de": [None, 23.75], "fr": [None, None]},
    {"name": "Deep-Att + PosUnk", "kind": "single", "de": [None, None], "fr": [1.0e20, 39.2]},
    {"name": "GNMT + RL", "kind": "single", "de": [2.3e19, 24.6], "fr": [1.4e20, 39.92]},
    {"name": "ConvS2S", "kind": "single", "de": [9.6e18, 25.16], "fr": [1.5e20, 40.46]},
    {"name": "MoE", "kind": "single", "de": [2.0e19, 26.03], "fr": [1.2e20, 40.56]},
    {"name": "Deep-Att + PosUnk", "kind": "ensemble", "de": [None, None], "fr": [8.0e20, 40.4]},
    {"name": "GNMT + RL", "kind": "ensemble", "de": [1.8e20, 26.30], "fr": [1.1e21, 41.16]},
    {"name": "ConvS2S", "kind": "ensemble", "de": [7.7e19, 26.36], "fr": [1.2e21, 41.29]},
    {"name": "base", "kind": "transformer", "de": [3.3e18, 27.3], "fr": [3.3e18, 38.1]},
    {"name": "big", "kind": "transformer", "de": [2.3e19, 28.4], "fr": [2.3e19, 41.8]},
]
#: Rows of table 3 of Vaswani et al. (2017): one thing changed in the base model, BLEU on newstest2013.
TABLE_3 = {
    "whole": [25.8],
    "rows": [
        ["one head, 512 wide", [24.9]], ["4 heads", [25.5]], ["16 heads", [25.8]], ["32 heads", [25.4]],
        ["keys 16 wide", [25.1]], ["keys 32 wide", [25.4]], ["2 layers", [23.7]], ["4 layers", [25.3]], ["8 layers", [25.5]],
        ["d_model 256", [24.5]], ["d_model 1024", [26.0]], ["d_ff 1024", [25.4]], ["d_ff 4096", [26.2]],
        ["no dropout", [24.6]], ["dropout of 0.2", [25.5]], ["no label smoothing", [25.3]], ["smoothing of 0.2", [25.7]], ["learned positions", [25.7]],
    ],
}  # fmt: skip
LANGUAGES = ("de", "fr")
BUDGET = (1e18, 2e21)
GUESS = {"de": (22.0, 30.0), "fr": (36.0, 43.0)}
LOSS = (-4.0, 2.0)  # range of guesses, in BLEU
UNGUESSED = 9.0  # stands for no guess: a link holds lists of numbers

COST = Words(
    title="BLEU against training cost",
    question="How many BLEU points did the first Transformer reach?",
    shared={
        "languages": {"de": "English–German", "fr": "English–French"},
        "cost": "operations in training",
        "guess": "your guess for the base model",
        "transformer": "Transformer, {name}",
    },
    alt="BLEU against training cost, {language}: {told}. Within {budget} operations the best is {best}.{guess}",
    guessed=" Guess for the base model: {guess:.1f}.",
    point="{name} {bleu:g} for {cost}",
    none="none",
    ensemble="{name} as an ensemble",
    log="{axis} (log)",
    bleu="BLEU",
)
ABLATION = Words(
    title="What each part is worth",
    question="Which change costs the most BLEU, and which one gains?",
    shared={
        "tables": {"paper": "the paper's table 3", "ours": "ours, in miniature"},
        "points": "change in BLEU against the whole model",
    },
    alt="One change at a time, against {whole:.1f} BLEU of the whole model: {told}.",
    known="{name} {points}",
    hidden="{name} not shown yet",
)


class BleuCost(Widget):
    """The paper's table 2 as a plot of BLEU against operations.

    `value` is a budget in operations, for which the readout names the best system; `language` is "de" or "fr". The
    Transformers appear with `reveal`; `guess` is the reader's guess for the base model. `systems` is as `TABLE_2`.
    """

    _module = traitlets.Unicode("evaluation/bleu_cost").tag(sync=True)
    words = COST
    value = traitlets.Float(2e19).tag(sync=True)
    language = traitlets.Unicode("de").tag(sync=True)
    guess = traitlets.Float(25.0).tag(sync=True)
    ensembles = traitlets.Bool(False).tag(sync=True)
    reveal = traitlets.Bool(False).tag(sync=True)
    systems = traitlets.List().tag(sync=True)

    def __init__(self, systems: Sequence[Mapping[str, Any]] = TABLE_2, **kwargs):
        super().__init__(systems=[dict(system) for system in systems], **kwargs)

    @traitlets.validate("language")
    def _valid_language(self, proposal):
        return one_of("language", proposal["value"], LANGUAGES)

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        return within("value", proposal["value"], *BUDGET)

    @traitlets.validate("guess")
    def _valid_guess(self, proposal):
        return within("guess", proposal["value"], 0, 100)

    @property
    def points(self) -> list[tuple[str, str, float, float]]:
        """The drawn points: name, kind, operations, BLEU."""
        return points(self.systems, self.language, self.ensembles, self.reveal)

    @property
    def best(self) -> tuple[str, str, float, float] | None:
        """The best drawn point that costs no more than `value`."""
        return best(self.points, self.value)

    def named(self, point: tuple[str, str, float, float]) -> str:
        name, kind = point[:2]
        form = {"transformer": self.words.shared["transformer"], "ensemble": self.words.ensemble}.get(kind, "{name}")
        return form.format(name=name)

    @property
    def alt(self) -> str:
        say, top = self.words, self.best
        told = ", ".join(say.point.format(name=self.named(one), bleu=one[3], cost=power(one[2])) for one in self.points)
        return say.alt.format(
            language=say.shared["languages"][self.language], told=told, budget=power(self.value),
            best=f"{self.named(top)}, {top[3]:g}" if top else say.none, guess=say.guessed.format(guess=self.guess),
        )  # fmt: skip

    def figure(self):
        """Draw points with their names; ensembles are open, the budget is a line, a guess is a cross."""
        say = self.words
        fig, ax = draw.figure(width=6.4, height=3.6)
        low, high = GUESS[self.language]
        limits = {"xlim": BUDGET, "ylim": (low, high)}
        plane = draw.Plane(ax, say.log.format(axis=say.shared["cost"]), say.bleu, log="x", **limits)
        for point in self.points:
            name, kind, cost, score = point
            colour = "one" if kind == "transformer" else "ink"
            look = {"fillstyle": "none"} if kind == "ensemble" else {}
            plane.dot(cost, score, colour, name, **look)
        plane.rule(x=self.value, dash="--")
        base = costs_of_base(self.systems, self.language)
        if base and low <= self.guess <= high:
            plane.dot(base, self.guess, "two", mark="x")
        return fig


class AblationTable(Widget):
    """Ablations, one change at a time: the reader guesses the cost of each, then sees it.

    `tables` maps a name to {"whole": scores of the whole model, one per seed, "rows": [[what is changed, scores], …]};
    `table` is the displayed one. `value` is the selected row, `guess` the reader's guess for it, in points
    against the whole model; `guesses` holds those made so far, one per row or `UNGUESSED`, `shown` says which rows are
    uncovered, `reveal` uncovers all.
    """

    _module = traitlets.Unicode("evaluation/ablation_table").tag(sync=True)
    words = ABLATION
    table = traitlets.Unicode("paper").tag(sync=True)
    value = traitlets.Int(0).tag(sync=True)
    guess = traitlets.Float(0.0).tag(sync=True)
    guesses = traitlets.List(traitlets.Float()).tag(sync=True)
    shown = traitlets.List(traitlets.Bool()).tag(sync=True)
    reveal = traitlets.Bool(False).tag(sync=True)
    tables = traitlets.Dict().tag(sync=True)

    def __init__(self, tables: Mapping[str, Mapping[str, Any]] | None = None, **kwargs):
        found = {"paper": TABLE_3} if tables is None else {name: dict(table) for name, table in tables.items()}
        most = max(len(table["rows"]) for table in found.values())
        lists = {"guesses": [UNGUESSED] * most, "shown": [False] * most}
        super().__init__(tables=found, **{"table": next(iter(found)), **lists, **kwargs})

    @traitlets.validate("table")
    def _valid_table(self, proposal):
        return one_of("table", proposal["value"], self.tables or (proposal["value"],))

    @traitlets.validate("value")
    def _valid_value(self, proposal):
        rows = self.tables[self.table]["rows"] if self.table in self.tables else ()
        return within("value", proposal["value"], 0, max(0, len(rows) - 1)) if rows else proposal["value"]

    @traitlets.validate("guess")
    def _valid_guess(self, proposal):
        return within("guess", proposal["value"], *LOSS)

    @traitlets.validate("guesses", "shown")
    def _valid_list(self, proposal):
        name, found = proposal["trait"].name, proposal["value"]
        most = max((len(table["rows"]) for table in self.tables.values()), default=len(found))
        if len(found) != most:
            raise ValueError(
                f"{name} must hold {most} entries, one for each row of the longest table; it holds {len(found)}"
            )
        return found

    @property
    def points(self) -> list[tuple[str, list[float]]]:
        """The difference of each row from the whole model's mean, one number per seed; none for a covered row."""
        table = self.tables[self.table]
        whole = mean(table["whole"])
        return [
            (name, [round(score - whole, 3) for score in scores] if self.reveal or self.shown[i] else [])
            for i, (name, scores) in enumerate(table["rows"])
        ]

    @property
    def alt(self) -> str:
        say = self.words
        told = [
            say.known.format(name=name, points=f"{mean(gains):+.1f}".replace("-", "−")) if gains else say.hidden.format(name=name)
            for name, gains in self.points
        ]  # fmt: skip
        return say.alt.format(whole=mean(self.tables[self.table]["whole"]), told=", ".join(told))

    def figure(self):
        """Draw a row for each change: a bar for the mean, and a dot for each seed."""
        fig, ax = draw.figure(width=6.4, height=0.4 + 0.25 * len(self.points))
        rows = self.points
        ax.set(xlim=LOSS, ylim=(len(rows) - 0.5, -0.5), yticks=range(len(rows)), xlabel=self.words.shared["points"])
        ax.set_yticklabels([draw.plain(name) for name, _ in rows])
        plane = draw.Plane(ax, self.words.shared["points"])
        plane.rule(x=0)
        low, high = LOSS
        for i, (_, gains) in enumerate(rows):
            if gains:
                ax.barh(i, max(mean(gains), low), height=0.45, color=draw.colours()["one"], alpha=0.4)
            for gain in gains:
                plane.dot(min(max(gain, low + 0.08), high), i, "one", mark="o" if gain >= low else "<")
            if gains and mean(gains) < low:
                draw.write(ax, low + 0.25, i, f"{mean(gains):+.1f}".replace("-", "−"), ha="left", va="center")
        for i, guess in enumerate(self.guesses[: len(rows)]):
            if guess != UNGUESSED:
                plane.dot(guess, i, "two", mark="|", ms=12)
        return fig


#: The arms of the recorded ablations, in the words of `TABLE_3`; the whole model has five heads of 32 features.
ARMS = {
    "h = 1": "one head, 160 wide", "h = 8": "8 heads of 20", "no √d_k": "scores undivided", "no positions": "no positions",
    "learned positions": "learned positions", "no residual": "no residual", "post-norm": "post-norm",
    "no smoothing": "no label smoothing", "no warm-up": "no warm-up",
}  # fmt: skip


def recorded_ablations() -> dict[str, Any]:
    """Return the recorded run in the form of `TABLE_3`: BLEU on Multi30k's validation part, one score per seed."""
    runs = recorded("evaluation_ablations")["arms"]
    scores = {arm: [one["val"]["bleu"] for one in own] for arm, own in runs.items()}
    return {"whole": scores["whole"], "rows": [[name, scores[arm]] for arm, name in ARMS.items()]}


def points(
    systems: Sequence[Mapping[str, Any]], language: str, ensembles: bool, reveal: bool
) -> list[tuple[str, str, float, float]]:
    """Return the systems for which both numbers are known: name, kind, operations, BLEU."""
    kinds = {"single", *(["ensemble"] if ensembles else []), *(["transformer"] if reveal else [])}
    return [
        (system["name"], system["kind"], *system[language])
        for system in systems
        if system["kind"] in kinds and None not in system[language]
    ]


def best(found: Sequence[tuple[str, str, float, float]], budget: float) -> tuple[str, str, float, float] | None:
    """Return the point with the highest score that costs no more than the budget; None if there is none."""
    return max((point for point in found if point[2] <= budget), key=lambda point: point[3], default=None)


def costs_of_base(systems: Sequence[Mapping[str, Any]], language: str) -> float | None:
    """Return the cost of the first Transformer, where the guess is drawn."""
    return next((system[language][0] for system in systems if system["kind"] == "transformer"), None)


def power(x: float) -> str:
    """Format a number as 2.3·10¹⁹."""
    digits, exponent = f"{x:.1e}".split("e")
    return f"{digits}·10{str(int(exponent)).translate(str.maketrans('0123456789-', '⁰¹²³⁴⁵⁶⁷⁸⁹⁻'))}"

"""Numbers of the widgets of chapter `evaluation`, as tfm_lib computes them."""

from itertools import product
from statistics import mean

from tfm_lib.widgets.evaluation import LOSS, TABLE_2, TABLE_3, UNGUESSED, AblationTable, BleuCost, power

TABLES = {
    "paper": TABLE_3,
    "seeds": {"whole": [30.0, 31.0], "rows": [["one", [29.0, 30.5]], ["two", [31.5]]]},
    "broken": {"whole": [30.0], "rows": [["one", [1.0, 3.0]], ["two", [29.5]]]},  # beyond the axis
}


def numbers() -> dict:
    shown = []
    for language, ensembles, reveal, budget in product(
        ("de", "fr"), (False, True), (False, True), (1e18, 2e19, 1.2e20, 2e21)
    ):
        widget = BleuCost(language=language, ensembles=ensembles, reveal=reveal, value=budget)
        state = {"language": language, "ensembles": ensembles, "reveal": reveal, "value": budget}
        shown.append({"state": state, "points": widget.points, "best": widget.best})
    gains = {
        name: [row for _, row in AblationTable({name: table}, reveal=True).points] for name, table in TABLES.items()
    }
    guesses = [[UNGUESSED, -1.0], [0.5, UNGUESSED], [-0.25, 1.0], [UNGUESSED, UNGUESSED]]
    off = [
        {"table": name, "guesses": given, "open": open_, "off": judged(gains[name], given, open_)}
        for name, given, open_ in product(("seeds", "broken"), guesses, ([0, 1], [1], []))
    ]
    return {
        "systems": TABLE_2, "shown": shown, "tables": TABLES, "gains": gains, "off": off,
        "powers": [[x, power(x)] for x in (3.3e18, 2e21, 9.96e19, 1.0e20)],
    }  # fmt: skip


def judged(gains: list[list[float]], guesses: list[float], open_: list[int]) -> dict[str, float] | None:
    """How far the guesses of uncovered rows are off, on average; beyond the axis nobody can guess."""
    low, high = LOSS
    misses = [
        abs(guess - min(max(mean(gains[i]), low), high))
        for i, guess in enumerate(guesses)
        if guess != UNGUESSED and i in open_
    ]
    return {"count": len(misses), "off": mean(misses)} if misses else None

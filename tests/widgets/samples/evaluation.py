"""Samples of the widgets of chapter `evaluation`."""

from statistics import mean

import numpy as np

from tfm_lib.widgets.evaluation import TABLE_2, TABLE_3, UNGUESSED, AblationTable, BleuCost
from widgets.golden_evaluation import TABLES
from widgets.samples import Sample

N = len(TABLE_3["rows"])


def guessed(*given: float) -> list[float]:
    """Guesses for the first rows."""
    return [*given, *[UNGUESSED] * (N - len(given))]


def uncovered(*rows: int) -> list[bool]:
    return [i in rows for i in range(N)]


def bleu_cost(widget):
    assert widget.model()["systems"] == TABLE_2, "the page holds another table than the paper's"
    for state in (
        {"language": "de", "reveal": True, "ensembles": True, "value": 2e19, "guess": 25.0},
        {"language": "fr", "reveal": True, "ensembles": False, "value": 1.3e20, "guess": 39.0},
        {"language": "de", "reveal": False, "ensembles": False, "value": 1e19, "guess": 24.0},
    ):
        widget.show(state)
        own = BleuCost(**state)
        rows = [(row["system"], row["kind"], float(row["operations"]), float(row["bleu"])) for row in widget.rows()]
        assert rows == own.points
        top, said = own.best, widget.readout()
        assert own.named(top) in said and f"{top[3]:g}" in said
        assert f"{state['guess']:.1f}" in said
        assert ("It reached" in said) == state["reveal"]
    widget.show({"language": "de", "value": 1e18, "reveal": True})
    assert "no system" in widget.readout()


def ablation_table(widget):
    table = widget.model()["tables"]["paper"]
    assert table == TABLE_3, "the page holds another table than the paper's"
    widget.show({"reveal": True, "value": 1, "guesses": guessed(-1.1, 0.1)})
    own = AblationTable(reveal=True)
    rows = widget.rows()
    assert [row["change"] for row in rows] == [name for name, _ in own.points]
    assert np.allclose([float(row["gain"]) for row in rows], [mean(gains) for _, gains in own.points])
    assert "−0.3 BLEU" in widget.readout() and "Over 2 rows your guesses were off by 0.3" in widget.readout()
    widget.show({"reveal": False, "shown": uncovered(0), "value": 3, "guesses": guessed()})
    assert "not shown yet" in widget.readout()
    assert [row["gain"] == "not shown" for row in widget.rows()] == [i != 0 for i in range(len(rows))]
    widget.box.locator("[role='radio']").nth(5).click()  # the middle of a row, where nothing is drawn
    assert f"{rows[5]['change']}: not shown yet" in widget.readout()


def bleu_cost_still(axes, widget):
    rows = widget.rows()
    drawn = sorted((line.get_xdata()[0], line.get_ydata()[0]) for line in axes[0].lines if line.get_marker() == "o")
    yield np.array(drawn), np.array(sorted((float(row["operations"]), float(row["bleu"])) for row in rows))


def ablation_table_still(axes, widget):
    rows = [row for row in widget.rows() if row["gain"] != "not shown"]
    drawn = [line.get_xdata()[0] for line in axes[0].lines if line.get_marker() == "o"]
    yield np.array(drawn), np.array([float(row["gain"]) for row in rows])


SAMPLES = {
    "bleu_cost": Sample(
        code="BleuCost(reveal=True)",
        change="value = 1e21",
        says="Transformer, big with 28.4",
        states=[
            {"language": "fr", "ensembles": True, "guess": 39.0},
            {"reveal": False, "guess": 29.0},
            {"ensembles": True, "value": 1e18},
        ],
        still=bleu_cost_still,
        refused={
            "language must be one of de, fr; it is 'ko'": lambda: BleuCost(language="ko"),
            "value must be from 1e+18 to 2e+21; it is 3.0": lambda: BleuCost(value=3.0),
            "guess must be from 0 to 100; it is -1.0": lambda: BleuCost(guess=-1.0),
        },
    ),
    "ablation_table": Sample(
        code="AblationTable(reveal=True)",
        change="value = 6",
        says="2 layers: −2.1 BLEU",
        states=[
            {"reveal": False, "shown": uncovered(0, 5), "guesses": guessed(-1.0), "value": 5},
            {"reveal": False, "value": 3, "shown": uncovered(3, 4, 11)},
        ],
        still=ablation_table_still,
        refused={
            "table must be one of paper; it is 'ours'": lambda: AblationTable(table="ours"),
            "value must be from 0 to 17; it is 18": lambda: AblationTable(value=18),
            "value must be from 0 to 1; it is 2": lambda: AblationTable({"seeds": TABLES["seeds"]}, value=2),
            "guess must be from -4 to 2; it is 3.0": lambda: AblationTable(guess=3.0),
            "shown must hold 18 entries, one for each row of the longest table; it holds 1": lambda: AblationTable(
                shown=[True]
            ),
        },
    ),
}

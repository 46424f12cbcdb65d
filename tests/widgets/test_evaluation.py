"""The widgets of chapter `evaluation` in a kernel: the paper's numbers, what is covered, pictures."""

import json

import pytest
from matplotlib.figure import Figure
from project import ROOT

from tfm_lib.drawing import recorded
from tfm_lib.widgets.evaluation import ARMS, TABLE_2, UNGUESSED, AblationTable, BleuCost, power, recorded_ablations
from widgets.golden_evaluation import TABLES


def test_the_table_is_the_papers():
    """By kind, language and order: what the syllabus of this book lists of table 2."""
    scores = {(one["name"], one["kind"]): (one["de"][1], one["fr"][1]) for one in TABLE_2}
    assert scores == {
        ("ByteNet", "single"): (23.75, None), ("Deep-Att + PosUnk", "single"): (None, 39.2), ("GNMT + RL", "single"): (24.6, 39.92),
        ("ConvS2S", "single"): (25.16, 40.46), ("MoE", "single"): (26.03, 40.56), ("Deep-Att + PosUnk", "ensemble"): (None, 40.4),
        ("GNMT + RL", "ensemble"): (26.30, 41.16), ("ConvS2S", "ensemble"): (26.36, 41.29),
        ("base", "transformer"): (27.3, 38.1), ("big", "transformer"): (28.4, 41.8),
    }  # fmt: skip


def test_the_page_shows_the_same_table():
    lines = (ROOT / "chapters" / "evaluation.md").read_text(encoding="utf-8").split("| system |")[1].splitlines()[2:12]
    for one, line in zip(TABLE_2, lines, strict=True):
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        kinds = {"single": "{}", "ensemble": "{}, ensemble", "transformer": "**Transformer, {}**"}
        assert name == kinds[one["kind"]].format(one["name"])
        told = [
            *(one[language][1] for language in ("de", "fr")),
            *(one[language][0] and power(one[language][0]) for language in ("de", "fr")),
        ]
        assert cells == ["" if number is None else str(number) for number in told]


def test_transformers_and_ensembles_appear_when_asked_for():
    def kinds(**state):
        return {kind for _, kind, _, _ in BleuCost(**state).points}

    assert kinds() == {"single"}
    assert kinds(reveal=True) == {"single", "transformer"}
    assert kinds(ensembles=True) == {"single", "ensemble"}
    assert "Transformer" not in BleuCost().alt and "Transformer, base 27.3" in BleuCost(reveal=True).alt


def test_a_budget_pays_for_the_best_below_it():
    assert BleuCost(value=1e19).best[0] == "ConvS2S"
    assert BleuCost(value=2.1e19).best[0] == "MoE"
    assert BleuCost(value=1e18).best is None and "the best is none" in BleuCost(value=1e18).alt


def test_rows_are_covered_until_they_are_shown():
    widget = AblationTable({"seeds": TABLES["seeds"]}, shown=[False, True])
    assert widget.points == [("one", []), ("two", [1.0])]
    assert "one not shown yet, two +1.0" in widget.alt
    widget.reveal = True
    assert widget.points[0] == ("one", [-1.5, 0.0]) and "one −0.8" in widget.alt


def test_every_arm_of_the_recorded_ablations_has_its_row():
    arms = recorded("evaluation_ablations")["arms"]
    table = recorded_ablations()
    assert list(ARMS) == [arm for arm in arms if arm != "whole"]
    for (name, scores), arm in zip(table["rows"], ARMS, strict=True):
        assert name == ARMS[arm] and scores == [one["val"]["bleu"] for one in arms[arm]]
    assert AblationTable({"ours": table}, reveal=True).points[0] == ("one head, 160 wide", [-0.267, -0.467])


def test_what_lies_beyond_the_axis_is_an_arrow_with_its_number():
    figure = AblationTable(
        {"broken": {"whole": [30.0], "rows": [["one", [1.0, 3.0]], ["two", [29.5]]]}}, reveal=True
    ).figure()
    (ax,) = figure.axes
    marks = [line.get_marker() for line in ax.lines if len(line.get_xdata()) == 1]
    assert marks == ["<", "<", "o"] and "−28.0" in {text.get_text() for text in ax.texts}


def test_powers_of_ten():
    assert [power(x) for x in (3.3e18, 9.96e19, 2e-5)] == ["3.3·10¹⁸", "1.0·10²⁰", "2.0·10⁻⁵"]


@pytest.mark.parametrize(
    "widget",
    [BleuCost(), BleuCost(language="fr", ensembles=True, reveal=True), AblationTable(guesses=[-1.0, *[UNGUESSED] * 17]), AblationTable(TABLES, table="seeds", reveal=True)],
)  # fmt: skip
def test_pictures_and_plain_state(widget):
    assert isinstance(widget.figure(), Figure) and widget.alt
    json.dumps({key: value for key, value in widget.get_state().items() if key != "layout"})

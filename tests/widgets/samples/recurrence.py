"""Samples of the widgets of chapter `recurrence`."""

import numpy as np

from tfm_lib.widgets.recurrence import GradientReach, InteractionPath
from widgets.picture_numbers import chosen, column, heading, named, points
from widgets.samples import Sample, changed

NORMS = {"GRU": [[[0.5, 0.25, 0.125], [0.5, 0.25, 0.5]], [[1.0, 1.0, 1.0], [1.0, 1.0, 4.0]]]}


def reach(**arguments) -> GradientReach:
    return GradientReach(**{"reach": NORMS, "value": 3, **arguments})


def interaction_path_still(axes, widget):
    rows = widget.rows()
    hops = [len(points(ax)[0]) - 1 - (k == 0) for k, ax in enumerate(axes)]  # the RNN climbs to its row first
    yield hops, column(rows, "hops").astype(int)
    yield [heading(ax).split(": ")[0] for ax in axes], [row["model"] for row in rows]
    yield [int(heading(ax).split(": ")[1].split()[0]) for ax in axes], column(rows, "hops").astype(int)
    start, *_, last = points(axes[-1])[0][:, 0]
    yield last - start, float(rows[0]["distance"])


def gradient_reach_still(axes, widget):
    rows, state = widget.rows(), widget.model()
    sentences, planes = axes[: len(axes) // 2], axes[len(axes) // 2 :]
    for k, (ax, shown) in enumerate(zip(sentences, drawn_words(widget), strict=True)):
        yield [text.get_text() for text in ax.texts], [word for word, _ in shown]
        yield [text.get_alpha() for text in ax.texts[:-1]], np.array([dark for _, dark in shown[:-1]])
        yield heading(ax), widget.box.locator("[data-stage] .tfm-columns p").nth(k).inner_text()
    for stage, ax in zip(state["stages"], planes, strict=True):
        for kind in state["kinds"]:
            shown = chosen(rows, model=kind, when=stage)
            drawn = named(ax)[kind]
            yield drawn[:, 0], column(shown, "distance")
            yield np.log(drawn[:, 1]), np.log(np.maximum(column(shown, "geometric mean"), state["floor"]))


def drawn_words(widget):
    """The words of each sentence in the browser, each with its share of ink; the last has all of it."""
    read = "(each) => [...each.querySelectorAll('.tfm-heard')].map((word) => [word.textContent, Number(word.style.getPropertyValue('--w') || 1)])"
    return [sentence.evaluate(read) for sentence in widget.box.locator(".tfm-fading").all()]


SAMPLES = {
    "interaction_path": Sample(
        code="InteractionPath()",
        change="window = 4",
        says="windows of 4 on each side",
        states=[{"window": 4, "k": 5}, {"value": 5}, {"hop": 3}],
        still=interaction_path_still,
        refused={
            "tokens must hold at least two words; it holds 1": lambda: InteractionPath("alone"),
            "tokens must hold at least one word; it is empty": lambda: changed(InteractionPath(), tokens=[]),
            "value must be a distance from 1 to 1; it is 2": lambda: InteractionPath("a b", value=2),
            "word must be a place from 1 to 1; it is 0": lambda: InteractionPath("a b", value=1, word=0),
        },
        mistyped={"tokens must be a sentence or a list of words; it is 5": lambda: InteractionPath(5)},
    ),
    "gradient_reach": Sample(
        code="GradientReach()",
        change="kind = 'GRU'",
        says="GRU at the start",
        states=[{"kind": "GRU", "stage": "trained", "value": 63}],
        still=gradient_reach_still,
        refused={
            "tokens must hold at least one word; it is empty": lambda: reach(tokens=""),
            "value must be a distance, at least 1; it is -7": lambda: reach(value=-7),
            "value must be a distance from 1 to 3; it is -7": lambda: changed(reach(), value=-7),
            "reach must hold at least one model…": lambda: reach(reach={}),
            "reach['GRU'] must be above 0, for a logarithmic scale; it holds 0": lambda: reach(
                reach={"GRU": [[0.0, 1.0]]}
            ),
            "…as many stages and distances for every model…": lambda: reach(reach={"a": [[1.0]], "b": [[1.0, 2.0]]}),
            "stages must name the 2 stages of reach; it names 1": lambda: reach(stages=["once"]),
            "distances must have shape (3); it has shape (2,)": lambda: reach(distances=[1, 2]),
            "kind must be one of GRU; it is 'LSTM'": lambda: reach(kind="LSTM"),
            "stage must be one of at the start, trained; it is 'later'": lambda: reach(stage="later"),
        },
    ),
}

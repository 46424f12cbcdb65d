"""Samples of the widgets of chapter `recurrence`."""

from samples import Sample
from tfm_lib.widgets.recurrence import GradientReach, InteractionPath

NORMS = {"GRU": [[[0.5, 0.25, 0.125], [0.5, 0.25, 0.5]], [[1.0, 1.0, 1.0], [1.0, 1.0, 4.0]]]}


def reach(**arguments) -> GradientReach:
    return GradientReach(**{"reach": NORMS, "value": 3, **arguments})


SAMPLES = {
    "interaction_path": Sample(
        code="InteractionPath()",
        change="window = 4",
        says="windows of 4 a side",
        refused={
            "tokens must hold at least two words; it holds 1": lambda: InteractionPath("alone"),
            "value must be a distance from 1 to 1; it is 2": lambda: InteractionPath("a b", value=2),
            "word must be a place from 1 to 1; it is 0": lambda: InteractionPath("a b", value=1, word=0),
        },
    ),
    "gradient_reach": Sample(
        code="GradientReach()",
        change="kind = 'GRU'",
        says="GRU at the start",
        refused={
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

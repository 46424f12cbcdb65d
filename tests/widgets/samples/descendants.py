"""Samples of the widget of chapter `descendants`."""

import numpy as np

from tfm_lib.widgets.descendants import MODELS, FiveModels, family, words_of
from widgets.picture_numbers import cells
from widgets.samples import Sample


def five_models_still(axes, widget):
    chosen = axes[MODELS.index(widget.model()["value"])]
    seen = [float(row["seen"] == "true") for row in widget.rows()]
    yield cells(chosen).ravel(), np.array(seen)


def five_models(widget):
    for sentence in ("The cat sat on the mat", "Two words"):
        for model in MODELS:
            widget.show({"sentence": sentence, "value": model, "epoch": 3, "focus": 0})
            rows, cols, targets, mask = family(words_of(sentence), model, 3)
            shown = widget.rows()
            assert [row["seen"] == "true" for row in shown] == mask.flatten().tolist(), f"{model} shows another mask"
            assert [row["reads"] for row in shown[:: len(cols)]] == rows
            assert [row["says"] for row in shown[:: len(cols)]] == targets
            assert f"sees {int(mask[0].sum())} of {len(cols)}" in widget.readout()


SAMPLES = {
    "five_models": Sample(
        code="FiveModels('The cat sat on the mat', value='gpt2')",
        change="value = 't5'",
        says="the encoder sees the whole sentence with its gaps",
        states=[{"value": "xlnet", "epoch": 3}, {"value": "roberta", "epoch": 2, "focus": 3}],
        still=five_models_still,
        refused={
            "value must be one of bert, roberta, xlnet, gpt2, t5; it is 'elmo'": lambda: FiveModels(value="elmo"),
            "epoch must be a pass from 1 to 9; it is 0": lambda: FiveModels(epoch=0),
            "focus must be a row from 0 to 28; it is -1": lambda: FiveModels(focus=-1),
        },
    )
}

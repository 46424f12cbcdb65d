"""Samples of the widget of chapter `alignment`."""

import torch
from reading import cells, chosen, column, marked

from samples import Sample
from tfm_lib.widgets.alignment import Alignment

WEIGHTS = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
OTHER = torch.tensor([[0.1, 0.2, 0.7], [0.1, 0.6, 0.3]])
EXAMPLE = {
    "src": "ein Hund <eos>",
    "tgt": ["a", "dog"],
    "weights": {"dot": WEIGHTS, "additive": OTHER},
    "links": [(0, 0), (1, 1)],
}


def alignment_still(axes, widget):
    state = widget.model()
    rows = chosen(widget.rows(), score=state["score"])
    weights = cells(axes[0])
    yield weights.ravel(), column(rows, "weight")
    links = [divmod(at, weights.shape[1]) for at, row in enumerate(rows) if row["truth"] != "none"]
    yield marked(axes[0], "value"), links if state["truth"] else []


SAMPLES = {
    "alignment": Sample(
        code="Alignment()",
        change="truth = True",
        says="alignment error rate",
        states=[{"truth": True, "sentence": 2, "score": "additive"}],
        still=alignment_still,
        refused={
            "examples must be a list with at least one translation": lambda: Alignment([]),
            "examples[0] must hold src, tgt and weights; it lacks tgt, weights": lambda: Alignment([{"src": "a"}]),
            "examples[0].weights must have shape (3, 3)…": lambda: Alignment([{**EXAMPLE, "tgt": "a big dog"}]),
            "examples[0].links must lie within (2, 3)…": lambda: Alignment([{**EXAMPLE, "links": [(0, 3)]}]),
            "examples[1].weights must have the score functions…": lambda: Alignment(
                [EXAMPLE, {**EXAMPLE, "weights": WEIGHTS}]
            ),
            "score must be one of dot, additive; it is 'cosine'": lambda: Alignment([EXAMPLE], score="cosine"),
            "sentence must be from 0 to 0; it is 1": lambda: Alignment([EXAMPLE], sentence=1),
            "value must be from 0 to 1; it is 2": lambda: Alignment([EXAMPLE], value=2),
        },
    )
}

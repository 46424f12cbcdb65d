"""Samples of the widgets of chapter `self_attention`."""

import math

import numpy as np
import torch

from tfm_lib.widgets._attention_weights import darkest
from tfm_lib.widgets.self_attention import QUERIES, AttentionWeights, SoftmaxSaturation, WordInContext
from widgets.picture_numbers import bars, cells, chosen, column, marked, points
from widgets.samples import Sample, changed


def of(heads: int, n: int, m: int) -> torch.Tensor:
    return torch.randn(heads, n, m).softmax(dim=-1)


def weights(weights=((1.0, 0.0), (0.5, 0.5)), tokens="a b", **arguments) -> AttentionWeights:
    return AttentionWeights(tokens, weights, **arguments)


def attention_weights_still(axes, widget):
    rows, state = widget.rows(), widget.model()
    shown = column(chosen(rows, head=state["head"] + 1), "weight")
    shown = shown.reshape(len(dict.fromkeys(row["query"] for row in rows)), -1)
    yield cells(axes[1], darkest([shown.tolist()] if state["sentence"] else state["weights"])), shown
    row = shown[state["value"]]
    yield [line.get_linewidth() for line in axes[0].lines], 0.4 + 11 * row[row >= 0.005]
    yield marked(axes[1], "query"), [(state["value"], 0)]


def softmax_saturation_still(axes, widget):
    rows, state = widget.rows(), widget.model()
    label = widget.box.locator('svg[aria-label^="Weights of the keys"]').get_attribute("aria-label")
    yield bars(axes[1])[0], [float(weight) for weight in label.split(": ")[1].split(", ")]
    for ax, name in zip(axes[2:], ("entropy", "gradient norm")):
        for drawn, which in zip(points(ax), ("with scale", "without")):
            yield drawn, column(rows, "d_k", f"{name} {which}")
    edges, counts = axes[0].patches[0].get_data().edges, axes[0].patches[0].get_data().values
    histogram = np.array(state["histogram"][state["sizes"].index(state["value"])])
    yield counts * np.diff(edges), histogram / histogram.sum()


def word_in_context_still(axes, widget):
    weights = column(widget.rows(), "weight")
    yield [line.get_linewidth() for line in axes[0].lines[: len(weights)]], np.maximum(0.5, 12 * weights)
    named = dict(zip(widget.model()["names"], widget.model()["places"]))
    known = [named[row["word"].lower()] for row in widget.rows() if row["word"].lower() in named]
    yield [line.get_xydata()[0] for line in axes[0].lines[len(weights) :]], known


SAMPLES = {
    "attention_weights": Sample(
        code="AttentionWeights('it was tired', torch.eye(3).roll(1, 1), lexicon={'a pronoun': 'it he', 'the rest': 'was'}, "
        "scores=torch.tensor([[0.0, 1], [2, -1]]))",
        change="weights = torch.eye(3)[None]",
        says="it → it 1.00",
        states=[{"value": 2}, {"sentence": "the Dog saw it.", "value": 3}],
        still=attention_weights_still,
        refused={
            "weights must have shape (2, 2); it has shape (1, 2)": lambda: weights([[1.0, 0.0]]),
            "weights must have shape (3, 2, 2); it has shape (3, 2, 3)": lambda: weights(of(3, 2, 3)),
            "…Of a batch of shape (1, 2, 2, 2), pass weights[0]": lambda: weights(of(2, 2, 2)[None]),
            "weights must be finite; it holds 1 values that are NaN…": lambda: weights([[math.nan, 1.0], [0.5, 0.5]]),
            "…the smallest is -0.2. Are they scores before the softmax?": lambda: weights([[1.2, -0.2], [0.5, 0.5]]),
            "…row 1 sums to 0.6. Was the text cut, or dropout still on…": lambda: weights([[0.5, 0.5], [0.3, 0.3]]),
            "…The columns do: rows must be queries…": lambda: weights([[0.9, 0.4], [0.1, 0.6]]),
            "…row 1 of head 1 sums to 0.4…": lambda: weights([[[0.5, 0.5]] * 2, [[0.5, 0.5], [0.2, 0.2]]]),
            "weights must have shape (2, 2, 2)…": lambda: changed(weights(of(2, 2, 2)), weights=of(3, 2, 2)),
            "value must be a row from 0 to 1; it is 2": lambda: weights(value=2),
            "head must be a head from 0 to 0; it is 1": lambda: weights(head=1),
            "lexicon must come with one head of a text that looks at itself…": lambda: weights(
                of(2, 2, 2), lexicon={"a": "b"}, scores=[[1.0]]
            ),
            "scores must have shape (1, 1); it has shape (1, 2)": lambda: weights(
                lexicon={"a": "b"}, scores=[[1.0, 2]]
            ),
            "weights must have shape (2, 3); it has shape (2, 2)": lambda: weights(key_tokens="x y z"),
            "tokens must hold at least one word…": lambda: weights(tokens=""),
            "tokens must hold 2 words…": lambda: changed(weights(), tokens=["a"]),
        },
        mistyped={"weights must be numbers of shape…": lambda: weights([[1.0], [0.5, 0.5]])},
    ),
    "softmax_saturation": Sample(
        code="SoftmaxSaturation(d_k=64)",
        change="scaled = True",
        says="√64 / √64",
        states=[{"scaled": True, "query": 3}, {"value": 1024, "temperature": 2.0}],
        still=softmax_saturation_still,
        refused={
            "d_k must be a whole number from 1 to 1024; it is 0": lambda: SoftmaxSaturation(d_k=0),
            "d_k must be a whole number from 1 to 1024; it is 2048": lambda: SoftmaxSaturation(d_k=2048),
            "d_k must be a whole number from 1 to 1024; it is 8.5": lambda: SoftmaxSaturation(d_k=8.5),
            "temperature must be greater than 0; it is 0.0": lambda: SoftmaxSaturation(temperature=0),
            "temperature must be greater than 0; it is inf": lambda: SoftmaxSaturation(temperature=math.inf),
            f"query must be from 0 to {QUERIES - 1}; it is {QUERIES}": lambda: SoftmaxSaturation(query=QUERIES),
            "…it is 100. SoftmaxSaturation(d_k=100) makes a widget that holds it": lambda: changed(
                SoftmaxSaturation(), value=100
            ),
        },
    ),
    "word_in_context": Sample(
        code="WordInContext()",
        change="value = 'the bank'",
        says="keeps its direction",
        states=[{"value": "Fish swim near the bank", "focus": "fish"}, {"value": "the bank by the river has money"}],
        still=word_in_context_still,
        refused={"places must have shape (11, 2); it has shape (1, 2)": lambda: WordInContext(places=[[1.0, 2.0]])},
        mistyped={"places must be numbers…": lambda: WordInContext(places=[["a", "b"]] * 11)},
    ),
}

"""Samples of the widgets of chapter `multihead`."""

import numpy as np

from tfm_lib.widgets._attention_weights import darkest
from tfm_lib.widgets.multihead import HeadAblation, Heads
from widgets.golden_multihead import measured
from widgets.picture_numbers import cells, chosen, column, fixed, heading, marked, named, words
from widgets.samples import Sample, changed

SRC = "le chat dort"
UNIFORM = np.full((2, 3, 3), 1 / 3)
TURNED = np.array([[0.2, 0.5, 0.9], [0.3, 0.4, 0.05], [0.5, 0.1, 0.05]])


def heads_still(axes, widget):
    rows, state = widget.rows(), widget.model()
    top = darkest(state["weights"][state["kind"]])
    for head, ax in enumerate(axes, start=1):
        shown = chosen(rows, attention=state["kind"], layer=state["layer"] + 1, head=head)
        yield cells(ax, top).ravel(), column(shown, "weight")
    yield heading(axes[state["value"]]), f"head {state['value'] + 1}"


def head_ablation_still(axes, widget):
    rows, state = widget.rows(), widget.model()
    whole, data = float(rows[0]["BLEU"]), state["measured"]
    heads = len(data["heads"])
    lost = whole - column(rows[1 : 1 + heads], "BLEU")
    yield cells(axes[0], lost.max()).ravel(), np.maximum(lost, 0)
    yield words(axes[0]), [fixed(bleu, 1) for bleu in lost]
    off = {
        "head": [state["value"]] if state["value"] >= 0 else [],
        "layer": [state["value"] // data["n_heads"] * data["n_heads"] + k for k in range(data["n_heads"])],
        "order": data["order"][: state["removed"]],
    }[state["mode"]]
    yield marked(axes[0], "broken"), sorted(divmod(i, data["n_heads"]) for i in off)
    pruned = [row for row in rows if row["off"].startswith("first")]
    yield named(axes[1])["least important first"][:, 1], column(pruned, "loss")


SAMPLES = {
    "heads": Sample(
        code="Heads(torch.stack([torch.eye(3), torch.eye(3).roll(1, 1)]), 'it was tired')",
        change="value = 1",
        says="head 2 on average",
        states=[{"value": 1, "focus": 2}],
        still=heads_still,
        refused={
            "…with encoder, decoder or cross; it holds 'middle'": lambda: Heads({"middle": UNIFORM}, SRC),
            "…it holds nothing": lambda: Heads({}, SRC),
            "cross attention needs tgt_tokens…": lambda: Heads({"cross": UNIFORM}, SRC),
            "kind must be one of self; it is 'cross'": lambda: Heads(UNIFORM, SRC, kind="cross"),
            "self must have shape (heads, 2, 2); it has shape (2, 3, 3)": lambda: Heads(UNIFORM, "a b"),
            "head must be a head from 0 to 1; it is 2": lambda: Heads(UNIFORM, SRC, head=2),
            "head must be a head from 0 to 1; it is 7": lambda: changed(Heads(UNIFORM, SRC), value=7),
            "layer must be a layer from 0 to 0; it is 1": lambda: Heads(UNIFORM, SRC, layer=1),
            "focus must be a row from 0 to 2; it is 3": lambda: Heads(UNIFORM, SRC, focus=3),
            "…must be at least 0…": lambda: Heads(UNIFORM - 1, SRC),
            "…row 0 of head 0 in layer 0 sums to 0.5. Was the text cut…": lambda: Heads(UNIFORM / 2, SRC),
            "…rows must be queries, so pass the transpose…": lambda: Heads(TURNED, SRC),
            "…pass one text": lambda: Heads(np.full((2, 5, 2, 3, 3), 1 / 3), SRC),
            "self must have shape (layers, heads, 3, 3); it has shape (2,)": lambda: Heads([0.5, 0.5], SRC),
        },
    ),
    "head_ablation": Sample(
        code="HeadAblation()",
        change="value = 9",
        says="without head 2 of layer 2, encoder",
        states=[{"value": 9}, {"mode": "layer", "value": 30}, {"mode": "order", "removed": 16}],
        still=head_ablation_still,
        refused={
            "…it has no 'n_layers'": lambda: HeadAblation({"places": []}),
            "measured['heads'] must hold 6 entries; it holds 1": lambda: HeadAblation(
                {**measured(), "heads": [[1.0, 50.0, [None, None]]]}
            ),
            "mode must be one of head, layer, order; it is 'all'": lambda: HeadAblation(measured(), mode="all"),
            "value must be a head from 0 to 5, or -1 for none; it is 6": lambda: HeadAblation(measured(), value=6),
            "removed must be one of 0, 2, 4, 6; it is 3": lambda: HeadAblation(measured(), removed=3),
        },
    ),
}

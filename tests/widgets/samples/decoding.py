"""Samples of the widgets of chapter `decoding`."""

from types import SimpleNamespace

import pytest
import torch

from tfm_lib.descendants import SwiGLU
from tfm_lib.transformer import Transformer, TransformerConfig
from tfm_lib.widgets.base import as_read
from tfm_lib.widgets.decoding import BeamTree, LiveTranslator, Sampling
from widgets.picture_numbers import bars, column, words
from widgets.samples import Sample, changed


def chosen_steps(rows: list[dict[str, str]], step: int) -> list[dict[str, str]]:
    """The rows of the steps that the picture has room for."""
    last = min(step, max(int(row["step"]) for row in rows))
    return [row for row in rows if last - 7 < int(row["step"]) <= last]


def beam_tree_still(axes, widget):
    shown = chosen_steps(widget.rows(), widget.model()["step"])
    told = [text.split("\n") for text in words(axes[0])]
    yield [float(log_p.replace("−", "-")) for _, log_p in told], [round(float(row["log_p"]), 2) for row in shown]
    ends = [
        "⟨end⟩" if row["fate"] == "finished" or word == "⟨end⟩" else row["text"].split()[-1]
        for (word, _), row in zip(told, shown)
    ]
    yield [word for word, _ in told], [end[:11] for end in ends]


def sampling_still(axes, widget):
    now, before = bars(axes[0])
    yield now, column(widget.rows(), "p")
    yield before, column(widget.rows(), "as it is")


def with_swiglu() -> SimpleNamespace:
    """A translator whose first layer is not the paper's."""
    model = Transformer(TransformerConfig(12, d_model=16, n_heads=2, d_ff=24, n_layers=1))
    model.encoder[0].feed_forward = SwiGLU(16, 24)
    return SimpleNamespace(model=model)


def translator_still(axes, widget):
    rows = [list(map(float, list(row.values())[1:])) for row in widget.rows()]
    told = [float(each) for each in words(axes[0])]
    yield told, [weight for row in rows for weight in row[1:]]
    yield [float(each) for each in words(axes[1])], [row[0] for row in rows]


def translator(widget):
    """What the widget says and shows of its word is what the library recorded for it."""
    model = widget.model()
    found, i = model["found"], model["value"]
    read, written = ([as_read(token, tokens) for token in tokens] for tokens in (found["source"], found["target"]))
    heads = torch.tensor(found["weights"]["cross"][model["layer"]], dtype=torch.double)
    looks = heads[model["head"] - 1] if model["head"] else heads.mean(dim=0)
    word, told = widget.readout().rstrip(".").split(" has probability ")
    p, shares = told.split("; it looks at ")
    assert word == written[i] and abs(float(p) - found["told"][i]["p"]) < 6e-3
    shown = [share.rsplit(" ", 1) for share in shares.split(" · ")]
    best = looks[i].sort(descending=True).values
    assert [float(weight) for _, weight in shown] == pytest.approx(best[: len(shown)].tolist(), abs=6e-3)
    assert all(abs(looks[i, read.index(key)] - float(weight)) < 6e-3 for key, weight in shown)
    labels = widget.cells("weights")
    expected = [f"{query} looks at {key}: " for query in written for key in read]
    assert [label.rsplit(": ", 1)[0] + ": " for label in labels] == expected
    assert [float(label.rsplit(": ", 1)[1]) for label in labels] == pytest.approx(looks.flatten().tolist(), abs=6e-3)
    rivals = widget.box.locator(".tfm-rivals small").all_inner_texts()
    assert [float(rival) for rival in rivals] == pytest.approx(
        [each["p"] for each in found["told"][i]["rivals"]], abs=6e-3
    )


SAMPLES = {
    "translator": Sample(
        code="LiveTranslator()",
        change="value = 5",
        says="livre has probability",
        states=[{"value": 3, "layer": 0, "head": 2}, {"value": 8, "head": 5}],
        still=translator_still,
        refused={
            "layer must be from 0 to 2; it is 3": lambda: changed(LiveTranslator(), layer=3),
            "head must be from 0 to 8; it is 9": lambda: changed(LiveTranslator(), head=9),
            "temperature must be from 0.1 to 2; it is 0.0": lambda: changed(LiveTranslator(), temperature=0.0),
            "top_p must be from 0.05 to 1; it is 2.0": lambda: changed(LiveTranslator(), top_p=2.0),
            "translator must hold the core's Transformer…": lambda: LiveTranslator(SimpleNamespace(model=None)),
            "…browser knows no others; its encoder.0.feed_forward is a SwiGLU": lambda: LiveTranslator(with_swiglu()),
        },
    ),
    "beam_tree": Sample(
        code="BeamTree()",
        change="value = 3",
        says="rain pours leads with",
        states=[{"value": 3}, {"value": 4, "alpha": 0.0, "step": 2}],
        still=beam_tree_still,
        refused={
            "value, the width of the beam, must be from 1 to 4; it is 0": lambda: changed(BeamTree(), value=0),
            "value, the width of the beam, must be from 1 to 4; it is 5": lambda: changed(BeamTree(), value=5),
            "alpha must be from 0 to 1; it is -0.1": lambda: changed(BeamTree(), alpha=-0.1),
            "step must be from 1 to 5; it is 9": lambda: changed(BeamTree(), step=9),
            "…must be given together…": lambda: BeamTree(tree=[[[0, -0.1, -1]]]),
            "tree[0] must hold triples … it holds [3, -0.1, -1]": lambda: BeamTree(
                tree=[[[3, -0.1, -1]]], tokens=["<eos>", "a"]
            ),
            "…log-probability at most 0…": lambda: BeamTree(tree=[[[1, 0.1, -1]]], tokens=["<eos>", "a"]),
        },
    ),
    "sampling": Sample(
        code="Sampling()",
        change="top_k = 2",
        says="2 of 5 tokens are left",
        states=[{"top_k": 2}, {"value": 2.0, "top_p": 0.6}],
        still=sampling_still,
        refused={
            "logits must come best first; sort them, and the tokens with them": lambda: Sampling([0.0, 1.0]),
            "tokens must name at most the 2 tokens of logits; there are 3 names": lambda: Sampling([1.0, 0.0], "a b c"),
            "value, the temperature, must be from 0.1 to 2; it is 0.0": lambda: Sampling(value=0.0),
            "top_k must be at least 0, which cuts nothing; it is -1": lambda: Sampling(top_k=-1),
            "top_p must be from 0.05 to 1; it is 1.5": lambda: Sampling(top_p=1.5),
        },
    ),
}

"""Samples of the widgets of chapter `assistant`."""

import math

import numpy as np

from tfm_lib.widgets.assistant import DRAWN, SEEDS, PatchAHead, TalkToIt, outcome
from widgets.picture_numbers import bars, cells, column, fixed, marked, words
from widgets.samples import Sample, changed


def talk_still(axes, widget):
    rows = widget.rows()
    for ax, stage in zip(axes, dict.fromkeys(row["stage"] for row in rows)):
        yield bars(ax)[0], column([row for row in rows if row["stage"] == stage][:DRAWN], "p")


def talk(widget) -> None:
    """The readout, the rivals' bars and the table show what is recorded."""
    model = widget.model()
    told = model["recorded"]["told"]
    words = [*told[model["stage"]], *(told[model["beside"]] if model["beside"] != model["stage"] else [])]
    word = words[model["value"]]
    assert widget.readout().startswith(f"{word['word']} has probability {word['p']:.2f}")
    shares = [float(text) for text in widget.box.locator(".tfm-rivals small").all_inner_texts()]
    assert all(abs(share - each["p"]) < 6e-3 for share, each in zip(shares, word["rivals"], strict=True))
    assert [float(row["p"]) for row in widget.rows()] == [each["p"] for each in words]


def patch_still(axes, widget):
    shares = [row["share"] for row in widget.rows() if len(row["patched"]) == 3][:16]
    grid = np.array(shares, dtype=float).reshape(4, 4)[::-1]
    yield cells(axes[0]), np.clip(grid, 0, 1)
    yield words(axes[0]), [fixed(share, 2) for row in np.reshape(shares, (4, 4))[::-1] for share in row]
    yield marked(axes[0], "two"), sorted((3 - layer, head) for layer, head in widget.model()["heads"])


def patch(widget) -> None:
    """The bars show what the library finds with the same heads patched."""
    for heads in ([], [[2, 1]], [[3, head] for head in range(4)]):
        widget.show({"story": 1, "heads": heads})
        a, b, _, c = outcome(SEEDS[1], tuple(map(tuple, heads)))
        shown = [float(text) for text in widget.box.locator(".tfm-rivals small").all_inner_texts()]
        assert np.allclose(shown, [math.exp(nats) for nats in (a, b, c)], atol=6e-3)
        assert widget.box.locator(".tfm-switch[aria-pressed=true]").count() == len(heads)


SAMPLES = {
    "talk": Sample(
        code="TalkToIt()",
        change="value = 1",
        says="has probability",
        states=[{"value": 3}, {"stage": "follow", "beside": "", "value": 1}],
        still=talk_still,
        refused={
            "temperature must be from 0 to 1.5; it is 2.0": lambda: changed(TalkToIt(), temperature=2.0),
            "top_p must be from 0.05 to 1; it is 0.0": lambda: changed(TalkToIt(), top_p=0.0),
            "seed must be from 0 to 999999; it is -1": lambda: changed(TalkToIt(), seed=-1),
            "prompt must hold at least one word; it is empty": lambda: TalkToIt(" "),
            "prompt must have at most 319 words and signs; it has 400": lambda: TalkToIt("a " * 400),
        },
    ),
    "patch": Sample(
        code="PatchAHead()",
        change="heads = [[2, 1]]",
        says="With head 3.2 patched",
        states=[{"story": 2, "heads": [[2, 1]]}, {"heads": [[3, 0], [3, 1], [3, 2], [3, 3]]}],
        still=patch_still,
        refused={
            "story must be from 0 to 3; it is 4": lambda: PatchAHead(story=4),
            "each layer and head of heads must be from 0 to 3; it is 4": lambda: PatchAHead(heads=[[0, 4]]),
        },
    ),
}

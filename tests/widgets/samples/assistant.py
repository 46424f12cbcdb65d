"""Samples of the widgets of chapter `assistant`."""

from tfm_lib.widgets.assistant import DRAWN, TalkToIt
from widgets.picture_numbers import bars, column
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
}

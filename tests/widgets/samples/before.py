"""The sample of the widget of chapter `before`, and what it must show."""

import torch

from tfm_lib.widgets.before import NextWord
from widgets.picture_numbers import column, fixed, rectangles
from widgets.samples import Sample


def next_word_still(axes, widget):
    rows = widget.rows()
    for ax, name in zip(axes, ("score", "probability"), strict=True):
        yield [bar.get_width() for bar in rectangles(ax)], column(rows, name).ravel()
    dark = {bar.get_facecolor() for bar in rectangles(axes[1])}
    yield [len(dark)], [2]  # the word that came has a colour of its own


def next_word(widget) -> None:
    for value, answer in (([0.5, 1.0, 0.5, 0.0], 0), ([-6.0, 6.0, 0.0, 2.5], 0), ([1.0, 1.0, 1.0, 1.0], 3)):
        widget.show({"value": value, "answer": answer})
        shares, loss, slopes = NextWord(value=value, answer=answer).measured
        rows = widget.rows()
        assert torch.allclose(torch.tensor(column(rows, "probability")).ravel(), torch.tensor(shares).double())
        assert torch.allclose(torch.tensor(column(rows, "slope")).ravel(), torch.tensor(slopes).double())
        assert column(rows, "came").ravel().tolist() == [float(i == answer) for i in range(4)]
        assert f"= {fixed(str(loss), 3)} nats" in widget.readout()


SAMPLES = {
    "next_word": Sample(
        code="NextWord()",
        change="answer = 3",
        says="“blue” came",
        states=[{"value": [3.0, -1.0, 0.0, 2.0], "answer": 2}, {"value": [6.0, -6.0, 0.0, 0.0]}],
        still=next_word_still,
        refused={
            "tokens must hold 2 to 6 words; it holds 1": lambda: NextWord("sat", [0.0]),
            "value must have shape (4); it has shape (3,)": lambda: NextWord(value=[1, 2, 3]),
            "value must lie between −6 and 6; it holds 7.0": lambda: NextWord(value=[7, 0, 0, 0]),
            "answer must be a place from 0 to 3; it is 4": lambda: NextWord(answer=4),
            "rate must be from 0.1 to 4; it is 5.0": lambda: NextWord(rate=5.0),
        },
    ),
}

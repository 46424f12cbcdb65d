"""Numbers of the widget of chapter `before`, as PyTorch computes them."""

import torch

from tfm_lib.widgets.before import LIMIT, NextWord


def numbers() -> dict:
    draw = torch.Generator().manual_seed(0)
    cases = []
    for answer in (0, 1, 2, 3):
        widget = NextWord(value=(8 * torch.rand(4, generator=draw, dtype=torch.float64) - 4).tolist(), answer=answer)
        scores, (_, loss, slopes) = list(widget.value), widget.measured  # rounded, as the browser gets them
        for rate in (0.1, 1.0, 4.0):
            stepped = (
                (torch.tensor(scores).double() - rate * torch.tensor(slopes).double()).clamp(-LIMIT, LIMIT).tolist()
            )
            cases.append(
                {"scores": scores, "answer": answer, "rate": rate, "loss": loss, "slopes": slopes, "stepped": stepped}
            )
    widget, ways = NextWord(answer=2, rate=1.5), []
    for widget.taken in (0, 1, 5, 12):
        ways.append({"taken": widget.taken, "scores": widget.scores})
    start = {"value": widget.value, "answer": widget.answer, "rate": widget.rate}
    return {"cases": cases, "start": start, "ways": ways}

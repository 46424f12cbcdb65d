"""Numbers of the widget of chapter `before`, as PyTorch computes them."""

import torch

from tfm_lib.widgets.before import LIMIT, NextWord


def numbers() -> dict:
    draw = torch.Generator().manual_seed(0)
    cases = []
    for answer in (0, 1, 2, 3):
        scores = (8 * torch.rand(4, generator=draw, dtype=torch.float64) - 4).tolist()
        _, loss, slopes = NextWord(value=scores, answer=answer).measured
        for rate in (0.1, 1.0, 4.0):
            stepped = (torch.tensor(scores) - rate * torch.tensor(slopes)).clamp(-LIMIT, LIMIT).tolist()
            cases.append(
                {"scores": scores, "answer": answer, "rate": rate, "loss": loss, "slopes": slopes, "stepped": stepped}
            )
    return {"cases": cases}

"""Numbers of the widgets of chapter `training`, as tfm_lib computes them."""

import torch

from tfm_lib.training import label_smoothed_loss, smoothed_targets, warmup_lr
from tfm_lib.widgets.training import TrainingReplay, rates


def numbers() -> dict:
    settings = [
        {"d_model": d_model, "warmup": warmup, "factor": factor, "steps": steps, "accumulate": accumulate}
        for d_model, warmup, factor, steps, accumulate in (
            (512, 4000, 1.0, 20_000, 1),
            (64, 100, 0.4, 1000, 8),
            (1024, 16_000, 2.5, 10_000, 3),
        )
    ]
    curves = [
        {"state": state, "step": step, "rates": {**rates(step, **state), "paper": _paper(step, state)}}
        for state in settings
        for step in (1, 2, 99, 100, 101, 1000, 3999, 9999)
    ]
    smoothed = [
        {"p": p, "vocabulary": v, "epsilon": epsilon, "target": _target(v, epsilon), "loss": _loss(p, v, epsilon)}
        for v in (2, 5, 100, 1000)
        for epsilon in (0.0, 0.1, 0.5)
        for p in (0.001, 0.3, 0.92, 0.999)
    ]
    replay, looks = TrainingReplay(), []
    for value, head in ((0, -1), (8, 0), (12, 2), (23, -1)):
        replay.value, replay.head = value, head
        looks.append({"head": head, "heads": replay.looks[value]["weights"], "matrix": replay.matrix.tolist()})
    return {"curves": curves, "smoothed": smoothed, "looks": looks}


def _paper(step: int, state: dict) -> float:
    return state["factor"] * warmup_lr(step, state["d_model"], state["warmup"])


def _target(v: int, epsilon: float) -> list[float]:
    return smoothed_targets(torch.tensor(0), v, epsilon).double()[:2].tolist()


def _loss(p: float, v: int, epsilon: float) -> float:
    shares = torch.full((1, v), (1 - p) / (v - 1), dtype=torch.double)
    shares[0, 0] = p
    return label_smoothed_loss(shares.log(), torch.tensor([0]), epsilon, pad_id=-1).item()

"""The questions of `chapters/training.md`."""

import torch
import torch.nn.functional as F
from torch.testing import assert_close

from tfm_lib.training import label_smoothed_loss, warmup_lr


def _eight_times_too_early() -> None:
    honest = [warmup_lr(update, 512, 4000) for update in range(1, 6000)]
    miscounted = [warmup_lr(8 * update, 512, 4000) for update in range(1, 6000)]
    assert max(honest) == max(miscounted)
    assert 1 + miscounted.index(max(miscounted)) == (1 + honest.index(max(honest))) / 8


def _peak(warmup: int) -> float:
    return max(warmup_lr(step, 512, warmup) for step in range(1, 3 * warmup))


def _factors() -> list:
    ratio = _peak(1600) / _peak(400)
    return [ratio, ratio**2, None, 1 / ratio]


def _means() -> list[float]:
    losses = torch.cat([torch.full((30,), 1.0), torch.full((10,), 3.0)])
    first, second = losses[:30].mean().item(), losses[30:].mean().item()
    return [losses.mean().item(), (first + second) / 2, first + second, losses.sum().item()]


def _smoothed(names: dict) -> None:
    torch.manual_seed(0)
    logits, targets = torch.randn(3, 5, 7), torch.randint(1, 7, (3, 5))
    targets[0, 2:] = 0
    targets[2, 4:] = 0
    assert_close(names["smoothed_loss"](logits, targets, 0), label_smoothed_loss(logits, targets, 0.1, 0))
    assert_close(label_smoothed_loss(logits, targets, 0.0, 0), F.cross_entropy(logits.mT, targets, ignore_index=0))


VALUES = {"longer-warmup": _factors, "mean-of-means": _means}
TRIALS = {"divided-by-all": _smoothed}
CLAIMS = {"counted-wrongly": _eight_times_too_early}

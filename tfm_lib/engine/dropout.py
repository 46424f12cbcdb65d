"""Dropout that costs a processor less: one random byte decides about each number.

PyTorch draws a whole random number for each on a CPU, which is a tenth of a small model's training step.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ByteDropout(nn.Module):
    """`nn.Dropout` with `p` rounded to 256ths; what stays is scaled up, so that the mean stays too."""

    def __init__(self, p: float):
        super().__init__()
        self.dropped = min(255, round(256 * p))  # of the 256 values of a byte

    def forward(self, X: Tensor) -> Tensor:
        if not self.training or not self.dropped:
            return X
        draws = torch.empty((X.numel() + 7) // 8, dtype=torch.int64, device=X.device)  # eight bytes each
        kept = draws.random_(-(2**63), None).view(torch.uint8)[: X.numel()].view(X.shape) >= self.dropped
        return X * (kept.to(X.dtype) * (256 / (256 - self.dropped)))


def use_byte_dropout(model: nn.Module) -> None:
    """Put `ByteDropout` in the place of every `nn.Dropout` of `model`; parameters and their names stay."""
    for name, module in model.named_children():
        if isinstance(module, nn.Dropout):
            setattr(model, name, ByteDropout(module.p))
        else:
            use_byte_dropout(module)

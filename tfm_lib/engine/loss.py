"""Compute the output projection and the smoothed loss in one step, a few rows at a time.

Logits over a vocabulary are the largest tensor of a training step. Here they never exist as a whole: the loss is
computed for some rows at a time, and their gradient, p − q, follows immediately. A test checks that loss and
gradients equal those of `label_smoothed_loss(X @ E.T, targets)`.
"""

from __future__ import annotations

import torch
from torch import Tensor

ROWS = 512  # so that their logits fit into a processor's cache


def linear_smoothed_loss(
    X: Tensor, E: Tensor, targets: Tensor, epsilon: float, dtype: torch.dtype = torch.float32
) -> Tensor:
    """`label_smoothed_loss` of the logits `X @ E.T`, (rows, d_model) by (v, d_model), with products in `dtype`.

    Every target counts, so leave out padding beforehand.
    """
    return _LinearSmoothedLoss.apply(X, E, targets, epsilon, dtype)


class _LinearSmoothedLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, X: Tensor, E: Tensor, targets: Tensor, epsilon: float, dtype: torch.dtype) -> Tensor:
        wanted = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]
        rows, v, E_ = len(X), len(E), E.to(dtype)
        total = torch.zeros((), device=X.device)
        grad_X, grad_E = torch.empty_like(X), torch.zeros_like(E, dtype=torch.float32)
        for x, y, gx in zip(X.split(ROWS), targets.split(ROWS), grad_X.split(ROWS)):
            x = x.to(dtype)
            log_p = (x @ E_.T).float().log_softmax(dim=-1)
            true = log_p.gather(1, y.unsqueeze(1))
            total -= (1 - epsilon) * true.sum() + epsilon / v * log_p.sum()
            if wanted:
                gradient = log_p.exp_().sub_(epsilon / v)  # p − q, from here on
                gradient.scatter_add_(1, y.unsqueeze(1), torch.full_like(true, epsilon - 1))
                gradient = gradient.mul_(1 / rows).to(dtype)
                gx.copy_(gradient @ E_)
                grad_E += gradient.T @ x
        ctx.save_for_backward(grad_X, grad_E)
        return total / rows

    @staticmethod
    def backward(ctx, scale: Tensor) -> tuple[Tensor | None, ...]:
        grad_X, grad_E = ctx.saved_tensors
        return grad_X * scale, grad_E * scale, None, None, None

"""Numbers of the widget of chapter `multihead`, as tfm_lib computes them."""

import torch

from tfm_lib.masking import causal_mask
from tfm_lib.multihead import MultiHeadAttention
from tfm_lib.widgets.multihead import Heads, habits


def numbers() -> dict:
    """What heads of real layers do on average, and what the widget draws of them."""
    torch.manual_seed(0)
    cases = []
    for n, m, mask in ((1, 1, None), (2, 2, None), (6, 6, None), (6, 6, causal_mask(6)), (3, 7, None), (40, 40, None)):
        layer = MultiHeadAttention(8, 2).double().requires_grad_(False)
        layer.W_Q.weight.mul_(4)
        query, key = torch.randn(1, n, 8, dtype=torch.double), torch.randn(1, m, 8, dtype=torch.double)
        _, weights = layer(query, query if n == m else key, query if n == m else key, mask)
        asks_itself = n == m
        src, tgt = [f"s{j}" for j in range(m)], None if asks_itself else [f"t{i}" for i in range(n)]
        widget = Heads(weights, src, tgt)
        cases.append(
            {
                "heads": weights[0].tolist(),
                "asks_itself": asks_itself,
                "causal": mask is not None or n == 1,
                "darkest": float(widget.figure().get_suptitle().split(" to ")[1]),
                "habits": [habits(head, asks_itself) for head in weights[0]],
            }
        )
    return {"cases": cases}

"""Numbers of the widgets of chapter `multihead`, as tfm_lib computes them."""

from typing import Any

import torch

from tfm_lib.masking import causal_mask
from tfm_lib.multihead import MultiHeadAttention
from tfm_lib.widgets.multihead import HeadAblation, Heads, habits


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
    return {"cases": cases, "ablation": ablation()}


def measured() -> dict[str, Any]:
    """An ablation of two layers with three heads, as the experiment writes it, with numbers made up."""
    torch.manual_seed(1)
    places, layers, h = ["encoder", "cross"], 1, 3
    n = len(places) * layers * h

    def entry(off: int) -> list:
        loss, bleu = (torch.rand(2) * off).tolist()
        return [round(1 + loss, 4), round(50 - 4 * bleu, 2), [None, f"sans {off}"]]

    return {
        "places": places, "n_layers": layers, "n_heads": h, "sentences": 9,
        "ours": ["The cat sleeps.", "Good morning!"], "whole": [1.0, 50.0, ["Le chat dort.", "Bonjour !"]],
        "heads": [entry(1) for _ in range(n)], "layers": [entry(h) for _ in range(n // h)],
        "order": torch.randperm(n).tolist(), "stops": [0, 2, 4, 6],
        "pruned": [[1.0, 50.0, [None, None]], *(entry(off) for off in (2, 4, 6))],
        "once": [1.0, 1.2, 2.0, 4.0], "random": [[1.0, 1.5, 2.5, 4.0]] * 3,
    }  # fmt: skip


def ablation() -> dict[str, Any]:
    """What is off in each state of the widget, and what it cost."""
    data, states = measured(), []
    for mode, value, removed in (("head", -1, 0), ("head", 4, 0), ("layer", 4, 0), ("order", -1, 4), ("order", 2, 0)):
        widget = HeadAblation(data, mode=mode, value=value, removed=removed)
        new = [said for _, _, said in widget.sentences]
        states.append(
            {"mode": mode, "value": value, "removed": removed, "off": widget.off, "cost": widget.cost, "said": new}
        )
    widget = HeadAblation(data)
    names = {"names": [widget.name(i) for i in range(widget.n)], "shared": widget.shared}
    return {"measured": data, "states": states, "worth": widget.worth, **names}

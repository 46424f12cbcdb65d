"""Numbers of the soft look-up, as tfm_lib computes them."""

import torch

from tfm_lib.attention import AdditiveScore, BilinearScore, attention
from tfm_lib.widgets.attention import SCORES, SoftLookup


def numbers() -> dict:
    generator = torch.Generator().manual_seed(0)
    keys, flat, plane, queries = (torch.randn(shape, generator=generator) for shape in ((5, 2), (5, 1), (5, 2), (3, 2)))
    torch.manual_seed(0)
    modules = [BilinearScore(2, 2), AdditiveScore(2, 2, 8)]
    cases = []
    for query in queries:
        for values in (flat, plane):
            for score in (*SCORES, *modules):
                for temperature, uniform in ((1.0, False), (0.2, False), (5.0, True)):
                    widget = SoftLookup(keys, values, query, score, temperature=temperature, uniform=uniform)
                    state = {name: getattr(widget, name) for name in ("value", "K", "V", "score", "parameters")}
                    given = {**state, "temperature": temperature, "uniform": uniform}
                    cases.append(
                        {"given": given, "scores": widget.scores, "weights": widget.weights, "output": widget.output}
                    )
    query, K, V = (
        torch.tensor(x, dtype=torch.float64) for x in ([[0.6, -1.2]], [[1, 0], [0, 2], [-1, 1]], [[1], [2], [4]])
    )
    output, weights = attention(query, K, V)
    chapter = {"query": query[0].tolist(), "K": K.tolist(), "V": V.tolist(), "weights": weights[0].tolist()}
    return {"cases": cases, "attention": {**chapter, "output": output[0].tolist()}}

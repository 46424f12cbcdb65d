"""Numbers of attention weights and softmax saturation, as tfm_lib computes them."""

import math

import torch

from tfm_lib.attention import scaled_dot_score
from tfm_lib.self_attention import entropy, softmax_jacobian
from tfm_lib.widgets.self_attention import QUERIES, SENTENCES, SIZES, AttentionWeights, SoftmaxSaturation, WordInContext


def numbers() -> dict:
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(6, 8, generator=generator, dtype=torch.float64)
    weights = scaled_dot_score(X, X).softmax(dim=-1)
    widget = SoftmaxSaturation()
    states = []
    for d_k in SIZES:
        for scaled, temperature in ((False, 1), (True, 1), (False, 16), (True, 0.25)):
            widget.value, widget.scaled, widget.temperature = d_k, scaled, temperature
            p = torch.tensor(widget.weights, dtype=torch.float64)
            norms = softmax_jacobian(p).flatten(1).norm(dim=1)
            state = {"d_k": d_k, "scaled": scaled, "temperature": temperature, "spread": widget.spread}
            state |= {"weights": p[:3].tolist(), "entropy": entropy(p).tolist(), "norm": norms.tolist()}
            state |= {"middle": [entropy(p).median().item(), norms.median().item()]}
            states.append(state)
    distributions = [[1.0], [0.5, 0.5], [1.0, 0.0, 0.0], [0.1] * 10, [0.999999, 1e-6], *weights.tolist()]
    x = torch.linspace(-3, 3, 7, dtype=torch.float64)
    normal = [
        {
            "spread": spread,
            "x": x.tolist(),
            "density": torch.distributions.Normal(torch.tensor(0.0).double(), torch.tensor(spread).double())
            .log_prob(x)
            .exp()
            .tolist(),
        }
        for spread in (0.25, 1.0, math.sqrt(512))
    ]
    lexicon = {"living": "cat dog", "pronoun": "it", "grammar": "the"}
    own = AttentionWeights("a b", torch.eye(2), lexicon=lexicon, scores=[[0.0, 1.5, -1], [3, 0.25, 0], [0, 0, 0]])
    typed = []
    for sentence in ("it", "The cat, it saw: “Dog”", "_cat_ it's IT 3 été", "cat " * 30):
        own.sentence = sentence
        typed.append({"sentence": sentence, "words": own.shown, "weights": own.shown_weights[0]})
    context, seen = WordInContext(), []
    for sentence, focus in [
        *((one, "bank") for one in SENTENCES),
        ("River! _Money_", "money"),
        ("the sea", "bank"),
        ("bank", "x"),
    ]:
        context.value, context.focus = sentence, focus
        one = {"words": context.shown, "focus": focus, "asked": context.asked, "weights": context.weights}
        seen.append(one | {"output": context.output, "turn": None if math.isnan(context.turn) else context.turn})
    return {
        "context": {"names": context.names, "places": context.places, "seen": seen},
        "own": {"lexicon": own.lexicon, "scores": own.scores, "typed": typed},
        "distributions": [
            {"p": p, "jacobian": softmax_jacobian(p_).tolist(), "entropy": entropy(p_).item()}
            for p in distributions
            for p_ in [torch.tensor(p, dtype=torch.float64)]
        ],
        "order": [
            {"weights": row, "places": torch.tensor(row).argsort(descending=True, stable=True)[:3].tolist()}
            for row in [*weights.tolist(), [0.25] * 4]
        ],
        "normal": normal,
        "scores": widget.scores,
        "queries": QUERIES,
        "states": states,
    }

"""Samples of the widgets of chapter `decoding`."""

from samples import Sample, changed
from tfm_lib.widgets.decoding import BeamTree, Sampling

SAMPLES = {
    "beam_tree": Sample(
        code="BeamTree()",
        change="value = 3",
        says="rain pours leads with",
        refused={
            "value, the width of the beam, must be from 1 to 4; it is 0": lambda: changed(BeamTree(), value=0),
            "value, the width of the beam, must be from 1 to 4; it is 5": lambda: changed(BeamTree(), value=5),
            "alpha must be from 0 to 1; it is -0.1": lambda: changed(BeamTree(), alpha=-0.1),
            "step must be from 1 to 5; it is 9": lambda: changed(BeamTree(), step=9),
            "…must be given together…": lambda: BeamTree(tree=[[[0, -0.1, -1]]]),
            "tree[0] must hold triples … it holds [3, -0.1, -1]": lambda: BeamTree(
                tree=[[[3, -0.1, -1]]], tokens=["<eos>", "a"]
            ),
            "…log-probability at most 0…": lambda: BeamTree(tree=[[[1, 0.1, -1]]], tokens=["<eos>", "a"]),
        },
    ),
    "sampling": Sample(
        code="Sampling()",
        change="top_k = 2",
        says="2 of 5 tokens are left",
        refused={
            "logits must come best first; sort them, and the tokens with them": lambda: Sampling([0.0, 1.0]),
            "tokens must name at most the 2 tokens of logits; there are 3 names": lambda: Sampling([1.0, 0.0], "a b c"),
            "value, the temperature, must be from 0.1 to 2; it is 0.0": lambda: Sampling(value=0.0),
            "top_k must be at least 0, which cuts nothing; it is -1": lambda: Sampling(top_k=-1),
            "top_p must be from 0.05 to 1; it is 1.5": lambda: Sampling(top_p=1.5),
        },
    ),
}

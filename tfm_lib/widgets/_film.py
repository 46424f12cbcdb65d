"""The numbers and captions of a film: one sentence through the whole machine (frontend/src/transformer/film/)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tfm_lib._trace import trace
from tfm_lib.widgets.base import Words, as_read

FILM = Words(
    title="One sentence through the machine",
    question="How does it know who bites whom?",
    shared={
        "layer": "layer {layer}",
        "future": "what comes later is covered",
        "scenes": {
            "hook": [
                [0, "An English sentence, and the French that the machine writes."],
                [0.12, "To write noir, it looks at black, and for chat at cat: the lines cross."],
                [0.36, "Who bites whom?"],
                [0.5, "Swap the animals, and the French changes with them."],
                [0.86, "How does the machine do this? From the beginning, slowly."],
            ],
            "numbers": [[0, "Each word becomes a column of 256 numbers. You see twelve of them."]],
            "positions": [
                [0, "The columns don’t say who comes first. So each place, 0, 1, 2, … has a column of its own,"],
                [0.35, "which is added to the word’s."],
            ],
            "asks": [
                [
                    0,
                    "Now the words tell each other what they know. The word cat makes a query, and every word makes a key.",
                ],
                [0.25, "The query meets one key after the other. Their dot product is a score."],
                [0.82, "The softmax turns the scores into weights, which sum to 1. The largest is that of black."],
            ],
            "pours": [
                [0, "Each word also makes a value."],
                [0.25, "The values flow together, and of each value as much as its weight says."],
            ],
            "heads": [
                [0, "Eight heads do this at the same time, each with queries, keys and values of its own."],
                [0.76, "What the eight have found becomes one column again."],
            ],
            "residual": [
                [0, "This column is added to that of the word, so nothing of the word is lost."],
                [
                    0.48,
                    "Then each word passes alone through a feed-forward network. For cat, 191 of its 1,024 hidden numbers are above 0.",
                ],
            ],
            "tower": [
                [0, "That was one layer. Three layers stand on top of each other, and in each the words talk again."]
            ],
            "memory": [
                [
                    0,
                    "What leaves the last layer is the memory: each word, in the light of all others. The decoder gets it.",
                ]
            ],
            "card": [
                [
                    0,
                    "The decoder writes French. While it is trained, it has the whole translation before it, so a mask covers what comes later.",
                ],
                [0.55, "Each word looks only at itself and at the words before it."],
            ],
            "cross": [
                [
                    0,
                    "Now chat rises through the decoder’s layers and asks the memory what comes next. It looks mainly at black.",
                ]
            ],
            "word": [
                [0, "At the top, each word of the vocabulary gets a probability."],
                [0.55, "The most probable is noir, and it is written."],
            ],
            "loop": [
                [0, "The new word goes in at the bottom, and the next one comes out at the top,"],
                [0.88, "until the machine writes <eos>: the end."],
            ],
            "removed": [
                [0, "And now take the positions away."],
                [0.5, "Without them, both sentences are the same heap of words, and both become the same French."],
            ],
        },
    },
)
SENTENCES = "The black cat bit the white dog.", "The black dog bit the white cat."
KEPT = 12  # numbers shown of each vector
FOCUS, SEEN = "cat", "black"  # the word that is followed; the head is the one that looks most at the other word
LAYER = 3  # of the decoder, whose cross-attention is shown as the mean of its heads


def rounded(values: Tensor, digits: int = 2) -> list[Any]:
    """Return a tensor as nested lists of numbers with `digits` decimals."""
    return torch.round(values.double(), decimals=digits).tolist()


@torch.no_grad()
def record(translator: Any, sentence: str) -> dict[str, Any]:
    """Return all numbers of the film for a sentence with the words `FOCUS` and `SEEN`, dropout off."""
    model, pieces = translator.model.eval(), translator.tokenizer
    (french,) = translator.translate([sentence])
    src, ids = translator.ids(sentence), pieces.encode(french)
    tgt = torch.tensor([[pieces.bos_id, *ids]])
    with trace(model) as seen:
        logits = model(src, tgt)
    source, target = ([*map(str, pieces.pieces(text))] for text in (sentence, french))
    words = [*(as_read(each, source) for each in source), "<eos>"]
    written = ["<bos>", *(as_read(each, target) for each in target), "<eos>"]
    embedded = seen.calls("embedding.tokens.output")[0][0] * model.embedding.scale
    states, between = _rise(seen, "encoder", seen.calls("embedding.output")[0][0], ("self_attention", "feed_forward"))
    parts = ("self_attention", "cross_attention", "feed_forward")
    rising, _ = _rise(seen, "decoder", seen.calls("embedding.output")[1][0], parts)

    focus, first = words.index(FOCUS), "encoder.0.self_attention"
    weights = seen[f"{first}.weights"][0]
    head = int(weights[:, focus, words.index(SEEN)].argmax())
    Q, K, V = (
        seen[f"{first}.{name}"][0].unflatten(-1, (len(weights), -1))[:, head] for name in ("queries", "keys", "values")
    )
    hidden = seen["encoder.0.feed_forward.hidden"][0, focus]
    best = logits[0].softmax(dim=-1).topk(4)
    return {
        "sentence": sentence,
        "translation": french,
        "words": words,
        "written": written,
        "focus": focus,
        "head": head,
        "embedded": rounded(embedded[:, :KEPT]),
        "position": rounded((states[0] - embedded)[:, :KEPT]),
        "states": [rounded(X[:, :KEPT]) for X in states],
        "query": rounded(Q[focus, :KEPT]),
        "keys": rounded(K[:, :KEPT]),
        "values": rounded(V[:, :KEPT]),
        "scores": rounded(K @ Q[focus] / Q.shape[-1] ** 0.5),
        "weights": rounded(weights[head, focus]),
        "mixed": rounded((weights[head, focus] @ V)[:KEPT]),
        "heads": rounded(weights[:, focus]),
        "added": rounded(seen[f"{first}.output"][0, focus, :KEPT]),
        "between": rounded(between[:, :KEPT]),
        "thought": rounded(seen["encoder.0.feed_forward.output"][0, focus, :KEPT]),
        "active": int((hidden > 0).sum()),
        "hidden": len(hidden),
        "memory": rounded(seen["encoder_norm.output"][0, :, :KEPT]),
        "looks_back": rounded(seen["decoder.0.self_attention.weights"][0].mean(dim=0)),
        "rising": [rounded(Y[:, :KEPT]) for Y in rising],
        "questions": rounded(seen[f"decoder.{LAYER - 1}.cross_attention.queries"][0, :, :KEPT]),
        "crossed": rounded(seen[f"decoder.{LAYER - 1}.cross_attention.weights"][0].mean(dim=0)),
        "next": [
            [[pieces.decode([i]) or "<eos>", round(p, 3)] for p, i in zip(*rows)]
            for rows in zip(best.values.tolist(), best.indices.tolist())
        ],
    }


def _rise(seen: Any, side: str, X: Tensor, parts: tuple[str, ...]) -> tuple[list[Tensor], Tensor]:
    """Return the residual stream below the first layer and after each one, and within the first after its attention."""
    states, between = [X], X
    layer = 0
    while f"{side}.{layer}.{parts[0]}.output" in seen:
        for part in parts:
            X = X + seen[f"{side}.{layer}.{part}.output"][0]
            between = X if layer == 0 and part == parts[0] else between
        states.append(X)
        layer += 1
    return states, between


def without_positions(translator: Any) -> str:
    """Return the translation of the film's sentences by the same model without positions, which is the same for both."""
    positions = translator.model.embedding.positions
    kept = positions.clone()
    try:
        positions.zero_()
        found = sorted(set(translator.translate(list(SENTENCES))))
    finally:
        positions.copy_(kept)
    if len(found) != 1:
        raise ValueError(f"without positions, the two sentences must have one translation; they have {found}")
    return found[0]

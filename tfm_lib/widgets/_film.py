"""The numbers and captions of a film: one sentence through the whole machine (frontend/src/transformer/film/)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tfm_lib._trace import trace
from tfm_lib.widgets.base import Words, as_read

FILM = Words(
    title="One sentence through the machine",
    question="How does it know who bites whom?",
    alt="“{sentence}” becomes “{translation}” In one head of the first layer, {focus} gives most weight to {seen}. To write "
    "{next}, the heads of the decoder’s last layer look mostly at {looked}.",
    weight="weight",
    probability="probability",
    stills={  # by the first scene of those that each stands for
        "hook": "1. Where it looks to write each word",
        "numbers": "2. The weights of {focus}, in one head",
        "pours": "3. The weights of {focus}, in each head",
        "memory": "4. The decoder’s words look back",
        "cross": "5. What comes after {read}",
        "removed": "6. Without positions",
    },
    shared={
        "layer": "layer {layer}",
        "future": "what comes later",
        "places": {
            "first": "the encoder’s layer 1, head {head}",
            "last": "the encoder’s layer {layers}, head {head}",
            "own": "the decoder’s layer 1, masked, head {head}",
            "cross": "the decoder’s layer {layers}, cross-attention, head {head}",
        },
        "head_column": "head",
        "with": " The positions are still there.",
        "head": "This is {place}. Each row is a query, each column a key. The query of {query} gives most weight to {key}.",
        "product": "In {place}, the products of the query of {query} and the key of {key} sum to {dot}. Divided by √{d_k}, this is the score {score}; after the softmax, the weight is {weight}.",
        "masked": "The mask covers {key} for the query of {query}: whatever their dot product, {dot}, the weight is 0.",
        "map": "Weights of one head: queries down, keys across. Choose a cell to see its dot product",
        "cell": "{query} looks at {key}: {weight}",
        "rows": {"query": "query", "key": "key", "product": "product"},
        "seconds": {
            "hook": 10.3,
            "hook_own": 7.7,
            "numbers": 5.2,
            "positions": 5.4,
            "asks": 11.4,
            "pours": 5.1,
            "heads": 6.1,
            "residual": 6.2,
            "tower": 4.8,
            "memory": 4,
            "card": 6.2,
            "cross": 4.9,
            "word": 6.2,
            "loop": 5.9,
            "removed": 5.4,
            "removed_own": 6,
            "whole": 4.6,
        },
        "scenes": {
            "hook": [
                [
                    0,
                    "The machine writes French. For *{next}* it looks at *{looked}*, for *{read}* at *{before}*.",
                    "“{sentence}” becomes “{translation}”",
                ],
                [0.425, "Who bites whom?"],
                [0.55, "If we swap the animals, the French changes too.", "“{other}” becomes “{french}”"],
                [0.818, "How? Back to the start, slowly."],
            ],
            "hook_own": [
                [
                    0,
                    "This is your sentence in French. To write *{next}*, the machine looks mostly at *{looked}*.",
                    "“{sentence}” becomes “{translation}”",
                ],
                [0.64, "How does it do this? Back to the start, slowly."],
            ],
            "numbers": [
                [0, "A word becomes a row of {d_model} numbers. We stand its first {kept} on end."],
                [0.76, "<eos> marks the end."],
            ],
            "positions": [
                [0, "But which word comes first? Each place has a row of its own."],
                [0.65, "It is added to the word’s row."],
            ],
            "asks": [
                [0, "*{focus}* asks with a query. Each word answers with a key."],
                [0.31, "A score says how well they fit: multiply in pairs, add up, scale."],
                [0.66, "Softmax turns scores into weights that sum to 1. *{seen}* gets most.", "{weights}."],
            ],
            "pours": [
                [0, "Each word also has a value."],
                [0.33, "The values flow together, each in proportion to its weight."],
            ],
            "heads": [
                [0, "This was one head. {heads} work at once: in each row, the weights of one."],
                [0.66, "Their results are joined and mixed."],
            ],
            "residual": [
                [0, "The mixture is added to the word’s row: nothing is lost."],
                [0.54, "Then a small network works on each word alone."],
            ],
            "tower": [[0, "That was one of {layers} layers. In each, words look again, and add what they find."]],
            "memory": [[0, "The rows that come out are called the memory. The decoder reads it."]],
            "card": [
                [0, "In training, the decoder gets the whole French sentence."],
                [0.55, "A mask hides from each word what comes later."],
            ],
            "cross": [
                [0, "*{read}* rises and asks the memory. In the last layer, its heads look mostly at *{looked}*."]
            ],
            "word": [
                [0, "At the top, each word of the vocabulary gets a probability.", "{ways}."],
                [0.56, "*{next}* has the largest, so the machine writes it."],
            ],
            "loop": [
                [0, "Each new word goes in at the bottom, and the next comes out at the top."],
                [0.76, "<eos> ends the sentence."],
            ],
            "removed": [
                [0, "Now we take the positions away."],
                [
                    0.335,
                    "Now both are the same set of words, and get the same French.",
                    "“{sentence}” and “{other}” become “{plain}”",
                ],
            ],
            "removed_own": [
                [0, "Now we take the positions away."],
                [
                    0.31,
                    "Your sentence is now a set of words in no order. This is its French.",
                    "“{sentence}” becomes “{plain}”",
                ],
            ],
            "whole": [
                [
                    0,
                    "With positions again, here is the whole machine at work.",
                    "“{sentence}” becomes “{translation}”",
                ]
            ],
        },
    },
)
SENTENCES = "The black cat bit the white dog.", "The black dog bit the white cat."
#: The scene that shows what a chapter explains.
MOMENTS = {
    "before": "numbers",
    "recurrence": "memory",
    "attention": "asks",
    "alignment": "cross",
    "self_attention": "pours",
    "masking": "card",
    "multihead": "heads",
    "positional": "positions",
    "layers": "residual",
    "transformer": "hook",
    "data": "numbers",
    "training": "card",
    "decoding": "loop",
    "cost": "asks",
    "evaluation": "word",
    "efficient": "asks",
    "descendants": "removed",
}
KEPT = 12  # numbers shown of each vector
KEPT_OF_EACH = 2  # and of each head's, where the heads are joined
UNITS = 32  # groups of the feed-forward network's hidden units, each drawn as one bar
FOCUS = "cat"  # the word that is followed, if the sentence has it


def moment(stem: str) -> float | None:
    """Return the second of the film at which the scene of chapter `stem` begins; None if there is no such chapter."""
    begin = 0.0
    for scene, seconds in FILM.shared["seconds"].items():
        if scene == MOMENTS.get(stem):
            return round(begin, 1)
        begin += 0 if scene.endswith("_own") else seconds
    return None


def rounded(values: Tensor, digits: int = 2) -> list[Any]:
    """Return a tensor as nested lists of numbers with `digits` decimals."""
    return torch.round(values.double(), decimals=digits).tolist()


@torch.no_grad()
def record(translator: Any, sentence: str) -> dict[str, Any]:
    """Return all numbers of the film for a sentence, dropout off. In a page the twin computes them for other sentences."""
    model, pieces = translator.model.eval(), translator.tokenizer
    (ids,), (french,) = translator.search([sentence]), translator.translate([sentence])
    src = translator.ids(sentence)
    tgt = torch.tensor([[pieces.bos_id, *ids]])
    with trace(model) as seen:
        logits = model(src, tgt)
    source, target = ([pieces.piece(i) for i in each] for each in (src[0, :-1].tolist(), ids))
    words = [*(as_read(each, source) for each in source), "<eos>"]
    written = ["<bos>", *(as_read(each, target) for each in target), "<eos>"]
    embedded = seen.calls("embedding.tokens.output")[0][0] * model.embedding.scale
    states, between = _rise(seen, "encoder", seen.calls("embedding.output")[0][0], ("self_attention", "feed_forward"))
    parts = ("self_attention", "cross_attention", "feed_forward")
    rising, _ = _rise(seen, "decoder", seen.calls("embedding.output")[1][0], parts)
    n_heads, top = model.config.n_heads, model.config.n_layers - 1

    first, last, own, cross = (
        *(f"encoder.{layer}.self_attention" for layer in (0, top)),
        "decoder.0.self_attention",
        f"decoder.{top}.cross_attention",
    )
    weights = {name: seen[f"{name}.weights"][0] for name in (first, last, own, cross)}
    focus, head = _followed(weights[first], words)
    crossed = weights[cross].mean(dim=0)
    step = _crossing(crossed, written)
    looked = int(crossed[step, :-1].argmax())
    heads = {
        first: head,
        last: int(_others(weights[last][:, focus], focus).amax(dim=-1).argmax()),
        own: int(weights[own][:, step, : max(1, step)].amax(dim=-1).argmax()),
        cross: int(weights[cross][:, step, looked].argmax()),
    }
    per_head = seen[f"{first}.values"][0].unflatten(-1, (n_heads, -1)).transpose(0, 1)  # (n_heads, n, d_k)
    V = per_head[head]
    share = weights[first][head, focus]
    hidden = seen["encoder.0.feed_forward.hidden"][0, focus]
    looks = {
        name: {
            "head": heads[path],
            "queries": rounded(_head(seen[f"{path}.queries"][0], n_heads, heads[path])),
            "keys": rounded(_head(seen[f"{path}.keys"][0], n_heads, heads[path])),
            "dots": rounded(_dots(seen, path, n_heads, heads[path]), 3),
            "weights": rounded(weights[path][heads[path]]),
        }
        for name, path in {"first": first, "last": last, "own": own, "cross": cross}.items()
    }
    best = logits[0].softmax(dim=-1).topk(4)
    return {
        "sentence": sentence,
        "translation": french,
        "words": words,
        "written": written,
        "focus": focus,
        "step": step,
        "names": {
            "focus": words[focus],
            "seen": words[int(share.argmax())],
            "read": written[step],
            "next": written[step + 1],
            "looked": words[looked],
            "before": words[int(crossed[step - 1, :-1].argmax())] if step else "",
            "kept": KEPT,
            "d_model": f"{model.config.d_model:,}",
            "heads": n_heads,
            "layers": top + 1,
            "hidden": f"{len(hidden):,}",
        },
        "embedded": rounded(embedded[:, :KEPT]),
        "position": rounded((states[0] - embedded)[:, :KEPT]),
        "states": [rounded(X[:, :KEPT]) for X in states],
        "values": rounded(V[:, :KEPT]),
        "scores": rounded(_dots(seen, first, n_heads, head)[focus] / V.shape[-1] ** 0.5),
        "mixed": rounded((share @ V)[:KEPT]),
        "heads": rounded(weights[first][:, focus]),
        "joined": rounded((weights[first][:, focus, None] @ per_head)[:, 0, :KEPT_OF_EACH].flatten()),
        "added": rounded(seen[f"{first}.output"][0, focus, :KEPT]),
        "between": rounded(between[:, :KEPT]),
        "thought": rounded(seen["encoder.0.feed_forward.output"][0, focus, :KEPT]),
        "units": (hidden > 0).view(UNITS, -1).sum(dim=1).tolist(),
        "around": [rounded(seen[f"encoder.{layer}.self_attention.weights"][0].mean(dim=0)) for layer in range(top + 1)],
        "memory": rounded(seen["encoder_norm.output"][0, :, :KEPT]),
        "looks_back": rounded(weights[own].mean(dim=0)),
        "rising": [rounded(Y[:, :KEPT]) for Y in rising],
        "crossed": rounded(crossed),
        "asked": [
            rounded(seen[f"decoder.{layer}.cross_attention.weights"][0].mean(dim=0)[step]) for layer in range(top + 1)
        ],
        "looks": looks,
        "next": [
            [["<eos>" if i == pieces.eos_id else as_read(pieces.piece(i), target), round(p, 3)] for p, i in zip(*rows)]
            for rows in zip(best.values.tolist(), best.indices.tolist())
        ],
    }


def _head(X: Tensor, n_heads: int, head: int) -> Tensor:
    """Return the part of one head, (n, d_k), of queries, keys or values of shape (n, d_model)."""
    return X.unflatten(-1, (n_heads, -1))[:, head]


def _dots(seen: Any, path: str, n_heads: int, head: int) -> Tensor:
    """Return the dot products of one head's queries and keys, (n, m)."""
    Q, K = (_head(seen[f"{path}.{name}"][0], n_heads, head) for name in ("queries", "keys"))
    return Q @ K.mT


def _others(weights: Tensor, i: int) -> Tensor:
    """Return weights (n_heads, m) with that of key `i` set to 0."""
    return weights.index_fill(-1, torch.tensor(i), 0)


def _followed(weights: Tensor, words: list[str]) -> tuple[int, int]:
    """Return which word is followed, and the head in which it looks most at the word before it.

    It is FOCUS if the sentence has it; else the word for which that weight is largest.
    """
    after = [i for i in range(1, len(words) - 1) if words[i].isalpha() and words[i - 1].isalpha()]
    if FOCUS in words and words.index(FOCUS) in after:
        after = [words.index(FOCUS)]
    if not after:
        return 0, 0
    found = weights[:, after, [i - 1 for i in after]]  # (n_heads, words)
    head, i = divmod(int(found.argmax()), len(after))
    return after[i], head


def _crossing(crossed: Tensor, written: list[str]) -> int:
    """Return the decoder's step that is shown: the first which looks, with more than half its weight, further left in
    the source than the step before; else, of all but the last that begin a word, the one with the largest weight."""
    largest, place = crossed[:-1, :-1].max(dim=-1)
    for j in range(1, len(largest)):
        if place[j] < place[j - 1] and largest[j] > 0.5 and largest[j - 1] > 0.5:
            return j
    continues = torch.tensor([word.startswith("-") for word in written[1 : len(largest) + 1]])
    return int((largest - continues.float()).argmax())


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


def without_positions(translator: Any, sentences: Sequence[str]) -> str:
    """Return the translation of `sentences`, the same for all of them, by the model without positions."""
    positions = translator.model.embedding.positions
    kept = positions.clone()
    try:
        positions.zero_()
        found = sorted(set(translator.translate(list(sentences))))
    finally:
        positions.copy_(kept)
    if len(found) != 1:
        raise ValueError(f"without positions, the sentences must have one translation; they have {found}")
    return found[0]

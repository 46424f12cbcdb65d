"""Judges of the exercises in chapter `descendants`."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tfm_exercises.judge import Slip, exercise, told


def _sizes(count: int, low: int, high: int) -> list[int]:
    """`count` different whole numbers from `low` to `high`."""
    return (torch.randperm(high - low + 1)[:count] + low).tolist()


# patches


def _cut(images: Tensor, size: int) -> Tensor:
    return images.unfold(1, size, size).unfold(2, size, size).flatten(-2).flatten(1, 2)


def _columns(images: Tensor, size: int) -> Tensor:
    squares = images.unfold(1, size, size).unfold(2, size, size)
    return squares.transpose(1, 2).flatten(-2).flatten(1, 2)


PATCH_SLIPS = [
    Slip(
        "stripes",
        lambda images, size: images.reshape(len(images), -1, size * size),
        "`reshape` alone takes pixels row by row, so each word is a stripe of one row. A square needs pixels of `size` rows: "
        "split both axes in two, and bring the two halves of a square together.",
    ),
    Slip(
        "column by column",
        _columns,
        "The squares are right, their order is not: they run down the columns. Words run along the rows.",
    ),
    Slip(
        "squares on their side",
        lambda images, size: images.unfold(1, size, size).unfold(2, size, size).mT.flatten(-2).flatten(1, 2),
        "Inside each square the pixels run down the columns. Row by row, as in the image.",
    ),
    Slip(
        "image on its side",
        lambda images, size: _cut(images.mT, size),
        "The image was turned on its side first: rows became columns.",
    ),
    Slip(
        "squares not flattened",
        lambda images, size: images.unfold(1, size, size).unfold(2, size, size).flatten(1, 2),
        "These are squares, with two axes each. A word is one vector: flatten the last two axes.",
    ),
    Slip(
        "rows of squares",
        lambda images, size: images.unfold(1, size, size).unfold(2, size, size).flatten(-2),
        "The squares still stand in rows and columns. A sentence has one axis of words: flatten the two that count squares.",
    ),
    Slip(
        "overlapping",
        lambda images, size: images.unfold(1, size, 1).unfold(2, size, 1).flatten(-2).flatten(1, 2),
        "The squares overlap: they begin at every pixel. Each pixel belongs to one square, so the step is `size`.",
    ),
    Slip(
        "means",
        lambda images, size: _cut(images, size).mean(dim=-1),
        "One number for each square came back. A word holds all of its pixels.",
    ),
    Slip(
        "words last",
        lambda images, size: _cut(images, size).mT,
        "Words and numbers have changed places: (batch, size², words). Words come before the numbers in them, as in `X`.",
    ),
]


@exercise(
    "descendants.patches",
    answer="cut",
    forbids=("torch.Tensor.unfold", "torch.nn.functional.unfold", "torch.nn.Unfold"),
)
def patches(student, expect):
    inputs = []
    for size in _sizes(3, 2, 4):
        batch, down, across = _sizes(3, 2, 6)
        inputs.append((torch.randn(batch, down * size, across * size), size))
    inputs.append((torch.randn(2, 6, 6), 2))  # square: an image on its side fits
    holds = "words of size² pixels, square by square along the rows"
    expect.agrees(student.cut, _cut, inputs, holds, PATCH_SLIPS, describe="the words")


# spans put back


def _restore(src: Sequence[str], tgt: Sequence[str]) -> list[str]:
    spans: dict[str, list[str]] = {}
    for token in tgt:
        if token.startswith("<"):
            newest = spans.setdefault(token, [])
        else:
            newest.append(token)
    return [word for token in src for word in spans.get(token, [token])]


def _by_turn(src: Sequence[str], tgt: Sequence[str], change: Callable[[list[str]], list[str]]) -> list[str]:
    """The spans put back after each was changed."""
    changed: list[str] = []
    span: list[str] = []
    for token in [*tgt, "<end>"]:
        if token.startswith("<"):
            changed += change(span)
            changed += [token]
            span = []
        else:
            span.append(token)
    return _restore(src, changed[:-1])


def _in_turn(src: Sequence[str], tgt: Sequence[str]) -> list[str]:
    """The spans put back in the order of the target, whatever sign stands in the source."""
    spans = [span.split() for span in re.split(r"<\w+>", " ".join(tgt))[1:]]
    return [word for token in src for word in (spans.pop(0) if token.startswith("<") else [token])]


def _from_the_next(sign: str, tgt: Sequence[str]) -> list[str]:
    """What follows the sign in the target up to the next sign, the first word whatever it is."""
    at = tgt.index(sign) + 1
    ends = (place for place in range(at + 1, len(tgt)) if tgt[place].startswith("<"))
    return [*tgt[at : next(ends, len(tgt))]]


def _by_signs(src: Sequence[str], tgt: Sequence[str], is_sign: Callable[[str], bool]) -> list[str]:
    """The spans put back where `is_sign` says what is a sign."""
    spans: dict[str, list[str]] = {}
    newest: list[str] = []
    for token in tgt:
        if is_sign(token):
            newest = spans[token] = []
        else:
            newest.append(token)
    return [word for token in src for word in spans.get(token, [token])]


SPAN_SLIPS = [
    Slip(
        "spans at the end",
        lambda src, tgt: [word for word in [*src, *tgt] if not word.startswith("<")],
        "All words are there, and the lost ones stand at the end. A span belongs where its sign stands in the source.",
    ),
    Slip(
        "only what stayed",
        lambda src, tgt: [word for word in src if not word.startswith("<")],
        "The signs are gone, and what they stand for has not come back.",
    ),
    Slip(
        "only what fell out",
        lambda src, tgt: [word for word in tgt if not word.startswith("<")],
        "These are the lost words alone. Walk along the source, and put them in where a sign stands.",
    ),
    Slip(
        "signs stay",
        lambda src, tgt: [
            w for token in src for w in ([token, *_restore([token], tgt)] if token[0] == "<" else [token])
        ],
        "The spans are back, and the signs are still there. A sign stands *for* its span.",
    ),
    Slip(
        "one word a sign",
        lambda src, tgt: _by_turn(src, tgt, lambda span: span[:1]),
        "Only the first word of each span came back. A span goes on until the next sign of the target.",
    ),
    Slip(
        "last word lost",
        lambda src, tgt: _by_turn(src, tgt, lambda span: span[:-1]),
        "The last word of each span is lost. A span ends *before* the next sign, which is none of its words.",
    ),
    Slip(
        "spans backwards",
        lambda src, tgt: _by_turn(src, tgt, lambda span: span[::-1]),
        "The words of each span came back in the wrong order.",
    ),
    Slip(
        "signs matched by their order",
        _in_turn,
        "The spans are put in one after the other. A sign says by its name which span it stands for: look it up.",
    ),
    Slip(
        "words of a span once",
        lambda src, tgt: _by_turn(src, tgt, lambda span: [*dict.fromkeys(span)]),
        "A word that occurs twice in a span came back once. A span is a list, in which words may repeat.",
    ),
    Slip(
        "spans cut",
        lambda src, tgt: _by_turn(src, tgt, lambda span: span[:3]),
        "Only three words of a span came back. A span goes on until the next sign of the target, however long it is.",
    ),
    Slip(
        "the rest is cut",
        lambda src, tgt: _restore(src[: max(i for i, token in enumerate(src) if token[0] == "<") + 1], tgt),
        "What stands behind the last sign of the source is lost.",
    ),
    Slip(
        "a text",
        lambda src, tgt: " ".join(_restore(src, tgt)),
        "These are the right words in one text. Give back the list of words.",
    ),
]


EMPTY_SLIPS = [
    Slip(
        "first word of a span unseen",
        lambda src, tgt: [w for token in src for w in (_from_the_next(token, tgt) if token[0] == "<" else [token])],
        "You take what stands behind a sign without looking at it. Where two signs stand side by side in the target, the first "
        "one stands for no words at all: check for a sign before you take the first word, too.",
    ),
    Slip(
        "a sign without words stays",
        lambda src, tgt: [w for token in src for w in _restore([token], tgt) or [token]],
        "A sign came back as a word. Where two signs stand side by side in the target, the first one stands for no words, and "
        "disappears. An empty list counts as False in `or` and `if`: ask whether the sign is in the dictionary.",
    ),
]
NO_NUMBER = (
    "You read a number between < and >. A sign is any word that begins with <, such as <a>: match it by its whole name, as a "
    "key of the dictionary."
)
NAME_SLIPS = [
    Slip(
        "signs taken for numbers",
        lambda src, tgt: _by_signs(src, tgt, lambda token: bool(re.match(r"<\d", token))),
        NO_NUMBER,
    ),
]
INSIDE_SLIPS = [
    Slip(
        "a < anywhere",
        lambda src, tgt: _by_signs(src, tgt, lambda token: "<" in token),
        "You take every word with a < in it for a sign, such as x<y. A sign *begins* with <: `startswith`.",
    ),
]


@exercise("descendants.unspan", answer="restore")
def unspan(student, expect):
    words = "the keeper listened to the ships and wrote down what she was hearing".split()
    inputs = [
        (
            ["we", "<1>", "the", "sea", "<2>", "home", "again"],
            ["<1>", "crossed", "all", "of", "<2>", "and", "came", "<3>"],
        ),
        (["<1>", "is", "good", "<2>", "today", "too"], ["<1>", "the", "weather", "<2>", "in", "the", "north", "<3>"]),
    ]
    for cut in _sizes(2, 1, 3):
        words = [words[i] for i in torch.randperm(len(words))]
        first, second = words[cut : cut + 3], words[cut + 5 : cut + 7]
        src = [*words[:cut], "<1>", *words[cut + 3 : cut + 5], "<2>", *words[cut + 7 :]]
        inputs.append((src, ["<1>", *first, "<2>", *second, "<3>"]))
    holds = "each span stands where its sign stood"
    expect.agrees(student.restore, _restore, inputs, holds, SPAN_SLIPS, describe="the sentence")
    src = ["we", "<2>", "the", "<11>", "on", "<1>"]  # other numbers, in another order than in the target
    tgt = ["<1>", "shore", "<2>", *"saw a light and a sail beyond".split(), "<11>", "far", "far", "out", "<3>"]
    holds = "signs are matched by their names, whatever their order and number, and a span may be long and repeat words"
    inputs = [(src, tgt), ([src[0], *src[3:], *src[1:3]], tgt)]
    expect.agrees(student.restore, _restore, inputs, holds, SPAN_SLIPS, describe="the sentence")
    ends = [(["<1>", "moved", "<2>"], ["<1>", "it", "never", "<2>", "nearer", "<3>"])]
    expect.agrees(
        student.restore, _restore, ends, "a sentence may begin and end with a span", SPAN_SLIPS, describe="the sentence"
    )
    a, b, c, d, e, f, g = ("".join(map(chr, row)) for row in (torch.randperm(26)[:21].view(7, 3) + ord("a")).tolist())
    empty = [
        ([a, "<1>", b, "<2>"], ["<1>", "<2>", c, d, "<3>"]),
        (["<2>", a, "<1>", b, "<3>", c], ["<1>", d, e, "<2>", "<3>", f, "<4>"]),
    ]
    holds = "where two signs stand side by side, nothing comes back"
    expect.agrees(student.restore, _restore, empty, holds, EMPTY_SLIPS, describe="the sentence")
    named = [
        (["<1>", a, c, f"<{b}>"], ["<1>", d, f"<{b}>", e, f, "<2>"]),
        ([f"<{d}>", a, "<1>", c, f"<{b}>"], ["<1>", g, f"<{b}>", e, f"<{d}>", f, f, "<2>"]),
    ]
    known = {"invalid literal for int": ("signs taken for numbers", NO_NUMBER)}
    holds = "a sign need not be a number"
    expect.agrees(told(student.restore, known), _restore, named, holds, NAME_SLIPS, describe="the sentence")
    inside = [
        ([a, "<1>", b, "<2>"], ["<1>", c, f"{d}<{e}", f, "<2>", g, "<3>"]),
        (["<2>", a, "<1>", b], ["<1>", c, "<2>", f"{d}<{e}", f, g, "<3>"]),
        ([a, f"{b}<{c}", "<1>", d], ["<1>", e, f, g, "<2>"]),
        ([a, f"{b}>", "<1>", d], ["<1>", e, f"{f}>", g, "<2>"]),
    ]
    holds = "a word with < inside is no sign, nor is one that ends with >"
    expect.agrees(student.restore, _restore, inside, holds, INSIDE_SLIPS, describe="the sentence")


# the masked loss


def _masked_loss(logits: Tensor, ids: Tensor, asked: Tensor) -> Tensor:
    return F.cross_entropy(logits[asked], ids[asked])


def _nats(logits: Tensor, ids: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), ids.flatten(), reduction="none").view(ids.shape)


LOSS_SLIPS = [
    Slip(
        "bits",
        lambda logits, ids, asked: _masked_loss(logits, ids, asked) / math.log(2),
        "Your loss is in bits: the logarithm has base 2. The loss of the formula has the natural logarithm.",
    ),
    Slip(
        "every position",
        lambda logits, ids, asked: _nats(logits, ids).mean(),
        "Every position counts here, also those whose word was read. Only what was asked for is to be learned.",
    ),
    Slip(
        "zeros count as asked",
        lambda logits, ids, asked: (_nats(logits, ids) * asked).mean(),
        "What was not asked for is 0, but the mean still divides by all positions. Divide by how many were asked for.",
    ),
    Slip(
        "a sum",
        lambda logits, ids, asked: (_nats(logits, ids) * asked).sum(),
        "This is the sum over what was asked for. The loss of the formula is its mean.",
    ),
    Slip(
        "a mean of means",
        lambda logits, ids, asked: ((_nats(logits, ids) * asked).sum(1) / asked.sum(1)).mean(),
        "You took a mean for each sentence, and the mean of these. A word in a sentence with few blanks counts more then. "
        "One mean over all words asked for.",
    ),
    Slip(
        "divided by the sentences",
        lambda logits, ids, asked: (_nats(logits, ids) * asked).sum() / len(ids),
        "The sum was divided by the number of sentences. Divide by the number of words that were asked for.",
    ),
    Slip(
        "what was not asked for",
        lambda logits, ids, asked: _masked_loss(logits, ids, ~asked),
        "This is the loss of the words that were *not* asked for. `asked` is True where a word must be said.",
    ),
    Slip(
        "the next word",
        lambda logits, ids, asked: F.cross_entropy(logits[:, :-1][asked[:, 1:]], ids[:, 1:][asked[:, 1:]]),
        "The targets were shifted by one, as for a decoder. An encoder says the word that stands at this very "
        "position.",
    ),
    Slip(
        "two softmaxes",
        lambda logits, ids, asked: F.cross_entropy(logits[asked].softmax(-1), ids[asked]),
        "`cross_entropy` takes logits, and applies the softmax itself. Given probabilities it applies another one.",
    ),
    Slip(
        "the wrong sign",
        lambda logits, ids, asked: -_masked_loss(logits, ids, asked),
        "The size is right, the sign is not: −log P is never below 0.",
    ),
]


@exercise("descendants.masked-loss", answer="masked_loss")
def masked_loss(student, expect):
    inputs = []
    for n in _sizes(3, 5, 9):
        asked = torch.rand(4, n) < 0.4
        asked[:, 1], asked[0, 2:4], asked[1, 0] = True, True, False  # some in every sentence, not equally many
        inputs.append((2 * torch.randn(4, n, 7), torch.randint(7, (4, n)), asked))
    holds = "the mean over the words asked for"
    expect.agrees(student.masked_loss, _masked_loss, inputs, holds, LOSS_SLIPS, describe="the loss")


# the low-rank adapter


def _low_rank(X: Tensor, W: Tensor, A: Tensor, B: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    merged = W + alpha / len(A) * (B @ A)
    return X @ merged.T, merged


def _scaled(scale: Callable[[Tensor, Tensor, float], float]) -> Callable[..., tuple[Tensor, Tensor]]:
    """The adapted map with another factor before the update, a function of A, B and alpha."""

    def adapted(X: Tensor, W: Tensor, A: Tensor, B: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
        merged = W + scale(A, B, alpha) * (B @ A)
        return X @ merged.T, merged

    return adapted


def _another_output(output: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    """The right merged weight, and an output computed of X, W and the scaled update."""
    return lambda X, W, A, B, alpha: (
        output(X, W, alpha / len(A) * (B @ A)),
        _low_rank(X, W, A, B, alpha)[1],
    )


def _another_merged(merged: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    """The right output, and a merged weight made of W and the scaled update."""
    return lambda X, W, A, B, alpha: (
        _low_rank(X, W, A, B, alpha)[0],
        merged(W, alpha / len(A) * (B @ A)),
    )


def _transposed_update(X: Tensor, W: Tensor, A: Tensor, B: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    merged = W + alpha / len(A) * (A.T @ B.T)
    return X @ merged.T, merged


LOW_RANK_SLIPS = [
    Slip(
        "no scale",
        _scaled(lambda A, B, alpha: 1.0),
        "The update is added as it is. The formula has a factor before it, in which `alpha` appears.",
    ),
    Slip(
        "alpha only",
        _scaled(lambda A, B, alpha: alpha),
        "The update is too large: it is multiplied by alpha, but the factor is a fraction. What is below alpha in the formula?",
    ),
    Slip(
        "root of the rank",
        _scaled(lambda A, B, alpha: alpha / len(A) ** 0.5),
        "The update is divided by √r. There is such a variant, but the formula of this exercise has no root.",
    ),
    Slip(
        "divided by the rank twice",
        _scaled(lambda A, B, alpha: alpha / len(A) ** 2),
        "The update is divided by r twice. Perhaps you scaled it in two places, or took a mean over the rank where a matrix "
        "product takes a sum.",
    ),
    Slip(
        "the columns of A for r",
        _scaled(lambda A, B, alpha: alpha / A.shape[1]),
        "You divided by d_in, the number of columns of A. The rank is the size that A and B have in common and W does not have.",
    ),
    Slip(
        "the rows of B for r",
        _scaled(lambda A, B, alpha: alpha / len(B)),
        "You divided by d_out, the number of rows of B. The rank is the size that B and A have in common and W does not have.",
    ),
    Slip(
        "scale upside down",
        _scaled(lambda A, B, alpha: len(A) / alpha),
        "The factor before the update is upside down: with a larger alpha the update should become larger.",
    ),
    Slip(
        "whole-number division",
        _scaled(lambda A, B, alpha: alpha // len(A)),
        "The factor before the update was rounded down to a whole number. `//` does that, and `/` does not.",
    ),
    Slip(
        "scaled twice",
        _scaled(lambda A, B, alpha: (alpha / len(A)) ** 2),
        "The update is scaled twice. Perhaps you scaled both A and B; a factor before one of them is a factor before their product.",
    ),
    Slip(
        "frozen weight scaled as well",
        lambda X, W, A, B, alpha: tuple(
            alpha / len(A) * part for part in _scaled(lambda A, B, alpha: 1.0)(X, W, A, B, alpha)
        ),
        "The contribution of W is scaled as well. In the formula, the factor applies to the update only.",
    ),
    Slip(
        "frozen weight forgotten",
        lambda X, W, A, B, alpha: _low_rank(X, torch.zeros_like(W), A, B, alpha),
        "Both results contain only the update. An adapter is added to the frozen map and does not replace it: with B = 0 the "
        "output should be that of W.",
    ),
    Slip(
        "frozen weight forgotten in the output",
        _another_output(lambda X, W, update: X @ update.T),
        "The merged weight is right, but your output contains only the update. The two should agree: a linear map with the merged "
        "weight gives the output.",
    ),
    Slip(
        "output of the frozen weight",
        _another_output(lambda X, W, update: X @ W.T),
        "The merged weight is right, but your output is that of the frozen weight, as if there were no adapter.",
    ),
    Slip(
        "only the update merged",
        _another_merged(lambda W, update: update),
        "The output is right, but your second matrix is the update alone. If it replaced all three matrices, the "
        "map would lose what was learned before the adapter.",
    ),
    Slip(
        "frozen weight returned",
        _another_merged(lambda W, update: W),
        "The output is right, but your second matrix is W unchanged, so what the adapter has learned would be lost.",
    ),
    Slip(
        "merged without the scale",
        lambda X, W, A, B, alpha: (_low_rank(X, W, A, B, alpha)[0], W + B @ A),
        "The output is right, but the update in your merged weight has no factor before it, so the merged weight would give "
        "a different output.",
    ),
    Slip(
        "output without the scale",
        lambda X, W, A, B, alpha: (X @ (W + B @ A).T, _low_rank(X, W, A, B, alpha)[1]),
        "The merged weight is right, but the update in your output has no factor before it.",
    ),
    Slip(
        "merged weight transposed",
        _another_merged(lambda W, update: (W + update).T),
        "The output is right, but your merged weight is transposed. It should have the shape of W, (d_out, d_in).",
    ),
    Slip(
        "update transposed",
        _transposed_update,
        "Your update is transposed: it has the shape (d_in, d_out), which fits W only where d_in = d_out. In which order must "
        "A and B be multiplied so that the result has the shape of W?",
    ),
    Slip(
        "update transposed in the output",
        _another_output(lambda X, W, update: X @ W.T + X @ update),
        "The merged weight is right, but in your output X is multiplied by B first, which is possible only where d_in = d_out. "
        "It is A that reads vectors of d_in numbers, and B that returns vectors of d_out.",
    ),
    Slip(
        "W not transposed",
        _another_output(lambda X, W, update: X @ W + X @ update.T),
        "The merged weight is right, but in your output the frozen part is X W, which is possible only where d_in = d_out. "
        "`nn.Linear` stores its weight as (d_out, d_in).",
    ),
    Slip(
        "merged weight not transposed in the output",
        _another_output(lambda X, W, update: X @ (W + update)),
        "The merged weight is right, but your output is X times this weight, which is possible only where d_in = d_out. A linear map "
        "with a weight of shape (d_out, d_in), such as `nn.Linear`, multiplies differently.",
    ),
    Slip(
        "update added twice",
        _another_output(lambda X, W, update: X @ (W + 2 * update).T),
        "The merged weight is right, but the update is in your output twice. The merged weight already contains it, so use "
        "either the merged weight or W with the adapter.",
    ),
    Slip(
        "the other order",
        lambda X, W, A, B, alpha: tuple(reversed(_low_rank(X, W, A, B, alpha))),
        "Both results are right, but in the wrong order. Return the output first, then the merged weight.",
    ),
    Slip(
        "only the output",
        lambda X, W, A, B, alpha: _low_rank(X, W, A, B, alpha)[0],
        "The output is right, and it is all that came back. The text asks for the merged weight as well, as the second result.",
    ),
    Slip(
        "only the merged weight",
        lambda X, W, A, B, alpha: _low_rank(X, W, A, B, alpha)[1],
        "The merged weight is right, and it is all that came back. The text asks for the output of the adapted map as well, "
        "as the first result.",
    ),
]


@exercise("descendants.low-rank", answer="low_rank")
def low_rank(student, expect):
    a, b, c, d, e, f = _sizes(6, 5, 10)
    ranks = [*_sizes(3, 2, 4), 2, 1]
    shapes = [(a, a), (b, b), (c, d), (d, c), (e, f)]  # with d_in = d_out a transposed product fits, too
    inputs = []
    alphas = [k + 0.5 for k in _sizes(5, 4, 10)]  # no multiples of r, so that `//` shows
    for n, r, (d_in, d_out), alpha in zip(_sizes(5, 11, 15), ranks, shapes, alphas):
        A, B = torch.randn(r, d_in) / d_in**0.5, torch.randn(d_out, r) / 2
        inputs.append((torch.randn(n, d_in), torch.randn(d_out, d_in), A, B, alpha))
    holds = "the output of the adapted map, and the one weight that gives the same output"
    expect.agrees(
        student.low_rank, _low_rank, inputs, holds, LOW_RANK_SLIPS, describe="the output and the merged weight"
    )
    X, W, A, B, alpha = inputs[2]
    expect.agrees(
        student.low_rank,
        _low_rank,
        [(X, W, A, torch.zeros_like(B), alpha)],
        "before training, when B is 0, the adapter changes nothing",
        describe="the output and the merged weight when B is 0",
    )


# the induction score


def _places(ids: list[int]) -> list[tuple[int, int]]:
    """(i, j): position i holds a token that stood before, last at j − 1."""
    found = []
    for i, token in enumerate(ids):
        before = [j for j in range(i) if ids[j] == token]
        if before:
            found.append((i, before[-1] + 1))
    return found


def _score(weights: Tensor, ids: Tensor, shift: int = 0, first: bool = False, divide: bool = True) -> Tensor:
    seen = ids.tolist()
    pairs = [(i, seen.index(seen[i]) + 1 if first else j) for i, j in _places(seen)]
    total: Any = sum(weights[:, i, j + shift] for i, j in pairs)
    return total / len(pairs) if divide else total


def _all_places(ids: Tensor) -> list[tuple[int, list[int]]]:
    """(i, js): position i holds a token that stood before, each time at one of js less 1."""
    seen = ids.tolist()
    found = [(i, [j + 1 for j in range(i) if seen[j] == token]) for i, token in enumerate(seen)]
    return [(i, js) for i, js in found if js]


INDUCTION_SLIPS = [
    Slip(
        "the same token",
        lambda weights, ids: _score(weights, ids, shift=-1),
        "This is the weight on the earlier *same* token. An induction head looks one further: at what came after it.",
    ),
    Slip(
        "the token before",
        lambda weights, ids: weights.diagonal(-1, 1, 2).mean(-1),
        "This is the weight on the position just before, which a previous-token head has.",
    ),
    Slip(
        "the first time",
        lambda weights, ids: _score(weights, ids, first=True),
        "You went back to the first time that the token stood there. The text asks for the last time before.",
    ),
    Slip(
        "every earlier time",
        lambda weights, ids: torch.stack([sum(weights[:, i, j] for j in js) for i, js in _all_places(ids)]).mean(0),
        "You added up what lies behind every earlier time that the token stood there. The text asks for the last time only.",
    ),
    Slip(
        "every earlier time, averaged",
        lambda weights, ids: torch.stack([weights[:, i, j] for i, js in _all_places(ids) for j in js]).mean(0),
        "You went back to every earlier time that the token stood there, and averaged. The text asks for the last time only.",
    ),
    Slip(
        "divided by all positions",
        lambda weights, ids: _score(weights, ids, divide=False) / len(ids),
        "The sum was divided by all positions. Those whose token is new have nothing to look back to, and do not count.",
    ),
    Slip(
        "a sum",
        lambda weights, ids: _score(weights, ids, divide=False),
        "This is the sum over the positions. The score is their mean, from 0 to 1.",
    ),
    Slip(
        "keys taken for queries",
        lambda weights, ids: _score(weights.mT, ids),
        "Rows and columns have changed places: weights[h, i, j] is what query i lays on key j.",
    ),
    Slip(
        "all heads together",
        lambda weights, ids: _score(weights, ids).mean(),
        "One number for all heads came back. Each head has its own.",
    ),
    Slip(
        "two further",
        lambda weights, ids: _score(weights[:, :, [*range(1, weights.shape[2]), 0]], ids),
        "You looked two places behind the earlier token. What followed it stands one place behind.",
    ),
    Slip(
        "the largest weight",
        lambda weights, ids: torch.stack([weights[:, i, j] for i, j in _places(ids.tolist())]).amax(0),
        "This is the largest of the weights. One position may look there by chance: take the mean.",
    ),
]


@exercise("descendants.induction-score", answer="induction_scores")
def induction_score(student, expect):
    inputs = []
    for heads, n in zip(_sizes(3, 2, 5), _sizes(3, 8, 12)):
        ids = torch.randint(4, (n,))
        ids[0], ids[3], ids[6] = 7, 7, 7  # one stands there three times: the first and the last before differ
        weights = torch.rand(heads, n, n).tril().add(1e-3).tril()
        inputs.append((weights / weights.sum(-1, keepdim=True), ids))
    holds = "for each head, the mean weight on what followed the same token last time"
    expect.agrees(student.induction_scores, _score, inputs, holds, INDUCTION_SLIPS, describe="the scores")

"""From language model to assistant: losses for answers and preferences, scores of many answers, activation patching."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from tfm_lib._errors import (
    bad_input, require_a_loss, require_examples, require_kind, require_number, require_rows, require_targets,
    require_texts, require_values, require_vocabulary, require_whole, shape_of, shown,
)  # fmt: skip
from tfm_lib._shapes import checked
from tfm_lib._trace import trace
from tfm_lib._vocabulary import Vocabulary
from tfm_lib.data import Example, pad
from tfm_lib.transformer import DecoderOnly

__all__ = [
    "Answers",
    "answer_log_probs",
    "best_of_n_kl",
    "dpo_loss",
    "majority",
    "pass_at_k",
    "patched_heads",
]


class Answers(NamedTuple):
    """What a decoder reads, and what it must predict: padding where the next token is given."""

    read: Int[Tensor, "batch n"]
    predicted: Int[Tensor, "batch n"]

    @classmethod
    def of(cls, examples: Sequence[Example], vocabulary=Vocabulary) -> "Answers":
        """The batch of `examples`: `src` is given; `tgt` and the <eos> after it are learned.

        A <bos> comes before `src`; `vocabulary` names the special ids, as a `Tokenizer` does.

        Source: Ouyang et al. (2022), section 3.5, supervised fine-tuning on demonstrations.
        Differs: the paper doesn't say whether the given tokens count in its loss; here they don't.
        """
        require_examples("examples", examples, least=1)
        require_vocabulary(vocabulary)
        bos, eos, pad_id = vocabulary.bos_id, vocabulary.eos_id, vocabulary.pad_id
        return cls(
            read=pad([[bos, *src, *tgt] for src, tgt in examples], pad_id),
            predicted=pad([[*[pad_id] * len(src), *tgt, eos] for src, tgt in examples], pad_id),
        )


@checked
def answer_log_probs(
    logits: Float[Tensor, "batch n v"],
    predicted: Int[Tensor, "batch n"],
    pad_id: int = Vocabulary.pad_id,
) -> Float[Tensor, " batch"]:
    """log p(answer | given) of each row, in nats: the sum over its tokens in `predicted`.

    Where `predicted` is `pad_id`, nothing counts; at least one token must.
    """
    require_targets(logits, predicted, pad_id, "predicted")
    nats = F.cross_entropy(logits.mT, predicted.long(), ignore_index=pad_id, reduction="none")
    require_a_loss(nats.sum())
    return -nats.sum(dim=-1)


@checked
def dpo_loss(
    preferred: Float[Tensor, " batch"],
    other: Float[Tensor, " batch"],
    preferred_before: Float[Tensor, " batch"],
    other_before: Float[Tensor, " batch"],
    beta: float = 0.1,
) -> Float[Tensor, ""]:
    """−log σ(β · (gain of the preferred answer − gain of the other)), the mean over all pairs.

    All four tensors hold log p(answer | given), for one pair of answers a row: under the model
    that learns and, `before`, under the frozen one that it starts from. A gain is the difference
    of the two. The larger `beta`, above 0, the less the model has to move away from the frozen one.

    Source: Rafailov et al. (2023), equation 7.
    """
    require_number("beta", beta, lambda beta: 0 < beta < math.inf, "be a finite number above 0")
    if not len(preferred):
        raise bad_input("preferred", "hold at least one answer", shape_of(preferred))
    require_values(preferred=preferred, other=other, preferred_before=preferred_before, other_before=other_before)
    ahead = (preferred - preferred_before) - (other - other_before)
    return -F.logsigmoid(beta * ahead).mean()


def pass_at_k(n: int, right: int, k: int) -> float:
    """The probability that `k` of `n` answers, drawn without replacement, include a right one.

    `right` of the `n` are. Over many sets of `n` answers the mean of this is that of `k` new
    answers: the estimate is unbiased.

    Source: Chen et al. (2021), equation 1.
    """
    require_whole("n", n, 1)
    require_whole("right", right, 0, f"be a whole number from 0 to n = {n}", n)
    require_whole("k", k, 1, f"be a whole number from 1 to n = {n}", n)
    return 1 - math.comb(n - right, k) / math.comb(n, k)


def majority(answers: Sequence[str]) -> str:
    """The most frequent of `answers`; if several are, the one that came first.

    Source: Wang et al. (2023), self-consistency, section 2.
    """
    require_texts("answers", answers)
    if not answers:
        raise bad_input("answers", "hold at least one answer", "none")
    return Counter(answers).most_common(1)[0][0]


def best_of_n_kl(n: int) -> float:
    """log n − (n − 1) / n, in nats: how far choosing the best of `n` answers moves from the model.

    It is an upper bound of the KL divergence from the model's distribution to that of the answer
    with the best score, whatever the score is.

    Source: Gao, Schulman and Hilton (2023), section 2; Beirami et al. (2024) prove the bound.
    """
    require_whole("n", n, 1)
    return math.log(n) - (n - 1) / n


@contextmanager
@checked
def patched_heads(
    model: DecoderOnly,
    heads: Sequence[tuple[int, int]],
    seen: Mapping[str, Tensor],
    position: int = -1,
) -> Iterator[DecoderOnly]:
    """`model` in which some heads give, at one position, the output that they gave in another run.

    `heads` are pairs of a layer and a head in it, counted from 0; `seen` is what `trace` recorded
    of the other run, of one sentence or of as many as the block reads. `position` counts in each
    of the two runs, so that −1 is the last token of both, whatever their lengths.

    Source: Meng et al. (2022), section 2.1, restore the states of whole layers; Wang et al. (2023),
    interpretability in the wild, section 3, patch single heads.
    """
    require_whole("position", position)
    require_kind("seen", seen, Mapping, "be what trace recorded")
    n_heads, chosen = model.config.n_heads, _by_layer(model, heads)
    changes = {}
    for layer, some in chosen.items():
        name = f"layers.{layer}.self_attention.heads"
        if name not in seen:
            raise bad_input("seen", f"hold {name!r}, as trace(model) records it", shown(seen))

        def change(here: Tensor, there: Tensor = seen[name], some: list[int] = some) -> Tensor:
            _require_patchable(here, there, position)
            here, there = here.unflatten(-1, (n_heads, -1)), there.unflatten(-1, (n_heads, -1))
            here[:, position, some] = there[:, position, some]
            return here.flatten(-2)

        changes[name] = change
    with trace(model, "", replace=changes):
        yield model


def _by_layer(model: DecoderOnly, heads: Sequence[tuple[int, int]]) -> dict[int, list[int]]:
    """The heads of each layer, of which each must exist."""
    must = "be pairs of a layer and a head in it"
    require_rows("heads", heads, must)
    chosen: dict[int, list[int]] = {}
    for pair in heads:
        if len(pair) != 2:
            raise bad_input("heads", must, tuple(pair))
        for what, number, count in zip(("layer", "head"), pair, (len(model.layers), model.config.n_heads)):
            require_whole(f"each {what} of heads", number, 0, f"be a whole number below {count}", count - 1)
        chosen.setdefault(pair[0], []).append(pair[1])
    return chosen


def _require_patchable(here: Tensor, there: Tensor, position: int) -> None:
    """Both runs must have the position, and the other as many sentences as this one, or one."""
    if there.dim() != 3 or len(there) not in (1, len(here)) or there.shape[-1] != here.shape[-1]:
        must = f"hold heads of shape (batch, n, {here.shape[-1]}) with a batch of 1 or {len(here)}"
        raise bad_input("seen", must, shape_of(there))
    shorter = min(here.shape[1], there.shape[1])
    if not -shorter <= position < shorter:
        raise bad_input("position", f"be one of the {shorter} that both runs have", position)

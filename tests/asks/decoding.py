"""The questions of `chapters/decoding.md`."""

import torch
from torch.testing import assert_close

from tfm_lib.decoding import filter_logits, length_penalty
from tfm_lib.masking import causal_mask
from tfm_lib.multihead import KeyValueCache, MultiHeadAttention


def _each_word_costs() -> None:
    """However sure the model is of each word, enough of them are less probable than an end at once."""
    sure, end_at_once = torch.tensor(0.9).log(), torch.tensor(0.001).log()
    assert 70 * sure < end_at_once < 60 * sure


def _scores() -> list[float]:
    log_p, length = -4.8, 8
    penalty = length_penalty(length, 0.6)
    return [log_p / penalty, log_p / length_penalty(length, 0.0), log_p / length, log_p * penalty, log_p / length**0.6]


def _shapes() -> list:
    layer, cache, X = MultiHeadAttention(512, 8), KeyValueCache(), torch.randn(1, 5, 512)
    for t in range(5):
        word = X[:, t : t + 1]
        _, weights = layer(word, word, word, cache=cache)
    new = cache.K[:, :, -1:]
    whole = layer(X, X, X, causal_mask(5))[1]
    return [cache.K.shape, new.shape, whole.shape, weights.shape, X.shape]


def _nucleus(p: torch.Tensor, top_p: float) -> torch.Tensor:
    if not torch.isclose(p.sum(), torch.tensor(1.0)):
        raise ValueError("probabilities are wanted")
    return filter_logits(p.log(), top_p=top_p).softmax(dim=-1)


def _given() -> dict:
    return {
        "logits": torch.tensor([4.0, 3.0, 0.0, -2.0, -2.5]),
        "nucleus": _nucleus,
        "draw": lambda p: (p > 0).nonzero(),
    }


def _hot_then_cut(names: dict) -> None:
    kept = _nucleus((names["logits"] / 2).softmax(dim=-1), 0.9)
    assert_close(names["kept"], kept)
    assert torch.equal(names["token"], (kept > 0).nonzero())


VALUES = {"penalised": _scores, "kept-keys": _shapes}
TRIALS = {"heat-first": _hot_then_cut}
GIVEN = {"heat-first": _given}
CLAIMS = {"most-probable": _each_word_costs}

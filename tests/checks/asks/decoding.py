"""The questions of `chapters/decoding.md`."""

import torch
from torch.testing import assert_close

from tfm_lib.decoding import filter_logits
from tfm_lib.drawing import recorded
from tfm_lib.masking import causal_mask
from tfm_lib.multihead import KeyValueCache, MultiHeadAttention


def _each_word_costs() -> None:
    """However sure the model is of each word, enough of them are less probable than an end at once."""
    sure, end_at_once = torch.tensor(0.9).log(), torch.tensor(0.001).log()
    assert 70 * sure < end_at_once < 60 * sure


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


def _six_times_as_much() -> None:
    record = recorded("translator_switches")
    lost = {
        name: (record["whole"]["bleu"] - switch["bleu"]) / switch["changed"]
        for name, switch in record["switches"].items()
        if switch["changed"]
    }
    assert 5.5 < lost["decoder.1"] / lost["scale"] < 7


def _step(new: list, cache: list) -> torch.Tensor:
    """The logits of one head over a cache of token ids, with fixed random vectors."""
    Q, K, V, W = torch.randn(4, 7, 8, generator=torch.Generator().manual_seed(0))
    cache.extend(new)
    return (K[cache] @ Q[cache[-1]]).softmax(dim=0) @ V[cache] @ W.T


def _reads_each_token_once(names: dict) -> None:
    for bos in range(6):
        ids = [bos]
        while len(ids) <= 8 and (len(ids) == 1 or ids[-1] != 6):
            ids.append(_step(ids, []).argmax().item())
        assert names["write"](_step, bos, 6, 8) == ids[1:]


VALUES = {"kept-keys": _shapes}
TRIALS = {"read-twice": _reads_each_token_once, "heat-first": _hot_then_cut}
GIVEN = {"heat-first": _given}
CLAIMS = {"each-change": _six_times_as_much, "most-probable": _each_word_costs}

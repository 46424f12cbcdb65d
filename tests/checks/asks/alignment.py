"""The questions of `chapters/alignment.md`."""

import torch
from torch.testing import assert_close

from tfm_lib.alignment import AttentiveSeq2Seq, MemoryHop, alignment_error_rate
from tfm_lib.drawing import recorded


def _translated(src: int = 7, tgt: int = 5) -> tuple:
    torch.manual_seed(0)
    model = AttentiveSeq2Seq(20, 20, 64)
    reading = model.read(torch.randint(3, 20, (2, src)))
    _, _, weights = model.attend(torch.randint(3, 20, (2, tgt)), reading)
    return weights, reading.H


def _shapes() -> list:
    weights, H = _translated()
    return [weights.shape, weights.mT.shape, (weights @ H).shape, H.shape, (weights @ weights.mT).shape]


def _a_mean_for_each_step() -> None:
    weights, H = _translated(src=40)
    contexts = weights @ H
    assert_close(weights.sum(dim=-1), torch.ones(2, 5))
    assert (weights > 0).all()
    assert (contexts[:, 1:] - contexts[:, :-1]).abs().amax(dim=-1).min() > 1e-6


def _error_rates() -> list[float]:
    def links(*places: int) -> torch.Tensor:
        made = torch.zeros(1, 6, dtype=torch.bool)
        made[0, list(places)] = True
        return made

    sure, possible, proposed = links(0, 1, 2), links(3), links(0, 1, 3, 4)
    rate = alignment_error_rate(proposed, sure, possible)
    recall = (proposed & sure).sum() / sure.sum()
    precision = (proposed & (sure | possible)).sum() / proposed.sum()
    return [rate, 1 - rate, 1 - recall.item(), 1 - precision.item(), alignment_error_rate(proposed, sure)]


def _hops(names: dict) -> None:
    torch.manual_seed(0)
    u, M_in, M_out = torch.randn(4), torch.randn(3, 4), torch.randn(3, 4)
    assert_close(names["hop"](u, M_in, M_out), MemoryHop()(u[None], M_in[None], M_out[None])[0][0])


def _every_seed() -> None:
    rates = recorded("alignment_error")["numbers"]["aer"]
    assert max(rates["bilinear"]) < min(rates["scaled dot"])
    for one, other in (("bilinear", "additive"), ("bilinear", "dot"), ("additive", "dot")):
        assert max(rates[one]) > min(rates[other])


VALUES = {"aer-by-hand": _error_rates, "weights-shape": _shapes}
TRIALS = {"hop-reads": _hops}
CLAIMS = {"every-seed": _every_seed, "fresh-context": _a_mean_for_each_step}

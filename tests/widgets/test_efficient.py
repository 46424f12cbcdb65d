"""The widgets of chapter `efficient` in a kernel: patterns against masks and slow loops, the softmax against attention."""

import pytest
import torch
from matplotlib.figure import Figure

from tfm_lib.attention import attention
from tfm_lib.efficient import lsh_pairs
from tfm_lib.widgets.efficient import ORDERS, PATTERNS, TILES, OnlineSoftmax, SparsityPatterns, online, reach


def test_a_window_reaches_as_far_as_its_layers_together() -> None:
    widget = SparsityPatterns(size=3, value=7)
    i, j = torch.arange(20)[:, None], torch.arange(20)
    assert widget.hops.equal(((i - j).abs().clamp(min=1) + 2) // 3)
    widget.value = 6
    assert widget.hops[19, 0] == 0 and "“the” not yet." in widget.alt
    widget.causal = True
    assert (widget.hops.triu(1) == 0).all()


def test_a_word_that_sees_all_brings_news_in_two_layers() -> None:
    assert SparsityPatterns(pattern="global", size=1, value=2).hops.min() > 0
    assert SparsityPatterns(pattern="window", size=1, value=2).hops.min() == 0
    assert (SparsityPatterns(pattern="full").hops == 1).all()


def test_hashing_shows_who_meets() -> None:
    widget = SparsityPatterns(pattern="hashing", rounds=2)
    pairs = lsh_pairs(torch.tensor(widget.buckets)[:2], 4) | torch.eye(20, dtype=torch.bool)
    assert widget.mask.equal(pairs)
    more = SparsityPatterns(pattern="hashing", rounds=4).mask
    assert (more >= widget.mask).all() and more.sum() > widget.mask.sum()
    same = [(i, j) for i in range(20) for j in range(20) if i != j and widget.tokens[i] == widget.tokens[j]]
    met = sum(more[i, j].item() for i, j in same) / len(same)
    assert met > 1.5 * more.float().mean()


def test_reach_is_the_shortest_way() -> None:
    mask = torch.rand(7, 7, generator=torch.Generator().manual_seed(0)) < 0.3
    now, expected = mask, mask.long()
    for layer in (2, 3):
        now = torch.tensor([[any(now[i, k] and mask[k, j] for k in range(7)) for j in range(7)] for i in range(7)])
        expected[now & (expected == 0)] = layer
    assert reach(mask, 3).equal(expected)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("tile", TILES)
def test_the_softmax_ends_where_attention_does(order: str, tile: int) -> None:
    widget = OnlineSoftmax(order=order, tile=tile, value=8)
    scores, values = (torch.tensor(each, dtype=torch.float64)[:, None] for each in (widget.scores, widget.values))
    whole = attention(torch.ones(1, 1, dtype=torch.float64), scores, values)[0].item()
    assert abs(widget.rows[-1]["output"] - whole) < 1e-12
    assert len(widget.rows) == 8 // tile
    shrinks = [row["shrink"] for row in widget.rows[1:]]
    assert all(shrink == 1 for shrink in shrinks) if order == "falling" else all(shrink <= 1 for shrink in shrinks)


def test_a_larger_score_shrinks_what_was_there() -> None:
    first, second = online([0.0, 1.0], [1.0, 2.0], 1)
    assert (first["shrink"], first["total"], first["mixed"]) == (0, 1, 1)
    assert second["total"] == pytest.approx(1 + 0.36788, abs=1e-5)
    assert second["mixed"] == pytest.approx(2 + 0.36788, abs=1e-5)


@pytest.mark.parametrize(
    "make",
    [
        *(lambda p=p: SparsityPatterns(pattern=p, value=3) for p in PATTERNS),
        lambda: OnlineSoftmax(value=3),
        OnlineSoftmax,
    ],
)
def test_a_picture_and_a_sentence(make) -> None:
    widget = make()
    assert isinstance(widget.figure(), Figure) and widget.alt.endswith(".")
    widget.get_state()

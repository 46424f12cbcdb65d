"""The questions of `chapters/layers.md`."""

import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tfm_lib.layers import DecoderLayer, FeedForward, LayerNorm
from tfm_lib.masking import causal_mask
from tfm_lib.multihead import MultiHeadAttention


def _alike(X: Tensor) -> float:
    """The mean cosine between different words."""
    units = X / X.norm(dim=-1, keepdim=True)
    gram = units @ units.mT
    return ((gram.sum() - len(X)) / (len(X) * (len(X) - 1))).item()


@torch.no_grad()
def _residual_keeps_apart() -> None:
    for seed in range(3):
        alike = {}
        for added in ("nothing", "norm", "feed-forward", "residual"):
            torch.manual_seed(seed)
            X = torch.randn(16, 64)
            for _ in range(12):
                attend, feed, norm = MultiHeadAttention(64, 4), FeedForward(64, 256), LayerNorm(64)
                Y = attend(X[None], X[None], X[None])[0][0]
                X = {"nothing": Y, "norm": norm(Y), "feed-forward": feed(Y), "residual": X + Y}[added]
            alike[added] = _alike(X)
        assert min(alike, key=alike.get) == "residual", alike
        assert min(value for name, value in alike.items() if name != "residual") > 0.99, alike


def _three() -> list[float]:
    x = torch.tensor([1.0, 3.0], dtype=torch.double)
    centred = x - x.mean()
    return [
        LayerNorm(2, eps=1e-12).double()(x)[1].item(),
        (centred / x.std(unbiased=True))[1].item(),
        (x / x.square().mean().sqrt())[1].item(),
        (x / x.norm())[1].item(),
        x[1].item(),
    ]


def _shapes() -> list:
    X = torch.randn(32, 20, 512)
    return [LayerNorm(512).gain.shape, X.mean(dim=-1).shape, X[0].shape, X.shape]


def _given() -> dict:
    torch.manual_seed(0)
    keep = torch.rand(4, 8) > 0.3
    X = torch.randn(4, 8)
    return {
        "X": X,
        "start": X,
        "norm": lambda X: 2 * nn.functional.layer_norm(X, (8,)) + 1,
        "feed_forward": FeedForward(8, 16).requires_grad_(False),
        "dropout": lambda X: X * keep / 0.7,
    }


def _pre_norm(names: dict) -> None:
    X = names["start"]
    assert_close(names["X"], X + names["dropout"](names["feed_forward"](names["norm"](X))))


def _hears_the_memory(names: dict) -> None:
    torch.manual_seed(0)
    layer = DecoderLayer(8, 2, 16).eval().requires_grad_(False)
    Y, memory = torch.randn(1, 4, 8), torch.randn(1, 5, 8)

    def own(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        return layer.self_attention(Q, K, V, causal_mask(4))[0]

    def cross(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        return layer.cross_attention(Q, K, V)[0]

    norms = [each.norm for each in layer.residuals]
    ours = names["decoder_layer"](Y, memory, own, cross, layer.feed_forward, norms)
    assert_close(ours, layer(Y, memory, causal_mask(4), None)[0])


VALUES = {"norm-of-three": _three, "gain-shape": _shapes}
TRIALS = {"lost-on-the-way": _hears_the_memory, "norm-first": _pre_norm}
GIVEN = {"norm-first": _given}
CLAIMS = {"keeps-apart": _residual_keeps_apart}

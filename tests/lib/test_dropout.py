"""Dropout by bytes: as many zeros, the same mean, and the plain module's gradient."""

import pytest
import torch
from torch import nn

from tfm_lib.engine.dropout import ByteDropout, byte_dropout
from tfm_lib.layers import EncoderLayer


@pytest.mark.parametrize("p", [0.1, 0.25, 0.5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_it_drops_as_many_and_keeps_the_mean(p: float, dtype: torch.dtype):
    torch.manual_seed(0)
    n = 400_000
    y = ByteDropout(p)(torch.ones(n, dtype=dtype))
    dropped = round(256 * p) / 256
    spread = (dropped * (1 - dropped) / n) ** 0.5
    assert y.dtype == dtype
    assert abs((y == 0).float().mean().item() - dropped) < 4 * spread
    kept = y[y != 0].float()
    assert torch.allclose(
        kept, torch.full_like(kept, 1 / (1 - dropped)), rtol=1e-2 if dtype == torch.bfloat16 else 1e-6
    )


def test_neighbours_are_dropped_independently():
    torch.manual_seed(0)
    kept = (ByteDropout(0.5)(torch.ones(400_000)) != 0).float() - 0.5
    for lag in range(1, 18):  # within the eight bytes of a draw and beyond
        assert abs((kept[lag:] * kept[:-lag]).mean().item()) < 4 * 0.25 / 400_000**0.5


def test_the_gradient_flows_where_the_number_stayed():
    x = torch.randn(7, 13, requires_grad=True)
    y = ByteDropout(0.5)(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad, torch.where(y != 0, 2.0, 0.0))


def test_the_seed_decides():
    def draw() -> torch.Tensor:
        torch.manual_seed(3)
        return ByteDropout(0.3)(torch.ones(99))

    assert torch.equal(draw(), draw())


def test_off_in_evaluation_and_at_zero():
    x = torch.randn(5)
    assert ByteDropout(0.5).eval()(x) is x and ByteDropout(0.0)(x) is x


def test_nearly_all_dropped_leaves_some():
    torch.manual_seed(0)
    y = ByteDropout(0.999)(torch.ones(4096))
    assert 0 < (y != 0).sum() < 64 and y.isfinite().all()


def test_a_model_keeps_its_parameters():
    layer = EncoderLayer(8, 2, 16, dropout=0.1)
    names, own = list(layer.state_dict()), list(layer.modules())
    with byte_dropout(layer.eval()):
        assert list(layer.state_dict()) == names
        assert not any(isinstance(module, nn.Dropout) for module in layer.modules())
        assert sum(isinstance(module, ByteDropout) for module in layer.modules()) == 2
        assert not any(module.training for module in layer.modules())
        layer.train()
    assert list(layer.modules()) == own and all(module.training for module in own)

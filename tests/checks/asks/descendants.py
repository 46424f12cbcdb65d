"""The questions of `chapters/descendants.md`."""

import torch
import torch.nn.functional as F
from torch.testing import assert_close

from tfm_lib.descendants import RMSNorm, SwiGLU
from tfm_lib.drawing import recorded
from tfm_lib.layers import LayerNorm
from tfm_lib.transformer import DecoderOnly, TransformerConfig


@torch.no_grad()
def _other_answers_by_the_same_weights() -> None:
    torch.manual_seed(0)
    model = DecoderOnly(TransformerConfig(20, 16, 2, 32, 2, 0.0, "post")).eval()
    before = [p.clone() for p in model.parameters()]
    one, other = (model(torch.tensor([[*prompt, 9]]))[0, -1] for prompt in ((3, 4, 5, 6), (7, 8, 5, 6)))
    assert (one - other).abs().max() > 1e-4
    assert_close(list(model.parameters()), before, atol=0, rtol=0)


def _fours() -> list[float]:
    x = torch.tensor([3.0, 4.0])
    square = x.square().mean()
    normed = (RMSNorm(2)(x), x / x.norm(), LayerNorm(2)(x), x / square)
    return [each[1].item() for each in normed]


def _given() -> dict:
    return {"F": F}


def _gated(names: dict) -> None:
    torch.manual_seed(0)
    layer, x = SwiGLU(4, 6), torch.randn(3, 4)
    matrices = [each.weight.T for each in (layer.W_gate, layer.W_1, layer.W_2)]
    assert_close(names["swiglu"](x, *matrices), layer(x))


def _six_heads_off() -> None:
    runs = recorded("descendants_in_context")["runs"]["two layers"]
    largest, smallest = ([run[f"induction_{way}_first"][6] for run in runs] for way in ("largest", "smallest"))
    apart, spread = sum(smallest) / len(smallest) - sum(largest) / len(largest), max(smallest) - min(smallest)
    assert min(smallest) > max(largest) and 0.9 < apart / spread < 1.1


VALUES = {"four-of-five": _fours}
TRIALS = {"both-bent": _gated}
GIVEN = {"both-bent": _given}
CLAIMS = {"six-heads-off": _six_heads_off, "two-examples": _other_answers_by_the_same_weights}

"""Build the small decoder that learns from its prompt, or load the one that comes with the book."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tfm_lib._extras import absent

try:
    from safetensors.torch import load_file
except ModuleNotFoundError as error:
    raise absent(error, "train") from None

from tfm_lib.corpora.groups import TOKENS
from tfm_lib.engine.shipped import shipped_folder
from tfm_lib.positional import AlibiAttention
from tfm_lib.transformer import DecoderOnly, TransformerConfig

SHIPPED = "in-context"
D_MODEL, N_HEADS, EXAMPLES = 64, 8, 12


class Nothing(nn.Module):
    """Replaces a feed-forward network: adds nothing to the residual stream."""

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()

    def forward(self, X: Tensor) -> Tensor:
        return torch.zeros_like(X)


def decoder(n_layers: int = 2) -> DecoderOnly:
    """Return a decoder with attention only, so that its heads alone must find the solution."""
    config = TransformerConfig(
        len(TOKENS), D_MODEL, N_HEADS, D_MODEL, n_layers, dropout=0.0, norm="pre", max_len=2 * EXAMPLES + 2
    )
    return DecoderOnly(config, attention=AlibiAttention, positions=torch.zeros, feed_forward=Nothing)


def learner() -> DecoderOnly:
    """Return the decoder of the first seed of `python -m experiments.descendants_in_context`."""
    model = decoder()
    model.load_state_dict(load_file(shipped_folder(SHIPPED) / "model.safetensors"))
    return model.eval()

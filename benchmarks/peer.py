"""The peer: `torch.nn.Transformer` put together in the way its documentation shows, with the paper's tying and scaling."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from tfm_lib.positional import sinusoidal_encoding
from tfm_lib.transformer import TransformerConfig


class Peer(nn.Module):
    """Source and target ids to logits; the same sizes, sums and masks as ours, torch's layers."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.tokens.weight, std=config.d_model**-0.5)
        self.register_buffer("positions", sinusoidal_encoding(config.max_len, config.d_model))
        self.dropout = nn.Dropout(config.dropout)
        self.transformer = nn.Transformer(
            config.d_model,
            config.n_heads,
            config.n_layers,
            config.n_layers,
            config.d_ff,
            config.dropout,
            batch_first=True,
            norm_first=config.norm == "pre",
        )
        self.output = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.output.weight = self.tokens.weight

    def embed(self, ids: Tensor) -> Tensor:
        return self.dropout(self.tokens(ids) * math.sqrt(self.config.d_model) + self.positions[: ids.shape[1]])

    def forward(self, src_ids: Tensor, tgt_ids: Tensor) -> Tensor:
        hidden_src, n = src_ids == self.config.pad_id, tgt_ids.shape[1]
        hidden = self.transformer(
            self.embed(src_ids),
            self.embed(tgt_ids),
            tgt_mask=torch.ones(n, n, dtype=torch.bool).triu(1),  # here True hides
            src_key_padding_mask=hidden_src,
            memory_key_padding_mask=hidden_src,
            tgt_is_causal=True,
        )
        return self.output(hidden)

"""The questions of `chapters/transformer.md`."""

import math

import torch
from torch.testing import assert_close

from tfm_lib.transformer import Embedding, Transformer, TransformerConfig, base_config, count_parameters


def _small() -> Transformer:
    torch.manual_seed(0)
    return Transformer(TransformerConfig(20, 32, 8, 64, 3, 0.0, "post")).eval()


def _all_layers_read_one_memory() -> None:
    model, read = _small(), []
    for layer in model.decoder:
        layer.cross_attention.register_forward_pre_hook(lambda _, args: read.append(args[1]))
    src, tgt = torch.randint(3, 20, (1, 9)), torch.randint(3, 20, (1, 6))
    model(src, tgt)
    assert len(read) == 3
    for memory in read:
        assert_close(memory, model.encode(src)[0])


def _millions() -> list[float]:
    with torch.device("meta"):
        small, large = (sum(count_parameters(Transformer(base_config(size))).values()) for size in (37_000, 74_000))
    return [(large - small) / 1e6, 2 * (large - small) / 1e6, small / 1e6, None]


def _shapes() -> list:
    weights = _small().all_weights(torch.randint(3, 20, (4, 9)), torch.randint(3, 20, (4, 6)))
    cross, own, encoder = (weights[place][:, 0] for place in ("cross", "decoder", "encoder"))
    return [cross.shape, cross.mT.shape, own.shape, encoder.shape]


def _given() -> dict:
    return {"math": math}


def _embeds(names: dict) -> None:
    embedding, ids = _embedding(), torch.tensor([[4, 5, 6]])
    ours = names["embed"](ids, embedding.tokens.weight, embedding.positions)
    assert_close(ours, embedding(ids))


def _embedding() -> Embedding:
    torch.manual_seed(0)
    return Embedding(TransformerConfig(20, 32, 8, 64, 3, 0.0, "post"))


VALUES = {"more-words": _millions, "cross-shape": _shapes}
TRIALS = {"loud-places": _embeds}
GIVEN = {"loud-places": _given}
CLAIMS = {"where-the-source-enters": _all_layers_read_one_memory}

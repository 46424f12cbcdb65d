"""Captures the models as graphs, and writes how far each graph's numbers are from the plain call's, as JSON.

A process of its own, since under pytest the core's signatures are executed, by wrappers that no graph can hold.
`torch.compile` runs with the backend "eager", which takes the whole graph and needs no compiler.
"""

import json
import sys
import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from tfm_lib.masking import causal_mask
from tfm_lib.multihead import MultiHeadAttention
from tfm_lib.transformer import DecoderOnly, EncoderOnly, Transformer, TransformerConfig

SRC, TGT = torch.tensor([[1, 2, 3, 0], [4, 5, 6, 7]]), torch.tensor([[1, 2, 3], [4, 5, 0]])
OTHERS = torch.tensor([[9, 8, 7, 6, 5, 0]] * 3), torch.tensor([[1, 2, 4, 8, 0]] * 3)  # another batch, other lengths


def model(norm: str = "post", kind: type = Transformer) -> nn.Module:
    torch.manual_seed(0)
    return kind(TransformerConfig(12, d_model=8, n_heads=2, d_ff=16, n_layers=1, norm=norm, max_len=16)).eval()


def difference(graph, plain, *batches: tuple[Tensor, ...]) -> float:
    """The largest difference between two numbers of the graph and of the plain call."""
    return max((graph(*ids) - plain(*ids)).abs().max().item() for ids in batches)


def compiled(plain, dynamic: bool | None = None):
    torch.compiler.reset()
    return torch.compile(plain, fullgraph=True, backend="eager", dynamic=dynamic)


def exported(plain: nn.Module, strict: bool):
    """The exported graph, taken from the bytecode if `strict`, else by running Python; batch and lengths stay open."""
    torch.compiler.reset()
    batch, m, n = (torch.export.Dim(name, min=2, max=16) for name in ("batch", "m", "n"))
    shapes = {0: batch, 1: m}, {0: batch, 1: n}
    return torch.export.export(plain, (SRC, TGT), dynamic_shapes=shapes, strict=strict).module()


def refusal(call) -> str:
    try:
        call()
    except Exception as error:  # noqa: BLE001 (whatever the capturing makes of ours)
        return str(error)
    return "nothing was refused"


def captures() -> dict[str, float | str]:
    found = {}
    for norm in ("post", "pre"):
        plain = model(norm)
        found[f"compiled, {norm}-norm"] = difference(compiled(plain), plain, (SRC, TGT))
        found[f"traced, {norm}-norm"] = difference(torch.jit.trace(plain, (SRC, TGT)), plain, (SRC, TGT), OTHERS)
        graph = exported(plain, strict=norm == "post")
        found[f"exported, {norm}-norm"] = difference(graph, plain, (SRC, TGT), OTHERS)
    for kind in (EncoderOnly, DecoderOnly):
        plain = model(kind=kind)
        found[f"traced, {kind.__name__}"] = difference(torch.jit.trace(plain, (SRC,)), plain, (SRC,), (OTHERS[0],))
    plain = model()
    found["compiled for any shape"] = difference(compiled(plain, dynamic=True), plain, (SRC, TGT), OTHERS)
    layer, narrow = MultiHeadAttention(8, 2).eval(), torch.randn(1, 3, 6)
    found["refused while compiling"] = refusal(lambda: compiled(layer)(narrow, narrow, narrow))

    def mask_of(ids: Tensor) -> Tensor:
        return causal_mask(ids.shape[-1])

    def as_numbers(mask):
        return lambda ids: mask(ids).float()

    lengths = [(torch.zeros(1, n),) for n in (5, 7)]
    for name, graph in (
        ("traced", torch.jit.trace(mask_of, lengths[0])),
        ("compiled", compiled(mask_of, dynamic=True)),
    ):
        found[f"{name}, a mask"] = difference(as_numbers(graph), as_numbers(mask_of), *lengths)
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    Path(sys.argv[1]).write_text(json.dumps(captures()), encoding="utf-8")

"""Numbers of the widgets of chapter `transformer`, as tfm_lib computes them."""

import torch

from tfm_lib.transformer import Transformer, TransformerConfig
from tfm_lib.widgets.transformer import PRESETS, FollowToken, ModelSize, _fields


def numbers() -> dict:
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(20, d_model=16, n_heads=4, d_ff=64, n_layers=2, dropout=0.0, norm="pre"))
    widget = FollowToken(model, torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 11, 12]]), numbers=6)
    state = {name: getattr(widget, name) for name in ("encoder", "decoder", "src_tokens", "tgt_tokens")}
    looks = []
    for widget.word in range(7):
        for widget.value in range(len(widget.decoder)):  # noqa: B020 (its trait is what the loop turns)
            for widget.head in (0, 1, 4):
                stage, i, of_source = widget.at
                looks.append({
                    "word": widget.word, "value": widget.value, "head": widget.head, "name": stage["name"], "i": i,
                    "source": of_source, "weights": widget.weights(), "asked": widget.asked(),
                })  # fmt: skip
    others = [TransformerConfig(1000, 64, 1, 128, 1), TransformerConfig(5000, 128, 32, 8192, 12, norm="pre")]
    sizes = []
    for config in (*PRESETS.values(), *others):
        for length in (1, 32, 1000):
            size = ModelSize(**_fields(config), length=length)
            weights = 3 * config.n_layers * config.n_heads * length**2
            sizes.append(
                {
                    "state": {**_fields(config), "length": length},
                    "parts": size.parts,
                    "flops": size.flops,
                    "weights": weights,
                }
            )
    return {"state": state, "looks": looks, "sizes": sizes}

"""Numbers of the widgets of positional, as tfm_lib computes them."""

import torch

from tfm_lib.positional import angles, rotary, sinusoidal_encoding
from tfm_lib.widgets.positional import Encoding, RotaryPairs


def numbers() -> dict:
    torch.set_default_dtype(torch.double)
    try:
        encodings = [
            {
                "d": d,
                "base": base,
                "omegas": angles(2, d, base)[1].tolist(),
                "rows": {pos: sinusoidal_encoding(pos + 1, d, base)[pos].tolist() for pos in (0, 1, 37, 255)},
                "likeness": Encoding(d, base, 64, value=20).likeness,
            }
            for d, base in ((2, 10.0), (4, 10.0), (8, 100.0), (32, 10_000.0), (128, 100_000.0))
        ]
        pairs = []
        for a, b, base in ((0, 0, 100.0), (30, 27, 100.0), (120, 100, 10_000.0), (25, 5, 10.0)):
            widget = RotaryPairs(base=base, value=max(a, 20), distance=a - b)
            q, k = torch.tensor([[widget.query], [widget.key]])
            turned = [rotary(x, place, base).reshape(-1, 2) for x, place in ((q, a), (k, b))]
            case = {"places": [a, b], "base": base, "vectors": [widget.query, widget.key]}
            case |= {"turned": [x.tolist() for x in turned], "score": (turned[0] * turned[1]).sum().item()}
            pairs.append(case | {"angles": widget.angles})
        return {"pairs": pairs, "encodings": encodings}
    finally:
        torch.set_default_dtype(torch.float)

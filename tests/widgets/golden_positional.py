"""Numbers of the widgets of positional, as tfm_lib computes them."""

import torch

from tfm_lib.positional import angles, rotary, sinusoidal_encoding
from tfm_lib.widgets.positional import Encoding, Extrapolation, RotaryPairs, ShiftRotation


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
        shifts = []
        for position, shift, base, pair in (
            (20, 0, 100.0, 0),
            (25, 3, 100.0, 1),
            (60, -20, 10_000.0, 3),
            (120, 20, 10.0, 2),
        ):
            widget = ShiftRotation(position, shift, base, pair)
            P = sinusoidal_encoding(141, 8, base)
            two = slice(2 * pair, 2 * pair + 2)
            shifts.append(
                {
                    "position": position,
                    "shift": shift,
                    "base": base,
                    "pair": pair,
                    "matrix": widget.matrix,
                    "from": P[position, two].tolist(),
                    "to": P[position + shift, two].tolist(),
                    "product": (P[position] @ P[position + shift]).item(),
                }
            )
        # our rotary turns the other way round: (cosine, sine) in place of (sine, cosine)
        east = torch.tensor([[1.0, 0.0]])
        rotations = [rotary(east, pos)[0].tolist() for pos in range(7)]
        pairs = []
        for a, b, base in ((0, 0, 100.0), (30, 27, 100.0), (120, 100, 10_000.0), (25, 5, 10.0)):
            widget = RotaryPairs(base=base, value=max(a, 20), distance=a - b)
            q, k = torch.tensor([[widget.query], [widget.key]])
            turned = [rotary(x, place, base).reshape(-1, 2) for x, place in ((q, a), (k, b))]
            case = {"places": [a, b], "base": base, "vectors": [widget.query, widget.key]}
            case |= {"turned": [x.tolist() for x in turned], "score": (turned[0] * turned[1]).sum().item()}
            pairs.append(case | {"angles": widget.angles})
        runs = []
        for job, longer in (("three back", False), ("after last time", True)):
            for place in (16, 32, 48, 256):
                widget = Extrapolation(place, job, longer=longer)
                runs.append({"place": place, "job": job, "longer": longer, "shares": widget.shares})
        run = {"measured": widget.measured, "practised": widget.practised, "group": widget.group, "cases": runs}
        return {"run": run, "pairs": pairs, "encodings": encodings, "shifts": shifts, "rotations": rotations}
    finally:
        torch.set_default_dtype(torch.float)

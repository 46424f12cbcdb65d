"""Numbers of the widgets of chapter `efficient`, as tfm_lib computes them."""

import torch

from tfm_lib.attention import attention
from tfm_lib.efficient import lsh_pairs
from tfm_lib.widgets.efficient import CHUNK, PATTERNS, SparsityPatterns, online, pattern_mask, reach


def numbers() -> dict:
    buckets = SparsityPatterns().buckets
    masks = [
        {
            "pattern": pattern,
            "settings": {"size": size, "rounds": rounds, "causal": causal},
            "mask": (mask := pattern_mask(pattern, 20, size, torch.tensor(buckets)[:rounds], causal)).tolist(),
            "reach": {str(layers): reach(mask, layers).tolist() for layers in (1, 2, 5)},
        }
        for pattern in PATTERNS
        for size in (1, 3)
        for rounds in (1, 3)
        for causal in (False, True)
    ]
    pairs = lsh_pairs(torch.tensor(buckets)[:1], CHUNK) | torch.eye(20, dtype=torch.bool)
    generator = torch.Generator().manual_seed(0)
    scores, values = torch.randn(2, 8, generator=generator, dtype=torch.float64)
    rows = {str(tile): online(scores.tolist(), values.tolist(), tile) for tile in (1, 2, 4, 8)}
    one = torch.ones(1, 1, dtype=torch.float64)
    whole = attention(one, scores[:, None], values[:, None])[0].item()
    return {
        "buckets": buckets, "masks": masks, "pairs": pairs.tolist(),
        "scores": scores.tolist(), "values": values.tolist(), "rows": rows, "whole": whole,
    }  # fmt: skip

"""Numbers of the mask editor, as tfm_lib computes them."""

import math

import torch

from tfm_lib.attention import attention
from tfm_lib.self_attention import entropy
from tfm_lib.widgets.masking import PRESETS, SENTENCE, MaskEditor, preset_mask


def numbers() -> dict:
    short = ["one", "<pad>", "two"]
    masks = [
        {
            "preset": preset,
            "tokens": list(tokens),
            "size": size,
            "hide_padding": hide,
            "mask": preset_mask(preset, list(tokens), size, hide).tolist(),
        }
        for preset in PRESETS
        for tokens in (SENTENCE, short)
        for size in (1, 2, 3)
        for hide in (False, True)
    ]
    generator = torch.Generator().manual_seed(0)
    Q, K, V = (torch.randn(8, 4, generator=generator, dtype=torch.float64) for _ in "QKV")
    scores = Q @ K.T / math.sqrt(4)
    weights = []
    for case in masks:
        mask = torch.tensor(case["mask"])
        if len(mask) == 8 and mask.any(-1).all():
            shares = attention(Q, K, V, mask)[1]
            weights.append({"mask": case["mask"], "weights": shares.tolist(), "entropy": entropy(shares).tolist()})
    editor = MaskEditor(["a", "b", "c"], preset="strict")
    part = []
    for editor.bare in range(4):
        part.append({"value": editor.value, "bare": editor.bare, "mask": editor.mask})
    own = []
    for sentence in ("", "  ", "dog", "dog bites  man", "one two three four five six seven eight nine ten eleven"):
        editor = MaskEditor(["a", "b"], [[0.5, -1.0], [2.0, 0.0]], mask=[[True, False], [True, True]])
        editor.sentence = sentence
        own.append({"sentence": sentence, "words": editor.shown, "scores": editor.shown_scores, "mask": editor.value})
    return {"part": part, "masks": masks, "scores": scores.tolist(), "weights": weights, "own": own}

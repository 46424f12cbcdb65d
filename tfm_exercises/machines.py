"""What machines whose weights were handed in write; for visible and hidden tests, the grader itself needs none of it."""

from __future__ import annotations

import json

import torch

from tfm_exercises.carried import AGAIN, BadWeights, Weights, clipped, shaped
from tfm_lib._vocabulary import Vocabulary
from tfm_lib.data import pad
from tfm_lib.decoding import greedy_decode
from tfm_lib.transformer import Transformer, TransformerConfig

AT_ONCE = 200  # words written together, which bounds the memory
LARGEST = {"vocab_size": 1 << 16, "d_model": 4096, "n_heads": 256, "d_ff": 1 << 14, "n_layers": 64, "max_len": 4096}


def transformer(weights: Weights) -> Transformer:
    """Return the Transformer whose sizes stand in the head under "model", with the `weights`.

    Raises BadWeights if the sizes are missing or invalid, or if the tensors have other shapes.
    """
    try:
        sizes = json.loads(weights.head["model"])
        config = TransformerConfig(**{**sizes, "dropout": 0.0})
    except KeyError:
        raise BadWeights(f'The head of the file gives no sizes under "model". {AGAIN}') from None
    except (TypeError, ValueError, RecursionError):
        raise BadWeights(f"The sizes in the head of the file are not those of a Transformer. {AGAIN}") from None
    for size, most in LARGEST.items():
        if getattr(config, size) > most:
            raise BadWeights(
                f"The head of the file says {size} = {clipped(getattr(config, size))}; {most:,} is the most."
            )
    with torch.device("meta"):  # nothing is allocated until the shapes are known to agree with the file
        model = Transformer(config)
    shapes = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    for name in [*shapes, *weights.tensors]:
        want, got = shapes.get(name), tuple(weights.tensors[name].shape) if name in weights.tensors else None
        if want != got:
            raise BadWeights(
                f"By the sizes in the head of the file, {clipped(name)} is {shaped(want)}, but in the file it is "
                f"{shaped(got)}. {AGAIN}"
            )
    model = model.to_empty(device="cpu")
    model.load_state_dict(weights.tensors)
    return model.eval()


def spelt(weights: Weights, words: list[str]) -> list[str]:
    """Return what a machine of the playground writes for each of `words`, greedily and up to 2 letters too many.

    The letters stand in the head under "letters". Raises BadWeights if they do not agree with the sizes or lack a letter
    of `words`, and as `transformer` does.
    """
    model, letters, first = transformer(weights), weights.head.get("letters", ""), len(Vocabulary.special)
    if len(set(letters)) != len(letters) or model.config.vocab_size != first + len(letters):
        count = model.config.vocab_size - first
        raise BadWeights(f"The head of the file must list {count} different letters, as its vocab_size says. {AGAIN}")
    if lacking := sorted({*"".join(words)} - {*letters}):
        raise BadWeights(
            f"The machine does not know the letter {lacking[0]}. Train it on the letters of the playground."
        )
    most = 2 + max(map(len, words))
    if model.config.max_len < most:
        raise BadWeights(f"The machine has {model.config.max_len} positions, but the longest word needs {most}.")
    rows: list[list[int]] = []
    for start in range(0, len(words), AT_ONCE):
        ids = [[first + letters.index(letter) for letter in word] for word in words[start : start + AT_ONCE]]
        src = pad([[*word, Vocabulary.eos_id] for word in ids], model.config.pad_id)
        rows += greedy_decode(model, src, Vocabulary.bos_id, Vocabulary.eos_id, max_len=most).tolist()
    rows = [row[: row.index(Vocabulary.eos_id)] if Vocabulary.eos_id in row else row for row in rows]
    return ["".join(letters[id - first] if id >= first else "·" for id in row) for row in rows]

"""The assistant: writes on after a prompt, as the decoder of stories does after one of the stages of its training."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from tfm_lib._errors import require_choice, require_kind, require_number, require_path, require_whole
from tfm_lib.decoding import greedy_decode, sample
from tfm_lib.engine.shipped import STORIES, shipped_folder
from tfm_lib.engine.trained import NoModel, read, stored
from tfm_lib.engine.writer import LONGEST, STAGES, VOCABULARY, writer
from tfm_lib.transformer import DecoderOnly

TOKEN = re.compile(r"\w+(?:['’-]\w+)*|\S")  # a word or a sign, as the browser reads them


class Assistant:
    """Writes on after a prompt, word by word."""

    def __init__(self, model: DecoderOnly):
        require_kind("model", model, DecoderOnly)
        self.model = model.eval()

    @classmethod
    def shipped(cls, stage: str = "think") -> Assistant:
        """Load the decoder that comes with the book, after a stage of its training: base, follow, prefer or think."""
        return cls(shipped(stage))

    @classmethod
    def load(cls, folder: Path | str, stage: str = "base") -> Assistant:
        """Load what `tfm train --corpus stories` wrote to `folder`; raises `NoModel` if there is none of that stage."""
        require_path("folder", folder)
        require_choice("stage", stage, STAGES)
        weights, model = Path(folder) / f"{stage}.safetensors", writer()
        if not weights.is_file():
            raise NoModel(
                f"There is no {weights.name} in {folder}. Train one: tfm train --corpus stories --to {folder}"
            )
        try:
            model.load_state_dict(read(load_file(weights)))
        except (SafetensorError, RuntimeError) as error:
            raise NoModel(f"The model in {weights} cannot be read: {str(error).splitlines()[0]}") from error
        return cls(model.requires_grad_(False))

    def write(self, prompt: str = "", temperature: float = 0.0, top_p: float | None = None, seed: int = 0) -> str:
        """Return what the model writes after `prompt`, in the words of the stories, until it ends or has no room.

        `temperature` 0 takes the most probable word each time; above, words are drawn, with `top_p` from the nucleus.
        """
        ids = torch.tensor([_known(prompt)], dtype=torch.long)
        require_number("temperature", temperature, lambda t: t >= 0, "be 0 or more")
        require_whole("seed", seed)
        how = (self.model, ids, VOCABULARY.bos_id, VOCABULARY.eos_id, LONGEST - 2 - ids.shape[1])
        if temperature:
            written = sample(*how, temperature, top_p=top_p, generator=torch.Generator().manual_seed(seed))
        else:
            written = greedy_decode(*how)
        return " ".join(VOCABULARY.decode(written[0].tolist()))


@cache
def shipped(stage: str) -> DecoderOnly:
    """Return the decoder that comes with the book, as it is after a stage of its training."""
    return Assistant.load(shipped_folder(STORIES), stage).model


def tokens(prompt: str) -> list[str]:
    """Return the words and signs of `prompt`."""
    return TOKEN.findall(prompt.lower())


def _known(prompt: str) -> list[int]:
    require_kind("prompt", prompt, str, "be a string")
    words = tokens(prompt)
    if unknown := [word for word in dict.fromkeys(words) if word not in VOCABULARY.ids]:
        some = ", ".join(map(repr, unknown[:5]))
        raise ValueError(f"prompt must be in the {len(VOCABULARY)} words of the stories; {some} isn't among them")
    if len(words) > LONGEST - 3:
        raise ValueError(f"prompt must have at most {LONGEST - 3} words and signs; it has {len(words)}")
    return VOCABULARY.encode(words)


def save_writer(folder: Path, stage: str, model: DecoderOnly, bits: int, about: dict[str, Any] | None = None) -> None:
    """Write a stage's weights to `folder`, and its sizes and words to config.json."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(stored(model.state_dict(), bits), folder / f"{stage}.safetensors")
    (folder / f"{stage}.safetensors").chmod(0o644)  # readable like any other file
    config = {"model": asdict(model.config), "words": VOCABULARY.tokens, "trained": about or {}}
    (folder / "config.json").write_text(json.dumps(config) + "\n", encoding="utf-8")

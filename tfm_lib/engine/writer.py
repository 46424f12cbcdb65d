"""Build, train and load the decoder that writes stories, and answers about them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor

from tfm_lib._errors import require_choice
from tfm_lib._vocabulary import Vocabulary
from tfm_lib.corpora.stories import WORDS, story_words
from tfm_lib.data import Example, pad
from tfm_lib.descendants import decoder_of_today
from tfm_lib.engine.shipped import STORIES, shipped_folder
from tfm_lib.engine.trained import NoModel, read
from tfm_lib.engine.trainer import Trainer, TrainOptions
from tfm_lib.transformer import DecoderOnly, TransformerConfig

# What questions and instructions need beside the words of stories.
TALK = (
    "? : answer badly colour does ends five four happen has is nobody question say six somebody something story tell "
    "then things think three want wants well what where which who"
).split()
VOCABULARY = Vocabulary([*WORDS, *TALK])
LONGEST = 320  # tokens that the model can see
STAGES = ("base", "follow", "prefer", "think")  # of its training, one after the other
EPOCH = 8192  # stories
BASE = TrainOptions(
    max_tokens=4096,
    steps=7500,
    warmup=200,
    schedule="cosine",
    peak=6e-3,
    epsilon=0.0,
    validate_every=500,
)


def writer() -> DecoderOnly:
    """Return the untrained decoder: four layers as they are built today."""
    config = TransformerConfig(
        len(VOCABULARY), d_model=128, n_heads=4, d_ff=288, n_layers=4, dropout=0.0, max_len=LONGEST
    )
    return decoder_of_today(config, n_key_heads=4)


def stories(epoch: int, seed: int = 0) -> list[Example]:
    """Return the stories of an epoch: none is told in another, or to another seed."""
    return [Example([], VOCABULARY.encode(story_words(f"{seed} {EPOCH * epoch + i}"))) for i in range(EPOCH)]


@cache
def held_out(count: int = 1000) -> list[Example]:
    """Return stories that no training tells."""
    return [Example([], VOCABULARY.encode(story_words(f"held out {i}"))) for i in range(count)]


def answers(examples: Sequence[Example]) -> tuple[Tensor, Tensor]:
    """Return what the decoder reads and what it is to predict, (batch, n): <pad> wherever a given token follows."""
    bos, eos, pad_id = VOCABULARY.bos_id, VOCABULARY.eos_id, VOCABULARY.pad_id
    read = pad([[bos, *src, *tgt] for src, tgt in examples], pad_id)
    return read, pad([[*[pad_id] * len(src), *tgt, eos] for src, tgt in examples], pad_id)


class WriterTrainer(Trainer):
    """The trainer for a decoder alone: `src` is given, `tgt` is learned, with the <eos> behind it."""

    def _loss(self, examples: Sequence[Example], epsilon: float | None = None) -> Tensor:
        read, predicted = (ids.to(self.device) for ids in answers(examples))
        with self._precision():
            logits = self.model(read)
        epsilon = self.options.epsilon if epsilon is None else epsilon
        return F.cross_entropy(
            logits.flatten(0, 1).float(),
            predicted.flatten(),
            ignore_index=VOCABULARY.pad_id,
            label_smoothing=epsilon,
        )


@cache
def shipped(stage: str) -> DecoderOnly:
    """Return the decoder that comes with the book, as it is after a stage of its training.

    Raises `NoModel` if there are no weights of that stage.
    """
    require_choice("stage", stage, STAGES)
    weights, model = shipped_folder(STORIES) / f"{stage}.safetensors", writer()
    if not weights.is_file():
        raise NoModel(f"There is no {weights.name} in {weights.parent}: the book's models come with its files.")
    model.load_state_dict(read(load_file(weights)))
    return model.eval().requires_grad_(False)

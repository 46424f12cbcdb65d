"""Run `tfm train --corpus stories`: train the decoder of stories in a folder, with checkpoints, metrics and validation."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

import torch

from tfm_lib.corpora.stories import is_story
from tfm_lib.decoding import sample
from tfm_lib.engine.assistant import save_writer
from tfm_lib.engine.run import RunFolder, Watcher, begin, device, keep_training, machine
from tfm_lib.engine.shipped import STORIES
from tfm_lib.engine.trainer import TrainOptions
from tfm_lib.engine.writer import LONGEST, VOCABULARY, WriterTrainer, held_out, stories, writer
from tfm_lib.transformer import DecoderOnly

GLANCE = 100  # stories that are sampled and read at each validation


def train_writer(
    options: TrainOptions, folder: RunFolder, watcher: Watcher, checkpoint_every: int = 500, bits: int = 8
) -> dict[str, Any]:
    """Train the decoder on stories in `folder`, or go on there; return the record of the last validation.

    Each story is told once. A validation gives the nats per word on held-out stories, and the share of `GLANCE`
    sampled ones that contradict nothing.
    """
    folder.require(STORIES)
    if not folder.is_begun:
        folder.clear()
        folder.begin({"corpus": STORIES, "options": asdict(options), "machine": machine()})
    torch.manual_seed(options.seed)
    model: Any = writer().to(device())  # which the trainer takes for an encoder–decoder
    trainer = WriterTrainer(model, partial(stories, seed=options.seed), options)
    begin(trainer, STORIES, folder, watcher)

    def validate() -> None:
        loss, better = trainer.validate(held_out(300))
        progress = trainer.progress
        with trainer.averaged_weights():
            record = {
                "step": progress.step,
                "val_loss": loss,
                "consistent": _consistent(model),
                "sampled": GLANCE,
                "seconds": round(progress.seconds, 1),
            }
            if better:
                save_writer(folder.path, "base", model, bits, record)
        folder.note(record)
        watcher.validated(record, better)

    keep_training(trainer, folder, watcher, validate, checkpoint_every)
    return folder.last_validation()


def _consistent(model: DecoderOnly) -> float:
    """Return the share of sampled stories that contradict nothing."""
    nothing = torch.empty((GLANCE, 0), dtype=torch.long, device=next(model.parameters()).device)
    ids = sample(model, nothing, VOCABULARY.bos_id, VOCABULARY.eos_id, LONGEST - 2)
    return sum(is_story(VOCABULARY.decode(row)) for row in ids.tolist()) / GLANCE

"""The trainer: the loop of `tfm_lib.training` with everything a long run needs.

A run is a pure function of its options and its examples. The batches of an epoch follow from the seed and
the epoch's number, so a checkpoint needs only the counters, the weights, the optimiser and the random
states to go on bit for bit. Under several processes each takes its share of every batch's sentences, and
gradients are weighted by the tokens of all of them, so that the losses are those of one process.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

import torch
import torch.distributed as dist
from torch import Tensor, nn

from tfm_lib.data import Example, Tokenizer, batches, pad
from tfm_lib.training import label_smoothed_loss, paper_optimiser, warmup_lr
from tfm_lib.transformer import Transformer


@dataclass(frozen=True)
class TrainOptions:
    """How to train. An update uses about `max_tokens` target tokens, split into `accumulate` micro-batches."""

    max_tokens: int = 4096
    accumulate: int = 1
    steps: int = 1000
    warmup: int = 400
    factor: float = 1.0  # times the paper's learning rate
    schedule: Literal["paper", "cosine"] = "paper"
    epsilon: float = 0.1
    clip: float = 1.0
    seed: int = 0
    bfloat16: bool = False
    average: float = 0.0  # decay of the running mean of the weights; 0: none
    cpu_seconds: float = math.inf  # stop when the process has used so much; the schedule then follows that clock
    validate_every: int = 200
    patience: int = 0  # stop after so many validations without progress; 0: never


@dataclass
class Progress:
    """Where a run stands."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # batches of this epoch already used
    cpu_seconds: float = 0.0
    best: float = math.inf
    stale: int = 0
    history: list[dict[str, float]] = field(default_factory=list)


class Trainer:
    """Trains `model` on `examples`; `run` yields a record after each update."""

    def __init__(
        self, model: Transformer, examples: Sequence[Example], options: TrainOptions, folder: Path | None = None
    ):
        self.options, self.examples, self.folder = options, examples, folder
        self.rank, self.world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
        self.model = model
        self.device = next(model.parameters()).device
        self.optimiser = paper_optimiser(model)
        self.averaged = {name: p.detach().clone() for name, p in model.named_parameters()} if options.average else None
        self.progress = Progress()
        self._clock = time.process_time()
        random.seed(options.seed)
        torch.manual_seed(options.seed + self.rank)

    def run(self) -> Iterator[dict[str, float]]:
        """Update until the steps or the CPU seconds are used up; yields step, loss (nats a token), lr, tokens."""
        self.model.train()
        for group in self._updates():
            record = self._update(group)
            yield record
            if self._spent() >= self.options.cpu_seconds or self.progress.step >= self.options.steps:
                return

    def _updates(self) -> Iterator[list[list[Example]]]:
        """The micro-batches of each update, from where the progress stands, for ever."""
        size = self.options.max_tokens // self.options.accumulate
        while True:
            epoch = list(batches(self.examples, size, seed=hash((self.options.seed, self.progress.epoch))))
            while self.progress.batch < len(epoch):
                group = epoch[self.progress.batch : self.progress.batch + self.options.accumulate]
                self.progress.batch += len(group)
                yield group
            self.progress.epoch, self.progress.batch = self.progress.epoch + 1, 0

    def _update(self, group: list[list[Example]]) -> dict[str, float]:
        options, progress = self.options, self.progress
        progress.step += 1
        tokens = sum(len(example.tgt) + 1 for batch in group for example in batch)  # of all processes
        total = torch.zeros((), device=self.device)
        for batch in group:
            mine = batch[self.rank :: self.world]
            if mine:
                loss = self._loss(mine) * (sum(len(example.tgt) + 1 for example in mine) / tokens)
                loss.backward()
                total += loss.detach()
        self._sum_over_processes(total)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), options.clip)
        lr = self.lr()
        for parameters in self.optimiser.param_groups:
            parameters["lr"] = lr
        self.optimiser.step()
        self.optimiser.zero_grad()
        if self.averaged:
            self._average()
        return {"step": progress.step, "loss": total, "lr": lr, "tokens": tokens, "norm": norm, "epoch": progress.epoch}

    def _loss(self, examples: list[Example]) -> Tensor:
        src, tgt_in, tgt_out = collate(examples, self.device)
        amp = torch.autocast(self.device.type, torch.bfloat16) if self.options.bfloat16 else contextlib.nullcontext()
        with amp:
            hidden = self.model.hidden(src, tgt_in)
        real = tgt_out != self.model.config.pad_id
        with amp:
            logits = self.model.embedding.unembed(hidden[real])  # no work on padding
        return label_smoothed_loss(logits.float(), tgt_out[real], self.options.epsilon, self.model.config.pad_id)

    def lr(self) -> float:
        """The learning rate of the present step; under "cosine" it falls to 0 at the end of the run."""
        options, d_model = self.options, self.model.config.d_model
        if options.schedule == "paper":
            return options.factor * warmup_lr(self.progress.step, d_model, options.warmup)
        peak = options.factor * (d_model * options.warmup) ** -0.5
        done = min(1.0, max(self.progress.step / options.steps, self._spent() / options.cpu_seconds))
        return peak * min(1.0, self.progress.step / options.warmup) * 0.5 * (1 + math.cos(math.pi * done))

    def _average(self) -> None:
        """Mean over about the last 1 / (1 − decay) steps; at the beginning over fewer."""
        decay = min(self.options.average, (1 + self.progress.step) / (10 + self.progress.step))
        means = list(self.averaged.values())
        torch._foreach_lerp_(means, [p.detach() for p in self.model.parameters()], 1 - decay)

    def _sum_over_processes(self, total: Tensor) -> None:
        """Add up loss and gradients of all processes; each has weighted its own by its share of the tokens."""
        if self.world == 1:
            return
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        for p in parameters:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        flat = torch.cat([total.view(1), *(p.grad.view(-1) for p in parameters)])
        dist.all_reduce(flat)
        total.copy_(flat[0])
        for p, piece in zip(parameters, flat[1:].split([p.numel() for p in parameters])):
            p.grad.copy_(piece.view_as(p))

    def _spent(self) -> float:
        return self.progress.cpu_seconds + time.process_time() - self._clock

    @contextlib.contextmanager
    def averaged_weights(self) -> Iterator[None]:
        """Within the block the model has its averaged weights, if there are any, and does not drop out."""
        own = {name: p.detach().clone() for name, p in self.model.named_parameters()} if self.averaged else {}
        self._load(self.averaged or {})
        self.model.eval()
        yield
        self._load(own)
        self.model.train()

    @torch.no_grad()
    def _load(self, weights: dict[str, Tensor]) -> None:
        for name, p in self.model.named_parameters():
            if name in weights:
                p.copy_(weights[name])

    @torch.no_grad()
    def validate(self, examples: Sequence[Example]) -> float:
        """Cross-entropy per target token, in nats, without smoothing."""
        total = torch.zeros((), device=self.device)
        with self.averaged_weights():
            for batch in batches(examples, 8192):
                src, tgt_in, tgt_out = collate(batch, self.device)
                logits = self.model(src, tgt_in)
                total += nn.functional.cross_entropy(
                    logits.flatten(0, 1), tgt_out.flatten(), ignore_index=self.model.config.pad_id, reduction="sum"
                )
        return total.item() / sum(len(example.tgt) + 1 for example in examples)

    def save(self, path: Path) -> None:
        """Everything that `resume` needs, written beside `path` first, so that a cut leaves the old one whole."""
        self.progress.cpu_seconds, self._clock = self._spent(), time.process_time()
        state = {
            "model": self.model.state_dict(),
            "config": asdict(self.model.config),
            "options": asdict(self.options),
            "optimiser": self.optimiser.state_dict(),
            "averaged": self.averaged,
            "progress": asdict(self.progress),
            "random": {
                "python": random.getstate(),
                "torch": torch.get_rng_state(),
                "cuda": torch.cuda.get_rng_state() if self.device.type == "cuda" else None,
            },
        }
        part = path.with_suffix(".part")
        torch.save(state, part)
        os.replace(part, path)

    def resume(self, path: Path) -> None:
        """Go on from what `save` wrote; ValueError if it belongs to another model or other options."""
        state = torch.load(path, map_location="cpu", weights_only=False)
        for name, mine in {"config": self.model.config, "options": self.options}.items():
            differing = {key for key, value in asdict(mine).items() if state[name].get(key) != value} - {"steps", "cpu_seconds"}
            if differing:
                raise ValueError(f"{path} was written with other {name}: {', '.join(sorted(differing))} differ.")
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        if self.averaged:
            self.averaged = {name: value.to(self.device) for name, value in state["averaged"].items()}
        self.progress = Progress(**state["progress"])
        self._clock = time.process_time()
        random.setstate(state["random"]["python"])
        torch.set_rng_state(state["random"]["torch"])
        if state["random"]["cuda"] is not None:
            torch.cuda.set_rng_state(state["random"]["cuda"])


def collate(examples: Sequence[Example], device: torch.device | str = "cpu") -> tuple[Tensor, Tensor, Tensor]:
    """Padded ids of `examples`: source with <eos>, decoder input with <bos>, decoder output with <eos>."""
    bos, eos = Tokenizer.bos_id, Tokenizer.eos_id
    src = pad([[*example.src, eos] for example in examples])
    tgt_in = pad([[bos, *example.tgt] for example in examples])
    tgt_out = pad([[*example.tgt, eos] for example in examples])
    return src.to(device), tgt_in.to(device), tgt_out.to(device)

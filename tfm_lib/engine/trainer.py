"""The trainer: the loop of `tfm_lib.training`, extended for long runs.

A run is a pure function of its options and its examples. The batches of an epoch follow from the seed and
the epoch's number, so a checkpoint needs only the counters, the weights, the optimiser and the random
states to resume bit for bit. With several processes, each takes its share of every batch's sentences, and
gradients are weighted by the tokens of all processes, so that the losses equal those of a single process.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor, nn

from tfm_lib._errors import require_padding
from tfm_lib.data import Example, batches
from tfm_lib.engine.dropout import byte_dropout
from tfm_lib.engine.loss import linear_smoothed_loss
from tfm_lib.training import Batch, paper_optimiser, warmup_lr
from tfm_lib.transformer import Transformer


@dataclass(frozen=True)
class TrainOptions:
    """Training options. An update uses about `max_tokens` target tokens, split into `accumulate` micro-batches.

    `schedule` "paper" is `factor` times the paper's learning rate; "cosine" rises to `peak` within `warmup` steps
    and falls to 0 at the end of the run: after `steps` or, if `seconds` is given, when that time has passed on the
    `clock` ("wall" or the process's "cpu"). A run limited by steps is repeatable bit for bit; one on a clock is not.
    """

    max_tokens: int = 4096
    accumulate: int = 1
    steps: int = 1000
    seconds: float = math.inf
    clock: Literal["wall", "cpu"] = "wall"
    optimiser: Literal["adam", "muon"] = "adam"
    schedule: Literal["paper", "cosine"] = "paper"
    warmup: int = 4000
    factor: float = 1.0
    peak: float = 1e-3
    epsilon: float = 0.1  # of label smoothing
    weight_decay: float = 0.0  # of the layers' matrices; only with Muon
    clip: float = 1.0  # maximum norm of the gradient; 0: none
    average: float = 0.0  # decay of the running mean of the weights; 0: none
    subword_dropout: float = 0.0  # share of merges left out when a word is split; 0: none
    typed: bool = False  # also train on typed text: `tfm_lib.corpora.typed`
    seed: int = 0
    bfloat16: bool = False
    validate_every: int = 500
    patience: int = 0  # stop after this many validations without improvement; 0: never

    def __post_init__(self) -> None:
        if self.weight_decay and self.optimiser != "muon":
            raise ValueError("weight_decay goes with the optimiser muon; Adam here is the paper's, which has none")
        if self.typed and self.subword_dropout:
            raise ValueError("sub-word dropout cuts the same sentences in each epoch, so it does not go with typed")


@dataclass
class Progress:
    """The state of a run."""

    step: int = 0
    epoch: int = 0
    batch: int = 0  # micro-batches of this epoch already used
    seconds: float = 0.0  # on the clock of the options
    tokens: int = 0
    best: float = math.inf  # lowest validation loss
    stale: int = 0  # validations since then


POOL = 300  # batches whose sentences are sorted together: the more, the less padding on the source side
MAY_GROW = {"steps", "seconds", "patience"}  # options that may be larger in a resumed run
DEFAULTS = {"typed": False}  # for options that older checkpoints lack


class OtherRun(ValueError):
    """The checkpoint belongs to another model or other options."""


class Trainer:
    """Trains `model` on `examples`, or on `examples(epoch)`; `run` yields a record after each update."""

    def __init__(
        self,
        model: Transformer,
        examples: Sequence[Example] | Callable[[int], Sequence[Example]],
        options: TrainOptions,
    ):
        self.model, self.examples, self.options = model, examples, options
        self.rank, self.world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
        self.device = next(model.parameters()).device
        self.optimisers = _optimisers(model, options)
        self.averaged = {name: p.detach().clone() for name, p in model.named_parameters()} if options.average else None
        self.progress = Progress()
        self._clock = {"wall": time.monotonic, "cpu": time.process_time}[options.clock]
        self._last = self._clock()
        torch.manual_seed(options.seed + self.rank)

    def run(self) -> Iterator[dict[str, Any]]:
        """Update until `done`; yields step, loss (nats per target token, a tensor), lr, tokens, epoch.

        On a CPU, the model uses byte dropout meanwhile; its own modules are restored at the end.
        """
        with byte_dropout(self.model) if self.device.type == "cpu" else contextlib.nullcontext():
            self.model.train()
            self._tick()
            for group in self._updates():
                if self.done():
                    return
                yield self._update(group)

    def done(self) -> bool:
        """Return whether the steps, the seconds or the patience are used up."""
        options, progress = self.options, self.progress
        tired = 0 < options.patience <= progress.stale
        return tired or progress.step >= options.steps or progress.seconds >= options.seconds

    def any_process(self, flag: bool) -> bool:
        """Return whether `flag` is set in any process."""
        flags = torch.tensor(float(flag), device=self.device)
        if self.world > 1:
            dist.all_reduce(flags)
        return flags.item() > 0

    def _tick(self) -> None:
        """Advance the clock; all processes follow the first one's."""
        now = self._clock()
        passed = torch.tensor(now - self._last, dtype=torch.float64)
        self._last = now
        if self.world > 1 and math.isfinite(self.options.seconds):
            passed = passed.to(self.device)
            dist.broadcast(passed, src=0)
        self.progress.seconds += passed.item()

    def lr(self) -> float:
        """Return the learning rate of the current step."""
        options, step = self.options, self.progress.step
        if options.schedule == "paper":
            return options.factor * warmup_lr(step, self.model.config.d_model, options.warmup)
        done = min(1.0, max(step / options.steps, self.progress.seconds / options.seconds))
        return options.peak * min(1.0, step / options.warmup) * 0.5 * (1 + math.cos(math.pi * done))

    def _updates(self) -> Iterator[list[list[Example]]]:
        """Yield the micro-batches of each update, starting from the current progress, for ever."""
        size, progress = self.options.max_tokens // self.options.accumulate, self.progress
        while True:
            examples = self.examples(progress.epoch) if callable(self.examples) else self.examples
            epoch = list(batches(examples, size, 10_000 * self.options.seed + progress.epoch, POOL))
            while progress.batch < len(epoch):
                group = epoch[progress.batch : progress.batch + self.options.accumulate]
                progress.batch += len(group)
                yield group
            progress.epoch, progress.batch = progress.epoch + 1, 0

    def _update(self, group: list[list[Example]]) -> dict[str, Any]:
        options, progress = self.options, self.progress
        progress.step += 1
        self._tick()
        tokens = sum(_targets(batch) for batch in group)  # of all processes
        total = torch.zeros((), device=self.device)
        for batch in group:
            mine = batch[self.rank :: self.world]
            if mine:
                loss = self._loss(mine) * (_targets(mine) / tokens)
                loss.backward()
                total += loss.detach()
        self._sum_over_processes(total)
        if options.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), options.clip)
        lr = self.lr()
        for optimiser in self.optimisers:
            for parameters in optimiser.param_groups:
                parameters["lr"] = lr
            optimiser.step()
            optimiser.zero_grad()
        if self.averaged:
            self._average()
        progress.tokens += tokens
        return {"step": progress.step, "loss": total, "lr": lr, "tokens": tokens, "epoch": progress.epoch}

    def _loss(self, examples: Sequence[Example], epsilon: float | None = None) -> Tensor:
        """Return the smoothed loss per target token, without computing logits for padding."""
        *padded, padded_with = Batch.of(examples)
        src, tgt_in, tgt_out = (ids.to(self.device) for ids in padded)
        require_padding(padded_with, self.model.config.pad_id)
        real = tgt_out != padded_with
        with self._precision():
            hidden = self.model.hidden(src, tgt_in)
        epsilon = self.options.epsilon if epsilon is None else epsilon
        dtype = torch.bfloat16 if self.options.bfloat16 else torch.float32
        return linear_smoothed_loss(
            hidden[real].float(), self.model.embedding.tokens.weight, tgt_out[real], epsilon, dtype
        )

    def _precision(self) -> contextlib.AbstractContextManager:
        """Compute matrix products in bfloat16 if the options say so; weights, norms and the loss stay in float32."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.options.bfloat16)

    def _average(self) -> None:
        """Update the mean over about the last 1 / (1 − decay) steps; fewer at the beginning."""
        decay = min(self.options.average, (1 + self.progress.step) / (10 + self.progress.step))
        means = list((self.averaged or {}).values())
        torch._foreach_lerp_(means, [p.detach() for p in self.model.parameters()], 1 - decay)

    def _sum_over_processes(self, total: Tensor) -> None:
        """Add up loss and gradients of all processes; each has weighted its own by its share of the tokens."""
        if self.world == 1:
            return
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        for p in parameters:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        gradients = [p.grad for p in parameters if p.grad is not None]
        flat = torch.cat([total.view(1), *(gradient.view(-1) for gradient in gradients)])
        dist.all_reduce(flat)
        total.copy_(flat[0])
        for gradient, piece in zip(gradients, flat[1:].split([p.numel() for p in parameters])):
            gradient.copy_(piece.view_as(gradient))

    @contextlib.contextmanager
    def averaged_weights(self) -> Iterator[Transformer]:
        """Within the block, the model has its averaged weights, if there are any, and uses no dropout."""
        own = {name: p.detach().clone() for name, p in self.model.named_parameters()} if self.averaged else {}
        self._load(self.averaged or {})
        self.model.eval()
        try:
            yield self.model
        finally:
            self._load(own)
            self.model.train()

    @torch.no_grad()
    def _load(self, weights: dict[str, Tensor]) -> None:
        for name, p in self.model.named_parameters():
            if name in weights:
                p.copy_(weights[name])

    @torch.no_grad()
    def validate(self, examples: Sequence[Example]) -> tuple[float, bool]:
        """Return the averaged weights' unsmoothed cross-entropy, in nats per target token; and whether it is best."""
        total = 0.0
        with self.averaged_weights():
            for batch in batches(examples, 4096):
                total += self._loss(batch, epsilon=0.0).item() * _targets(batch)
        loss = total / _targets(examples)
        better = loss < self.progress.best
        self.progress.best = min(loss, self.progress.best)
        self.progress.stale = 0 if better else self.progress.stale + 1
        return loss, better

    def save(self, path: Path) -> None:
        """Save what `resume` needs, by the first process; an interruption leaves the old file at `path` whole."""
        state = {
            "config": asdict(self.model.config),
            "options": asdict(self.options),
            "model": self.model.state_dict(),
            "averaged": self.averaged,
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
            "progress": asdict(self.progress),
            "random": self._of_all_processes(self._random_state()),
        }
        if self.rank:
            return
        part = path.with_name(f"{path.name}.part")
        torch.save(state, part)
        os.replace(part, path)

    def resume(self, path: Path) -> None:
        """Resume from what `save` wrote; raises `OtherRun` if it belongs to another model or other options."""
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
        except (RuntimeError, EOFError, pickle.UnpicklingError) as error:
            raise OtherRun(f"{path} cannot be read; it is cut or damaged ({type(error).__name__}).") from None
        for name, mine in {"config": asdict(self.model.config), "options": asdict(self.options)}.items():
            state[name] = {key: state[name].get(key, DEFAULTS.get(key)) for key in mine}
            differing = sorted(key for key, value in mine.items() if state[name][key] != value and key not in MAY_GROW)
            if differing:
                key = differing[0]
                raise OtherRun(
                    f"{path} was written with other {name}: {key} was {state[name].get(key)}, now it is "
                    f"{mine[key]}{f' (and {len(differing) - 1} more)' if differing[1:] else ''}."
                )
        self.model.load_state_dict(state["model"])
        for optimiser, kept in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(kept)
        if self.averaged:
            self.averaged = {name: value.to(self.device) for name, value in state["averaged"].items()}
        self.progress, self._last = Progress(**state["progress"]), self._clock()
        self._set_random_state(state["random"][self.rank % len(state["random"])])

    def _random_state(self) -> Tensor:
        return torch.cuda.get_rng_state() if self.device.type == "cuda" else torch.get_rng_state()

    def _set_random_state(self, state: Tensor) -> None:
        torch.cuda.set_rng_state(state) if self.device.type == "cuda" else torch.set_rng_state(state)

    def _of_all_processes(self, state: Tensor) -> list[Tensor]:
        if self.world == 1:
            return [state]
        states: list[Tensor] = [torch.empty(0)] * self.world
        dist.all_gather_object(states, state)
        return states


def _optimisers(model: nn.Module, options: TrainOptions) -> list[torch.optim.Optimizer]:
    """Return the paper's Adam for all parameters, or Muon for the layers' matrices and Adam for the rest.

    Muon makes each update of a matrix orthogonal (Jordan et al., 2024); scaled to Adam's typical size
    (Liu et al., 2025), it uses the same learning rate.
    """
    adam = paper_optimiser(model)
    if options.optimiser == "adam":
        return [adam]
    matrices = [p for name, p in model.named_parameters() if p.dim() == 2 and not name.startswith("embedding")]
    chosen = set(map(id, matrices))
    adam.param_groups[0]["params"] = [p for p in model.parameters() if id(p) not in chosen]
    return [adam, torch.optim.Muon(matrices, lr=0.0, weight_decay=options.weight_decay, adjust_lr_fn="match_rms_adamw")]


def _targets(examples: Sequence[Example]) -> int:
    """Return the number of tokens to predict, <eos> included."""
    return sum(len(example.tgt) + 1 for example in examples)

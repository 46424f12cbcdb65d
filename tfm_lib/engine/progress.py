"""Show a run's progress on the screen: one moving line, and one permanent line per validation."""

from __future__ import annotations

import time
from typing import Any, Self

from tfm_lib._extras import absent

try:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
except ModuleNotFoundError as error:
    raise absent(error, "train") from None

from tfm_lib.engine.trainer import Trainer


EVERY = 30  # seconds between two lines, where there is no terminal


class Bar:
    """Shows loss, learning rate, tokens per second and time left; without a terminal, now and then in a line."""

    def __init__(self, console: Console):
        self.console = console
        columns = (BarColumn(24), TextColumn("{task.description}"), TimeElapsedColumn())
        self.progress = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
        self.task = self.progress.add_task("beginning", total=1.0)
        self.loss: float | None = None
        self._since, self._tokens = time.monotonic(), 0
        self._speed = 0.0
        self._said: float | None = None  # when the last line was written
        self._began: tuple[float, float] | None = None  # time and share done at the first update seen

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def says(self, text: str) -> None:
        self.console.print(text, soft_wrap=True)

    def updated(self, record: dict[str, Any], trainer: Trainer) -> None:
        self._tokens += record["tokens"]
        now, options, at = time.monotonic(), trainer.options, trainer.progress
        done = min(1.0, max(at.step / options.steps, at.seconds / options.seconds))
        self._began = self._began or (now, done)
        if self._said is None and not self.console.is_terminal:
            self._said = now
            self.says(f"step {at.step} · loss {record['loss'].item():.3f} · training has begun")
        if now - self._since < 0.5:
            return
        speed = self._tokens / (now - self._since)
        self._speed = speed if not self._speed else 0.9 * self._speed + 0.1 * speed
        self._since, self._tokens = now, 0
        loss = record["loss"].item()
        self.loss = loss if self.loss is None else 0.9 * self.loss + 0.1 * loss
        began, share = self._began
        left = f"{_time((now - began) / (done - share) * (1 - done))} left" if done > share else ""
        text = f"step {at.step} · loss {self.loss:.3f} · lr {record['lr']:.1e} · {self._speed:,.0f} tokens/s · {left}"
        self.progress.update(self.task, completed=done, description=text)
        if self._said is not None and now - self._said >= EVERY:
            self._said = now
            self.says(text)

    def validated(self, record: dict[str, Any], better: bool) -> None:
        kept = "best so far, saved" if better else "no better"
        self.says(
            f"step {record['step']:>6} · validation loss {record['val_loss']:.3f} · {judged(record)} · "
            f"{_time(record['seconds'])} · {kept}"
        )


def judged(record: dict[str, Any]) -> str:
    """Return the share of right texts in a record: translations, or stories."""
    if "exact" in record:
        return f"exact match {record['exact']:.1%}"
    return f"{record['consistent']:.0%} of {record['sampled']} stories consistent"


def _time(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"

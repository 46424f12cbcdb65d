"""Run `tfm train`: train a model on a named corpus in a folder, with checkpoints, metrics and validation."""

from __future__ import annotations

import json
import os
import platform
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal, Protocol

import torch
import torch.distributed as dist

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from tfm_lib.corpora import load_corpus
from tfm_lib.corpora.typed import typed
from tfm_lib.data import Example, Tokenizer
from tfm_lib.engine.presets import Preset
from tfm_lib.engine.subwords import SubwordDropout
from tfm_lib.engine.trained import TOKENIZER, save_trained
from tfm_lib.engine.trainer import OtherRun, Trainer, TrainOptions
from tfm_lib.engine.translator import Translator
from tfm_lib.transformer import Transformer

CHECKPOINT, METRICS, RUN, HELD = "checkpoint.pt", "metrics.jsonl", "run.json", ".held"
Sentences = list[tuple[str, str]]
EMBEDDED_SIZE = {
    "copy": 20_000,
    "reverse": 20_000,
    "sort": 20_000,
    "numbers": 40_000,
    "dates": 20_000,
    "questions": 20_000,
}
GLANCE = 200  # sentences of the validation part that are translated at each validation
LONGEST = 200  # sentences with at least this many tokens on a side are left out of the training


class Watcher(Protocol):
    """Follows a run, for example a progress bar or a test."""

    def says(self, text: str) -> None: ...

    def updated(self, record: dict[str, Any], trainer: Trainer) -> None: ...

    def validated(self, record: dict[str, Any], better: bool) -> None: ...


class FolderHeld(RuntimeError):
    """Another run is using the folder."""


@dataclass(frozen=True)
class RunFolder:
    """The files of a run."""

    path: Path

    @property
    def checkpoint(self) -> Path:
        return self.path / CHECKPOINT

    @property
    def is_begun(self) -> bool:
        return self.checkpoint.is_file()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the folder within the block; raises `FolderHeld`, naming the process, if another one holds it.

        The system releases the lock when the process ends, however it ends. On systems without such locks (Windows),
        nothing is locked.
        """
        if fcntl is None:
            yield
            return
        made = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / HELD).open("a+", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.stat(self.path / HELD)  # its holder may have removed it between the last two lines
            except OSError:
                file.seek(0)
                raise FolderHeld(
                    f"{self.path} is held by another training: {file.read() or 'one that begins or ends'}. "
                    f"Wait for it, stop it, or take another folder with --to."
                ) from None
            file.truncate(0)
            file.write(f"process {os.getpid()} on {platform.node()}, since {datetime.now():%Y-%m-%d %H:%M}")
            file.flush()
            try:
                yield
            finally:
                (self.path / HELD).unlink(missing_ok=True)
                for folder in made:  # a run that was refused leaves nothing behind
                    if not any(folder.iterdir()):
                        folder.rmdir()

    def clear(self) -> None:
        """Delete the run: checkpoint, metrics and tokenizer; an exported model stays until the next one."""
        for name in (CHECKPOINT, METRICS, TOKENIZER, RUN):
            (self.path / name).unlink(missing_ok=True)

    def begin(self, about: dict[str, Any]) -> None:
        """Create the folder and write down what the run is."""
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / RUN).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")

    def about(self) -> dict[str, Any]:
        try:
            return json.loads((self.path / RUN).read_text(encoding="utf-8"))
        except (ValueError, FileNotFoundError):
            raise OtherRun(f"{self.path / RUN}, which says what the run is, cannot be read.") from None

    def require(self, corpus: str) -> None:
        """Raise `OtherRun` if the folder holds a run on another corpus."""
        if self.is_begun and self.about()["corpus"] != corpus:
            raise OtherRun(f"{self.path} holds a run on {self.about()['corpus']!r}, not on {corpus!r}.")

    def last_validation(self) -> dict[str, Any]:
        """Return the newest record with a validation loss."""
        records = map(json.loads, reversed((self.path / METRICS).read_text(encoding="utf-8").splitlines()))
        return next(record for record in records if "val_loss" in record)

    def note(self, record: dict[str, Any]) -> None:
        """Append one line to the metrics."""
        with (self.path / METRICS).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(record) + "\n")

    def trim(self, step: int) -> None:
        """Drop the metrics after `step`, because a resumed run writes them again."""
        path = self.path / METRICS
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines()
            kept = [line for line in lines if line.endswith("}") and json.loads(line)["step"] <= step]
            path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")


def train_run(
    corpus: str, preset: Preset, folder: RunFolder, watcher: Watcher, checkpoint_every: int = 500, bits: int = 32
) -> dict[str, Any]:
    """Train `preset` on `corpus` in `folder`, or resume a stopped run there; return the record of the last validation.

    Ctrl-C finishes the current step, saves, and raises KeyboardInterrupt. The exported model is the one with the
    lowest validation loss so far, with averaged weights if the options ask for them, in `bits` bits a number.
    """
    options, rank = preset.options, dist.get_rank() if dist.is_initialized() else 0
    folder.require(corpus)
    texts = {"train": sentences(corpus, "train"), "val": sentences(corpus, "val")}
    if rank == 0 and not folder.is_begun:
        folder.clear()
        folder.begin({"corpus": corpus, "options": asdict(options), "machine": machine()})
        learned_tokenizer(texts["train"], preset.model.vocab_size, options.typed).save(folder.path / TOKENIZER)
    wait_for_all()
    tokenizer = Tokenizer.load(folder.path / TOKENIZER)
    val = plain_examples(tokenizer, texts["val"])
    if not val or not plain_examples(tokenizer, texts["train"]):
        raise ValueError(f"{corpus} has no sentence of fewer than {LONGEST} tokens to train on or to validate with.")
    train = training_examples(tokenizer, texts["train"], options)
    torch.manual_seed(options.seed)
    config = replace(preset.model, vocab_size=len(tokenizer), pad_id=tokenizer.pad_id)
    trainer = Trainer(Transformer(config).to(device()), train, options)
    begin(trainer, corpus, folder, watcher)

    def validate() -> None:
        loss, better = trainer.validate(val)
        if rank:
            return
        progress = trainer.progress
        with trainer.averaged_weights() as model:
            record = {
                "step": progress.step,
                "val_loss": loss,
                "exact": exact_match(Translator(model, tokenizer), glance(texts["val"])),
                "seconds": round(progress.seconds, 1),
            }
            if better:
                save_trained(
                    folder.path, model, tokenizer, {"corpus": corpus, "typed": options.typed, "trained": record}, bits
                )
        folder.note(record)
        watcher.validated(record, better)

    keep_training(trainer, folder, watcher, validate, checkpoint_every)
    return folder.last_validation()


def begin(trainer: Trainer, corpus: str, folder: RunFolder, watcher: Watcher) -> None:
    """Say where everything is kept, and go on from the folder's checkpoint if there is one."""
    watcher.says(f"Training on {corpus}; everything is kept in {folder.path}.")
    if folder.is_begun:
        trainer.resume(folder.checkpoint)
        folder.trim(trainer.progress.step)
        watcher.says(f"Going on from step {trainer.progress.step} of the run in {folder.path}.")


def keep_training(
    trainer: Trainer, folder: RunFolder, watcher: Watcher, validate: Callable[[], None], checkpoint_every: int
) -> None:
    """Train to the end, with metrics and checkpoints in `folder`; Ctrl-C finishes the step, saves, and is raised."""
    options, rank = trainer.options, trainer.rank
    with _ctrl_c_between_steps() as asked:
        for record in trainer.run():
            step, last = trainer.progress.step, trainer.done()
            if rank == 0:
                watcher.updated(record, trainer)
                if step == 1 or step % 20 == 0:
                    folder.note(
                        {**record, "loss": record["loss"].item(), "seconds": round(trainer.progress.seconds, 1)}
                    )
            if last or step % options.validate_every == 0:
                validate()
            stopping = trainer.any_process(asked.is_set())
            if last or stopping or step % checkpoint_every == 0:
                trainer.save(folder.checkpoint)
            if stopping:
                raise KeyboardInterrupt


def sentences(corpus: str, part: Literal["train", "val", "test"]) -> Sentences:
    """Return the pairs of one part of a corpus; embedded ones are large enough to train on."""
    options = {"size": EMBEDDED_SIZE[corpus]} if corpus in EMBEDDED_SIZE else {}
    return load_corpus(corpus, **options).sentences(part)


def glance(pairs: Sentences) -> Sentences:
    """The pairs of at most `GLANCE` sources, from beginning to end: corpora are often sorted by length."""
    sources = list(dict.fromkeys(source for source, _ in pairs))
    count = min(GLANCE, len(sources))
    chosen = {sources[i * len(sources) // count] for i in range(count)}
    return [pair for pair in pairs if pair[0] in chosen]


def exact_match(translator: Translator, pairs: Sentences) -> float:
    """Return the share of sources whose greedy translation equals one of their targets."""
    targets: dict[str, set[str]] = {}
    for source, target in pairs:
        targets.setdefault(source, set()).add(" ".join(target.split()))
    written = translator.translate(list(targets), beam=1)
    return sum(text in right for text, right in zip(written, targets.values())) / len(targets)


def machine() -> dict[str, Any]:
    """Return the context of a recorded run: versions, accelerator, number of threads, date."""
    accelerator = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "accelerator": accelerator,
        "date": date.today().isoformat(),
    }


def learned_tokenizer(pairs: Sentences, vocab_size: int, typed: bool) -> Tokenizer:
    """Train the tokenizer for both sides.

    For typed text, numbers are split into digits, and letters that are rare in a large corpus become unknown: the
    model cannot learn them, but it can copy unknown characters.
    """
    sides = (side for pair in pairs for side in pair)
    rarest = 1 + len(pairs) // 20_000 if typed else 1
    return Tokenizer.train(sides, vocab_size, single_digits=typed, min_count=rarest)


def training_examples(
    tokenizer: Tokenizer, pairs: Sentences, options: TrainOptions
) -> list[Example] | Callable[[int], list[Example]]:
    """Return `pairs` for the trainer; with typed text or sub-word dropout, a function that makes each epoch's anew."""
    if options.typed:
        return lambda epoch: plain_examples(tokenizer, typed(pairs, options.seed, epoch))
    if options.subword_dropout:
        return SubwordDropout(tokenizer, pairs, options.subword_dropout, options.seed, LONGEST)
    return plain_examples(tokenizer, pairs)


def plain_examples(tokenizer: Tokenizer, pairs: Sentences) -> list[Example]:
    """Return `pairs` encoded by the tokenizer, without very long ones."""
    sources, targets = (tokenizer.encode_all(side) for side in zip(*pairs))
    return [Example(src, tgt) for src, tgt in zip(sources, targets) if max(len(src), len(tgt)) < LONGEST]


def device() -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))


def wait_for_all() -> None:
    """If there are several processes, wait until all of them get here."""
    if dist.is_initialized():
        dist.barrier()


@contextmanager
def _ctrl_c_between_steps() -> Iterator[threading.Event]:
    """Within the block, a first Ctrl-C sets the event; a second one stops immediately."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def ask(number: int, frame: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

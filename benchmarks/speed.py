"""Training step, forward pass, greedy decoding and peak memory against `torch.nn.Transformer`, as ratios in one run.

One thread, float32, the same sizes, batch, dropout and smoothing on both sides. Each number comes from a
process of its own, in which both sides take turns; the peak memory from one process a side.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import torch.nn.functional as F

from benchmarks.alternating import ratio
from benchmarks.peer import Peer
from benchmarks.row import Row
from tfm_lib.data import Example
from tfm_lib.decoding import greedy_decode
from tfm_lib.engine.trainer import Trainer, TrainOptions
from tfm_lib.training import Batch
from tfm_lib.transformer import Transformer, TransformerConfig

CONFIG = TransformerConfig(8000, d_model=256, n_heads=8, d_ff=1024, n_layers=3)
SENTENCES, LENGTHS = 64, (26, 42)  # about 34 tokens a side
WRITTEN, LONG = 32, 40  # sentences and tokens of the decoding
NEVER = CONFIG.vocab_size + 1  # an <eos> that no model writes: every sentence goes on to the end


def measure(root: Path) -> Iterator[Row]:
    for what, (_, bar) in RATIOS.items():
        yield Row(f"{what} against torch.nn.Transformer", float(_alone(root, what)), bar, "×", digits=2)
    ours, theirs = (float(_alone(root, f"memory {side}")) for side in ("ours", "theirs"))
    yield Row("peak memory of a training step against torch.nn.Transformer", ours / theirs, 1.0, "×", digits=2)


def training_step() -> float:
    return ratio(_our_step(), _their_step(), repeats=9)


def forward() -> float:
    ours, theirs = (model.eval() for model in _models())
    batch = Batch.of(_examples())

    @torch.no_grad()
    def run(model: torch.nn.Module) -> None:
        model(batch.src, batch.tgt_in)

    return ratio(lambda: run(ours), lambda: run(theirs), repeats=15)


def greedy_decoding() -> float:
    ours, theirs = (model.eval() for model in _models())
    src = Batch.of(_examples()[:WRITTEN]).src
    return ratio(lambda: greedy_decode(ours, src, 1, NEVER, LONG), lambda: _naive(theirs, src), repeats=3, warmup=1)


@torch.no_grad()
def _naive(model: Peer, src: torch.Tensor) -> torch.Tensor:
    """The loop that everybody writes first: the whole model again for each token."""
    ids = torch.full((len(src), 1), 1)
    for _ in range(LONG):
        ids = torch.cat([ids, model(src, ids)[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
    return ids


def _our_step() -> Callable[[], object]:
    options = TrainOptions(max_tokens=10**9, steps=10**9, clip=0.0)
    trainer = Trainer(_models()[0], _examples(), options)
    run = trainer.run()
    return lambda: next(run)


def _their_step() -> Callable[[], object]:
    model = _models()[1].train()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)

    def step() -> None:
        batch = Batch.of(_examples())
        logits = model(batch.src, batch.tgt_in)
        loss = F.cross_entropy(logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=0, label_smoothing=0.1)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()

    return step


def _models() -> tuple[Transformer, Peer]:
    torch.manual_seed(0)
    return Transformer(CONFIG), Peer(CONFIG)


def _examples() -> list[Example]:
    draw = random.Random(0)
    rows = [[draw.randrange(4, CONFIG.vocab_size) for _ in range(draw.randint(*LENGTHS))] for _ in range(2 * SENTENCES)]
    return [Example(*pair) for pair in zip(rows[::2], rows[1::2])]


RATIOS: dict[str, tuple[Callable[[], float], float]] = {
    "training step": (training_step, 0.85),
    "forward pass": (forward, 1.05),
    "greedy decoding": (greedy_decoding, 0.18),
}


def _alone(root: Path, what: str) -> str:
    command = [sys.executable, "-m", "benchmarks.speed", what]
    return subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout


def _peak(step: Callable[[], object]) -> float:
    """Peak resident memory of three training steps, in MB, above what was there before."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(3):
        step()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


if __name__ == "__main__":
    torch.set_num_threads(1)
    memory = {"memory ours": _our_step, "memory theirs": _their_step}
    what = sys.argv[1]
    print(_peak(memory[what]()) if what in memory else RATIOS[what][0]())

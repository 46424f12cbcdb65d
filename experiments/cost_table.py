"""Measure Table 1: time and memory of layers against the number of words n and their width d.

Takes twenty minutes on one core and needs Linux, which reports a process's peak memory. Each measurement runs in its
own process; the whole table is measured in several passes, one after the other. With the variable TFM_RUNS set, each
pair of n and d is saved as it finishes.
"""

import ctypes
import multiprocessing
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

import statistics
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.record import Record, piece, record, short
from tfm_lib.attention import attention
from tfm_lib.self_attention import SelfAttention

N = [64, 128, 256, 512, 1024, 2048, 4096]
R, ROUNDS, SHARED = 64, 7, 8192  # window; rounds, for the median; words of a batch split in many ways
BATCH = 32  # sentences per batch
# Passes over the table run one after the other, so that each meets a different load on the machine. Wider words get
# fewer passes: one at the widest takes as long as three of the others.
PASSES = {64: [0, 1, 2], 128: [0, 1], 256: [0, 1], 512: [0]}
PASSES_AT_ONCE = {64: [0, 1, 2], 256: [0]}
LEAST = 0.02  # minimum seconds per round: shorter calls are repeated
Layer = Callable[[Tensor], Tensor]


class Convolution(nn.Module):
    """One causal convolution of width k, followed by a ReLU."""

    def __init__(self, d: int, k: int):
        super().__init__()
        self.k, self.product = k, nn.Conv1d(d, d, k)

    def forward(self, X: Tensor) -> Tensor:
        return self.product(F.pad(X.mT, (self.k - 1, 0))).relu().mT


def window_attention(X: Tensor, r: int = R) -> Tensor:
    """Attend from each word to the r words up to and including itself; n must be a multiple of r.

    Blocks of r words attend to their own block and the one before: 2r scores per word are computed, of which r count.
    """
    batch, n, d = X.shape
    own = X.view(batch, n // r, r, d)
    near = torch.cat([F.pad(own, (0, 0, 0, 0, 1, 0))[:, :-1], own], dim=2)  # (batch, blocks, 2r, d)
    back = torch.arange(r)[:, None] + r - torch.arange(2 * r)  # distance of a key before its query, in words
    seen = ((back >= 0) & (back < r)).repeat(n // r, 1, 1)
    seen[0, :, :r] = False  # the first block has no predecessor
    return attention(own, near, near, seen)[0].flatten(1, 2)


def layers(d: int) -> dict[str, Layer]:
    """Return the rows of the table for words of width d; all have one head."""
    gru, projected = nn.GRU(d, d, batch_first=True), SelfAttention(d, d)
    return {
        "attention": lambda X: attention(X, X, X)[0],
        "projected": lambda X: projected(X)[0],
        "window": window_attention,
        "gru": lambda X: gru(X)[0],
        "convolution 3": Convolution(d, 3),
        "convolution 7": Convolution(d, 7),
    }


NAMES = list(layers(8))


def both(layer: Layer, X: Tensor, slopes: Tensor) -> None:
    layer(X).backward(slopes)


def times(name: str, d: int, batch: int, n: int) -> dict[str, list[float | None]]:
    """Return CPU seconds per call in each round: forward, and the backward pass after it."""
    layer, X, slopes = _ready(name, d, batch, n)
    both(layer, X, slopes)
    found: dict[str, list[float | None]] = {"forward": [], "backward": []}
    start = process_time()
    both(layer, X, slopes)
    calls = max(1, int(LEAST / max(process_time() - start, 1e-6)))
    for _ in range(ROUNDS):
        spent = {"forward": 0.0, "backward": 0.0}
        for _ in range(calls):
            start = process_time()
            output = layer(X)
            middle = process_time()
            output.backward(slopes)
            spent["forward"] += middle - start
            spent["backward"] += process_time() - middle
        for stage, seconds in spent.items():
            found[stage].append(short(seconds / calls, 4))
    return found


def memory(name: str, d: int, batch: int, n: int) -> dict[str, float]:
    """Return peak megabytes above the level with layer, input and output gradient in place, per stage."""
    libc = ctypes.CDLL(None)
    libc.mallopt(-3, 1 << 16)  # M_MMAP_THRESHOLD: freed memory is returned at once and is not reused by the next step
    libc.mallopt(-1, 0)  # M_TRIM_THRESHOLD
    layer, X, slopes = _ready(name, d, 1, R)
    both(layer, X, slopes)  # what the first call loads is not a cost of the layer
    X, slopes = torch.randn(batch, n, d, requires_grad=True), torch.randn(batch, n, d)
    level, found = _resident("VmRSS"), {}
    _forget_the_peak()
    output = layer(X)
    found["forward"] = _resident("VmHWM") - level
    found["kept"] = _resident("VmRSS") - level
    _forget_the_peak()
    output.backward(slopes)
    found["backward"] = _resident("VmHWM") - level
    return {stage: round(kilobytes / 1000, 1) for stage, kilobytes in found.items()}


def in_a_process(task: Callable[..., Any], *args: Any) -> Any:
    """Return the result of `task`, run in a forked process that has torch loaded and nothing else."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(task, args)


def measured(n: int, d: int) -> tuple[dict[str, Any], None]:
    """Measure every layer at one size in direct succession, so that other load on the machine affects all alike."""
    found = {
        name: {"times": in_a_process(times, name, d, 1, n), "memory": in_a_process(memory, name, d, 1, n)}
        for name in NAMES
    }
    print(n, d, {name: statistics.median(one["times"]["forward"]) for name, one in found.items()}, flush=True)
    return found, None


def measured_at_once(n: int, d: int) -> tuple[dict[str, Any], None]:
    """Measure the two layers whose curves should cross, with BATCH sentences per batch."""
    found = {name: {"times": in_a_process(times, name, d, BATCH, n)} for name in ("attention", "gru")}
    print(BATCH, n, d, {name: statistics.median(one["times"]["forward"]) for name, one in found.items()}, flush=True)
    return found, None


def shared_batch(n: int) -> tuple[dict[str, Any], None]:
    """Measure the memory for SHARED words of width 64 in total, split into sentences of n."""
    return {name: in_a_process(memory, name, 64, SHARED // n, n) for name in ("attention", "gru")}, None


def product_rate(dtype: torch.dtype) -> float | None:
    """Return how many multiplications and additions per second one core does in a product of large matrices."""
    A, rounds = torch.randn(1024, 1024).to(dtype), []
    for _ in range(ROUNDS + 1):
        start = process_time()
        for _ in range(4):
            A @ A
        rounds.append((process_time() - start) / 4)
    return short(2 * 1024**3 / statistics.median(rounds[1:]))


def in_short(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return the milliseconds of one layer in one pass: medians of the rounds."""
    rounds = found[name]["times"]
    whole = [1e3 * sum(pair) for pair in zip(*rounds.values())]
    stages = {stage: short(1e3 * statistics.median(column), 4) for stage, column in rounds.items()}
    return {**stages, "both": short(statistics.median(whole), 4)}


def slope(x: list[int], y: list[float]) -> float:
    """Return the power p of the curve y ∝ x^p that fits best on logarithmic axes."""
    a, b = torch.tensor(x).double().log(), torch.tensor(y).double().log()
    return (((a - a.mean()) * (b - b.mean())).sum() / (a - a.mean()).square().sum()).item()


def passes(widths: dict[int, list[int]], lengths: list[int]) -> Iterator[tuple[int, int, int]]:
    """Yield pass, width and length; each pass is complete before the next."""
    for one in max(widths.values(), key=len):
        yield from ((one, d, n) for d, n in product(widths, lengths) if one in widths[d])


def one_sentence(numbers: Record) -> None:
    """Record times and memory of every layer at every size."""
    numbers |= {"n": N, "d": list(PASSES), "r": R, "rounds": ROUNDS, "times": {}, "memory": {}}
    for one, d, n in passes(PASSES, N):
        arm, key = f"n {n} d {d}", f"{n} {d}"
        made = piece("cost_table", f"{arm}, seed {one}", partial(measured, n, d))
        numbers.ran(arm, one, 0, cpu_seconds=made["cpu_seconds"], group=f"width {d}")
        numbers["times"].setdefault(key, []).append({"seed": one, **{name: in_short(name, made) for name in NAMES}})
        numbers.rows(arm, f"times/{key}")
        before = numbers["memory"].get(key)
        numbers["memory"][key] = {name: least(made[name]["memory"], before and before[name]) for name in NAMES}


def least(found: dict[str, float], before: dict[str, float] | None) -> dict[str, float]:
    """Return the minimum of each stage: anything above it is noise."""
    return {stage: min(most, before[stage]) if before else most for stage, most in found.items()}


def slopes(times: dict[str, Any], upper: list[int]) -> dict[str, Any]:
    """Return the power of n with which each layer's time grows over `upper`, for each width, one value per pass."""

    def column(name: str, d: int, one: int) -> list[float]:
        return [times[f"{n} {d}"][one][name]["both"] for n in upper]

    return {
        name: {str(d): [round(slope(upper, column(name, d, one)), 3) for one in ones] for d, ones in PASSES.items()}
        for name in NAMES
    }


def at_once(numbers: Record) -> None:
    """Record times with many sentences per batch."""
    numbers |= {"batch": BATCH, "at_once": {}}
    for one, d, n in passes(PASSES_AT_ONCE, N[:-2]):
        arm, key = f"{BATCH} sentences, n {n} d {d}", f"{n} {d}"
        made = piece("cost_table", f"{arm}, seed {one}", partial(measured_at_once, n, d))
        numbers.ran(arm, one, 0, cpu_seconds=made.pop("cpu_seconds"), group=f"{BATCH} sentences, width {d}")
        numbers["at_once"].setdefault(key, []).append({"seed": one, **{name: in_short(name, made) for name in made}})
        numbers.rows(arm, f"at_once/{key}")


def batches(numbers: Record) -> None:
    """Record the memory of batches with a constant number of words."""
    numbers |= {"shared_words": SHARED, "batches": {}}
    for n in N:
        made = piece("cost_table", f"batch n {n}", partial(shared_batch, n))
        numbers.ran(f"batch n {n}", 0, 0, cpu_seconds=made.pop("cpu_seconds"), group="batches")
        numbers["batches"][str(n)] = made


def main() -> None:
    torch.set_num_threads(1)
    upper = N[len(N) // 2 :]
    what = (
        f"One layer on one sentence of n words of width d, float32, one head, window r = {R}. times, by n and d, one entry "
        f"a pass: milliseconds of the processor, medians of {ROUNDS} rounds, forward, backward and both. memory: megabytes "
        "at most above the level with layer, input and gradient in place, in forward and in backward, and what lies "
        f"between the two (kept); the least of the passes. slopes: of the time over n from {upper[0]}, one a pass. "
        f"at_once: times with {BATCH} sentences. batches: memory of {SHARED} words in sentences of n. rate: multiplications "
        "and additions a second in a product of large matrices. The machine had other work."
    )
    with record("cost_table", what) as numbers:
        one_sentence(numbers)
        at_once(numbers)
        batches(numbers)
        numbers |= {"upper": upper, "slopes": slopes(numbers["times"], upper)}
        numbers["rate"] = {name: product_rate(getattr(torch, name)) for name in ("float32", "bfloat16")}


def _ready(name: str, d: int, batch: int, n: int) -> tuple[Layer, Tensor, Tensor]:
    torch.manual_seed(0)
    return layers(d)[name], torch.randn(batch, n, d, requires_grad=True), torch.randn(batch, n, d)


def _resident(field: str) -> int:
    """Return the memory of this process in kilobytes: VmRSS is the current value, VmHWM the peak."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def _forget_the_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


if __name__ == "__main__":
    main()

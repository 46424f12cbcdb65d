"""Measure time and memory of each kind of attention against n: full, fused, tiled, window, hashing, linear.

Takes about twenty minutes on one core and needs Linux, which reports a process's peak memory. Each measurement runs in
its own process. With the variable TFM_RUNS set, each n is saved as it finishes.
"""

import ctypes
import multiprocessing
import os
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

import torch
import torch.nn.functional as F
from torch import Tensor

from experiments.record import piece, record, short
from tfm_lib.attention import attention
from tfm_lib.efficient import linear_attention, lsh_attention, lsh_buckets, tiled_attention, window_attention

NAME = "efficient_scaling"
N, D, R, CHUNK, BUCKET, ROUNDS = [256, 512, 1024, 2048, 4096, 8192, 16384], 64, 64, 64, 32, 5
Method = Callable[[Tensor, Tensor, Tensor], Tensor]


def hashed(rounds: int, Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    """Attend by hashing, with the queries as keys; BUCKET words per bucket on average, chunks twice as long."""
    n_buckets = max(2, Q.shape[-2] // BUCKET)
    return lsh_attention(Q, V, lsh_buckets(Q.detach(), n_buckets, rounds), min(CHUNK, Q.shape[-2]))


METHODS: dict[str, Method] = {
    "full": lambda Q, K, V: attention(Q, K, V)[0],
    "fused": F.scaled_dot_product_attention,
    "tiled": tiled_attention,
    "window": lambda Q, K, V: window_attention(Q, K, V, back=R),
    "hashing, 1 round": partial(hashed, 1),
    "hashing, 4 rounds": partial(hashed, 4),
    "linear": linear_attention,
}


def vectors(n: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """Return queries, keys and values of one head; projections are not part of the measurement."""
    torch.manual_seed(0)
    return [torch.randn(1, 1, n, D, dtype=dtype, requires_grad=True) for _ in range(3)]


def times(name: str, n: int, rounds: int = ROUNDS) -> list[float | None]:
    """Return the CPU seconds of forward and backward together, for each round."""
    torch.set_num_threads(1)
    words, slopes = vectors(n), torch.randn(1, 1, n, D)
    METHODS[name](*words).backward(slopes)
    found = []
    for _ in range(rounds):
        start = process_time()
        METHODS[name](*words).backward(slopes)
        found.append(short(process_time() - start, 4))
    return found


def memory(name: str, n: int) -> dict[str, float]:
    """Return peak megabytes above the level with inputs and output gradient in place, for each stage."""
    torch.set_num_threads(1)
    libc = ctypes.CDLL(None)
    libc.mallopt(-3, 1 << 16)  # M_MMAP_THRESHOLD: freed memory is returned at once and is not reused by the next step
    libc.mallopt(-1, 0)  # M_TRIM_THRESHOLD
    for _ in range(2):  # what a first call loads is not a cost of the method
        METHODS[name](*vectors(512)).backward(torch.randn(1, 1, 512, D))
    words, slopes = vectors(n), torch.randn(1, 1, n, D)
    level = _resident("VmRSS")
    _forget_the_peak()
    output = METHODS[name](*words)
    forward = _resident("VmHWM") - level
    _forget_the_peak()
    output.backward(slopes)
    return {"forward": round(forward / 1000, 1), "backward": round((_resident("VmHWM") - level) / 1000, 1)}


def _resident(field: str) -> int:
    """Return the memory of this process in kilobytes: VmRSS is the current value, VmHWM the peak."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def _forget_the_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def in_a_process(task: Callable[..., Any], *args: Any) -> Any:
    """Return the result of `task`, run in a forked process that has torch loaded and nothing else."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(task, args)


def slope(x: list[int], y: list[float]) -> float:
    """Return the power p of the curve y ∝ x^p that fits best on logarithmic axes."""
    a, b = torch.tensor(x).double().log(), torch.tensor(y).double().log()
    return (((a - a.mean()) * (b - b.mean())).sum() / (a - a.mean()).square().sum()).item()


def slopes_over(rounds: list[list[float]], upper: list[int]) -> dict[str, float]:
    """Return the power of n with which the time grows over `upper`: from the medians, and from each round."""
    each = [slope(upper, list(column)) for column in zip(*rounds)]
    middle = slope(upper, [statistics.median(row) for row in rounds])
    return {"slope": round(middle, 3), "least": round(min(each), 3), "most": round(max(each), 3)}


def measured(n: int) -> tuple[dict[str, Any], None]:
    """Measure every method at one length in direct succession, so that other load on the machine affects all alike."""
    found = {}
    for name in METHODS:
        found[name] = {"times": in_a_process(times, name, n), "memory": in_a_process(memory, name, n)}
        print(n, name, found[name], flush=True)
    return found, None


def main() -> None:
    torch.set_num_threads(1)
    what = (
        f"One head on one sentence of n words, d_k = d_v = {D}, float32, no projections; window: {R} words back; hashing: "
        f"buckets of {BUCKET} words on average, chunks of {CHUNK}. times: CPU seconds of forward and backward together in "
        f"each of {ROUNDS} rounds. memory: megabytes at most above the level with inputs and gradient in place, in forward "
        "and in backward. slopes: of the time over the upper half of n, of the medians and of each round. fused: PyTorch's "
        "scaled_dot_product_attention. The machine had other work."
    )
    with record(NAME, what) as numbers:
        found = {}
        for n in N:
            made = piece(NAME, f"n {n}", partial(measured, n))
            numbers.ran(f"n {n}", 0, 0, cpu_seconds=made.pop("cpu_seconds"))
            found[str(n)] = made
        upper = N[len(N) // 2 :]
        numbers |= {
            "n": N, "d": D, "window": R, "chunk": CHUNK, "rounds": ROUNDS, "methods": found, "upper": upper,
            "slopes": {name: slopes_over([found[str(n)][name]["times"] for n in upper], upper) for name in METHODS},
        }  # fmt: skip


if __name__ == "__main__":
    main()

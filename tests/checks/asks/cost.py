"""The questions of `chapters/cost.md`."""

from tfm_lib.cost import attention_cost
from tfm_lib.drawing import recorded


def _tenfold() -> None:
    def parts(n: int) -> tuple[int, int]:
        pairs = attention_cost(n, 64, 8).multiplications
        return pairs, attention_cost(n, 64, 8, projections=4).multiplications - pairs

    (pairs, projections), (more_pairs, more_projections) = parts(50), parts(500)
    assert (more_pairs, more_projections) == (100 * pairs, 10 * projections)


def _equal_at(pairs: float, projections: int, d: int = 512) -> int:
    return next(n for n in range(1, 10_000) if pairs * n * n * d >= projections * n * d * d)


def _crossings() -> list[int]:
    d = 512
    for n in (1023, 1024, 1025):
        pairs = attention_cost(n, d).multiplications
        four = attention_cost(n, d, projections=4).multiplications - pairs
        assert (pairs > four) - (pairs < four) == n - 1024
    return [_equal_at(2, 4), _equal_at(1, 1), _equal_at(1, 4), d * 2 // 4]


def _counts(names: dict) -> None:
    for n, d, n_heads in ((7, 8, 4), (30, 64, 16), (9, 12, 3)):
        assert names["multiplications"](n, d, n_heads) == attention_cost(n, d, n_heads, projections=4).multiplications


def _attention_overtakes() -> None:
    times = recorded("cost_table")["times"]

    def middle(n: int, name: str) -> float:
        return sorted(run[name]["both"] for run in times[f"{n} 256"])[len(times[f"{n} 256"]) // 2]

    ratio = {n: middle(n, "attention") / middle(n, "convolution 3") for n in (256, 512)}
    assert ratio[256] < 1 < ratio[512] < 1.2


VALUES = {"square-wins": _crossings}
TRIALS = {"heads-twice": _counts}
CLAIMS = {"attention-overtakes": _attention_overtakes, "hundredfold": _tenfold}

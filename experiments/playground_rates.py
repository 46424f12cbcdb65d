"""Give each of the playground's three machines a learning rate of its own for words of up to 16 letters.

    python -m experiments.playground_rates      # half an hour on one core; it needs node, and `npm ci` in frontend/

A rate is chosen by the loss at the end of the training, with seeds that score nothing; the unseen words are looked at
once, with the rate chosen.
"""

from functools import partial
from typing import Any

from experiments.playground import SEEDS, UPDATES, switched
from experiments.record import record

NAME = "playground_rates"
MACHINES = {"Transformer": "transformer", "GRU": "gru", "GRU with attention": "gru attention"}
RATES = [0.002, 0.004, 0.008, 0.016, 0.032]
TRIED = [5, 6]  # seeds


def change(machine: str, rate: float) -> dict[str, Any]:
    return {"longest": 16, "machine": MACHINES[machine], "rate": rate}


def main() -> None:
    with record(NAME, WHAT) as numbers:
        numbers["tried"], numbers["machines"] = [], {}
        for machine in MACHINES:
            losses: dict[float, float] = {}
            for rate in RATES:
                arm = f"{machine}, rate {rate:g}"
                found = numbers.pieces(arm, TRIED, partial(switched, change(machine, rate)), UPDATES, group="tried")
                rows = [
                    {"machine": machine, "rate": rate, "seed": s, "loss": one["loss"]} for s, one in zip(TRIED, found)
                ]
                losses[rate] = sum(one["loss"] for one in found) / len(found)
                numbers["tried"] += rows
                numbers.rows(arm, f"tried/machine={machine},rate={rate:g}")
                print(rows, flush=True)
            best = min(losses, key=losses.__getitem__)
            runs = numbers.pieces(machine, SEEDS, partial(switched, change(machine, best)), UPDATES)
            numbers["machines"][machine] = {"rate": best, "runs": runs}
            numbers.rows(machine, f"machines/{machine}/runs")
            print(machine, best, runs, flush=True)


WHAT = (
    f"The playground's engine in node, words of 2 to 16 letters backwards, batches of 32, {UPDATES:,} updates. tried: the mean training "
    "loss at the end for each rate, two seeds. machines: the rate of the lowest mean, and with it, for five other seeds, the share of "
    "unseen words that are exact at the end."
)


if __name__ == "__main__":
    main()

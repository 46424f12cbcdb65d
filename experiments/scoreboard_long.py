"""Train two rows of the scoreboard ten times as long: does the whole model overtake the GRU with attention?

The rows `alignment` and `transformer` of `experiments.scoreboard`, with its data, sizes and scores, for 6,000 updates
instead of 600, each at the learning rate that the scoreboard chose for it, with three seeds. The schedule falls over
the longer run. Interrupted runs continue from their last checkpoint.

    TFM_RUNS=trained python -m experiments.scoreboard_long
"""

from dataclasses import replace

import torch

from experiments import scoreboard
from experiments.record import record
from experiments.scoreboard import kept
from tfm_lib.drawing.recorded import recorded

NAME = "scoreboard_long"
CHAPTERS, SEEDS, STEPS = ["alignment", "transformer"], [0, 1, 2], 6000

WHAT = (
    "Two rows of the scoreboard, trained for 6,000 updates instead of 600: the GRU with additive attention and the whole model, with the "
    "data, sizes and learning rates of the scoreboard. BLEU and chrF by sacrebleu on the validation part and the test part, written "
    "greedily; perplexity on the validation part."
)


def main() -> None:
    torch.set_num_threads(1)
    board = recorded("scoreboard")
    options = replace(scoreboard.OPTIONS, steps=STEPS)
    with record(NAME, WHAT) as numbers:
        numbers["judged"], numbers["chapters"] = board["judged"], {chapter: [] for chapter in CHAPTERS}
        for seed in SEEDS:
            for chapter in CHAPTERS:
                rate = board["chapters"][chapter]["runs"][0]["rate"]
                one = scoreboard.run(chapter, rate, seed, name=NAME, options=options)
                print(chapter, seed, one["val"]["bleu"], one["test"]["bleu"], flush=True)
                numbers.ran(chapter, seed, one["updates"], one["epochs"], one["training_cpu_seconds"])
                numbers["chapters"][chapter].append(kept(one))
        for chapter in CHAPTERS:
            numbers.rows(chapter, f"chapters/{chapter}")


if __name__ == "__main__":
    main()

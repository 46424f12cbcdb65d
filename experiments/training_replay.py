"""Record a small run of our own training loop for the widget: snapshots of loss, attention and answers."""

import argparse
import itertools
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch

from typing import Any

import torch

from experiments.record import record, short
from experiments.training_task import MAX_TOKENS, Dates
from tfm_lib.data import Tokenizer
from tfm_lib.decoding import greedy_decode
from tfm_lib.training import Batch, train, warmup_lr
from tfm_lib.transformer import Transformer

N_LAYERS, D_MODEL, N_HEADS, D_FF, DROPOUT = 1, 64, 4, 256, 0.1
STEPS, WARMUP, FACTOR = 600, 100, 0.4
SEEDS = [0, 1, 2]  # the first is shown, the others show whether it is typical
LOOKS = [0, 5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100, 120, 140, 160, 180, 200, 250, 300, 350, 400, 500, 600]
WATCHED = "28 de julio de 1975"  # held out; its year comes last and must be written first


def look(dates: Dates, model: Transformer, watched: Batch) -> dict[str, Any]:
    """Return held-out loss, share without a mistake, the answer to the watched date, and its attention weights."""
    loss, exact = dates.judge(model)
    model.eval()
    with torch.no_grad():
        written = greedy_decode(model, watched.src, Tokenizer.bos_id, Tokenizer.eos_id, max_len=12)[0].tolist()
        weights = model.all_weights(watched.src, watched.tgt_in)["cross"][0, 0]  # (n_heads, n, m)
    model.train()
    return {
        "val_loss": short(loss),
        "exact": round(exact, 3),
        "written": dates.tokenizer.decode(written),
        "weights": [[" ".join(f"{100 * w:.0f}" for w in row) for row in head] for head in weights.tolist()],  # percent
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", default="training_replay", help="of the result; another one for a trial")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    what = (
        f"A Transformer (N = {N_LAYERS}, d_model {D_MODEL}, {N_HEADS} heads, d_ff {D_FF}, dropout {DROPOUT}, post-norm) learns "
        f"to write dates of eight countries as year, month, day, by our plain loop: {STEPS} steps of {MAX_TOKENS} target "
        f"tokens, {FACTOR} times the paper's learning rate with a warm-up of {WARMUP} steps. looks: held-out loss (without "
        f"smoothing), share of 200 held-out dates without a fault, greedy answer and cross-attention for one of them. others: step, loss, share "
        f"and answer with the other seeds."
    )
    unequal = "One seed is shown in full, the other two say whether it is typical."
    with record(chosen.name, what, unequal) as numbers:
        dates = Dates()
        src, tgt = next(pair for pair in dates.val if pair[0] == WATCHED)
        watched = Batch.of(dates.encode([(src, tgt)]))
        names = [tokens(dates.tokenizer, side) for side in (src, tgt)]
        runs = []
        for seed in SEEDS:
            with numbers.run("others" if runs else "shown", seed, updates=STEPS):
                runs.append(run(dates, watched, seed))
        first, *others = runs
        kept = ("step", "val_loss", "exact", "written")
        numbers |= {
            "settings": {"steps": STEPS, "warmup": WARMUP, "factor": FACTOR, "d_model": D_MODEL, "epsilon": 0.1},
            "vocabulary": len(dates.tokenizer), "src": src, "tgt": tgt, "src_tokens": names[0], "tgt_tokens": names[1],
            **first,
            "others": [[[look[key] for key in kept] for look in other["looks"]] for other in others],
        }  # fmt: skip
        numbers.rows("others", "others")


def run(dates: Dates, watched: Batch, seed: int) -> dict[str, Any]:
    """Train once; return the loss and rate of every step, and the snapshots."""
    torch.manual_seed(seed)
    model = dates.model(d_model=D_MODEL, n_heads=N_HEADS, d_ff=D_FF, n_layers=N_LAYERS, dropout=DROPOUT)
    losses, rates, looks = [], [], [{"step": 0, **look(dates, model, watched)}]
    steps = train(model, dates.batches(seed), lambda step: FACTOR * warmup_lr(step, D_MODEL, WARMUP))
    for step in itertools.islice(steps, STEPS):
        losses.append(short(step.loss))
        rates.append(short(step.lr))
        if step.step in LOOKS:
            looks.append({"step": step.step, **look(dates, model, watched)})
            print(seed, *(f"{key} {value}" for key, value in looks[-1].items() if key != "weights"), flush=True)
    return {"losses": losses, "rates": rates, "looks": looks}


def tokens(tokenizer: Tokenizer, sentence: str) -> list[str]:
    """Return the readable pieces of `sentence`, followed by <eos>."""
    return [piece.replace("▁", "") or piece for piece in tokenizer.pieces(sentence)] + ["<eos>"]


if __name__ == "__main__":
    main()

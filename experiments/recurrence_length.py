"""Measure accuracy of copying against list length and training steps, for encoder–decoder networks.

Takes about 17 minutes on one core; with the variable TFM_RUNS set, each training is saved as it finishes.
"""

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.record import record
from tfm_lib.recurrence import Seq2Seq, greedy

PAD, BOS, EOS, LETTERS = 0, 1, 2, 12
LONGEST, STEPS, BATCH, JUDGED = 20, 2000, 64, 400
RUNS = {  # name: cell, d_model, source reversed, training steps, seeds
    "gru 32": ("gru", 32, False, STEPS, 3),
    "gru 64": ("gru", 64, False, STEPS, 3),
    "gru 128": ("gru", 128, False, STEPS, 3),
    "rnn 64": ("rnn", 64, False, STEPS, 3),
    "lstm 64": ("lstm", 64, False, STEPS, 3),
    "gru 64, source reversed": ("gru", 64, True, STEPS, 3),
    "gru 64, 4000 steps": ("gru", 64, False, 2 * STEPS, 3),
    "gru 64, 6000 steps": ("gru", 64, False, 3 * STEPS, 3),
    "gru 64, 20000 steps": ("gru", 64, False, 10 * STEPS, 3),
}
PLACES = ("8", "16")  # the lengths scored per position


def lists(count: int, length: int, reverse: bool, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Return random lists as encoder input, decoder input, and decoder target."""
    letters = torch.randint(EOS + 1, EOS + 1 + LETTERS, (count, length), generator=generator)
    read = letters.flip(1) if reverse else letters
    bos, eos = torch.full((count, 1), BOS), torch.full((count, 1), EOS)
    return torch.cat([read, eos], 1), torch.cat([bos, letters], 1), torch.cat([letters, eos], 1)


def train(cell: str, d_model: int, reverse: bool, steps: int, seed: int) -> Seq2Seq:
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = Seq2Seq(EOS + 1 + LETTERS, EOS + 1 + LETTERS, d_model, cell)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        length = int(torch.randint(1, LONGEST + 1, (), generator=generator))
        src, fed, wanted = lists(BATCH, length, reverse, generator)
        loss = F.cross_entropy(model(src, fed).flatten(0, 1), wanted.flatten())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return model


@torch.no_grad()
def judge(model: Seq2Seq, length: int, reverse: bool) -> tuple[float, list[float]]:
    """Return the share of whole lists copied without a mistake, and teacher-forced accuracy at each position."""
    src, fed, wanted = lists(JUDGED, length, reverse, torch.Generator().manual_seed(1000 + length))
    written = greedy(lambda ids: model.encode(ids)[1], model.decode, src, BOS, EOS, length + 1)
    written = F.pad(written, (0, length + 1 - written.shape[1]), value=PAD)
    forced = model(src, fed).argmax(dim=-1) == wanted
    return (written == wanted).all(dim=1).float().mean().item(), forced.float().mean(dim=0)[:-1].tolist()


def run(cell: str, d_model: int, reverse: bool, steps: int, seed: int) -> tuple[dict[str, Any], Seq2Seq]:
    """Train once and measure copying."""
    model = train(cell, d_model, reverse, steps, seed)
    judged = [judge(model, length, reverse) for length in range(1, LONGEST + 1)]
    exact = [round(share, 4) for share, _ in judged]
    places = {length: [round(share, 4) for share in judged[int(length) - 1][1]] for length in PLACES}
    print(cell, d_model, reverse, steps, seed, exact, flush=True)
    return {"exact": exact, "places": places}, model


def main() -> None:
    torch.set_num_threads(1)
    what = (
        f"Lists of 1 to {LONGEST} of {LETTERS} letters, copied by an encoder and a decoder of one layer; "
        f"exact[length − 1] is the share of {JUDGED} fresh lists written without a fault, one entry per seed; "
        f"places[length] the share of right letters at each place with the right ones before it given."
    )
    unequal = "More steps ask what practice does."
    with record("recurrence_length", what, unequal) as numbers:
        numbers["settings"] = {"steps": STEPS, "batch": BATCH, "letters": LETTERS, "lists": JUDGED, "lr": 3e-3}
        numbers["lengths"] = list(range(1, LONGEST + 1))
        numbers["runs"] = {}
        for name, (cell, d_model, reverse, steps, seeds) in RUNS.items():
            runs = numbers.pieces(name, list(range(seeds)), partial(run, cell, d_model, reverse, steps), steps)
            numbers["runs"][name] = {
                "exact": [one["exact"] for one in runs],
                "places": {length: [one["places"][length] for one in runs] for length in PLACES},
            }
            numbers.rows(name, f"runs/{name}/exact", *(f"runs/{name}/places/{length}" for length in PLACES))


if __name__ == "__main__":
    main()

"""Train in PyTorch, of the library's parts, what the playground trains in the page: do both learn the same?

    python -m experiments.playground_library      # a quarter of an hour on one core

The sizes, rate, batches and training words are those of `experiments.playground`; only the first weights are others.
`tests/widgets/test_playground.py` compares each of these machines with the page's, update by update.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from experiments.evaluation_ablations import NoWayAround, Unscaled, as_class
from experiments.playground import SWITCHES, UPDATES
from experiments.record import Made, record, short
from tfm_lib.alignment import AttentiveSeq2Seq
from tfm_lib.corpora.words import ANSWERS, COUNT, LETTERS, uniform, unseen, word
from tfm_lib.data import Example
from tfm_lib.drawing import recorded
from tfm_lib.layers import Residual
from tfm_lib.multihead import MultiHeadAttention
from tfm_lib.positional import sinusoidal_encoding
from tfm_lib.recurrence import Seq2Seq
from tfm_lib.training import Batch, train
from tfm_lib.transformer import Memory, Transformer, TransformerConfig

FIRST = 3  # id of the first letter; before it stand those of <pad>, <bos> and <eos>
LEAST = 0.02  # of the rate, at the end
SEEDS = [0, 1, 2, 3, 4]
LAST = 50  # updates whose mean loss is recorded
#: Ten of the page's experiments, and the runs to compare them with, by the names of their rows.
ARMS = [
    *("reverse", "reverse, no positions", "sort, no positions", "no causal mask", "no residuals"),
    *("two layers", "two layers, no residuals", "d_model 64, one head", "d_model 64, one head, no √d_k"),
    *("rate 0.016", "rate 0.016, no warm-up", "GRU with attention", "GRU"),
    *("up to 16 letters", "up to 16 letters, GRU"),
]


class Unmasked(Transformer):
    """A Transformer whose decoder sees the whole target."""

    def decode(self, tgt_ids: Tensor, memory: Memory, caches: Any = None) -> Tensor:
        Y = self.embedding(tgt_ids)
        for layer in self.decoder:
            Y, _ = layer(Y, memory.H, None, memory.mask)
        return self.decoder_norm(Y)


def machine(settings: dict[str, Any], vocab_size: int = FIRST + len(LETTERS)) -> nn.Module:
    """Return the library's model for the page's `settings`."""
    names = ("d_model", "n_heads", "d_ff", "n_layers", "norm")
    config = TransformerConfig(vocab_size, **{name: settings[name] for name in names}, dropout=0.0)
    sizes = vocab_size, vocab_size, settings["d_model"], "gru"
    if settings["machine"] == "transformer":
        kind = Transformer if settings["causal"] else Unmasked
        model = kind(config, positions={"sinusoidal": sinusoidal_encoding, "none": torch.zeros}[settings["positions"]])
        if not settings["scale"]:
            as_class(MultiHeadAttention, Unscaled, model)
        if not settings["residuals"]:
            as_class(Residual, NoWayAround, model)
        return model
    model = {"gru": Seq2Seq, "gru attention": AttentiveSeq2Seq}[settings["machine"]](*sizes)
    model.config = config  # from which `train` takes the id of the padding
    return model


def batch_of(words: list[str], task: str) -> Batch:
    """Return what a model reads and should write for some words."""
    pairs = ([[FIRST + LETTERS.index(letter) for letter in text] for text in (w, ANSWERS[task](w))] for w in words)
    return Batch.of([Example(*pair) for pair in pairs])


def batches(settings: dict[str, Any]) -> Iterator[Batch]:
    """Yield the batches that the page draws with the same seed."""
    sizes = settings["shortest"], settings["longest"]
    draw, held_out = uniform(settings["seed"] + 1), {*unseen(*sizes)}
    fresh = (found for found in iter(partial(word, draw, *sizes), None) if found not in held_out)
    while True:
        yield batch_of([*islice(fresh, settings["batch"])], settings["task"])


def rate(settings: dict[str, Any], step: int) -> float:
    """Return the rate of an update: up in a warm-up, then down along a line."""
    return settings["rate"] * min(1, step / settings["warmup"]) * max(LEAST, 1 - step / settings["updates"])


@torch.no_grad()
def exactness(model: nn.Module, settings: dict[str, Any]) -> float:
    """Return the share of unseen words that the model writes exactly, letter by letter from what it wrote itself."""
    src, tgt, out, pad_id = batch_of(unseen(settings["shortest"], settings["longest"]), settings["task"])
    written = tgt[:, :1]
    for _ in range(out.shape[1]):
        written = torch.cat([written, model(src, written)[:, -1:].argmax(dim=-1)], dim=1)
    return ((written[:, 1:] == out) | (out == pad_id)).all(dim=1).double().mean().item()


def trained(change: dict[str, Any], seed: int) -> Made:
    """Return how exact a run with a changed setting is in the end."""
    settings = {**recorded("playground")["settings"], **change, "seed": seed, "updates": UPDATES}
    torch.manual_seed(seed)
    model = machine(settings)
    steps = train(model, batches(settings), partial(rate, settings), settings["smoothing"])
    losses = [step.loss for step in islice(steps, UPDATES)][-LAST:]
    return {"exact": exactness(model, settings), "loss": short(sum(losses) / len(losses))}, None


def main() -> None:
    torch.set_num_threads(1)
    what = (
        "Machines of tfm_lib, trained as the playground's engine trains its own: see playground. "
        f"{UPDATES:,} updates on the same words, from first weights that PyTorch draws. switches: for each change of the "
        f"default the share of {COUNT} unseen words that are exact at the end, and the mean training loss of the last "
        f"{LAST} updates, for each seed."
    )
    with record("playground_library", what) as numbers:
        numbers["switches"] = {}
        for name in ARMS:
            numbers["switches"][name] = numbers.pieces(name, SEEDS, partial(trained, SWITCHES[name]), updates=UPDATES)
            numbers.rows(name, f"switches/{name}")
            print(name, numbers["switches"][name], flush=True)


if __name__ == "__main__":
    main()

"""Measure in-context learning in a decoder: its accuracy, the heads involved, and the accuracy without them.

Takes about two minutes on one core; with the variable TFM_RUNS set, each training is saved as it finishes.

The measures were written down before the first run that counts. `right`: the sign with the largest logit among all
tokens is the one that the prompt's own rule gives, in 2 000 prompts whose mapping no training prompt had, after 0 to
12 examples, the queried word never among them. `shuffled` is the control: the same prompts with their signs shuffled,
scored against the same answers. Two scores of every head are taken on 500 other prompts of 12 examples in which the
group was shown: `previous`, the mean weight from a sign to the word before it, and `induction`, the weight from the
last word to signs after words of its own group. Each head is silenced by itself; then the heads of the second layer in
the order of `induction`, and those of the first in the order of `previous`, each largest first and smallest first.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.record import Made, curve, record, short
from tfm_lib._trace import trace
from tfm_lib.corpora.groups import FIRST_SIGN, GROUPS, TOKENS, best_possible, group_of, mappings, prompts, shuffled
from tfm_lib.engine.in_context import D_MODEL, EXAMPLES, N_HEADS, decoder
from tfm_lib.multihead import without_heads
from tfm_lib.transformer import DecoderOnly

STEPS, BATCH, RATE, WARMUP = 1500, 32, 3e-3, 100
SHOWN = [0, 1, 2, 3, 4, 6, 8, 12]
SEEDS = [0, 1, 2]
JUDGED, LOOKED_AT = 2000, 500  # prompts


def train(n_layers: int, seed: int) -> tuple[DecoderOnly, list[float]]:
    """Return a decoder trained on `STEPS` batches of prompts, each with a mapping of its own, and its losses."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model, losses = decoder(n_layers), []
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98))
    for step in range(1, STEPS + 1):
        optimiser.param_groups[0]["lr"] = RATE * min(1.0, step / WARMUP)
        ids, last = prompts(mappings(BATCH, "train", generator), EXAMPLES, generator, asked_before=True)
        signs = torch.cat([ids[:, 1::2], last[:, None]], dim=1)
        loss = F.cross_entropy(model(ids)[:, ::2].flatten(0, 1), signs.flatten())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
        if step % 500 == 0:
            print(n_layers, seed, step, f"{loss.item():.3f}", flush=True)
    return model.eval(), losses


@torch.no_grad()
def right(model: DecoderOnly, ids: Tensor, answers: Tensor) -> float:
    """Return the share of prompts that `model` completes with the right sign."""
    return (model(ids)[:, -1].argmax(dim=-1) == answers).float().mean().item()


def head_scores(model: DecoderOnly, ids: Tensor) -> dict[str, Tensor]:
    """Return `previous` and `induction` of every head, (layers, heads), on prompts whose group was shown."""
    with torch.no_grad(), trace(model, "*.weights") as seen:
        model(ids)
    W = torch.stack([seen[f"layers.{i}.self_attention.weights"] for i in range(len(model.layers))], dim=1)
    signs = torch.arange(1, ids.shape[1], 2)
    previous = W[..., signs, signs - 1].mean(dim=(0, -1))
    of_its_group = group_of(ids[:, :-1:2]) == group_of(ids[:, -1:])  # (count, examples)
    induction = (W[..., -1, signs] * of_its_group[:, None, None]).sum(dim=-1).mean(dim=0)
    return {"previous": previous, "induction": induction}


def silenced(model: DecoderOnly, heads: list[tuple[int, int]], ids: Tensor, answers: Tensor) -> float:
    """Return `right` without `heads`, each given as a layer and a head in it."""
    if not heads:
        return right(model, ids, answers)
    (layer, head), *rest = heads
    with without_heads(model.layers[layer].self_attention, head):
        return silenced(model, rest, ids, answers)


def run(n_layers: int, seed: int) -> Made:
    """Train once and return all measurements."""
    model, losses = train(n_layers, seed)
    generator = torch.Generator().manual_seed(10_000 + seed)
    found: dict[str, Any] = {"seed": seed, "right": [], "shuffled": [], "best": [], "curve": curve(losses, 100)}
    for examples in SHOWN:
        ids, answers = prompts(mappings(JUDGED, "test", generator), examples, generator)
        found["right"].append(round(right(model, ids, answers), 4))
        found["shuffled"].append(round(right(model, shuffled(ids, generator), answers), 4))
        found["best"].append(round(best_possible(ids).mean().item(), 4))
    shown, _ = prompts(mappings(2 * LOOKED_AT, "test", generator), EXAMPLES, generator)
    shown = shown[best_possible(shown) == 1][:LOOKED_AT]
    scores = head_scores(model, shown)
    found["heads"] = {name: [[short(x) for x in layer] for layer in score.tolist()] for name, score in scores.items()}
    ids, answers = ids[:LOOKED_AT], answers[:LOOKED_AT]
    found["silencing_none"] = round(right(model, ids, answers), 4)
    found["one_silent"] = [
        [round(silenced(model, [(layer, head)], ids, answers), 4) for head in range(N_HEADS)]
        for layer in range(n_layers)
    ]
    for layer, name in enumerate(("previous", "induction")[:n_layers]):
        order = scores[name][layer].argsort(descending=True).tolist()
        for way, heads in (("largest_first", order), ("smallest_first", order[::-1])):
            rest = [silenced(model, [(layer, head) for head in heads[:k]], ids, answers) for k in range(N_HEADS + 1)]
            found[f"{name}_{way}"] = [round(x, 4) for x in rest]
    print(found, flush=True)
    return found, model


def main() -> None:
    torch.set_num_threads(1)
    what = (
        f"Decoders of attention alone (d_model {D_MODEL}, {N_HEADS} heads a layer, pre-norm, ALiBi), trained for {STEPS} "
        f"updates on {BATCH} prompts each of {EXAMPLES} examples and a question; each prompt gives {len(GROUPS)} groups of words signs "
        f"of its own. right: the share of {JUDGED} prompts of held-out mappings that are completed rightly after {SHOWN} "
        "examples; shuffled: with the prompt's signs shuffled; best: what the best guesser would reach. heads: previous and "
        "induction, by layer and head; silencing_none: right in the first "
        f"{LOOKED_AT} of these; one_silent: in the same without this head, by layer and head; "
        "induction_largest_first: without the 0, 1, 2, … heads of the second layer that have the most of it, "
        "induction_smallest_first: the least; previous_…: of the first layer."
    )
    with record("descendants_in_context", what) as numbers:
        numbers["settings"] = {
            "d_model": D_MODEL, "n_heads": N_HEADS, "steps": STEPS, "batch": BATCH, "examples": EXAMPLES,
            "shown": SHOWN, "judged": JUDGED, "signs": len(TOKENS) - FIRST_SIGN,
        }  # fmt: skip
        numbers["runs"] = {}
        for arm, n_layers in (("two layers", 2), ("one layer", 1)):
            made = numbers.pieces(arm, SEEDS, partial(run, n_layers), STEPS)
            numbers["runs"][arm] = [{key: one[key] for key in one if key != "cpu_seconds"} for one in made]
            numbers.rows(arm, f"runs/{arm}")


if __name__ == "__main__":
    main()

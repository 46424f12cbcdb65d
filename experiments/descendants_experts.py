"""Train eight experts, two per token, with and without a balance loss, and count how often each expert is used.

Takes about one minute on one core; with the variable TFM_RUNS set, each training is saved as it finishes.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch

import random
from functools import partial

import torch
from torch import Tensor, nn

from experiments.descendants_objectives import Numbers, ce
from experiments.record import Made, curve, record, short
from tfm_lib._trace import trace
from tfm_lib.corpora.corpus import BOS_ID, EOS_ID, PAD_ID
from tfm_lib.data import pad
from tfm_lib.descendants import MixtureOfExperts, balance_loss, top_k_gates
from tfm_lib.transformer import DecoderOnly, TransformerConfig

EXPERTS, K, LAYERS = 8, 2, 2
STEPS, BATCH, RATE, WARMUP = 300, 32, 2e-3, 50
BALANCE = 0.02
SEEDS = [0, 1, 2]


def run(balance: float, seed: int) -> Made:
    """Train once; return the use of each expert of each layer on held-out sentences, and the loss there."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    numbers, draw = Numbers(), random.Random(seed)
    config = TransformerConfig(
        len(numbers.vocabulary), d_model=64, n_heads=4, d_ff=64, n_layers=LAYERS, dropout=0.0, norm="pre", max_len=40
    )
    model, losses = DecoderOnly(config, feed_forward=partial(MixtureOfExperts, n_experts=EXPERTS, k=K)), []
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98))
    for step in range(1, STEPS + 1):
        optimiser.param_groups[0]["lr"] = RATE * min(1.0, step / WARMUP)
        ids = pad([[BOS_ID, *row, EOS_ID] for row in draw.sample(numbers.rows["train"], BATCH)], PAD_ID)
        logits, routed = routes(model, ids[:, :-1])
        loss = ce(logits, ids[:, 1:])
        optimiser.zero_grad()
        (loss + balance * sum(balance_loss(one, K) for one in routed)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
    ids = pad([[BOS_ID, *row, EOS_ID] for row in numbers.rows["test"][:300]], PAD_ID)
    with torch.no_grad():
        logits, routed = routes(model.eval(), ids[:, :-1])
    shares = [[round(x, 4) for x in ((top_k_gates(one, K) > 0).float().mean(dim=0) / K).tolist()] for one in routed]
    found = {"seed": seed, "loss": short(ce(logits, ids[:, 1:]).item(), 4), "shares": shares}
    print(balance, found, flush=True)
    return {**found, "curve": curve(losses, 25)}, None


def routes(model: DecoderOnly, ids: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Return the model's logits, and its routers' logits for every token that is not padding."""
    real = ids != PAD_ID
    with trace(model, "*.router.output") as seen:
        logits = model(ids)
    return logits, [seen[f"layers.{i}.feed_forward.router.output"][real] for i in range(len(model.layers))]


def main() -> None:
    torch.set_num_threads(1)
    what = (
        f"Decoders of {LAYERS} layers with {EXPERTS} experts in each, of which the {K} with the largest logits are asked for a "
        f"token, trained to say the next word of numbers in words and digits, {STEPS} updates of {BATCH} sentences; with "
        f"{BALANCE} times the balance loss of each layer and without. shares: of all requests in held-out sentences, how many "
        "go to each expert, by layer; loss: nats a token there."
    )
    with record("descendants_experts", what) as numbers:
        numbers["settings"] = {
            "experts": EXPERTS, "k": K, "layers": LAYERS, "steps": STEPS, "batch": BATCH, "balance": BALANCE,
        }  # fmt: skip
        numbers["runs"] = {}
        for arm, balance in (("no balance", 0.0), ("balance", BALANCE)):
            made = numbers.pieces(arm, SEEDS, partial(run, balance), STEPS)
            numbers["runs"][arm] = [{key: one[key] for key in one if key != "cpu_seconds"} for one in made]
            numbers.rows(arm, f"runs/{arm}")


if __name__ == "__main__":
    main()

"""Train the decoder that writes stories, and measure what it knows: the first stage of the assistant.

    TFM_RUNS=trained python -m experiments.assistant_base 0      # forty minutes on one core for each seed
    TFM_RUNS=trained python -m experiments.assistant_base        # all seeds, or the record of those that are kept

The measures were written down before the first run that counts. `loss`: nats per word (the full stop of the text
included, as everywhere here) on 1 000 held-out stories; `floor`: the same of the program that tells them. `consistent`:
the share of 500 stories sampled at each temperature, and with the nucleus, that `read_story` reads to their end.
`knows`, on 400 other stories whose end goes on with "the … was with": whether the most probable word is who has it, for a
thing that was told (`told`); for one that was not (`untold`), how often it is somebody of the story, and how probable it
is on average; and once more when a sentence that tells it stands among the others (`put`).
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch

import random
import sys
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from experiments.record import Made, curve, record
from tfm_lib.corpora.stories import COLOURS, THINGS, is_story, story
from tfm_lib.data import pad
from tfm_lib.decoding import sample
from tfm_lib.engine.writer import BASE, LONGEST, VOCABULARY, WriterTrainer, held_out, stories, writer
from tfm_lib.transformer import DecoderOnly

NAME = "assistant_base"
SEEDS = [0, 1, 2]
HELD, SAMPLED, ASKED = 1000, 500, 400
WAYS = {"1.3": (1.3, None), "1.0": (1.0, None), "0.7": (0.7, None), "0.4": (0.4, None), "nucleus 0.9": (1.0, 0.9)}


def train(seed: int) -> tuple[DecoderOnly, list[float]]:
    """Return the decoder of `seed` and its losses; with TFM_RUNS, a run that was cut goes on from its checkpoint."""
    torch.manual_seed(seed)
    model = writer()
    options = BASE if seed == 0 else type(BASE)(**{**vars(BASE), "seed": seed})
    trainer, losses = WriterTrainer(model, partial(stories, seed=seed), options), []
    kept = Path(os.environ["TFM_RUNS"], NAME, f"checkpoint {seed}.pt") if "TFM_RUNS" in os.environ else None
    if kept and kept.exists():
        trainer.resume(kept)
    for update in trainer.run():
        losses.append(update["loss"].item())
        if update["step"] % options.validate_every == 0:
            loss, _ = trainer.validate(held_out(300))
            print(seed, update["step"], trainer.progress.tokens, f"{loss:.4f}", flush=True)
            if kept:
                kept.parent.mkdir(parents=True, exist_ok=True)
                trainer.save(kept)
    return model.eval(), losses


@torch.no_grad()
def loss_of(model: DecoderOnly) -> float:
    """Return the nats per word on the held-out stories."""
    trainer = WriterTrainer(model, [], BASE)
    return trainer.validate(held_out(HELD))[0]


def floor() -> float:
    """Return what the program itself needs for them: the end is certain."""
    told = [story(f"held out {i}") for i in range(HELD)]
    return sum(sum(each.surprise) for each in told) / sum(len(each.words) + 1 for each in told)


def consistent(model: DecoderOnly, temperature: float, top_p: float | None, seed: int) -> float:
    """Return the share of sampled stories that are stories."""
    generator = torch.Generator().manual_seed(seed)
    nothing = torch.empty((SAMPLED, 0), dtype=torch.long)
    ids = sample(
        model, nothing, VOCABULARY.bos_id, VOCABULARY.eos_id, LONGEST - 2, temperature, top_p=top_p, generator=generator
    )
    return sum(is_story(VOCABULARY.decode(row)) for row in ids.tolist()) / SAMPLED


@torch.no_grad()
def next_words(model: DecoderOnly, prompts: list[list[str]]) -> Tensor:
    """Return the distribution of the next word after each prompt, (prompts, v)."""
    read = [[VOCABULARY.bos_id, *VOCABULARY.encode(prompt)] for prompt in prompts]
    logits = model(pad(read, VOCABULARY.pad_id))  # what stands after a prompt is hidden from it
    return torch.stack([row[len(ids) - 1].softmax(dim=-1) for row, ids in zip(logits, read, strict=True)])


def knows(model: DecoderOnly) -> dict[str, float]:
    """Return how it ends "the … was with" for things that were told, that were not, and that were put there."""
    draw = random.Random("knows")
    prompts: dict[str, list[list[str]]] = defaultdict(list)
    right: dict[str, list[list[str]]] = defaultdict(list)
    for i in range(ASKED):
        told = story(f"asked {i}")
        world, words = told.world, list(told.words)
        at = words.index(".", words.index("end")) + 1  # what was loved is told, and two more are to come
        thing = draw.choice([each for each in world.things if each != world.love[1]])
        absent, name = draw.choice([each for each in THINGS if each not in world.where]), draw.choice(world.people)
        named = f"{draw.choice(COLOURS)} {absent}"
        begun = words.index("loved") - 1
        put = [*words[:begun], *f"a {named} was with {name} .".split(), *words[begun:at]]
        for arm, before, asked, holders in (
            ("told", words[:at], world.named(thing), [world.where[thing]]),
            ("untold", words[:at], named, world.people),
            ("put", put, named, [name]),
        ):
            prompts[arm].append([*before, *f"the {asked} was with".split()])
            right[arm].append(holders)
    found: dict[str, float] = {}
    for arm, some in prompts.items():
        p, word = next_words(model, some).max(dim=-1)
        hits = [VOCABULARY.tokens[w] in holders for w, holders in zip(word.tolist(), right[arm], strict=True)]
        found |= {arm: round(sum(hits) / ASKED, 4), f"{arm}_p": round(p.mean().item(), 4)}
    return found


def run(seed: int) -> Made:
    """Train once and return all measurements."""
    model, losses = train(seed)
    found: dict[str, Any] = {
        "seed": seed,
        "loss": round(loss_of(model), 4),
        "consistent": {way: round(consistent(model, *how, seed), 4) for way, how in WAYS.items()},
        **knows(model),
        "curve": curve(losses, 100),
    }
    print(found, flush=True)
    return found, model


def main() -> None:
    only = [int(seed) for seed in sys.argv[1:]]
    torch.set_num_threads(1)
    what = (
        f"Decoders of {sum(p.numel() for p in writer().parameters()):,} parameters trained on stories, each told once. "
        f"loss: nats per word on {HELD} held-out stories, whose floor is exact; consistent: the share of {SAMPLED} "
        "samples that are stories, by temperature and with the nucleus; told, untold, put: the share of "
        f"{ASKED} holders named rightly, for a thing that the story told, one that it didn't (right: anybody of the "
        "story), and one that a sentence put there; …_p: the mean probability of the word named."
    )
    with record(NAME, what) as numbers:
        numbers["floor"] = round(floor(), 4)
        made = numbers.pieces("stories", only or SEEDS, run, BASE.steps)
        numbers["runs"] = {"stories": [{key: one[key] for key in one if key != "cpu_seconds"} for one in made]}
        numbers.rows("stories", "runs/stories")


if __name__ == "__main__":
    main()

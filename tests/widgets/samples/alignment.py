"""Samples of the widget of chapter `alignment`."""

import numpy as np
import torch

from tfm_lib.widgets.alignment import Alignment, MemoryHops
from widgets.picture_numbers import cells, chosen, column, marked, numbers
from widgets.samples import Sample

WEIGHTS = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
OTHER = torch.tensor([[0.1, 0.2, 0.7], [0.1, 0.6, 0.3]])
EXAMPLE = {
    "src": "ein Hund <eos>",
    "tgt": ["a", "dog"],
    "weights": {"dot": WEIGHTS, "additive": OTHER},
    "links": [(0, 0), (1, 1)],
}


def alignment_still(axes, widget):
    state = widget.model()
    rows = chosen(widget.rows(), score=state["score"])
    weights = cells(axes[0])
    yield weights.ravel(), column(rows, "weight")
    links = [divmod(at, weights.shape[1]) for at, row in enumerate(rows) if row["truth"] != "none"]
    yield marked(axes[0], "two"), links if state["truth"] else []


STORY = {
    "facts": ["ada took the ball", "ada went to the attic", "ben went to the garden"],
    "question": "where is the ball ?",
    "answer": "attic",
    "needed": [0, 1],
    "walks": [
        {"weights": [[0.25, 0.25, 0.5]], "answer": "garden"},
        {"weights": [[0.75, 0.125, 0.125], [0.12, 0.62, 0.26]], "answer": "attic"},
    ],
}


def hops(**other) -> MemoryHops:
    return MemoryHops([{**STORY, **other}])


def memory_hops(widget):
    """The cells in the picture are the weights, and the readout names what each hop reads most."""
    state = widget.model()
    story = state["stories"][state["story"]]
    walk = story["walks"][state["value"] - 1]
    shown = [numbers(text)[0][0] for text in widget.box.locator("svg .tfm-in").all_text_contents()]
    weights = [weight for row in walk["weights"] for weight in row]
    assert [abs(a - b) <= 0.005001 for a, b in zip(shown, weights, strict=True)] == [True] * len(weights)
    picture = widget.box.locator("[data-stage] svg[role=img]").get_attribute("aria-label")
    for fact in story["facts"]:  # who does not see the picture hears the story
        assert fact in picture
    said = widget.readout()
    for hop, row in enumerate(walk["weights"], 1):
        assert f"hop {hop} reads “{story['facts'][row.index(max(row))]}” most, with weight {max(row):.2f}" in said
    right = walk["answer"] == story["answer"]
    assert ("This is correct." in said) == right
    whole = state["value"] == len(story["walks"])  # fewer hops do not give the answer and its facts away
    assert (f"the correct answer is {story['answer']}" in said) == (whole and not right)
    assert picture.count(", needed") == (len(story["needed"]) if whole else 0)
    frames = widget.box.locator("svg rect[fill=none]").evaluate_all(
        "all => all.map(one => one.getAttribute('opacity'))"
    )
    assert frames == ["1" if whole else "0"] * len(story["needed"])


def memory_hops_still(axes, widget):
    state = widget.model()
    columns = [f"hop {hop + 1}" for hop in range(state["value"])]
    weights = np.array([[float(row[name]) for name in columns] for row in widget.rows()])
    yield cells(axes[0]), weights
    needed = [(i, 0) for i, row in enumerate(widget.rows()) if row["needed"] == "true"]
    whole = state["value"] == len(state["stories"][0]["walks"])
    yield marked(axes[0], "two"), needed if whole else []


SAMPLES = {
    "alignment": Sample(
        code="Alignment()",
        change="truth = True",
        says="alignment error rate",
        states=[{"truth": True, "sentence": 2, "score": "additive"}],
        still=alignment_still,
        refused={
            "examples must be a list with at least one translation": lambda: Alignment([]),
            "examples[0] must hold src, tgt and weights; it lacks tgt, weights": lambda: Alignment([{"src": "a"}]),
            "examples[0].weights must have shape (3, 3)…": lambda: Alignment([{**EXAMPLE, "tgt": "a big dog"}]),
            "examples[0].links must lie within (2, 3)…": lambda: Alignment([{**EXAMPLE, "links": [(0, 3)]}]),
            "examples[1].weights must have the score functions…": lambda: Alignment(
                [EXAMPLE, {**EXAMPLE, "weights": WEIGHTS}]
            ),
            "score must be one of dot, additive; it is 'cosine'": lambda: Alignment([EXAMPLE], score="cosine"),
            "sentence must be from 0 to 0; it is 1": lambda: Alignment([EXAMPLE], sentence=1),
            "value must be from 0 to 1; it is 2": lambda: Alignment([EXAMPLE], value=2),
        },
    ),
    "memory_hops": Sample(
        code=f"MemoryHops([{STORY!r}, {dict(STORY, question='where is ada ?', needed=[1])!r}])",
        change="value = 2",
        says="hop 2 reads “ada went to the attic”",
        states=[{"value": 2}, {"value": 2, "story": 1}],
        still=memory_hops_still,
        refused={
            "stories must be a list with at least one story": lambda: MemoryHops([]),
            "stories[0] must hold facts, question, answer, needed and walks; it lacks ['walks']": lambda: MemoryHops(
                [{key: value for key, value in STORY.items() if key != "walks"}]
            ),
            "stories[0].needed must hold places from 0 to 2; it is [3]": lambda: hops(needed=[3]),
            "stories[0].walks must hold as many walks…": lambda: hops(walks=[]),
            "stories[0].walks[0].weights must have shape (1, 3)…": lambda: hops(walks=STORY["walks"][::-1]),
            "value must be from 1 to 2; it is 3": lambda: MemoryHops([STORY], value=3),
            "story must be from 0 to 0; it is 1": lambda: MemoryHops([STORY], story=1),
        },
    ),
}

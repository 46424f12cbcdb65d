"""Numbers of the widgets of chapter `data`, as tfm_lib computes them."""

from tfm_lib.data import Example, batches, padding_waste
from tfm_lib.widgets.data import RULES, BatchPacker, MergeSteps, begun, drawn_lengths, packed, waste, words_of

SENTENCES = [
    "the unhappiest sailor was translating jazz",
    "Speaking LOUDER, never helps!",
    "banana aaaa nn",
    "Où est le phare ? 등대는 어디에 있나요? 3.14 🙂",
    "",
]


def numbers() -> dict:
    cuts = []
    widget = MergeSteps()
    for widget.value in SENTENCES:
        for widget.used in (0, 1, 20, 137, 300):
            state = {"value": widget.value, "used": widget.used}
            cuts.append({**state, "words": words_of(widget.value), "pieces": widget.pieces, "counts": widget.counts})
    own = MergeSteps("banana aaaa nn", [("a", "a"), ("n", "a"), ("na", "na·"), ("n", "n·")], used=4)
    packs = []
    for lengths in (drawn_lengths(), [5, 1, 30, 2, 2, 9]):
        for rule in RULES:
            for size, places, pool in ((12, 128, len(lengths)), (5, 40, 16), (3, 64, 4)):
                groups = packed(lengths, rule, size, places, pool)
                state = {"value": rule, "size": size, "places": places, "pool": pool}
                packs.append({"lengths": lengths, **state, "groups": groups, "waste": waste(lengths, groups)})
    whole = packs[1]["groups"]
    part = [
        {"count": count, "groups": begun(whole, count), "waste": waste(drawn_lengths(), begun(whole, count))}
        for count in (0, 1, 5, 7, 95)
    ]
    examples = [Example([], [5] * (length - 1)) for length in drawn_lengths()]
    core = padding_waste(list(batches(examples, BatchPacker().places)))
    return {
        "merges": widget.merges,
        "letters": widget.letters,
        "cuts": cuts,
        "own": {"merges": own.merges, "value": own.value, "pieces": own.pieces},
        "packs": packs,
        "part": {"lengths": drawn_lengths(), "whole": whole, "steps": part},
        "core": {"lengths": drawn_lengths(), "places": BatchPacker().places, "waste": core},
    }

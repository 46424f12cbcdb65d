"""Numbers of the widget of chapter `data`, as tfm_lib computes them."""

from tfm_lib.widgets.data import MergeSteps, words_of

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
    return {
        "merges": widget.merges,
        "letters": widget.letters,
        "cuts": cuts,
        "own": {"merges": own.merges, "value": own.value, "pieces": own.pieces},
    }

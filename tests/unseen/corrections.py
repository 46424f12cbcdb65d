"""Labels of the unseen bank that proved wrong: (exercise, answer) → ("right", "wrong" or "unclear", why)."""

SAME_NUMBERS = (
    "a list, tuple or tensor of the same numbers is an answer here: the checks take them for one another, as a class "
    "writes them"
)
NO_GRADIENT = "the statement asks for values only; nothing is said of a gradient"
NO_LARGE = "the statement promises no large scores"

CORRECTED: dict[tuple[str, str], tuple[str, str]] = {
    ("alignment.one-step", "exponentials overflow for large states"): ("unclear", NO_LARGE),
    ("alignment.one-step", "cuts the gradient with detach"): ("unclear", NO_GRADIENT),
    ("alignment.true-links", "nested lists instead of a tensor"): ("right", SAME_NUMBERS),
    ("alignment.hops", "exponentials overflow"): ("unclear", NO_LARGE),
    ("alignment.what-matters", "a list of numbers instead of a tensor"): ("right", SAME_NUMBERS),
    ("attention.one-query", "exponentials overflow for large scores"): ("unclear", NO_LARGE),
    ("attention.all-queries", "exponentials overflow for large scores"): ("unclear", NO_LARGE),
    ("attention.all-queries", "cuts the gradient with detach"): ("unclear", NO_GRADIENT),
    ("attention.additive-score", "cuts the gradient with detach"): ("unclear", NO_GRADIENT),
    ("data.best-pair", "a list for a tuple"): ("right", SAME_NUMBERS),
    ("data.segment", "a tuple instead of a list"): ("right", SAME_NUMBERS),
    ("data.collate", "lists for tensors"): ("right", SAME_NUMBERS),
    ("decoding.greedy", "a tensor instead of a list"): ("right", SAME_NUMBERS),
    ("decoding.greedy", "tokens as tensors"): ("right", SAME_NUMBERS),
    ("decoding.winner", "a tensor instead of a number"): ("right", SAME_NUMBERS),
    ("decoding.beam-step", "lists instead of tensors"): ("right", SAME_NUMBERS),
    ("decoding.may-stop", "a tensor instead of a boolean"): ("right", SAME_NUMBERS),
    ("layers.larger", "lists instead of tensors"): ("right", SAME_NUMBERS),
    ("masking.triangle", "returns a nested list"): ("right", SAME_NUMBERS),
    ("multihead.contributions", "returns a list"): ("right", SAME_NUMBERS),
    ("positional.encoding", "returns a list"): ("right", SAME_NUMBERS),
    ("recurrence.minimal-gate", "cuts the gradient with detach"): ("unclear", NO_GRADIENT),
    ("self_attention.projections", "exponentials overflow"): ("unclear", NO_LARGE),
    ("self_attention.projections", "cuts the gradient with detach"): ("unclear", NO_GRADIENT),
    ("training.rates", "a tensor, no list"): ("right", SAME_NUMBERS),
    ("training.rates", "a tuple, no list"): ("right", SAME_NUMBERS),
    ("transformer.shapes", "lists instead of tuples"): ("right", SAME_NUMBERS),
    ("transformer.one-stack", "a list of lists"): ("right", SAME_NUMBERS),
}

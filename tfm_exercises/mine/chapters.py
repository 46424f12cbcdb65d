"""The chapters that write a part, known without PyTorch, which exporting a notebook does not need."""

CHAPTERS = (  # those that write a part, in reading order
    "attention", "masking", "multihead", "positional", "layers", "transformer", "training", "decoding", "evaluation",
)  # fmt: skip

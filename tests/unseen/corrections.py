"""Labels of the unseen bank that proved wrong: (exercise, answer) → ("right", "wrong" or "unclear", why)."""

CORRECTED: dict[tuple[str, str], tuple[str, str]] = {}

"""The exercises beside the library: their checks, which name the mistake, and the machine made of the answers.

`check("masking.leak-test", answer)` judges an answer, `hand_in` hands in weights, and `mine` is your own machine. Each
is imported when it is asked for, so that a list of exercises costs no PyTorch.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Verdict", "check", "hand_in"]

IN_PAGES = "TFM_IN_PAGES"  # set in kernels that answer a page of the book


def __getattr__(name: str) -> Any:
    if name == "check":
        import tfm_exercises.mine.after_check  # registers with the judge  # noqa: F401
        from tfm_exercises.judge import check

        return check
    if name == "Verdict":
        from tfm_exercises.judge import Verdict

        return Verdict
    if name == "hand_in":
        from tfm_exercises.carried import hand_in

        return hand_in
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

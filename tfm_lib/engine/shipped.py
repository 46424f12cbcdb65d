"""Where the models that come with the book are, in the checkout or in the installed library."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

SHIPPED = "en-fr"  # the translator
STORIES = "stories"  # the writer, in its four stages


def shipped_folder(name: str = SHIPPED) -> Path:
    """Return the folder of a shipped model, by default of the translator."""
    checkout = Path(__file__).parents[2] / "models" / name
    return checkout if checkout.is_dir() else Path(str(files("tfm_lib") / "models" / name))

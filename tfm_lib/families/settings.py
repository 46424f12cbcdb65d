"""Read a config.json, with an explanatory error for anything missing, malformed or unsupported."""

from __future__ import annotations

import math
from typing import Any

LARGEST = 10_000_000  # for any size; a larger one is a mistake, or meant to exhaust memory
MOST_LAYERS = 1000


class NotSupported(ValueError):
    """The folder or state cannot be read here; the message says why."""


class Settings:
    """The `settings` of a model of `family`; each method returns one of them, or raises `NotSupported`."""

    def __init__(self, settings: dict[str, Any], family: str):
        self.all, self.family = settings, family

    def whole(self, name: str, default: int | None = None, most: int = LARGEST) -> int:
        """Return an integer of at least 1; `default` if it is missing or null."""
        value = self._get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise NotSupported(f"config.json: {name} must be a whole number from 1 to {most}; it is {value!r}.")
        return value

    def divisor(self, name: str, of: int, default: int | None = None) -> int:
        """Return an integer that divides `of`."""
        value = self.whole(name, default)
        if of % value:
            raise NotSupported(f"config.json: {name} must divide {of}; it is {value}.")
        return value

    def token(self, name: str, below: int, default: int | None = None) -> int:
        """Return a token id below the vocabulary size `below`."""
        value = self._get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < below:
            raise NotSupported(f"config.json: {name} must be an id from 0 to {below - 1}; it is {value!r}.")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """Return a finite number above 0."""
        value = self._get(name, default)
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        if not fits or not 0 < value < math.inf:
            raise NotSupported(f"config.json: {name} must be a number above 0; it is {value!r}.")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        value = self._get(name, default)
        if not isinstance(value, bool):
            raise NotSupported(f"config.json: {name} must be true or false; it is {value!r}.")
        return value

    def one_of(self, name: str, known: dict | tuple, default: str | None = None) -> str:
        """Return a string that is one of `known`."""
        value = self._get(name, default)
        if not isinstance(value, str) or value not in known:
            raise NotSupported(
                f"config.json: {name} is {value!r}, which is not supported for {self.family}; "
                f"supported: {', '.join(known)}."
            )
        return value

    def only(self, name: str, supported: Any) -> None:
        """Require a setting that affects the mathematics to be absent, null, or `supported`."""
        value = self.all.get(name)
        if value is not None and value != supported:
            raise NotSupported(
                f"config.json: {name} is {value!r}, which is not supported for {self.family}; only {supported!r} is."
            )

    def architecture(self, *known: str) -> str:
        """Return the class that wrote the model, one of `known`; the first of them if the file does not say."""
        named = self.all.get("architectures") or [known[0]]
        if not isinstance(named, list) or len(named) != 1 or named[0] not in known:
            raise NotSupported(
                f"config.json: architectures is {named!r}, which is not supported; of {self.family}: {', '.join(known)}."
            )
        return named[0]

    def _get(self, name: str, default: Any) -> Any:
        value = self.all.get(name)
        if value is None and default is None:
            raise NotSupported(f"config.json: {name} is missing, which a model of {self.family} needs.")
        return default if value is None else value

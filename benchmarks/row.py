"""One line of the table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    what: str
    value: float
    bar: float
    unit: str
    digits: int = 1

    @property
    def kept(self) -> bool:
        return self.value <= self.bar

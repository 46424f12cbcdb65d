"""What a submission may use of time, memory and the machine; a part of the manifest, which instructors edit."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Resource limits of a submission. Time that a busy machine or the judge takes counts against none of them."""

    seconds: Annotated[float, Meta(ge=0.1, le=3600)] = 30.0  # that an answer may sleep or wait in one test
    load_seconds: Annotated[float, Meta(ge=0.1, le=3600)] = 20.0  # of work and sleep, for a whole notebook
    cpu: Annotated[int, Meta(ge=1, le=3600)] = 10  # seconds of processor time that an answer may take in one test
    memory: Annotated[int, Meta(ge=64, le=1 << 20)] = 1024  # MB of each process, beyond what Python and torch take
    processes: Annotated[int, Meta(ge=3, le=1000)] = 6  # including threads; the sandbox itself uses two
    disk: Annotated[int, Meta(ge=1, le=1 << 16)] = 32  # MB in /tmp
    open_files: Annotated[int, Meta(ge=16, le=1 << 16)] = 64

    def as_dict(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)

    def longest(self, exercises: int) -> float:
        """Return the seconds of work and sleep after which a notebook with so many exercises is stopped."""
        return 2 * (exercises + 1) * (self.load_seconds + self.seconds)

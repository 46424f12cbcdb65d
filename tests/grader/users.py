"""Users of a machine that has none of them, for an exchange in a test."""

import pytest

from tfm_grader.collecting import archives, nbgrader_exchange


class Users:
    """Who owns what lies at a path below a folder: as its name says, and timestamp.txt the instructor, unless told otherwise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self._numbers = {"the instructor": 1000}
        self._owners: dict[tuple[str, ...], str] = {}
        monkeypatch.setattr(archives.Folder, "owner", lambda _, parts, about: self._number(parts))
        monkeypatch.setattr(nbgrader_exchange, "login_of", self._login)

    def own(self, user: str, *parts: str) -> None:
        """Give what lies at `parts` to `user`."""
        self._numbers.setdefault(user, 2000 + len(self._numbers))
        self._owners[parts] = user

    def _number(self, parts: tuple[str, ...]) -> int:
        if parts not in self._owners:
            self.own(
                "the instructor" if parts[-1:] in ((), ("timestamp.txt",)) else parts[0].split("+")[0],
                *parts,
            )
        return self._numbers[self._owners[parts]]

    def _login(self, owner: int) -> str | None:
        return next((name for name, number in self._numbers.items() if number == owner), None)

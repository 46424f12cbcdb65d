"""Exceptions whose messages the command line shows when something cannot be done."""


class Refusal(Exception):
    """An error that the user can fix; the message says what and how."""


class BuildStopped(RuntimeError):
    """Sphinx stopped before the book's pages were written."""

"""What the command line says when something cannot be done."""


class Refusal(Exception):
    """Something that the user can mend; the message says what and how."""


class BuildStopped(RuntimeError):
    """Sphinx gave up before the book's pages were written."""

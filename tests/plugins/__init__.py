"""Fixtures that several test files share, loaded by `pyproject.toml`."""

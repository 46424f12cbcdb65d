"""Recorded runs, each repeatable by `python -m experiments.<name>`."""

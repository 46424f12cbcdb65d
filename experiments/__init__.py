"""Recorded experiments; run each with `python -m experiments.<name>`."""

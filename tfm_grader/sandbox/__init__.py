"""Runs a student's code apart from everything else, with bubblewrap. Only `inside/` runs within."""

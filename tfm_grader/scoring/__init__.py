"""Compute scores from results: manual grades, late days, and detection of stale scores."""

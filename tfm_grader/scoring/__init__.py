"""From results to scores: manual grades, late days, and signs that a score has gone stale."""

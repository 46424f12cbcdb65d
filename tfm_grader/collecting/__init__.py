"""Collects submissions: whose each file is, which copy counts, and what could not be read."""

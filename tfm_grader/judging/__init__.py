"""Judges submissions: one by one, in several processes or on a cluster; keeps results and the audit log; regrades."""

"""Instant, diagnosing checks for the exercises: `check("masking.leak-test", answer)`."""

from tfm_lib.checks.judge import Verdict, check

__all__ = ["Verdict", "check"]

"""Checks of the tests' own, run against a scripted target."""

from tests.support.check_runs import judged, profile_of, quick

__all__ = ["judged", "profile_of", "quick"]

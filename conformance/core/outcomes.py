"""The words of a judgement: levels, outcomes, verdicts, stability labels."""

from __future__ import annotations

from enum import StrEnum


class Level(StrEnum):
    """How binding a requirement is: by the interface's text, by a declared fact, by a standard, or not at all."""

    REQUIRED = "required"
    DECLARED = "declared"
    RECOMMENDED = "recommended"
    OBSERVED = "observed"


class Outcome(StrEnum):
    """Of one check. `broken` is the suite's own fault, never the target's."""

    PASSED = "passed"
    FAILED = "failed"
    WARNED = "warned"
    INCONCLUSIVE = "inconclusive"
    UNTESTED = "untested"
    UNSTATED = "unstated"
    """A fact is missing that the profile could state."""
    INAPPLICABLE = "inapplicable"
    """It does not exist on this target: by the interface, or because the profile says so."""
    BROKEN = "broken"


WORST_FIRST = (
    Outcome.BROKEN,
    Outcome.FAILED,
    Outcome.INCONCLUSIVE,
    Outcome.UNTESTED,
    Outcome.UNSTATED,
    Outcome.WARNED,
    Outcome.PASSED,
    Outcome.INAPPLICABLE,
)
"""The outcome of a cell with several outcomes is the first of these that occurs."""
OPEN_OUTCOMES = (Outcome.INCONCLUSIVE, Outcome.UNTESTED, Outcome.UNSTATED)
"""Not judged, although that was possible: on a required requirement these outcomes keep a verdict open."""
WAIVED = "waived"
"""Counted and shown in place of the outcome: a failure or a gap that a waiver accepts."""
LEFT_OUT = "depth"
"""The cause of results that the depth of the run left out."""
BAD_OUTCOMES = (Outcome.FAILED, Outcome.BROKEN)
JUDGED_OUTCOMES = (Outcome.PASSED, Outcome.FAILED, Outcome.WARNED)


class Verdict(StrEnum):
    """Of a whole run, or of one tier of it."""

    CONFORMANT = "conformant"
    NONCONFORMANT = "nonconformant"
    INCOMPLETE = "incomplete"
    BROKEN = "broken"


class Stability(StrEnum):
    STABLE = "stable"
    CANDIDATE = "candidate"

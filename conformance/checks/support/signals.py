"""The signals that end a check without a pass. See also `client.request_builder.MissingFact`."""

from __future__ import annotations

import re
from typing import Final

from conformance.client.fixtures import NotSent
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.core.errors import FixtureError
from conformance.core.outcomes import Level

_STATUSES: Final = re.compile(r"[1-5]\d\d(?: or [1-5]\d\d)*")
"""The text of an expectation that is about the status alone."""


OBSTACLES: Final = (MissingFact, NotSent, FixtureError)
"""What prevents a request: that says nothing about the target."""


class Signal(Exception):
    """Ends a check; `answers` are the exchanges that show why, the decisive one last."""

    def __init__(self, message: str, *answers: Answer, expected: str = "", observed: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.answers = answers
        self.expected = expected
        self.observed = observed


class Violation(Signal):
    """The requirement is violated. `level` overrides its own, where a profile fact binds more or less.

    `identity`, where it is set, stands for `expected` and `observed` in the signature: they may differ from run to run.
    `kind` names the deviation where neither status nor value does, `not replayed`: it is the same in every run.
    `explanation` names another violation that leads to this one, `effect:SCO-4:OPERATION`: they have one cause if that
    requirement fails on that operation.
    """

    identity = ""
    kind = ""
    explanation = ""

    def __init__(
        self, message: str, *answers: Answer, expected: str = "", observed: str = "", level: Level | None = None
    ) -> None:
        super().__init__(message, *answers, expected=expected, observed=observed)
        self.level = level


class Inconclusive(Signal):
    """No judgement is possible. `cause` names the reason, so that one broken control is one cause."""

    def __init__(self, message: str, *answers: Answer, cause: str = "", observed: str = "") -> None:
        super().__init__(message, *answers, observed=observed)
        self.cause = cause


def are_other_statuses(observed: str, expected: str) -> bool:
    """Whether a status was observed where others were expected: then the bodies have no part in the violation."""
    return all(map(_STATUSES.fullmatch, (observed, expected))) and observed not in expected


def require_whole(*answers: Answer) -> None:
    """Inconclusive where the body of an answer was cut off, or exceeds the parser's limits: its value is not known."""
    for answer in answers:
        if answer.is_unread:
            reason = "is too long to be judged" if answer.truncated else "exceeds the limits of the JSON parser"
            message = f"the answer to {answer.request.operation.id} {reason}"
            raise Inconclusive(message, answer, cause="answer too long")


class Inapplicable(Signal):
    """The subject of the check does not exist on this target, by the interface or by the profile.

    `further`: only this case of the requirement is inapplicable; other checks carry it.
    """

    def __init__(self, message: str, *, further: bool = False) -> None:
        super().__init__(message)
        self.further = further

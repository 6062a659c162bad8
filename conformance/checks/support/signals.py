"""How a check ends other than by passing. A missing profile fact is `client.arrange.MissingFact`."""

from __future__ import annotations

from conformance.client.response import Answer
from conformance.core.model import Level


class Signal(Exception):
    """Ends a check; `answers` are the exchanges that show why, the decisive one last."""

    def __init__(self, message: str, *answers: Answer, expected: str = "", observed: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.answers = answers
        self.expected = expected
        self.observed = observed


class Violated(Signal):
    """The requirement does not hold. `level` overrides its own, where a profile fact binds more or less."""

    def __init__(
        self, message: str, *answers: Answer, expected: str = "", observed: str = "", level: Level | None = None
    ) -> None:
        super().__init__(message, *answers, expected=expected, observed=observed)
        self.level = level


class Inconclusive(Signal):
    """Nothing can be said. `cause` names what this rests on, so that one broken control is one cause."""

    def __init__(self, message: str, *answers: Answer, cause: str = "", observed: str = "") -> None:
        super().__init__(message, *answers, observed=observed)
        self.cause = cause


class Inapplicable(Signal):
    """What the check is about does not exist on this target: by the interface, or by what the profile states.

    `further`: only this case of the requirement is meant, which other checks carry.
    """

    def __init__(self, message: str, *, further: bool = False) -> None:
        super().__init__(message)
        self.further = further

"""What provoking the limit of one operation needs, and what it shows."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from conformance.checks.support.bursts import Burst
from conformance.checks.support.case import Case
from conformance.checks.support.effects import Oracle
from conformance.checks.support.separate_counts import BY_CALLER, Separation
from conformance.checks.support.signals import OBSTACLES, Inconclusive, Signal
from conformance.client.fixtures import NotSent
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.client.send_errors import LimitPersists
from conformance.core.errors import FixtureError
from conformance.profile.installations import is_of_home

Failure = Signal | MissingFact | NotSent | FixtureError | LimitPersists
FAILURES = (Signal, *OBSTACLES, LimitPersists)


class Provocation(msgspec.Struct, frozen=True):
    """The results of the bursts for one operation, and of the requests after them."""

    burst: Burst
    """The first one."""
    limited_answer: Answer | None = None
    """A 429; None where there was none."""
    limited_at: float = 0.0
    recovered_after_s: float | None = None
    last: Answer | None = None
    waited_s: float = 0.0
    """The longest wait without sending, in seconds."""
    spare: Answer | None = None
    """A 429 to a valid request that was sent only once, if there was one."""
    effects_while_limited: int | None = None
    """Effects of that request while limited, where the profile shows them."""
    retry: Answer | None = None
    """The same request, after the limit."""
    effects_after_retry: int | None = None
    """Effects of that retry."""
    twin: Answer | None = None
    """The answer to a request as old as a refused retry, which was never limited, where its ticket or code may end."""
    retry_after: tuple[Answer, ...] = ()
    """A 429 and the answer after its Retry-After, where that was examined separately."""
    separation: Separation | Failure | None = None
    second_burst: Burst | Failure | None = None
    """Another one after the recovery, where it was sent."""
    evasions: Mapping[str, Burst] = {}
    """By form of the request, the burst and the requests of that form after it, as one."""


@dataclass
class Preparation:
    case: Case
    request: Request
    spare: Request | None = None
    """A separate valid request that is to be limited, and repeated later."""
    oracle: Oracle | None = None
    twin: Request | None = None
    """Another valid request, as old as `spare`, where the body names what may end: a ticket, a code."""
    forms: dict[str, tuple[Request, ...]] = field(default_factory=dict)
    """The request in other forms, which the same limit counts."""
    other: Request | None = None
    """A request that another credential may send while this one is limited."""

    async def find_spare(self) -> None:
        self.spare = with_spare_credential(self.case, await self.case.arrange())
        self.oracle = await Oracle.watch_if_visible(self.case, self.spare)
        with suppress(*FAILURES):  # a static list may have no further one
            self.twin = await self.case.arrange() if self.ages else None

    @property
    def ages(self) -> bool:
        return may_end(self.case)


def may_end(case: Case) -> bool:
    """Whether what the body of a call names may end by itself: a ticket or a code."""
    return case.operation.auth != "api_key" and bool(case.named_in_body)


def with_spare_credential(case: Case, request: Request) -> Request:
    """The request under the profile's rate limit credential, if that may call the operation on its resource."""
    credential = case.profile.credentials.get(case.profile.rate_limit.credential)
    if not request.credential or credential is None or not credential.active:
        return request
    if case.operation.path_parameters and not is_of_home(case.profile, credential):
        return request  # a resource of another installation
    if case.operation.scope and case.operation.scope not in credential.scopes:
        return request
    return case.as_credential(request, credential.name)


def expect_limited_key(case: Case, burst: Burst) -> None:
    """Inconclusive where callers are counted and another key than the stated one sent a burst: plans may differ.

    The stated one has no scope for the operation, or is of another installation.
    """
    facts, name = case.profile.rate_limit, burst.last.request.credential
    if facts.per in BY_CALLER and facts.credential and name and name != facts.credential:
        message = f"more passed with the key {name} than the limit allows that is stated of the key {facts.credential}"
        raise Inconclusive(f"{message}: {burst.measure}", burst.last, cause="rate limit")

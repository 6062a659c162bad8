"""What was refused on a connection is read to its end, or the connection closes (RFC 9112 section 9.3)."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.check_connections import a_refused_content_is_not_read_as_the_next_request
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Bodies
from conformance.profile.resources import OperationFacts
from tests.support.check_runs import CONTRACT

CONFIG = CONTRACT.operations["getPublicRuntimeConfig"]
OPERATIONS = {
    "getPublicRuntimeConfig": OperationFacts(),
    "quotePublicCart": OperationFacts(body={"reason": "late"}, path={"cartId": "{cart.id}"}),
    "checkoutPublicCart": OperationFacts(body={"reason": "late"}, path={"cartId": "{cart.id}"}),
    "cancelHostedCheckoutBrowser": OperationFacts(body={"ticket": "a"}, path={"sessionId": "s1"}),
}
MAX_BYTES = 4000


class Target:
    """Refuses each call with content. `status`: of calls without a key; `leaves`: which calls it does not read."""

    def __init__(self, answer: Any, status: int, leaves: Any, **headers: str) -> None:
        self.answer, self.status, self.leaves, self.headers = answer, status, leaves, headers
        self.unread: set[int] = set()

    def __call__(self, arrived: Any) -> bytes | None:
        if arrived.connection in self.unread:
            self.unread.discard(arrived.connection)
            return bytes(self.answer(400, body=b"<html>Bad Request</html>", Connection="close"))
        if arrived.method == "GET":
            return bytes(self.answer(200, {"data": {}}))
        if self.leaves(arrived):
            self.unread.add(arrived.connection)
        return bytes(self.answer(400 if arrived.all("authorization") else self.status, {"error": "no"}, **self.headers))


@pytest.mark.parametrize(
    "leaves",
    [
        lambda arrived: not arrived.all("authorization"),
        lambda arrived: arrived.target.endswith("/quote"),
        lambda arrived: "/hosted/" in arrived.target,
        lambda arrived: len(arrived.body) > MAX_BYTES,
    ],
    ids=["of all operations", "of one operation", "of a public operation", "where it is too large"],
)
@pytest.mark.parametrize("status", [401, 404])
def test_a_content_that_is_left_unread_is_seen(judged: Any, answer: Any, leaves: Any, status: int) -> None:
    """Whatever is refused before its content was read, and in whatever order the target looks at a call."""
    target = Target(answer, status, leaves)
    result, _ = run(judged, target)
    assert result.outcome is Outcome.FAILED, result
    assert "on the connection of a refused call" in result.message


@pytest.mark.parametrize("status", [401, 404])
@pytest.mark.parametrize("headers", [{}, {"Connection": "close"}])
def test_a_content_that_is_read_or_ends_its_connection_is_right(
    judged: Any, answer: Any, status: int, headers: dict[str, str]
) -> None:
    """A target may close any connection, and may answer another status before it looks for a key."""
    result, _ = run(judged, Target(answer, status, lambda arrived: bool(headers), **headers))
    assert result.outcome is Outcome.PASSED, result


def test_a_connection_that_is_closed_without_notice_is_right(judged: Any, answer: Any) -> None:
    """A server may close an idle connection at any time (RFC 9112 section 9.5), so that the next request is lost."""
    seen: set[int] = set()

    def script(arrived: Any) -> bytes | None:
        if arrived.connection in seen:
            return None
        seen.add(arrived.connection)
        return bytes(answer(200, {"data": {}}) if arrived.method == "GET" else answer(401, {"error": "no"}))

    result, _ = run(judged, script)
    assert result.outcome is Outcome.PASSED, result


def test_a_target_that_is_limited_for_a_moment_is_right(judged: Any, answer: Any) -> None:
    """A 429 is waited out; it says nothing about a connection."""
    count = 0

    def script(arrived: Any) -> bytes:
        nonlocal count
        count += 1
        if count % 4 == 0:
            return bytes(answer(429, {"error": "slow"}))
        return bytes(answer(200, {"data": {}}) if arrived.method == "GET" else answer(401, {"error": "no"}))

    result, _ = run(judged, script)
    assert result.outcome is Outcome.PASSED, result


def run(judged: Any, script: Any) -> Any:
    check, bodies = a_refused_content_is_not_read_as_the_next_request, Bodies(max_bytes=MAX_BYTES)
    return judged(script, check, CONFIG, operations=OPERATIONS, bodies=bodies)

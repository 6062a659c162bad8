"""A connection that is used again: what was refused on it has been read to its end (STA-2)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from conformance.checks.support.authorization import credentials_without_scope
from conformance.checks.support.case import Case
from conformance.checks.support.registry import check
from conformance.client.request import Request
from conformance.client.response import ON_USED_CONNECTION, Answer

_UNKNOWN: Final = "conformance-unknown"
_CONTENT: Final = b'{"note":"refused"}'
"""Without a line break: a server that left it unread waits for more, and takes it for the start of the next request."""
_LARGEST: Final = 1024 * 1024
_Refused = tuple[Request, int]
"""A call and the status of its refusal; 0 where it is not known."""


@check("STA-2", on="getPublicRuntimeConfig", chain=True)
async def a_refused_content_is_not_read_as_the_next_request(case: Case) -> None:
    """A good read is answered 200 on the connection of refused calls, whose content the server has read by then.

    It may close the connection instead, and must where it has not (RFC 9112 section 9.3). Where neither is sure, no
    connection of the run is used again after a refused call with content: the checks of all operations would meet it.
    """
    read = await case.arrange()
    calls = _refused_calls(case)
    case.require_case(calls, "no operation with a body is stated")
    if await _are_read_in_turn(case, calls, read) or await _is_each_read(case, calls, read):
        case.runtime.sender.transport.keep_refused_connections()
    if (large := _too_large(case, calls)) is not None:
        await _read_after_one(case, large, read)


def _refused_calls(case: Case) -> list[_Refused]:
    """Calls with content that any service refuses, and the status of those of which it is known.

    Each of unknown status is followed by one of known status, as far as there are any.
    """
    known: list[_Refused] = []
    others: list[_Refused] = []
    for operation in case.contract.all:
        if not operation.has_body or operation.id not in case.profile.operations:
            continue
        path = dict.fromkeys(operation.path_parameters, _UNKNOWN)
        call = Request(operation=operation, path=path).with_raw_body(_CONTENT)
        if operation.auth == "api_key":
            known.append((call, 401))
        else:
            others.append((call, 0))
    narrow = [(call, name) for call, _ in known for name in credentials_without_scope(case.profile, call.operation)]
    known += [(case.as_credential(call, name), 403) for call, name in narrow[-1:]]
    pairs = [call for pair in zip(others, known, strict=False) for call in pair]
    return [*pairs, *others[len(known) :], *known[len(others) :]]


def _too_large(case: Case, calls: Sequence[_Refused]) -> Request | None:
    """A call with a good key and more content than the profile allows; None where that is not stated, or very much."""
    max_bytes = case.profile.bodies.max_bytes
    call = next((call for call, status in calls if status == 401), None)
    if call is None or max_bytes is None or max_bytes > _LARGEST:
        return None
    content = b'{"note":"%s"}' % (b"a" * max_bytes)
    return case.as_credential(call.with_raw_body(content), case.runtime.arranger.credential_for(call.operation).name)


async def _are_read_in_turn(case: Case, calls: Sequence[_Refused], read: Request) -> bool:
    """Whether one connection lasted for all of these calls and the read, and each had the answer that is known of it.

    Of two calls of unknown status, one after the other, nothing is known.
    """
    statuses = [status for _, status in calls]
    if not all(status or following for status, following in pairwise([*statuses, 200])):
        return False
    with case.runtime.sender.transport.pool.one_connection() as connection:
        for call, status in calls:
            answer = await case.send(call, ON_USED_CONNECTION)
            if not connection.lasted or answer.status != (status or answer.status):
                return False
        last = await case.send(read, ON_USED_CONNECTION)
    return connection.lasted and last.ok


async def _is_each_read(case: Case, calls: Sequence[_Refused], read: Request) -> bool:
    """Whether the content of each call was read by the time of the next one, or its connection closed."""
    for call, _ in calls:
        answer = await _read_after_one(case, call, read)
        if answer is not None and (answer.follows_loss or not answer.ok):
            return False
    return True


async def _read_after_one(case: Case, call: Request, read: Request) -> Answer | None:
    """The answer to the read on the connection of a refused call; None where the target has closed that.

    Violated where it is refused there twice, and answered 200 on another connection.
    """
    answer = await _read_after(case, call, read)
    if answer is None or answer.ok:
        return answer
    control = await case.control(read, "the same read on another connection")
    second = await _read_after(case, call, read)
    if second is not None and not second.ok:
        message = f"a read is refused on the connection of a refused call of {call.operation.id}, and on no other one"
        raise case.violation(message, control, answer, second, expected="200")
    return answer


async def _read_after(case: Case, call: Request, read: Request) -> Answer | None:
    with case.runtime.sender.transport.pool.one_connection() as connection:
        await case.send(call, ON_USED_CONNECTION)
        answer = await case.send(read, ON_USED_CONNECTION)
    return answer if connection.lasted or answer.follows_loss else None

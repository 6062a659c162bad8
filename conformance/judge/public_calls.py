"""Answers of public operations that demand a credential (PUB-1), whichever check sent the call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from conformance.client.response import Answer
from conformance.contract import load_contract
from conformance.core.model import Finding

_PLAIN: Final = re.compile(r"(?!\.+$)[\w.~-]+", re.ASCII)
"""An id that nothing in front of the service takes for another path."""


def demands_credential(answer: Answer) -> bool:
    """Whether a read of the public catalogue was answered 401, although it had no Authorization to be refused.

    A 403 may come from a firewall.
    """
    return answer.status == 401 and is_public_read(answer)


def is_public_read(answer: Answer) -> bool:
    """Whether a call names no caller at all.

    It has neither a header, nor a query parameter that the interface does not know, nor an id that may be read as
    another route. The hosted operations, which are public too, may refuse a ticket with 401.
    """
    request = answer.request
    if request.operation.auth != "none" or not request.operation.is_read or answer.status is None:
        return False
    if request.authorization or request.headers or request.raw_path or request.method:
        return False
    declared = load_contract().operations.get(request.operation.id)
    names = {name for name, _ in request.query} | request.raw_query.keys()
    return (
        declared is not None
        and declared.path == request.operation.path
        and names <= {parameter.name for parameter in declared.query_parameters}
        and all(map(_PLAIN.fullmatch, request.path.values()))
    )


def credential_demanded(answer: Answer) -> Iterator[Finding]:
    """The finding about a public read that demands a credential."""
    if demands_credential(answer):
        yield Finding("PUB-1", "status:401", "a public operation was answered 401 without Authorization")

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

    Only where nothing else may name a caller, or another route: a query parameter that the interface does not know, a
    header, an odd id. A 403 may come from a firewall. What a hosted operation refuses may be a ticket.
    """
    request = answer.request
    if answer.status != 401 or request.authorization or request.headers or request.raw_path or request.method:
        return False
    declared = load_contract().operations.get(request.operation.id)
    if declared is None or declared.auth != "none" or not declared.is_read or declared.path != request.operation.path:
        return False
    names = {name for name, _ in request.query} | request.raw_query.keys()
    is_plain = all(map(_PLAIN.fullmatch, request.path.values()))
    return is_plain and names <= {parameter.name for parameter in declared.query_parameters}


def credential_demanded(_answer: Answer) -> Iterator[Finding]:
    """The finding about an answer that demands a credential."""
    message = "a public operation was answered 401 without Authorization"
    yield Finding("PUB-1", "status:401", message)

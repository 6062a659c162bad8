"""Which answers the invariants judge: those of the operations, to requests that a server must read in one way."""

from __future__ import annotations

import re
from typing import Final

from conformance.client.request import METHOD_OVERRIDES
from conformance.client.response import ON_USED_CONNECTION, Answer

LONG_URL: Final = 2_000
"""A longer URL may be refused for its length by a component in front of the service."""
LARGE_BODY: Final = 8_000
"""Bytes: so may a larger body."""
OVERSIZE: Final = (413, 414, 431)
"""The statuses of such a refusal."""
_LENGTH_STATUSES: Final = (411, 501)
_BROKEN_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_LARGE_HEADERS: Final = 4_000


def is_out_of_scope(answer: Answer) -> bool:
    """Whether the request went to no declared operation: another method, or a path that a server may read differently.

    An oversize request may be refused by a component in front of the service, in any format, and a body in chunks for
    its missing length (RFC 9110, section 15.5.12). So may one that is not valid HTTP: a URL with an incomplete escape,
    a header with a byte that is not ASCII, or a second Authorization, which is no list (section 5.3).
    """
    if answer.status == 400 and _is_malformed(answer):
        return True
    if answer.purpose == ON_USED_CONNECTION and not answer.ok:
        return True  # it may answer the rest of an earlier call, which is no request of HTTP
    if answer.status in _LENGTH_STATUSES and any(
        name.lower() == "transfer-encoding" for name, _ in answer.request.headers
    ):
        return True
    if answer.status == 405 and any(name in METHOD_OVERRIDES for name, _ in answer.request.headers):
        return True  # it was taken for another method, which is not an operation
    oversize = len(answer.sent_body) + len(answer.url) > LARGE_BODY or len(answer.url) > LONG_URL
    oversize = oversize or sum(len(name) + len(value) for name, value in answer.sent_headers) > _LARGE_HEADERS
    edge = oversize and answer.status in OVERSIZE
    return edge or bool(answer.request.method) or bool(answer.request.raw_path)


def _is_malformed(answer: Answer) -> bool:
    is_ascii = all(value.isascii() for _, value in answer.sent_headers)
    is_repeated = [name.lower() for name, _ in answer.sent_headers].count("authorization") > 1
    return not is_ascii or is_repeated or _BROKEN_ESCAPE.search(answer.url) is not None

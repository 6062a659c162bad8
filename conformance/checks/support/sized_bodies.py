"""Valid bodies of a given size or depth, or without a stated size."""

from __future__ import annotations

import json
from typing import Any, Final
from uuid import uuid4

from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request

_LARGEST_MIB: Final = 64
"""Several bodies of this size are in memory at a time."""


def expect_sendable(size: int) -> None:
    """Inconclusive where a run does not send a body of this size, in bytes."""
    if size > _LARGEST_MIB * 2**20 + 1:
        raise Inconclusive(f"a run sends no body of {size:,} bytes, but {_LARGEST_MIB} MiB at most")


def pad(request: Request, size: int) -> Request:
    """The body, with white space before its end so that it has `size` bytes. Inconclusive where these are too many."""
    expect_sendable(size)
    text = json.dumps(request.document, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return request.with_raw_body(text[:-1] + b" " * (size - len(text)) + text[-1:])


def nest(request: Request, depth: int, innermost: bytes) -> Request:
    """The body with a further member, so that `depth` objects and arrays are within each other, by turns.

    `innermost` is the content of the innermost array. Some services count a scalar as a level of its own. Inconclusive
    where these are too many levels.
    """
    expect_sendable(4 * depth)
    marker = json.dumps(f"x{uuid4().hex}")
    distances = range(depth - 1)  # of each level from the innermost one
    opening = b"".join(b'{"a":' if distance % 2 else b"[" for distance in reversed(distances))
    closing = b"".join(b"}" if distance % 2 else b"]" for distance in distances)
    changed = request.with_body({**request.body, "xConformanceDepth": json.loads(marker)})
    text = json.dumps(changed.document, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return request.with_raw_body(text.replace(marker.encode(), opening + innermost + closing))


def depth_of(value: Any) -> int:
    """The number of objects and arrays within each other, the value included."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if items is None else 1 + max(map(depth_of, items), default=0)


def in_chunks(request: Request) -> Request:
    """Its body is sent in chunks, without a Content-Length."""
    return request.with_header("Transfer-Encoding", "chunked")

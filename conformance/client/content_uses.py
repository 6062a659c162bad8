"""Equal calls of a run without idempotency keys: a target may take the second of two for a retry of the first."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson

_PROOF_HEADER: Final = "DPoP"
"""Each call has a proof of its own; who holds its key is part of what is asked for."""


class ContentUses:
    """Notes the good answers to writes that carry no key, since the profile excludes keys."""

    def __init__(self) -> None:
        self._values: dict[bytes, list[tuple[str, Any]]] = {}
        """What was sent -> the exchanges that were answered 200, with their values, in the order of their ends."""

    def note(self, answer: Answer) -> None:
        if _is_write_without_key(answer.request) and answer.ok and not answer.truncated:
            self._values.setdefault(_content_of(answer), []).append((answer.id, answer.value))

    def may_be_replay(self, answer: Answer, volatile: tuple[str, ...]) -> bool:
        """Whether an equal call was answered 200 before, with an equal value except volatile members.

        A target that makes calls idempotent by their content replays it; another resource shows another call. Members
        beside `data` may change in a replay (the time it took): without keys, no table states them for all operations.
        """
        if not (answer.ok and _is_write_without_key(answer.request)):
            return False
        value = _resource(answer.value, volatile)
        for exchange, earlier in self._values.get(_content_of(answer), ()):
            if exchange == answer.id:
                return False
            if strictjson.is_equal(_resource(earlier, volatile), value):
                return True
        return False


def _resource(value: Any, volatile: tuple[str, ...]) -> Any:
    stable = pointer.remove_matching(value, volatile)
    return stable["data"] if isinstance(stable, dict) and "data" in stable else stable


def _is_write_without_key(request: Request) -> bool:
    return request.operation.idempotent and request.idempotency is None


def _content_of(answer: Answer) -> bytes:
    """A digest of all that was sent, without the proof but with its key: who asks is never left out."""
    request = answer.request
    headers = sorted(pair for pair in answer.sent_headers if pair[0] != _PROOF_HEADER)
    holder = request.proof.key.thumbprint if request.proof is not None else ""
    parts = repr((request.method or request.operation.method, answer.url, headers, holder)).encode()
    return hashlib.sha256(parts + answer.sent_body).digest()

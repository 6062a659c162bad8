"""Texts of an answer that may be ids, such as that of an order which a checkout has made."""

from __future__ import annotations

from typing import Final

from conformance.checks.support.unknown_ids import is_distinctive
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer

_MAX_IDS: Final = 3


def possible_ids(answer: Answer) -> list[str]:
    """At most three texts of an answer that may be ids of its own: those with digits first."""
    known = {*answer.request.path.values(), *(value for _, value in pointer.leaves(answer.request.body))}
    texts = [value for _, value in pointer.leaves(answer.value) if isinstance(value, str) and value not in known]
    found = [text for text in dict.fromkeys(texts) if is_distinctive(text) and text.isprintable() and " " not in text]
    return sorted(found, key=lambda text: not any(map(str.isdigit, text)))[:_MAX_IDS]

"""What the items of a list in an answer say: pure functions."""

from __future__ import annotations

from conformance.checks.support.unknown_ids import is_distinctive
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer


def texts_of_items(answer: Answer) -> frozenset[str]:
    """The texts within the arrays of the answer's data that may name an item: ids and times, no short words."""
    return frozenset(
        value
        for place, value in pointer.leaves(answer.data)
        if isinstance(value, str)
        and is_distinctive(value)
        and any(token.isdecimal() for token in pointer.tokens(place))
    )

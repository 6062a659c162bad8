"""What the items of a list in an answer say: pure functions."""

from __future__ import annotations

from typing import Final

from conformance.client.response import Answer
from conformance.core import json_pointer as pointer

_SHORT: Final = 5
"""Characters of a word that may stand in any item."""


def texts_of_items(answer: Answer) -> frozenset[str]:
    """The texts within the arrays of the answer's data that may name an item: ids and times, no short words."""
    return frozenset(
        value
        for place, value in pointer.leaves(answer.data)
        if isinstance(value, str)
        and len(value) > _SHORT
        and not value.isdecimal()
        and any(token.isdecimal() for token in pointer.tokens(place))
    )


def has_items(answer: Answer) -> bool:
    """Whether an array within the answer's data has an item, whatever it says."""
    return any(any(token.isdecimal() for token in pointer.tokens(place)) for place, _ in pointer.leaves(answer.data))

"""Messages of results, as reports group them."""

from __future__ import annotations

import re


def without_operation(text: str, operation: str) -> str:
    """The text without the operation's name: `quotePublicCart was refused` becomes `the operation was refused`."""
    return re.sub(rf"(?<![\w.]){re.escape(operation)}\b", "the operation", text) if operation else text

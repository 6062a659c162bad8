"""What an error must not give away (ERR-2; OWASP API8, improper error handling)."""

from __future__ import annotations

import re
from typing import Final

_LOOKED_AT: Final = 128 * 1024
"""So many characters are searched; who gives something away, does so at the beginning."""
_PATTERNS: Final = {
    # every repetition is bounded: without that, line ends or half a query, repeated, cost the square of their number
    "stack-trace": re.compile(
        r"Traceback \(most recent call last\)|File \"[^\"]{1,300}\", line \d+"
        r"|^[ \t]{0,80}at [\w$.<>]{1,200}\([\w.]{1,200}:\d+\)|\bat [\w$.<>]{1,200} \(?/[\w./-]{1,300}:\d+"
        r"|goroutine \d{1,9} \[|panic: runtime error|\.(?:rb|php|go|rs|ts|js):\d{1,9}:in\b",
        re.MULTILINE,
    ),
    "sql": re.compile(
        r"SQLSTATE|\bORA-\d{5}|syntax error at or near|\bsqlite3?\.|\bpsycopg2?\.|sqlalchemy\.|PG::\w{1,60}Error"
        r"|\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM)\s[\w\"`.*, ]{1,200}\s{1,20}(?:FROM|SET|VALUES|WHERE)\b",
    ),
    "file-path": re.compile(
        r"(?<![\w.:/])/(?:usr|home|var|opt|app|srv|root|etc)/[\w.-]{1,100}/[\w./-]{0,200}\w|[A-Z]:\\\\?\w{1,100}\\"
    ),
}


def leaks(text: str) -> list[tuple[str, str]]:
    """(kind, the first telling piece) for everything of that sort in the first part of a text."""
    found = []
    for kind, pattern in _PATTERNS.items():
        if match := pattern.search(text, 0, _LOOKED_AT):
            found.append((kind, match.group()))
    return found

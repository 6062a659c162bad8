"""What an error must not give away (ERR-2; OWASP API8, improper error handling)."""

from __future__ import annotations

import re
from typing import Final

_PATTERNS: Final = {
    "stack-trace": re.compile(
        r"Traceback \(most recent call last\)|File \"[^\"]+\", line \d+|^\s*at [\w$.<>]+\([\w.]+:\d+\)"
        r"|\bat [\w$.<>]+ \(?/[\w./-]+:\d+|goroutine \d+ \[|panic: runtime error|\.(?:rb|php|go|rs|ts|js):\d+:in\b",
        re.MULTILINE,
    ),
    "sql": re.compile(
        r"SQLSTATE|\bORA-\d{5}|syntax error at or near|\bsqlite3?\.|\bpsycopg2?\.|sqlalchemy\.|PG::\w+Error"
        r"|\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM)\s+[\w\"`.*, ]+\s+(?:FROM|SET|VALUES|WHERE)\b",
    ),
    "file-path": re.compile(r"(?<![\w.:/])/(?:usr|home|var|opt|app|srv|root|etc)/[\w.-]+/[\w./-]*\w|[A-Z]:\\\\?\w+\\"),
}


def leaks(text: str) -> list[tuple[str, str]]:
    """(kind, the first telling piece) for everything of that sort in a text."""
    found = []
    for kind, pattern in _PATTERNS.items():
        if match := pattern.search(text):
            found.append((kind, match.group()[:120]))
    return found

"""Internal details that an error must not reveal (ERR-2; OWASP API8, improper error handling)."""

from __future__ import annotations

import re
from typing import Any, Final

from conformance.core import json_pointer as pointer

_SEARCH_LIMIT: Final = 128 * 1024
"""Characters that are searched: leaks appear at the beginning of an error."""
_PATTERNS: Final = {
    # every repetition is bounded: otherwise repeated line ends or partial queries take quadratic time
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
    "decoder": re.compile(
        r"json: cannot unmarshal|Go struct field|\bstrconv\.\w{1,40}: parsing|undefined method [`']\w"
        r"|Cannot read propert(?:y|ies) (?:'[^']{1,60}' )?of (?:undefined|null)"
        r"|\b(?:java|javax|org|com)\.(?:\w{1,60}\.){1,8}\w{1,60}(?:Exception|Error)\b"
        r"|\bSystem\.(?:\w{1,60}\.){0,5}\w{1,60}Exception\b",
    ),
    "file-path": re.compile(
        r"(?<![\w.:/])/(?:usr|home|var|opt|app|srv|root|etc)/[\w.-]{1,100}/[\w./-]{0,200}\w|[A-Z]:\\\\?\w{1,100}\\"
    ),
}


_REFERENCES: Final = ("/type", "/instance")
_REVERSE_DOMAIN: Final = re.compile(r"(?:org|com)(?:\.\w{1,60}){2,9}")
_SIGNS: Final = {
    "stack-trace": ("Traceback", 'File "', "at ", "goroutine ", "panic: ", ":in"),
    "sql": (
        *("SQLSTATE", "ORA-", "syntax error", "sqlite", "psycopg", "sqlalchemy", "PG::"),
        *("SELECT", "INSERT INTO", "UPDATE", "DELETE FROM"),
    ),
    "decoder": ("unmarshal", "struct field", "strconv.", "undefined method", "Cannot read", "Exception", "Error"),
    "file-path": ("/usr", "/home", "/var", "/opt", "/app", "/srv", "/root", "/etc", ":\\"),
}
"""A text without any of these has no leak of the kind: most need no regular expression."""


def find_leaks(text: str) -> list[tuple[str, str]]:
    """(kind, first match) for each kind of leak in the beginning of a text."""
    found = []
    for kind, pattern in _PATTERNS.items():
        if any(map(text.__contains__, _SIGNS[kind])) and (match := pattern.search(text, 0, _SEARCH_LIMIT)):
            found.append((kind, match.group()))
    return found


def without_public_texts(error: Any) -> Any:
    """A copy of an error without the texts that are names for its reader, though they look like internals.

    They are the URI references of problem details (RFC 9457, section 3.1), and error codes in a reverse domain, which
    are the whole of a member. A member that names an exception has that of the program.
    """
    if not isinstance(error, dict):
        return error
    places = [
        where
        for where, leaf in pointer.leaves(error)
        if isinstance(leaf, str)
        and ((where in _REFERENCES and not re.search(r"\s", leaf)) or (_is_code(leaf) and not _is_of_program(where)))
    ]
    for where in reversed(places):  # from the end: a removal moves what comes after it
        error = pointer.remove(error, where)
    return error


def _is_code(text: str) -> bool:
    return _REVERSE_DOMAIN.fullmatch(text) is not None


def _is_of_program(where: str) -> bool:
    return re.search("exception|class|trace", where, re.IGNORECASE) is not None


def is_of_url(piece: str, url: str) -> bool:
    """Whether a text stands in a URL, or is its path behind another prefix: a gateway may map one to the other."""
    _, mark, rest = piece.partition("/api/v1/")
    return piece in url or (bool(mark) and f"{mark}{rest}" in url)

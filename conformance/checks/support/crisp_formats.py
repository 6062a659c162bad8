"""Formats whose grammar leaves nothing to a reader.

JSON Schema 2020-12 asserts a format only where a vocabulary says so; what a profile states binds all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import jsonschema_rs

_CRISP: Final = ("uuid", "date", "date-time", "email", "ipv4", "ipv6")
_OTHERS: Final = (
    "time", "duration", "regex", "hostname", "idn-hostname", "idn-email", "json-pointer", "relative-json-pointer",
    "uri", "uri-reference", "uri-template", "iri", "iri-reference",
)  # fmt: skip


def breaks_format(parts: Iterable[Mapping[str, Any]], value: Any) -> bool:
    """Whether a text is not of the one format that every schema of its place states."""
    formats = {part.get("format") for part in parts}
    return isinstance(value, str) and len(formats) == 1 and not _is_of_format(value, formats.pop())


def format_validator(schema: Mapping[str, Any]) -> Any:
    """A validator of values for a whole schema, of whose branches one may allow what another one refuses."""
    others = dict.fromkeys(_OTHERS, lambda _: True)
    return jsonschema_rs.validator_for(dict(schema), validate_formats=True, formats=others)


def _is_of_format(value: str, name: Any) -> bool:
    if name not in _CRISP:
        return True
    return jsonschema_rs.Draft202012Validator({"format": name}, validate_formats=True).is_valid(value)

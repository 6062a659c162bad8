"""The formats that a schema names, in a value that matches the schema.

JSON Schema's `format` is an annotation (2020-12, Validation, section 7): a text that is not of it is not a violation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import jsonschema_rs

_JUDGED: Final = frozenset({"date-time", "date", "uuid", "email", "uri", "ipv4", "ipv6"})
"""Those whose grammar is one standard's, which readers of them hold to."""
_OTHERS: Final = (
    "time", "duration", "regex", "hostname", "idn-hostname", "idn-email", "json-pointer", "relative-json-pointer",
    "uri-reference", "uri-template", "iri", "iri-reference",
)  # fmt: skip
_ALL: Final = frozenset({*_JUDGED, *_OTHERS})


def format_validator(schema: Any) -> Any:
    """A validator that takes the judged formats for assertions; None where the schema names none of them."""
    if not names_format(schema, _JUDGED):
        return None
    others = dict.fromkeys(_OTHERS, lambda _: True)
    return jsonschema_rs.validator_for(schema, validate_formats=True, formats=others)


def find_broken_format(validator: Any, value: Any) -> jsonschema_rs.ValidationError | None:
    """The first text of a value that is not of its format; None where there is none, or it cannot be known."""
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return next(_format_errors(error), None)
    except ValueError:  # a surrogate by itself, a number that no validator can hold, a value that is nested too deep
        pass
    return None


def _format_errors(error: jsonschema_rs.ValidationError) -> Iterator[jsonschema_rs.ValidationError]:
    """The error if it is one of a format, or those of the branches of which none was matched."""
    if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Format):
        yield error
    for branch in getattr(error.kind, "context", None) or ():
        for below in branch:
            yield from _format_errors(below)


def names_format(schema: Any, names: Collection[str] = _ALL) -> bool:
    """Whether a schema names one of these formats."""
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, Mapping):
            if isinstance(name := part.get("format"), str) and name in names:
                return True
            pending += part.values()
        elif isinstance(part, list):
            pending += part
    return False

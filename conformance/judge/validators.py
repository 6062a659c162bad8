"""JSON Schemas of a profile, compiled once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import jsonschema_rs

from conformance.client.redaction.fragments import truncate_for_redaction
from conformance.core import strict_json as strictjson
from conformance.judge.formats import find_broken_format, format_validator, names_format
from conformance.judge.member_names import MemberNames
from conformance.profile.model import Schemas

_MAX_SHOWN: Final = 400
_MAX_LEVELS: Final = 200
"""Of a schema: profiles are refused with fewer (`profile.schema_limits`)."""


class Validators:
    """By the interface's schema names. A name without a schema is simply not known."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas: Mapping[str, Any] = schemas.by_name
        self._compiled: dict[str, Any] = {}
        self._names: dict[str, MemberNames] = {}
        self._member_names: dict[str, frozenset[str]] = {}
        self._asserting: dict[str, Any] = {}
        """By name, a validator that refuses a text that is not of its format."""
        self._formats: dict[str, Any] = {}
        """By name, a validator of formats; None where the schema names none."""
        self._last: tuple[str, Any, str] = ("", None, "")
        """Name, value and problem of the last call."""

    def knows(self, name: str) -> bool:
        return name in self._schemas

    def problem(self, name: str, value: Any) -> str:
        """Where and why a value does not match, in a line; empty where it does. Raises KeyError on an unknown name."""
        last_name, last_value, problem = self._last
        if name == last_name and value is last_value:  # two invariants ask for each answer
            return problem
        if name not in self._compiled:
            self._compiled[name] = jsonschema_rs.validator_for(self._schemas[name], validate_formats=False)
        try:
            problem = self._problem(name, value)
        except UnicodeEncodeError:
            # a surrogate by itself in a body that the suite has made: the validator takes no such text
            problem = self._problem(name, strictjson.replace_surrogates(value))
        self._last = name, value, problem
        return problem

    def _problem(self, name: str, value: Any) -> str:
        """That of a validator without formats, unless one with formats has none: they tell branches of oneOf apart."""
        problem = _first_problem(self._compiled[name], value)
        if problem and names_format(self._schemas[name]):
            if name not in self._asserting:
                self._asserting[name] = jsonschema_rs.validator_for(self._schemas[name], validate_formats=True)
            if not _first_problem(self._asserting[name], value):
                return ""
        return problem

    def broken_format(self, name: str, value: Any) -> tuple[str, str]:
        """A text of a matching value that is not of its format: where and why, in a line, and the text; empty without.

        Raises KeyError on an unknown name.
        """
        if name not in self._formats:
            self._formats[name] = format_validator(self._schemas[name])
        validator = self._formats[name]
        error = find_broken_format(validator, value) if validator is not None else None
        return (_line_of(error), str(error.instance)) if error is not None else ("", "")

    def member_names(self, name: str) -> frozenset[str]:
        """Every name of a member in the schema, wherever it stands. Raises KeyError on an unknown name."""
        if name not in self._member_names:
            self._member_names[name] = frozenset(_names_in(self._schemas[name], 0))
        return self._member_names[name]

    def unnamed_member(self, name: str, value: Any) -> str:
        """The place of a member that the schema does not name; empty without one. Raises KeyError."""
        if name not in self._names:
            self._names[name] = MemberNames(self._schemas[name])
        return truncate_for_redaction(self._names[name].first_unnamed(value), _MAX_SHOWN)


def _names_in(schema: Any, depth: int) -> Iterator[str]:
    parts = schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ()
    if isinstance(schema, Mapping) and isinstance(schema.get("properties"), Mapping):
        yield from schema["properties"]
    for part in parts if depth <= _MAX_LEVELS else ():
        yield from _names_in(part, depth + 1)


def _first_problem(validator: Any, value: Any) -> str:
    try:
        # not iter_errors: it finds them all before it gives the first; in 300,000 bad items, 10 s and 1 GB
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return _line_of(error)
    except UnicodeEncodeError:
        raise
    except ValueError as unusable:  # a number that no schema validator can hold
        if "ecursion" in str(unusable):
            return ""  # nested deeper than the validator goes: nothing is known
        return f"cannot be compared with the schema: {truncate_for_redaction(str(unusable), _MAX_SHOWN)}"
    return ""


def _line_of(error: jsonschema_rs.ValidationError) -> str:
    where = "/" + "/".join(str(part) for part in error.instance_path)
    return f"{truncate_for_redaction(where, _MAX_SHOWN)}: {truncate_for_redaction(error.message, _MAX_SHOWN)}"

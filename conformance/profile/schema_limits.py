"""Bounds on the schema file of a profile: values are generated from it, which takes time and memory by its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from conformance.core import json_pointer as pointer
from conformance.core.errors import ProfileError

MAX_LEVELS: Final = 256
"""Objects and lists within each other, some 120 schemas: recursion over deeper ones fails."""
MAX_NAME: Final = 1_000
"""Characters of a member's name."""
MAX_LEAST: Final = {"minItems": 1_000, "minContains": 1_000, "minProperties": 1_000, "minLength": 100_000}
"""The greatest values of keywords that make every valid value large."""
_MAPS_OF_SCHEMAS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "schemas")
_NO_SCHEMAS: Final = ("const", "enum", "default", "example", "examples")


class _Part(NamedTuple):
    """A value of the document, and where it stands."""

    path: tuple[str, ...]
    value: Any
    is_map: bool = False
    """Its members are named freely."""
    is_data: bool = False
    """It is not a schema, but a value that a schema states."""


def check_limits(document: Mapping[str, Any], where: str) -> None:
    """Raises ProfileError, with pointer and limit, on the first part of a schema file that exceeds one."""
    pending = [_Part((), document)]
    while pending:
        part = pending.pop()
        if len(part.path) >= MAX_LEVELS and isinstance(part.value, dict | list):
            raise _error(part.path, f"is nested deeper than {MAX_LEVELS} levels", where)
        if isinstance(part.value, dict) and not part.is_map and not part.is_data:
            _check_keywords(part, where)
        pending += _children(part, where)


def _check_keywords(part: _Part, where: str) -> None:
    for keyword, limit in MAX_LEAST.items():
        least = part.value.get(keyword)
        if isinstance(least, int | float) and least > limit:
            raise _error((*part.path, keyword), f"is {least:,}, and at most {limit:,} is supported", where)


def _children(part: _Part, where: str) -> Iterator[_Part]:
    if isinstance(part.value, list):
        yield from (_Part((*part.path, str(index)), item, False, part.is_data) for index, item in enumerate(part.value))
    elif isinstance(part.value, dict):
        for name, item in part.value.items():
            if len(name) > MAX_NAME:
                raise _error(part.path, f"has a member whose name is longer than {MAX_NAME:,} characters", where)
            is_data = part.is_data or (not part.is_map and name in _NO_SCHEMAS)
            yield _Part((*part.path, name), item, not part.is_map and name in _MAPS_OF_SCHEMAS, is_data)


def _error(path: tuple[str, ...], problem: str, where: str) -> ProfileError:
    """The pointer of a deep place is shortened: its first and last members are enough to find it."""
    ends = path if len(path) <= 16 else (*path[:8], "...", *path[-4:])
    return ProfileError(f"{pointer.join(*ends) or 'the document'} {problem}", where=where)

"""JSON Schemas of a profile, compiled once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema_rs

from conformance.profile.model import Schemas


class Validators:
    """By the interface's schema names. A name without a schema is simply not known."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas: Mapping[str, Any] = schemas.by_name
        self._compiled: dict[str, Any] = {}

    def knows(self, name: str) -> bool:
        return name in self._schemas

    def problem(self, name: str, value: Any) -> str:
        """Where and why a value does not match, in a line; empty where it does. Raises KeyError on an unknown name."""
        if name not in self._compiled:
            self._compiled[name] = jsonschema_rs.validator_for(self._schemas[name])
        try:
            error = next(iter(self._compiled[name].iter_errors(value)), None)
        except ValueError as unusable:  # a number that no schema validator can hold
            return f"cannot be compared with the schema: {unusable}"
        if error is None:
            return ""
        where = "/" + "/".join(str(part) for part in error.instance_path)
        return f"{where}: {error.message[:400]}"

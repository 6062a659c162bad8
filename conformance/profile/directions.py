"""Members of one direction only, as OpenAPI marks them in a schema that requests and responses share.

Where such a member is `required`, OpenAPI demands a `readOnly` one in responses only, and a `writeOnly` one in requests
only (3.0, section 4.7.24.1; 3.1 leaves the words to JSON Schema, which takes them for annotations).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.core import json_pointer as pointer
from conformance.profile.subschema import with_subschemas

_LISTS_OF_BRANCHES: Final = ("allOf", "anyOf", "oneOf")
_CONDITIONS: Final = ("if", "then", "else")
Schema = dict[str, Any]


def has_mark(document: Any) -> bool:
    """Whether the document marks a member as one of a single direction."""
    pending = [document]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            if part.get("readOnly") is True or part.get("writeOnly") is True:
                return True
            pending += part.values()
        elif isinstance(part, list):
            pending += part
    return False


class Direction:
    """The direction of the messages of one of the interface's schemas, whose parts stand in one document."""

    def __init__(self, document: Mapping[str, Any], interface_name: str) -> None:
        self._document = document
        self._mark = "readOnly" if interface_name.endswith("Request") else "writeOnly"
        """Of members that these messages lack."""

    def drop_required(self, schema: Any, names: frozenset[str] = frozenset()) -> Any:
        """A copy that requires none of the marked members. `names`: those of the schemas that it is a branch of."""
        if isinstance(schema, list):
            return [self.drop_required(item, names) for item in schema]
        if not isinstance(schema, dict):
            return schema
        names |= self._marked_members(schema, set())
        branches = {word: schema[word] for word in (*_LISTS_OF_BRANCHES, *_CONDITIONS) if word in schema}
        rest = {word: item for word, item in schema.items() if word not in branches}
        copied = with_subschemas(rest, self.drop_required)
        copied |= {word: self.drop_required(branch, names) for word, branch in branches.items()}
        if names and isinstance(required := schema.get("required"), list):
            copied["required"] = [name for name in required if name not in names]
        return copied

    def _marked_members(self, schema: Any, seen: set[int]) -> frozenset[str]:
        """The names of marked members of an object, in every branch of its schema."""
        if not isinstance(schema, dict) or id(schema) in seen:
            return frozenset()
        seen.add(id(schema))
        members = schema.get("properties")
        found = frozenset(
            name
            for name, part in (members.items() if isinstance(members, dict) else ())
            if self._is_marked(part, set())
        )
        branches = [branch for word in _LISTS_OF_BRANCHES for branch in _items(schema.get(word))]
        return found.union(*(self._marked_members(branch, seen) for branch in (*branches, self._target(schema))))

    def _is_marked(self, part: Any, seen: set[int]) -> bool:
        if not isinstance(part, dict) or id(part) in seen:
            return False
        seen.add(id(part))
        below = (*_items(part.get("allOf")), self._target(part))
        return part.get(self._mark) is True or any(self._is_marked(sub, seen) for sub in below)

    def _target(self, schema: Schema) -> Any:
        """What a schema refers to; None without a reference that leads to a part of the document."""
        ref = schema.get("$ref")
        is_local = isinstance(ref, str) and ref.startswith("#/") and pointer.has(self._document, ref[1:])
        return pointer.get(self._document, str(ref)[1:]) if is_local else None


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []

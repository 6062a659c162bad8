"""One defect in a good body: schemathesis generates, for one place of it, a value that the place's schema refuses.

schemathesis and hypothesis are imported on use (see `strategies`). What schemathesis generates for a whole body breaks
it in many places at once, and a service that misses one of them refuses it for another.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs

from conformance.checks.support.crisp_formats import breaks_format, format_validator
from conformance.checks.support.properties import hypothesis_settings
from conformance.checks.support.strategies import Edit, places
from conformance.core import json_pointer as pointer
from conformance.core.json_pointer import JsonValue
from conformance.core.strict_json import json_type
from conformance.profile.components import put_schemas
from conformance.profile.subschema import Root, Schema

if TYPE_CHECKING:
    from schemathesis import BaseSchema

_BODY: Final = "Body"
_MAX_PARTS: Final = 3
"""Schemas of one place, such as those of the branches of an `anyOf`."""
_DRAWS: Final = 8
"""For each place; about half of them differ."""
_FURTHER_VALUES: Final = (1, "x", None)
_LARGEST: Final = 2**31
_UNUSUAL: Final = re.compile("[\x00\ud800-\udfff]")


class PlaceSchemas:
    """The schemas of the places of one body, by JSON pointer; and an OpenAPI document that asks for a value of each.

    `closed`: whether a member that a schema does not allow is a defect.
    """

    def __init__(self, body: Any, schema: Schema, keep: frozenset[str], *, closed: bool = True) -> None:
        components: dict[str, Any] = {}
        put_schemas(components, {_BODY: schema} if "$ref" in schema else {_BODY: {"$ref": f"#/{_BODY}", _BODY: schema}})
        self._root = Root({"$ref": f"#/components/schemas/{_BODY}", "components": {"schemas": components}})
        self._components = components
        self._validator = jsonschema_rs.validator_for(dict(schema))
        self._strict_validator = format_validator(schema)
        self.free = tuple(where for where in places(body) if where not in keep)
        self.parts = {where: self._parts_of(where) for where in ("", *self.free)}
        self.forbidden = self._find_forbidden() if closed else ()

    def _parts_of(self, where: str) -> list[dict[str, Any]]:
        reference = {"$ref": f"#/components/schemas/{_BODY}"}
        return list(self._root.subschemas(reference, pointer.tokens(where)))

    def _find_forbidden(self) -> tuple[str, ...]:
        """The pointers of new members that the object around them does not allow."""
        names = (
            (where, name)
            for where, parts in self.parts.items()
            for name in ("further", "extra member")
            if parts and all(part.get("additionalProperties") is False for part in parts)
        )
        return tuple(where + pointer.join(name) for where, name in names)

    @property
    def origin(self) -> dict[str, Any]:
        """All that the edits follow from."""
        return {"document": self.document(), "free": self.free, "forbidden": self.forbidden}

    def document(self) -> dict[str, Any]:
        """One operation for each place and schema: `/PLACE/NUMBER`, as a path of digits."""
        paths = {
            f"/{index}/{number}": {"post": _operation(part)}
            for index, where in enumerate(self.free)
            for number, part in enumerate(self.parts[where][:_MAX_PARTS])
            if part
        }
        information = {"title": "places", "version": "1"}
        return {
            "openapi": "3.1.0", "info": information, "paths": paths, "components": {"schemas": self._components},
        }  # fmt: skip

    def kind(self, body: Any, edit: Edit) -> tuple[str, str, str] | None:
        """What the edit is: place, keyword of the schema, type of the value; None where the body stays valid."""
        try:
            changed = edit.change(body)
        except (LookupError, ValueError):
            return None
        error = next(iter(self._validator.iter_errors(changed)), None)
        if error is None and (not self.breaks_format(edit) or self._strict_validator.is_valid(changed)):
            return None
        keyword = str(error.schema_path[-1]) if error is not None else "format"
        return edit.where, keyword, "" if edit.is_removal else json_type(edit.value)

    def breaks_format(self, edit: Edit) -> bool:
        """Whether the new value is not of the format that its place has."""
        return breaks_format(self.parts.get(edit.where, ()), edit.value)


def _operation(part: Mapping[str, Any]) -> dict[str, Any]:
    content = {"application/json": {"schema": part}}
    return {"requestBody": {"required": True, "content": content}, "responses": {"200": {"description": "Success"}}}


def draw_edits(schemas: PlaceSchemas, start_seed: int) -> list[Edit]:
    """Edits of one place: other values, no value, a member that is not allowed. Some may leave a body valid."""
    import schemathesis

    document = schemas.document()
    api = schemathesis.openapi.from_dict(document, config=schemathesis.Config())  # else one of the current folder
    found = [Edit(where, is_removal=True) for where in schemas.free]
    found += [Edit(where, value) for where in schemas.forbidden for value in _FURTHER_VALUES]
    for path in document["paths"]:
        where = schemas.free[int(path.split("/")[1])]
        found += [Edit(where, value) for value in _invalid_values(api, path, start_seed)]
    return found


def _invalid_values(api: BaseSchema, path: str, start_seed: int) -> list[Any]:
    """Different values that the schema of a place refuses; none where schemathesis cannot read it."""
    from hypothesis import given, seed
    from hypothesis.errors import HypothesisException
    from schemathesis import GenerationMode
    from schemathesis.errors import SchemathesisError

    found: dict[str, Any] = {}

    def keep(case: Any) -> None:
        if _is_ordinary(case.body):
            found.setdefault(json.dumps(case.body), case.body)

    try:
        cases = api[path]["POST"].as_strategy(generation_mode=GenerationMode.NEGATIVE)
        seed(start_seed)(hypothesis_settings(_DRAWS)(given(cases)(keep)))()
    except (LookupError, HypothesisException, SchemathesisError):
        return []
    return list(found.values())


def select_edits(edits: Iterable[Edit], kind: Callable[[Edit], Hashable], count: int, seed: int) -> list[Edit]:
    """At most `count` of the edits: one of each kind before a second one, and none whose kind is None."""
    shuffled = list(edits)
    random.Random(seed).shuffle(shuffled)
    seen: Counter[Hashable] = Counter()
    ranked: list[tuple[int, int, Edit]] = []
    for edit in shuffled:
        if (name := kind(edit)) is not None:
            ranked.append((seen[name], len(ranked), edit))
            seen[name] += 1
    return [edit for *_, edit in sorted(ranked, key=lambda item: item[:2])[:count]]


def _is_ordinary(value: Any) -> bool:
    """Whether a parser reads it without a limit of its own, about which BODY-5 asks; and whether it can be stored."""
    if isinstance(value, dict):
        return all(_is_ordinary(item) for pair in value.items() for item in pair)
    if isinstance(value, list):
        return all(map(_is_ordinary, value))
    if isinstance(value, (int, float)):
        return value == 0 or 1 / _LARGEST < abs(value) < _LARGEST
    return value is None or (isinstance(value, str) and _UNUSUAL.search(value) is None)


_BLANKS: Final = "".join(map(chr, (*range(0x21), 0x7F, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200C)))) + (
    "\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
)
"""What implementations take off the ends of a text: some of them every control character."""


def trim_texts(value: JsonValue) -> JsonValue:
    """The value with the blanks taken off the ends of its texts."""
    if isinstance(value, str):
        return value.strip(_BLANKS)
    if isinstance(value, dict):
        return {name: trim_texts(member) for name, member in value.items()}
    return [trim_texts(item) for item in value] if isinstance(value, list) else value

"""The published JSON Schema of a profile: the facts of `facts.schema.json`, each of which may be excluded instead.

`python -m conformance.profile.published` writes `profile.schema.json` anew, after a fact was added.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, Final

from conformance.profile.exclusions import NEVER
from conformance.profile.structure import profile_schema

FILE: Final = Path(__file__).with_name("profile.schema.json")
Schema = dict[str, Any]
_EXCLUSION: Final[Schema] = {
    "description": "It is not there, or cannot be seen.",
    "type": "object",
    "additionalProperties": False,
    "required": ["none"],
    "properties": {"none": {"description": "The reason.", "$ref": "#/$defs/text"}},
}
_OF_OPERATIONS: Final = ("bodies", "path", "unknown")


def published_schema() -> Schema:
    """The schema of a whole profile, exclusions included."""
    schema = copy.deepcopy(profile_schema())
    tables, parts = schema["properties"], schema["$defs"]
    parts["exclusion"] = _EXCLUSION
    sort = tables["credentials"]["additionalProperties"]["properties"]
    reason = _EXCLUSION["properties"]
    kept = {name: sort[name] for name in ("scopes", "installation", "status")}
    parts["absentCredential"] = {**_EXCLUSION, "properties": {**reason, **kept}}
    operation = {"operation": {"description": "By operationId.", "$ref": "#/$defs/text"}}
    parts["noTransition"] = {
        **_EXCLUSION,
        "required": ["operation", "none"],
        "properties": {**operation, **reason},
    }
    _or(tables["credentials"], "additionalProperties", "absentCredential")
    _or(tables["fixtures"]["additionalProperties"], "additionalProperties")
    _or(tables["fixtures"], "additionalProperties")
    _or(tables["effects"], "additionalProperties")
    _or(tables["operations"], "additionalProperties")
    _or(tables["transitions"], "items", "noTransition")
    _or(tables["schemas"]["properties"]["names"], "additionalProperties")
    for fact in _OF_OPERATIONS:
        _or(parts["operation"]["properties"], fact)
    for name in [name for name in tables if name not in (*NEVER, "credentials", "fixtures", "operations")]:
        for fact in tables[name].get("properties", {}):
            _or(tables[name]["properties"], fact)
        _or(tables, name)
    return schema


def _or(place: Schema, name: str, other: str = "exclusion") -> None:
    """Lets what stands at a name be an exclusion instead; its description stays where a reader looks for it."""
    own = place[name]
    described = {"description": own.pop("description")} if "description" in own else {}
    place[name] = {**described, "anyOf": [own, {"$ref": f"#/$defs/{other}"}]}


def render() -> str:
    """The file's text."""
    return json.dumps(published_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(render(), encoding="utf-8")

"""The published JSON Schema of a profile: its facts, each of which may be excluded instead.

`python -m conformance.profile.published_schema` regenerates `profile.schema.json`, and `facts.schema.json` which
profiles are read with, after a change of the facts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from conformance.profile.schema import DIALECT, FACTS_FILE, Schema, derive_facts_schema, facts_schema

FILE: Final = Path(__file__).with_name("profile.schema.json")
_TITLE: Final = {
    "title": "Profile of a target",
    "description": "Facts about one target: everything that the interface leaves not shown. The TOML document as JSON.",
}


def published_schema() -> Schema:
    """The schema of a whole profile, exclusions included."""
    return {"$schema": DIALECT, **_TITLE, **_with_exclusions(facts_schema())}


def _with_exclusions(schema: Any) -> Any:
    """Adds exclusions where they are allowed; descriptions stay at the outer level."""
    if not isinstance(schema, dict):
        return schema
    exclusion = schema.get("x-excludable")
    members = {name: _with_exclusions(item) for name, item in schema.items() if name != "x-excludable"}
    if not exclusion:
        return members
    description = {"description": members.pop("description")} if "description" in members else {}
    return {**description, "anyOf": [members, {"$ref": f"#/$defs/{exclusion}"}]}


def render() -> str:
    """The text of the published file."""
    return json.dumps(published_schema(), indent=2, ensure_ascii=False) + "\n"


def render_facts() -> str:
    """The text of `FACTS_FILE`."""
    return json.dumps(derive_facts_schema(), ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FACTS_FILE.write_text(render_facts(), encoding="utf-8")
    FILE.write_text(render(), encoding="utf-8")

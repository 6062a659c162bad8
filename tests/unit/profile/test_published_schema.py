"""The published JSON Schema, the template and the loader speak of the same keys."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema_rs
import pytest

from conformance.contract import load_contract
from conformance.profile import Profile
from conformance.profile import published_schema as module
from conformance.profile.exclusions import extract_exclusions
from conformance.profile.facts import declarations
from conformance.profile.published_schema import published_schema
from conformance.profile.schema import facts_schema, resolve
from conformance.profile.structure import structure_problems
from tests.support.paths import PROFILES

TEMPLATE = PROFILES / "template.toml"
EXCLUDABLE = [
    name
    for name, table in facts_schema()["properties"].items()
    if (table["x-excludable"] and name not in ("cleanup", "operations")) or name in ("credentials", "fixtures")
]
_LINE = re.compile(r"(?P<off># )?(?:(?P<header>\[\[?[^\]]+\]\]?)|(?P<key>\w+) = .*)")
_CALL = re.compile(r".*\.(http|prepare|restore)\.")
"""The members of a call are the same wherever one stands, so showing each once is enough."""


def _schema_keys(schema: Mapping[str, Any], at: str = "") -> Iterator[str]:
    schema = resolve(schema)
    for name, below in schema.get("properties", {}).items():
        yield f"{at}.{name}".lstrip(".")
        yield from _schema_keys(below, f"{at}.{name}")
    for keyword in ("additionalProperties", "items"):
        if isinstance(schema.get(keyword), dict):
            yield from _schema_keys(schema[keyword], f"{at}.*" if keyword == "additionalProperties" else at)


def _found_keys(value: Any, schema: Mapping[str, Any], at: str = "") -> Iterator[str]:
    schema = resolve(schema)
    if isinstance(value, list) and "items" in schema:
        for item in value:
            yield from _found_keys(item, schema["items"], at)
    elif isinstance(value, dict) and ("properties" in schema or isinstance(schema.get("additionalProperties"), dict)):
        for name, item in value.items():
            below = schema.get("properties", {}).get(name)
            key = f"{at}.{name if below is not None else '*'}".lstrip(".")
            if below is not None:
                yield key
            if below is None and schema.get("additionalProperties") is False:
                yield f"{at}.{name}".lstrip(".")
            else:
                yield from _found_keys(item, below if below is not None else schema["additionalProperties"], key)


def _template_keys() -> Iterator[str]:
    """Of every statement, whether it stands in a comment or not."""
    header = ""
    for line in TEMPLATE.read_text(encoding="utf-8").splitlines():
        match = _LINE.fullmatch(line.split("  #")[0].rstrip()) if line.startswith("# ") else _LINE.match(line)
        if match is None:
            continue
        statement = line.removeprefix("# ")
        header = f"{statement}\n" if match["header"] else header
        yield from _found_keys(tomllib.loads(header + ("" if match["header"] else statement)), facts_schema())


def test_the_schema_is_a_json_schema_and_every_key_is_described() -> None:
    """The published schema is valid against its own dialect, and says of each key what it is."""
    jsonschema_rs.meta.validate(facts_schema())
    jsonschema_rs.meta.validate(published_schema())

    def undescribed(schema: Mapping[str, Any], at: str) -> Iterator[str]:
        for name, below in schema.get("properties", {}).items():
            yield from () if "description" in below else (f"{at}.{name}",)
            yield from undescribed(below, f"{at}.{name}")
        for keyword in ("additionalProperties", "items"):
            if isinstance(schema.get(keyword), dict):
                yield from undescribed(schema[keyword], at)

    parts = {"": facts_schema(), **facts_schema()["$defs"]}
    assert [key for name, part in parts.items() for key in undescribed(part, name)] == []


@pytest.mark.parametrize("name", ["template.toml", "reference.toml"])
def test_the_profiles_of_the_house_validate(name: str) -> None:
    """What we publish as examples is valid against what we publish as schema."""
    if not (PROFILES / name).exists():
        pytest.skip(f"profiles/{name} does not exist yet")
    document = tomllib.loads((PROFILES / name).read_text(encoding="utf-8"))
    assert [e.message for e in jsonschema_rs.Draft202012Validator(published_schema()).iter_errors(document)] == []


def test_the_published_schema_is_of_these_facts() -> None:
    """`python -m conformance.profile.published_schema` writes it anew after a fact was added."""
    assert module.FILE.read_text(encoding="utf-8") == module.render()
    assert module.FACTS_FILE.read_text(encoding="utf-8") == module.render_facts()


def test_whatever_the_published_schema_lets_exclude_is_taken_as_an_exclusion() -> None:
    """At each place of the schema where an exclusion may stand the loader takes one, and nothing is left of it."""
    base: dict[str, Any] = {"name": "x", "base_url": "http://127.0.0.1:1", "authorization": {"format": "{key}"}}
    places = list(_excludable(published_schema(), ()))
    assert len(places) > 60
    for path in places:
        document: dict[str, Any] = {"none": "why"}
        for name in reversed(path):
            document = {name: document}
        if path[0] == "authorization":  # the one table that every profile has
            document = {"authorization": {**base["authorization"], **document["authorization"]}}
        rest, exclusions = extract_exclusions({**base, **document})
        assert list(exclusions.reasons) == [".".join(path)], path
        assert not structure_problems(rest), path


def _excludable(schema: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The places, by a name for each map, at which the schema offers an exclusion."""
    names = {"fixtures": "cart", "cart": "open", "names": "OAuthTokenRequest"}
    names |= dict.fromkeys(("operations", "effects"), "quotePublicCart") | {"cleanup": "cart"}
    offered = schema.get("anyOf", [schema])
    if {"$ref": "#/$defs/exclusion"} in offered:
        yield path
    own = offered[0]
    if "$ref" in own:
        own = published_schema()["$defs"][own["$ref"].rpartition("/")[2]]
    for name, below in own.get("properties", {}).items():
        yield from _excludable(below, (*path, name))
    if path and path[-1] in names and isinstance(own.get("additionalProperties"), dict):
        yield from _excludable(own["additionalProperties"], (*path, names[path[-1]]))


def test_the_template_shows_every_key_and_no_other() -> None:
    """What the template shows, commented out or not, is exactly what the schema allows."""
    shown, allowed = (
        {_CALL.sub("CALL.", key) for key in keys} for keys in (_template_keys(), _schema_keys(facts_schema()))
    )
    assert sorted(key for key in shown if not key.endswith("none")) == sorted(allowed)


@pytest.mark.parametrize("table", EXCLUDABLE)
def test_the_template_shows_how_each_table_is_excluded(table: str) -> None:
    """With `none`, and a reason that somebody might give."""
    text = TEMPLATE.read_text(encoding="utf-8")
    parts = [part for part in re.split(r"(?m)^(?=(?:# )?\[)", text) if re.match(rf"(# )?\[\[?{table}[\].]", part)]
    assert any(re.search(r"(?m)^# (none = \"|\w+ = \{ none = \")", part) for part in parts), table


def test_every_table_reaches_the_profile() -> None:
    """There is no table in the schema that the loader drops."""
    assert {one.path[0] for one in declarations(Profile)} == set(facts_schema()["properties"])


def test_every_fact_that_a_requirement_needs_is_a_key() -> None:
    """What a requirement names as its fact can be stated in a profile."""
    keys = set(_schema_keys(facts_schema()))
    needed = {fact for requirement in load_contract().requirements.values() for fact in requirement.facts}
    assert needed - keys == set()

"""Schemas of a profile: found under the interface's names, each usable on its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from conformance.core.errors import ProfileError
from conformance.profile import profile_from_document
from conformance.profile.model import Schemas

ERROR = {"type": "object", "required": ["code"], "properties": {"code": {"$ref": "%s/Code"}}}
CODE = {"type": "string", "nullable": True, "enum": ["A", "B"], "example": {"nullable": True}}


def _parts(base: str) -> dict[str, Any]:
    text = json.dumps({"PublicErrorResponse": ERROR, "Code": CODE, "Unused": {"$ref": "%s/Code"}})
    loaded: dict[str, Any] = json.loads(text.replace("%s", base))
    return loaded


def _load(directory: Path, document: Any, name: str = "s.json", **table: Any) -> Schemas:
    text = document if isinstance(document, str) else json.dumps(document)
    (directory / name).write_text(text, encoding="utf-8")
    profile = {"name": "x", "base_url": "http://h", "authorization": {"format": "{key}"}}
    return profile_from_document({**profile, "schemas": {"file": name, **table}}, directory=directory).schemas


def _accepts(schema: Any, value: Any) -> bool:
    return jsonschema_rs.Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    "document",
    [
        {"openapi": "3.0.3", "info": {}, "paths": {}, "components": {"schemas": _parts("#/components/schemas")}},
        {"components": {"schemas": _parts("#/components/schemas")}},
        {"schemas": _parts("#/schemas")},
        {"$defs": _parts("#/$defs")},
        _parts("#"),
    ],
    ids=["openapi", "components", "schemas", "defs", "map"],
)
@pytest.mark.parametrize("name", ["s.json", "s.yaml"])
def test_every_form_of_file_is_read(document: Any, name: str, tmp_path: Path) -> None:
    """An OpenAPI document, its components, or a plain map; JSON or YAML. What is not referred to stays behind."""
    by_name = _load(tmp_path, document, name).by_name
    assert list(by_name) == ["PublicErrorResponse"]
    schema = by_name["PublicErrorResponse"]
    assert _accepts(schema, {"code": "A"})
    assert _accepts(schema, {"code": None})
    assert not _accepts(schema, {"code": "C"})
    assert not _accepts(schema, {})
    assert "Unused" not in json.dumps(schema)


def test_nullable_is_openapi_3_0_only(tmp_path: Path) -> None:
    """In 3.1 the word means nothing."""
    document = {"openapi": "3.1.0", "components": {"schemas": _parts("#/components/schemas")}}
    assert not _accepts(_load(tmp_path, document).by_name["PublicErrorResponse"], {"code": None})


def test_the_other_words_of_openapi_3_0(tmp_path: Path) -> None:
    """A nullable reference and exclusive bounds that are true or false are translated; members named so are not."""
    point = {
        "type": "object",
        "properties": {
            "nullable": {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            "next": {"nullable": True, "allOf": [{"$ref": "#/components/schemas/PublicErrorResponse"}]},
        },
    }
    schema = _load(tmp_path, {"components": {"schemas": {"PublicErrorResponse": point}}}).by_name["PublicErrorResponse"]
    assert _accepts(schema, {"nullable": 2, "next": {"nullable": 3, "next": None}})
    assert not _accepts(schema, {"nullable": 1})
    assert not _accepts(schema, {"nullable": None})


def test_names_lead_to_what_the_file_calls_it(tmp_path: Path) -> None:
    document = {"components": {"schemas": {"Err": {"const": 1}, "PublicErrorResponse": {"const": 2}}}}
    by_name = _load(tmp_path, document, names={"PublicErrorResponse": "Err"}, meta_null=True).by_name
    assert _accepts(by_name["PublicErrorResponse"], 1)


def test_yaml_scalars_stay_what_json_schema_needs(tmp_path: Path) -> None:
    """Dates and the country NO are strings in a schema, and number keys are member names."""
    text = "PublicErrorResponse: {enum: [NO, on, 2030-01-02, true, 1], x-a: {200: ok}}\n"
    schema = _load(tmp_path, text, "s.yaml").by_name["PublicErrorResponse"]
    assert [_accepts(schema, value) for value in ("NO", "on", "2030-01-02", True, 1, False)] == [True] * 5 + [False]


def test_a_schema_that_refers_to_itself_is_carried_once(tmp_path: Path) -> None:
    tree = {"type": "object", "properties": {"child": {"$ref": "#/PublicErrorResponse"}}, "additionalProperties": False}
    schema = _load(tmp_path, {"PublicErrorResponse": tree}).by_name["PublicErrorResponse"]
    assert _accepts(schema, {"child": {"child": {}}})
    assert not _accepts(schema, {"child": {"x": 1}})


@pytest.mark.parametrize(
    "anchor, ref", [("$anchor", "$ref"), ("$dynamicAnchor", "$dynamicRef"), ("$dynamicAnchor", "$ref")]
)
@pytest.mark.parametrize("base", ["components", "schemas", "$defs", ""])
def test_a_reference_to_an_anchor_is_followed(anchor: str, ref: str, base: str, tmp_path: Path) -> None:
    """Of the schema itself and of another one; what is data stays as it is."""
    own = {anchor: "node", "type": "object", "properties": {"child": {ref: "#node"}, "code": {ref: "#code"}}}
    code = {"type": "string", anchor: "code", "default": {ref: "#node", anchor: "code"}}
    parts = {"PublicErrorResponse": {**own, "additionalProperties": False}, "Codes": {"properties": {"default": code}}}
    document: dict[str, Any] = {base: parts} if base else parts
    if base == "components":
        document = {"openapi": "3.1.0", "components": {"schemas": parts}}
    schema = _load(tmp_path, document).by_name["PublicErrorResponse"]
    assert _accepts(schema, {"child": {"child": {"code": "A"}}})
    assert not _accepts(schema, {"child": {"x": 1}})
    assert not _accepts(schema, {"code": 1})
    assert json.dumps(code["default"]) in json.dumps(schema)


def test_an_anchor_that_stands_twice_is_refused(tmp_path: Path) -> None:
    part = {"$anchor": "a", "type": "object", "properties": {"child": {"$ref": "#a"}}}
    with pytest.raises(ProfileError, match="Anchor 'a' does not exist"):
        _load(tmp_path, {"components": {"schemas": {"PublicErrorResponse": part, "Other": part}}})


def test_aliases_that_stand_for_billions_are_refused(tmp_path: Path) -> None:
    """Within the time that a million values take, and a text of a kilobyte is enough."""
    levels = ["a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(ProfileError, match="stand for more than 1,000,000 values"):
        _load(tmp_path, "\n".join(levels) + "\nPublicErrorResponse: {}\n", "s.yaml")


DRAFT = "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize(
    "dialect",
    [
        DRAFT,
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-04/schema",
        "https://spec.openapis.org/oas/3.1/dialect/base",
        "https://spec.openapis.org/oas/3.1/dialect/2024-11-10",
    ],
)
def test_known_dialects_are_accepted(dialect: str, tmp_path: Path) -> None:
    """In a schema and within one, in plain files and in OpenAPI documents of both versions."""
    schema = {"$schema": dialect, "type": "object", "properties": {"code": {"$schema": dialect, "type": "string"}}}
    for document in (
        {"$schema": dialect, "$defs": {"PublicErrorResponse": schema}},
        {"openapi": "3.0.3", "components": {"schemas": {"PublicErrorResponse": schema}}},
        {
            "openapi": "3.1.0",
            "$schema": "https://spec.openapis.org/oas/3.1/schema/2022-10-07",
            "jsonSchemaDialect": dialect,
            "components": {"schemas": {"PublicErrorResponse": schema}},
        },
    ):
        loaded = _load(tmp_path, document).by_name["PublicErrorResponse"]
        assert _accepts(loaded, {"code": "A"})
        assert not _accepts(loaded, {"code": 1})


@pytest.mark.parametrize("place", ["schema", "property", "item"])
def test_an_unknown_dialect_is_refused(place: str, tmp_path: Path) -> None:
    """The validator would request it from its address."""
    other = {"$schema": "http://127.0.0.1:9/dialect", "type": "string"}
    forms = {"schema": other, "property": {"properties": {"a": other}}, "item": {"anyOf": [{"items": other}]}}
    with pytest.raises(ProfileError, match=r"PublicErrorResponse has the \$schema http://127.0.0.1:9/dialect"):
        _load(tmp_path, {"PublicErrorResponse": forms[place]})


@pytest.mark.parametrize("keyword", ["const", "default", "example"])
def test_data_may_name_any_dialect(keyword: str, tmp_path: Path) -> None:
    """So may a property of this name."""
    value = {"$schema": "http://127.0.0.1:9/dialect"}
    schema = {"properties": {"a": {keyword: value}, "$schema": {"type": "string"}}}
    assert _accepts(_load(tmp_path, {"PublicErrorResponse": schema}).by_name["PublicErrorResponse"], {"a": value})


@pytest.mark.parametrize(
    ("name", "text", "line", "problem"),
    [
        ("s.json", '{\n "Code": {},\n "Code": {"type": "string"}\n}', 3, "'Code' is stated twice, first in line 2"),
        ("s.json", '{"A": {},\n "Code": {"type": 1,\n "\\u0074ype": 2}}', 3, "'type' is stated twice, first in line 2"),
        ("s.yaml", "A: {}\nCode:\n  type: string\n  type: object\n", 4, "'type' is stated twice, first in line 3"),
        ("s.yaml", "Code: {}\nA: {}\n'Code': {}\n", 3, "'Code' is stated twice, first in line 1"),
        ("s.yaml", '{"Code": {},\n"Code": {}}', 2, "'Code' is stated twice, first in line 1"),
    ],
)
def test_a_name_that_is_stated_twice_is_refused(tmp_path: Path, name: str, text: str, line: int, problem: str) -> None:
    """Only the last one would count, and the first one be ignored."""
    with pytest.raises(ProfileError) as raised:
        _load(tmp_path, text, name)
    assert f"{name}:{line}: the name {problem} (only the last one would count: remove or rename one of them)" in str(
        raised.value
    )


def test_a_name_that_a_merge_brings_may_be_overridden(tmp_path: Path) -> None:
    """As YAML's `<<` means it; and equal names in different objects are no duplicates."""
    text = "Base: &base\n  type: object\nPublicErrorResponse:\n  <<: *base\n  type: string\n"
    assert _accepts(_load(tmp_path, text, "s.yaml").by_name["PublicErrorResponse"], "a text")


_MARKED = {
    "Webhook": {
        "type": "object",
        "required": ["id", "url", "confirmation"],
        "properties": {
            "id": {"$ref": "#/components/schemas/Id"},
            "url": {"type": "string"},
            "confirmation": {"type": "string", "writeOnly": True},
        },
    },
    "Id": {"type": "string", "readOnly": True},
    "PublicWebhookCreateRequest": {"$ref": "#/components/schemas/Webhook"},
    "OperationResponse": {
        "type": "object",
        "properties": {
            "data": {
                "allOf": [
                    {"$ref": "#/components/schemas/Webhook"},
                    {"type": "object", "required": ["confirmation", "id"]},
                ],
                "properties": {"confirmation": {"writeOnly": True}},
            }
        },
    },
}


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_a_member_of_one_direction_is_required_in_that_alone(version: str, tmp_path: Path) -> None:
    """A `readOnly` one in responses, a `writeOnly` one in requests: requests and responses may share a schema."""
    document = {"openapi": version, "info": {}, "paths": {}, "components": {"schemas": _MARKED}}
    by_name = _load(tmp_path, document).by_name
    request, response = by_name["PublicWebhookCreateRequest"], by_name["OperationResponse"]
    assert _accepts(request, {"url": "u", "confirmation": "c"})
    assert not _accepts(request, {"url": "u", "id": "i"})
    assert not _accepts(request, {"id": "i", "confirmation": "c"})
    assert _accepts(response, {"data": {"url": "u", "id": "i"}})
    assert not _accepts(response, {"data": {"url": "u", "confirmation": "c"}})

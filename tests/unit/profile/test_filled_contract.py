"""The filled contract is valid OpenAPI, means what the profile says, and refuses what the profile says is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema_rs
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from conformance.contract import load_contract
from conformance.profile.behavior import Authorization, Idempotency
from conformance.profile.components import put_schemas
from conformance.profile.filled_contract import filled_contract
from conformance.profile.filled_parameters import example_key, header_parameters, idempotency_parameters
from conformance.profile.loader import load_profile
from conformance.profile.model import Profile
from tests.support.paths import PROFILES

NAMES = ("reference", "guides/heron", "guides/kestrel")
UUID = "6f1c1c5e-3c4b-4f0a-9d55-0a3e5b0c7a11"


def _profile(name: str) -> Profile:
    return load_profile(PROFILES / f"{name}.toml")


def _operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {operation["operationId"]: operation for path in document["paths"].values() for operation in path.values()}


def _is_valid(document: dict[str, Any], schema: Any, value: Any) -> bool:
    whole = {"components": document["components"], "allOf": [schema]}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True).is_valid(value)


@pytest.mark.parametrize("name", [*NAMES, "template"])
def test_it_is_valid_openapi_3_1(name: str) -> None:
    """The specification's own schema has no complaint, and all twenty operations are in it."""
    document = filled_contract(_profile(name))
    assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []
    assert _operations(document).keys() == load_contract().operations.keys()


@pytest.mark.parametrize("name", NAMES)
def test_every_reference_leads_somewhere(name: str) -> None:
    """Also those between the schemas of the profile's file, which has names of its own."""
    document = filled_contract(_profile(name))
    for component in document["components"]["schemas"]:
        assert isinstance(_is_valid(document, {"$ref": f"#/components/schemas/{component}"}, {}), bool)


@pytest.mark.parametrize("name", NAMES)
def test_every_example_is_valid_against_its_schema(name: str) -> None:
    """Of parameters, the idempotency key among them, and of bodies."""
    document = filled_contract(_profile(name))
    count = 0
    for operation in _operations(document).values():
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        for holder in [*operation.get("parameters", []), *([content] if content else [])]:
            for example in holder.get("examples", {}).values():
                count += 1
                assert _is_valid(document, holder["schema"], example["value"]), (operation["operationId"], example)
    assert count > 10


def test_a_schema_keeps_its_meaning() -> None:
    """What a component accepts is what the profile's schema accepts, with definitions of any place and name."""
    file = {"Body": {"$ref": "#/$defs/In~1ner"}, "$defs": {"In/ner": {"type": "object", "properties": {}}}}
    file["$defs"]["In/ner"]["properties"] = {"n": {"$ref": "#/$defs/OperationResponse/properties/n"}}
    file["$defs"]["OperationResponse"] = {"properties": {"n": {"type": "integer"}}}
    components: dict[str, Any] = {"OperationResponse": {"type": "object"}}
    put_schemas(components, {"Request": {"$ref": "#/Body", **file}, "Again": {"$ref": "#/Body", **file}})
    assert components["OperationResponse"] == {"type": "object"}, "an interface's name is not taken by another schema"
    document = {"components": {"schemas": components}}
    for name in ("Request", "Again"):
        schema = {"$ref": f"#/components/schemas/{name}"}
        assert _is_valid(document, schema, {"n": 1})
        assert not _is_valid(document, schema, {"n": "1"})


def test_a_body_that_needs_a_fixture_is_no_example() -> None:
    """Its placeholder has no value before a run; no placeholder is ever written out."""
    operations = _operations(filled_contract(_profile("reference")))
    content = operations["requestStorefrontOrderAfterSales"]["requestBody"]["content"]["application/json"]
    assert "examples" not in content
    for operation in operations.values():
        assert "{order." not in json.dumps(operation.get("requestBody"))


@pytest.mark.parametrize(
    ("stated", "good", "bad"),
    [
        (Idempotency("header", name="K", format="uuid"), UUID, "no"),
        (Idempotency("query", name="k", format="pattern", pattern="a|b"), "b", "ab"),
        (Idempotency("header", name="K", format="uuid", written='"{key}"'), f'"{UUID}"', UUID),
        (
            Idempotency("header", name="K", format="pattern", pattern="[0-9]{8}", written="v1.{key}"),
            "v1.12345678",
            "v1x12345678",
        ),
    ],
)
def test_the_key_s_parameter_says_how_a_key_is_written(stated: Idempotency, good: str, bad: str) -> None:
    """Its schema accepts what the carrier carries, and nothing else."""
    [parameter] = idempotency_parameters(stated)
    assert (parameter["in"], parameter["name"], parameter["required"]) == (stated.carrier, stated.name, True)
    assert _is_valid({"components": {}}, parameter["schema"], good)
    assert not _is_valid({"components": {}}, parameter["schema"], bad)
    key = example_key(stated, "seed")
    assert not key or _is_valid({"components": {}}, parameter["schema"], key)


def test_a_key_in_the_body_is_no_parameter() -> None:
    """It is in the body's examples instead."""
    profile = replace(_profile("reference"), idempotency=Idempotency("body", pointer="/meta/key", format="uuid"))
    operation = _operations(filled_contract(profile))["createInstallationWebhook"]
    assert "parameters" not in operation
    examples = operation["requestBody"]["content"]["application/json"]["examples"]
    assert all(len(example["value"]["meta"]["key"]) == len(UUID) for example in examples.values())


@pytest.mark.parametrize(
    ("form", "scheme"), [("Bearer {key}", "http"), ("ApiKey {key}", "apiKey"), ("{key}", "apiKey")]
)
def test_the_security_scheme_is_as_the_profile_writes_a_key(form: str, scheme: str) -> None:
    """Bearer is a scheme that tools know; any other form is the Authorization header itself."""
    profile = replace(_profile("reference"), authorization=Authorization(form))
    stated = filled_contract(profile)["components"]["securitySchemes"]["ApiKey"]
    assert stated["type"] == scheme
    assert scheme == "http" or (stated["name"] == "Authorization" and form in stated["description"])


def test_the_search_s_bounds_are_those_that_are_refused() -> None:
    """A page size that is used as the nearest one is not a violation of the contract."""
    profile = _profile("reference")
    lenient = replace(profile, search=replace(profile.search, page_size_above="clamped", unlisted="ignored"))

    def schemas(of: Profile) -> dict[str, Any]:
        return {
            one["name"]: one["schema"] for one in _operations(filled_contract(of))["searchPublicProducts"]["parameters"]
        }

    assert schemas(profile)["pageSize"]["maximum"] == 50
    assert schemas(profile)["sort"]["enum"] == ["relevance", "name", "price_asc", "price_desc"]
    assert "maximum" not in schemas(lenient)["pageSize"]
    assert "enum" not in schemas(lenient)["locale"]


def test_a_header_of_the_profile_is_a_parameter() -> None:
    """With its value where no placeholder is in it; OpenAPI ignores the headers that it knows otherwise."""
    found = header_parameters({"X-Shop": "a{{b", "X-Run": "{unique}", "Accept": "text/html"})
    assert [(one["name"], one["schema"]) for one in found] == [
        ("X-Shop", {"type": "string", "enum": ["a{b"]}),
        ("X-Run", {"type": "string"}),
    ]

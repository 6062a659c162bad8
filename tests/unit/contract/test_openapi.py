"""`openapi.yaml` is a real OpenAPI 3.1 document, and its shapes are the interface's."""

from __future__ import annotations

import json
from typing import Any

from openapi_spec_validator import OpenAPIV31SpecValidator

from conformance.contract import load_contract, openapi_document


def _operations() -> list[dict[str, Any]]:
    return [operation for item in openapi_document()["paths"].values() for operation in item.values()]


def test_it_is_valid_openapi_3_1() -> None:
    """The specification's own schema has no complaint."""
    assert list(OpenAPIV31SpecValidator(openapi_document()).iter_errors()) == []


def test_every_operation_declares_the_seven_statuses() -> None:
    """200 with its own schema; every other one with PublicErrorResponse (Endpoints, rule 1)."""
    components = openapi_document()["components"]
    for operation in _operations():
        assert list(operation["responses"]) == ["200", "400", "401", "403", "404", "409", "429"]
        for status, response in operation["responses"].items():
            if status != "200":
                shared = components["responses"][response["$ref"].rpartition("/")[2]]
                schema = shared["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/PublicErrorResponse"}


def test_no_retry_after_is_declared() -> None:
    """Limits, rule 2."""
    assert all("headers" not in response for response in openapi_document()["components"]["responses"].values())


def test_request_bodies_are_required_and_json() -> None:
    """Endpoints, rule 4."""
    for operation in _operations():
        body = operation.get("requestBody")
        assert body is None or (body["required"] is True and list(body["content"]) == ["application/json"])


def test_schemas_that_are_not_shown_are_open() -> None:
    """A request body or an error is any object; an answer any object around `data` of the right type, and `meta`."""
    document = openapi_document()
    schemas = document["components"]["schemas"]
    envelopes = {"object": "ObjectEnvelope", "array": "ListEnvelope"}
    assert schemas["ObjectEnvelope"]["properties"] == {"data": {"type": "object"}}
    assert schemas["ListEnvelope"]["properties"] == {"data": {"type": "array", "items": {}}, "meta": {"type": "object"}}
    assert all(schemas[name]["required"] == ["data"] for name in envelopes.values())
    for operation in load_contract().all:
        ref = f"#/components/schemas/{envelopes[operation.data_shape]}"
        assert schemas[operation.response_schema]["$ref"] == ref
        if operation.has_body:
            assert set(schemas[operation.request_schema]) == {"type", "description"}
    assert "additionalProperties" not in json.dumps(document)


def test_every_operation_says_how_it_is_authenticated() -> None:
    """An empty list for public ones, and else one scheme; only the API key has scopes."""
    for declared, operation in zip(_operations(), load_contract().all, strict=True):
        expected = {
            "none": [],
            "oauth": [{"DPoP": []}],
            "api_key": [{"ApiKey": [operation.scope] if operation.scope else []}],
        }
        assert declared["security"] == expected[operation.auth]

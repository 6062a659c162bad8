"""What peers are given is a sound contract with the interface's operations; else their figures would mean nothing."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from conformance.contract import load_contract
from tests.benchmarks.common import service
from tests.benchmarks.peer_document import EXAMPLES, FOUND, UNKNOWN, document, stand_in
from tests.benchmarks.peer_runs import recorded


def _operations(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {operation["operationId"]: operation for path in told["paths"].values() for operation in path.values()}


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """A 200 of each operation, asked of the reference with the first examples of a document."""
    with service() as running:
        return recorded(running)


def test_the_document_is_valid_openapi_3_1(answers: dict[str, Any]) -> None:
    """With all that is filled in, the specification's own schema has no complaint."""
    assert list(OpenAPIV31SpecValidator(document("http://target.invalid", stand_in, answers)).iter_errors()) == []


def test_its_operations_are_the_interface_s() -> None:
    """All twenty and no other, and each that must be called idempotently takes the key."""
    operations = _operations(document("http://target.invalid", stand_in))
    contract = load_contract()
    assert operations.keys() == contract.operations.keys()
    keyed = {
        name
        for name, operation in operations.items()
        if any(parameter["name"] == "Idempotency-Key" for parameter in operation.get("parameters", []))
    }
    assert keyed == {operation.id for operation in contract.idempotent}


def test_every_parameter_and_body_has_its_examples() -> None:
    """Under the same names, so that a peer takes together what belongs together."""
    names = {f"{FOUND}_{number + 1}" for number in range(EXAMPLES)}
    for name, operation in _operations(document("http://target.invalid", stand_in)).items():
        body = operation.get("requestBody", {}).get("content", {}).get("application/json")
        for part in [*operation.get("parameters", []), *([body] if body else [])]:
            if part.get("required", True):
                assert part["examples"].keys() - {UNKNOWN} == names, name


def test_the_first_examples_are_answered_with_a_200_of_their_schema(answers: dict[str, Any]) -> None:
    """The examples work on a sound service, the token exchange with its DPoP proof among them."""
    told = document("http://target.invalid", stand_in)
    for name, operation in _operations(told).items():
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        whole = {**schema, "components": told["components"]}
        assert jsonschema_rs.validator_for(whole).is_valid(answers[name]), name

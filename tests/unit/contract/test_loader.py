"""The contract says what the interface says, no more and no less."""

from __future__ import annotations

import csv
import re
import subprocess
import sys

import pytest

from conformance.contract import Operation, load_contract
from conformance.core.model import STATUSES
from tests.support.documents import shared


def _rows(columns: int) -> list[list[str]]:
    lines = (line for line in shared("interface.md").splitlines() if line.startswith("|"))
    cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [row for row in cells if len(row) == columns and not row[0].startswith("---")]


def _endpoint_row(operation: Operation) -> list[str]:
    """The operation as the interface's table of endpoints writes it."""
    scopes = {"none": "none", "oauth": "OAuth 2.0 Authorization Code + PKCE S256 + DPoP"}
    key = f"API key ({operation.scope or 'no scope required'})"
    parameters = ", ".join(f"{name}: path, required, string" for name in operation.path_parameters)
    return [
        operation.id,
        f"{operation.method} {operation.path}",
        str(operation.stability),
        scopes.get(operation.auth, key),
        "required" if operation.idempotent else "none",
        parameters or ("see search parameters" if operation.query_parameters else "none"),
        f"{operation.request_schema} (required)" if operation.has_body else "none",
        operation.response_schema,
    ]


def test_operations_are_the_table_of_endpoints() -> None:
    """Ids, methods, paths, stability, scopes, idempotency, parameters and schemas, in the interface's order."""
    rows = _rows(8)[1:]
    for row in rows:
        row[5] = "none" if row[5] == "none declared" else row[5]
    assert [_endpoint_row(operation) for operation in load_contract().all] == rows
    assert len(rows) == 20


def test_search_parameters_are_the_table_of_them() -> None:
    """Names, order, whether they are required, and types."""
    declared = load_contract().operations["searchPublicProducts"].query_parameters
    rows = [row for row in _rows(4) if row[1] == "query"]
    assert [[p.name, "query", "yes" if p.required else "no", p.type] for p in declared] == rows
    assert all(not o.query_parameters for o in load_contract().all if o.id != "searchPublicProducts")


def test_schema_names_are_the_interfaces() -> None:
    """Every schema that the interface names, and no other."""
    named = {name for row in _rows(2) for name in row[0].split(" / ") if re.fullmatch(r"[A-Z]\w+", name)}
    assert set(load_contract().schema_names) == named - {"Shape", "Schema", "Mode", "Scope", "Status", "None"}


def test_lists_are_the_three_that_the_interface_names() -> None:
    row = next(row for row in _rows(2) if row[0] == "{ data: array, meta?: object }")
    assert [o.id for o in load_contract().select("list")] == row[1].removesuffix(" (meta is optional)").split(", ")


NOT_YET: set[str] = set()
"""Rows of the catalogue about facts that a profile cannot state yet."""
OWN = {"OA-17", "OA-18", "ANS-1", "ANS-2", "HO-6", "HO-7", "PUB-4", "BODY-10"}
"""Requirements of facts that the catalogue has no row for."""


def test_requirements_are_the_catalogues() -> None:
    """The same ids in the same order, at the same levels; what is not there yet, or has no row, is named here."""
    rows = csv.DictReader(shared("catalogue/requirements.tsv").splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    wanted = [(row["id"], row["level"]) for row in rows if row["id"] not in NOT_YET]
    found = [(one.id, str(one.level)) for one in load_contract().requirements.values()]
    assert [row for row in found if row[0] not in OWN] == wanted


def test_requirements_stand_in_sections_of_the_interface() -> None:
    """The section that a requirement cites is a heading of the interface."""
    headings = set(re.findall(r"^#+ (.+)$", shared("interface.md"), re.MULTILINE))
    headings |= {heading.partition(" (")[0] for heading in headings}
    for requirement in load_contract().requirements.values():
        heading = re.sub(r"(, rules? .*|: scopes)$", "", requirement.section)
        assert heading in headings, requirement.id


def test_selections_have_the_sizes_that_the_interface_gives_them() -> None:
    contract = load_contract()
    sizes = {
        "all": 20, "api-key": 13, "scoped": 11, "unscoped": 2, "public": 6, "oauth": 1, "idempotent": 10, "plain": 10,
        "body": 10, "path": 13, "read": 10, "object": 17, "list": 3, "hosted": 2, "webhooks": 3, "carts": 5,
        "orders": 3, "scoped idempotent": 7,
    }  # fmt: skip
    assert {word: len(contract.select(word)) for word in sizes} == sizes
    assert contract.select(["oauth", "hosted"]) == contract.all[-3:]
    with pytest.raises(ValueError, match="no operation is 'nothing'"):
        contract.select("nothing")


def test_every_requirement_is_a_clause_with_a_how() -> None:
    """A statement is one sentence, a how at most a few, and each requirement has operations and no empty cell."""
    for requirement in load_contract().requirements.values():
        assert re.fullmatch(r"[A-Z].*[^.]\.", requirement.statement), requirement.id
        assert requirement.statement != requirement.how
        assert re.fullmatch(r"[A-Z].{20,}\.", requirement.how), requirement.id
        assert requirement.operations, requirement.id


def test_the_digest_is_a_sha256_and_the_contract_is_read_once() -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", load_contract().digest)
    assert load_contract() is load_contract()


def test_statuses_are_the_seven_that_the_interface_declares() -> None:
    rows = [int(row[0]) for row in _rows(2) if row[0].isdigit()]
    assert sorted([200, *rows]) == sorted(STATUSES)


def test_loading_is_fast() -> None:
    """A fresh process needs less than 60 ms for the contract, beyond starting up and importing."""
    clock = "time.process_time()"
    code = f"import time, conformance.contract as c; t = {clock}; c.load_contract(); print({clock} - t)"
    assert min(float(subprocess.check_output([sys.executable, "-c", code], text=True)) for _ in range(3)) < 0.06

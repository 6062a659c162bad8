"""What a fixture provides is bounded in size, whoever provides it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from conformance.profile.resources import Fixture
from tests.unit.client.test_fixtures import command, failure, provide


@pytest.mark.parametrize(
    ("members", "name"), [({}, "id"), ({"order": "/id"}, "order")], ids=["of the object", "by pointer"]
)
def test_a_member_of_more_than_a_bound_is_refused(members: Mapping[str, str], name: str) -> None:
    """It would stand in each request and in each line of the journal that has the resource."""
    problem = failure(Fixture("order", "open", values=({"id": "x" * 70_000},), members=members))
    assert problem.message == f"the member {name!r} has 70,000 characters, more than 65,536"
    (value,) = provide(Fixture("order", "open", values=({"id": "x" * 60_000},), members=members))
    assert value == {name: "x" * 60_000}


def test_a_member_in_a_batch_of_more_than_a_bound_is_refused(tmp_path: Path) -> None:
    """Nothing of the batch is used."""
    script = "print(json.dumps(dict(made=[dict(id='a'), dict(id=['x' * 70_000])])))"
    problem = failure(Fixture("order", "open", command=command(script), items="/made"), directory=tmp_path)
    assert problem.message == "the member 'id' has 70,004 characters, more than 65,536"

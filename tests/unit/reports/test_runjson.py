"""`run.json` is a contract: schema, round trip, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest

from conformance.core.errors import JournalError
from conformance.core.model import Run
from conformance.reports import runjson
from tests.support.values import replace

VALIDATOR = jsonschema_rs.validator_for(runjson.schema(), validate_formats=True)


@pytest.mark.parametrize("name", ["small", "big", "hostile"])
def test_every_run_is_valid_against_the_published_schema(name: str, request: pytest.FixtureRequest) -> None:
    """Whatever the target wrote, consumers get the shape they were promised."""
    value = json.loads(runjson.render(request.getfixturevalue(name)))
    assert [f"{list(e.instance_path)}: {e.message[:200]}" for e in VALIDATOR.iter_errors(value)] == []


def test_the_schema_is_itself_valid_2020_12() -> None:
    """Any validator can use it."""
    assert runjson.schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert jsonschema_rs.meta.is_valid(runjson.schema())


@pytest.mark.parametrize("member", ["verdict", "tiers", "results", "coverage", "seed", "filtered"])
def test_the_schema_refuses_a_run_that_lacks_a_member(small: Run, member: str) -> None:
    """The schema is not so loose that it accepts anything."""
    value = json.loads(runjson.render(small))
    del value[member]
    assert not VALIDATOR.is_valid(value)
    assert not VALIDATOR.is_valid(json.loads(runjson.render(small)) | {"surprise": 1})


def test_a_run_comes_back_as_it_went(small: Run, tmp_path: Path) -> None:
    """Everything but the exchanges, from the file and from its folder."""
    path = runjson.write_file(small, tmp_path)
    assert runjson.load_run(path) == runjson.load_run(tmp_path) == replace(small, exchanges=())


def test_a_hostile_run_comes_back_bounded(hostile: Run, tmp_path: Path) -> None:
    """A message of a million characters does not make a report of a million characters."""
    path = runjson.write_file(hostile, tmp_path)
    path.read_bytes().decode("utf-8", "strict")
    assert path.stat().st_size < 400_000
    assert len(runjson.load_run(path).results) == len(hostile.results)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "No such file"),
        ("{", "not a JSON"),
        ("[]", "shape"),
        ('{"schema_version":9}', "9"),
        ('{"schema_version":2}', "shape"),
    ],
)
def test_what_is_no_run_is_refused_with_the_reason(tmp_path: Path, content: str | None, told: str) -> None:
    """A JournalError names the file and what is wrong with it."""
    path = tmp_path / "run.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(JournalError, match=told) as caught:
        runjson.load_run(path)
    assert caught.value.where == str(path)

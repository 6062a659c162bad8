"""The boundary of a random target: names are translated out and back, and none of the schemas is missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from conformance.reference.random_targets.boundary import NAMES, Boundary, names_of
from conformance.reference.random_targets.choices import target_from
from conformance.reference.random_targets.legitimate_values import CHOICES
from tests.support.paths import PROFILES

SCHEMAS = yaml.safe_load((PROFILES / "reference.schemas.yaml").read_text(encoding="utf-8"))


def test_the_names_are_all_that_the_schemas_have() -> None:
    def named(schema: Any) -> Iterator[str]:
        for word, part in schema.items() if isinstance(schema, dict) else ():
            yield from part if word == "properties" else ()
            yield from (n for below in (part.values() if word == "properties" else [part]) for n in named(below))

    assert {*named(SCHEMAS)} - {*NAMES} <= {"data", "meta", "instance", "knownVersion"}


@pytest.mark.parametrize("vocabulary", CHOICES["vocabulary"])
@pytest.mark.parametrize("style", CHOICES["style"])
def test_names_go_out_as_they_came_in(style: str, vocabulary: str) -> None:
    target = target_from({"style": style, "vocabulary": vocabulary})
    names = names_of(target)
    boundary = Boundary(target)
    value = {name: [{other: 1} for other in [*NAMES, *names, "foreign/name", "data"]] for name in (*NAMES, "meta")}
    assert all(names[called] == name for name, called in names.items())
    assert boundary.rename(boundary.rename(value)) == value
    assert boundary.rename({"data": 1, "meta": 2}) == {"data": 1, "meta": 2}

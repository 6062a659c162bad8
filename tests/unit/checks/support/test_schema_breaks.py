"""What schemathesis draws for a place: one defect each, of every kind, and never a body that the schema allows."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import jsonschema_rs
import pytest

from conformance.checks.support.schema_breaks import PlaceSchemas, _is_ordinary, draw_edits, select_edits, trim_texts
from conformance.checks.support.strategies import Edit
from conformance.core.strict_json import is_equal

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["url"],
    "additionalProperties": False,
    "properties": {
        "url": {"type": "string", "maxLength": 40},
        "n": {"type": "integer", "minimum": 1, "maximum": 5},
        "list": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"$ref": "#/$defs/Code"}},
        "id": {"type": "string", "format": "uuid"},
        "mail": {"type": "string", "format": "email", "maxLength": 60},
        "kind": {"enum": ["small", "large"]},
        "key": {"type": "string"},
    },
    "$defs": {"Code": {"type": "string", "pattern": "^[a-z]{2}$"}},
}
BODY: dict[str, Any] = {
    "url": "https://a.example",
    "n": 3,
    "list": ["ab"],
    "id": "6f1c1c5e-3c4b-4f0a-9d55-0a3e5b0c7a11",
    "mail": "a@b.example",
    "kind": "small",
    "key": "k-1",
}
KEPT = frozenset({"/key"})


def drawn(schema: dict[str, Any], body: Any = BODY, count: int = 80, seeds: int = 1) -> list[Edit]:
    """What some seeds draw together: hypothesis draws constants of whatever modules were imported, too."""
    schemas = PlaceSchemas(body, schema, KEPT)
    edits = [edit for seed in range(1, seeds + 1) for edit in draw_edits(schemas, seed)]
    return select_edits(edits, partial(schemas.kind, body), count, 1)


@pytest.fixture(scope="module")
def edits() -> list[Edit]:
    return drawn(SCHEMA, count=400, seeds=5)


def test_each_is_against_the_schema_in_one_place(edits: list[Edit]) -> None:
    """The rest of the body is as it was, and what must be kept is kept."""
    strict = jsonschema_rs.Draft202012Validator(SCHEMA, validate_formats=True)
    for edit in edits:
        changed = edit.change(BODY)
        assert not strict.is_valid(changed), edit
        top = edit.where.split("/")[1]
        assert {name: item for name, item in changed.items() if name != top} == {
            name: item for name, item in BODY.items() if name != top
        }
        assert changed["key"] == "k-1"


KINDS: dict[str, Callable[[Edit], bool]] = {
    "a text of no format": lambda edit: edit.where in ("/id", "/mail") and isinstance(edit.value, str),
    "no value of an enum": lambda edit: edit.where == "/kind" and isinstance(edit.value, str),
    "beyond a bound": lambda edit: edit.where in ("/n", "/url", "/list") and type(edit.value) is type(_at(edit.where)),
    "another type": lambda edit: edit.where in ("/n", "/list") and type(edit.value) is not type(_at(edit.where)),
    "a required member less": lambda edit: edit.is_removal and edit.where == "/url",
    "a member too many": lambda edit: edit.where in ("/further", "/extra member"),
}


def _at(where: str) -> Any:
    return BODY[where[1:]]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_defect_is_drawn(edits: list[Edit], kind: str) -> None:
    """The exact bounds are those of `schema_bounds`."""
    assert any(map(KINDS[kind], edits))


def test_a_format_with_room_for_opinions_is_not_asked() -> None:
    """What is a URI differs from reader to reader, and JSON Schema asserts no format by itself."""
    schema = {"type": "object", "properties": {"link": {"type": "string", "format": "uri"}}}
    body = {"link": "https://a.example", "key": "k"}
    assert all(not isinstance(edit.value, str) for edit in drawn(schema, body) if edit.where == "/link")


def test_a_member_too_many_is_no_defect_where_it_is_ignored() -> None:
    """The profile says what an unknown member is, whatever its schemas leave out."""
    assert PlaceSchemas(BODY, SCHEMA, KEPT).forbidden == ("/further", "/extra member")
    assert PlaceSchemas(BODY, SCHEMA, KEPT, closed=False).forbidden == ()


@pytest.mark.parametrize("value", [2**31, -(2**53), 1e300, 1e-300, "a\0", "\ud800", {"a": [2**63]}, {"\0": 1}, b"x"])
def test_what_another_requirement_asks_about_is_left_out(value: Any) -> None:
    """Extreme numbers and characters: a service that trips over them would turn two rows red."""
    assert not _is_ordinary(value)


@pytest.mark.parametrize("value", [None, True, 0, 1.5, -6, "é\n", [], {"a": [False]}])
def test_any_other_value_may_be_sent(value: Any) -> None:
    """Of every JSON type."""
    assert _is_ordinary(value)


def test_an_open_schema_has_nothing_to_break() -> None:
    """No edit, and no error."""
    schemas = PlaceSchemas(BODY, {"type": "object"}, KEPT)
    assert schemas.forbidden == ()
    assert schemas.document()["paths"] == {}


def test_values_survive_being_stored(edits: list[Edit]) -> None:
    """They are plain JSON: no bytes, no half characters, no infinity."""
    for edit in edits:
        assert is_equal(json.loads(json.dumps(edit.value)), edit.value)


def test_one_of_each_kind_comes_first() -> None:
    """A place with many values does not crowd out the others; what is of no kind is left out."""
    edits = [Edit("/a", number) for number in range(20)] + [Edit("/b", 1), Edit("/c", 1)]
    found = select_edits(edits, lambda edit: None if edit.where == "/c" else edit.where, 3, 1)
    assert sorted(edit.where for edit in found) == ["/a", "/a", "/b"]
    assert {edit.where for edit in found[:2]} == {"/a", "/b"}


def test_a_trimmed_body_has_no_blanks_at_the_ends_of_its_texts() -> None:
    """Those of any implementation: Java takes off every control character, Python its separators, too."""
    blank = " \t\x00\x1f\xa0\u2003\ufeff"
    assert trim_texts({"a": f"{blank}x y{blank}", "b": [blank, 3, None], "c ": {"d": "z"}}) == {
        "a": "x y",
        "b": ["", 3, None],
        "c ": {"d": "z"},
    }

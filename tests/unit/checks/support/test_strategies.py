"""What is generated: within its bounds, and never what two readers may take differently."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.checks.support import strategies
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.core.key_change import KeyChange

BODY: Any = {"url": "https://a.example/x", "n": 3, "on": True, "none": None, "list": ["a", {"deep": "b"}], "key": "k-1"}
KEPT = frozenset({"/key"})
SCHEMA = {
    "type": "object",
    "required": ["url"],
    "properties": {
        "url": {"type": "string", "maxLength": 40},
        "n": {"type": "integer", "minimum": 1, "maximum": 5},
        "list": {"type": "array", "minItems": 1, "maxItems": 3},
    },
}
quick = settings(max_examples=60, suppress_health_check=list(HealthCheck))


@quick
@given(st.data())
def test_hostile_edits_write_json_and_leave_the_kept_alone(data: Any) -> None:
    """Whatever is replaced, the text is strict JSON; a place to keep is only lost with all that is around it."""
    free = tuple(where for where in strategies.places(BODY) if where not in KEPT)
    value = strictjson.parse(data.draw(strategies.hostile_edits(free)).apply(BODY))
    if isinstance(value, dict) and value.keys() >= {"url", "key"}:
        assert value["key"] == "k-1"


@quick
@given(st.data())
def test_changes_are_meaningful(data: Any) -> None:
    """One leaf differs, and not in case, white space, or type; the kept one never does."""
    body = data.draw(strategies.meaningful_changes(BODY, None, KEPT))
    changed = [where for where, leaf in pointer.leaves(BODY) if not strictjson.is_equal(pointer.get(body, where), leaf)]
    (where,) = changed
    old, new = pointer.get(BODY, where), pointer.get(body, where)
    assert where not in KEPT
    assert type(old) is type(new)
    if isinstance(old, str):
        assert "".join(new.split()).casefold() != "".join(old.split()).casefold()


KEY = "cs_live_0123456789abcdefXYZ"


@quick
@given(strategies.key_changes(len(KEY)))
def test_a_neighbour_of_a_key_differs_before_its_last_two_characters(change: KeyChange) -> None:
    """The lowest bits of an encoded key's last characters may mean nothing."""
    other = change.apply(KEY)
    assert other == KEY or other[: len(KEY) - 2] != KEY[:-2] or len(other) != len(KEY)


@quick
@given(st.sampled_from([KEY, "3f2b8c1e-0d4a-4c6e-9f10-aabbccddeeff", "K7-zZ"]), st.integers(0, 300))
def test_a_neighbouring_key_is_of_the_same_make(key: str, at: int) -> None:
    """One character differs, within its class; hyphens stay where they are."""
    other = strategies.neighbour_of(key, at)
    differing = [(a, b) for a, b in zip(key, other, strict=True) if a != b]
    assert len(differing) <= 1
    for a, b in differing:
        assert (a.isdigit(), a.islower(), a.isupper()) == (b.isdigit(), b.islower(), b.isupper())


@quick
@given(strategies.unknown_ids(13, False) | strategies.unknown_ids(4, True))
def test_unknown_ids_are_no_path(made: str) -> None:
    """No slash, and no dot segment."""
    assert "/" not in made
    assert made.strip(".")


@quick
@given(strategies.no_integers())
def test_no_reader_takes_it_for_an_integer(text: str) -> None:
    """Not Python's, not one that stops at the first letter of another base, an exponent or an infinity."""
    for read in (int, float, lambda given: int(given, 0), json.loads):
        with pytest.raises(ValueError):
            read(text)


@quick
@given(st.data())
def test_fitting_documents_keep_their_make(data: Any) -> None:
    """The same places, the same types: only what a text says is another."""
    body = data.draw(strategies.fitting_documents(BODY, None, KEPT))
    assert body["key"] == "k-1"
    assert [where for where, _ in pointer.leaves(body)] == [where for where, _ in pointer.leaves(BODY)]

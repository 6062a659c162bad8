"""Members whose values a schema lists get each of them, in as few bodies as the longest list needs."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.support.listed_values import body_of_listed_values

STATUS = {"enum": ["active", "paused"]}
REASON = {"enum": ["damaged", "wrong", "late"]}


def bodies(properties: dict[str, Any], body: Any, **further: Any) -> list[Any]:
    schema = {"type": "object", "properties": properties, **further}
    found = (body_of_listed_values(schema, body, number) for number in range(9))
    return [one for one in found if one is not None]


@pytest.mark.parametrize(
    ("properties", "body", "expected"),
    [
        ({"status": STATUS}, {"status": "active"}, [{"status": "paused"}]),
        ({"status": STATUS}, {}, [{"status": "active"}, {"status": "paused"}]),
        (
            {"status": STATUS, "reason": REASON},
            {"status": "paused", "reason": "late"},
            [{"status": "active", "reason": "damaged"}, {"status": "active", "reason": "wrong"}],
        ),
        (
            {"lines": {"items": {"properties": {"reason": REASON}}}},
            {"lines": [{"reason": "wrong", "count": 2}]},
            [{"lines": [{"reason": "damaged", "count": 2}]}, {"lines": [{"reason": "late", "count": 2}]}],
        ),
        ({"kind": {"enum": ["one"]}}, {"kind": "one"}, []),
        ({"note": {"type": "string"}}, {"note": "x"}, []),
        ({"number": {"enum": [*range(9)]}}, {"number": 0}, [{"number": n} for n in (1, 2, 3, 4)]),
        ({"status": STATUS}, None, []),
    ],
    ids=["another", "absent", "two members", "in a list", "one value", "a free text", "at most four", "no object"],
)
def test_each_listed_value_is_in_a_body(properties: dict[str, Any], body: Any, expected: list[Any]) -> None:
    assert bodies(properties, body) == expected


def test_a_body_that_the_schema_refuses_is_left_out() -> None:
    """A rule between members may forbid a value."""
    assert (
        bodies({"status": STATUS}, {"status": "active"}, **{"not": {"properties": {"status": {"const": "paused"}}}})
        == []
    )

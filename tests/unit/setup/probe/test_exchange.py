"""The lifetime of a token in an answer."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.setup.probe.exchange import find_lifetime, lifetime_places


@pytest.mark.parametrize(
    ("data", "places"),
    [
        ({"expiresIn": 3600, "level": 2}, ["/data/expiresIn"]),
        ({"expires_in": 900}, ["/data/expires_in"]),
        ({"m1": 3600, "m2": "x"}, ["/data/m1"]),
        ({"m1": 899}, ["/data/m1"]),
        ({"m1": 3600, "m2": 60}, []),
        ({"m1": 7}, []),
        ({"m1": True}, []),
    ],
)
def test_a_lifetime_is_known_by_its_name_or_as_the_only_number(data: dict[str, Any], places: list[str]) -> None:
    assert lifetime_places({"data": data}) == places


@pytest.mark.parametrize(("shown", "lifetime"), [(3600, 3600), (899, 900), (3601, None), (100, None)])
def test_a_lifetime_has_whole_minutes_of_which_a_second_may_have_passed(shown: int, lifetime: int | None) -> None:
    assert find_lifetime({"data": {"ttl": shown}}, "/data/ttl") == lifetime

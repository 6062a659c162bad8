"""The place that names the installation."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.setup.probe.installations import naming_places

HOMES = {"full": "A", "limited": "A", "other": "B"}


def _answers(*members: dict[str, Any]) -> dict[str, Any]:
    return {name: {"data": data} for name, data in zip(HOMES, members, strict=True)}


@pytest.mark.parametrize(
    ("answers", "places"),
    [
        (_answers({"at": 1, "of": "x"}, {"at": 2, "of": "x"}, {"at": 3, "of": "y"}), ["/data/of"]),
        (_answers({"mode": "live"}, {"mode": "live"}, {"mode": "live"}), []),
        (_answers({"of": "x"}, {"of": "x"}, {}), []),
        (_answers({"of": True}, {"of": True}, {"of": False}), []),
    ],
)
def test_a_name_is_one_for_each_installation(answers: dict[str, Any], places: list[str]) -> None:
    assert naming_places(answers, HOMES) == places

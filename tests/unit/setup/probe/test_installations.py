"""The place that names the installation."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.setup.probe.installations import names_installation, naming_places

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


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("/data/installationId", True),
        ("/data/installation", True),
        ("/data/installation/id", True),
        ("/data/credential/installation_name", True),
        ("/data/installation/plan", False),
        ("/data/installationCreatedAt", False),
        ("/data/mode", False),
    ],
)
def test_a_member_is_an_installation_by_its_name(at: str, expected: bool) -> None:
    assert names_installation(at) is expected

"""Forged secrets: each differs from the valid one."""

from __future__ import annotations

import pytest

from conformance.checks.support.forged_secrets import FORGED


@pytest.mark.parametrize(
    ("secret", "forged"),
    [
        ("tkt_0aB1cD2eF3gH", "tkt_0aB1CD2eF3gH"),  # letters of both cases: the first one of the second half
        ("tkt_0123456789ab", "tkt_0123556789ab"),  # hexadecimal digits, whose case may not count
        ("TKT_ABCDEFGHIJKL", "TKT_ABCDFFGHIJKL"),
    ],
)
def test_the_middle_differs_in_case_where_case_counts(secret: str, forged: str) -> None:
    assert FORGED["in-its-middle"](secret) == forged


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_secret_is_another_one(name: str) -> None:
    assert FORGED[name]("tkt_Qv7kP2mZ9xLwB4nT") != "tkt_Qv7kP2mZ9xLwB4nT"

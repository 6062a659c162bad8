"""Forged secrets keep the form of the valid one, and each differs from it."""

from __future__ import annotations

import uuid

import pytest

from conformance.checks.support.forged_secrets import FORGED, MADE_UP, changes_label_only, is_signed


@pytest.mark.parametrize("label", ["", "tkt_"])
def test_a_forged_uuid_is_one_of_the_same_version(label: str) -> None:
    secret = str(uuid.uuid4())
    forged = uuid.UUID(MADE_UP["made-up"](label + secret)[-36:])
    assert (forged.version, forged.variant) == (4, uuid.RFC_4122)
    assert str(forged) != secret


@pytest.mark.parametrize(
    ("secret", "expected"),
    [
        ("tkt_0a1B2c3D4e", True),
        ("ac-live-0a1B2c3D4e", True),
        ("0a1B2c3D4e5F", False),
        ("session0a1B_2c3D", False),
    ],
)
def test_a_label_says_what_a_secret_is(secret: str, expected: bool) -> None:
    assert changes_label_only(secret, FORGED["at-its-start"](secret)) is expected
    assert not changes_label_only(secret, FORGED["near-its-end"](secret))
    assert not changes_label_only(secret, FORGED["cut"](secret))


def test_a_signed_text_has_parts() -> None:
    assert is_signed("eyJhbGciOiJFUzI1NiJ9.eyJpZCI6MX0.c2lnbmF0dXJl")
    assert not is_signed("tkt_0a1B2c3D4e")
    assert not is_signed("v1.2")


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


@pytest.mark.parametrize("forged", ["pk_0123456789", "s_0123456789", "skx_0123456789", "_0123456789"])
def test_a_label_of_another_length_is_a_label_too(forged: str) -> None:
    assert changes_label_only("sk_0123456789", forged)
    assert not changes_label_only("sk_0123456789", f"{forged}a")
    assert not changes_label_only("sk_0123456789", forged.replace("_", ""))

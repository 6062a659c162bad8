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
        ("v2.code_0a1B2c3D4e", True),
        ("commerceplatform_production_0a1B2c3D4e", True),
    ],
)
def test_a_label_says_what_a_secret_is(secret: str, expected: bool) -> None:
    assert changes_label_only(secret, FORGED["at-its-start"](secret)) is expected
    assert not changes_label_only(secret, FORGED["near-its-end"](secret))
    assert not changes_label_only(secret, FORGED["cut"](secret))


@pytest.mark.parametrize(
    ("secret", "expected"),
    [
        ("eyJhbGciOiJFUzI1NiJ9.eyJpZCI6MX0.c2lnbmF0dXJl", True),
        ("v4.local.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", True),
        (f"gAAAAA{'Bm7x' * 23}9w==", True),
        ("tkt_0a1B2c3D4e", False),
        ("v1.2", False),
        ("v2.0a1B2c3D4e0a1B2c3D4e", False),
    ],
)
def test_a_signed_or_sealed_text_has_a_known_form(secret: str, expected: bool) -> None:
    assert is_signed(secret) is expected


@pytest.mark.parametrize("label", ["tkt_", "v2.", "v2.code_", "commerceplatform_production_"])
def test_a_made_up_secret_keeps_its_label(label: str) -> None:
    """A service that knows its label refuses one with another label as malformed, and not as unknown."""
    forged = MADE_UP["made-up"](f"{label}0a1B2c3D4e5F")
    assert forged.startswith(label)
    assert not {*zip(forged.removeprefix(label), "0a1B2c3D4e5F", strict=True)} & {(c, c) for c in "0a1B2c3D4e5F"}


def test_a_short_word_behind_a_label_changes_as_a_whole() -> None:
    """Most of such a text would be the same one: it is no secret, as the id of a client may be none."""
    assert MADE_UP["made-up"]("shop-web") == "tipq-xfc"


@pytest.mark.parametrize("name", ["at-its-end", "cut", "longer", "near-its-end"])
def test_a_place_behind_a_secret_is_not_read(name: str) -> None:
    """As the name of a data centre, which may lead to it and then be dropped."""
    secret = "9f8e7d6c5b4a39281706f5e4d3c2b1a0-us6"
    forged = FORGED[name](secret)
    assert forged.endswith("-us6") and forged != secret
    assert not changes_label_only(secret, forged)
    assert changes_label_only(secret, secret.replace("us6", "eu1"))
    assert not changes_label_only("tkt_9f8e7d6c5b4a3928-us6aB", "tkt_9f8e7d6c5b4a3928-us6aC")


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

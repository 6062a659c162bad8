"""When idempotency keys were used first and last."""

from __future__ import annotations

import pytest

from conformance.client.key_uses import KeyUses
from conformance.client.request import Request
from tests.support.check_runs import CONTRACT

QUOTE, REVOKE = CONTRACT.operations["quotePublicCart"], CONTRACT.operations["revokePublicCart"]


def test_the_age_of_a_key_spans_all_its_uses() -> None:
    """In whatever order their answers came; another operation has keys of its own."""
    uses = KeyUses()
    for began_s, ended_s in ((2.0, 2.5), (1.0, 9.0), (4.0, 5.0)):
        uses.note(Request(QUOTE, key="k"), began_s, ended_s)
    uses.note(Request(REVOKE, key="k"), 0.0, 20.0)
    assert uses.age_s(Request(QUOTE, key="k")) == pytest.approx(8.0)


def test_what_has_no_key_has_no_age() -> None:
    """Nor has a key that was not sent."""
    uses = KeyUses()
    uses.note(Request(QUOTE), 1.0, 2.0)
    assert uses.age_s(Request(QUOTE)) == uses.age_s(Request(QUOTE, key="k")) == 0

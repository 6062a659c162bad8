"""What a profile says about the code of a failed exchange."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.check_oauth_failures import _FAILED_BEFORE, _FAILURES, _burns_code, _random_id
from conformance.profile.behavior import OAuth
from conformance.profile.facts import EXCHANGE_DEFECTS


@pytest.mark.parametrize(
    ("stated", "verifier", "others"),
    [(None, None, None), (False, False, False), (True, True, None), (("verifier", "client"), True, None)],
)
def test_true_is_sure_of_a_wrong_verifier_only(stated: Any, verifier: bool | None, others: bool | None) -> None:
    """A list says nothing of what it does not name."""
    oauth = OAuth("client", failure_burns_code=stated)
    assert _burns_code(oauth, "verifier") is verifier
    assert {_burns_code(oauth, name) for name in ("redirect_uri", "proof")} == {others}


def test_a_list_names_what_burns() -> None:
    oauth = OAuth("client", failure_burns_code=("redirect_uri", "proof"))
    assert [_burns_code(oauth, name) for name in EXCHANGE_DEFECTS] == [None, True, None, True]


def test_every_defect_of_the_profile_has_a_case() -> None:
    assert tuple(name.replace("-", "_") for name in _FAILED_BEFORE) == EXCHANGE_DEFECTS


def test_no_proof_without_a_jti_is_sent_before_oa_6_sends_its_own() -> None:
    """A service that reads a missing jti as an empty one accepts the first such proof, and refuses the next as used."""
    assert "no-htm" in _FAILURES
    assert not [name for name in _FAILURES if "jti" in name]


@pytest.mark.parametrize(("known", "is_number"), [("1042", True), ("shop1", False), ("web", False)])
def test_an_unknown_client_of_numbered_ones_has_a_number(known: str, is_number: bool) -> None:
    """A service that numbers its clients refuses any other text as malformed."""
    assert _random_id(known).isdecimal() is is_number
    assert len(_random_id(known)) > len(known)

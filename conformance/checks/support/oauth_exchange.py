"""Shared functions of the token exchange checks: the profile's facts, and the token of an answer."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.checks.support.case import Case
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.profile.behavior import OAuth
from conformance.profile.model import Profile

REFUSAL_STATUSES = (400, 401)
"""RFC 6749 section 5.2 and RFC 9449 section 5; the interface does not choose between the two."""


def oauth_of(case: Case) -> OAuth:
    case.need(case.profile.oauth, "oauth", "a client is needed")
    assert case.profile.oauth is not None
    return case.profile.oauth


def access_token(case: Case, answer: Answer) -> str:
    """The token of an answer, or the empty string."""
    where = oauth_of(case).access_token
    found = pointer.get(answer.value, where) if where and pointer.has(answer.value, where) else ""
    return found if isinstance(found, str) else ""


def other_algorithms(profile: Profile, _: Operation) -> Mapping[str, str]:
    """The first one signs every other proof of the run."""
    return {name: name for name in profile.oauth.algorithms[1:]} if profile.oauth else {}

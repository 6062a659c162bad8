"""What doctor says where some of its own requests were answered 429."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.profile.behavior import RateLimit
from conformance.setup.doctor.doctor import _rate_limit_facts


@pytest.mark.parametrize(
    ("exclusions", "state"),
    [({}, "unsure"), ({"rate_limit": "load is shed at random"}, "note")],
    ids=["open", "random"],
)
def test_a_limit_that_is_none_has_no_rate(exclusions: Mapping[str, str], state: str) -> None:
    """Where the profile says that there is no limit, and why there are 429s, no rate would avoid them."""
    limits = SimpleNamespace(rate=None)
    profile = SimpleNamespace(limits=limits, exclusions=exclusions, rate_limit=RateLimit())
    limited: Any = SimpleNamespace(status=429, purpose="control", response=SimpleNamespace(headers=()))
    session: Any = SimpleNamespace(profile=profile)
    assert [fact.state for fact in _rate_limit_facts(session, [limited])] == [state]

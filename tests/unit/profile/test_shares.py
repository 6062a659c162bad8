"""The processes of a split run share the limits of the profile."""

from __future__ import annotations

import pytest

from conformance.profile.behavior import Authorization
from conformance.profile.model import Limits, Profile
from conformance.profile.shares import share_of


@pytest.mark.parametrize("limit", [1, 2, 7, 100])
def test_all_processes_together_send_as_many_requests_as_are_allowed(limit: int) -> None:
    """No request more, even where there are fewer requests than processes, and none less."""
    profile = Profile("p", "http://shop.example", Authorization("Bearer {key}"), limits=Limits(max_requests=limit))
    for workers in (1, 2, 3, 8):
        shares = [share_of(profile, index, workers).limits.max_requests for index in range(workers)]
        assert sum(shares) == limit
        assert max(shares) - min(shares) <= 1

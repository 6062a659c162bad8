"""Whose limit a burst shows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from conformance.checks.support.provocation import expect_limited_key
from conformance.checks.support.signals import Inconclusive
from conformance.profile.behavior import RateLimit


@pytest.mark.parametrize(
    ("per", "stated", "sent", "is_decisive"),
    [
        ("key", "small", "full", False),
        ("installation", "small", "full", False),
        ("key", "full", "full", True),
        ("key", "", "full", True),
        ("key", "small", "", True),
        ("address", "small", "full", True),
    ],
)
def test_a_limit_of_a_plan_is_that_of_the_stated_key(per: Any, stated: str, sent: str, is_decisive: bool) -> None:
    """Another key may have a larger plan."""
    ref = SimpleNamespace(id=1)
    last = SimpleNamespace(request=SimpleNamespace(credential=sent), ref=ref)
    case: Any = SimpleNamespace(profile=SimpleNamespace(rate_limit=RateLimit(per=per, credential=stated)))
    burst: Any = SimpleNamespace(last=last, measure="all passed")
    try:
        expect_limited_key(case, burst)
    except Inconclusive:
        assert not is_decisive
    else:
        assert is_decisive

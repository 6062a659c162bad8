"""No fixture is made where the run may send nothing more."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from conformance.client.fixtures import Fixtures
from conformance.client.send_errors import BudgetExhausted
from conformance.profile.behavior import Authorization
from conformance.profile.model import Profile
from conformance.profile.resources import Fixture


def test_none_is_made_where_nothing_more_may_be_sent(tmp_path: Path) -> None:
    """A cart made after the last request of a run would only be left behind."""

    fixture = Fixture("cart", "open", command=("touch", "made"))
    authorization = Authorization("Bearer {key}")
    profile = Profile(
        "p", "http://127.0.0.1:1", authorization, directory=tmp_path, fixtures={"cart": {"open": fixture}}
    )

    def refuse() -> None:
        raise BudgetExhausted("max_requests = 5")

    async def main() -> None:
        await Fixtures(profile, check_limits=refuse).get_fresh(fixture, {})

    with pytest.raises(BudgetExhausted):
        asyncio.run(main())
    assert not list(tmp_path.iterdir())

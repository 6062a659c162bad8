"""A refused update of a webhook endpoint is not stored (IDEM-4, BODY-8, SCO-4, TEN-1)."""

from __future__ import annotations

from conformance.checks.support.case import Case
from conformance.checks.support.refused_updates import (
    BAD_END,
    CONFLICT,
    FOREIGN,
    INVALID,
    NO_KEY,
    NO_SCOPE,
    expect_not_stored,
)
from conformance.checks.support.registry import check
from conformance.checks.support.replays import PLAIN_REPLAY

_UPDATE = "updateInstallationWebhook"


@check("IDEM-4", on=_UPDATE, rests_on=PLAIN_REPLAY)
async def an_update_that_conflicts_is_not_stored(case: Case) -> None:
    """What an update says that is refused for its key does not show in the answer to the next one."""
    await expect_not_stored(case, CONFLICT)


@check("BODY-8", on=_UPDATE)
async def an_update_with_a_bad_member_is_not_stored(case: Case) -> None:
    """The valid members of an update that is refused with 400 do not show in the answer to the next one."""
    await expect_not_stored(case, INVALID)


@check("BODY-8", on=_UPDATE)
async def an_update_with_a_bad_end_is_not_stored(case: Case) -> None:
    """Nor do those before the bad member: a service may store members one by one until one is bad."""
    await expect_not_stored(case, BAD_END)


@check("SCO-4", on=_UPDATE, cases={"401": NO_KEY, "403": NO_SCOPE})
async def an_unauthorized_update_is_not_stored(case: Case, defect: str) -> None:
    """What an update says that is refused with 401 or 403 does not show in the answer to the next one."""
    await expect_not_stored(case, defect)


@check("TEN-1", on=_UPDATE)
async def an_update_by_another_installation_is_not_stored(case: Case) -> None:
    """What another installation's update says does not show in the answer to the owner's next one."""
    await expect_not_stored(case, FOREIGN)

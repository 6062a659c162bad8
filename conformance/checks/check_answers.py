"""Answers of the less usual kind: empty resources, and statuses that tell defects apart (ENV-2, ENV-3, ERR-3)."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.checks.support.authorization import lacking
from conformance.checks.support.case import Case
from conformance.checks.support.registry import check
from conformance.contract import Operation
from conformance.profile.model import FOREIGN, OperationFacts, Profile
from conformance.profile.render import placeholders


def _states(profile: Profile, operation: Operation) -> Mapping[str, tuple[str, str] | None]:
    """Every state, but `foreign`, of the fixture that the path names."""
    path = profile.operations.get(operation.id, OperationFacts()).path
    kinds = {name.partition(".")[0] for name in placeholders(dict(path))} & set(profile.fixtures)
    found = {f"{kind}-{state}": (kind, state) for kind in kinds for state in profile.fixtures[kind] if state != FOREIGN}
    return dict(found) or {"": None}


async def _look(case: Case, told: tuple[str, str] | None) -> None:
    case.further(told, "no path value comes from a fixture, whose states could be tried")
    assert told is not None
    answer = await case.send(await case.arrange(use={told[0]: told[1]}), f"{told[0]} in the state {told[1]}")
    case.note(f"{told[0]} in the state {told[1]}: {answer.summary}")


@check("ENV-3", on=("listPublicMerchantCategories", "listPublicMerchantProducts"), cases=_states)
async def a_list_of_every_state_is_looked_at(case: Case, told: tuple[str, str] | None) -> None:
    """A merchant in every state that the profile knows is listed, so that the invariants see empty lists too."""
    await _look(case, told)


@check("ENV-2", on=("api-key read path",), cases=_states)
async def a_resource_of_every_state_is_read(case: Case, told: tuple[str, str] | None) -> None:
    """A resource in every state that the profile knows is read, so that the invariants see each kind of answer."""
    await _look(case, told)


@check("ENV-3", on="searchPublicProducts", cases={"far-page": ("page", "1000"), "no-match": ("q", "zqxjvwk-nothing")})
async def an_empty_search_is_looked_at(case: Case, odd: tuple[str, str]) -> None:
    """A search that finds nothing is made, so that the invariants see an empty list."""
    request = await case.arrange()
    answer = await case.send(request.with_query(**{odd[0]: odd[1]}), f"{odd[0]}={odd[1]}")
    case.note(f"{odd[0]}={odd[1]} is answered {answer.summary}")


@check("ERR-3", on=("scoped path", "scoped body"))
async def defects_of_different_rows_have_different_statuses(case: Case) -> None:
    """No credential, no scope, no such resource and no body are four rows of the table: not all one status.

    That each is its own row's status is what AUTH-1, SCO-1, NF-1 and BODY-1 ask.
    """
    request = await case.arrange()
    defective = {"no credential": request.with_authorization()}
    if names := lacking(case.profile, case.operation):
        defective["no scope"] = case.as_credential(request, names[0])
    if case.operation.has_body:
        defective["no body"] = request.without_body()
    if unknown := await case.runtime.arranger.unknown(request):
        defective["no resource"] = request.with_path(**unknown)
    case.further(len(defective) > 1, "this operation can have one kind of defect only")
    answers = [await case.send(bad.with_fresh_key(), what) for what, bad in defective.items()]
    await case.control(request)
    if len({answer.status for answer in answers}) == 1:
        raise case.violated(
            "defects of different kinds have one status", *answers, expected=f"one for each of {list(defective)}"
        )

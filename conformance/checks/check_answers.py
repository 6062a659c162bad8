"""Unusual answers: empty resources, accents, new orders, defects of two rows (ENV-1 to ENV-3, ERR-3, PUB-3, STA-1)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from conformance.checks.support.authorization import credentials_without_scope
from conformance.checks.support.case import Case
from conformance.checks.support.fixture_states import states_in_path
from conformance.checks.support.ids_of_answers import possible_ids
from conformance.checks.support.registry import check
from conformance.checks.support.replays import free_leaves
from conformance.checks.support.sibling_operations import refused_by_one_operation
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.survival import expect_survival
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.core.messages import join_values
from conformance.profile.model import Profile


def _states(profile: Profile, operation: Operation) -> Mapping[str, tuple[str, str] | None]:
    """Every state, except those of another installation, of the fixture in the path."""
    return dict(states_in_path(profile, operation.id)) or {"": None}


async def _send_in_state(case: Case, fixture_state: tuple[str, str] | None) -> Answer:
    case.require_case(fixture_state, "no path value comes from a fixture, whose states could be tried")
    assert fixture_state is not None
    answer = await case.send(
        await case.arrange(use={fixture_state[0]: fixture_state[1]}),
        f"{fixture_state[0]} in the state {fixture_state[1]}",
    )
    case.note(f"{fixture_state[0]} in the state {fixture_state[1]}: {answer.summary}")
    return answer


_OF_AUTHORIZATION = (401, 403)
"""Authentication failed, and insufficient scope (interface, Errors): the state of a resource is neither."""
_STORE_LISTS = ("listPublicMerchantCategories", "listPublicMerchantProducts")


@check("PUB-3", on=_STORE_LISTS, cases=_states)
async def a_store_of_every_state_is_listed(case: Case, fixture_state: tuple[str, str] | None) -> None:
    """A merchant in every state of the profile is listed, so that the invariants judge empty lists too.

    A slug that one of the two lists of a store knows is answered neither 404 nor 401 or 403 by the other one.
    """
    answer = await _send_in_state(case, fixture_state)
    if answer.status not in (*_OF_AUTHORIZATION, 404):
        return
    if answer.request.query:  # what is not found may be what the query names
        bare = await case.send(replace(answer.request, query=()), "the same slug without a query")
        if bare.status != 404:
            return
    other = next(case.contract.operations[name] for name in _STORE_LISTS if name != case.operation.id)
    control = await case.send(replace(answer.request, operation=other), f"the same slug, {other.id}")
    if control.ok:
        raise case.violation(
            f"a store that {other.id} knows was answered {answer.status}",
            control,
            answer,
            expected="200, with an empty list",
        )


@check("ERR-3", on=("api-key read path",), cases=_states)
async def a_resource_of_every_state_is_read(case: Case, fixture_state: tuple[str, str] | None) -> None:
    """A key that reads other resources is not refused for a resource in any state; the invariants judge the answer.

    Where the usual one is answered 400, another operation may show that its id is good: the rest of a read is the path.
    """
    try:
        answer = await _send_in_state(case, fixture_state)
    except Inconclusive as doubt:
        refused = doubt.answers[-1] if doubt.answers else None
        if refused is None or refused.status != 400 or not (found := await refused_by_one_operation(case, refused)):
            raise
        later, sibling = found
        message = f"a read is answered 400, and {sibling.request.operation.id} finds the resource of its path"
        raise case.violation(message, sibling, later, expected="not 400") from doubt
    state = ".".join(fixture_state or ())
    statuses = {t.status for t in case.profile.transitions if (t.operation, t.fixture) == (case.operation.id, state)}
    if answer.status in _OF_AUTHORIZATION and answer.status not in statuses:
        control = await case.control(await case.arrange(), "another resource with the same key")
        message = f"a resource in the state {state} was answered {answer.status} to a good key"
        raise case.violation(message, control, answer, expected="neither 401 nor 403")


def _other_states(profile: Profile, operation: Operation) -> Mapping[str, tuple[str, str] | None]:
    """The states of which the profile does not say whether the operation is allowed: CONF-1 and CONF-4 try those."""
    stated = {transition.fixture for transition in profile.transitions if transition.operation == operation.id}
    found = states_in_path(profile, operation.id)
    return {name: state for name, state in found.items() if ".".join(state) not in stated} or {"": None}


@check("STA-1", on=("path idempotent",), cases=_other_states)
async def a_resource_of_every_state_is_changed(case: Case, fixture_state: tuple[str, str] | None) -> None:
    """A call is sent to a resource in each state of which the profile says nothing, so that the invariants judge it.

    A fixture of such a state need not have what the body of the call names.
    """
    try:
        await _send_in_state(case, fixture_state)
    except MissingFact as missing:
        case.require_case(not missing.key.startswith("fixtures."), str(missing))
        raise


@check("ENV-3", on="searchPublicProducts", cases={"far-page": ("page", "1000"), "no-match": ("q", "zqxjvwk-nothing")})
async def an_empty_search_is_looked_at(case: Case, odd: tuple[str, str]) -> None:
    """A search without results is sent, so that the invariants judge an empty list."""
    request = await case.arrange()
    answer = await case.send(request.with_query(**{odd[0]: odd[1]}), f"{odd[0]}={odd[1]}")
    case.note(f"{odd[0]}={odd[1]} is answered {answer.summary}")


_ACCENTS = "déjà müde"
"""Letters of Latin-1: an answer with others has no such encoding."""


@check("ENV-1", on="body")
async def an_answer_with_accents_is_looked_at(case: Case) -> None:
    """A text with accented letters is sent that the answer shows, so that the invariants judge its encoding."""
    echoes = {leaf for _, leaf in pointer.leaves((await case.good_answer()).data) if isinstance(leaf, str)}
    request = await case.arrange()
    texts = [where for where, leaf in free_leaves(request) if isinstance(leaf, str) and leaf in echoes]
    case.require_case(texts, "no answer of this operation shows a text of its body that may be changed")
    answer = await case.send(request.with_body(pointer.replace(request.body, texts[-1], _ACCENTS)), "accented letters")
    case.note(f"accented letters are answered {answer.summary}")


@check("ERR-3", on=("scoped path", "scoped body"))
async def defects_of_different_rows_have_different_statuses(case: Case) -> None:
    """Defects of four rows of the status table (no credential, no scope, no resource, no body) do not share one status.

    AUTH-1, SCO-1, NF-1 and BODY-1 check that each has its own row's status.
    """
    request = await case.arrange()
    defective = {"no credential": request.with_authorization()}
    if names := credentials_without_scope(case.profile, case.operation):
        defective["no scope"] = case.as_credential(request, names[0])
    if case.operation.has_body:
        defective["no body"] = request.without_body()
    if unknown := await case.runtime.arranger.unknown_path_values(request):
        defective["no resource"] = request.with_path(**unknown)
    case.require_case(len(defective) > 1, "this operation can have one kind of defect only")
    answers: list[Answer] = []
    for defect, bad in defective.items():
        answers.append(await case.send(bad.with_fresh_key(), defect))
        if answers[-1].status != answers[0].status:
            return
    await case.control(request)
    raise case.violation(
        "defects of different kinds have one status",
        *answers,
        expected=f"one status for each of: {join_values(defective)}",
    )


@check("STA-1", on=("getStorefrontOrderAfterSalesEligibility", "getStorefrontOrderCancellationEligibility"))
async def an_order_that_a_checkout_made_is_read(case: Case) -> None:
    """The read of what the answer to a checkout names gets a declared status: an order of the run, not of a fixture.

    Which text of the answer is an order's id is not stated: what is none is not found.
    """
    checkout = await case.good_answer(case.contract.operations["checkoutPublicCart"])
    known_read = await case.arrange()
    name, texts = case.operation.path_parameters[0], possible_ids(checkout)
    case.require_case(texts, "the answer to a checkout has no text that may be an id")
    for text in texts:
        answer = await case.send(known_read.with_path(**{name: text}), "an id that the answer to a checkout may name")
        expect_survival(case, "the read of an order that a checkout made", answer, oversize=False)
        if answer.ok:
            return

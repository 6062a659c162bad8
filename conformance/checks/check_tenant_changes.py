"""What an installation has changed or made stays out of reach of others (TEN-1, TEN-3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from conformance.checks.support.case import Case
from conformance.checks.support.ids_of_answers import possible_ids
from conformance.checks.support.other_installations import (
    Views,
    expect_out_of_reach,
    foreign_of,
    ids_for_query,
    other_key,
    send_unlocked,
)
from conformance.checks.support.registry import check
from conformance.checks.support.replays import are_alike
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.unknown_ids import is_distinctive
from conformance.checks.support.unusual_calls import unusual_call, with_undeclared
from conformance.checks.support.url_spellings import percent_encode_first
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.profile.model import Profile

_CHANGES: Final = {
    "quotePublicCartCheckout": ("checkoutPublicCart", "revokePublicCart"),
    "getStorefrontOrderAfterSalesEligibility": ("requestStorefrontOrderAfterSales",),
    "getStorefrontOrderCancellationEligibility": ("requestStorefrontOrderAfterSales",),
}
"""Read -> what leads its object to a state that other fixtures of another installation may not have."""
_NOT_FOUND: Final = 404
_FORBIDDEN: Final = 403
"""Who answers it to what is another's has one object of each number."""


def _changes(_profile: Profile, operation: Operation) -> Mapping[str, str]:
    return {name: name for name in _CHANGES[operation.id]}


@check("TEN-1", on=tuple(_CHANGES), cases=_changes)
async def what_its_owner_has_changed_is_out_of_reach(case: Case, change: str) -> None:
    """An object of another installation is refused for a key of this one after its owner has changed it too.

    Where ids are numbers, each of both may have an object of that id: then the owner's change must not show.
    """
    path, answers = await _change_by_owner(case, change)
    if answers:
        second_answers = (await _change_by_owner(case, change))[1]  # an own object may have changed at that very moment
        if not second_answers:
            message = "each installation may number its own objects, and only one of two changes shows"
            raise Inconclusive(message, *answers, cause="ids that are numbers")
        raise case.violation(f"another installation's {change} shows", *answers, *second_answers, expected="404")
    await expect_out_of_reach(case, path, f"an object of another installation after {change}")


async def _change_by_owner(case: Case, change: str) -> tuple[Mapping[str, str], tuple[Answer, ...]]:
    """The path values of an object that its owner has changed, and the answers that show it here by a number."""
    operation = case.contract.operations[change]
    key, use = other_key(case, change), foreign_of(case, operation)
    case.require_case(use, "no object of another installation is known")
    write = await case.arrange(operation, use=use, credential=key, prove_control=False)
    path = {name: write.path[name] for name in case.operation.path_parameters}
    views = await Views.watch(case, (await case.arrange()).with_path(**path), key)
    change_answer = await case.send(write, "a change by the owner")
    case.require_case(change_answer.ok, f"the owner's {change} is answered {change_answer.summary}")
    view = await views.change_of_both() if views else None
    return path, (views.before[1], change_answer, view) if views and view else ()


@check("TEN-3", on=("requestStorefrontOrderAfterSales", "checkoutPublicCart", "revokePublicCart"))
async def what_its_owner_has_changed_has_the_stated_status(case: Case) -> None:
    """A call by another installation gets the stated status after the owner's call, not that of its new state.

    Where that call ends the object, 404 passes as well. An object may be locked for a moment.
    """
    status, key = case.profile.tenancy.status, other_key(case)
    case.need(status, "tenancy.status", "the status for another installation's objects is needed")
    known = await case.good_answer()
    are_distinctive = status == _FORBIDDEN or all(map(is_distinctive, known.request.path.values()))
    case.require_case(are_distinctive, "each installation may number its own objects")
    bad = case.as_credential(known.request, key).with_fresh_key()
    purpose = "the object of a good call, a key of another installation"
    answer = await send_unlocked(case, bad, purpose, known.request)
    if answer.ok:
        raise Inconclusive("an object of another installation was served", answer, cause="TEN-1")
    if answer.status not in (status, _NOT_FOUND):
        message = f"an object of another installation, which its owner has changed, was not answered {status}"
        raise case.violation(message, known, answer, expected=str(status))


@check("TEN-1", on=("quotePublicCartCheckout", "getStorefrontOrderAfterSalesEligibility"))
async def an_id_in_capitals_is_no_way_around(case: Case) -> None:
    """The id of another installation's object is refused in the other case too, however ids are compared."""
    use = foreign_of(case, case.operation)
    case.require_case(use, "no object of another installation is known")
    path = (await case.arrange(use=use)).path
    swapped = {name: value.swapcase() for name, value in path.items()}
    is_other = swapped != path and all(map(is_distinctive, path.values()))
    case.require_case(is_other, "ids have no letters, or are so short that the changed one may exist here")
    await expect_out_of_reach(case, swapped, "the id of another installation's object, in the other case")


@check("TEN-1", on=("quotePublicCartCheckout", "getStorefrontOrderAfterSalesEligibility"))
async def an_encoded_id_is_no_way_around(case: Case) -> None:
    """The id of another installation's object is refused with an encoded letter too, which is the same URL."""
    use = foreign_of(case, case.operation)
    case.require_case(use, "no object of another installation is known")
    path = (await case.arrange(use=use)).path
    case.require_case(all(map(is_distinctive, path.values())), "each installation may number its own objects")
    spellings = {name: percent_encode_first(value) for name, value in path.items()}

    async def refuse(request: Request) -> Answer:
        bad = replace(request.with_path(**path), raw_path=spellings)
        answer = await case.send_with_retry(bad, "the id of another installation's object, encoded", request)
        if answer.ok:
            message = f"{case.operation.id} shows another installation's object where a letter of its id is encoded"
            raise case.violation(message, answer, expected="404")
        return answer

    await case.share_control(refuse, "an encoded id")


@check("TEN-1", on="api-key path")
async def a_query_parameter_names_no_other_object(case: Case) -> None:
    """With the id of another installation's object in the query, a call is about the one in its path, or refused.

    Judged where the good answer shows the id of the path: in its place stands that of the query.
    """
    known, query = await case.good_answer(), await ids_for_query(case)
    case.require_case(query, "no object of another installation is known")
    name, own_id = next(iter(known.request.path.items()))
    id_places, foreign_id = pointer.places_of(known.value, own_id), query[name]
    case.require_case(
        id_places and is_distinctive(foreign_id), "no answer shows the id of its object, or it is a short one"
    )
    answer = await unusual_call(case)
    if answer is None or foreign_id not in dict(answer.request.query).values():
        request = await case.arrange()
        bad = with_undeclared(request, query)
        answer = await case.send_with_retry(bad, "the id of another installation's object in the query", request)
    if answer.ok and any(
        pointer.has(answer.value, at) and pointer.get(answer.value, at) == foreign_id for at in id_places
    ):
        message = "an id in the query led to another installation's object"
        raise case.violation(message, known, answer, expected="the object of the path")


@check("TEN-1", on="getStorefrontOrderAfterSalesEligibility")
async def an_order_that_a_checkout_made_is_out_of_reach(case: Case) -> None:
    """An order that the answer to a checkout names, which its owner can read, is not shown to another installation.

    Which text of the answer is an order's id is not stated, and need not be: the owner is answered 200 for it.
    """
    stranger = other_key(case)
    checkout = await case.good_answer(case.contract.operations["checkoutPublicCart"])
    own_read = await case.arrange()
    name = case.operation.path_parameters[0]
    for text in possible_ids(checkout):
        read = own_read.with_path(**{name: text})
        answer = await case.send(read, "an id that the answer to a checkout may name")
        if not answer.ok:
            continue
        other = await case.send(case.as_credential(read, stranger), "the same by another installation")
        if other.ok and are_alike(case, answer, other):
            raise case.violation("an order is shown to another installation", checkout, answer, other, expected="404")
        return
    case.require_case(False, "the answer to a checkout names no order that can be read")

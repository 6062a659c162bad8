"""Unknown resources (NF-1). PUB-3 covers unknown merchants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from msgspec.structs import replace

from conformance.checks.support.case import Case
from conformance.checks.support.registry import check
from conformance.checks.support.signals import OBSTACLES, Inconclusive
from conformance.checks.support.survival import expect_survival
from conformance.checks.support.unknown_ids import is_distinctive, may_be_read_in_part, unknown_id_like
from conformance.checks.support.url_spellings import percent_encode_first
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core.model import REFUSAL_STATUSES

_OPERATIONS_WITH_ID = (
    "updateInstallationWebhook",
    "getStorefrontOrderAfterSalesEligibility",
    "getStorefrontOrderCancellationEligibility",
    "requestStorefrontOrderAfterSales",
    "quotePublicCartCheckout",
    "removePublicCartPromotion",
    "checkoutPublicCart",
    "quotePublicCart",
    "revokePublicCart",
    "consumeHostedCheckoutBrowserTicket",
    "cancelHostedCheckoutBrowser",
)


@check("NF-1", on=_OPERATIONS_WITH_ID)
async def an_unknown_id_is_answered_404(case: Case) -> None:
    """A well-formed unknown id is answered 404; 400 is accepted where its format is only inferred."""
    request = await case.arrange()
    declared = await case.runtime.arranger.unknown_path_values(request)
    unknown = {name: unknown_id_like(value) for name, value in request.path.items()} | declared
    allowed = _allowed_statuses(case, bool(declared))
    first = await _refusal(case, lambda _: unknown, allowed, "an unknown id")
    second = await case.send_with_retry(first.request.with_fresh_key(), "the same unknown id again")
    if second.status not in allowed:
        expected = " or ".join(map(str, sorted(allowed)))
        raise case.violation("the same unknown id is answered otherwise", first, second, expected=expected)


@check("NF-1", on=_OPERATIONS_WITH_ID)
async def an_id_with_more_behind_it_is_answered_404(case: Case) -> None:
    """A valid id with a suffix is not found.

    Numeric ids are omitted, since a longer number may exist, and what a service may read in part: base64, codes with a
    title.
    """

    def longer(request: Request) -> Mapping[str, str]:
        return {name: f"{value}zz" for name, value in request.path.items() if not may_be_read_in_part(value)}

    await _refusal(case, longer, _allowed_statuses(case, False), "an id with a suffix")


_CUT = 2
"""As many characters: a code such as base64 may have bits in its last one that mean nothing."""


@check(
    "NF-1",
    on=(
        "updateInstallationWebhook",
        "requestStorefrontOrderAfterSales",
        "checkoutPublicCart",
        "consumeHostedCheckoutBrowserTicket",
    ),
)
async def the_beginning_of_an_id_names_nothing(case: Case) -> None:
    """A valid id without its last characters is not found. Short ids and numbers are omitted: the rest may exist."""

    def shorter(request: Request) -> Mapping[str, str]:
        beginnings = {name: value[:-_CUT] for name, value in request.path.items() if not may_be_read_in_part(value)}
        return {name: value for name, value in beginnings.items() if is_distinctive(value)}

    await _refusal(case, shorter, _allowed_statuses(case, False), "the beginning of an id")


_PATTERNS: Mapping[str, str] = {
    "getStorefrontOrderAfterSalesEligibility": "____",
    "getStorefrontOrderCancellationEligibility": "____",
    "quotePublicCartCheckout": "%",
}
"""By operation, what stands in place of the last characters of an id."""
_REPLACED = 4
"""As many characters: a code such as base64 may have bits in its last one that mean nothing."""


@check("NF-1", on=tuple(_PATTERNS))
async def a_pattern_that_fits_an_id_names_nothing(case: Case) -> None:
    """A known id whose last characters are wildcards of SQL is another one. Any refusal passes.

    Numeric ids are omitted, and what has a title behind it, without which a service may read it.
    """
    request = await case.arrange()
    values = list(map(str, request.path.values()))
    case.require_case(not any(map(may_be_read_in_part, values)), "a service may read a part of such an id")
    is_long = all(len(value) > _REPLACED and value[-_REPLACED:].isalnum() for value in values)
    case.require_case(is_long, f"the id has no {_REPLACED} last letters or digits behind others")
    pattern = _PATTERNS[case.operation.id]
    like = {name: f"{str(value)[:-_REPLACED]}{pattern}" for name, value in request.path.items()}
    answer = await case.send_with_retry(request.with_path(**like), "an id with wildcards", request)
    if answer.ok:
        raise case.violation("a pattern that fits an id was answered 200", answer, expected="404 or 400")


@check("NF-1", on=("api-key read path",))
async def an_encoded_letter_of_an_id_is_that_letter(case: Case) -> None:
    """An id is found with its first character percent-encoded, which is the same URL: a 404 is a warning.

    An unreserved character and its encoding are equivalent (RFC 3986, section 6.2.2.2).
    """
    request = await case.arrange()
    spellings = {name: percent_encode_first(str(value)) for name, value in request.path.items()}
    answer = await case.send_with_retry(replace(request, raw_path=spellings), "an id with an encoded letter", request)
    if answer.status == 404:
        control = await case.control(request)
        case.warn("an id with a percent-encoded letter was answered 404", control, answer, expected="200")


@check("STA-1", on="api-key path")
async def an_id_of_another_kind_is_survived(case: Case) -> None:
    """The id of a resource of another kind gets a declared status: a cart's id names no order, or the order's cart.

    A number may name one of each kind, which a write would change.
    """
    request = await case.arrange()
    ids = await _ids_of_other_kinds(case)
    case.require_case(ids, "no operation on a resource of another kind was answered 200")
    if not case.operation.is_read:
        ids = {name: value for name, value in ids.items() if is_distinctive(value)}
        case.require_case(ids, "the id of another resource may name one of this kind, which would be changed")
    for name, value in ids.items():
        other = request.with_path(**{case.operation.path_parameters[0]: value}).with_fresh_key()
        answer = await case.send_with_retry(other, f"a value of {name}", request)
        expect_survival(case, f"a value of {name} as {case.operation.path_parameters[0]}", answer, oversize=False)


async def _ids_of_other_kinds(case: Case) -> dict[str, str]:
    """A value of each path parameter of other API-key operations, out of their controls."""
    found: dict[str, str] = {}
    for operation in case.contract.select("api-key path"):
        name = operation.path_parameters[0]
        if name not in {*found, case.operation.path_parameters[0]}:
            with suppress(Inconclusive, *OBSTACLES):  # then its own checks say so
                found[name] = (await case.runtime.controls.prove(operation)).request.path[name]
    return found


async def _refusal(
    case: Case, change: Callable[[Request], Mapping[str, str]], allowed: set[int], purpose: str
) -> Answer:
    """The refusal of the good request with other path values, after which that is still good.

    `change` takes the request itself: the ticket of another session is a second defect. Where it changes nothing, the
    case does not exist, which depends on the id of each request: ids of one kind may have different forms. A ticket may
    end where it is presented to another session: then the good one of another session is the control.
    """

    def with_other_id(good: Request) -> Request:
        path = change(good)
        case.require_case(
            path,
            f"the id is short, a number, base64, or has a title: {purpose} may be another one, or read as this one",
        )
        return good.with_path(**path)

    try:
        return await case.shared_negative(with_other_id, allowed, purpose)
    except Inconclusive as doubt:
        if case.operation.auth != "none" or doubt.cause != f"control:{case.operation.id}":
            raise
    good, control = await case.arrange(), await case.arrange()
    bad = with_other_id(good)
    answer = await case.refusal(bad, allowed, purpose, control=control)
    await case.control(control, "the good ticket of another session")
    case.note("a ticket ends where it is presented to another session")
    return answer


def _allowed_statuses(case: Case, declared: bool) -> set[int]:
    """`declared`: the profile states the id as well-formed."""
    if case.operation.auth == "none":
        of_ticket = case.profile.hosted.unknown_ticket_status if declared else None
        # the ticket is another session's: two defects
        return {404, of_ticket} if of_ticket is not None else set(REFUSAL_STATUSES)
    return {404} if declared else {400, 404}

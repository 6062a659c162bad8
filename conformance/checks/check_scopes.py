"""Authentication, the table of scopes (SCO-1 to SCO-3)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from conformance.checks.support.authorization import (
    ALLOWED,
    LACKS_SCOPE,
    cases,
    credentials_without_scope,
    has_category,
    names,
    with_scope_headers,
    with_undeclared_parameter,
)
from conformance.checks.support.authorization_forms import equal_forms, with_form
from conformance.checks.support.body_variation import vary_body
from conformance.checks.support.case import Case
from conformance.checks.support.context import control_failed
from conformance.checks.support.fixture_states import states_in_path
from conformance.checks.support.list_items import has_items, texts_of_items
from conformance.checks.support.new_endpoints import poll_copies, updated_endpoint
from conformance.checks.support.other_installations import foreign_of
from conformance.checks.support.path_spellings import SPELLINGS, encode_letter, encode_letter_before, with_spelling
from conformance.checks.support.registry import check
from conformance.checks.support.sibling_operations import refused_by_one_operation
from conformance.checks.support.sign_reader import fixtures_of
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.stated_bodies import answer_to_body
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.profile.installations import is_foreign, is_of_home


@check("SCO-1", cases=cases(LACKS_SCOPE))
async def a_key_without_the_scope_is_answered_403(case: Case, credential: str) -> None:
    """A valid key without the operation's scope is answered 403, whatever other scopes it has and what it sends.

    All keys together send each stated body, and the usual one with other values. The last key sends query
    parameters that no operation declares, and headers that name the scope.
    """
    absent = has_category(case.profile, case.operation, LACKS_SCOPE)
    case.need_credential(credential, f"a key without the scope {case.operation.scope} is needed", absent)

    has_query = credential == names(case.profile, case.operation, LACKS_SCOPE)[-1]

    async def refuse(request: Request) -> Answer:
        bad = case.as_credential(request, credential)
        for change in _bodies_for(case, credential):
            is_usual = change is None and not has_query
            if not is_usual:
                answer = await _refused_variant(case, bad, change, has_query=has_query)
            if is_usual or answer.status != 403:  # whether another body or a parameter is refused is not asked here
                purpose = f"the key {credential!r}"
                answer = await case.refusal(bad.with_fresh_key(), {403}, purpose, control=request.with_fresh_key())
        return answer

    await case.share_control(refuse, f"the key {credential!r}")


_UPDATE: Final = "updateInstallationWebhook"
Change = Callable[[Request], Awaitable[Request]]


def _bodies_for(case: Case, credential: str) -> Sequence[Change | None]:
    """The part of the changes of the body that a key sends, None for the usual one: all keys together send each."""
    patch = case.profile.webhooks.patch if case.operation.id == _UPDATE else None
    lacking = names(case.profile, case.operation, LACKS_SCOPE)
    templates = [partial(_with_template, case, body) for body in (*case.facts.bodies, *([patch] if patch else []))]
    count = max(1, len(lacking) - 1 - len(templates)) if case.operation.request_schema else 0
    changes = (None, *templates, *(partial(_with_other_values, case, number) for number in range(count)))
    number = lacking.index(credential)
    return changes[number :: len(lacking)] or changes[:1]


async def _with_template(case: Case, template: Any, request: Request) -> Request:
    return request.with_body(await case.runtime.arranger.render_body(request, template))


async def _with_other_values(case: Case, number: int, request: Request) -> Request:
    return vary_body(case, request, number)


async def _refused_variant(case: Case, bad: Request, change: Change | None, *, has_query: bool) -> Answer:
    """The answer to a key without the scope, with another body, undeclared parameters and headers, or both.

    Violated where it is 200.
    """
    differences = ["another valid body"] if change is not None else []
    difference = " and ".join([*differences, *(["undeclared parameters and headers"] if has_query else [])])
    changed = _with_scope_in_other_places(case, bad) if has_query else bad
    if change is not None:
        changed = await change(changed)
    answer = await case.send_with_retry(changed.with_fresh_key(), f"the key {bad.credential!r}, {difference}")
    if answer.ok:
        message = f"{case.operation.id} with the key {bad.credential!r} and {difference} was not answered 403"
        raise case.violation(message, answer, expected="403")
    return answer


def _with_scope_in_other_places(case: Case, request: Request) -> Request:
    """The scope in the query and in headers, beside a parameter that no operation declares."""
    scope = case.operation.scope or ""
    return with_scope_headers(with_undeclared_parameter(request).with_query(scope=scope, scopes=scope), scope)


_SPELLINGS: Final = {
    "an encoded letter": encode_letter,
    "an encoded letter in its prefix": encode_letter_before,
    "a slash behind it": SPELLINGS["a slash behind it"],
}


@check("SCO-1", on="listInstallationWebhookDeliveries", deep_on="scoped")
async def another_spelling_of_the_path_opens_no_way_around_scopes(case: Case) -> None:
    """A key without the scope is not answered 200 where a letter of the path is encoded, or a slash stands behind it.

    An encoded letter is that letter (RFC 3986, section 6.2.2.2). A router may ignore the slash.
    """
    lacking = names(case.profile, case.operation, LACKS_SCOPE)
    absent = has_category(case.profile, case.operation, LACKS_SCOPE)
    case.need_credential(lacking, f"a key without the scope {case.operation.scope} is needed", absent)

    async def refuse(request: Request) -> Answer:
        for name, spell in _SPELLINGS.items():
            detour = with_spelling(case.as_credential(request, lacking[0]), spell, name)
            answer = await case.send_with_retry(detour, f"{name}, the key {lacking[0]!r}", request)
            if answer.ok and isinstance(answer.data, dict):
                message = f"a path with {name} led the key {lacking[0]!r} past its scopes"
                raise case.violation(message, answer, expected="403 or 404")
        return answer

    await case.share_control(refuse, "another spelling of the path")


@check("SCO-1", on="listInstallationWebhookDeliveries", deep_on="scoped")
async def the_spelling_of_the_scheme_gives_no_scope(case: Case) -> None:
    """In another case of its scheme or its own a key has no other scopes, where the case does not count as stated."""
    lacking = credentials_without_scope(case.profile, case.operation)
    forms = equal_forms(case.profile.authorization)
    case.require_case(forms and lacking, "the profile allows one spelling only, or has no key without the scope")

    async def refuse(request: Request) -> Answer:
        for name, form in forms.items():
            bad = with_form(case, case.as_credential(request, lacking[0]), form)
            answer = await case.send_with_retry(bad, f"the key {lacking[0]!r} with {name}", request)
            if answer.ok:  # that a spelling is refused with 401 is AUTH-5's question
                message = f"the key {lacking[0]!r} with {name} was not answered 403"
                raise case.violation(message, answer, expected="403")
        return answer

    await case.share_control(refuse, "another spelling of scheme or key")


@check("SCO-1", on="api-key read path")
async def a_resource_of_no_state_is_read_without_the_scope(case: Case) -> None:
    """A key without the operation's scope, another one each time, is not answered 200 for a resource of any state."""
    lacking = credentials_without_scope(case.profile, case.operation)
    states = states_in_path(case.profile, case.operation.id).values()
    case.require_case(lacking and states, "no such key, or no path value comes from a fixture, is stated")
    for number, (kind, state) in enumerate(states):
        name = lacking[-1 - number % len(lacking)]
        request = await case.arrange(use={kind: state}, prove_control=False)
        answer = await case.send(case.as_credential(request, name), f"the key {name!r}, {kind}.{state}")
        if answer.ok:
            message = f"{case.operation.id} with the key {name!r} was answered 200 for {kind}.{state}"
            raise case.violation(message, answer, expected="403")


_READ = "quotePublicCartCheckout"
"""The read that needs another scope than these operations on the same cart."""


@check("SCO-1", on=("quotePublicCart", "checkoutPublicCart", "revokePublicCart"))
async def a_scope_for_a_cart_is_none_for_its_other_operations(case: Case) -> None:
    """A key that was just answered the quote of a cart is still answered 403 to what it lacks the scope of."""
    read = case.contract.operations[_READ]
    lacking = credentials_without_scope(case.profile, case.operation)
    able = [name for name in lacking if read.scope in case.profile.credentials[name].scopes]
    case.require_case(able, f"no key has the scope {read.scope} without {case.operation.scope}")

    async def refuse(request: Request) -> Answer:
        quote = await case.arrange(read, preset=fixtures_of(request), credential=able[0], prove_control=False)
        allowed = await case.send(quote, "what the key may do")
        case.require_case(allowed.ok, f"{read.id} is answered {allowed.summary} on such a cart")
        return await case.refusal(
            case.as_credential(request, able[0]), {403}, f"the key {able[0]!r} after it", control=request
        )

    await case.share_control(refuse, f"the key {able[0]!r} after what it may do")


@check("SCO-1", on="scoped path")
async def a_key_of_another_installation_needs_the_scope_for_its_own(case: Case) -> None:
    """A key of another installation without the scope is answered 403 for what a key with it is answered 200 for.

    Both are of one installation, and so is the object. In deep depth each such key is tried.
    """
    able, lacking = _keys_of_another_installation(case)
    use = foreign_of(case, case.operation)
    case.require_case(lacking and use, "no key of another installation lacks the scope, or no object of it is known")
    for name in lacking if case.profile.limits.depth == "deep" else lacking[:1]:
        request = await case.arrange(use=use, credential=able)
        bad = case.as_credential(request, name)
        try:
            await case.negative(request, bad, {403}, f"the key {name!r} on what is its installation's own")
        except Inconclusive as doubt:
            if doubt.cause != f"control:{case.operation.id}":
                raise
            case.require_case(False, f"the key {able!r} is not answered 200 for such an object")


def _keys_of_another_installation(case: Case) -> tuple[str, list[str]]:
    """A key with the scope, and those without it, of one installation; empty where there are none."""
    found = {n: key for n, key in case.profile.credentials.items() if key.active and is_foreign(case.profile, key)}
    for able, known in found.items():
        if case.operation.scope in known.scopes and known.installation:
            lacking = [n for n, key in found.items() if key.installation == known.installation]
            if lacking := [n for n in lacking if case.operation.scope not in found[n].scopes]:
                return able, lacking
    return "", []


@check("SCO-2", cases=cases(ALLOWED))
async def the_named_scope_suffices(case: Case, credential: str) -> None:
    """A key with the operation's scope is not answered 403, even if it has no other scope."""
    _need_allowed(case, credential)
    answer = await _answer_to(case, credential)
    if answer.status == 403 and case.operation.path_parameters:
        try:
            await case.runtime.controls.prove(case.operation)
        except Inconclusive:  # or its resource may be of another installation
            if not await refused_by_one_operation(case, answer):
                raise
    await _expect_permission(case, credential, answer)


async def _answer_to(case: Case, credential: str) -> Answer:
    """The answer to a good request with a key: the control's, where that was sent with this key and answered 200."""
    if credential == case.runtime.arranger.credential_for(case.operation).name:
        with suppress(Inconclusive):
            return await case.good_answer()
    request = await case.arrange(credential=credential, prove_control=False)
    return await case.send(request, f"the key {credential!r}")


@check("SCO-2", on="scoped body")
async def the_named_scope_suffices_for_every_body(case: Case) -> None:
    """The key with the fewest scopes that suffice is not answered 403 to any other valid body of the profile."""
    able = names(case.profile, case.operation, ALLOWED)
    case.require_case(able and case.facts.bodies, "the profile states no key or no second valid body")
    for index in range(len(case.facts.bodies)):
        answer = await answer_to_body(case, index)
        if answer.status == 403:
            message = f"the key {answer.request.credential!r} was answered 403 to another valid body"
            raise case.violation(message, answer, expected="not 403")


@check("SCO-2", on=_UPDATE)
async def the_named_scope_suffices_for_what_another_key_created(case: Case) -> None:
    """An endpoint belongs to its installation: a key with the scope that has not created it is not answered 403.

    A 404 is a warning: which key an endpoint is shown to is not stated.
    """
    case.require_case(case.profile.webhooks.id, "where the id of a new endpoint stands is not stated (webhooks.id)")
    created, updated = await updated_endpoint(case)
    keys, maker = case.profile.credentials, created.request.credential
    able = [n for n in names(case.profile, case.operation, ALLOWED) if n != maker and is_of_home(case.profile, keys[n])]
    case.require_case(able, "no second key of this installation has the scope")
    case.require_case(updated.ok, f"its own key is answered {updated.summary}")
    least = min(able, key=lambda name: len(keys[name].scopes))
    request = case.as_credential(updated.request.with_fresh_key(), least)
    answer = await case.send(request, f"the key {least!r} on what {maker!r} has created")
    if answer.status == 403:
        message = f"the key {least!r} was answered 403 for an endpoint that {maker!r} has created"
        raise case.violation(message, updated, answer, expected="not 403")
    if (answer := await poll_copies(case, answer)).status == 404:
        repeat = await case.send(updated.request.with_fresh_key(), f"the key {maker!r} once more")
        if repeat.status == 404:
            message = f"the key {maker!r} does not find the endpoint any more, either"
            raise Inconclusive(message, answer, repeat, cause="WH-1")
        message = f"the key {least!r} does not find an endpoint that {maker!r} has created for the installation"
        case.warn(message, updated, answer, expected="200")


_PAUSES_S: Final = (0.3, 0.3, 1.5, 3.0)
"""After each look at the lists: a copy of one may be old."""
_LONG_PAUSES_S: Final = (4.1, 8.3)
"""A list may be cached by key for some seconds, and the looks may meet the same moments of that time."""


@check("SCO-2", on="listInstallationWebhookDeliveries")
async def the_named_scope_suffices_for_what_is_listed(case: Case) -> None:
    """Of the deliveries that a key of more scopes is shown, the key with the fewest that suffice is shown some too."""
    keys = case.profile.credentials
    able = [n for n in names(case.profile, case.operation, ALLOWED) if is_of_home(case.profile, keys[n])]
    case.require_case(able, f"no key has the scope {case.operation.scope}")
    least, most = (choose(able, key=lambda name: len(keys[name].scopes)) for choose in (min, max))
    case.require_case(least != most, "no second key of this installation has other scopes")
    request = await case.arrange()
    for round_number, pause_s in enumerate((*_PAUSES_S, *_LONG_PAUSES_S)):
        answers = [
            await case.control(case.as_credential(request, name), f"the list of {name!r}")
            for name in (most, least, most)
        ]
        first_texts, least_texts, last_texts = map(texts_of_items, answers)
        common_texts = first_texts & last_texts  # a list may end after a number of items
        if common_texts & least_texts or (common_texts and has_items(answers[1])):  # which may say less to that key
            return
        if round_number == 0 and not common_texts:
            await _cause_events(case)
        is_listed = common_texts or round_number + 1 < len(_PAUSES_S)
        case.require_case(is_listed, f"no delivery is listed, in {len(_PAUSES_S)} rounds")
        await asyncio.sleep(pause_s)
    message = f"of what the key {most!r} is shown, the key {least!r} is shown nothing"
    raise case.violation(message, *answers[:2], expected="the deliveries of the installation", observed="none of them")


async def _cause_events(case: Case) -> None:
    """Creates an endpoint and calls orders and carts, any of which may cause a delivery; no answer is judged."""
    create = case.contract.operations["createInstallationWebhook"]
    for operation in (create, *case.contract.select(["orders", "carts"])):
        if operation.idempotent:
            with suppress(MissingFact, Inconclusive):
                await case.send(await case.arrange(operation), "an event")


_INTROSPECTION: Final = ("getApiKeyIdentity", "getInstallationCredentialReadiness")


@check("SCO-3", cases=cases(ALLOWED))
async def any_valid_key_may_introspect(case: Case, credential: str) -> None:
    """Identity and readiness demand no scope."""
    _need_allowed(case, credential)
    await _expect_permission(case, credential, await case.answer_to(credential))


def _need_allowed(case: Case, credential: str) -> None:
    scope = case.operation.scope
    absent = has_category(case.profile, case.operation, ALLOWED)
    message = f"an active key{f' with the scope {scope}' if scope else ''} is needed"
    case.need_credential(credential, message, absent)


async def _expect_permission(case: Case, credential: str, answer: Answer) -> None:
    """Violated by a 403, and by a 401 to a key with which another operation is answered 200 afterwards."""
    if answer.status == 403:
        raise case.violation(f"the key {credential!r} was answered 403", answer, expected="not 403")
    if answer.status == 401:
        other = next(case.contract.operations[name] for name in _INTROSPECTION if name != case.operation.id)
        later = await case.send(answer.request.with_fresh_key(), f"the key {credential!r} again")
        request = await case.arrange(other, credential=credential, prove_control=False)
        known = await case.send(request, f"the key {credential!r} on another operation")
        if later.status == 401 and known.ok:
            message = f"the key {credential!r} was answered 401, and {other.id} accepts it"
            raise case.violation(message, known, later, expected="not 401")
    if not answer.ok:
        raise control_failed(answer)

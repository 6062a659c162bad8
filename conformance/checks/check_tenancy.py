"""Isolation of installations (TEN-1, TEN-3; OWASP API1:2023, broken object level authorization)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from conformance.checks.support.authorization import OTHER_INSTALLATION, cases, has_category
from conformance.checks.support.case import Case
from conformance.checks.support.endpoint_bodies import opposite_switches
from conformance.checks.support.installation_names import INSTALLATION_MEMBERS, name_of_home, name_of_installation
from conformance.checks.support.new_endpoints import poll_copies, update_of, updated_endpoint
from conformance.checks.support.other_installations import (
    expect_out_of_reach,
    foreign_of,
    other_key,
    send_unlocked,
)
from conformance.checks.support.registry import check
from conformance.checks.support.signals import Inconclusive, Violation
from conformance.checks.support.unknown_ids import is_distinctive, unknown_id_like
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.profile.installations import is_foreign
from conformance.profile.model import Profile
from conformance.profile.render import placeholders
from conformance.profile.resources import FOREIGN, OperationFacts, foreign_states
from conformance.profile.subschema import Root

_ON_OBJECTS = ("api-key path",)
_FORBIDDEN = 403
_NOT_FOUND = 404


def _foreign_objects(profile: Profile, operation: Operation) -> Mapping[str, tuple[str, str] | None]:
    """Case -> kind and state, for every state in which the profile has another installation's object for the path."""
    path = profile.operations.get(operation.id, OperationFacts()).path
    kinds = sorted({name.partition(".")[0] for name in placeholders(dict(path))})
    found = [(kind, state) for kind in kinds for state in foreign_states(profile.fixtures.get(kind, {}))]
    return {"" if state == FOREIGN else f"{kind}-{state}": (kind, state) for kind, state in found} or {"": None}


def _answered_foreign(profile: Profile, operation: Operation) -> Mapping[str, tuple[str, str] | str | None]:
    """The cases of TEN-3: foreign objects, and the key of another installation."""
    objects = {f"object{case and '-'}{case}": found for case, found in _foreign_objects(profile, operation).items()}
    return {**objects, "key": "key"}


async def _foreign_path(case: Case, foreign: tuple[str, str] | None) -> Mapping[str, str]:
    return (await _foreign_request(case, foreign)).path


async def _foreign_request(case: Case, foreign: tuple[str, str] | None) -> Request:
    """A request for an object of another installation, whose body names what is its own. Unstated without one."""
    kinds = {name.partition(".")[0] for name in placeholders(dict(case.facts.path))}
    case.need(kinds, f"operations.{case.operation.id}.path (from a fixture)", "an id of a fixture is needed")
    case.need(foreign, f"fixtures.{min(kinds)}.foreign", "an object of another installation is needed")
    assert foreign is not None
    return await case.arrange(use=dict([foreign]))


@check("TEN-1", on=_ON_OBJECTS, cases=_foreign_objects)
async def an_object_of_another_installation_is_out_of_reach(case: Case, foreign: tuple[str, str] | None) -> None:
    """An object of another installation, in every state that there is, is refused for a valid key.

    The key has many scopes, or no other one than the operation's: of several states, each has one of them, by turns.
    """
    path = await _foreign_path(case, foreign)
    for credential in _keys_for(case, foreign):
        answer = await expect_out_of_reach(case, path, "an object of another installation", credential)
        await _expect_no_owner(case, answer)


async def _expect_no_owner(case: Case, answer: Answer) -> None:
    """Warns where the refusal names another installation: no text of the interface says what a refusal may tell."""
    usual, refusal = _text_of(await case.good_answer()), _text_of(answer)
    for credential in case.profile.credentials.values():
        name = ""
        if credential.active and is_foreign(case.profile, credential):
            with suppress(Inconclusive):  # the refusal is judged without it
                name = await name_of_installation(case, credential.name)
        is_in_request = any(name in value for value in answer.request.path.values())
        if is_distinctive(name) and name in refusal and name not in usual and not is_in_request:
            case.warn("a refused object shows the installation that owns it", answer, expected="no owner")


def _text_of(answer: Answer) -> str:
    """All header values and the body."""
    return "\n".join([*(value for _, value in answer.headers), answer.body.decode("utf-8", "replace")])


def _keys_for(case: Case, foreign: tuple[str, str] | None) -> list[str]:
    """The keys to try on the object: the broadest and the narrowest, both where there is but one state."""
    credentials = case.runtime.arranger.credentials(scope=case.operation.scope or "")
    spare = case.profile.rate_limit.credential
    names = [credential.name for credential in credentials if credential.name != spare] or [credentials[0].name]
    keys = list(dict.fromkeys((names[0], names[-1])))
    states = list(_foreign_objects(case.profile, case.operation).values())
    return keys if len(states) == 1 else [keys[states.index(foreign) % len(keys)]]


@check("TEN-3", on=_ON_OBJECTS, cases=_answered_foreign)
async def what_is_of_another_installation_has_the_stated_status(
    case: Case, foreign: tuple[str, str] | str | None
) -> None:
    """An object of another installation, and an own one for a key of another installation, get the stated status."""
    status = case.profile.tenancy.status
    case.need(status, "tenancy.status", "the status for another installation's objects is needed")
    assert status is not None
    key = other_key(case) if isinstance(foreign, str) else ""
    other = None if isinstance(foreign, str) else await _foreign_request(case, foreign)
    description = f"{'a key' if key else 'an object'} of another installation"

    async def refuse(request: Request) -> Answer:
        bad = case.as_credential(request, key) if other is None else other.with_fresh_key()
        # who answers 403 to what is another's has one object of each number
        are_distinctive = status == _FORBIDDEN or all(map(is_distinctive, bad.path.values()))
        case.require_case(are_distinctive, "each installation may number its own objects")
        answer = await send_unlocked(case, bad, description, request)
        if answer.ok:
            raise Inconclusive(f"{description} was served", answer, cause="TEN-1")
        if answer.status != status:
            message = f"{case.operation.id} with {description} was not answered {status}"
            raise case.violation(message, answer, expected=str(status))
        return answer

    await case.share_control(refuse, description)


@check("TEN-1", on=_ON_OBJECTS, cases=cases(OTHER_INSTALLATION))
async def a_key_of_another_installation_reaches_nothing_here(case: Case, credential: str) -> None:
    """A valid key of another installation, with any scopes, is refused on an object of this one.

    Headers name this installation. Where the profile has another valid body, that one is sent: the usual one is, with
    other keys and objects. Without the headers it is sent too where they may be why it is refused.
    """
    absent = has_category(case.profile, case.operation, OTHER_INSTALLATION)
    case.need_credential(credential, "an active key of a second installation is needed", absent)
    purpose, home = "a key of another installation", await name_of_home(case)
    for owner in dict.fromkeys((home, "")):
        described = f"{purpose}, and headers that name this one" if owner else purpose
        try:
            answer = await expect_out_of_reach(case, {}, described, credential, case.facts.bodies[:1], owner)
        except Violation as violation:
            if owner and not violation.answers[-1].ok:  # a component in front of the target may read the headers
                continue
            raise
        if answer.status in (_NOT_FOUND, case.profile.tenancy.status):
            return


@check("TEN-1", on="updateInstallationWebhook", cases={"": False, "other-switches": True})
async def a_new_object_of_another_installation_is_out_of_reach(case: Case, other_switches: bool) -> None:
    """An endpoint that another installation has created is refused for a valid key of this one, in either state."""
    where = case.profile.webhooks.id
    case.need(where, "webhooks.id", "the place of the new endpoint's id is needed")
    create = await case.arrange(case.contract.operations["createInstallationWebhook"])
    if other_switches:
        switches = opposite_switches(create.body)
        case.require_case(switches, "the body that creates an endpoint has no member that is true or false")
        create = create.with_body({**create.body, **switches})
    created = await case.send(case.as_credential(create, other_key(case)), "created by another installation")
    case.require_case(created.ok and pointer.has(created.value, where), f"that is answered {created.summary}")
    new_id = str(pointer.get(created.value, where))
    case.require_case(is_distinctive(new_id), "each installation may number its own endpoints")
    path = {case.operation.path_parameters[0]: new_id}
    await expect_out_of_reach(case, path, "an endpoint that another installation has just created")


@check("TEN-1", on="updateInstallationWebhook")
async def a_member_of_a_body_chooses_no_installation(case: Case) -> None:
    """An endpoint stays the caller's, and out of that one's reach, whose bodies name another installation.

    A refusal of such a body is fine. Members that the stated body has are left out: what they mean is the target's own.
    """
    where, key = case.profile.webhooks.id, other_key(case)
    case.need(where, "webhooks.id", "the place of the new endpoint's id is needed")
    name = await name_of_installation(case, key)
    case.require_case(name, "identity does not name the other installation")
    create = await case.arrange(case.contract.operations["createInstallationWebhook"])
    case.require_case(isinstance(create.body, dict), "the body that creates an endpoint is not an object")
    request = _with_members(case, create, name)
    created = await case.send_with_retry(request, "a body that names another installation", create)
    if not created.ok:
        case.note(f"a body that names another installation is answered {created.summary}")
        created = await case.control(create.with_fresh_key(), "create")
    case.require_case(pointer.has(created.value, where), f"the answer to create has no {where}")
    new_id = str(pointer.get(created.value, where))
    case.require_case(is_distinctive(new_id), "each installation may number its own endpoints")
    await _update_with_members(case, created, name)
    purpose = "an endpoint whose body named that installation"
    await expect_out_of_reach(case, {case.operation.path_parameters[0]: new_id}, purpose, key)


async def _update_with_members(case: Case, created: Answer, name: str) -> None:
    """Updates an own endpoint with a body that names another installation, and without that where it is refused.

    Violated where it is not found without it either. Where it is not found with it alone, an endpoint of the other
    installation is named beside that installation: it must be refused.
    """
    update = await update_of(case, created)
    naming = _with_members(case, update, name)
    answer = await case.send_with_retry(naming, "an update that names another installation", update)
    if answer.ok:
        return
    usual = update.with_fresh_key()
    own_answer = await poll_copies(case, await case.send_with_retry(usual, "update of one's own endpoint"))
    if own_answer.status == _NOT_FOUND:
        _, known = await updated_endpoint(case)
        if not known.ok:
            raise Inconclusive("no new endpoint can be updated", known, own_answer, cause="WH-1")
        message = "an endpoint that was created with a member that names another installation is not the caller's"
        raise case.violation(message, created, own_answer, expected="200")
    use = foreign_of(case, case.operation)
    if own_answer.ok and answer.status == _NOT_FOUND and use:
        foreign = await case.arrange(use=use)
        case.require_case(all(map(is_distinctive, foreign.path.values())), "each installation may number its own")
        reach = await case.send_with_retry(_with_members(case, foreign, name), "the same on that one's endpoint")
        if reach.ok:
            message = "a body that names another installation reaches an endpoint of that one"
            raise case.violation(message, answer, own_answer, reach, expected="404")


def _with_members(case: Case, request: Request, name: str) -> Request:
    """With members that could choose an installation, but for those that the profile states as members of the body."""
    if not isinstance(request.body, dict):
        return request
    schema = case.profile.body_schema(request.operation.request_schema)
    parts = [] if schema is None else list(Root(schema).subschemas(schema, []))
    stated = {*request.body, *(member for part in parts for member in part.get("properties", ()))}
    members = [member for member in INSTALLATION_MEMBERS if member not in stated]
    return request.with_body({**dict.fromkeys(members, name), **request.body})


@check("TEN-1", on=("checkoutPublicCart", "quotePublicCart", "requestStorefrontOrderAfterSales"))
async def a_body_names_no_part_of_another_installations_object(case: Case) -> None:
    """A line of another installation's order is refused in a body, where a line that does not exist is refused, too."""
    earlier = (await case.good_answer()).request
    case.require_case(_places_of_parts(case, earlier), "the body names no part of a resource")
    good, foreign = await case.arrange(), next(iter(_foreign_objects(case.profile, case.operation).values()))
    other = await _foreign_request(case, foreign)
    known_bodies = [other.body, *([earlier.body] if earlier.path != good.path else [])]
    unknown_body, foreign_body = good.body, good.body
    for where in _places_of_parts(case, good):
        part = pointer.get(good.body, where)
        is_its_own = all(pointer.has(body, where) and pointer.get(body, where) != part for body in known_bodies)
        case.require_case(is_its_own, f"what {where} names is not a part of one resource alone")
        unknown_body = pointer.replace(unknown_body, where, unknown_id_like(part))
        foreign_body = pointer.replace(foreign_body, where, pointer.get(other.body, where))
    refusal = await case.send_with_retry(good.with_body(unknown_body).with_fresh_key(), "a part that does not exist")
    case.require_case(refusal.is_refused, "a part that does not exist is accepted")
    answer = await case.send_with_retry(good.with_body(foreign_body).with_fresh_key(), "a part of another's object")
    if answer.ok:
        message = "a body with a part of another installation's object was answered 200"
        raise case.violation(message, refusal, answer, expected="400, 403, 404 or 409")
    await case.control(good.with_fresh_key())


def _places_of_parts(case: Case, request: Request) -> list[str]:
    """Where a body names a member of the path's fixture that is not its id, by a value that names nothing else."""
    kinds = {name.partition(".")[0] for name in placeholders(dict(case.facts.path))}
    members = [value for kind in kinds for value in case.fixture_of(request, kind).values()]
    parts = {value for value in members if isinstance(value, str) and is_distinctive(value)} - {*request.path.values()}
    return [where for where, leaf in pointer.leaves(request.body) if isinstance(leaf, str) and leaf in parts]


@check("TEN-1", on="listInstallationWebhookDeliveries")
async def a_list_shows_nothing_of_another_installation(case: Case) -> None:
    """The deliveries of this installation do not show an endpoint of another one."""
    path = case.runtime.arranger.facts(case.contract.operations["updateInstallationWebhook"]).path
    kind = next((name.partition(".")[0] for name in sorted(placeholders(dict(path)))), "webhook")
    state = next(iter(foreign_states(case.profile.fixtures.get(kind, {}))), FOREIGN)
    fixture = case.runtime.fixtures.find(kind, state)
    case.need(fixture, f"fixtures.{kind}.{state}", "an endpoint of another installation is needed")
    assert fixture is not None
    members = await case.runtime.fixtures.get_shared(fixture, {})
    names = {name.rpartition(".")[2] for name in placeholders(dict(path))} or {
        "id"
    }  # others are not ids: its URL, a state
    foreign_values = [value for name in names & members.keys() if is_distinctive(value := str(members[name]))]
    case.require_case(foreign_values, "the id of the other installation's endpoint may occur by chance")
    answer = await case.control(await case.arrange())
    if any(value in answer.body.decode("utf-8", "replace") for value in foreign_values):
        raise case.violation("an endpoint of another installation is listed", answer, expected="nothing of it")

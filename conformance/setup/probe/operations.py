"""Finds a valid request for each operation: path, fixture state, and the locations of ids and members in its answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.core.errors import FixtureError
from conformance.profile.render import placeholders
from conformance.profile.resources import FOREIGN
from conformance.setup.probe.access import IDENTITY
from conformance.setup.probe.body_placeholders import arrange_with_placeholders
from conformance.setup.probe.context import ARRANGE_ERRORS, Probe
from conformance.setup.probe.search import SEARCH

CREATE: Final = "createInstallationWebhook"
UPDATE: Final = "updateInstallationWebhook"
PARAMETER_FIXTURES: Final = {
    "id": ("webhook", "id"),
    "orderId": ("order", "id"),
    "cartId": ("cart", "id"),
    "slug": ("merchant", "slug"),
    "sessionId": ("session", "id"),
}
"""Path parameter -> (kind of fixture, member), unless the user states the path."""
_MAX_STATES: Final = 6
_MIN_TOKEN_LENGTH: Final = 20


async def probe_controls(probe: Probe) -> None:
    """Sends a valid request of every operation, with each state of its fixture until one gets 200."""
    webhook_names = (CREATE, UPDATE)
    order = [
        *(probe.operation(name) for name in webhook_names),
        *(o for o in probe.contract.all if o.id not in webhook_names),
    ]
    for operation in order:
        if operation.id in (IDENTITY, SEARCH) or (operation.auth == "api_key" and not probe.main_credential):
            continue
        if probe.draft.has("limits", "read_only") and probe.draft.get("limits", "read_only") and not operation.is_read:
            continue
        await _probe_control(probe, operation)
    proven = len(probe.controls)
    probe.echo(f"  {proven} of {len(probe.contract.all)} operations were answered 200")


async def _probe_control(probe: Probe, operation: Operation) -> None:
    paths = list(_candidate_paths(probe, operation))
    if operation.path_parameters and not paths:
        name = operation.path_parameters[0]
        kind = PARAMETER_FIXTURES[name][0]
        probe.draft.todo("fixtures", f"[fixtures.{kind}.STATE]", f"the source of each {kind}", operation.id)
        return
    refusals: list[tuple[str, Answer]] = []
    for path in paths or [{}]:
        answer = await _send_with_path(probe, operation, path)
        if answer is None:
            return
        if answer.ok:
            _state_control(probe, operation, path, refusals)
            return
        refusals.append((_fixture_state(path), answer))
    _add_unproven(probe, operation, refusals)


def _candidate_paths(probe: Probe, operation: Operation) -> Iterator[Mapping[str, str]]:
    """The path that the user stated, or one path for each state of the fixture of the parameter."""
    if probe.draft.is_stated("operations", operation.id, "path"):
        yield probe.draft.get("operations", operation.id, "path")
        return
    for name in operation.path_parameters:
        kind, member = PARAMETER_FIXTURES[name]
        states = [state for state in probe.draft.get("fixtures", kind) or {} if state != FOREIGN]
        for state in states[:_MAX_STATES]:
            yield {name: f"{{{kind}.{state}.{member}}}"}


async def _send_with_path(probe: Probe, operation: Operation, path: Mapping[str, str]) -> Answer | None:
    """The answer with a new fixture; None if the request cannot be built, with the reason as a TODO or note."""
    probe.draft.retract(("operations", operation.id, "body"))  # that of the last state
    if path:
        probe.draft.state(("operations", operation.id, "path"), dict(path), "not verified")
    try:
        request = await arrange_with_placeholders(probe, operation)
    except MissingFact as error:
        _add_missing_fact(probe, operation, error)
        _retract(probe, operation)
        return None
    except FixtureError as error:
        probe.draft.note(f"operations.{operation.id}", f"not sent: {probe.clean(str(error))}")
        _retract(probe, operation)
        return None
    answer = await probe.send(request, "control")
    if answer.status == 404 and path and not probe.has_late_objects:
        probe.has_late_objects = True
        return await _send_with_path(probe, operation, path)
    return answer


def _retract(probe: Probe, operation: Operation) -> None:
    for name in ("body", "path"):
        probe.draft.retract(("operations", operation.id, name))


def _add_missing_fact(probe: Probe, operation: Operation, error: MissingFact) -> None:
    if error.key.endswith(".body"):
        probe.draft.todo(f"operations.{operation.id}", "body = { ... }", f"a valid body ({operation.request_schema})")
    elif error.key == "oauth":
        probe.draft.todo("oauth", 'client_id = "..."', "the client, its redirect_uri, [fixtures.oauth.code]")
    else:
        table = f"operations.{operation.id}" if error.key.startswith("operations.") else error.key.partition(".")[0]
        probe.draft.todo(table, "", str(error), operation.id)


def _fixture_state(path: Mapping[str, str]) -> str:
    return next(iter(path.values()), "").strip("{}").rpartition(".")[0]


def _state_control(
    probe: Probe, operation: Operation, path: Mapping[str, str], refusals: list[tuple[str, Answer]]
) -> None:
    path_key = ("operations", operation.id, "path")
    if path and not probe.draft.is_stated(*path_key):
        listing = ", ".join(f"{state} {answer.summary}" for state, answer in refusals)
        probe.draft.evidence[path_key] = f"answered 200{f'; {listing}' if listing else ''}"
    conflicts = [state for state, answer in refusals if answer.status == 409]
    if conflicts and not probe.draft.is_stated("transitions"):
        known = probe.draft.get("transitions") or []
        added = [{"operation": operation.id, "fixture": state} for state in conflicts]
        probe.draft.state(
            ("transitions",), [*known, *added], "each got 409 with a new fixture, and 200 in another state"
        )
    if operation.has_body and not probe.draft.has("operations", operation.id, "body"):
        probe.draft.note(f"operations.{operation.id}", f"a body generated from {operation.request_schema} gets 200")


def _add_unproven(probe: Probe, operation: Operation, refusals: list[tuple[str, Answer]]) -> None:
    _retract(probe, operation)
    summary = ", ".join(f"{state} {answer.summary}".strip() for state, answer in refusals)
    hint = probe.clean(refusals[-1][1].body.decode("utf-8", "replace")) if refusals else ""
    probe.draft.todo(f"operations.{operation.id}", "", f"got {summary} instead of 200: {hint}")
    probe.echo(f"  {operation.id}: {summary}")


async def probe_webhooks(probe: Probe) -> None:
    """Finds the id of a created webhook endpoint by updating it, and states the webhook fixture."""
    control = probe.controls.get(CREATE)
    stated = probe.draft.get("webhooks", "id")
    if control is None or probe.draft.is_excluded("webhooks", "id"):
        return
    for at in [stated] if stated else list(_candidate_ids(control.value)):
        if not pointer.has(control.value, at):
            continue
        if await _can_update(probe, at, {"id": pointer.get(control.value, at)}):
            probe.draft.state(("webhooks", "id"), at, "the endpoint with this id can be updated")
            break
    else:
        probe.draft.todo("webhooks", 'id = "/data/id"', "the pointer to the endpoint id in the answer to create")
        return
    await _state_kept_members(probe, control)


def _candidate_ids(value: Any) -> list[str]:
    """Up to five pointers to a possible id: members named id, then names that end in id, then other values."""
    locations = [
        at
        for at, leaf in pointer.leaves(value)
        if isinstance(leaf, str | int) and not isinstance(leaf, bool) and leaf != ""
    ]
    ranks = {at: _id_rank(at) for at in locations}
    return sorted((at for at in locations if ranks[at] < 9), key=lambda at: (ranks[at], len(at)))[:5]


def _id_rank(at: str) -> int:
    name = pointer.tokens(at)[-1] if at else ""
    if not at.startswith("/data/") or re.search(r"request|trace|installation|account", at, re.IGNORECASE):
        return 9
    if name.lower() == "id":
        return 0
    return 1 if re.search(r"(id|_ref|Ref|uuid)$", name, re.IGNORECASE) else 5


async def _can_update(probe: Probe, at: str, members: Mapping[str, Any]) -> bool:
    """Whether an update with the id at `at` succeeds; if so, the draft keeps the webhook fixture and path."""
    fixture, path = ("fixtures", "webhook"), ("operations", UPDATE, "path")
    missing_keys = [key for key in (fixture, path) if not probe.draft.has(*key)]
    if fixture in missing_keys:  # before the path, which refers to it
        for name, value in {"call": CREATE, "members": {"id": at}}.items():
            probe.draft.state((*fixture, "active", name), value, "created and updated by the probe")
    if path in missing_keys:
        probe.draft.state(path, {"id": "{webhook.id}"}, "a created endpoint can be updated")
    try:
        answer = await probe.send(await probe.arrange(UPDATE, preset={"webhook": members}), "control")
        if answer.ok:
            return True
    except ARRANGE_ERRORS as error:
        probe.draft.note("webhooks", probe.clean(f"{UPDATE} was not sent: {error}"))
    for key in reversed(missing_keys):
        probe.draft.retract(key)
    return False


async def _state_kept_members(probe: Probe, created: Answer) -> None:
    """States the members of a created endpoint that a PATCH without them leaves unchanged."""
    updated = probe.controls.get(UPDATE)
    body = probe.draft.get("operations", UPDATE, "body")
    if updated is None or not isinstance(body, dict):
        probe.draft.todo("webhooks", "patch = { ... }", "a PATCH body; kept = [...]: members that it leaves unchanged")
        return
    sent_body = created.request.body if isinstance(created.request.body, dict) else {}
    patch = next(
        (example for example in [*(probe.draft.get("operations", UPDATE, "bodies") or []), body] if len(example) == 1),
        body,
    )
    names = [name for name in sent_body if name not in patch]
    request = await probe.arrange(
        UPDATE, preset={"webhook": {"id": pointer.get(created.value, probe.draft.get("webhooks", "id"))}}
    )
    fresh = await probe.send(await probe.arrange(CREATE), "webhook")
    if not fresh.ok:
        return
    request = await probe.arrange(
        UPDATE, preset={"webhook": {"id": pointer.get(fresh.value, probe.draft.get("webhooks", "id"))}}
    )
    answer = await probe.send(request.with_body(await probe.arranger.render_body(request, patch)), "webhook")
    fresh_body = fresh.request.body
    unchanged = [
        at
        for at in (f"/data{pointer.join(name)}" for name in names)
        if answer.ok
        and pointer.has(fresh.value, at)
        and pointer.has(answer.value, at)
        and pointer.get(fresh.value, at) == pointer.get(answer.value, at) == fresh_body[pointer.tokens(at)[-1]]
    ]
    if unchanged:
        probe.draft.state(("webhooks", "patch"), patch, "answered 200")
        probe.draft.state(("webhooks", "kept"), unchanged, "equal in the create request and in both answers")
    else:
        probe.draft.todo("webhooks", 'kept = ["/data/url"]', "members that a PATCH leaves unchanged")


def state_oauth_members(probe: Probe) -> None:
    """States the pointers to members of a token request and of its 200 answer."""
    if not probe.draft.has("oauth"):
        return
    body = probe.draft.get("operations", "exchangeOAuthToken", "body")
    members = {"pkce.verifier": "code_verifier", "oauth.code": "code", "oauth.client_id": "client_id_member"}
    members |= {"oauth.redirect_uri": "redirect_uri_member"}
    for at, leaf in pointer.leaves(body) if body is not None else []:
        for name in placeholders(leaf) & members.keys() if isinstance(leaf, str) else ():
            if leaf == f"{{{name}}}":
                probe.draft.state(("oauth", members[name]), at, "the body contains the placeholder there")
    control = probe.controls.get("exchangeOAuthToken")
    if control is None:
        return
    _state_token_members(probe, control.value)


def _state_token_members(probe: Probe, value: Any) -> None:
    """Finds the token type by its value, and the access token by its name or as the only long string."""
    texts = {at: leaf for at, leaf in pointer.leaves(value) if isinstance(leaf, str)}
    kinds = [at for at, leaf in texts.items() if leaf.lower() in ("dpop", "bearer")]
    if len(kinds) == 1:
        probe.draft.state(("oauth", "token_type"), kinds[0], f"{texts[kinds[0]]} in the answer to the exchange")
    by_name = [at for at in texts if re.sub(r"[^a-z]", "", pointer.tokens(at)[-1].lower()) in ("accesstoken", "token")]
    by_length = [at for at, leaf in texts.items() if len(leaf) >= _MIN_TOKEN_LENGTH and not re.search(r"\s", leaf)]
    if len(by_name) == 1:
        probe.draft.state(("oauth", "access_token"), by_name[0], "name in the answer to the exchange")
    elif len(by_length) == 1:
        probe.draft.state(("oauth", "access_token"), by_length[0], "the only long string in the answer to the exchange")

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
from conformance.profile.model import FOREIGN
from conformance.profile.render import placeholders
from conformance.setup.probe.access import IDENTITY
from conformance.setup.probe.context import Bench, Unarranged
from conformance.setup.probe.search import SEARCH

CREATE: Final = "createInstallationWebhook"
UPDATE: Final = "updateInstallationWebhook"
KINDS: Final = {
    "id": ("webhook", "id"),
    "orderId": ("order", "id"),
    "cartId": ("cart", "id"),
    "slug": ("merchant", "slug"),
    "sessionId": ("session", "id"),
}
"""Path parameter -> (kind of fixture, member), unless the user states the path."""
_STATES_TRIED: Final = 6
_TOKEN_LENGTH: Final = 20


async def controls(bench: Bench) -> None:
    """Sends a valid request of every operation, with each state of its fixture until one gets 200."""
    later = (CREATE, UPDATE)
    order = [*(bench.operation(name) for name in later), *(o for o in bench.contract.all if o.id not in later)]
    for operation in order:
        if operation.id in (IDENTITY, SEARCH) or (operation.auth == "api_key" and not bench.main):
            continue
        if (
            bench.draft.knows("limits", "read_only")
            and bench.draft.get("limits", "read_only")
            and operation.method != "GET"
        ):
            continue
        await _control(bench, operation)
    made = len(bench.controls)
    bench.tell(f"  {made} of {len(bench.contract.all)} operations were answered 200")


async def _control(bench: Bench, operation: Operation) -> None:
    paths = list(_paths(bench, operation))
    if operation.path_parameters and not paths:
        name = operation.path_parameters[0]
        kind = KINDS[name][0]
        bench.draft.todo(
            "fixtures", f"[fixtures.{kind}.STATE]", f"the source of each {kind}, for {operation.id} and others"
        )
        return
    refused: list[tuple[str, Answer]] = []
    for path in paths or [{}]:
        answer = await _with_path(bench, operation, path)
        if answer is None:
            return
        if answer.ok:
            _tell_of(bench, operation, path, refused)
            return
        refused.append((_state_of(path), answer))
    _unproven(bench, operation, refused)


def _paths(bench: Bench, operation: Operation) -> Iterator[Mapping[str, str]]:
    """The path that the user stated, or one path for each state of the fixture of the parameter."""
    if bench.draft.stated("operations", operation.id, "path"):
        yield bench.draft.get("operations", operation.id, "path")
        return
    for name in operation.path_parameters:
        kind, member = KINDS[name]
        states = [state for state in bench.draft.get("fixtures", kind) or {} if state != FOREIGN]
        for state in states[:_STATES_TRIED]:
            yield {name: f"{{{kind}.{state}.{member}}}"}


async def _with_path(bench: Bench, operation: Operation, path: Mapping[str, str]) -> Answer | None:
    """The answer with a new fixture; None if the request cannot be built, with the reason as a TODO or note."""
    if path:
        bench.draft.state(("operations", operation.id, "path"), dict(path), "not verified")
    try:
        request = await bench.arrange(operation.id)
    except MissingFact as error:
        _lacking(bench, operation, error)
        bench.draft.retract(("operations", operation.id, "path"))
        return None
    except FixtureError as error:
        bench.draft.note("fixtures", f"{operation.id} was not sent: {bench.clean(str(error))}")
        bench.draft.retract(("operations", operation.id, "path"))
        return None
    return await bench.send(request, "control")


def _lacking(bench: Bench, operation: Operation, error: MissingFact) -> None:
    if error.key.endswith(".body"):
        bench.draft.todo("operations", "body = { ... }", f"a valid body of {operation.id} ({operation.request_schema})")
    elif error.key == "oauth":
        bench.draft.todo("oauth", 'client_id = "..."', "a client, its redirect_uri, and [fixtures.oauth.code]")
    else:
        bench.draft.todo(error.key.partition(".")[0], "", f"{operation.id}: {error}")


def _state_of(path: Mapping[str, str]) -> str:
    return next(iter(path.values()), "").strip("{}").rpartition(".")[0]


def _tell_of(bench: Bench, operation: Operation, path: Mapping[str, str], refused: list[tuple[str, Answer]]) -> None:
    where = ("operations", operation.id, "path")
    if path and not bench.draft.stated(*where):
        others = ", ".join(f"{state} {other.summary}" for state, other in refused)
        bench.draft.evidence[where] = f"answered 200{f'; {others}' if others else ''}"
    conflicts = [state for state, other in refused if other.status == 409]
    if conflicts and not bench.draft.stated("transitions"):
        known = bench.draft.get("transitions") or []
        added = [{"operation": operation.id, "fixture": state} for state in conflicts]
        bench.draft.state(
            ("transitions",), [*known, *added], "each got 409 with a new fixture, and 200 in another state"
        )
    if operation.has_body and not bench.draft.knows("operations", operation.id, "body"):
        bench.draft.note("operations", f"{operation.id}: a body generated from {operation.request_schema} gets 200")


def _unproven(bench: Bench, operation: Operation, refused: list[tuple[str, Answer]]) -> None:
    bench.draft.retract(("operations", operation.id, "path"))
    told = ", ".join(f"{state} {answer.summary}".strip() for state, answer in refused)
    hint = bench.clean(refused[-1][1].body.decode("utf-8", "replace")) if refused else ""
    bench.draft.todo("operations", "", f"{operation.id} got {told} instead of 200: {hint}")
    bench.tell(f"  {operation.id}: {told}")


async def webhooks(bench: Bench) -> None:
    """Finds the id of a created webhook endpoint by updating it, and states the webhook fixture."""
    control = bench.controls.get(CREATE)
    if control is None:
        return
    stated = bench.draft.get("webhooks", "id")
    for at in [stated] if stated else list(_ids(control.value)):
        if not pointer.has(control.value, at):
            continue
        if await _updates(bench, at, {"id": pointer.get(control.value, at)}):
            bench.draft.state(("webhooks", "id"), at, "the endpoint with this id can be updated")
            break
    else:
        bench.draft.todo("webhooks", 'id = "/data/id"', "the pointer to the endpoint id in the answer to create")
        return
    await _kept(bench, control)


def _ids(value: Any) -> list[str]:
    """Up to five pointers to a possible id: members named id, then names that end in id, then other values."""
    found = [
        at
        for at, leaf in pointer.leaves(value)
        if isinstance(leaf, str | int) and not isinstance(leaf, bool) and leaf != ""
    ]
    rank = {at: _rank(at) for at in found}
    return sorted((at for at in found if rank[at] < 9), key=lambda at: (rank[at], len(at)))[:5]


def _rank(at: str) -> int:
    name = pointer.tokens(at)[-1] if at else ""
    if not at.startswith("/data/") or re.search(r"request|trace|installation|account", at, re.IGNORECASE):
        return 9
    if name.lower() == "id":
        return 0
    return 1 if re.search(r"(id|_ref|Ref|uuid)$", name, re.IGNORECASE) else 5


async def _updates(bench: Bench, at: str, members: Mapping[str, Any]) -> bool:
    """Whether an update with the id at `at` succeeds; if so, the draft keeps the webhook fixture and path."""
    fixture, path = ("fixtures", "webhook"), ("operations", UPDATE, "path")
    new = [key for key in (fixture, path) if not bench.draft.knows(*key)]
    if fixture in new:  # before the path, which refers to it
        for name, value in {"call": CREATE, "members": {"id": at}}.items():
            bench.draft.state((*fixture, "active", name), value, "created and updated by the probe")
    if path in new:
        bench.draft.state(path, {"id": "{webhook.id}"}, "a created endpoint can be updated")
    try:
        answer = await bench.send(await bench.arrange(UPDATE, given={"webhook": members}), "control")
        if answer.ok:
            return True
    except Unarranged as error:
        bench.draft.note("webhooks", bench.clean(f"{UPDATE} was not sent: {error}"))
    for key in reversed(new):
        bench.draft.retract(key)
    return False


async def _kept(bench: Bench, created: Answer) -> None:
    """States the members of a created endpoint that a PATCH without them leaves unchanged."""
    updated = bench.controls.get(UPDATE)
    body = bench.draft.get("operations", UPDATE, "body")
    if updated is None or not isinstance(body, dict):
        bench.draft.todo("webhooks", "patch = { ... }", "a PATCH body; kept = [...]: members that it leaves unchanged")
        return
    sent = created.request.body if isinstance(created.request.body, dict) else {}
    small = next(
        (one for one in [*(bench.draft.get("operations", UPDATE, "bodies") or []), body] if len(one) == 1), body
    )
    names = [name for name in sent if name not in small]
    request = await bench.arrange(
        UPDATE, given={"webhook": {"id": pointer.get(created.value, bench.draft.get("webhooks", "id"))}}
    )
    fresh = await bench.send(await bench.arrange(CREATE), "webhook")
    if not fresh.ok:
        return
    request = await bench.arrange(
        UPDATE, given={"webhook": {"id": pointer.get(fresh.value, bench.draft.get("webhooks", "id"))}}
    )
    answer = await bench.send(request.with_body(await bench.arranger.render_body(request, small)), "webhook")
    fresh_sent = fresh.request.body
    kept = [
        at
        for at in (f"/data{pointer.join(name)}" for name in names)
        if answer.ok
        and pointer.has(fresh.value, at)
        and pointer.has(answer.value, at)
        and pointer.get(fresh.value, at) == pointer.get(answer.value, at) == fresh_sent[pointer.tokens(at)[-1]]
    ]
    if kept:
        bench.draft.state(("webhooks", "patch"), small, "answered 200")
        bench.draft.state(("webhooks", "kept"), kept, "equal in the create request and in both answers")
    else:
        bench.draft.todo("webhooks", 'kept = ["/data/url"]', "members that a PATCH leaves unchanged")


def oauth(bench: Bench) -> None:
    """States the pointers to members of a token request and of its 200 answer."""
    if not bench.draft.knows("oauth"):
        return
    body = bench.draft.get("operations", "exchangeOAuthToken", "body")
    wanted = {"pkce.verifier": "code_verifier", "oauth.code": "code", "oauth.client_id": "client_id_member"}
    wanted |= {"oauth.redirect_uri": "redirect_uri_member"}
    for at, leaf in pointer.leaves(body) if body is not None else []:
        for name in placeholders(leaf) & wanted.keys() if isinstance(leaf, str) else ():
            if leaf == f"{{{name}}}":
                bench.draft.state(("oauth", wanted[name]), at, "the body contains the placeholder there")
    control = bench.controls.get("exchangeOAuthToken")
    if control is None:
        return
    _token_members(bench, control.value)


def _token_members(bench: Bench, value: Any) -> None:
    """Finds the token type by its value, and the access token by its name or as the only long string."""
    texts = {at: leaf for at, leaf in pointer.leaves(value) if isinstance(leaf, str)}
    kinds = [at for at, leaf in texts.items() if leaf.lower() in ("dpop", "bearer")]
    if len(kinds) == 1:
        bench.draft.state(("oauth", "token_type"), kinds[0], f"{texts[kinds[0]]} in the answer to the exchange")
    named = [at for at in texts if re.sub(r"[^a-z]", "", pointer.tokens(at)[-1].lower()) in ("accesstoken", "token")]
    long = [at for at, leaf in texts.items() if len(leaf) >= _TOKEN_LENGTH and not re.search(r"\s", leaf)]
    if len(named) == 1:
        bench.draft.state(("oauth", "access_token"), named[0], "name in the answer to the exchange")
    elif len(long) == 1:
        bench.draft.state(("oauth", "access_token"), long[0], "the only long string in the answer to the exchange")

"""What is of another installation, and tickets: the statuses that refuse them, and whether a ticket is used once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from conformance.checks.support.forged_secrets import LEAST_MADE_UP, MADE_UP
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.profile.resources import FOREIGN
from conformance.setup.probe.context import ARRANGE_ERRORS, Probe

_READS: Final = (
    "quotePublicCartCheckout",
    "getStorefrontOrderAfterSalesEligibility",
    "getStorefrontOrderCancellationEligibility",
)
_WRITES: Final = ("quotePublicCart", "updateInstallationWebhook")
_CONSUME: Final = "consumeHostedCheckoutBrowserTicket"
_CANCEL: Final = "cancelHostedCheckoutBrowser"


async def probe_tenancy(probe: Probe) -> None:
    """States the status for another installation's objects and keys, if all that were tried get the same."""
    answers: dict[str, Answer] = {}
    for name in (*_READS, *_WRITES):
        if probe.is_proven(name):
            try:
                answers |= await _send_across(probe, name)
            except ARRANGE_ERRORS as error:
                probe.draft.note("tenancy", probe.clean(f"{name} was not tried: {error}"))
    statuses = {answer.status for answer in answers.values()}
    if len(answers) > 1 and statuses in ({403}, {404}):
        status = statuses.pop()
        probe.draft.state(("tenancy", "status"), status, f"{status} for {', '.join(answers)}")


async def _send_across(probe: Probe, name: str) -> dict[str, Answer]:
    """The answers for an object of another installation, and for a key of another installation."""
    answers = {}
    path = probe.draft.get("operations", name, "path") or {}
    kind = next(iter(path.values()), "").strip("{}").partition(".")[0]
    if probe.draft.has("fixtures", kind, FOREIGN):
        request = await probe.arrange(name)
        foreign = await probe.arrange(name, use={kind: FOREIGN})
        if foreign.path != request.path:
            answers[f"{name} on {kind}.{FOREIGN}"] = await probe.send(request.with_path(**foreign.path), "foreign")
    if key := foreign_credential(probe, probe.operation(name).scope):
        request = probe.arranger.as_credential(await probe.arrange(name), key)
        answers[f"{name} with the key {key}"] = await probe.send(request, "a key of another installation")
    return answers


def foreign_credential(probe: Probe, scope: str) -> str:
    """An active key of another installation with a scope; empty without one."""
    return next((name for name, home in _holders(probe, scope) if home and home != _home(probe)), "")


def fellow_credential(probe: Probe, scope: str) -> str:
    """Another active key of the same installation with a scope; empty without one."""
    same = (name for name, home in _holders(probe, scope) if home == _home(probe) and name != probe.main_credential)
    return next(same, "")


def _home(probe: Probe) -> str:
    return str(probe.draft.get("credentials", probe.main_credential, "installation") or "")


def _holders(probe: Probe, scope: str) -> list[tuple[str, str]]:
    table: Mapping[str, Any] = probe.draft.get("credentials") or {}
    return [
        (name, str(facts.get("installation", "")))
        for name, facts in table.items()
        if name in probe.keys and facts.get("status") == "active" and scope in facts.get("scopes", ())
    ]


async def probe_tickets(probe: Probe) -> None:
    """States the status for a ticket that does not exist, and whether a ticket is used once."""
    names = [name for name in (_CONSUME, _CANCEL) if probe.is_proven(name)]
    answers = [answer for name in names for answer in await _send_forged(probe, name)]
    statuses = {answer.status for answer in answers}
    if answers and len(statuses) == 1 and statuses <= {400, 401, 403, 404}:
        evidence = f"{answers[0].summary} with {len(answers)} forged tickets and tickets of other sessions"
        probe.draft.state(("hosted", "unknown_ticket_status"), statuses.pop(), evidence)
    if _CONSUME in names:
        await _probe_second_use(probe)
    if len(names) == 2:
        shapes = [set(data) if isinstance(data := probe.controls[name].data, dict) else set() for name in names]
        evidence = f"the members of data in the answers of both: {'equal' if shapes[0] == shapes[1] else 'different'}"
        probe.draft.state(("hosted", "projection_shared"), shapes[0] == shapes[1], evidence)


async def _send_forged(probe: Probe, name: str) -> list[Answer]:
    """The answers with forged tickets, and with the ticket of another session."""
    answers = []
    for change in (*MADE_UP.values(), None):
        request, other = await probe.arrange(name), await probe.arrange(name)
        places = ticket_places(request)
        if len(places) != 1 or request.path == other.path:
            return []
        ticket = str(pointer.get(request.body, places[0]))
        forged = change(ticket) if change else pointer.get(other.body, places[0])
        bad = request.with_body(pointer.replace(request.body, places[0], forged))
        answers.append(await probe.send(bad, "a forged ticket"))
    return answers


def ticket_places(request: Request) -> list[str]:
    """Where the body has a value of its fixture that the path has not, long enough to be a secret."""
    members = [value for fixture in request.fixtures.members.values() for value in fixture.values()]
    return [
        at
        for at, leaf in pointer.leaves(request.body)
        if isinstance(leaf, str)
        and leaf in members
        and len(leaf) >= LEAST_MADE_UP
        and leaf not in request.path.values()
    ]


async def _probe_second_use(probe: Probe) -> None:
    first = await probe.send(await probe.arrange(_CONSUME), "a ticket")
    second = await probe.send(first.request.with_fresh_key(), "the same ticket again")
    if first.ok and (second.ok or (second.is_refused and second.has_declared_status)):
        evidence = f"{_CONSUME} again with another key: {second.summary}"
        probe.draft.state(("hosted", "tickets_single_use"), not second.ok, evidence)

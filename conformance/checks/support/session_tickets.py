"""The ticket in a hosted request: its place, and the ticket of another session in place of it."""

from __future__ import annotations

from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.forged_secrets import LEAST_MADE_UP
from conformance.checks.support.invalid_bodies import fixture_values
from conformance.client.request import Request
from conformance.core import json_pointer as pointer
from conformance.core.json_pointer import JsonValue
from conformance.profile.render import placeholders

CONSUME: Final = "consumeHostedCheckoutBrowserTicket"
CANCEL: Final = "cancelHostedCheckoutBrowser"


async def with_ticket_of_another_session(case: Case, request: Request, other: Request | None = None) -> Request:
    """The good request with the ticket of another session, of `other` where that is given."""
    _require_ticket(case)
    other = other or await case.arrange()
    path_key, body_key = _place_of_values(case, "path"), _place_of_values(case, "body")
    case.need(request.path != other.path, path_key, "two different sessions are needed")
    # a value that differs in every body is not a ticket
    names_ticket = case.named_in_body and request.body != other.body
    case.need(names_ticket, body_key, "a body that names the ticket of its session is needed, another one for each")
    return request.with_body(other.body)


def _place_of_values(case: Case, part: str) -> str:
    """The key behind the values of a part of the request: of the fixture that it names, or that part itself."""
    template = dict(case.facts.path) if part == "path" else case.facts.body
    kinds = {name.partition(".")[0] for name in placeholders(template)} if template is not None else set[str]()
    for fixture in case.named_fixtures:
        if fixture.kind in kinds:
            return f"fixtures.{fixture.name}{'.values' if fixture.values else ''}"
    return f"operations.{case.operation.id}.{part} (from a fixture)"


def _require_ticket(case: Case) -> None:
    """Inapplicable where the stated body shows that a session is cancelled without its ticket.

    The interface does not say that a cancellation has one (Resources, HostedBrowserCancelRequest).
    """
    if case.operation.id == CANCEL and case.facts.body is not None:
        names = _fixture_members(case.facts.body)
        tickets = _fixture_members(case.runtime.arranger.facts(case.runtime.settings.contract.operations[CONSUME]).body)
        case.require_applicable(names & (tickets or names), "the body that the profile states names no ticket")


def _fixture_members(body: JsonValue) -> set[tuple[str, str]]:
    """(kind, member) of each fixture that a stated body names: of consume, that is the ticket."""
    names = placeholders(body) if body is not None else frozenset[str]()
    return {(name.partition(".")[0], name.rpartition(".")[2]) for name in names if "." in name}


def ticket_in(case: Case, request: Request) -> tuple[str, str]:
    """The place of the ticket in the body, and the ticket; a further case where the body names none."""
    values = fixture_values(case, request)
    found = [
        (at, leaf) for at, leaf in pointer.leaves(request.body) if leaf in values and leaf not in request.path.values()
    ]
    tickets = [(at, leaf) for at, leaf in found if isinstance(leaf, str) and len(leaf) >= LEAST_MADE_UP]
    case.require_case(tickets, "the body names no ticket that could be forged")
    names = _names_in_body(case, request)
    return max(tickets, key=lambda item: ("ticket" in item[0].lower(), *names.get(item[1], (False, False))))


def _names_in_body(case: Case, request: Request) -> dict[str, tuple[bool, bool]]:
    """Value of a fixture -> whether its member is called a ticket, and whether it is of a kind that the path names."""
    kinds = {name.partition(".")[0] for name in placeholders(dict(case.facts.path))}
    return {
        value: ("ticket" in member.lower(), kind in kinds)
        for kind in case.named_in_body
        for member, value in case.fixture_of(request, kind).items()
        if isinstance(value, str)
    }

"""The resources that the suite created at the target: recorded during the run, removed at its end by `[cleanup]`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from conformance.client.redaction.secrets import Secrets
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core.errors import FixtureError, JournalError
from conformance.journal.journal import Journal
from conformance.journal.lines import ResourceCreated, ResourceRemoved
from conformance.profile.model import Profile
from conformance.profile.render import placeholders
from conformance.profile.resources import Fixture, HttpCall

CREATE, UPDATE = "createInstallationWebhook", "updateInstallationWebhook"
REMOVAL_TIMEOUT_S: Final = 20.0
"""Seconds for all removals together."""
_CONCURRENCY: Final = 8

Call = Callable[[HttpCall, Mapping[str, Any], str], Awaitable[Any]]
"""Sends an HTTP call of the profile with values for its placeholders. Raises FixtureError."""


class CreatedResources:
    """Writes one journal line for each batch of created resources, and one for each kind that was cleaned up."""

    def __init__(self, profile: Profile, journal: Journal, secrets: Secrets) -> None:
        self._profile = profile
        self._journal = journal
        self._secrets = secrets
        self._members_by_id: dict[str, dict[str, Mapping[str, Any]]] = {}
        """kind -> id -> members of the resource."""
        names = {name for facts in profile.operations.values() for name in placeholders(dict(facts.path))}
        names |= {name for cleanup in profile.cleanup.values() for name in placeholders(_texts(cleanup.http))}
        self._members: dict[str, str] = {}
        """kind -> the member that a path uses as the id."""
        for name in sorted(names):
            kind, _, suffix = name.partition(".")
            self._members.setdefault(kind, suffix.rpartition(".")[2])
        templates = profile.operations[UPDATE].path.values() if UPDATE in profile.operations else ()
        self._webhook = next((name.partition(".")[0] for text in templates for name in placeholders(text)), "webhook")

    def note_provided(self, fixture: Fixture, values: Iterable[Any]) -> None:
        """Records the resources that a fixture provider created."""
        if (
            fixture.values
            or fixture.call
            or fixture.origin
            or (fixture.http is not None and fixture.http.method == "GET")
        ):
            return
        member = self._members.get(fixture.kind, "")
        id_pointer = fixture.members.get(member, f"/{member}")
        resources = {
            str(pointer.get(value, id_pointer)): value for value in values if member and pointer.has(value, id_pointer)
        }
        self._note(fixture.kind, fixture.state, resources, fixture.members)

    def note_answer(self, answer: Answer) -> None:
        """Records the webhook endpoint of an answer to createInstallationWebhook; called for every answer of the
        run."""
        id_pointer = self._profile.webhooks.id
        if (
            answer.request.operation.id != CREATE
            or not answer.ok
            or not id_pointer
            or not pointer.has(answer.value, id_pointer)
        ):
            return
        name = pointer.get(answer.value, id_pointer)
        if isinstance(name, str | int) and str(name) not in self._members_by_id.get(self._webhook, {}):
            member = self._members.get(self._webhook, "id")
            self._note(self._webhook, "created", {str(name): {member: name}}, {})

    def _note(self, kind: str, state: str, resources: Mapping[str, Any], members: Mapping[str, str]) -> None:
        if not resources:
            return
        by_id = self._members_by_id.setdefault(kind, {})
        for name, value in resources.items():
            by_id[name] = {to: pointer.get(value, at) for to, at in members.items() if pointer.has(value, at)} or value
        clean = self._secrets.clean_word
        self._journal.append(ResourceCreated(clean(kind), clean(state), tuple(map(clean, resources))))

    async def remove(self, call: Call) -> None:
        """Sends the cleanup call of each kind, newest resource first. A failed removal is recorded in the journal."""
        try:
            async with asyncio.timeout(REMOVAL_TIMEOUT_S):
                for kind, cleanup in self._profile.cleanup.items():
                    await self._remove(kind, cleanup.http, call)
        except TimeoutError:
            pass

    async def _remove(self, kind: str, cleanup: HttpCall, call: Call) -> None:
        remaining_resources = list(self._members_by_id.get(kind, {}).items())
        names = placeholders(_texts(cleanup))
        removed_ids: list[str] = []
        troubles: dict[str, str] = {}

        async def lane() -> None:
            while remaining_resources:
                name, members = remaining_resources.pop()
                scope = {name: members[at] for name in names if (at := name.rpartition(".")[2]) in members}
                try:
                    await call(cleanup, scope, f"cleanup.{kind}")
                    removed_ids.append(name)
                except FixtureError as error:
                    troubles[name] = str(error)

        try:
            await asyncio.gather(*(lane() for _ in range(_CONCURRENCY)))
        finally:
            if removed_ids or troubles:
                clean, trouble = self._secrets.clean_word, next(iter(troubles.values()), "")
                with suppress(JournalError):
                    self._journal.append(ResourceRemoved(clean(kind), tuple(map(clean, removed_ids)), clean(trouble)))


def _texts(call: HttpCall) -> list[Any]:
    return [call.url, call.json, dict(call.headers)]

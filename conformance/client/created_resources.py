"""What the suite created at the target: written down as it goes, removed at the end where the profile says how."""

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
from conformance.profile.model import Fixture, HttpCall, Profile
from conformance.profile.render import placeholders

CREATE, UPDATE = "createInstallationWebhook", "updateInstallationWebhook"
WITHIN_S: Final = 20.0
"""How long removing may take, all in all."""
_AT_ONCE: Final = 8

Call = Callable[[HttpCall, Mapping[str, Any], str], Awaitable[Any]]
"""Sends a call of the profile's with the values for its placeholders; raises FixtureError."""


class Ledger:
    """One line of the journal for each batch that was made, and one for each kind of which something was removed."""

    def __init__(self, profile: Profile, journal: Journal, secrets: Secrets) -> None:
        self._profile = profile
        self._journal = journal
        self._secrets = secrets
        self._made: dict[str, dict[str, Mapping[str, Any]]] = {}
        """kind -> id -> its members."""
        names = {name for facts in profile.operations.values() for name in placeholders(dict(facts.path))}
        names |= {name for how in profile.cleanup.values() for name in placeholders(_texts(how.http))}
        self._members: dict[str, str] = {}
        """kind -> the member that names one in a path."""
        for name in sorted(names):
            kind, _, rest = name.partition(".")
            self._members.setdefault(kind, rest.rpartition(".")[2])
        templates = profile.operations[UPDATE].path.values() if UPDATE in profile.operations else ()
        self._webhook = next((name.partition(".")[0] for text in templates for name in placeholders(text)), "webhook")

    def provided(self, fixture: Fixture, given: Iterable[Any]) -> None:
        """What a provider that makes things has made."""
        if (
            fixture.values
            or fixture.call
            or fixture.origin
            or (fixture.http is not None and fixture.http.method == "GET")
        ):
            return
        member = self._members.get(fixture.kind, "")
        where = fixture.members.get(member, f"/{member}")
        found = {str(pointer.get(one, where)): one for one in given if member and pointer.has(one, where)}
        self._note(fixture.kind, fixture.state, found, fixture.members)

    def saw(self, answer: Answer) -> None:
        """Every answer of the run: a webhook endpoint may have been made by it."""
        where = self._profile.webhooks.id
        if answer.request.operation.id != CREATE or not answer.ok or not where or not pointer.has(answer.value, where):
            return
        name = pointer.get(answer.value, where)
        if isinstance(name, str | int) and str(name) not in self._made.get(self._webhook, {}):
            member = self._members.get(self._webhook, "id")
            self._note(self._webhook, "created", {str(name): {member: name}}, {})

    def _note(self, kind: str, state: str, found: Mapping[str, Any], members: Mapping[str, str]) -> None:
        if not found:
            return
        kept = self._made.setdefault(kind, {})
        for name, one in found.items():
            kept[name] = {to: pointer.get(one, at) for to, at in members.items() if pointer.has(one, at)} or one
        clean = self._secrets.clean_word
        self._journal.append(ResourceCreated(clean(kind), clean(state), tuple(map(clean, found))))

    async def remove(self, call: Call) -> None:
        """Calls what the profile has for each kind, the newest first. What cannot be removed is said, and left."""
        try:
            async with asyncio.timeout(WITHIN_S):
                for kind, how in self._profile.cleanup.items():
                    await self._remove(kind, how.http, call)
        except TimeoutError:
            pass

    async def _remove(self, kind: str, how: HttpCall, call: Call) -> None:
        waiting = list(self._made.get(kind, {}).items())
        names = placeholders(_texts(how))
        gone: list[str] = []
        troubles: dict[str, str] = {}

        async def lane() -> None:
            while waiting:
                name, members = waiting.pop()
                scope = {name: members[at] for name in names if (at := name.rpartition(".")[2]) in members}
                try:
                    await call(how, scope, f"cleanup.{kind}")
                    gone.append(name)
                except FixtureError as error:
                    troubles[name] = str(error)

        try:
            await asyncio.gather(*(lane() for _ in range(_AT_ONCE)))
        finally:
            if gone or troubles:
                clean, trouble = self._secrets.clean_word, next(iter(troubles.values()), "")
                with suppress(JournalError):
                    self._journal.append(ResourceRemoved(clean(kind), tuple(map(clean, gone)), clean(trouble)))


def _texts(call: HttpCall) -> list[Any]:
    return [call.url, call.json, dict(call.headers)]

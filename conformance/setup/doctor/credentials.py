"""Facts about the clock, the Authorization header, and the state, scopes and installation of each key."""

from __future__ import annotations

import asyncio
import email.utils
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.checks.support.context import Runtime
from conformance.checks.support.identity import scopes_at
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.profile.model import Credential
from conformance.setup.conventions import AUTHORIZATION_FORMATS
from conformance.setup.doctor.facts import Fact, note, proven, unsure, wrong

_IDENTITY, _CONFIG = "getApiKeyIdentity", "getPublicRuntimeConfig"
_MAX_OFFSET_S: Final = 5.0


async def clock_facts(runtime: Runtime) -> list[Fact]:
    """The difference of the target's Date (RFC 9110 section 6.6.1) and the local clock, which DPoP proofs carry."""
    request = await runtime.arranger.arrange(runtime.settings.contract.operations[_CONFIG])
    answer = await runtime.sender.send(request, "clock")
    try:
        target_time = email.utils.parsedate_to_datetime(answer.header("Date") or "").timestamp()
    except (ValueError, TypeError, OverflowError):
        return [note("clock", "the target sends no Date")]
    offset = target_time - time.time()
    if abs(offset) <= _MAX_OFFSET_S:
        return [proven("clock", f"within {_MAX_OFFSET_S:g} s of the target's Date")]
    oauth = runtime.settings.profile.oauth
    allowance = (oauth.behind_s if offset > 0 else oauth.ahead_s) if oauth else None
    message = f"the target's Date is {offset:+.0f} s off"
    if allowance is not None and abs(offset) > allowance:
        message = f"{message}, more than [oauth] allows"  # its Date may be a gateway's: proofs show who is wrong
    return [unsure("clock", message, "DPoP proofs carry the time of this machine: set one of the clocks")]


async def credential_facts(runtime: Runtime) -> list[Fact]:
    """One fact for each credential, and one for the format of the Authorization header."""
    profile = runtime.settings.profile
    if not profile.credentials:
        return [
            note("credentials", "none are stated", "add [credentials.NAME]: operations that need a key are not judged")
        ]
    answers = dict(
        zip(profile.credentials, await asyncio.gather(*map(_identity_call(runtime), profile.credentials)), strict=True)
    )
    active = [name for name, entry in profile.credentials.items() if entry.active]
    refused = [name for name in active if answers[name].status == 401]
    if active and len(refused) == len(active):
        return [await _format_fact(runtime, active[0], answers[active[0]])]
    facts = [proven("authorization.format", f"accepted: {profile.authorization.format}")] if active else []
    identities = {name: _KeyIdentity(answers[name], profile.identity.scopes) for name in active if answers[name].ok}
    for name, credential in profile.credentials.items():
        facts += _acceptance_facts(credential, answers[name])
        if name in identities:
            facts += await _scope_facts(runtime, credential, identities[name])
    return [*facts, *_installation_facts(profile.credentials, identities)]


def _identity_call(runtime: Runtime) -> Any:
    async def call_identity(name: str) -> Answer:
        operation = runtime.settings.contract.operations[_IDENTITY]
        return await runtime.sender.send(await runtime.arranger.arrange(operation, credential=name), "credential")

    return call_identity


async def _format_fact(runtime: Runtime, name: str, answer: Answer) -> Fact:
    """The fact for keys that are all refused: whether the target accepts them in another format."""
    stated = runtime.settings.profile.authorization.format
    problem = f"every active key is answered 401 as {stated!r}"
    for candidate in (candidate for candidate in AUTHORIZATION_FORMATS if candidate != stated):
        header = candidate.replace("{key}", runtime.arranger.key_of(name))
        if (await runtime.sender.send(answer.request.with_authorization(header, credential=name), "another format")).ok:
            return wrong("authorization.format", problem, f'the target accepts format = "{candidate}"')
    return wrong("authorization.format", problem, "is the format a different one, or are these keys of another target?")


def _acceptance_facts(credential: Credential, answer: Answer) -> Iterator[Fact]:
    name, source = f"credentials.{credential.name}", _describe_source(credential)
    if credential.active and answer.status == 401:
        yield wrong(name, "answered 401", f"is it active, and is {source} the right one?")
    elif credential.active and not answer.ok:
        yield wrong(name, f"{_IDENTITY} answered {answer.summary}; a valid key must get 200", f"check {source}")
    elif not credential.active and answer.ok:
        yield wrong(name, f"is stated as {credential.status}, but was accepted", 'set status = "active", or revoke it')
    elif not credential.active:
        yield proven(name, f"{credential.status}: refused with {answer.summary}")
    else:
        yield proven(name, "accepted")


def _describe_source(credential: Credential) -> str:
    source = credential.source
    if source.env:
        return f"the environment variable {source.env}"
    return f"the file {source.file}" if source.file else "the output of the command"


class _KeyIdentity:
    """The scopes and the installation of a key, from its identity answer.

    `place`: of the scopes; empty: in any member whose name speaks of them.
    """

    def __init__(self, answer: Answer, place: str) -> None:
        self.scopes: frozenset[str] | None = None
        self.installation = ""
        for path, value in _leaves(answer.value, ""):
            self._add_member(path.lower(), value)
        if place:
            self.scopes = frozenset(scopes_at(answer.value, place)) if pointer.has(answer.value, place) else None

    def _add_member(self, path: str, value: Any) -> None:
        if "scope" in path and isinstance(value, list | str):
            words = value.split() if isinstance(value, str) else [str(item) for item in value if isinstance(item, str)]
            self.scopes = (self.scopes or frozenset()) | frozenset(words)
        if "installation" in path and isinstance(value, str | int) and not self.installation:
            self.installation = str(value)


def _leaves(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Members by their path; an array is a leaf itself, followed by the leaves of its elements."""
    if depth > 6:
        return
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _leaves(member, f"{path}/{name}", depth + 1)
        return
    yield path, value
    for member in value[:50] if isinstance(value, list) else ():
        if isinstance(member, dict):
            yield from _leaves(member, path, depth + 1)


async def _scope_facts(runtime: Runtime, credential: Credential, identity: _KeyIdentity) -> list[Fact]:
    name = f"credentials.{credential.name}.scopes"
    known_scopes = {operation.scope for operation in runtime.settings.contract.all if operation.scope}
    stated = credential.scopes & known_scopes
    if identity.scopes is not None and (identity.scopes & known_scopes or not stated):
        target_scopes = identity.scopes & known_scopes
        if target_scopes == stated:
            return [proven(name, f"as the target shows them: {_join(stated)}")]
        message = f"the target shows {_join(target_scopes)}, the profile states {_join(stated)}"
        return [wrong(name, message, f"state scopes = [{', '.join(repr(item) for item in sorted(target_scopes))}]")]
    refused = [scope for scope in sorted(stated) if await _is_forbidden(runtime, credential, scope)]
    if refused:
        return [wrong(name, f"{_join(refused)}: answered 403 with this key", "remove it from the list, or grant it")]
    return [unsure(name, "the target does not show them", "reads were accepted; writes are proven by the controls")]


async def _is_forbidden(runtime: Runtime, credential: Credential, scope: str) -> bool:
    """Whether a read that needs the scope is answered 403 with that key: of a foreign key one that names no resource,
    since those of the profile are not its own."""
    is_foreign = credential.installation != runtime.arranger.home
    for operation in runtime.settings.contract.all:
        if operation.scope == scope and operation.method == "GET" and not (is_foreign and operation.path_parameters):
            try:
                request = await runtime.arranger.arrange(operation, shared=True, credential=credential.name)
            except MissingFact:
                continue
            return (await runtime.sender.send(request, "scope")).status == 403
    return False


def _join(scopes: Any) -> str:
    return ", ".join(sorted(scopes)) or "none"


def _installation_facts(stated: Mapping[str, Credential], identities: Mapping[str, _KeyIdentity]) -> Iterator[Fact]:
    """Keys must show the same installation exactly where the profile states the same one."""
    installations = {name: identity.installation for name, identity in identities.items() if identity.installation}
    pairs: dict[str, str] = {}
    for name, target_id in installations.items():
        stated_id = stated[name].installation
        conflict = next((key for key, value in pairs.items() if (value == target_id) != (key == stated_id)), None)
        pairs.setdefault(stated_id, target_id)
        if conflict is None:
            continue
        relation = "the same installation" if pairs[conflict] == target_id else "another installation"
        message = f"{stated_id!r} by the profile, but the target shows {relation} as for {conflict!r}"
        yield wrong(f"credentials.{name}.installation", message, "state the installation of each key")
        return
    if installations:
        yield proven("credentials.*.installation", f"{len(set(installations.values()))} installations, as stated")

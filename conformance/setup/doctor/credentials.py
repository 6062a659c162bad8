"""Facts about the clock, the Authorization header, and the state, scopes and installation of each key."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from conformance.checks.support.clocks import PROOFS_CARRY_IT, describe_offset, offset_of
from conformance.checks.support.context import Runtime
from conformance.checks.support.identity import SCOPES, candidates, extra_scopes, missing_scopes, scopes_at
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core.messages import plural
from conformance.profile.installations import is_of_home, keys_without_installation
from conformance.profile.model import Credential, Profile
from conformance.setup.conventions import AUTHORIZATION_FORMATS
from conformance.setup.doctor.facts import Fact, note, obstacle, proven, unsure, wrong

_IDENTITY, _CONFIG = "getApiKeyIdentity", "getPublicRuntimeConfig"
_MAX_OFFSET_S: Final = 5.0


async def clock_facts(runtime: Runtime) -> list[Fact]:
    """The difference of the target's Date (RFC 9110 section 6.6.1) and the local clock, which DPoP proofs carry."""
    request = await runtime.arranger.arrange(runtime.settings.contract.operations[_CONFIG])
    answer = await runtime.sender.send(request, "clock")
    offset_s = offset_of(answer)
    if offset_s is None:
        return [note("clock", "the target sends no Date")]
    if abs(offset_s) <= _MAX_OFFSET_S:
        return [proven("clock", f"within {_MAX_OFFSET_S:g} s of the target's Date")]
    return [unsure("clock", describe_offset(offset_s, runtime.settings.profile.oauth), PROOFS_CARRY_IT)]


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
    obstacles = {name: _obstacle(name, answer) for name, answer in answers.items()}
    if active and all(obstacles[name] for name in active):
        return [obstacle for obstacle in obstacles.values() if obstacle]
    refused = [name for name in active if answers[name].status == 401]
    if active and all(name in refused or obstacles[name] for name in active):
        return [await _format_fact(runtime, refused[0], answers[refused[0]])]
    facts = [proven("authorization.format", f"accepted: {profile.authorization.format}")] if active else []
    identities = {name: answers[name] for name in active if answers[name].ok}
    scopes = _ShownScopes.find(runtime, identities)
    for name, credential in profile.credentials.items():
        facts += _acceptance_facts(credential, answers[name])
        if name in identities:
            facts += await _scope_facts(runtime, credential, identities[name], scopes)
    return [*facts, *_unknown_installations(profile), *_installation_facts(profile.credentials, identities)]


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


def _obstacle(name: str, answer: Answer) -> Fact | None:
    return obstacle(f"credentials.{name}", _IDENTITY, answer)


def _acceptance_facts(credential: Credential, answer: Answer) -> Iterator[Fact]:
    name, source = f"credentials.{credential.name}", _describe_source(credential)
    if found := _obstacle(credential.name, answer):
        yield found
    elif credential.active and answer.status == 401:
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
    if source.keyring:
        return "the entry of the keyring"
    return f"the file {source.file}" if source.file else "the output of the command"


class _ShownScopes(NamedTuple):
    """Where identity shows the scopes of a key, as IDN-1 looks for them: by the answer to the broadest key."""

    places: list[str]
    """Where there are several, one of them may list what other keys have."""
    broadest: str
    """The name of the broadest key; empty where it was refused."""
    reference: Any = None
    """What identity answers to it."""

    @classmethod
    def find(cls, runtime: Runtime, answers: Mapping[str, Answer]) -> _ShownScopes:
        profile, operation = runtime.settings.profile, runtime.settings.contract.operations[_IDENTITY]
        name = runtime.arranger.credential_for(operation).name
        reference = answers[name].value if name in answers else None
        scopes = profile.credentials[name].scopes & {*SCOPES}
        if {"identity", "identity.scopes"} & profile.exclusions.keys() or not isinstance(reference, dict):
            return cls([], "")
        if profile.identity.scopes:
            return cls([profile.identity.scopes], name, reference)
        return cls(candidates(reference, scopes) if scopes and "data" in reference else [], name, reference)

    def differing(self, credential: Credential, broadest: Credential, answer: Answer) -> dict[str, frozenset[str]]:
        """Place -> the scopes that it shows, in the innermost places; empty where one of all shows the stated ones."""
        found, stated = {}, credential.scopes & {*SCOPES}
        for place in self.places:
            signs, reference_signs = scopes_at(answer.value, place), scopes_at(self.reference, place)
            extra = extra_scopes(signs, reference_signs, stated, broadest.scopes)
            if not (missing_scopes(signs, stated) or extra):
                return {}
            found[place] = frozenset(signs) & (stated | {*extra})
        return {
            place: scopes
            for place, scopes in found.items()
            if not any(other.startswith(f"{place}/") for other in found)
        }


def _installation_of(answer: Answer) -> str:
    """What a member whose name speaks of an installation says; empty without one."""
    members = _leaves(answer.value, "")
    texts = (str(value) for path, value in members if "installation" in path.lower() and isinstance(value, str | int))
    return next(filter(None, texts), "")


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


async def _scope_facts(runtime: Runtime, credential: Credential, answer: Answer, scopes: _ShownScopes) -> list[Fact]:
    name, stated = f"credentials.{credential.name}.scopes", credential.scopes & {*SCOPES}
    places = [place for place in scopes.places if pointer.has(answer.value, place)]
    if places:
        broadest = runtime.settings.profile.credentials[scopes.broadest]
        differing = scopes._replace(places=places).differing(credential, broadest, answer)
        if not differing:
            return [proven(name, f"as the target shows them: {_join(stated)}")]
        if len(differing) == 1:
            (found,) = differing.values()
            message = f"the target shows {_join(found)}, the profile states {_join(stated)}"
            return [wrong(name, message, f"state scopes = [{', '.join(repr(item) for item in sorted(found))}]")]
        message = f"none of {', '.join(sorted(differing))} shows {_join(stated)}"
        return [unsure(name, message, "state the place of the key's own scopes as identity.scopes")]
    refused = [scope for scope in sorted(stated) if await _is_forbidden(runtime, credential, scope)]
    if refused:
        return [wrong(name, f"{_join(refused)}: answered 403 with this key", "remove it from the list, or grant it")]
    explanation = "reads were accepted; writes are proven by the controls"
    if {"identity", "identity.scopes"} & runtime.settings.profile.exclusions.keys():
        return [note(name, "identity does not show them, as the profile says", explanation)]
    if scopes.broadest and not scopes.places:
        return [unsure(name, f"no place in identity shows all scopes of the key {scopes.broadest!r}", explanation)]
    return [unsure(name, "the target does not show them", explanation)]


async def _is_forbidden(runtime: Runtime, credential: Credential, scope: str) -> bool:
    """Whether a read that needs the scope is answered 403 with that key: of a foreign key one that names no resource,
    since those of the profile are not its own."""
    is_other = not is_of_home(runtime.settings.profile, credential)
    for operation in runtime.settings.contract.all:
        if operation.scope == scope and operation.is_read and not (is_other and operation.path_parameters):
            try:
                request = await runtime.arranger.arrange(operation, shared=True, credential=credential.name)
            except MissingFact:
                continue
            return (await runtime.sender.send(request, "scope")).status == 403
    return False


def _join(scopes: Any) -> str:
    return ", ".join(sorted(scopes)) or "none"


def _unknown_installations(profile: Profile) -> Iterator[Fact]:
    for credential in keys_without_installation(profile):
        message = "not stated, though that of other keys is: it may be any"
        yield unsure(f"credentials.{credential.name}.installation", message, "state the installation of each key")


def _installation_facts(stated: Mapping[str, Credential], identities: Mapping[str, Answer]) -> Iterator[Fact]:
    """Keys must show the same installation exactly where the profile states the same one."""
    by_name = {name: _installation_of(answer) for name, answer in identities.items()}
    installations = {name: installation for name, installation in by_name.items() if installation}
    pairs: dict[str, str] = {}
    has_names = any(stated[name].installation for name in installations)
    for name, target_id in installations.items():
        stated_id = stated[name].installation
        if has_names and not stated_id:
            continue
        conflict = next((key for key, value in pairs.items() if (value == target_id) != (key == stated_id)), None)
        pairs.setdefault(stated_id, target_id)
        if conflict is None:
            continue
        relation = "the same installation" if pairs[conflict] == target_id else "another installation"
        message = f"{stated_id!r} by the profile, but the target shows {relation} as for {conflict!r}"
        yield wrong(f"credentials.{name}.installation", message, "state the installation of each key")
        return
    if installations:
        count = plural(len(set(installations.values())), "installation")
        yield proven("credentials.*.installation", f"{count}, as stated")

"""Facts about time and keys: the clock, how a key is written, and of each key its state, scopes and installation."""

from __future__ import annotations

import asyncio
import email.utils
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.checks.support.context import Runtime
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.profile.model import Credential
from conformance.setup.conventions import FORMATS
from conformance.setup.doctor.facts import Fact, note, proven, unsure, wrong

_IDENTITY, _CONFIG = "getApiKeyIdentity", "getPublicRuntimeConfig"
_OFF_S: Final = 5.0


async def clock(runtime: Runtime) -> list[Fact]:
    """How far the target's Date is from ours (RFC 9110 section 6.6.1): proofs of DPoP carry our time."""
    request = await runtime.arranger.arrange(runtime.settings.contract.operations[_CONFIG])
    answer = await runtime.sender.send(request, "clock")
    try:
        theirs = email.utils.parsedate_to_datetime(answer.header("Date") or "").timestamp()
    except (ValueError, TypeError, OverflowError):
        return [note("clock", "the target tells no Date")]
    off = theirs - time.time()
    if abs(off) <= _OFF_S:
        return [proven("clock", f"within {_OFF_S:g} s of the target's Date")]
    allowed = runtime.settings.profile.oauth.clock_allowance_s if runtime.settings.profile.oauth else None
    told = f"the target's Date is {off:+.0f} s off"
    if allowed is not None and abs(off) > allowed:
        return [
            wrong("clock", f"{told}, more than oauth.clock_allowance_s", "set the clock of this machine, or theirs")
        ]
    return [unsure("clock", told, "proofs of DPoP carry this machine's time: set one of the clocks")]


async def credentials(runtime: Runtime) -> list[Fact]:
    """One fact a credential, and one about how it is written."""
    profile = runtime.settings.profile
    if not profile.credentials:
        return [
            note("credentials", "none are stated", "add [credentials.NAME]: without, no operation with a key is judged")
        ]
    answers = dict(
        zip(profile.credentials, await asyncio.gather(*map(_asked(runtime), profile.credentials)), strict=True)
    )
    active = [name for name, one in profile.credentials.items() if one.active]
    refused = [name for name in active if answers[name].status == 401]
    if active and len(refused) == len(active):
        return [await _form(runtime, active[0], answers[active[0]])]
    facts = [proven("authorization.format", f"accepted: {profile.authorization}")] if active else []
    shown = {name: _Shown(answers[name]) for name in active if answers[name].ok}
    for name, credential in profile.credentials.items():
        facts += _accepted(credential, answers[name])
        if name in shown:
            facts += await _scopes(runtime, credential, shown[name])
    return [*facts, *_installations(profile.credentials, shown)]


def _asked(runtime: Runtime) -> Any:
    async def ask(name: str) -> Answer:
        operation = runtime.settings.contract.operations[_IDENTITY]
        return await runtime.sender.send(await runtime.arranger.arrange(operation, credential=name), "credential")

    return ask


async def _form(runtime: Runtime, name: str, answer: Answer) -> Fact:
    """Every key is refused: it is the way that they are written, if another one is accepted."""
    own = runtime.settings.profile.authorization
    told = f"every active key is answered 401 as {own!r}"
    for form in (form for form in FORMATS if form != own):
        header = form.replace("{key}", runtime.arranger.key_of(name))
        if (await runtime.sender.send(answer.request.with_authorization(header, credential=name), "another form")).ok:
            return wrong("authorization.format", told, f'the target accepts format = "{form}"')
    return wrong("authorization.format", told, "is it written otherwise? Or are these keys of another target?")


def _accepted(credential: Credential, answer: Answer) -> Iterator[Fact]:
    name, source = f"credentials.{credential.name}", _source(credential)
    if credential.active and answer.status == 401:
        yield wrong(name, "answered 401", f"is it active, and is {source} the right one?")
    elif credential.active and not answer.ok:
        yield wrong(
            name, f"{_IDENTITY} answered {answer.summary}, and any valid key ought to get 200", f"look at {source}"
        )
    elif not credential.active and answer.ok:
        yield wrong(name, f"is stated as {credential.status}, and was accepted", 'say status = "active", or revoke it')
    elif not credential.active:
        yield proven(name, f"{credential.status}: refused with {answer.summary}")
    else:
        yield proven(name, "accepted")


def _source(credential: Credential) -> str:
    source = credential.source
    if source.env:
        return f"the environment variable {source.env}"
    return f"the file {source.file}" if source.file else "what the command prints"


class _Shown:
    """What the identity answer tells of a key, wherever in it that stands."""

    def __init__(self, answer: Answer) -> None:
        self.scopes: frozenset[str] | None = None
        self.installation = ""
        for where, value in _leaves(answer.value, ""):
            self._look(where.lower(), value)

    def _look(self, where: str, value: Any) -> None:
        if "scope" in where and isinstance(value, list | str):
            words = value.split() if isinstance(value, str) else [str(one) for one in value if isinstance(one, str)]
            self.scopes = (self.scopes or frozenset()) | frozenset(words)
        if "installation" in where and isinstance(value, str | int) and not self.installation:
            self.installation = str(value)


def _leaves(value: Any, where: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Members by their path; an array is one leaf, and its elements are looked into as well."""
    if depth > 6:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, f"{where}/{name}", depth + 1)
        return
    yield where, value
    for inner in value[:50] if isinstance(value, list) else ():
        if isinstance(inner, dict):
            yield from _leaves(inner, where, depth + 1)


async def _scopes(runtime: Runtime, credential: Credential, shown: _Shown) -> list[Fact]:
    name = f"credentials.{credential.name}.scopes"
    known = {operation.scope for operation in runtime.settings.contract.all if operation.scope}
    stated = credential.scopes & known
    if shown.scopes is not None and (shown.scopes & known or not stated):
        theirs = shown.scopes & known
        if theirs == stated:
            return [proven(name, f"as the target shows them: {_list(stated)}")]
        told = f"the target shows {_list(theirs)}, the profile states {_list(stated)}"
        return [wrong(name, told, f"state scopes = [{', '.join(repr(one) for one in sorted(theirs))}]")]
    refused = [scope for scope in sorted(stated) if await _forbids(runtime, credential, scope)]
    if refused:
        return [wrong(name, f"{_list(refused)}: answered 403 with this key", "take it from the list, or grant it")]
    return [unsure(name, "the target does not show them", "reads were accepted; writes show in the controls")]


async def _forbids(runtime: Runtime, credential: Credential, scope: str) -> bool:
    """Whether a read that needs the scope is answered 403 with that key."""
    for operation in runtime.settings.contract.all:
        if operation.scope == scope and operation.method == "GET":
            try:
                request = await runtime.arranger.arrange(operation, shared=True, credential=credential.name)
            except MissingFact:
                continue
            return (await runtime.sender.send(request, "scope")).status == 403
    return False


def _list(scopes: Any) -> str:
    return ", ".join(sorted(scopes)) or "none"


def _installations(stated: Mapping[str, Credential], shown: Mapping[str, _Shown]) -> Iterator[Fact]:
    """Keys of one stated installation must show one, and of two, two."""
    told = {name: one.installation for name, one in shown.items() if one.installation}
    first: dict[str, str] = {}
    for name, theirs in told.items():
        own = stated[name].installation
        other = next((known for known, value in first.items() if (value == theirs) != (known == own)), None)
        first.setdefault(own, theirs)
        if other is None:
            continue
        same = "the same installation" if first[other] == theirs else "another installation"
        what = f"{own!r} by the profile, and the target shows {same} as for {other!r}"
        yield wrong(f"credentials.{name}.installation", what, "say which keys belong together")
        return
    if told:
        yield proven("credentials.*.installation", f"{len(set(told.values()))} installations, as stated")

"""The scheme of the Authorization header, its case and the key's, and what public operations do with a bad header."""

from __future__ import annotations

import secrets as random_source
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core.key_change import KeyChange
from conformance.profile.behavior import scheme_of
from conformance.setup.probe.access import IDENTITY
from conformance.setup.probe.context import ARRANGE_ERRORS, UNKNOWN_KEY, Probe

_COMMON_SCHEMES: Final = ("Bearer", "ApiKey", "Token")
_BASIC: Final = "Basic bm8tdXNlcjpuby1wYXNzd29yZA=="
_READ: Final = "getPublicRuntimeConfig"
_PUBLIC: Final = (
    _READ,
    "searchPublicProducts",
    "listPublicMerchantCategories",
    "consumeHostedCheckoutBrowserTicket",
)


async def probe_scheme(probe: Probe) -> None:
    """States whether a good key is accepted without its scheme, and with the scheme in another case."""
    form = str(probe.draft.get("authorization", "format")).lstrip()
    scheme = scheme_of(form)
    if not scheme or not probe.main_credential:
        return
    rest = form[len(scheme) :]
    bare = await _send_key(probe, "{key}")
    others = [name for name in _COMMON_SCHEMES if name.casefold() != scheme.casefold()]
    answers = {name: await _send_key(probe, name + rest) for name in (*others, f"{scheme}s")}
    listing = f"{IDENTITY}: {bare.summary} with the key alone, {_listing(answers)}"
    if bare.ok:
        unknown = await _send_identity(probe, random_source.token_urlsafe(24))
        if unknown.status == 401:
            probe.draft.state(("authorization", "scheme"), "optional", f"{listing}; 401 with an unknown key alone")
    elif {answer.status for answer in (bare, *answers.values())} == {401}:
        probe.draft.state(("authorization", "scheme"), "required", listing)
    await _probe_case(probe, scheme, rest)


async def _probe_case(probe: Probe, scheme: str, rest: str) -> None:
    spellings = [spelling for spelling in (scheme.upper(), scheme.lower(), scheme.title()) if spelling != scheme]
    answers = {spelling: await _send_key(probe, spelling + rest) for spelling in dict.fromkeys(spellings)}
    treatments = {200: "any", 401: "exact"}
    statuses = {answer.status for answer in answers.values()}
    if len(statuses) == 1 and (treatment := treatments.get(statuses.pop() or 0)):
        probe.draft.state(("authorization", "scheme_case"), treatment, f"{IDENTITY}: {_listing(answers)}")


async def probe_key_case(probe: Probe) -> None:
    """States whether a key in the other case is the same key, where it has letters and is not another known one."""
    name, change = probe.main_credential, KeyChange("swapcase")
    if not name or change.apply(probe.keys[name]) in probe.keys.values():
        return
    request = Request(probe.operation(IDENTITY), authorization=(), credential=name)
    answer = await probe.send(probe.arranger.with_changed_key(request, change), "a key in the other case")
    if treatment := {200: "any", 401: "sensitive"}.get(answer.status or 0):
        evidence = f"{IDENTITY}: {answer.summary} with the key {name} in the other case"
        probe.draft.state(("authorization", "key_case"), treatment, evidence)


def _listing(answers: Mapping[str, Answer]) -> str:
    return ", ".join(f"{answer.summary} with {name}" for name, answer in answers.items())


async def _send_key(probe: Probe, form: str) -> Answer:
    return await _send_identity(probe, form.replace("{key}", probe.keys[probe.main_credential]))


async def _send_identity(probe: Probe, header: str) -> Answer:
    request = Request(probe.operation(IDENTITY), authorization=(header,), credential=UNKNOWN_KEY)
    return await probe.send(request, "scheme")


async def probe_public(probe: Probe) -> None:
    """States what public operations do with the header of an unknown key, if all that were tried do the same."""
    if not probe.main_credential:
        return
    unknown = str(probe.draft.get("authorization", "format")).replace("{key}", random_source.token_urlsafe(24))
    answers = await _send_public(probe, _PUBLIC, unknown)
    statuses = {answer.status for answer in answers.values()}
    evidence = f"the header of an unknown key: {_names(answers)}"
    if statuses == {401}:
        probe.draft.state(("authorization", "public"), "checked", evidence)
    elif statuses == {200}:
        further = [await _send_public(probe, (_READ,), header) for header in _needless_headers(probe)]
        if all(answer.ok for answers in further for answer in answers.values()):
            probe.draft.state(("authorization", "public"), "ignored", f"{evidence}; 200 with {len(further)} others")


def _names(answers: Mapping[str, Answer]) -> str:
    return ", ".join(f"{name} {answer.summary}" for name, answer in answers.items())


async def _send_public(probe: Probe, names: Iterable[str], header: str) -> dict[str, Answer]:
    answers = {}
    for name in names:
        if probe.is_proven(name):
            try:
                request = await probe.arrange(name)
            except ARRANGE_ERRORS:
                continue
            answers[name] = await probe.send(request.with_authorization(header, credential=UNKNOWN_KEY), "a bad header")
    return answers


def _needless_headers(probe: Probe) -> Iterator[str]:
    """Headers that a public operation has no reason to read: of another scheme, of an inactive and of a good key."""
    yield _BASIC
    table = probe.draft.get("credentials") or {}
    inactive = [name for name in probe.keys if table.get(name, {}).get("status", "active") != "active"]
    for name in (*inactive[:1], probe.main_credential):
        yield probe.arranger.authorization(name)

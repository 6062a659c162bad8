"""The format of the Authorization header, and the scopes and installation of each API key."""

from __future__ import annotations

import re
import secrets as random_source
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.checks.support.identity import candidates, extra_scopes, missing_scopes, scopes_at
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.profile.behavior import scheme_of
from conformance.profile.sample import JsonValue
from conformance.setup.conventions import AUTHORIZATION_FORMATS
from conformance.setup.probe.context import UNKNOWN_KEY, Probe

IDENTITY: Final = "getApiKeyIdentity"
SCOPES: Final = ("webhooks:write", "webhooks:read", "catalog:read", "checkout:quote")
_MAX_KEYS: Final = 3
_KEY_ALONE: Final = "{key}"
_SCOPE_OPERATIONS: Final = {
    "webhooks:read": "listInstallationWebhookDeliveries",
    "webhooks:write": "createInstallationWebhook",
    "catalog:read": "getStorefrontOrderCancellationEligibility",
    "checkout:quote": "quotePublicCartCheckout",
}
"""One operation that needs the scope, for each scope."""
_RESOURCE_SCOPES: Final = ("catalog:read", "checkout:quote")
"""Scopes whose operation addresses a resource of one installation."""


async def probe_authorization(probe: Probe) -> None:
    """States the first format with which a key is accepted, and tests that an unknown key is refused."""
    operation = probe.operation(IDENTITY)
    keyless = await probe.send(Request(operation), "without a key")
    if not probe.keys:
        probe.draft.todo("credentials", "", "pass --key to probe the operations that need one")
        state_default_format(probe, "no --key option")
        return
    if keyless.ok:
        probe.draft.note("authorization", "getApiKeyIdentity: 200 without a key, no evidence of a format")
    stated = [probe.draft.get("authorization", "format")] if probe.draft.is_stated("authorization", "format") else []
    formats = list(
        dict.fromkeys(
            [*stated, *probe.openapi.authorization_formats, *_challenge_formats(keyless), *AUTHORIZATION_FORMATS]
        )
    )
    for key in list(probe.keys)[:_MAX_KEYS]:
        for number, template in enumerate(formats, 1):
            answer = await _send_identity(probe, template, probe.keys[key])
            if answer.ok:
                schemed = await _find_scheme(probe, formats[number:], probe.keys[key]) if template == _KEY_ALONE else ""
                await _state_format(probe, schemed or template, key, number)
                return
    state_default_format(probe, f"none of {len(formats)} formats got 200 with {_describe_keys(len(probe.keys))}")


async def _find_scheme(probe: Probe, formats: list[str], key: str) -> str:
    """The first format with a scheme that is accepted, of a target that accepts the key alone; empty if none is."""
    for template in formats:
        if scheme_of(template) and (await _send_identity(probe, template, key)).ok:
            return template
    return ""


def _describe_keys(count: int) -> str:
    return "the key" if count == 1 else f"any of {min(count, _MAX_KEYS)} keys"


def state_default_format(probe: Probe, reason: str) -> None:
    """States a default format, which a profile requires, and marks it with a TODO."""
    probe.draft.state(("authorization", "format"), "Bearer {key}", f"TODO assumed, {reason}: state its format")
    probe.echo(f"  Authorization: {reason}")


async def _state_format(probe: Probe, template: str, key: str, number: int) -> None:
    unknown = await _send_identity(probe, template, random_source.token_urlsafe(24))
    contrast = "401 with an unknown key" if unknown.status == 401 else f"but {unknown.summary} with an unknown key"
    evidence = f"getApiKeyIdentity: 200 with the key {key!r}, {contrast} (format number {number})"
    probe.draft.state(("authorization", "format"), template, evidence)
    probe.echo(f"  Authorization: {template}")


def _challenge_formats(answer: Answer) -> Iterator[str]:
    """The formats for the schemes of a WWW-Authenticate header (RFC 9110, section 11.6.1)."""
    for scheme in re.findall(
        r"(?:^|,)\s*([A-Za-z][A-Za-z0-9-]{0,30})(?=\s|,|$)", answer.header("WWW-Authenticate") or ""
    ):
        if scheme.lower() not in ("basic", "digest", "dpop", "negotiate"):
            yield f"{scheme} {{key}}"


async def _send_identity(probe: Probe, template: str, key: str) -> Answer:
    header = template.replace("{key}", key)
    request = Request(probe.operation(IDENTITY), authorization=(header,), credential=UNKNOWN_KEY)
    return await probe.send(request, "authorization")


async def probe_identities(probe: Probe) -> None:
    """States the scopes and installation that getApiKeyIdentity returns. A refused key has status `revoked`."""
    template = probe.draft.get("authorization", "format")
    for name, key in probe.keys.items():
        answer = probe.identities[name] = await _send_identity(probe, template, key)
        prefix = ("credentials", name)
        if answer.status == 401:
            probe.draft.state((*prefix, "scopes"), [], "TODO unknown: the key is refused")
            probe.draft.state((*prefix, "status"), "revoked", "getApiKeyIdentity: 401, and 200 with another key")
            continue
        scopes = sorted(find_scopes(answer.value), key=SCOPES.index)
        evidence = "from getApiKeyIdentity" if scopes else "TODO getApiKeyIdentity returns no scope of the interface"
        probe.draft.state((*prefix, "scopes"), scopes, evidence if answer.ok else f"TODO identity: {answer.summary}")
        if installation := _find_installation(answer.value):
            probe.draft.state((*prefix, "installation"), probe.clean(installation), "from getApiKeyIdentity")
        probe.draft.state((*prefix, "status"), "active", f"getApiKeyIdentity: {answer.summary}")
        probe.echo(f"  key {name}: {', '.join(scopes) or 'no scopes'}")
    _discard_equal_claims(probe)
    if not any(table.get("status") == "active" for table in probe.draft.get("credentials").values()):
        for name in probe.keys:  # no key is accepted: the format is probably wrong
            probe.draft.retract(("credentials", name, "status"))


def _discard_equal_claims(probe: Probe) -> None:
    """Discards scopes that all of several keys seem to have: the answer may list every scope, and who has it."""
    table: Mapping[str, Any] = probe.draft.get("credentials") or {}
    active = [name for name, facts in table.items() if facts.get("status") == "active"]
    if len(active) > 1 and len({tuple(table[name]["scopes"]) for name in active}) == 1 and table[active[0]]["scopes"]:
        for name in active:
            probe.draft.state(("credentials", name, "scopes"), [], "TODO getApiKeyIdentity shows each key the same")


def find_scopes(value: JsonValue) -> set[str]:
    """The scopes in an identity response: strings, lists separated by spaces or commas, or names of true members."""
    texts = {word for text in _iterate_strings(value) for word in re.split(r"[\s,]+", text) if word in SCOPES}
    return texts or {name for name, flag in _iterate_members(value) if name in SCOPES and flag is True}


def _iterate_members(value: JsonValue) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
        for item in value.values():
            yield from _iterate_members(item)


def _iterate_strings(value: JsonValue) -> Iterator[str]:
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, str) and len(part) < 10_000:
            yield part
        elif isinstance(part, dict):
            pending += [item for name, item in part.items() if not re.search(r"missing|available|denied", str(name))]
        elif isinstance(part, list):
            pending += part


def _find_installation(value: JsonValue) -> str:
    pending: list[tuple[str, Any]] = [("", value)]
    while pending:
        name, part = pending.pop(0)
        if "installation" in name.lower() and isinstance(part, str | int) and not isinstance(part, bool):
            text = str(part)
            return text if re.fullmatch(r"[\w.:@/-]{1,80}", text) else ""
        if isinstance(part, dict):
            parent = name if "installation" in name.lower() else ""
            pending += [
                (f"{parent}{key}" if str(key).lower() in ("id", "name") else str(key), item)
                for key, item in part.items()
            ]
    return ""


def _reason_of_installation(probe: Probe, name: str, *, is_readable: bool) -> str:
    if name == probe.main_credential:
        return "the name of the first key's installation"
    return "it reads resources of the first key" if is_readable else "TODO assumed: no contrary evidence"


async def probe_scopes(probe: Probe) -> None:
    """Tries each scope with each key, on resources of the home installation, and states what the status codes show."""
    table: Mapping[str, Any] = probe.draft.get("credentials") or {}
    installations = {name: credential.get("installation", "") for name, credential in table.items()}
    installations_known = bool(installations.get(probe.main_credential))
    scopes_known = any(credential.get("scopes") for credential in table.values())
    for name, credential in list(table.items()):
        if credential.get("status") != "active":
            continue
        if installations_known and installations[name] != installations[probe.main_credential]:
            if not scopes_known:  # and its scopes cannot be tried on resources of the home installation
                _leave_out(probe, name)
            continue
        answers = {scope: answer async for scope, answer in _try_scopes(probe, name)}
        claimed = set(credential["scopes"])
        on_resources = [answers[scope] for scope in _RESOURCE_SCOPES if scope in answers]
        is_readable = name == probe.main_credential or any(answer.ok for answer in on_resources)
        if not installations_known and not scopes_known and on_resources and not is_readable:
            _leave_out(probe, name)  # another installation, or a scope that is missing
            continue
        if not installations_known and any(_is_hidden(scope, answer, claimed) for scope, answer in answers.items()):
            probe.draft.state(("credentials", name, "installation"), "B", "resources of the first key are hidden")
            continue
        if not installations_known:
            reason = _reason_of_installation(probe, name, is_readable=is_readable)
            probe.draft.state(("credentials", name, "installation"), "A", reason)
        allowed = (claimed | {s for s, a in answers.items() if a.ok}) - {
            s for s, a in answers.items() if a.status == 403
        }
        if answers:
            number = sum(answer.status in (200, 403) for answer in answers.values())
            evidence = f"{number} of 4 tried, each with an operation that needs it: 200 or 403"
            if not scopes_known and (untried := set(SCOPES) - answers.keys()):
                evidence = f"TODO not tried: {', '.join(sorted(untried))}; {evidence}"
            probe.draft.state(("credentials", name, "scopes"), sorted(allowed, key=SCOPES.index), evidence)


def _leave_out(probe: Probe, name: str) -> None:
    probe.draft.retract(("credentials", name))
    line, reason = f"[credentials.{name}]", "its scopes and installation; identity responses show none"
    probe.draft.todo("credentials", line, reason)


async def probe_place_of_scopes(probe: Probe) -> None:
    """States the innermost place that shows each key's scopes in its answer, and no others."""
    table: Mapping[str, Any] = probe.draft.get("credentials") or {}
    scopes = {n: frozenset(table[n]["scopes"]) for n, answer in probe.identities.items() if answer.ok and n in table}
    if len(set(scopes.values())) < 2:
        return
    broadest = max(scopes, key=lambda name: len(scopes[name]))
    answer = probe.identities[broadest]
    places = candidates(answer.value, scopes[broadest]) if isinstance(answer.data, dict) else []
    for place in sorted(places, key=len, reverse=True):
        if all(_shows(probe, place, name, scopes[name], broadest, scopes[broadest]) for name in scopes):
            evidence = f"the answers to {len(scopes)} keys show there the scopes that were tried, and no others"
            probe.draft.state(("identity", "scopes"), place, evidence)
            return


def _shows(
    probe: Probe, place: str, name: str, scopes: frozenset[str], broadest: str, broadest_scopes: frozenset[str]
) -> bool:
    signs, reference = (scopes_at(probe.identities[key].value, place) for key in (name, broadest))
    return not (missing_scopes(signs, scopes) or extra_scopes(signs, reference, scopes, broadest_scopes))


async def _try_scopes(probe: Probe, name: str) -> Any:
    for scope, operation in _SCOPE_OPERATIONS.items():
        if operation in probe.controls:
            request = await probe.arrange(operation)
            yield scope, await probe.send(probe.arranger.as_credential(request, name), "scope")


def _is_hidden(scope: str, answer: Answer, claimed: set[str]) -> bool:
    """Whether a resource of the home installation is hidden from a key that claims the scope."""
    return scope in _RESOURCE_SCOPES and (answer.status == 404 or (answer.status == 403 and scope in claimed))

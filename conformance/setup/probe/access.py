"""The format of the Authorization header, and the scopes and installation of each API key."""

from __future__ import annotations

import re
import secrets as random_source
from collections.abc import Iterator, Mapping
from typing import Any, Final

from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.profile.sample import JsonValue
from conformance.setup.conventions import FORMATS
from conformance.setup.probe.context import Bench

IDENTITY: Final = "getApiKeyIdentity"
SCOPES: Final = ("webhooks:write", "webhooks:read", "catalog:read", "checkout:quote")
_KEYS_TRIED: Final = 3
_BY_OPERATION: Final = {
    "webhooks:read": "listInstallationWebhookDeliveries",
    "webhooks:write": "createInstallationWebhook",
    "catalog:read": "getStorefrontOrderCancellationEligibility",
    "checkout:quote": "quotePublicCartCheckout",
}
"""One operation that needs the scope, for each scope."""
_OF_THINGS: Final = ("catalog:read", "checkout:quote")
"""Scopes whose operation addresses a resource of one installation."""


async def authorization(bench: Bench) -> None:
    """States the first format with which a key is accepted, and tests that an unknown key is refused."""
    operation = bench.operation(IDENTITY)
    bare = await bench.send(Request(operation), "without a key")
    if not bench.keys:
        bench.draft.todo("credentials", "", "pass --key to probe the operations that need one")
        undecided(bench, "no --key option")
        return
    if bare.ok:
        bench.draft.note("authorization", "getApiKeyIdentity: 200 without a key, no evidence of a format")
    told = [bench.draft.get("authorization", "format")] if bench.draft.stated("authorization", "format") else []
    formats = list(dict.fromkeys([*told, *bench.described.authorization, *_challenged(bare), *FORMATS]))
    for key in list(bench.keys)[:_KEYS_TRIED]:
        for tried, form in enumerate(formats, 1):
            answer = await _as(bench, form, bench.keys[key])
            if answer.ok:
                await _settle_on(bench, form, key, tried)
                return
    undecided(bench, f"none of {len(formats)} formats got 200 with {_several(len(bench.keys))}")


def _several(count: int) -> str:
    return "the key" if count == 1 else f"any of {min(count, _KEYS_TRIED)} keys"


def undecided(bench: Bench, why: str) -> None:
    """States a default format, which a profile requires, and marks it with a TODO."""
    bench.draft.state(("authorization", "format"), "Bearer {key}", f"TODO assumed: {why}")
    bench.draft.todo("authorization", "", "the format of the Authorization header")
    bench.tell(f"  Authorization: {why}")


async def _settle_on(bench: Bench, form: str, key: str, tried: int) -> None:
    nobody = await _as(bench, form, random_source.token_urlsafe(24))
    sure = "401 with an unknown key" if nobody.status == 401 else f"but {nobody.summary} with an unknown key"
    evidence = f"getApiKeyIdentity: 200 with the key {key!r}, {sure} (format number {tried})"
    bench.draft.state(("authorization", "format"), form, evidence)
    bench.tell(f"  Authorization: {form}")


def _challenged(answer: Answer) -> Iterator[str]:
    """The formats for the schemes of a WWW-Authenticate header (RFC 9110, section 11.6.1)."""
    for scheme in re.findall(
        r"(?:^|,)\s*([A-Za-z][A-Za-z0-9-]{0,30})(?=\s|,|$)", answer.header("WWW-Authenticate") or ""
    ):
        if scheme.lower() not in ("basic", "digest", "dpop", "negotiate"):
            yield f"{scheme} {{key}}"


async def _as(bench: Bench, form: str, key: str) -> Answer:
    request = Request(bench.operation(IDENTITY), authorization=(form.replace("{key}", key),))
    return await bench.send(request, "authorization")


async def identities(bench: Bench) -> None:
    """States the scopes and installation that getApiKeyIdentity returns. A refused key has status `revoked`."""
    form = bench.draft.get("authorization", "format")
    for name, key in bench.keys.items():
        answer = await _as(bench, form, key)
        where = ("credentials", name)
        if answer.status == 401:
            bench.draft.state((*where, "scopes"), [], "TODO unknown: the key is refused")
            bench.draft.state((*where, "status"), "revoked", "getApiKeyIdentity: 401, and 200 with another key")
            continue
        scopes = sorted(_scopes(answer.value), key=SCOPES.index)
        seen = "from getApiKeyIdentity" if scopes else "getApiKeyIdentity returns no scope of the interface"
        bench.draft.state((*where, "scopes"), scopes, seen if answer.ok else f"TODO identity: {answer.summary}")
        if home := _installation(answer.value):
            bench.draft.state((*where, "installation"), bench.clean(home), "from getApiKeyIdentity")
        bench.draft.state((*where, "status"), "active", f"getApiKeyIdentity: {answer.summary}")
        bench.tell(f"  key {name}: {', '.join(scopes) or 'no scopes'}")
    if not any(table.get("status") == "active" for table in bench.draft.get("credentials").values()):
        for name in bench.keys:  # no key is accepted: the format is probably wrong
            bench.draft.retract(("credentials", name, "status"))


def _scopes(value: JsonValue) -> set[str]:
    """The scopes in an identity response: single strings, or lists separated by spaces or commas."""
    return {word for text in _texts(value) for word in re.split(r"[\s,]+", text) if word in SCOPES}


def _texts(value: JsonValue) -> Iterator[str]:
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, str) and len(part) < 10_000:
            yield part
        elif isinstance(part, dict):
            left += [item for name, item in part.items() if not re.search(r"missing|available|denied", str(name))]
        elif isinstance(part, list):
            left += part


def _installation(value: JsonValue) -> str:
    left: list[tuple[str, Any]] = [("", value)]
    while left:
        name, part = left.pop(0)
        if "installation" in name.lower() and isinstance(part, str | int) and not isinstance(part, bool):
            text = str(part)
            return text if re.fullmatch(r"[\w.:@/-]{1,80}", text) else ""
        if isinstance(part, dict):
            inherits = name if "installation" in name.lower() else ""
            left += [
                (f"{inherits}{key}" if str(key).lower() in ("id", "name") else str(key), v) for key, v in part.items()
            ]
    return ""


async def scopes_by_asking(bench: Bench) -> None:
    """Tries each scope with each key, on resources of the home installation, and states what the status codes show."""
    table: Mapping[str, Any] = bench.draft.get("credentials") or {}
    homes = {name: told.get("installation", "") for name, told in table.items()}
    told_apart = bool(homes.get(bench.main))
    shown = any(told["scopes"] for told in table.values())
    for name, told in list(table.items()):
        if told.get("status") != "active":
            continue
        if told_apart and homes[name] != homes[bench.main]:
            if not shown:  # and its scopes cannot be tried on resources of the home installation
                bench.draft.retract(("credentials", name))
                bench.draft.todo("credentials", f"[credentials.{name}]", "its scopes; identity responses show none")
            continue
        answers = {scope: answer async for scope, answer in _asked(bench, name)}
        claimed = set(told["scopes"])
        if not told_apart and any(_hidden(scope, answer, claimed) for scope, answer in answers.items()):
            bench.draft.state(("credentials", name, "installation"), "B", "resources of the first key are hidden")
            continue
        if not told_apart:
            sure = name == bench.main or any(answers[s].ok for s in _OF_THINGS if s in answers)
            why = "it reads resources of the first key" if sure else "TODO assumed: no contrary evidence"
            bench.draft.state(("credentials", name, "installation"), "A", why)
        held = (claimed | {s for s, a in answers.items() if a.ok}) - {s for s, a in answers.items() if a.status == 403}
        if answers:
            tried = sum(answer.status in (200, 403) for answer in answers.values())
            evidence = f"{tried} of 4 tried, each with an operation that needs it: 200 or 403"
            bench.draft.state(("credentials", name, "scopes"), sorted(held, key=SCOPES.index), evidence)


async def _asked(bench: Bench, name: str) -> Any:
    for scope, operation in _BY_OPERATION.items():
        if operation in bench.controls:
            request = await bench.arrange(operation)
            yield scope, await bench.send(bench.arranger.as_credential(request, name), "scope")


def _hidden(scope: str, answer: Answer, claimed: set[str]) -> bool:
    """Whether a resource of the home installation is hidden from a key that claims the scope."""
    return scope in _OF_THINGS and (answer.status == 404 or (answer.status == 403 and scope in claimed))

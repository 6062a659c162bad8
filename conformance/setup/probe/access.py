"""How an API key is written in Authorization, and what each of the keys can do."""

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
"""For each scope an operation that needs it."""
_OF_THINGS: Final = ("catalog:read", "checkout:quote")
"""Those whose operations name a thing, which belongs to an installation."""


async def authorization(bench: Bench) -> None:
    """The first format with which a key is known; a key that nobody has must then be refused."""
    operation = bench.operation(IDENTITY)
    bare = await bench.send(Request(operation), "without a key")
    if not bench.keys:
        bench.draft.todo("credentials", "", "give --key, and the operations that need one are probed too")
        undecided(bench, "no key was given")
        return
    if bare.ok:
        bench.draft.note("authorization", "getApiKeyIdentity was answered 200 without any key: nothing follows")
    told = [bench.draft.get("authorization", "format")] if bench.draft.stated("authorization", "format") else []
    formats = list(dict.fromkeys([*told, *bench.described.authorization, *_challenged(bare), *FORMATS]))
    for key in list(bench.keys)[:_KEYS_TRIED]:
        for tried, form in enumerate(formats, 1):
            answer = await _as(bench, form, bench.keys[key])
            if answer.ok:
                await _settle_on(bench, form, key, tried)
                return
    undecided(bench, f"none of {len(formats)} formats was answered 200 with {_several(len(bench.keys))}")


def _several(count: int) -> str:
    return "the key" if count == 1 else f"any of {min(count, _KEYS_TRIED)} keys"


def undecided(bench: Bench, why: str) -> None:
    """A profile cannot do without a format: a guess, that says to be one."""
    bench.draft.state(("authorization", "format"), "Bearer {key}", f"TODO a guess: {why}")
    bench.draft.todo("authorization", "", "how a key is written in the Authorization header")
    bench.tell(f"  Authorization: {why}")


async def _settle_on(bench: Bench, form: str, key: str, tried: int) -> None:
    nobody = await _as(bench, form, random_source.token_urlsafe(24))
    sure = "an unknown key 401" if nobody.status == 401 else f"but an unknown key {nobody.summary} too"
    evidence = f"getApiKeyIdentity: 200 with the key {key!r}, {sure} (format {tried} tried)"
    bench.draft.state(("authorization", "format"), form, evidence)
    bench.tell(f"  Authorization: {form}")


def _challenged(answer: Answer) -> Iterator[str]:
    """The schemes that a 401 asks for (RFC 9110 section 11.6.1)."""
    for scheme in re.findall(
        r"(?:^|,)\s*([A-Za-z][A-Za-z0-9-]{0,30})(?=\s|,|$)", answer.header("WWW-Authenticate") or ""
    ):
        if scheme.lower() not in ("basic", "digest", "dpop", "negotiate"):
            yield f"{scheme} {{key}}"


async def _as(bench: Bench, form: str, key: str) -> Answer:
    request = Request(bench.operation(IDENTITY), authorization=(form.replace("{key}", key),))
    return await bench.send(request, "authorization")


async def identities(bench: Bench) -> None:
    """What getApiKeyIdentity says of each key: scopes and installation. A key that is refused is not active."""
    form = bench.draft.get("authorization", "format")
    for name, key in bench.keys.items():
        answer = await _as(bench, form, key)
        where = ("credentials", name)
        if answer.status == 401:
            bench.draft.state((*where, "scopes"), [], "TODO cannot be seen: the key is refused")
            bench.draft.state((*where, "status"), "revoked", "getApiKeyIdentity: 401, where another key got 200")
            continue
        scopes = sorted(_scopes(answer.value), key=SCOPES.index)
        seen = "as getApiKeyIdentity tells" if scopes else "getApiKeyIdentity names none of the interface's"
        bench.draft.state((*where, "scopes"), scopes, seen if answer.ok else f"TODO identity was {answer.summary}")
        if home := _installation(answer.value):
            bench.draft.state((*where, "installation"), bench.clean(home), "as getApiKeyIdentity tells")
        bench.draft.state((*where, "status"), "active", f"getApiKeyIdentity: {answer.summary}")
        bench.tell(f"  key {name}: {', '.join(scopes) or 'no scopes seen'}")
    if not any(table.get("status") == "active" for table in bench.draft.get("credentials").values()):
        for name in bench.keys:  # none works: that says something of the format, not of the keys
            bench.draft.retract(("credentials", name, "status"))


def _scopes(value: JsonValue) -> set[str]:
    """The interface's scopes that an identity names, alone or in a list separated by blanks or commas."""
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
    """What a key may do is what it is let do: each scope is tried with each key, on things of the home installation."""
    table: Mapping[str, Any] = bench.draft.get("credentials") or {}
    homes = {name: told.get("installation", "") for name, told in table.items()}
    told_apart = bool(homes.get(bench.main))
    shown = any(told["scopes"] for told in table.values())
    for name, told in list(table.items()):
        if told.get("status") != "active":
            continue
        if told_apart and homes[name] != homes[bench.main]:
            if not shown:  # nor can it be tried on things of the home installation
                bench.draft.retract(("credentials", name))
                bench.draft.todo("credentials", f"[credentials.{name}]", "its scopes: identity shows none of any key")
            continue
        answers = {scope: answer async for scope, answer in _asked(bench, name)}
        claimed = set(told["scopes"])
        if not told_apart and any(_hidden(scope, answer, claimed) for scope, answer in answers.items()):
            bench.draft.state(("credentials", name, "installation"), "B", "does not see what the first key sees")
            continue
        if not told_apart:
            sure = name == bench.main or any(answers[s].ok for s in _OF_THINGS if s in answers)
            why = "sees what the first key sees" if sure else "TODO a guess: nothing was seen to the contrary"
            bench.draft.state(("credentials", name, "installation"), "A", why)
        held = (claimed | {s for s, a in answers.items() if a.ok}) - {s for s, a in answers.items() if a.status == 403}
        if answers:
            tried = sum(answer.status in (200, 403) for answer in answers.values())
            evidence = f"{tried} of 4 tried, by operations that need them: 200 or 403"
            bench.draft.state(("credentials", name, "scopes"), sorted(held, key=SCOPES.index), evidence)


async def _asked(bench: Bench, name: str) -> Any:
    for scope, operation in _BY_OPERATION.items():
        if operation in bench.controls:
            request = await bench.arrange(operation)
            yield scope, await bench.send(bench.arranger.as_credential(request, name), "scope")


def _hidden(scope: str, answer: Answer, claimed: set[str]) -> bool:
    """Whether a thing of the home installation is kept from a key that says to have the scope."""
    return scope in _OF_THINGS and (answer.status == 404 or (answer.status == 403 and scope in claimed))

"""Facts about calls: each operation's control, the idempotency key, the search, and what the profile points at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.context import Runtime
from conformance.checks.support.effects import Oracle
from conformance.checks.support.replays import drop_volatile, fix_proof_id
from conformance.checks.support.signals import Inconclusive, Signal
from conformance.client.fixtures import NotSent
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.core.errors import FixtureError
from conformance.core.model import STATUSES
from conformance.profile.model import Fixture, Idempotency
from conformance.profile.render import placeholders
from conformance.setup.conventions import KEY_NAMES
from conformance.setup.doctor.facts import Fact, note, proven, unsure, wrong

_CREATE: Final = "createInstallationWebhook"
_EXCERPT: Final = 160


class Calls:
    """What the operations' controls showed; everything after them rests on it."""

    def __init__(self, runtime: Runtime, *, spend: bool) -> None:
        self.runtime = runtime
        self.spend = spend
        self.good: dict[str, Answer] = {}
        self.bad: dict[str, Answer] = {}
        self._whole: dict[str, Answer] = {}

    def _excerpt(self, answer: Answer) -> str:
        text = self.runtime.settings.secrets.excerpt(answer.body.decode("utf-8", "replace"), 4 * _EXCERPT)
        return " ".join(text.split())[:_EXCERPT] or "(no body)"

    async def controls(self) -> list[Fact]:
        return list(await asyncio.gather(*(self._control(one) for one in self.runtime.settings.contract.all)))

    async def _control(self, operation: Operation) -> Fact:
        """The one that a run would prove, by the same means."""
        name = _name(operation)
        if not self.spend and (spent := _used_up(self.runtime, operation)):
            return unsure(name, f"not sent: it would use up one of fixtures.{spent.name}", "--spend sends it")
        try:
            self.good[operation.id] = await self.runtime.controls.prove(operation)
        except MissingFact as missing:
            return note(name, f"no control: {missing}")
        except NotSent as refused:
            return note(name, f"not sent: {refused}")
        except FixtureError as error:
            return unsure(name, f"rests on {error.where or 'a fixture'}: {error.message}")
        except Inconclusive as failed:
            self.bad[operation.id] = answer = failed.answers[-1]
            return wrong(
                name,
                f"its control is answered {answer.summary} instead of 200: {self._excerpt(answer)}",
                _advice(operation, answer),
            )
        return proven(name, f"the control of {operation.id} is answered 200")

    # Idempotency

    async def idempotency(self) -> list[Fact]:
        """Whether a replay replays, on the operation that shows it best; and whether the key's place is right."""
        facts = self.runtime.settings.profile.idempotency
        if facts is None:
            return [note("idempotency", "not stated", "say where the key stands: 11 operations need one")]
        called = [name for name in self.good if self._operation(name).idempotent]
        if not called:
            return await self._place(facts)
        case = Case(self.runtime, self._operation(_CREATE if _CREATE in called else called[0]))
        try:
            return [fact async for fact in self._replayed(case, facts)]
        except (Signal, MissingFact, NotSent, FixtureError) as error:
            return [unsure("idempotency", f"{case.operation.id}: {error}")]

    def _operation(self, name: str) -> Operation:
        return self.runtime.settings.contract.operations[name]

    async def _replayed(self, case: Case, facts: Idempotency) -> AsyncIterator[Fact]:
        where = _place_of(facts)
        request = fix_proof_id(await case.arrange())
        first, again = await case.send(request, "first"), await case.send(request, "replay")
        if not first.ok or not again.ok:
            told = f"{case.operation.id} was answered {first.summary}, and with the same key {again.summary}"
            yield wrong(f"idempotency.{where[0]}", told, f"is {where[1]} the key's place?")
            return
        new = await case.send((await case.arrange()).with_fresh_key(), "another key")
        yield _same_call(case, first, again, new, where)
        keyless = await case.send((await case.arrange()).with_key(None), "no key")
        yield _missing_key(facts, keyless)

    async def _place(self, facts: Idempotency) -> list[Fact]:
        """No call with a key was answered 200: with the key elsewhere, one may be."""
        kind, place = _place_of(facts)
        refused = {name: answer for name, answer in self.bad.items() if self._operation(name).idempotent}
        if not refused:
            return [unsure("idempotency", "no call with a key could be made")]
        name, answer = next(((n, a) for n, a in refused.items() if n == _CREATE), next(iter(refused.items())))
        for header in (one for one in KEY_NAMES if (facts.carrier, facts.name) != ("header", one)):
            request = (await self.runtime.arranger.arrange(self._operation(name))).with_header(
                header, answer.request.key or ""
            )
            if (await self.runtime.sender.send(request.with_key(None), "key elsewhere")).ok:
                told = f"{name} is answered {answer.summary} with the key in {place}, and 200 with it in {header}"
                return [wrong(f"idempotency.{kind}", told, f'carrier = "header", name = "{header}"')]
        if len(refused) < 3 or any(one.status != 400 for one in refused.values()):
            return [unsure("idempotency", "no call with a key was answered 200: see the controls")]
        told = f"all {len(refused)} calls with a key in {place} are answered {answer.summary}: {self._excerpt(answer)}"
        return [wrong("idempotency", told, "is the key's place right, and its format?")]

    async def errors(self) -> list[Fact]:
        """What differs between two errors that say the same."""
        case = Case(self.runtime, self._operation("getApiKeyIdentity"))
        volatile = case.profile.errors_volatile
        try:
            request = (await case.arrange(prove_control=False)).with_authorization()
            one, two = await case.send(request, "an error"), await case.send(request, "the same error")
        except (Signal, MissingFact) as error:
            return [unsure("errors.volatile", str(error))]
        at = strictjson.first_difference(drop_volatile(one.value, volatile), drop_volatile(two.value, volatile))
        if strictjson.is_equal(drop_volatile(one.value, volatile), drop_volatile(two.value, volatile)):
            return [proven("errors.volatile", "two errors that say the same are equal but for what is listed")]
        return [wrong("errors.volatile", f"two errors that say the same differ at {at or '/'}", "list what may differ")]

    # Where the profile points

    async def pointers(self) -> list[Fact]:
        """Every JSON pointer into an answer that a control can show."""
        profile, facts = self.runtime.settings.profile, []
        if profile.webhooks.id:
            facts += await self._points(_CREATE, "webhooks.id", [profile.webhooks.id])
            facts += await self._points(_CREATE, "webhooks.kept", profile.webhooks.kept)
        if profile.oauth:
            for member in ("access_token", "token_type"):
                facts += await self._points("exchangeOAuthToken", f"oauth.{member}", [getattr(profile.oauth, member)])
        return facts

    async def _shown(self, name: str) -> Answer | None:
        """A whole answer of an operation whose control is proven: a control itself is kept without its body."""
        if name not in self.good:
            return None
        if name not in self._whole:
            case = Case(self.runtime, self._operation(name))
            self._whole[name] = await case.send(await case.arrange(), "a look")
        return self._whole[name]

    async def _points(self, operation: str, key: str, wanted: Iterable[str]) -> list[Fact]:
        wanted = [where for where in wanted if where]
        try:
            answer = await self._shown(operation) if wanted else None
        except (Signal, MissingFact, NotSent, FixtureError) as error:
            return [unsure(key, str(error))]
        if answer is None:
            return []
        lost = [where for where in wanted if not pointer.has(answer.value, where)]
        if lost:
            return [
                wrong(
                    key,
                    f"{operation}'s answer has nothing at {lost[0]}: {self._excerpt(answer)}",
                    "name where it stands",
                )
            ]
        return [proven(key, f"found in {operation}'s answer")]

    async def effects(self) -> list[Fact]:
        """Each observation is made once, and shows something."""
        names = [n for n in self.runtime.settings.profile.effects if n in self.good]
        return list(await asyncio.gather(*(self._effect(name) for name in names)))

    async def _effect(self, name: str) -> Fact:
        case, key = Case(self.runtime, self._operation(name)), f"effects.{name}"
        try:
            await Oracle.watch(case, await case.arrange())
        except (FixtureError, Signal) as error:
            return wrong(key, str(error), "how is the effect to be seen?")
        except (MissingFact, NotSent) as missing:
            return unsure(key, str(missing))
        return proven(key, "shows a value")

    async def search(self) -> list[Fact]:
        """The stated bounds and values, each asked once."""
        search = self.runtime.settings.profile.search
        answer = await self._shown("searchPublicProducts")
        if answer is None or not isinstance(answer.data, list):
            return []
        facts = [] if answer.data else [wrong("search.query", "finds nothing", "ask for something that there is")]
        for name in ("item_id", "item_category", "item_merchant"):
            where = getattr(search, name)
            if where and answer.data and not pointer.has(answer.data[0], where):
                facts.append(wrong(f"search.{name}", f"the first item has nothing at {where}", "name where it stands"))
        asked = {"page_base": "page", "page_size_min": "pageSize", "page_size_max": "pageSize"}
        asked |= {"category": "category", "merchant": "merchant"}
        for name, parameter in asked.items():
            value = getattr(search, name)
            if value not in (None, ""):
                facts.append(await self._searched(f"search.{name}", parameter, str(value)))
        return facts

    async def _searched(self, key: str, parameter: str, value: str) -> Fact:
        case = Case(self.runtime, self._operation("searchPublicProducts"))
        answer = await case.send((await case.arrange()).with_query(**{parameter: value}), key)
        if not answer.ok:
            return wrong(
                key, f"{parameter}={value} is answered {answer.summary}: {self._excerpt(answer)}", "what is the value?"
            )
        if parameter in ("category", "merchant", "page") and not answer.data:
            return wrong(key, f"{parameter}={value} finds nothing", "name one that finds something")
        return proven(key, f"{parameter}={value} is answered 200")


def _name(operation: Operation) -> str:
    """The profile key that a control rests on most."""
    if operation.query_parameters:
        return "search.query"
    return "oauth" if operation.auth == "oauth" else f"operations.{operation.id}"


def _used_up(runtime: Runtime, operation: Operation) -> Fixture | None:
    """The listed fixture that a write would use up."""
    if operation.method == "GET":
        return None
    facts = runtime.arranger.facts(operation)
    names = placeholders([dict(facts.path), facts.body, dict(facts.query)])
    for name in sorted(names):
        kind, _, rest = name.partition(".")
        fixture = runtime.fixtures.find(kind, rest.rpartition(".")[0] or None)
        if fixture is not None and fixture.values and not fixture.reusable:
            return fixture
    return None


def _place_of(facts: Idempotency) -> tuple[str, str]:
    """The profile key that says where the key stands, and that place in words."""
    if facts.carrier == "body":
        return "pointer", f"the body at {facts.pointer}"
    return "name", f"the {facts.carrier} {facts.name}" if facts.carrier == "header" else f"the parameter {facts.name}"


def _same_call(case: Case, first: Answer, again: Answer, new: Answer, where: tuple[str, str]) -> Fact:
    kind, place = f"idempotency.{where[0]}", where[1]
    one, two, three = (drop_volatile(answer.value, case.volatile) for answer in (first, again, new))
    at = strictjson.first_difference(one, two)
    if strictjson.is_equal(one, two):
        return proven(kind, f"the key in {place} replays: {case.operation.id} answered the same twice")
    told = f"a replay of {case.operation.id} differs at {at or '/'}"
    other = strictjson.first_difference(one, three)
    if new.ok and at == other and case.operation.id == _CREATE and at == case.profile.webhooks.id:
        return wrong(kind, f"{told}, as a call with another key does", f"is {place} the key's place?")
    return wrong("idempotency.volatile", told, "if that may differ, list it; else the target does not replay")


def _missing_key(facts: Idempotency, keyless: Answer) -> Fact:
    seen = "accepted" if keyless.ok else "refused" if keyless.status == 400 else ""
    key = "idempotency.missing_key"
    if not seen:
        return unsure(key, f"a call without a key was answered {keyless.summary}")
    if not facts.missing_key:
        return note(key, f"not stated; a call without a key was {seen}", f'missing_key = "{seen}"')
    if facts.missing_key != seen:
        return wrong(key, f"a call without a key was {seen} ({keyless.summary})", f'missing_key = "{seen}"')
    return proven(key, f"{seen}, as stated")


def _advice(operation: Operation, answer: Answer) -> str:
    if answer.status == 400 and operation.query_parameters:
        return "search.query must be answered 200"
    if answer.status == 400 and operation.has_body:
        return f"is operations.{operation.id}.body valid, and the idempotency key where it belongs?"
    if answer.status == 401 and operation.auth == "oauth":
        return "look at [oauth]: client_id, redirect_uri, algorithms, token_url"
    if answer.status == 403:
        return f"the credential {answer.request.credential or '(none)'} lacks {operation.scope or 'something'}"
    if answer.status == 404:
        return f"does the fixture of operations.{operation.id}.path exist, in the credential's installation?"
    if answer.status == 409:
        return "is the fixture in a state that allows it?"
    return (
        "a conforming target answers such a call with 200" if answer.status in STATUSES else "the target is in trouble"
    )

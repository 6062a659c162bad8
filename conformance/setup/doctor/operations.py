"""Facts about operations: controls, the idempotency key, errors, the search, JSON pointers and effects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.context import Runtime
from conformance.checks.support.replays import fix_proof_id, have_equal_values
from conformance.checks.support.signals import OBSTACLES, Inconclusive, Signal
from conformance.client.fixtures import NotSent
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.core.errors import FixtureError
from conformance.core.model import STATUSES
from conformance.profile.behavior import Idempotency
from conformance.profile.exclusions import exclusion_of
from conformance.profile.render import placeholders
from conformance.profile.resources import Fixture
from conformance.setup.conventions import IDEMPOTENCY_KEY_NAMES
from conformance.setup.doctor.behavior import body_facts, limit_switch_facts, order_facts, transition_facts
from conformance.setup.doctor.facts import Fact, note, obstacle, open_question, proven, unsure, wrong
from conformance.setup.doctor.lifetimes import lifetime_facts
from conformance.setup.doctor.signs import sign_facts

_CREATE: Final = "createInstallationWebhook"
_EXCERPT: Final = 160


class OperationStages:
    """The controls of the operations, and the facts that depend on their answers."""

    def __init__(self, runtime: Runtime, *, spend: bool) -> None:
        self.runtime = runtime
        self.spend = spend
        self.proven: dict[str, Answer] = {}
        self.refused: dict[str, Answer] = {}
        self._complete_answers: dict[str, Answer] = {}

    def _excerpt(self, answer: Answer) -> str:
        text = self.runtime.settings.secrets.excerpt(answer.body.decode("utf-8", "replace"), 4 * _EXCERPT)
        return " ".join(text.split())[:_EXCERPT] or "(no body)"

    async def controls(self) -> list[Fact]:
        return list(
            await asyncio.gather(*(self._control_fact(operation) for operation in self.runtime.settings.contract.all))
        )

    async def _control_fact(self, operation: Operation) -> Fact:
        """Proves the control of an operation as a run does."""
        name = _profile_key(operation)
        if not self.spend and (fixture := _spent_fixture(self.runtime, operation)):
            return unsure(name, f"not sent: it would use up one of fixtures.{fixture.name}", "--spend sends it")
        try:
            self.proven[operation.id] = await self.runtime.controls.prove(operation)
        except MissingFact as missing:
            excluded = exclusion_of(self.runtime.settings.profile, missing.key, missing.credential, operation.id)
            return note(name, f"excluded ({excluded[0]}): {excluded[1]}" if excluded else f"no control: {missing}")
        except NotSent as reason:
            return note(name, f"not sent: {reason}")
        except FixtureError as error:
            return unsure(name, f"depends on {error.where or 'a fixture'}: {error.message}")
        except Inconclusive as refusal:
            answer = refusal.answers[-1]
            if found := obstacle(name, f"the control of {operation.id}", answer):
                return found
            self.refused[operation.id] = answer
            return wrong(
                name,
                f"its control is answered {answer.summary} instead of 200: {self._excerpt(answer)}",
                _refusal_advice(operation, answer),
            )
        return proven(name, f"the control of {operation.id} is answered 200")

    # Idempotency

    async def idempotency(self) -> list[Fact]:
        """Whether an idempotency key in the stated place makes a call a replay."""
        facts = self.runtime.settings.profile.idempotency
        if facts is None:
            if excluded := exclusion_of(self.runtime.settings.profile, "idempotency"):
                return [note("idempotency", f"excluded: {excluded[1]}")]
            return [note("idempotency", "not stated", "state the place of the key: 10 operations need one")]
        proven_names = [name for name in self.proven if self._operation(name).idempotent]
        if not proven_names:
            return await self._place_facts(facts)
        case = Case(self.runtime, self._operation(_CREATE if _CREATE in proven_names else proven_names[0]))
        try:
            return [fact async for fact in self._replay_facts(case, facts)]
        except (Signal, *OBSTACLES) as error:
            return [unsure("idempotency", f"{case.operation.id}: {error}")]

    def _operation(self, name: str) -> Operation:
        return self.runtime.settings.contract.operations[name]

    async def _replay_facts(self, case: Case, facts: Idempotency) -> AsyncIterator[Fact]:
        key_place = _key_place(facts)
        request = fix_proof_id(await case.arrange())
        first = await case.send(request, "first")
        replay = await case.send(first.request, "replay")
        if not first.ok or not replay.ok:
            message = f"{case.operation.id} was answered {first.summary}, and with the same key {replay.summary}"
            yield wrong(f"idempotency.{key_place[0]}", message, f"is {key_place[1]} the key's place?")
            return
        other_key = await case.send((await case.arrange()).with_fresh_key(), "another key")
        yield _replay_fact(case, first, replay, other_key, key_place)
        keyless = await case.send((await case.arrange()).with_key(None), "no key")
        yield _missing_key_fact(facts, keyless)

    async def _place_facts(self, facts: Idempotency) -> list[Fact]:
        """The fact for calls that are all refused: whether the target accepts the key in another header."""
        kind, place = _key_place(facts)
        refusals = {name: answer for name, answer in self.refused.items() if self._operation(name).idempotent}
        if not refusals:
            return [unsure("idempotency", "no call with a key was sent")]
        name, answer = next(
            ((key, reply) for key, reply in refusals.items() if key == _CREATE), next(iter(refusals.items()))
        )
        for header in (item for item in IDEMPOTENCY_KEY_NAMES if (facts.carrier, facts.name) != ("header", item)):
            request = (await self.runtime.arranger.arrange(self._operation(name))).with_header(
                header, answer.request.key or ""
            )
            if (await self.runtime.sender.send(request.with_key(None), "key in another header")).ok:
                message = f"{name} is answered {answer.summary} with the key in {place}, and 200 with it in {header}"
                return [wrong(f"idempotency.{kind}", message, f'carrier = "header", name = "{header}"')]
        if len(refusals) < 3 or any(item.status != 400 for item in refusals.values()):
            return [unsure("idempotency", "no call with a key was answered 200: see the controls")]
        message = (
            f"all {len(refusals)} calls with a key in {place} are answered {answer.summary}: {self._excerpt(answer)}"
        )
        return [wrong("idempotency", message, "are the place and the format of the key right?")]

    async def errors(self) -> list[Fact]:
        """Whether two answers to the same faulty request differ only in the listed members."""
        case = Case(self.runtime, self._operation("getApiKeyIdentity"))
        volatile = case.profile.errors_volatile
        try:
            request = (await case.arrange(prove_control=False)).with_authorization()
            first, second = await case.send(request, "an error"), await case.send(request, "the same error")
        except (Signal, MissingFact) as error:
            return [unsure("errors.volatile", str(error))]
        first_value, second_value = (pointer.remove_matching(answer.value, volatile) for answer in (first, second))
        path = strictjson.first_difference(first_value, second_value)
        if have_equal_values(first, second, volatile):
            return [proven("errors.volatile", "a repeated error differs only in the listed members")]
        message, advice = f"a repeated error differs at {path or '/'}", "list the member if it may"
        return [wrong("errors.volatile", message, advice) if volatile else unsure("errors.volatile", message, advice)]

    # Pointers, effects and search

    async def pointers(self) -> list[Fact]:
        """Whether the answers have what the JSON pointers of the profile name."""
        profile, facts = self.runtime.settings.profile, []
        if profile.webhooks.id:
            facts += await self._pointer_facts(_CREATE, "webhooks.id", [profile.webhooks.id])
            facts += await self._pointer_facts(_CREATE, "webhooks.kept", profile.webhooks.kept)
        if profile.oauth:
            for member in ("access_token", "token_type"):
                facts += await self._pointer_facts(
                    "exchangeOAuthToken", f"oauth.{member}", [getattr(profile.oauth, member)]
                )
        return facts

    async def _complete_answer(self, name: str) -> Answer | None:
        """A complete answer of an operation with a proven control; controls are kept without their bodies."""
        if name not in self.proven:
            return None
        if name not in self._complete_answers:
            case = Case(self.runtime, self._operation(name))
            self._complete_answers[name] = await case.send(await case.arrange(), "complete answer")
        return self._complete_answers[name]

    async def _pointer_facts(self, operation: str, key: str, pointers: Iterable[str]) -> list[Fact]:
        pointers = [path for path in pointers if path]
        try:
            answer = await self._complete_answer(operation) if pointers else None
        except (Signal, *OBSTACLES) as error:
            return [unsure(key, str(error))]
        if answer is None:
            return []
        missing = [path for path in pointers if not pointer.has(answer.value, path)]
        if missing:
            return [
                wrong(
                    key,
                    f"{operation}'s answer has nothing at {missing[0]}: {self._excerpt(answer)}",
                    "correct the pointer",
                )
            ]
        return [proven(key, f"found in {operation}'s answer")]

    async def effects(self) -> list[Fact]:
        """Whether each stated sign shows one effect, and only that."""
        return await sign_facts(self.runtime, [self._operation(name) for name in self._proven_names("effects")])

    def _proven_names(self, table: str) -> list[str]:
        return [name for name in getattr(self.runtime.settings.profile, table) if name in self.proven]

    async def transitions(self) -> list[Fact]:
        """Whether each stated transition is answered as stated."""
        return await transition_facts(self.runtime, self.proven, spend=self.spend)

    async def bodies(self) -> list[Fact]:
        """Whether each further body is answered 200."""
        return await body_facts(self.runtime, self._proven_names("operations"))

    async def lifetimes(self) -> list[Fact]:
        """Whether codes, tokens and keys live as long as stated."""
        return await lifetime_facts(self.runtime, self.proven)

    async def order(self) -> list[Fact]:
        """Whether the order of a search is stable, as stated."""
        return await order_facts(self.runtime, self.proven)

    async def limit_switch(self) -> list[Fact]:
        """Whether the limit can be set and reset. This is last: nothing may be limited meanwhile."""
        return await limit_switch_facts(self.runtime)

    async def search(self) -> list[Fact]:
        """Whether the search accepts each stated bound and value."""
        search = self.runtime.settings.profile.search
        try:
            answer = await self._complete_answer("searchPublicProducts")
        except (Signal, *OBSTACLES) as error:
            return [unsure("search", str(error))]
        if answer is None or not isinstance(answer.data, list):
            return []
        facts = []
        if not answer.data and not self._is_catalogue_empty:
            facts = [wrong("search.query", "finds nothing", "state a query that finds items")]
        for name in ("item_id", "item_category", "item_merchant"):
            path = getattr(search, name)
            if path not in (None, "") and answer.data and not pointer.has(answer.data[0], path):
                facts.append(wrong(f"search.{name}", f"the first item has nothing at {path}", "correct the pointer"))
        parameters = {"page_base": "page", "page_size_min": "pageSize", "page_size_max": "pageSize"}
        parameters |= {"category": "category", "merchant": "merchant"}
        for name, parameter in parameters.items():
            value = getattr(search, name)
            if value not in (None, ""):
                facts.append(await self._search_fact(f"search.{name}", parameter, str(value)))
        return facts

    @property
    def _is_catalogue_empty(self) -> bool:
        """Whether the profile says that there are no items to identify: a search may then find nothing."""
        return "search.item_id" in self.runtime.settings.profile.exclusions

    async def _search_fact(self, key: str, parameter: str, value: str) -> Fact:
        case = Case(self.runtime, self._operation("searchPublicProducts"))
        try:
            answer = await case.send((await case.arrange()).with_query(**{parameter: value}), key)
        except Signal as obstacle_met:
            return open_question(key, str(obstacle_met), "try again")
        if not answer.ok:
            return wrong(
                key, f"{parameter}={value} is answered {answer.summary}: {self._excerpt(answer)}", "correct the value"
            )
        must_find = parameter in ("category", "merchant", "page") and not self._is_catalogue_empty
        if must_find and not answer.data:
            return wrong(key, f"{parameter}={value} finds nothing", "state one that finds items")
        return proven(key, f"{parameter}={value} is answered 200")


def _profile_key(operation: Operation) -> str:
    """The profile key that a control mainly depends on."""
    if operation.query_parameters:
        return "search.query"
    return "oauth" if operation.auth == "oauth" else f"operations.{operation.id}"


def _spent_fixture(runtime: Runtime, operation: Operation) -> Fixture | None:
    """The listed fixture that a write would use up."""
    if operation.is_read:
        return None
    facts = runtime.arranger.facts(operation)
    names = placeholders([dict(facts.path), facts.body, dict(facts.query)])
    for name in sorted(names):
        kind, _, rest = name.partition(".")
        fixture = runtime.fixtures.find(kind, rest.rpartition(".")[0] or None)
        if fixture is not None and fixture.values and not fixture.reusable:
            return fixture
    return None


def _key_place(facts: Idempotency) -> tuple[str, str]:
    """The member of [idempotency] that states the place of the key, and that place in words."""
    if facts.carrier == "body":
        return "pointer", f"the body at {facts.pointer}"
    return "name", f"the {facts.carrier} {facts.name}" if facts.carrier == "header" else f"the parameter {facts.name}"


def _replay_fact(case: Case, first: Answer, replay: Answer, other_key: Answer, key_place: tuple[str, str]) -> Fact:
    kind, place = f"idempotency.{key_place[0]}", key_place[1]
    body, replay_body, other_body = (
        pointer.remove_matching(answer.value, case.volatile) for answer in (first, replay, other_key)
    )
    path = strictjson.first_difference(body, replay_body)
    if strictjson.is_equal(body, replay_body):
        return proven(kind, f"the key in {place} replays: {case.operation.id} answered the same twice")
    message = f"a replay of {case.operation.id} differs at {path or '/'}"
    other_path = strictjson.first_difference(body, other_body)
    if other_key.ok and path == other_path and case.operation.id == _CREATE and path == case.profile.webhooks.id:
        return wrong(kind, f"{message}, as a call with another key does", f"is {place} the key's place?")
    return wrong("idempotency.volatile", message, "if it may differ, list it; otherwise the target does not replay")


def _missing_key_fact(facts: Idempotency, keyless: Answer) -> Fact:
    observed = "accepted" if keyless.ok else "refused" if keyless.status == 400 else ""
    key = "idempotency.missing_key"
    if not observed:
        return unsure(key, f"a call without a key was answered {keyless.summary}")
    if not facts.missing_key:
        return note(key, f"not stated; a call without a key was {observed}", f'missing_key = "{observed}"')
    if facts.missing_key != observed:
        return wrong(key, f"a call without a key was {observed} ({keyless.summary})", f'missing_key = "{observed}"')
    return proven(key, f"{observed}, as stated")


def _refusal_advice(operation: Operation, answer: Answer) -> str:
    if answer.status == 400 and operation.query_parameters:
        return "search.query must be answered 200"
    if answer.status == 400 and operation.has_body:
        return f"is operations.{operation.id}.body valid, and is the idempotency key in its place?"
    if answer.status == 401 and operation.auth == "oauth":
        return "check [oauth]: client_id, redirect_uri, algorithms, token_url"
    if answer.status == 403:
        return f"the credential {answer.request.credential or '(none)'} lacks {operation.scope or 'a permission'}"
    if answer.status == 404 and operation.path_parameters:
        return f"does the fixture of operations.{operation.id}.path exist in the credential's installation?"
    if answer.status == 409:
        return "is the fixture in a state that allows the call?"
    if answer.status in STATUSES:
        return "a conforming target answers this call with 200"
    advice = "the interface has no such status; if the operation is not implemented, exclude it: "
    return f'{advice}[operations.{operation.id}] none = "reason"'

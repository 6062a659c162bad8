"""Fixture providers: a static list, an HTTP call, a command, a Python callable, or operations of the interface."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from conformance.client.created_resources import CreatedResources
from conformance.client.fixture_functions import FixtureFunctions
from conformance.client.fixture_programs import MAX_OUTPUT, TIMEOUT_S, run_program
from conformance.client.recorder import current_check
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.core.bounded_output import TooMuchOutput
from conformance.core.errors import FixtureError
from conformance.core.messages import shorten
from conformance.profile.model import Profile
from conformance.profile.render import MalformedPlaceholder, UnknownPlaceholder, placeholders, render
from conformance.profile.resources import Fixture, HttpCall, default_state
from conformance.profile.urls import render_url

if TYPE_CHECKING:
    from conformance.client.http_pool import HttpClient

HTTP_TIMEOUT_S: Final = 15.0
MAX_MEMBER: Final = 64 * 1024
"""In characters of JSON: a member is an id, a ticket or a part of a body, and stands in many requests."""
_ATTEMPTS: Final = 4
_LEAST_AGE_S: Final = 5.0
"""A resource that answers good requests lives for longer than this."""
_HOSTED: Final = ("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser")

_HEADERS: Final = (("Accept", "*/*"), ("Accept-Encoding", "gzip"), ("User-Agent", "commerce-conformance"))
_NOT_THERE: Final = (404, 410)
_USER: Final = re.compile(r"(?<=://)[^/?#]*@")

_MANUAL_RUN: Final = "run it by hand to see what it prints: that may contain secrets, so the suite does not show it"

oldest_fixture: ContextVar[float] = ContextVar("oldest_fixture")
"""When the oldest fixture of a request was asked for. Set to the present time before a request is arranged."""

Members = Mapping[str, Any]
Call = Callable[[str, Mapping[str, Members], Mapping[str, Any]], Awaitable[Any]]
"""Sends an operation on fixtures (kind -> members) and returns the body of its 200. Raises FixtureError otherwise."""


class NotSent(Exception):
    """The request or fixture may change state, and the run is read-only; the message names it."""


class ResourceMissing(FixtureError):
    """The test API answers that there is nothing at the address."""


class Fixtures:
    """Provides fixtures by kind and state. `call` sends an operation of the interface, for those made by one."""

    def __init__(
        self,
        profile: Profile,
        ledger: CreatedResources | None = None,
        spend: Callable[[str, int], None] | None = None,
        *,
        call: Call | None = None,
        check_limits: Callable[[], None] = lambda: None,
    ) -> None:
        self._call = call
        self._check_limits = check_limits
        """Raises where the run may send nothing more: a fixture would be made for nothing."""
        self._ledger = ledger
        self._profile = profile
        self._spend = spend
        """Called with the name and index of each value of a static list before the value is used."""
        self._directory = profile.directory
        self._issue_counts: Counter[str] = Counter()
        self.use_counts: Counter[tuple[str, str]] = Counter()
        """(item, `kind.state`) -> number of fixtures requested by that item."""
        self._shared_tasks: dict[str, asyncio.Task[Members]] = {}
        self._shared_since: dict[str, float] = {}
        self._http: HttpClient | None = None
        self._batches: dict[str, deque[tuple[float, Any]]] = {}
        """When a fixture was asked for, and the fixture."""
        self._batch_requests: dict[str, asyncio.Task[None]] = {}
        self._functions = FixtureFunctions(profile.directory)
        self._hosted_kinds = _kinds_of(profile, _HOSTED)

    async def aclose(self) -> None:
        tasks = (*self._shared_tasks.values(), *self._batch_requests.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._http is not None:
            await self._http.aclose()

    @property
    def issue_counts(self) -> Mapping[str, int]:
        """The number of fixtures provided of each `kind.state`."""
        return dict(self._issue_counts)

    def find(self, kind: str, state: str | None) -> Fixture | None:
        """The profile's fixture of that kind and state, or of the kind's default state."""
        states = self._profile.fixtures.get(kind, {})
        return states.get(state or default_state(states) or "")

    async def get_shared(self, fixture: Fixture, scope: Mapping[str, Any]) -> Members:
        """The fixture shared by all requests of the run that change nothing."""
        if fixture.name not in self._shared_tasks:
            self._shared_tasks[fixture.name] = asyncio.ensure_future(self.get_fresh(fixture, scope))
            self._shared_since[fixture.name] = time.monotonic()
        return await asyncio.shield(self._shared_tasks[fixture.name])

    def renew_shared(self, name: str, members: Members) -> bool:
        """Drops the shared fixture with these members, which may have ended. Returns whether it did.

        A fixture that is seconds old has not ended, and those of a static list are not used up for this.
        """
        kind, _, state = name.partition(".")
        task, fixture = self._shared_tasks.get(name), self.find(kind, state)
        if task is None or not task.done() or fixture is None or fixture.values:
            return False
        if task.exception() is None and task.result() is members:
            if time.monotonic() - self._shared_since[name] < _LEAST_AGE_S:
                return False
            del self._shared_tasks[name]
        return True

    async def get_fresh(self, fixture: Fixture, scope: Mapping[str, Any]) -> Members:
        """A fixture for one caller only. Raises FixtureError, with `exhausted` where a static list has run out."""
        self._issue_counts[fixture.name] += 1
        self.use_counts[current_check.get(), fixture.name] += 1
        try:
            if fixture.items is None:
                value = await self._provide(fixture, scope)
                _require_sizes(fixture, [value])
                self._note(fixture, [value])
            else:
                value = await self._next_of_batch(fixture, scope)
        except (UnknownPlaceholder, MalformedPlaceholder) as error:
            raise FixtureError(str(error), where=_key(fixture)) from None
        if fixture.members:
            for location in fixture.members.values():
                if not pointer.has(value, location):
                    raise FixtureError(f"the provider's answer has nothing at {location}", where=_key(fixture))
            return {name: pointer.get(value, location) for name, location in fixture.members.items()}
        if not isinstance(value, dict):
            raise FixtureError("the provider returned no JSON object", where=_key(fixture))
        return value

    def drop_batches(self) -> None:
        """Leaves out what was provided in advance: its age may be why it was refused."""
        for batch_values in self._batches.values():
            batch_values.clear()

    async def _next_of_batch(self, fixture: Fixture, scope: Mapping[str, Any]) -> Any:
        """The next value of a batch. Callers that wait for a new batch share one provider call and its failure.

        Half of a stated lifetime after it was asked for, a fixture is left out.
        """
        batch_values = self._batches.setdefault(fixture.name, deque())
        self._remove_stale(fixture, batch_values)
        while not batch_values:
            request = self._batch_requests.get(fixture.name)
            if request is None or request.done():
                request = self._batch_requests[fixture.name] = asyncio.ensure_future(
                    self._request_batch(fixture, scope, batch_values)
                )
            await asyncio.shield(request)
        provided_at, value = batch_values.popleft()
        oldest_fixture.set(min(provided_at, oldest_fixture.get(provided_at)))
        return value

    def _remove_stale(self, fixture: Fixture, batch_values: deque[tuple[float, Any]]) -> None:
        """Removes what is too old. A new batch is used as it is, however long its provider took."""
        lifetime_s = self._profile.hosted.ticket_lifetime_s
        if lifetime_s is not None and fixture.kind in self._hosted_kinds:
            while batch_values and time.monotonic() - batch_values[0][0] > lifetime_s / 2:
                batch_values.popleft()

    async def _request_batch(self, fixture: Fixture, scope: Mapping[str, Any], batch_values: deque[Any]) -> None:
        asked_at = time.monotonic()
        value = await self._provide(fixture, scope)
        location = fixture.items or ""
        batch = pointer.get(value, location) if pointer.has(value, location) else None
        if not isinstance(batch, list) or not batch:
            raise FixtureError(f"the provider's answer has no array at {location}", where=_key(fixture))
        _require_sizes(fixture, batch)
        self._note(fixture, batch)
        batch_values.extend((asked_at, item) for item in batch)

    def _note(self, fixture: Fixture, values: list[Any]) -> None:
        if self._ledger is not None:
            self._ledger.note_provided(fixture, values)

    async def _provide(self, fixture: Fixture, scope: Mapping[str, Any]) -> Any:
        self._check_limits()
        creates = not fixture.values and (fixture.http is None or fixture.http.method != "GET")
        if self._profile.limits.read_only and creates:
            raise NotSent(f"the run is read-only, and {_key(fixture)} creates a resource")
        if fixture.values:
            return self._next(fixture, scope)
        if fixture.http is not None:
            return await self.http(fixture.http, scope, _key(fixture))
        if fixture.command:
            return await self._command(fixture, scope)
        if fixture.python:
            return await self._functions.call(fixture.python, scope, _key(fixture))
        if fixture.call:
            return await self._call_operation(fixture.call, {}, scope)
        return await self._derive(fixture, scope)

    def _next(self, fixture: Fixture, scope: Mapping[str, Any]) -> Any:
        index = self._issue_counts[fixture.name] - 1
        if fixture.reusable:
            return render(fixture.values[index % len(fixture.values)], scope)
        if index >= len(fixture.places):
            raise FixtureError(
                f"all {len(fixture.places)}{_remaining_note(fixture)} are used up; at least {index + 1} are needed",
                where=_key(fixture),
                hint="list more values, or state a provider",
                exhausted=True,
            )
        place = fixture.places[index]
        if self._spend is not None:
            self._spend(fixture.name, place)
        return render(fixture.values[place], scope)

    async def _derive(self, fixture: Fixture, scope: Mapping[str, Any]) -> Any:
        origin = self._profile.fixtures[fixture.kind][fixture.origin]
        members = dict(await self.get_fresh(origin, scope))
        for operation in fixture.via:
            await self._call_operation(operation, {fixture.kind: members}, scope)
        return members

    async def _call_operation(self, operation: str, preset: Mapping[str, Members], scope: Mapping[str, Any]) -> Any:
        if self._call is None:
            raise FixtureError("nothing is sent here", where=f"control:{operation}")
        return await self._call(operation, preset, scope)

    async def http(self, call: HttpCall, scope: Mapping[str, Any], location: str) -> Any:
        """The JSON answer of a test API. Raises FixtureError unless the answer is a 2xx with JSON, or 204.

        A 404 raises ResourceMissing.
        """
        from conformance.client.http_pool import HttpClient  # imported late: listing checks does not need it

        self._http = self._http or HttpClient()
        try:
            url, body = render_url(call.url, scope), render(call.json, scope)
            own_headers = {name: str(value) for name, value in render(dict(call.headers), scope).items()}
        except UnknownPlaceholder as error:
            raise FixtureError(str(error), where=location) from None
        content = None if body is None else json.dumps(body).encode()
        default = _HEADERS if body is None else (*_HEADERS, ("Content-Type", "application/json"))
        names = {name.lower() for name in own_headers}
        headers = (*(pair for pair in default if pair[0].lower() not in names), *own_headers.items())
        problem, address = "", f"{call.method} {_without_user(url)}"
        for attempt in range(_ATTEMPTS):
            await asyncio.sleep(0.1 * attempt)
            try:
                response = await self._http.request(call.method, url, headers, content, HTTP_TIMEOUT_S)
            except (OSError, ValueError) as error:  # OSError: a time-out is one
                problem = f"{address}: {error or type(error).__name__}"
                continue
            status, text = response.status, response.body
            if response.truncated and 200 <= status < 300:
                raise FixtureError(f"{address} answered more than can be read", where=location)
            if 200 <= status < 300:
                return _json(text, address, location) if text else {}
            problem = f"{address} answered {status}"
            if status in _NOT_THERE:
                raise ResourceMissing(problem, where=location)
            if status < 500 and status != 429:
                break
        raise FixtureError(problem, where=location)

    async def _command(self, fixture: Fixture, scope: Mapping[str, Any]) -> Any:
        arguments = [str(render(argument, scope)) for argument in fixture.command]
        environment = {**self._environment(), "CONFORMANCE_CONTEXT": json.dumps(dict(scope))}
        try:
            code, output = await run_program(arguments, directory=self._directory, environment=environment)
        except TimeoutError:
            raise FixtureError(f"{arguments[0]} took over {TIMEOUT_S:g} s", where=_key(fixture)) from None
        except TooMuchOutput:
            raise FixtureError(f"{arguments[0]} printed more than {MAX_OUTPUT:,} bytes", where=_key(fixture)) from None
        except (OSError, ValueError) as error:
            problem = error.strerror if isinstance(error, OSError) else error
            raise FixtureError(f"cannot start {arguments[0]}: {problem}", where=_key(fixture)) from None
        if code:
            raise FixtureError(f"{arguments[0]} ended with {code}", where=_key(fixture), hint=_MANUAL_RUN)
        try:
            return strictjson.parse_leniently(output)
        except strictjson.JsonError:
            raise FixtureError(f"{arguments[0]} printed no JSON", where=_key(fixture), hint=_MANUAL_RUN) from None

    def _environment(self) -> dict[str, str]:
        """The process environment without the credentials: a fixture command needs no key of the target."""
        secret = {credential.source.env for credential in self._profile.credentials.values()}
        return {name: value for name, value in os.environ.items() if name not in secret}


def _kinds_of(profile: Profile, operations: Iterable[str]) -> frozenset[str]:
    """The kinds of fixtures in the paths and bodies of operations."""
    facts = [profile.operations[name] for name in operations if name in profile.operations]
    names = frozenset[str]().union(*(placeholders([dict(of.path), of.body]) for of in facts))
    return frozenset(name.partition(".")[0] for name in names)


def _require_sizes(fixture: Fixture, values: Iterable[Any]) -> None:
    """Raises FixtureError where a member of a value is larger than a bound."""
    for value in values:
        members: Mapping[str, Any] = value if isinstance(value, dict) else {}
        if fixture.members:
            stated = fixture.members.items()
            members = {name: pointer.get(value, place) for name, place in stated if pointer.has(value, place)}
        for name, member in members.items():
            size = len(member if isinstance(member, str) else json.dumps(member))
            if size > MAX_MEMBER:
                problem = f"the member {shorten(str(name))!r} has {size:,} characters, more than {MAX_MEMBER:,}"
                raise FixtureError(problem, where=_key(fixture), hint="provide the id alone, not the document")


def _remaining_note(fixture: Fixture) -> str:
    return "" if len(fixture.places) == len(fixture.values) else f" remaining of {len(fixture.values)}"


def _without_user(url: str) -> str:
    return _USER.sub("…@", url, count=1)


def _key(fixture: Fixture) -> str:
    return f"fixtures.{fixture.kind}.{fixture.state}"


def _json(text: bytes, call: str, location: str) -> Any:
    try:
        return strictjson.parse_leniently(text)
    except strictjson.JsonError:
        raise FixtureError(f"{call} answered no JSON", where=location) from None

"""Fixture providers: a static list, an HTTP call, a command, a Python callable, or operations of the interface."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
import inspect
import json
import os
import re
import sys
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from conformance.client.created_resources import Ledger
from conformance.client.recorder import current_check
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.core.errors import FixtureError
from conformance.profile.model import Fixture, HttpCall, Profile, default_state
from conformance.profile.render import MalformedPlaceholder, UnknownPlaceholder, render
from conformance.profile.urls import render_url

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

COMMAND_TIMEOUT_S: Final = 30.0
HTTP_TIMEOUT_S: Final = 15.0
_ATTEMPTS: Final = 4

Members = Mapping[str, Any]
Call = Callable[[str, Mapping[str, Members], Mapping[str, Any]], Awaitable[Any]]
"""Sends an operation on given fixtures (kind -> members): returns the body of its 200, raises FixtureError else."""


class NotSent(Exception):
    """A read-only run does not do what may change state; says what that is."""


class Fixtures:
    """Hands out fixtures by kind and state. `call` sends an operation of the interface, for those made by one."""

    def __init__(
        self,
        profile: Profile,
        ledger: Ledger | None = None,
        spend: Callable[[str, int], None] | None = None,
        *,
        call: Call | None = None,
    ) -> None:
        self._call = call
        self._ledger = ledger
        self._profile = profile
        self._spend = spend
        """Told of each value of a static list, by its place there, before anybody gets it."""
        self._directory = profile.directory
        self._handed: Counter[str] = Counter()
        self.drawn: Counter[tuple[str, str]] = Counter()
        """(the item on whose behalf, `kind.state`) -> how many were asked for."""
        self._shared: dict[str, asyncio.Task[Members]] = {}
        self._http: aiohttp.ClientSession | None = None
        self._several: dict[str, deque[Any]] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._functions: dict[str, Callable[..., Any]] = {}

    async def aclose(self) -> None:
        begun = (*self._shared.values(), *self._asking.values())
        for task in begun:
            task.cancel()
        await asyncio.gather(*begun, return_exceptions=True)
        if self._http is not None:
            await self._http.close()

    @property
    def handed(self) -> Mapping[str, int]:
        """How many of each `kind.state` were handed out."""
        return dict(self._handed)

    def find(self, kind: str, state: str | None) -> Fixture | None:
        """The profile's fixture of that kind, in that state or in the kind's default one."""
        states = self._profile.fixtures.get(kind, {})
        return states.get(state or default_state(states) or "")

    async def shared(self, fixture: Fixture, scope: Mapping[str, Any]) -> Members:
        """One fixture for every request of the run that changes nothing."""
        if fixture.name not in self._shared:
            self._shared[fixture.name] = asyncio.ensure_future(self.fresh(fixture, scope))
        return await asyncio.shield(self._shared[fixture.name])

    async def fresh(self, fixture: Fixture, scope: Mapping[str, Any]) -> Members:
        """A fixture that nothing else uses. Raises FixtureError, `exhausted` where a static list has run out."""
        self._handed[fixture.name] += 1
        self.drawn[current_check.get(), fixture.name] += 1
        try:
            if fixture.items is None:
                given = await self._provide(fixture, scope)
                self._note(fixture, [given])
            else:
                given = await self._of_several(fixture, scope)
        except (UnknownPlaceholder, MalformedPlaceholder) as error:
            raise FixtureError(str(error), where=_key(fixture)) from None
        if fixture.members:
            for where in fixture.members.values():
                if not pointer.has(given, where):
                    raise FixtureError(f"the provider's answer has nothing at {where}", where=_key(fixture))
            return {name: pointer.get(given, where) for name, where in fixture.members.items()}
        if not isinstance(given, dict):
            raise FixtureError("the provider gave no JSON object", where=_key(fixture))
        return given

    async def _of_several(self, fixture: Fixture, scope: Mapping[str, Any]) -> Any:
        """The next of what a provider gave at once. Whoever waits for more shares one call of it, and its failure."""
        waiting = self._several.setdefault(fixture.name, deque())
        while not waiting:
            asking = self._asking.get(fixture.name)
            if asking is None or asking.done():
                asking = self._asking[fixture.name] = asyncio.ensure_future(self._ask_for_more(fixture, scope, waiting))
            await asyncio.shield(asking)
        return waiting.popleft()

    async def _ask_for_more(self, fixture: Fixture, scope: Mapping[str, Any], waiting: deque[Any]) -> None:
        given = await self._provide(fixture, scope)
        where = fixture.items or ""
        found = pointer.get(given, where) if pointer.has(given, where) else None
        if not isinstance(found, list) or not found:
            raise FixtureError(f"the provider's answer has no array at {where}", where=_key(fixture))
        self._note(fixture, found)
        waiting.extend(found)

    def _note(self, fixture: Fixture, given: list[Any]) -> None:
        if self._ledger is not None:
            self._ledger.provided(fixture, given)

    async def _provide(self, fixture: Fixture, scope: Mapping[str, Any]) -> Any:
        made = not fixture.values and (fixture.http is None or fixture.http.method != "GET")
        if self._profile.limits.read_only and made:
            raise NotSent(f"the run is read-only, and {_key(fixture)} would be made")
        if fixture.values:
            return self._next(fixture, scope)
        if fixture.http is not None:
            return await self.http(fixture.http, scope, _key(fixture))
        if fixture.command:
            return await self._command(fixture, scope)
        if fixture.python:
            return await self._python(fixture, scope)
        if fixture.call:
            return await self._sent(fixture.call, {}, scope)
        return await self._derived(fixture, scope)

    def _next(self, fixture: Fixture, scope: Mapping[str, Any]) -> Any:
        index = self._handed[fixture.name] - 1
        if fixture.reusable:
            return render(fixture.values[index % len(fixture.values)], scope)
        if index >= len(fixture.places):
            raise FixtureError(
                f"all {len(fixture.places)}{_earlier(fixture)} were used up; at least {index + 1} are needed",
                where=_key(fixture),
                hint="list more values, or give a provider",
                exhausted=True,
            )
        place = fixture.places[index]
        if self._spend is not None:
            self._spend(fixture.name, place)
        return render(fixture.values[place], scope)

    async def _derived(self, fixture: Fixture, scope: Mapping[str, Any]) -> Any:
        origin = self._profile.fixtures[fixture.kind][fixture.origin]
        members = dict(await self.fresh(origin, scope))
        for operation in fixture.via:
            await self._sent(operation, {fixture.kind: members}, scope)
        return members

    async def _sent(self, operation: str, given: Mapping[str, Members], scope: Mapping[str, Any]) -> Any:
        if self._call is None:
            raise FixtureError("nothing is sent here", where=f"control:{operation}")
        return await self._call(operation, given, scope)

    async def http(self, call: HttpCall, scope: Mapping[str, Any], where: str) -> Any:
        """The JSON of a call to the owner's test API. Raises FixtureError on anything but a 2xx with JSON, or 204."""
        import aiohttp  # the transport has loaded it; whoever only lists checks need not

        if self._http is None:
            self._http = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(), timeout=aiohttp.ClientTimeout(HTTP_TIMEOUT_S)
            )
        try:
            url, body = render_url(call.url, scope), render(call.json, scope)
            headers = {name: str(value) for name, value in render(dict(call.headers), scope).items()}
        except UnknownPlaceholder as error:
            raise FixtureError(str(error), where=where) from None
        problem = ""
        for attempt in range(_ATTEMPTS):
            await asyncio.sleep(0.1 * attempt)
            try:
                async with self._http.request(
                    call.method, _as_encoded(url), headers=headers, json=body, allow_redirects=False
                ) as response:
                    status, text = response.status, await response.read()
            except (aiohttp.ClientError, OSError, ValueError) as error:  # OSError: a time-out is one
                problem = f"{call.method} {url}: {error or type(error).__name__}"
                continue
            if 200 <= status < 300:
                return _json(text, f"{call.method} {url}", where) if text else {}
            problem = f"{call.method} {url} answered {status}"
            if status < 500 and status != 429:
                break
        raise FixtureError(problem, where=where)

    async def _command(self, fixture: Fixture, scope: Mapping[str, Any]) -> Any:
        arguments = [str(render(argument, scope)) for argument in fixture.command]
        try:
            process = await asyncio.create_subprocess_exec(
                *arguments,
                cwd=self._directory,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,  # or Ctrl-C would end it before us, and look like a failure of its own
                env={**self._environment(), "CONFORMANCE_CONTEXT": json.dumps(dict(scope))},
            )
        except OSError as error:
            raise FixtureError(f"cannot start {arguments[0]}: {error.strerror}", where=_key(fixture)) from None
        try:
            output, _ = await asyncio.wait_for(process.communicate(), COMMAND_TIMEOUT_S)
        except TimeoutError:
            raise FixtureError(f"{arguments[0]} took over {COMMAND_TIMEOUT_S:g} s", where=_key(fixture)) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            raise FixtureError(f"{arguments[0]} ended with {process.returncode}", where=_key(fixture))
        try:
            return strictjson.parse_leniently(output)
        except strictjson.JsonError:
            raise FixtureError(f"{arguments[0]} printed no JSON", where=_key(fixture)) from None

    def _environment(self) -> dict[str, str]:
        """Ours, without the credentials: what makes a cart needs no key of the target."""
        secret = {credential.source.env for credential in self._profile.credentials.values()}
        return {name: value for name, value in os.environ.items() if name not in secret}

    async def _python(self, fixture: Fixture, scope: Mapping[str, Any]) -> Any:
        if fixture.python not in self._functions:
            self._functions[fixture.python] = _load(fixture, self._directory)
        function = self._functions[fixture.python]
        try:
            if inspect.iscoroutinefunction(function):
                given = await function(context=dict(scope))
            else:
                given = await asyncio.to_thread(function, context=dict(scope))
            return strictjson.as_unicode(await given if inspect.isawaitable(given) else given)
        except (Exception, SystemExit) as error:
            problem = f"{fixture.python} raised {type(error).__name__}: {error}"
            raise FixtureError(problem, where=_key(fixture)) from error


def _earlier(fixture: Fixture) -> str:
    return "" if len(fixture.places) == len(fixture.values) else f" that were left here of {len(fixture.values)}"


def _key(fixture: Fixture) -> str:
    return f"fixtures.{fixture.kind}.{fixture.state}"


def _as_encoded(url: str) -> URL:
    """A URL whose escapes are sent as they are; only the host name may still need its ASCII form."""
    from yarl import URL

    host = re.match(r"[^/]*//[^/?#]*", url)
    if url.isascii() or host is None:
        return URL(url, encoded=True)
    return URL(str(URL(host[0])).rstrip("/") + url[host.end() :], encoded=True)


def _json(text: bytes, call: str, where: str) -> Any:
    try:
        return strictjson.parse_leniently(text)
    except strictjson.JsonError:
        raise FixtureError(f"{call} answered no JSON", where=where) from None


def _load(fixture: Fixture, directory: Path) -> Callable[..., Any]:
    """The callable, out of a module that is executed once: what it counts or keeps, it keeps for the whole run."""
    module_name, _, name = fixture.python.rpartition(":")
    try:
        file = module_name.endswith(".py")
        module = _module(directory / module_name) if file else importlib.import_module(module_name)
        return getattr(module, name)  # type: ignore[no-any-return]
    except (Exception, SystemExit) as error:
        problem = f"cannot load {fixture.python}: {type(error).__name__}: {error}"
        raise FixtureError(problem, where=_key(fixture)) from error


def _module(path: Path) -> ModuleType:
    path = path.resolve()
    name = f"conformance_fixtures_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path.name} is no Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses and pickle look there
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]

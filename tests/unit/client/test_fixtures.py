"""Every kind of provider, what it is given, what it gives, and how it fails: FixtureError, never anything else."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.client import fixtures as module
from conformance.client import http_pool
from conformance.client.fixtures import Fixtures
from conformance.core.errors import FixtureError
from conformance.profile.behavior import Authorization
from conformance.profile.model import Profile
from conformance.profile.resources import Fixture, HttpCall

SCOPE = {"unique": "run-1", "pkce.challenge": "abc", "number": 7}


def with_fixtures(*fixtures: Fixture, directory: Path = Path()) -> Profile:
    kinds: dict[str, dict[str, Fixture]] = {}
    for fixture in fixtures:
        kinds.setdefault(fixture.kind, {})[fixture.state] = fixture
    return Profile("p", "http://127.0.0.1:1", Authorization("Bearer {key}"), directory=directory, fixtures=kinds)


def provide(
    *fixtures: Fixture, times: int = 1, scope: Mapping[str, Any] = SCOPE, directory: Path = Path(), call: Any = None
) -> list[Any]:
    """So many of the last fixture, one after the other; what was raised stands in the place of what was given."""

    async def main() -> list[Any]:
        provider = Fixtures(with_fixtures(*fixtures, directory=directory), call=call)
        try:
            return [await _one(provider, fixtures[-1], scope) for _ in range(times)]
        finally:
            await provider.aclose()

    return asyncio.run(main())


async def _one(provider: Fixtures, fixture: Fixture, scope: Mapping[str, Any]) -> Any:
    try:
        return await provider.get_fresh(fixture, scope)
    except FixtureError as error:
        return error


def failure(*fixtures: Fixture, **options: Any) -> FixtureError:
    (error,) = provide(*fixtures, **options)
    assert isinstance(error, FixtureError), error
    assert error.where == f"fixtures.{fixtures[-1].kind}.{fixtures[-1].state}"
    return error


# Static values


def test_values_are_used_up() -> None:
    """Each value is handed out once, in order; then it is exhausted and says how many are needed."""
    first, second, third, fourth = provide(Fixture("cart", "open", values=({"id": "a"}, {"id": "b"})), times=4)
    assert (first, second) == ({"id": "a"}, {"id": "b"})
    assert third.exhausted and fourth.exhausted
    assert "all 2" in str(third) and "at least 3" in str(third)
    assert "at least 4" in str(fourth)


def test_reusable_values_never_run_out() -> None:
    """A value that nothing spoils is handed out again and again, round and round."""
    given = provide(Fixture("merchant", "stocked", values=({"id": "a"}, {"id": "b"}), reusable=True), times=5)
    assert [members["id"] for members in given] == ["a", "b", "a", "b", "a"]


def test_values_may_hold_placeholders() -> None:
    """They are filled in, keeping the type of what they stand for."""
    fixture = Fixture("cart", "open", values=({"id": "{unique}", "n": "{number}", "text": "n{number}"},))
    assert provide(fixture) == [{"id": "run-1", "n": 7, "text": "n7"}]


def test_an_unknown_placeholder_is_a_fixtures_fault() -> None:
    """A placeholder that nobody fills names the fixture, and breaks nothing else."""
    assert "{nobody}" in str(failure(Fixture("cart", "open", values=({"id": "{nobody}"},))))


def test_what_was_handed_out_is_counted() -> None:
    """By kind and state, those that failed too."""

    async def main() -> Mapping[str, int]:
        fixture = Fixture("cart", "open", values=({"id": "a"},))
        provider = Fixtures(with_fixtures(fixture))
        await _one(provider, fixture, {})
        await _one(provider, fixture, {})
        return provider.issue_counts

    assert asyncio.run(main()) == {"cart.open": 2}


# HTTP


def over_http(
    scripted: Any, script: Any, *, call: Mapping[str, Any] | None = None, times: int = 1, **options: Any
) -> tuple[list[Any], Any]:
    async def main() -> tuple[list[Any], Any]:
        async with scripted(script) as target:
            told = {"url": f"{target.url}/make/{{unique}}", "method": "POST", **(call or {})}
            fixture = Fixture("cart", "open", http=HttpCall(**told), **options)
            provider = Fixtures(with_fixtures(fixture))
            try:
                return [await _one(provider, fixture, SCOPE) for _ in range(times)], target
            finally:
                await provider.aclose()

    return asyncio.run(main())


def test_http_sends_what_the_profile_says(scripted: Any, answer: Any) -> None:
    """Method, URL, headers and JSON, each with its placeholders filled."""
    call = {"json": {"challenge": "{pkce.challenge}", "n": "{number}"}, "headers": {"X-Run": "{unique}"}}
    (given,), target = over_http(scripted, lambda arrived: answer(201, {"id": 1}), call=call)
    (arrived,) = target.arrived
    assert given == {"id": 1}
    assert (arrived.method, arrived.target, arrived.all("X-Run")) == ("POST", "/make/run-1", ["run-1"])
    assert arrived.json == {"challenge": "abc", "n": 7}


def test_members_are_found_by_pointer(scripted: Any, answer: Any) -> None:
    """Members pick what is needed out of whatever the provider answers, an array too."""
    members = {"id": "/0/cart/id", "slug": "/0/a~1b"}
    (given,), _ = over_http(scripted, lambda a: answer(200, [{"cart": {"id": 5}, "a/b": "s"}]), members=members)
    assert given == {"id": 5, "slug": "s"}


def test_several_at_once_are_handed_out_before_more_are_asked_for(scripted: Any, answer: Any) -> None:
    """With `items` every element is one fixture, and the provider is called again only when all were used."""
    batches = iter([[{"id": 1}, {"id": 2}], [{"id": 3}]])
    given, target = over_http(scripted, lambda arrived: answer(200, {"made": next(batches)}), times=3, items="/made")
    assert given == [{"id": 1}, {"id": 2}, {"id": 3}]
    assert len(target.arrived) == 2


@pytest.mark.parametrize("told", [{"made": []}, {"made": {"id": 1}}, {}])
def test_several_at_once_that_are_none(scripted: Any, answer: Any, told: Any) -> None:
    """An array that is empty, or not there, is the provider's fault."""
    (error,), _ = over_http(scripted, lambda arrived: answer(200, told), items="/made")
    assert str(error) == "fixtures.cart.open: the provider's answer has no array at /made"


def test_a_member_that_is_not_there(scripted: Any, answer: Any) -> None:
    """The pointer that finds nothing is named."""
    (error,), _ = over_http(scripted, lambda arrived: answer(200, {"id": 1}), members={"id": "/cart/id"})
    assert str(error) == "fixtures.cart.open: the provider's answer has nothing at /cart/id"


@pytest.mark.parametrize("trouble", [500, 503, 429, None])
def test_http_trouble_is_tried_again(scripted: Any, answer: Any, trouble: int | None) -> None:
    """A busy or broken test API gets a few more tries."""
    answers = iter([answer(trouble) if trouble else None, answer(200, {"id": 1})])
    (given,), target = over_http(scripted, lambda arrived: next(answers))
    assert given == {"id": 1}
    assert len(target.arrived) == 2


@pytest.mark.parametrize("status", [302, 400, 401, 404, 409])
def test_http_refusals_are_not_tried_again(scripted: Any, answer: Any, status: int) -> None:
    """Any other answer is final: the status is told, redirects are not followed."""
    (error,), target = over_http(scripted, lambda arrived: answer(status, Location="/x"))
    assert f"answered {status}" in str(error)
    assert len(target.arrived) == 1
    assert not error.exhausted


def test_http_trouble_that_stays_is_told(scripted: Any, answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the last try the last trouble is told."""
    monkeypatch.setattr(module, "_ATTEMPTS", 2)
    (error,), target = over_http(scripted, lambda arrived: answer(503))
    assert "answered 503" in str(error)
    assert len(target.arrived) == 2


def test_http_answers_that_are_too_long_are_told(scripted: Any, answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such an answer is cut: that it is not JSON says nothing about the test API."""
    monkeypatch.setattr(http_pool, "_MAX_BODY", 100)
    (error,), target = over_http(scripted, lambda arrived: answer(200, {"id": "x" * 200}))
    assert str(error).endswith("answered more than can be read")
    assert len(target.arrived) == 1


def test_http_no_content_is_an_empty_object(scripted: Any) -> None:
    """204 delivers, but has no members."""
    (given,), _ = over_http(scripted, lambda arrived: b"HTTP/1.1 204 No Content\r\n\r\n")
    assert given == {}


@pytest.mark.parametrize(
    ("body", "problem"), [(b"<html>", "no JSON"), (b"[1]", "no JSON object"), (b'"a"', "no JSON object")]
)
def test_http_answers_that_are_no_members(scripted: Any, answer: Any, body: bytes, problem: str) -> None:
    """What is not JSON, or no object where no pointers are given, is a provider's failure."""
    (error,), _ = over_http(scripted, lambda arrived: answer(200, body=body))
    assert problem in str(error)


# Commands


def command(*lines: str) -> tuple[str, ...]:
    return ("python3", "-c", "\n".join(("import json, os, sys", *lines)))


def test_a_command_gets_arguments_and_context(tmp_path: Path) -> None:
    """Arguments are filled in, the whole scope is in CONFORMANCE_CONTEXT, and it runs in the profile's folder."""
    program = command("context = json.loads(os.environ['CONFORMANCE_CONTEXT'])")
    lines = "print(json.dumps({'id': sys.argv[1], 'n': context['number'], 'cwd': os.getcwd()}))"
    text = f"{program[2]}\n{lines}".replace("{", "{{").replace("}", "}}")
    fixture = Fixture("order", "open", command=(program[0], "-c", text, "{unique}"))
    assert provide(fixture, directory=tmp_path) == [{"id": "run-1", "n": 7, "cwd": str(tmp_path)}]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (command("sys.exit(3)"), "ended with 3"),
        (command("print('no json')"), "printed no JSON"),
        (command("sys.exit(3)"), "run it by hand to see what it prints"),
        (command("print('[]')"), "no JSON object"),
        (command("os.kill(os.getpid(), 9)"), "ended with -9"),
        (("./there-is-none",), "cannot start ./there-is-none"),
    ],
)
def test_a_command_that_fails(words: tuple[str, ...], problem: str, tmp_path: Path) -> None:
    """Exit code, unreadable output, or no program at all: each is told in words."""
    assert problem in str(failure(Fixture("order", "open", command=words), directory=tmp_path))


def test_a_command_may_be_a_script_of_the_profile(tmp_path: Path) -> None:
    """An executable beside the profile is started from there."""
    script = tmp_path / "make"
    script.write_text('#!/bin/sh\necho \'{"id": "s"}\'\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    assert provide(Fixture("order", "open", command=(str(script),)), directory=tmp_path) == [{"id": "s"}]


# Python

SOURCE = """
from __future__ import annotations
import asyncio, functools, itertools, sys
from dataclasses import dataclass

counter = itertools.count(1)

@dataclass
class Made:
    id: str

def plain(context): return {"id": next(counter), "unique": context["unique"]}
async def slow(context):
    await asyncio.sleep(0)
    return {"id": next(counter)}
wrapped = functools.partial(slow)
def failing(context): raise ValueError("no cart today")
def leaving(context): sys.exit(2)
def nothing(context): return None
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "makers.py").write_text(SOURCE)
    return tmp_path


@pytest.mark.parametrize("name", ["plain", "slow", "wrapped"])
def test_python_callables_sync_and_async(source: Path, name: str) -> None:
    """A function or a coroutine function of a file beside the profile; the module keeps its state between calls."""
    given = provide(Fixture("cart", "open", python=f"makers.py:{name}"), times=3, directory=source)
    assert [members["id"] for members in given] == [1, 2, 3]
    assert given[0].get("unique", "run-1") == "run-1"


def test_python_callables_of_an_importable_module(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dotted module is imported as any other."""
    (source / "makers_on_the_path.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(source)
    assert provide(Fixture("cart", "open", python="makers_on_the_path:plain"))[0]["id"] == 1


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("makers.py:failing", "raised ValueError: no cart today"),
        ("makers.py:leaving", "raised SystemExit"),
        ("makers.py:nothing", "no JSON object"),
        ("makers.py:missing", "cannot load makers.py:missing"),
        ("none.py:make", "cannot load none.py:make"),
        ("no_such_module_4711:make", "cannot load no_such_module_4711:make"),
        ("broken.py:make", "SyntaxError"),
        ("raising.py:make", "RuntimeError: at import"),
    ],
)
def test_python_that_fails(source: Path, where: str, problem: str) -> None:
    """Whatever goes wrong in the owner's code is the fixture's failure, never the suite's or the target's."""
    (source / "broken.py").write_text("def make(:\n")
    (source / "raising.py").write_text("raise RuntimeError('at import')\n")
    assert problem in str(failure(Fixture("cart", "open", python=where), directory=source))


# The interface's own operations, and states made of other states


def test_call_sends_an_operation() -> None:
    """`call` gives the whole body of the operation's 200, in which pointers find the members."""

    async def call(operation: str, given: Mapping[str, Any], scope: Mapping[str, Any]) -> Any:
        return {"data": {"id": operation, "given": dict(given), "unique": scope["unique"]}}

    fixture = Fixture(
        "webhook", "active", call="createInstallationWebhook", members={"id": "/data/id", "u": "/data/unique"}
    )
    assert provide(fixture, call=call) == [{"id": "createInstallationWebhook", "u": "run-1"}]


def test_from_and_via_bring_a_fixture_into_another_state() -> None:
    """The origin's members are taken, and each operation of `via` is sent on that very fixture, in order."""
    sent = []

    async def call(operation: str, given: Mapping[str, Any], scope: Mapping[str, Any]) -> Any:
        sent.append((operation, dict(given)))

    opened = Fixture("cart", "open", values=({"id": "a"}, {"id": "b"}))
    quoted = Fixture("cart", "quoted", origin="open", via=("quotePublicCart", "checkoutPublicCart"))
    assert provide(opened, quoted, times=2, call=call) == [{"id": "a"}, {"id": "b"}]
    assert sent == [(name, {"cart": {"id": one}}) for one in "ab" for name in quoted.via]


def test_from_names_the_origin_that_failed() -> None:
    """Where the origin is used up, it is the origin that is named: there the owner must list more."""
    opened = Fixture("cart", "open", values=({"id": "a"},))
    made, error = provide(opened, Fixture("cart", "quoted", origin="open"), times=2)
    assert made == {"id": "a"}
    assert (error.where, error.exhausted) == ("fixtures.cart.open", True)


def test_shared_fixtures_are_drawn_once_whoever_asks() -> None:
    """Twenty at once get the same one; fresh ones are always others."""

    async def main() -> None:
        many = Fixture("merchant", "stocked", values=tuple({"id": number} for number in range(9)))
        provider = Fixtures(with_fixtures(many))
        got = await asyncio.gather(*(provider.get_shared(many, {}) for _ in range(20)))
        assert got == [{"id": 0}] * 20
        assert await provider.get_fresh(many, {}) == {"id": 1}
        assert await provider.get_shared(many, {}) == {"id": 0}
        assert provider.issue_counts == {"merchant.stocked": 2}
        await provider.aclose()

    asyncio.run(main())


def test_a_waiter_that_gives_up_spoils_nothing_for_the_others() -> None:
    """A cancelled check does not cancel the fixture that others wait for."""

    async def main() -> None:
        release = asyncio.Event()

        async def call(operation: str, given: Any, scope: Any) -> Any:
            await release.wait()
            return {"id": 1}

        fixture = Fixture("webhook", "active", call="createInstallationWebhook")
        provider = Fixtures(with_fixtures(fixture), call=call)
        first, second = (asyncio.ensure_future(provider.get_shared(fixture, {})) for _ in range(2))
        await asyncio.sleep(0.01)
        first.cancel()
        release.set()
        assert await second == {"id": 1}
        await provider.aclose()

    asyncio.run(main())


def test_find_takes_the_first_state_by_default() -> None:
    """A kind without a state means the first one that the profile lists."""
    opened, revoked = (Fixture("cart", state, values=({"id": state},)) for state in ("open", "revoked"))
    provider = Fixtures(with_fixtures(opened, revoked))
    assert provider.find("cart", None) is opened
    assert provider.find("cart", "revoked") is revoked
    assert provider.find("cart", "lost") is None
    assert provider.find("order", None) is None

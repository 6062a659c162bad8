"""An id arrives as it is, in whatever place of a URL a profile puts it, and in whatever URL."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.client.created_resources import CreatedResources
from conformance.client.fixtures import Fixtures
from conformance.client.redaction.secrets import Secrets
from conformance.client.request import Request
from conformance.client.transport import Transport
from conformance.contract import load_contract
from conformance.core.errors import FixtureError, ProfileError
from conformance.journal.journal import MemoryJournal
from conformance.profile import loader
from conformance.profile.behavior import Authorization
from conformance.profile.model import Profile
from conformance.profile.resources import Cleanup, Fixture, HttpCall, OperationFacts
from conformance.profile.urls import render_url

IDS = [
    "+00Ti3+p/w==",
    "a b",
    "50%",
    "a%2Fb",
    "a&b=c",
    "what?",
    "#7",
    "é中🛒",
    "..",
    "a;b,c",
    "'\"<>\\^`{|}",
    "[::1]",
    "x:y@z",
]
OPERATIONS = load_contract().operations


def called(scripted: Any, url: str, scope: dict[str, Any]) -> str:
    """The request target that arrives for a call to a URL of a profile, behind `http://HOST:PORT`."""

    async def main() -> str:
        async with scripted() as target:
            fixtures = Fixtures(Profile("p", target.url, Authorization("Bearer {key}")))
            try:
                await fixtures.http(HttpCall(url.replace("HOST", target.url)), scope, "effects.x")
            finally:
                await fixtures.aclose()
            (arrived,) = target.arrived
            return str(arrived.target)

    return asyncio.run(main())


@pytest.mark.parametrize("name", IDS)
def test_a_placeholder_of_a_url_is_one_segment_or_one_value(scripted: Any, name: str) -> None:
    """In the path and in the query of fixtures, effects, cleanup, prepare and restore: one place sends them all."""
    target = called(scripted, "HOST/carts/{cart.id}/x?id={cart.id}&more=a%20b", {"cart.id": name})
    path, _, query = target.partition("?")
    assert [unquote(part) for part in path.split("/")] == ["", "carts", name, "x"]
    assert [unquote(part.partition("=")[2]) for part in query.split("&")] == [name, "a b"]


@pytest.mark.parametrize("name", IDS)
def test_a_parameter_of_an_operation_is_one_segment_or_one_value(scripted: Any, name: str) -> None:
    async def main() -> list[Any]:
        async with scripted() as target, Transport(target.url) as transport:
            for request in (
                Request(OPERATIONS["quotePublicCartCheckout"], path={"cartId": name}),
                Request(OPERATIONS["searchPublicProducts"], query=(("q", name), (name, "1"))),
            ):
                assert (await transport.send(request.wire(""))).status == 200
            return list(target.arrived)

    read, search = asyncio.run(main())
    assert [unquote(part) for part in read.target.split("/")][6] == name
    query = search.target.partition("?")[2].split("&")
    assert [tuple(map(unquote, part.split("="))) for part in query] == [("q", name), (name, "1")]


def test_a_cleanup_call_names_what_was_made(scripted: Any) -> None:
    """By a member of the kind, with its state or without."""

    async def main() -> list[str]:
        async with scripted() as target:
            url = f"{target.url}/{{cart.id}}?id={{cart.open.id}}"
            how = {"cart": Cleanup(HttpCall(url, "DELETE"))}
            cart = Fixture("cart", "open", python="module:made", members={"id": "/key"})
            facts = {"quotePublicCart": OperationFacts(path={"cartId": "{cart.id}"})}
            profile = Profile(
                "p",
                target.url,
                Authorization("{key}"),
                fixtures={"cart": {"open": cart}},
                operations=facts,
                cleanup=how,
            )
            ledger, fixtures = CreatedResources(profile, MemoryJournal(), Secrets()), Fixtures(profile)
            ledger.note_provided(cart, [{"key": "+00Ti3+p/w=="}])
            await ledger.remove(fixtures.http)
            await fixtures.aclose()
            return [arrived.target for arrived in target.arrived]

    assert asyncio.run(main()) == ["/%2B00Ti3%2Bp%2Fw%3D%3D?id=%2B00Ti3%2Bp%2Fw%3D%3D"]


def test_a_whole_url_at_the_start_stays_as_it_is() -> None:
    """A test API may give the URL to ask; a value of that kind is not a segment."""
    scope = {"cart.url": "http://127.0.0.1:1/a%2Fb?x=1", "cart.id": "c&d"}
    assert render_url("{cart.url}&id={cart.id}", scope) == "http://127.0.0.1:1/a%2Fb?x=1&id=c%26d"


def test_a_port_may_be_a_placeholder_and_a_path_may_not_come_with_it() -> None:
    assert render_url("http://{cart.host}/x", {"cart.host": "127.0.0.1:81"}) == "http://127.0.0.1:81/x"
    assert render_url("http://{cart.host}/x", {"cart.host": "a/b?c"}) == "http://a%2Fb%3Fc/x"


@given(st.text())
def test_what_is_filled_in_can_be_read_back(text: str) -> None:
    rendered = render_url("http://h/{x.y}?z={x.y}", {"x.y": text})
    path, _, query = rendered.removeprefix("http://h/").partition("?z=")
    assert unquote(path) == unquote(query) == text


def test_a_call_that_names_what_nobody_has_is_no_error_of_the_suite(scripted: Any) -> None:
    with pytest.raises(FixtureError, match=r"unknown placeholder \{cart\.id\}"):
        called(scripted, "HOST/{cart.id}", {})


def test_a_variable_is_filled_in_as_it_is_when_the_profile_is_loaded() -> None:
    """It may be the scheme, the host and a prefix: only what is known in a run has a place of its own."""
    document = {
        "name": "p",
        "base_url": "http://127.0.0.1:1",
        "authorization": {"format": "Bearer {key}"},
        "variables": {"control": "http://127.0.0.1:2/a/b"},
        "fixtures": {"cart": {"open": {"http": {"url": "{var.control}/carts?x={unique}"}}}},
    }
    profile = loader.profile_from_document(document, directory=Path())
    call = profile.fixtures["cart"]["open"].http
    assert call is not None
    assert render_url(call.url, {"unique": "r 1"}) == "http://127.0.0.1:2/a/b/carts?x=r%201"


def test_a_url_may_begin_with_a_member_of_a_fixture() -> None:
    """And with nothing else that is not known when the profile is loaded."""
    base = {"name": "p", "base_url": "http://127.0.0.1:1", "authorization": {"format": "Bearer {key}"}}
    body = {"operations": {"quotePublicCart": {"path": {"cartId": "{cart.id}"}, "body": {}}}}
    carts = {"fixtures": {"cart": {"open": {"values": [{"id": "c", "url": "http://127.0.0.1:2/c"}]}}}}
    good = {"effects": {"quotePublicCart": {"http": {"url": "{cart.url}?v=1"}, "pointer": "/v"}}}
    bad = {"effects": {"quotePublicCart": {"http": {"url": "{unique}?v=1"}, "pointer": "/v"}}}
    assert loader.profile_from_document({**base, **body, **carts, **good}, directory=Path()).effects
    with pytest.raises(ProfileError, match="not an http or https URL"):
        loader.profile_from_document({**base, **body, **carts, **bad}, directory=Path())

"""A document of the target is read with what it refers to: from its own origin only, and within bounds."""

from __future__ import annotations

import json
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import load_contract
from conformance.core.errors import ConformanceError
from conformance.profile.behavior import Authorization
from conformance.profile.model import Limits, Profile
from conformance.setup.probe.documents import require_own_origin
from conformance.setup.probe.openapi import OpenApiFacts, read_openapi
from conformance.setup.probe.schemas import load_openapi_schemas
from tests.support.stub_service import stub_service

CONTRACT = load_contract()


def _read(source: str | Path, base_url: str = "http://127.0.0.1:9/shop") -> OpenApiFacts:
    return read_openapi(str(source), Profile("p", base_url, Authorization("Bearer {key}")), CONTRACT)


def test_a_reference_leads_to_no_other_service() -> None:
    """The target's document cannot have another service of this machine read, at once or by a redirect; it is named."""
    asked: list[str] = []

    def private(_: dict[str, str]) -> tuple[int, Any]:
        asked.append("private")
        return 200, {"Cart": {"type": "object", "description": "private"}}

    with stub_service({"/own.json": private}) as other:
        own = f"{other}/own.json"
        schemas = {
            "PublicCartResponse": {"$ref": f"{own}#/Cart"},
            "PublicCartQuoteResponse": {"$ref": "moved#/Cart"},
        }
        routes = {
            "/openapi.json": (200, {"components": {"schemas": schemas}}),
            "/moved": (302, "", {"Location": own}),
        }
        with stub_service(routes) as url:
            facts = _read(f"{url}/openapi.json", url)
    assert not asked
    assert set(facts.unusable) == set(schemas)
    assert "private" not in json.dumps(facts.document)
    assert facts.unread == (f"{own}: has another origin than {url}: not fetched (download it and pass the file)",)


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:9/shop", "https://shop.example"])
def test_a_redirect_leads_to_no_other_service(base_url: str) -> None:
    """Whatever the base URL is: the user stated the URL of the document."""
    document = {"components": {"schemas": {"PublicCartResponse": {}}}}
    with stub_service({"/own.json": (200, document)}) as other:
        routes = {"/openapi.json": (302, "", {"Location": f"{other}/own.json"})}
        with stub_service(routes) as url, pytest.raises(ConformanceError, match="has another origin than") as refused:
            _read(f"{url}/openapi.json", base_url)
        assert str(refused.value).startswith(f"{other}/own.json: ")
        assert set(_read(f"{other}/own.json", base_url).evidence) == {"PublicCartResponse"}


@pytest.mark.parametrize(
    ("source", "url", "is_allowed"),
    [
        ("http://shop.example/a.json", "https://shop.example/b.json", True),
        ("http://shop.example:80/a.json", "https://SHOP.example:443/b.json", True),
        ("https://shop.example/a.json", "http://shop.example/b.json", False),
        ("http://shop.example/a.json", "https://shop.example:8443/b.json", False),
        ("http://shop.example:8080/a.json", "https://shop.example:8080/b.json", False),
        ("http://shop.example/a.json", "http://shop.example@127.0.0.1/b.json", False),
        ("http://localhost/a.json", "http://127.0.0.1/b.json", False),
    ],
)
def test_only_the_default_port_of_https_is_the_same_host_too(source: str, url: str, is_allowed: bool) -> None:
    """Servers redirect from http to https; another port is another service, and so is the way back."""
    with nullcontext() if is_allowed else pytest.raises(ConformanceError, match="has another origin than"):
        require_own_origin(url, source)


def _levels(count: int, deepest: Any) -> Any:
    for _ in range(count):
        deepest = {"n": deepest}
    return deepest


def test_references_to_each_level_of_a_large_part_are_refused() -> None:
    """Each copies all that is below it: the error names the document as the user did, and comes at once."""
    references = [{"$ref": "#/x-levels" + "/n" * level} for level in range(60)]
    document = {
        "components": {"schemas": {"PublicCartResponse": {"anyOf": references}}},
        "x-levels": _levels(60, [{"k": number} for number in range(6_000)]),
    }
    with stub_service({"/moved": (302, "", {"Location": "/a.json"}), "/a.json": (200, document)}) as url:
        with pytest.raises(ConformanceError, match="has more than 300,000 values or 8 MiB of text") as refused:
            _read(f"{url}/moved", url)
        assert refused.value.where == f"{url}/moved"


def test_the_text_that_references_copy_is_bounded(tmp_path: Path) -> None:
    """A few values may be long; and what is short in the document may be long where it is written."""
    references = [{"$ref": "#/x-levels" + "/n" * level} for level in range(60)]
    path = tmp_path / "shop.json"
    for text in ("x" * 200_000, "\u0001" * 60_000):
        document = {
            "components": {"schemas": {"PublicCartResponse": {"anyOf": references}}},
            "x-levels": _levels(60, {"description": text}),
        }
        path.write_text(json.dumps(document))
        with pytest.raises(ConformanceError, match="8 MiB of text") as refused:
            _read(path)
        assert refused.value.where == str(path)


def test_references_may_form_a_long_chain(tmp_path: Path) -> None:
    """Each leads to a part that refers to the next one."""
    document = {
        "components": {"schemas": {"PublicCartResponse": {"$ref": "#/x/0"}}},
        "x": {str(number): {"not": {"$ref": f"#/x/{number + 1}"}} for number in range(2_000)},
    }
    path = tmp_path / "shop.json"
    path.write_text(json.dumps(document))
    assert len(_read(path).document["components"]["x-external"]) == 2_000


@pytest.mark.parametrize("levels", [300, 400, 500, 900])
def test_a_document_that_is_nested_too_deeply_is_named(levels: int, tmp_path: Path) -> None:
    """Not a file of the suite that the user has never seen."""
    path = tmp_path / "shop.json"
    schemas = {"PublicCartResponse": {}, "Deep": {"x": _levels(levels, {})}}
    path.write_text(json.dumps({"components": {"schemas": schemas}}))
    with pytest.raises(ConformanceError, match=r"is nested (too deeply|deeper than)") as refused:
        load_openapi_schemas(_read(path), CONTRACT)
    assert refused.value.where == str(path)


def test_the_files_of_a_document_share_its_deadline() -> None:
    """Each answers in time; those that the deadline leaves no time for are named."""
    asked: list[str] = []

    def slow(_: dict[str, str]) -> tuple[int, Any]:
        asked.append("slow")
        time.sleep(0.3)
        return 200, {"Cart": {"type": "object"}}

    files = {f"/{number}.json": slow for number in range(12)}
    schemas = {f"X{path[1:-5]}": {"$ref": f"{path}#/Cart"} for path in files}
    with stub_service({"/openapi.json": (200, {"components": {"schemas": schemas}}), **files}) as url:
        profile = Profile("p", url, Authorization("Bearer {key}"), limits=Limits(deadline_s=1))
        facts = read_openapi(f"{url}/openapi.json", profile, CONTRACT)
    assert 1 <= len(asked) <= 5
    assert f"{url}/11.json: is not fetched: the deadline is over (pass the file)" in facts.unread

"""A document of any usual form is read at the first try; one that cannot be read is refused with its reason."""

from __future__ import annotations

import asyncio
import copy
import json
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.contract import load_contract
from conformance.core.errors import ConformanceError
from conformance.profile.behavior import Authorization
from conformance.profile.model import Limits, Profile
from conformance.profile.schemas import load_schemas
from conformance.runner.embedded_reference import bundled_profiles
from conformance.setup.probe.openapi import OpenApiFacts, read_openapi, whole_pattern
from tests.support.paths import ROOT
from tests.support.scripted_target import ScriptedTarget
from tests.support.stub_service import stub_service

CONTRACT = load_contract()
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"
Document = dict[str, Any]


def _read(source: str | Path, base_url: str = "http://127.0.0.1:9/shop") -> OpenApiFacts:
    return read_openapi(str(source), Profile("p", base_url, Authorization("Bearer {key}")), CONTRACT)


@cache
def _sources() -> tuple[Document, Document]:
    interface = yaml.safe_load((ROOT / "conformance/contract/openapi.yaml").read_text())
    return interface, yaml.safe_load((bundled_profiles() / "reference.schemas.yaml").read_text())


def _document() -> Document:
    """The interface, with the reference's schemas."""
    interface, schemas = copy.deepcopy(_sources())
    interface["components"]["schemas"] |= schemas["components"]["schemas"]
    return interface


def _renamed(document: Document) -> Document:
    text = json.dumps(document).replace("Public", "Shop").replace('Response"', 'Result"')
    return dict(json.loads(text))


def _relocated(document: Document, old: str, new: str) -> Document:
    """The paths begin otherwise, and no operation has an id."""
    paths = {new + path.removeprefix(old): item for path, item in document["paths"].items()}
    for item in paths.values():
        for operation in item.values():
            operation.pop("operationId", None)
    return {**document, "paths": paths}


def _openapi_30(document: Document) -> Document:
    document["components"]["schemas"]["PublicErrorResponse"] = {
        "type": "object",
        "nullable": True,
        "properties": {"n": {"type": "integer", "minimum": 0, "exclusiveMinimum": True}},
    }
    return {**document, "openapi": "3.0.3"}


def _by_reference(document: Document) -> Document:
    """Operations, answers and schemas stand where references lead."""
    item = document["paths"]["/api/v1/search"]
    document["components"]["pathItems"] = {"Search": item}
    item["get"]["responses"]["200"] = {"$ref": "#/paths/~1api~1v1~1runtime-config/get/responses/200"}
    item["get"]["responses"]["400"] = {"$ref": "#/components/responses/BadRequest"}
    document["paths"]["/api/v1/search"] = {"$ref": "#/components/pathItems/Search"}
    return document


def _with_ranges(document: Document) -> Document:
    for item in document["paths"].values():
        for operation in item.values():
            operation["responses"]["2XX"] = operation["responses"].pop("200")
    return document


FORMS: dict[str, Callable[[Document], Document]] = {
    "OpenAPI 3.1": lambda d: d,
    "OpenAPI 3.0": _openapi_30,
    "only components": lambda d: {"components": {"schemas": d["components"]["schemas"]}},
    "only a map of names": lambda d: dict(d["components"]["schemas"]),
    "$defs": lambda d: {"$defs": d["components"]["schemas"]},
    "definitions with their own references": lambda d: json.loads(
        json.dumps({"definitions": d["components"]["schemas"]}).replace("#/components/schemas/", "#/definitions/")
    ),
    "other names": _renamed,
    "other names, no operationId": lambda d: _relocated(_renamed(d), "", ""),
    "the prefix in the server": lambda d: {
        **_relocated(_renamed(d), "/api/v1", ""),
        "servers": [{"url": "https://shop.example/eu/api/v1"}],
    },
    "a prefix in the paths": lambda d: _relocated(_renamed(d), "", "/shop"),
    "references everywhere": _by_reference,
    "status ranges": _with_ranges,
}


@pytest.mark.parametrize("suffix", ["json", "yaml"])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_document_of_any_form_gives_all_schemas(
    form: Callable[[Document], Document], suffix: str, tmp_path: Path
) -> None:
    """And what is written beside the draft loads as the profile loads it."""
    path = tmp_path / f"shop.{suffix}"
    document = form(_document())
    path.write_text(json.dumps(document) if suffix == "json" else yaml.safe_dump(document))
    facts = _read(path)
    assert facts.unusable == {}
    assert set(facts.evidence) == set(CONTRACT.schema_names)
    drafted = tmp_path / "drafted.json"
    drafted.write_text(json.dumps(facts.document))
    assert set(load_schemas(drafted, facts.schema_names, CONTRACT.schema_names)) == set(CONTRACT.schema_names)


def test_schemas_within_the_operations_are_enough(tmp_path: Path) -> None:
    """A document without components has its schemas in the operations."""
    schema = {"type": "object", "required": ["data"]}
    content = {"content": {"application/json": {"schema": schema}}}
    paths = {"/api/v1/runtime-config": {"get": {"responses": {200: content, "default": content}}}}
    path = tmp_path / "shop.yaml"
    path.write_text(yaml.safe_dump({"openapi": "3.1.0", "paths": paths}))
    facts = _read(path)
    assert set(facts.evidence) == {"OperationResponse", "PublicErrorResponse"}
    assert facts.document["components"]["schemas"]["OperationResponse"] == schema


def test_other_files_are_read_too(tmp_path: Path) -> None:
    """Relative to the file that refers to them, and in a circle too; a file that is not there costs one schema."""
    document = {
        "openapi": "3.1.0",
        "paths": {"/api/v1/search": {"$ref": "paths/search.yaml"}},
        "components": {
            "schemas": {
                "PublicCartResponse": {"$ref": "schemas.yaml#/Cart"},
                "PublicCartQuoteResponse": {"$ref": "absent.yaml#/Quote"},
            }
        },
    }
    (tmp_path / "paths").mkdir()
    (tmp_path / "shop.yaml").write_text(yaml.safe_dump(document))
    reference = {"schema": {"$ref": "../schemas.yaml#/Cart"}}
    search = {"get": {"responses": {"200": {"content": {"application/json": reference}}}}}
    (tmp_path / "paths/search.yaml").write_text(yaml.safe_dump(search))
    cart = {"type": "object", "properties": {"next": {"$ref": "#/Cart"}, "id": {"type": "string"}}}
    (tmp_path / "schemas.yaml").write_text(yaml.safe_dump({"Cart": cart}))
    facts = _read(tmp_path / "shop.yaml")
    assert set(facts.evidence) == {"PublicCartResponse", "PublicProductSearchResponse"}
    assert "outside of the file" in facts.unusable["PublicCartQuoteResponse"]
    drafted = tmp_path / "drafted.json"
    drafted.write_text(json.dumps(facts.document))
    schema = load_schemas(drafted, facts.schema_names, CONTRACT.schema_names)["PublicCartResponse"]
    assert "next" in json.dumps(schema)


def test_no_file_outside_is_read_for_a_url(tmp_path: Path) -> None:
    """A document of the target cannot have a file of this machine, or of another host, copied into the draft."""
    (tmp_path / "own.yaml").write_text("Cart: {type: object, description: private}")
    schemas = {
        "PublicCartResponse": {"$ref": f"{tmp_path}/own.yaml#/Cart"},
        "PublicCartQuoteResponse": {"$ref": f"file://{tmp_path}/own.yaml#/Cart"},
        "PublicCartCheckoutResponse": {"$ref": "https://other.example/a.yaml#/Cart"},
    }
    with stub_service({"/openapi.json": (200, {"components": {"schemas": schemas}})}) as url:
        facts = _read(f"{url}/openapi.json", url)
    assert set(facts.unusable) == set(schemas)
    assert "private" not in json.dumps(facts.document)


@pytest.mark.parametrize("start", ["/docs/openapi", "/moved"])
def test_a_url_is_fetched_with_its_redirects_and_its_files(start: str) -> None:
    """Whatever the ending of its name is; relative references are relative to its address."""
    document = {"components": {"schemas": {"PublicCartResponse": {"$ref": "more.yaml#/Cart"}}}}
    routes = {
        "/docs/openapi": (200, yaml.safe_dump(document), {"Content-Type": "text/plain"}),
        "/docs/more.yaml": (200, "Cart: {type: object}"),
        "/moved": (307, "", {"Location": "/docs/openapi"}),
    }
    with stub_service(routes) as url:
        facts = _read(f"{url}{start}", url)
    assert set(facts.evidence) == {"PublicCartResponse"}
    assert not facts.unusable


REFUSED = {
    "/absent": "status 404 instead of 200",
    "/private": "needs a login",
    "/page": "is a page, not a document",
    "/text": "must hold an object",
    "/broken.json": "is not valid JSON",
    "/broken.yaml": "is not valid YAML",
    "/swagger": "Swagger 2",
    "/package": "is not an OpenAPI document",
    "/other": "describes no operation of the interface: its paths are /pets",
    "/nothing": "neither paths nor components",
    "/sso": "https://sso.example/login: has another origin than http://127.0.0.1:",
    "/circle": "redirects more than",
}


@pytest.mark.parametrize(("path", "reason"), REFUSED.items())
def test_what_cannot_be_read_is_refused_with_its_reason(path: str, reason: str) -> None:
    """The message names the address and the reason."""
    routes = {
        "/private": (401, {}),
        "/page": (200, "<!DOCTYPE html><title>Swagger UI</title>", {"Content-Type": "text/html"}),
        "/text": (200, "hello"),
        "/broken.json": (200, '{"openapi": '),
        "/broken.yaml": (200, "openapi: ["),
        "/swagger": (200, {"swagger": "2.0", "paths": {}, "definitions": {}}),
        "/package": (200, {"name": "shop", "version": "1"}),
        "/other": (200, {"openapi": "3.1.0", "paths": {"/pets": {"get": {}}}}),
        "/nothing": (200, {"openapi": "3.1.0"}),
        "/sso": (302, "", {"Location": "https://sso.example/login"}),
        "/circle": (302, "", {"Location": "/circle"}),
    }
    with stub_service(routes) as url, pytest.raises(ConformanceError, match=reason) as refused:
        _read(f"{url}{path}", url)
    assert refused.value.exit_code == 2
    assert path in str(refused.value) or path == "/sso"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("127.0.0.1:8080/openapi.json", "for a URL write http://127.0.0.1:8080/openapi.json"),
        ("http://[", "cannot be fetched"),
        ("HTTP://127.0.0.1:9/x", "cannot be fetched"),
        ("file:///etc/passwd", "neither a file nor"),
        ("no/such.yaml", "cannot be read"),
        ("\0", "cannot be read"),
    ],
)
def test_a_wrong_address_is_one_clear_error(source: str, reason: str) -> None:
    with pytest.raises(ConformanceError, match=reason):
        _read(source)


JSON_TEXTS = {
    "byte order mark": "\ufeff" + json.dumps({"components": {"schemas": {"PublicCartResponse": {}}}}),
    "tabs": '{\n\t"PublicCartResponse": {"type": "object"}\n}',
}


@pytest.mark.parametrize("text", JSON_TEXTS.values(), ids=JSON_TEXTS)
@pytest.mark.parametrize("name", ["shop.json", "shop.yaml", "shop"])
def test_json_is_read_whatever_the_name_of_the_file(text: str, name: str, tmp_path: Path) -> None:
    """With a byte order mark, and with tabs, which YAML has not."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert set(_read(tmp_path / name).evidence) == {"PublicCartResponse"}


def test_a_key_in_the_body_is_found_by_its_description(tmp_path: Path) -> None:
    """And in a part of `allOf`."""
    member = {"type": "string", "description": "Makes the call idempotent."}
    schemas = {
        "Once": {"properties": {"context": {"properties": {"nonce": member}}}},
        "PublicCartTransitionRequest": {"allOf": [{"$ref": "#/components/schemas/Once"}, {"type": "object"}]},
    }
    path = tmp_path / "shop.json"
    path.write_text(json.dumps({"components": {"schemas": schemas}}))
    assert _read(path).key_locations == (("body", "/context/nonce"),)


def _shared_body(**own: Any) -> dict[str, Any]:
    call = {"type": "object", "properties": {"mark": {"type": "string"}}, "required": ["mark"]}
    return {"type": "object", "properties": {"call": call, "note": {"type": "string"}, **own}, "required": ["call"]}


def test_a_text_that_all_bodies_share_may_be_the_key(tmp_path: Path) -> None:
    """Whatever its name; a text that only some have is none."""
    names = [operation.request_schema for operation in CONTRACT.idempotent]
    schemas = {name: _shared_body() for name in names}
    del schemas["PublicWebhookCreateRequest"]["properties"]["note"]
    path = tmp_path / "shop.json"
    path.write_text(json.dumps({"components": {"schemas": schemas}}))
    assert _read(path).key_locations == (("body", "/call/mark"),)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("^[A-Z]{3}-[0-9]{12}$", ["[A-Z]{3}-[0-9]{12}"]),
        ("^(idem|key)_[0-9a-f|]{16}$", ["(idem|key)_[0-9a-f|]{16}"]),
        ("[a-z]{20}", []),
        ("^[a-z]{20}|[0-9]{20}$", []),
        ("^(?=.*[0-9])[a-z0-9]{1,2}$", []),
        ("^.*(", []),
        ("^only$", []),
        ("", []),
    ],
)
def test_a_pattern_of_keys_is_about_the_whole_key(pattern: str, expected: list[str]) -> None:
    """Between `^` and `$`, with more than a few keys."""
    assert whole_pattern(pattern) == expected


@pytest.mark.parametrize("chunk", [INTERIM, b" "], ids=["interim answers", "byte after byte"])
def test_a_document_that_never_ends_is_given_up(chunk: bytes) -> None:
    """Each read is answered in time, so that a limit on reads alone would wait for ever."""
    head = b"" if chunk == INTERIM else b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"

    async def send(_: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        for _number in range(200):
            writer.write(chunk)
            await writer.drain()
            await asyncio.sleep(0.05)

    async def read() -> None:
        async with ScriptedTarget(send) as target:
            limits = Limits(deadline_s=0.5)
            profile = Profile("p", target.url, Authorization("Bearer {key}"), limits=limits)
            began = time.monotonic()
            with pytest.raises(ConformanceError, match=r"cannot be fetched within 0\.5 s"):
                await asyncio.to_thread(read_openapi, f"{target.url}/openapi.json", profile, CONTRACT)
            assert time.monotonic() - began < 5

    asyncio.run(read())

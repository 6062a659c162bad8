"""A target's own OpenAPI document, or its schemas alone: what it says of schemas, keys and parameters.

All of it is hearsay until the target was asked; schemas excepted, which the profile takes over.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from conformance.client.reachability import client_for
from conformance.contract import Contract, Operation
from conformance.core import json_pointer as pointer
from conformance.core.errors import ProfileError, UsageError
from conformance.profile.model import Profile
from conformance.profile.schemas import load_schemas, read_document

ERROR: Final = "PublicErrorResponse"
_MOST_BYTES: Final = 8 * 1024 * 1024
_TIMEOUT_S: Final = 15.0
_KEY_LIKE: Final = re.compile(r"idempot|repeatab|dedup|request[-_]?(key|id)|operation[-_]?key|^_?key$", re.IGNORECASE)
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Described:
    """What a document says. `document` is what will be written beside the profile; empty: there is none."""

    source: str = ""
    document: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """The interface's schema names to the document's, where they differ."""
    why: Mapping[str, str] = field(default_factory=dict)
    """For each of the interface's names that it has: how it was found."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Names whose schema cannot be used, and why."""
    key_places: tuple[tuple[str, str], ...] = ()
    """(carrier, name or JSON pointer) of what may be the idempotency key's."""
    authorization: tuple[str, ...] = ()
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By search parameter: the values that it names."""
    others: tuple[str, ...] = ()
    """All schemas of the document, by name."""


def described(source: str, profile: Profile, contract: Contract) -> Described:
    """What the document at a path or URL says. Raises UsageError or ProfileError where there is nothing to read."""
    if not source:
        return Described()
    document = _read(source, profile)
    found = _Names(document, contract)
    kept = found.kept()
    left_out = _unusable(kept, found, contract)
    return Described(
        source=source,
        document=kept,
        names={name: called for name, called in found.names.items() if name not in left_out},
        why={name: why for name, why in found.why.items() if name not in left_out},
        left_out=left_out,
        key_places=tuple(dict.fromkeys(_key_places(document, found, contract))),
        authorization=tuple(dict.fromkeys(_authorization(document))),
        query=_query(found.said.get("searchPublicProducts", {}), document),
        others=tuple(found.schemas),
    )


def _read(source: str, profile: Profile) -> dict[str, Any]:
    if not re.match(r"https?://", source):
        return read_document(Path(source))
    host, own = urlsplit(source).hostname, urlsplit(profile.base_url).hostname
    if host != own and host not in _LOOPBACK:
        hint = "download it and give the file"
        raise UsageError(f"{host} is not the host of the base URL, so nothing is sent there", where=source, hint=hint)
    text = _fetched(source, profile)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("openapi.json" if text.lstrip()[:1] == b"{" else "openapi.yaml")
        path.write_bytes(text)
        try:
            return read_document(path)
        except ProfileError as error:
            raise ProfileError(error.message, where=source) from None


def _fetched(url: str, profile: Profile) -> bytes:
    try:
        with (
            client_for(profile, url, _TIMEOUT_S) as client,
            client.stream("GET", url, headers={"Accept": "application/json, application/yaml"}) as response,
        ):
            if response.status_code != 200:
                raise UsageError(f"was answered {response.status_code}", where=url, hint="give a file instead")
            body = b""
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > _MOST_BYTES:
                    raise UsageError("is longer than any OpenAPI document", where=url)
            return body
    except (httpx.HTTPError, OSError, ValueError) as error:
        raise UsageError(f"cannot be fetched: {error or type(error).__name__}", where=url) from None


class _Names:
    """Which of the document's schemas is which of the interface's: by operation, then by name."""

    def __init__(self, document: dict[str, Any], contract: Contract) -> None:
        self._document = document
        components = _table(document.get("components"))
        self.is_openapi = "schemas" in components
        plain = document.get("schemas") or document.get("$defs") or document
        self.schemas: dict[str, Any] = dict(_table(components.get("schemas"))) or dict(_table(plain))
        self.names: dict[str, str] = {}
        self.why: dict[str, str] = {}
        self.said: dict[str, Mapping[str, Any]] = {}
        """operationId -> the document's operation object."""
        for operation in contract.all:
            if entry := self._entry(operation):
                self.said[operation.id] = entry
        used = self._used(contract)
        for name in contract.schema_names:
            self._find(name, used.get(name, []))

    def kept(self) -> dict[str, Any]:
        if not self.is_openapi:
            return self._document
        version = {"openapi": str(self._document["openapi"])} if "openapi" in self._document else {}
        return {**version, "components": {"schemas": self.schemas}}

    def _entry(self, operation: Operation) -> Mapping[str, Any]:
        wanted = _blank(operation.path)
        for path, item in _table(self._document.get("paths")).items():
            entry = _table(_table(item).get(operation.method.lower()))
            same_path = wanted.endswith(_blank(str(path))) and len(str(path)) > 1
            if entry and (entry.get("operationId") == operation.id or same_path):
                shared = [*_list(_table(item).get("parameters")), *_list(entry.get("parameters"))]
                return {**entry, "parameters": [_resolved(self._document, one) for one in shared]}
        return {}

    def _used(self, contract: Contract) -> dict[str, list[Any]]:
        used: dict[str, list[Any]] = {}
        for operation in contract.all:
            entry = self.said.get(operation.id, {})
            answers = _table(entry.get("responses"))
            bodies = [(operation.request_schema, entry.get("requestBody"))]
            bodies += [
                (operation.response_schema, {str(status): answer for status, answer in answers.items()}.get("200"))
            ]
            bodies += [(ERROR, answer) for status, answer in answers.items() if str(status)[:1] in "45d"]
            for name, holder in bodies:
                schema = _json_schema(_resolved(self._document, holder))
                if name and schema and schema not in used.setdefault(name, []):
                    used[name].append(schema)
        return used

    def _find(self, name: str, used: list[Any]) -> None:
        referred = [_called(schema) for schema in used]
        if len(used) == 1 and referred[0] in self.schemas:
            self._take(name, referred[0], "the schema that the document's operations refer to")
        elif used and self.is_openapi and all(called in self.schemas or not called for called in referred):
            own = name if name not in self.schemas else f"{name}OfOperations"
            self.schemas[own] = used[0] if len(used) == 1 else {"anyOf": used}
            self._take(name, own, f"made of {len(used)} that the document's operations state")
        elif name in self.schemas:
            self._take(name, name, "the document has it under this name")
        else:
            near = [called for called in self.schemas if _plain(called) == _plain(name)]
            if near:
                self._take(name, near[0], "the document spells it otherwise")

    def _take(self, name: str, called: str, why: str) -> None:
        self.why[name] = why
        if called != name:
            self.names[name] = called


def _unusable(kept: dict[str, Any], found: _Names, contract: Contract) -> dict[str, str]:
    """Names whose schema no validator takes: they are taken out of `kept`."""
    left_out: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "schemas.json"
        path.write_text(json.dumps(kept), encoding="utf-8")
        for name in contract.schema_names:
            if name not in found.why:
                continue
            named = {name: found.names[name]} if name in found.names else {}
            try:
                load_schemas(path, named, [name])
            except ProfileError as error:
                left_out[name] = error.message
                holder = kept["components"]["schemas"] if found.is_openapi else kept
                holder.pop(name, None)
    return left_out


def _key_places(document: Mapping[str, Any], found: _Names, contract: Contract) -> Iterator[tuple[str, str]]:
    for operation in contract.idempotent:
        entry = found.said.get(operation.id, {})
        for parameter in _list(entry.get("parameters")):
            name, place = str(_table(parameter).get("name", "")), _table(parameter).get("in")
            if place in ("header", "query") and _KEY_LIKE.search(name):
                yield str(place), name
        schema = found.schemas.get(found.names.get(operation.request_schema, operation.request_schema))
        yield from (("body", where) for where in _key_members(document, schema, "", 3))


def _key_members(document: Mapping[str, Any], schema: Any, at: str, depth: int) -> Iterator[str]:
    properties = _table(_table(_resolved(document, schema)).get("properties"))
    for name, below in properties.items():
        if _KEY_LIKE.search(str(name)) and _table(below).get("type", "string") in ("string", ["string"]):
            yield at + pointer.join(str(name))
        if depth > 1:
            yield from _key_members(document, below, at + pointer.join(str(name)), depth - 1)


def _authorization(document: Mapping[str, Any]) -> Iterator[str]:
    for scheme in _table(_table(document.get("components")).get("securitySchemes")).values():
        told = _table(_resolved(document, scheme))
        if told.get("type") == "http" and re.fullmatch(r"[A-Za-z0-9-]+", str(told.get("scheme", ""))):
            yield f"{str(told['scheme']).title() if told['scheme'] == 'bearer' else told['scheme']} {{key}}"
        elif told.get("type") == "apiKey" and str(told.get("name", "")).lower() == "authorization":
            yield "{key}"


def _query(entry: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for parameter in _list(entry.get("parameters")):
        told = _table(parameter)
        schema = _table(_resolved(document, told.get("schema")))
        values = [told.get("example"), schema.get("example"), schema.get("default"), *_list(schema.get("examples"))]
        values += [_table(one).get("value") for one in _table(told.get("examples")).values()]
        values += [schema.get("const"), *_list(schema.get("enum"))]
        plain = [str(value) for value in values if isinstance(value, str | int) and not isinstance(value, bool)]
        usable = [value for value in plain if "{" not in value and "}" not in value]
        if told.get("in") == "query" and usable:
            found[str(told.get("name"))] = tuple(dict.fromkeys(usable))[:8]
    return found


def _json_schema(holder: Any) -> Any:
    for kind, content in _table(_table(holder).get("content")).items():
        if "json" in str(kind):
            return _table(content).get("schema")
    return None


def _called(schema: Any) -> str:
    reference = str(_table(schema).get("$ref", ""))
    return pointer.tokens(reference[1:])[-1] if reference.startswith("#/components/schemas/") else ""


def _resolved(document: Mapping[str, Any], value: Any) -> Any:
    for _ in range(8):
        reference = str(_table(value).get("$ref", ""))
        if not reference.startswith("#/"):
            return value
        try:
            value = pointer.get(document, reference[1:])
        except (KeyError, ValueError):
            return {}
    return {}


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _blank(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", path.rstrip("/"))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())

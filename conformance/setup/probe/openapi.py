"""Reads the schemas, key locations and query values from the target's OpenAPI document, or its schemas alone.

The profile adopts the schemas; everything else is only a hint until a request confirms it.
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
_MAX_BYTES: Final = 8 * 1024 * 1024
_TIMEOUT_S: Final = 15.0
_KEY_NAME: Final = re.compile(r"idempot|repeatab|dedup|request[-_]?(key|id)|operation[-_]?key|^_?key$", re.IGNORECASE)
_LEAST_SCHEMAS: Final = 3
"""Fewer schemas may have another text member in common."""
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class OpenApiFacts:
    """Facts from a document. `document` is written beside the profile; empty: none."""

    source: str = ""
    document: Mapping[str, Any] = field(default_factory=dict)
    schema_names: Mapping[str, str] = field(default_factory=dict)
    """Schema names of the interface -> names in the document, where they differ."""
    evidence: Mapping[str, str] = field(default_factory=dict)
    """Schema names of the interface that the document covers -> how the schema was found."""
    unusable: Mapping[str, str] = field(default_factory=dict)
    """Schema names whose schema cannot be used -> reason."""
    key_locations: tuple[tuple[str, str], ...] = ()
    """(carrier, name or JSON pointer) of possible locations of the idempotency key."""
    authorization_formats: tuple[str, ...] = ()
    query_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Search parameter -> example values."""
    all_schema_names: tuple[str, ...] = ()
    """Names of all schemas of the document."""


def read_openapi(source: str, profile: Profile, contract: Contract) -> OpenApiFacts:
    """Reads the document at a path or URL. Raises UsageError or ProfileError if it cannot be read."""
    if not source:
        return OpenApiFacts()
    document = _read_source(source, profile)
    schema_map = _SchemaMap(document, contract)
    kept_document = schema_map.schema_document()
    unusable = _remove_unusable(kept_document, schema_map, contract)
    return OpenApiFacts(
        source=source,
        document=kept_document,
        schema_names={name: alias for name, alias in schema_map.names.items() if name not in unusable},
        evidence={name: evidence for name, evidence in schema_map.evidence.items() if name not in unusable},
        unusable=unusable,
        key_locations=tuple(dict.fromkeys(_key_locations(document, schema_map, contract))),
        authorization_formats=tuple(dict.fromkeys(_authorization_formats(document))),
        query_values=_query_values(schema_map.entries.get("searchPublicProducts", {}), document),
        all_schema_names=tuple(schema_map.schemas),
    )


def _read_source(source: str, profile: Profile) -> dict[str, Any]:
    if not re.match(r"https?://", source):
        return read_document(Path(source))
    host, target_host = urlsplit(source).hostname, urlsplit(profile.base_url).hostname
    if host != target_host and host not in _LOOPBACK:
        hint = "download it and pass the file"
        raise UsageError(f"{host} is not the host of the base URL: not fetched", where=source, hint=hint)
    text = _fetch(source, profile)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("openapi.json" if text.lstrip()[:1] == b"{" else "openapi.yaml")
        path.write_bytes(text)
        try:
            return read_document(path)
        except ProfileError as error:
            raise ProfileError(error.message, where=source) from None


def _fetch(url: str, profile: Profile) -> bytes:
    try:
        with (
            client_for(profile, url, _TIMEOUT_S) as client,
            client.stream("GET", url, headers={"Accept": "application/json, application/yaml"}) as response,
        ):
            if response.status_code != 200:
                raise UsageError(f"status {response.status_code} instead of 200", where=url, hint="pass a file instead")
            body = b""
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > _MAX_BYTES:
                    raise UsageError("is longer than 8 MiB", where=url)
            return body
    except (httpx.HTTPError, OSError, ValueError) as error:
        raise UsageError(f"cannot be fetched: {error or type(error).__name__}", where=url) from None


class _SchemaMap:
    """Maps schemas of the document to schema names of the interface: by operation, then by name."""

    def __init__(self, document: dict[str, Any], contract: Contract) -> None:
        self._document = document
        components = _as_mapping(document.get("components"))
        self.is_openapi = "schemas" in components
        bare_schemas = document.get("schemas") or document.get("$defs") or document
        self.schemas: dict[str, Any] = dict(_as_mapping(components.get("schemas"))) or dict(_as_mapping(bare_schemas))
        self.names: dict[str, str] = {}
        self.evidence: dict[str, str] = {}
        self.entries: dict[str, Mapping[str, Any]] = {}
        """operationId -> the document's operation object."""
        for operation in contract.all:
            if entry := self._find_entry(operation):
                self.entries[operation.id] = entry
        used = self._schemas_in_use(contract)
        for name in contract.schema_names:
            self._map(name, used.get(name, []))

    def schema_document(self) -> dict[str, Any]:
        if not self.is_openapi:
            return self._document
        version = {"openapi": str(self._document["openapi"])} if "openapi" in self._document else {}
        return {**version, "components": {"schemas": self.schemas}}

    def _find_entry(self, operation: Operation) -> Mapping[str, Any]:
        pattern = _path_pattern(operation.path)
        for path, item in _as_mapping(self._document.get("paths")).items():
            entry = _as_mapping(_as_mapping(item).get(operation.method.lower()))
            same_path = pattern.endswith(_path_pattern(str(path))) and len(str(path)) > 1
            if entry and (entry.get("operationId") == operation.id or same_path):
                parameters = [*_as_list(_as_mapping(item).get("parameters")), *_as_list(entry.get("parameters"))]
                return {**entry, "parameters": [_resolve(self._document, parameter) for parameter in parameters]}
        return {}

    def _schemas_in_use(self, contract: Contract) -> dict[str, list[Any]]:
        schemas_by_name: dict[str, list[Any]] = {}
        for operation in contract.all:
            entry = self.entries.get(operation.id, {})
            answers = _as_mapping(entry.get("responses"))
            bodies = [(operation.request_schema, entry.get("requestBody"))]
            bodies += [
                (operation.response_schema, {str(status): answer for status, answer in answers.items()}.get("200"))
            ]
            bodies += [(ERROR, answer) for status, answer in answers.items() if str(status)[:1] in "45d"]
            for name, container in bodies:
                schema = _json_schema(_resolve(self._document, container))
                if name and schema and schema not in schemas_by_name.setdefault(name, []):
                    schemas_by_name[name].append(schema)
        return schemas_by_name

    def _map(self, name: str, schemas: list[Any]) -> None:
        references = [_referenced_name(schema) for schema in schemas]
        if len(schemas) == 1 and references[0] in self.schemas:
            self._add(name, references[0], "referenced by the operations of the document")
        elif schemas and self.is_openapi and all(alias in self.schemas or not alias for alias in references):
            new_name = name if name not in self.schemas else f"{name}OfOperations"
            self.schemas[new_name] = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
            self._add(name, new_name, f"combined from {len(schemas)} schemas in the operations of the document")
        elif name in self.schemas:
            self._add(name, name, "same name in the document")
        else:
            similar = [alias for alias in self.schemas if _normalize(alias) == _normalize(name)]
            if similar:
                self._add(name, similar[0], "name in another spelling in the document")

    def _add(self, name: str, alias: str, evidence: str) -> None:
        self.evidence[name] = evidence
        if alias != name:
            self.names[name] = alias


def _remove_unusable(document: dict[str, Any], schema_map: _SchemaMap, contract: Contract) -> dict[str, str]:
    """Names whose schema is invalid, with the reason; removes them from `document`."""
    unusable: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "schemas.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        for name in contract.schema_names:
            if name not in schema_map.evidence:
                continue
            names = {name: schema_map.names[name]} if name in schema_map.names else {}
            try:
                load_schemas(path, names, [name])
            except ProfileError as error:
                unusable[name] = error.message
                container = document["components"]["schemas"] if schema_map.is_openapi else document
                container.pop(name, None)
    return unusable


def _key_locations(
    document: Mapping[str, Any], schema_map: _SchemaMap, contract: Contract
) -> Iterator[tuple[str, str]]:
    for operation in contract.idempotent:
        entry = schema_map.entries.get(operation.id, {})
        for parameter in _as_list(entry.get("parameters")):
            name, location = str(_as_mapping(parameter).get("name", "")), _as_mapping(parameter).get("in")
            if location in ("header", "query") and _KEY_NAME.search(name):
                yield str(location), name
        yield from (("body", at) for at in _members(document, schema_map, operation) if _KEY_NAME.search(_last(at)))
    yield from (("body", at) for at in _common_members(document, schema_map, contract))


def _last(at: str) -> str:
    return pointer.tokens(at)[-1]


def _members(document: Mapping[str, Any], schema_map: _SchemaMap, operation: Operation) -> list[str]:
    schema = schema_map.schemas.get(schema_map.names.get(operation.request_schema, operation.request_schema))
    return list(_text_members(document, schema, "", 3))


def _common_members(document: Mapping[str, Any], schema_map: _SchemaMap, contract: Contract) -> list[str]:
    """The text members, by any name, that the request bodies of all idempotent operations have in common."""
    described = [o for o in contract.idempotent if o.has_body and _members(document, schema_map, o)]
    if len({operation.request_schema for operation in described}) < _LEAST_SCHEMAS:
        return []
    first, *others = [_members(document, schema_map, operation) for operation in described]
    return [at for at in first if all(at in members for members in others)]


def _text_members(document: Mapping[str, Any], schema: Any, at: str, depth: int) -> Iterator[str]:
    """The members of a schema that are texts, with those of its objects."""
    properties = _as_mapping(_as_mapping(_resolve(document, schema)).get("properties"))
    for name, subschema in properties.items():
        resolved = _as_mapping(_resolve(document, subschema))
        if resolved.get("type", "string") in ("string", ["string"]) and "properties" not in resolved:
            yield at + pointer.join(str(name))
        if depth > 1:
            yield from _text_members(document, resolved, at + pointer.join(str(name)), depth - 1)


def _authorization_formats(document: Mapping[str, Any]) -> Iterator[str]:
    for scheme in _as_mapping(_as_mapping(document.get("components")).get("securitySchemes")).values():
        entry = _as_mapping(_resolve(document, scheme))
        if entry.get("type") == "http" and re.fullmatch(r"[A-Za-z0-9-]+", str(entry.get("scheme", ""))):
            yield f"{str(entry['scheme']).title() if entry['scheme'] == 'bearer' else entry['scheme']} {{key}}"
        elif entry.get("type") == "apiKey" and str(entry.get("name", "")).lower() == "authorization":
            yield "{key}"


def _query_values(entry: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    values_by_name: dict[str, tuple[str, ...]] = {}
    for parameter in _as_list(entry.get("parameters")):
        definition = _as_mapping(parameter)
        schema = _as_mapping(_resolve(document, definition.get("schema")))
        values = [
            definition.get("example"),
            schema.get("example"),
            schema.get("default"),
            *_as_list(schema.get("examples")),
        ]
        values += [_as_mapping(example).get("value") for example in _as_mapping(definition.get("examples")).values()]
        values += [schema.get("const"), *_as_list(schema.get("enum"))]
        texts = [str(value) for value in values if isinstance(value, str | int) and not isinstance(value, bool)]
        usable = [value for value in texts if "{" not in value and "}" not in value]
        if definition.get("in") == "query" and usable:
            values_by_name[str(definition.get("name"))] = tuple(dict.fromkeys(usable))[:8]
    return values_by_name


def _json_schema(container: Any) -> Any:
    for kind, content in _as_mapping(_as_mapping(container).get("content")).items():
        if "json" in str(kind):
            return _as_mapping(content).get("schema")
    return None


def _referenced_name(schema: Any) -> str:
    reference = str(_as_mapping(schema).get("$ref", ""))
    return pointer.tokens(reference[1:])[-1] if reference.startswith("#/components/schemas/") else ""


def _resolve(document: Mapping[str, Any], value: Any) -> Any:
    for _ in range(8):
        reference = str(_as_mapping(value).get("$ref", ""))
        if not reference.startswith("#/"):
            return value
        try:
            value = pointer.get(document, reference[1:])
        except (KeyError, ValueError):
            return {}
    return {}


def _as_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _path_pattern(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", path.rstrip("/"))


def _normalize(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())

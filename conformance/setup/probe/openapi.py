"""Reads the schemas, key locations and query values from the target's OpenAPI document, or its schemas alone.

The profile adopts the schemas; everything else is only a hint until a request confirms it.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from conformance.client.pattern import sample
from conformance.contract import Contract, Operation
from conformance.core import json_pointer as pointer
from conformance.core.errors import ProfileError, UsageError
from conformance.profile.model import Profile
from conformance.profile.schemas import SchemaDocument
from conformance.setup.probe.documents import read_openapi_document, too_large
from conformance.setup.probe.query_values import example_of, lists_of_parameters, merge, values_in, values_of_parameters

ERROR: Final = "PublicErrorResponse"
_KEY_NAME: Final = re.compile(r"idempot|repeatab|dedup|request[-_]?(key|id)|operation[-_]?key|^_?key$", re.IGNORECASE)
_MAX_CHARACTERS: Final = 8 * 1024 * 1024
"""Of the schemas as they are written beside the profile: half of what is read as a file of schemas."""
_SAMPLES: Final = 20
_LEAST_SCHEMAS: Final = 3
"""Fewer schemas may have another text member in common."""


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
    key_patterns: tuple[str, ...] = ()
    """Regular expressions that the whole key matches in one of these locations."""
    authorization_formats: tuple[str, ...] = ()
    query_values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Search parameter -> example values."""
    query_lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Search parameter -> all its values, as an enumeration lists them."""
    query_parameters: tuple[str, ...] = ()
    """The names of all search parameters of the document."""
    all_schema_names: tuple[str, ...] = ()
    """Names of all schemas of the document."""
    unread: tuple[str, ...] = ()
    """Files that the document refers to and that were not read, each with its reason."""


def read_openapi(source: str, profile: Profile, contract: Contract) -> OpenApiFacts:
    """Reads the document at a path or URL. Raises UsageError or ProfileError if it cannot be read."""
    try:
        return _read_facts(source, profile, contract) if source else OpenApiFacts()
    except RecursionError:
        raise ProfileError("is nested too deeply", where=source) from None


def _read_facts(source: str, profile: Profile, contract: Contract) -> OpenApiFacts:
    document, unread = read_openapi_document(source, profile)
    schema_map = _SchemaMap(document, contract)
    if document["paths"] and not schema_map.entries and not schema_map.evidence:
        paths = ", ".join(list(document["paths"])[:4])
        hint = "paths are compared from their end, so that a prefix may differ"
        raise UsageError(f"describes no operation of the interface: its paths are {paths}", where=source, hint=hint)
    kept_document = schema_map.schema_document()
    if len(json.dumps(kept_document, indent=1)) > _MAX_CHARACTERS:
        raise too_large(source)
    unusable = _remove_unusable(kept_document, schema_map, contract)
    return OpenApiFacts(
        source=source,
        document=kept_document,
        schema_names={name: alias for name, alias in schema_map.names.items() if name not in unusable},
        evidence={name: evidence for name, evidence in schema_map.evidence.items() if name not in unusable},
        unusable=unusable,
        key_locations=tuple(dict.fromkeys(_key_locations(document, schema_map, contract))),
        key_patterns=tuple(dict.fromkeys(_key_patterns(document, schema_map, contract))),
        authorization_formats=tuple(dict.fromkeys(_authorization_formats(document))),
        query_values=_query_values(schema_map, document),
        query_lists=lists_of_parameters(_search_parameters(schema_map), partial(_resolve, document)),
        query_parameters=_names_in_query(_search_parameters(schema_map)),
        all_schema_names=tuple(schema_map.schemas),
        unread=unread,
    )


class _SchemaMap:
    """Maps schemas of the document to schema names of the interface: by operation, then by name."""

    def __init__(self, document: dict[str, Any], contract: Contract) -> None:
        self._document = document
        self.schemas: dict[str, Any] = dict(_as_mapping(document["components"]["schemas"]))
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
        """The schemas, and the other components that they refer to; empty without schemas."""
        if not self.schemas:
            return {}
        version = {"openapi": self._document["openapi"]} if "openapi" in self._document else {}
        components: dict[str, Any] = {"schemas": self.schemas}
        pending = list(_references(self.schemas))
        while pending:
            kind, name = ([*pointer.tokens(pending.pop()), "", ""])[1:3]
            part = _as_mapping(_as_mapping(self._document["components"]).get(kind)).get(name)
            if part is not None and name not in components.setdefault(kind, {}):
                components[kind][name] = part
                pending += _references(part)
        return {**version, "components": {kind: parts for kind, parts in components.items() if parts}}

    def _find_entry(self, operation: Operation) -> Mapping[str, Any]:
        """The operation with the id of the interface, or else the one with the most similar path."""
        pattern, found = _path_pattern(operation.path), []
        for path, definition in self._document["paths"].items():
            item = _as_mapping(_resolve(self._document, definition))
            entry = _as_mapping(_resolve(self._document, item.get(operation.method.lower())))
            rank = (entry.get("operationId") == operation.id, _shared_length(pattern, _path_pattern(str(path))))
            if entry and any(rank):
                found.append((*rank, -len(str(path)), {**entry, "parameters": self._parameters(item, entry)}))
        return max(found, key=lambda candidate: candidate[:3])[3] if found else {}

    def _parameters(self, item: Mapping[str, Any], entry: Mapping[str, Any]) -> list[Any]:
        parameters = [*_as_list(item.get("parameters")), *_as_list(entry.get("parameters"))]
        return [_resolve(self._document, parameter) for parameter in parameters]

    def _schemas_in_use(self, contract: Contract) -> dict[str, list[Any]]:
        schemas_by_name: dict[str, list[Any]] = {}
        for operation in contract.all:
            entry = self.entries.get(operation.id, {})
            answers = {str(status).lower(): answer for status, answer in _as_mapping(entry.get("responses")).items()}
            bodies = [(operation.request_schema, entry.get("requestBody"))]
            bodies += [(operation.response_schema, answers.get("200", answers.get("2xx")))]
            bodies += [(ERROR, answer) for status, answer in answers.items() if status[:1] in "45d"]
            for name, container in bodies:
                schema = _json_schema(_resolve(self._document, container))
                if name and schema and schema not in schemas_by_name.setdefault(name, []):
                    schemas_by_name[name].append(schema)
        return schemas_by_name

    def _map(self, name: str, schemas: list[Any]) -> None:
        references = [_referenced_name(schema) for schema in schemas]
        if len(schemas) == 1 and references[0] in self.schemas:
            self._add(name, references[0], "referenced by the operations of the document")
        elif schemas and all(alias in self.schemas or not alias for alias in references):
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
    names = [name for name in contract.schema_names if name in schema_map.evidence]
    unusable: dict[str, str] = {}
    if not names:
        return unusable
    try:
        schemas = SchemaDocument(document, "")
    except ProfileError as error:
        unusable = dict.fromkeys(names, error.message)
    else:
        for name in names:
            try:
                schemas.load({name: schema_map.names[name]} if name in schema_map.names else {}, [name])
            except ProfileError as error:
                unusable[name] = error.message
    for name in unusable:
        document["components"]["schemas"].pop(name, None)
    return unusable


def _key_locations(
    document: Mapping[str, Any], schema_map: _SchemaMap, contract: Contract
) -> Iterator[tuple[str, str]]:
    for operation in contract.idempotent:
        yield from ((str(entry["in"]), str(entry["name"])) for entry in _key_parameters(schema_map, operation))
        members = _members(document, schema_map, operation)
        yield from (("body", at) for at, member in members.items() if _is_key(at, member))
    yield from (("body", at) for at in _common_members(document, schema_map, contract))


def _key_parameters(schema_map: _SchemaMap, operation: Operation) -> list[Mapping[str, Any]]:
    """The parameters that carry the key, by their names."""
    entries = map(_as_mapping, _as_list(schema_map.entries.get(operation.id, {}).get("parameters")))
    candidates = (entry for entry in entries if _KEY_NAME.search(str(entry.get("name", ""))))
    return [entry for entry in candidates if entry.get("in") in ("header", "query")]


def _key_patterns(document: Mapping[str, Any], schema_map: _SchemaMap, contract: Contract) -> Iterator[str]:
    for operation in contract.idempotent:
        schemas = [_resolve(document, entry.get("schema")) for entry in _key_parameters(schema_map, operation)]
        schemas += [m for at, m in _members(document, schema_map, operation).items() if _is_key(at, m)]
        for schema in schemas:
            yield from whole_pattern(str(_as_mapping(schema).get("pattern", "")))


def whole_pattern(pattern: str) -> list[str]:
    """A pattern between `^` and `$` without them; none if it is not between them, or if no text can be made of it."""
    inner = pattern[1:-1]
    if not (pattern.startswith("^") and pattern.endswith("$")) or _has_outer_alternative(inner):
        return []
    try:
        texts = {sample(inner, random.Random(number)) for number in range(_SAMPLES)}
        is_usable = len(texts) == _SAMPLES and all(re.fullmatch(inner, text) for text in texts)
    except (re.error, ValueError, OverflowError, RecursionError):
        return []
    return [inner] if is_usable else []


def _has_outer_alternative(pattern: str) -> bool:
    """Whether `^` and `$` belong to alternatives of the pattern, and not to the whole."""
    depth = 0
    for character in re.sub(r"\\.|\[\^?\]?[^\]]*\]", "", pattern):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "|" and not depth:
            return True
    return False


def _last(at: str) -> str:
    return pointer.tokens(at)[-1]


def _members(document: Mapping[str, Any], schema_map: _SchemaMap, operation: Operation) -> dict[str, Any]:
    """The places of the text members of a request body -> their schemas."""
    schema = schema_map.schemas.get(schema_map.names.get(operation.request_schema, operation.request_schema))
    return dict(_text_members(document, schema, "", 3))


def _is_key(at: str, member: Mapping[str, Any]) -> bool:
    return bool(_KEY_NAME.search(_last(at))) or "idempoten" in str(member.get("description", "")).lower()


def _common_members(document: Mapping[str, Any], schema_map: _SchemaMap, contract: Contract) -> list[str]:
    """The text members, by any name, that the request bodies of all idempotent operations have in common."""
    described = [o for o in contract.idempotent if o.has_body and _members(document, schema_map, o)]
    if len({operation.request_schema for operation in described}) < _LEAST_SCHEMAS:
        return []
    first, *others = [_members(document, schema_map, operation) for operation in described]
    return [at for at in first if all(at in members for members in others)]


def _text_members(document: Mapping[str, Any], schema: Any, at: str, depth: int) -> Iterator[tuple[str, Any]]:
    """The places and schemas of a schema's members that are texts, with those of its objects and parts."""
    resolved = _as_mapping(_resolve(document, schema))
    for name, subschema in _as_mapping(resolved.get("properties")).items():
        member = _as_mapping(_resolve(document, subschema))
        if member.get("type", "string") in ("string", ["string"]) and "properties" not in member:
            yield at + pointer.join(str(name)), member
        if depth > 1:
            yield from _text_members(document, member, at + pointer.join(str(name)), depth - 1)
    for part in _as_list(resolved.get("allOf")) if depth > 1 else ():
        yield from _text_members(document, part, at, depth - 1)


def _authorization_formats(document: Mapping[str, Any]) -> Iterator[str]:
    for scheme in _as_mapping(_as_mapping(document.get("components")).get("securitySchemes")).values():
        entry = _as_mapping(_resolve(document, scheme))
        if entry.get("type") == "http" and re.fullmatch(r"[A-Za-z0-9-]+", str(entry.get("scheme", ""))):
            yield f"{str(entry['scheme']).title() if entry['scheme'] == 'bearer' else entry['scheme']} {{key}}"
        elif entry.get("type") == "apiKey" and str(entry.get("name", "")).lower() == "authorization":
            yield "{key}"


def _search_parameters(schema_map: _SchemaMap) -> list[Any]:
    return _as_list(schema_map.entries.get("searchPublicProducts", {}).get("parameters"))


def _names_in_query(parameters: list[Any]) -> tuple[str, ...]:
    entries = [_as_mapping(parameter) for parameter in parameters]
    return tuple(str(entry["name"]) for entry in entries if entry.get("in") == "query" and "name" in entry)


def _query_values(schema_map: _SchemaMap, document: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Search parameter -> values: of the parameters, then of examples of answers, then of schemas."""
    resolve = partial(_resolve, document)
    parts = [values_of_parameters(_search_parameters(schema_map), resolve)]
    for operation in ("getPublicRuntimeConfig", "searchPublicProducts", "listPublicMerchantProducts"):
        answers = _as_mapping(schema_map.entries.get(operation, {}).get("responses"))
        content = _json_content(resolve(answers.get("200", answers.get("2XX"))))
        parts += [values_in(example) for example in _examples(content, resolve)]
        parts.append(values_in(example_of(content.get("schema"), resolve)))
    parts += [values_in({name: example_of(schema, resolve)}) for name, schema in schema_map.schemas.items()]
    return merge(*parts)


def _examples(content: Mapping[str, Any], resolve: Callable[[Any], Any]) -> Iterator[Any]:
    yield content.get("example")
    for example in _as_mapping(content.get("examples")).values():
        yield _as_mapping(resolve(example)).get("value")


def _json_schema(container: Any) -> Any:
    return _json_content(container).get("schema")


def _json_content(container: Any) -> Mapping[str, Any]:
    for kind, content in _as_mapping(_as_mapping(container).get("content")).items():
        if "json" in str(kind) or str(kind) == "*/*":
            return _as_mapping(content)
    return {}


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


def _references(value: Any) -> Iterator[str]:
    """The pointers of all references within the document."""
    if isinstance(value, Mapping):
        reference = value.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/"):
            yield reference[1:]
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _references(item)


def _path_pattern(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", path.rstrip("/"))


def _shared_length(pattern: str, other: str) -> int:
    """The length of the shorter path if the longer one ends with it: servers and paths may share the prefix anyhow."""
    shorter, longer = sorted((pattern, other), key=len)
    is_end = longer.endswith(shorter) and re.search(r"/[^/{]", shorter)
    return len(shorter) if is_end else 0


def _normalize(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())

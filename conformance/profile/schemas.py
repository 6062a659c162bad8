"""The schema file of a profile: JSON Schemas by the interface's names, each usable on its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema_rs
import yaml

from conformance.core import json_pointer as pointer
from conformance.core.errors import ProfileError
from conformance.core.files import read_regular
from conformance.core.messages import shorten
from conformance.profile.anchors import find_anchors, with_pointers
from conformance.profile.directions import Direction, has_mark
from conformance.profile.schema_limits import check_limits
from conformance.profile.source import nearest
from conformance.profile.subschema import with_subschemas


class _DuplicateKey(yaml.constructor.ConstructorError):
    """A mapping of YAML has a key twice."""


class _Yaml(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Scalars as in YAML 1.2: `on`, `no` and dates are strings. Two equal names in a mapping are an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        if duplicate := _duplicate_name(node):
            first, second = duplicate
            problem = _describe_duplicate(first.value, first.start_mark.line + 1)
            raise _DuplicateKey(None, None, problem, second.start_mark)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


_Yaml.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if not tag.endswith((":timestamp", ":bool"))]
    for first, resolvers in _Yaml.yaml_implicit_resolvers.items()
}
_JSON_SCHEMA_DIALECT = re.compile(r"https?://json-schema\.org/(?:draft-0[467]|draft/(?:2019-09|2020-12))/schema#?")
_OPENAPI_DIALECT = "https://spec.openapis.org/oas/3."
_MAX_VALUES = 1_000_000
_MERGE = "tag:yaml.org,2002:merge"
_DUPLICATE_HINT = "only the last one would count: remove or rename one of them"
_BOOLEAN = re.compile("^(?:true|True|TRUE|false|False|FALSE)$")
_Yaml.add_implicit_resolver("tag:yaml.org,2002:bool", _BOOLEAN, list("tTfF"))


class _DuplicateName(ValueError):
    """An object of JSON has a name twice; the message is the name."""


def load_schemas(path: Path, names: Mapping[str, str], interface_names: Iterable[str]) -> dict[str, Any]:
    """The schemas of the file by the interface's names, which `names` maps to those of the file.

    Raises ProfileError where the file cannot be read or parsed, lacks a name of `names`, or holds no valid schema.
    """
    return SchemaDocument(read_document(path), str(path)).load(names, interface_names)


class SchemaDocument:
    """A document with schemas. What several of them refer to is translated and checked once, and is not copied."""

    def __init__(self, document: dict[str, Any], where: str) -> None:
        """`where`: the file or URL that errors name. Raises ProfileError."""
        check_limits(document, where)
        self._document, self._where = document, where
        self._base, self._declared = _find_schemas(document, where)
        self._anchors = find_anchors(self._base, self._declared)
        self._needs_translation = not str(document.get("openapi", "")).startswith("3.1")
        self._parts: dict[str, Any] = {}
        """Pointer -> translated part."""
        self._references: dict[str, list[str]] = {}
        """Pointer -> the pointers that the part there refers to."""
        self._has_directions = has_mark(document)
        self._valid: set[str] = set()
        """Names of schemas that were checked."""

    def load(self, names: Mapping[str, str], interface_names: Iterable[str]) -> dict[str, Any]:
        """As `load_schemas`."""
        found = {}
        for name in interface_names:
            schema_name = names.get(name, name)
            if schema_name in self._declared:
                found[name] = self._check(
                    self._bundle(self._base + pointer.join(schema_name), Direction(self._document, name))
                )
            elif name in names:
                hint = nearest(schema_name, self._declared)
                raise ProfileError(f"no schema {schema_name}", where=self._where, hint=hint)
        return found

    def _bundle(self, target: str, direction: Direction) -> dict[str, Any]:
        """A schema that refers to `target`, with all schemas that `target` refers to."""
        bundle: dict[str, Any] = {"$ref": f"#{target}"}
        open_refs = [target]
        while open_refs:
            at = component_pointer(open_refs.pop())
            if pointer.has(bundle, at) or not pointer.has(self._document, at):
                continue
            part = self._part(at)
            _put(bundle, pointer.tokens(at), direction.drop_required(part) if self._has_directions else part)
            open_refs += self._references[at]
        return bundle

    def _part(self, at: str) -> Any:
        if at not in self._parts:
            part = _with_known_dialects(pointer.get(self._document, at), pointer.tokens(at)[-1], self._where)
            part = with_pointers(part, self._anchors)
            self._parts[at] = _translate(part) if self._needs_translation else part
            self._references[at] = [ref[1:] for ref in _refs(part) if ref.startswith("#/")]
        return self._parts[at]

    def _check(self, bundle: dict[str, Any]) -> dict[str, Any]:
        """Returns the bundle. Raises ProfileError where a schema is invalid or refers to one outside of the file."""
        schema_name = pointer.tokens(bundle["$ref"][1:])[-1]
        schemas = pointer.get(bundle, self._base) if self._base else {n: s for n, s in bundle.items() if n != "$ref"}
        try:
            for name, schema in schemas.items():
                schema_name = name
                self._check_alone(name, schema)
            schema_name = pointer.tokens(bundle["$ref"][1:])[-1]
            jsonschema_rs.Draft202012Validator(bundle)
        except jsonschema_rs.ValidationError as error:
            at = pointer.join(*error.instance_path)
            reason = error.message.splitlines()[0]
            message = f"schema {schema_name} is not a valid JSON Schema: {reason}" + (f" at {at}" if at else "")
            raise ProfileError(message, where=self._where) from error
        except ValueError:  # jsonschema_rs takes no lone surrogates
            message = f"schema {schema_name} holds text that is not Unicode, such as half of a surrogate pair"
            raise ProfileError(message, where=self._where) from None
        return bundle

    def _check_alone(self, name: str, schema: Any) -> None:
        if name in self._valid:
            return
        jsonschema_rs.meta.validate(schema)
        for ref in _refs(schema):
            if not ref.startswith("#"):
                message = f"schema {name} refers to {ref}, outside of the file"
                raise ProfileError(message, where=self._where, hint="bundle the files into one")
        self._valid.add(name)


def read_document(path: Path) -> dict[str, Any]:
    """The object in a JSON or YAML file. Raises ProfileError."""
    try:
        text = read_regular(path).decode("utf-8")
    except OSError as error:
        raise ProfileError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except ValueError as error:
        raise ProfileError(f"is not JSON or YAML text: {error}", where=str(path)) from error
    return parse_document(text, str(path))


def parse_document(text: str, where: str) -> dict[str, Any]:
    """The object in a text of JSON or YAML, of a file or URL. Raises ProfileError.

    A text that begins as a JSON object is JSON unless it is YAML only; the end of the name decides which error is
    reported.
    """
    text = text.removeprefix("\ufeff")
    is_json = where.endswith(".json") or text.lstrip()[:1] == "{"
    try:
        document = _parse_json(text, where) if is_json else _parse_yaml(text, where)
    except ProfileError as error:
        document = _parse_other(text, where, is_json=is_json)
        if document is None:
            raise error from None
    if not isinstance(document, dict):
        hint = "an OpenAPI document or a map of names to schemas"
        raise ProfileError("must hold an object", where=where, hint=hint)
    return document


def _parse_other(text: str, where: str, *, is_json: bool) -> dict[str, Any] | None:
    """The object in a text of the other language; None if there is none."""
    try:
        document = _parse_yaml(text, where) if is_json else _parse_json(text, where)
    except ProfileError:
        return None
    return document if isinstance(document, dict) else None


def _parse_json(text: str, where: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique_members)
    except _DuplicateName as error:
        first, line = _lines_of_duplicate(text)
        place = f"{where}:{line}" if line else where
        raise ProfileError(_describe_duplicate(str(error), first), where=place, hint=_DUPLICATE_HINT) from None
    except json.JSONDecodeError as error:
        raise ProfileError(f"is not valid JSON: {error.msg}", where=f"{where}:{error.lineno}") from error
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"is not valid JSON: {error}", where=where) from error


def _parse_yaml(text: str, where: str) -> Any:
    try:
        return _to_json(yaml.load(text, Loader=_Yaml))
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        place = f"{where}:{mark.line + 1}" if mark else where
        if isinstance(error, _DuplicateKey):
            raise ProfileError(str(problem), where=place, hint=_DUPLICATE_HINT) from None
        raise ProfileError(f"is not valid YAML: {problem or 'unreadable'}", where=place) from error
    except (ValueError, TypeError, RecursionError) as error:
        raise ProfileError(f"is not JSON or YAML text: {str(error).splitlines()[0]}", where=where) from error


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of JSON with these members. Raises _DuplicateName."""
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise _DuplicateName(next(name for name in names if names.count(name) > 1))
    return members


def _duplicate_name(node: yaml.MappingNode) -> tuple[yaml.ScalarNode, yaml.ScalarNode] | None:
    """Two equal names of a mapping; what `<<` merges into it may be overridden."""
    first: dict[str, yaml.ScalarNode] = {}
    for name, _ in node.value:
        if isinstance(name, yaml.ScalarNode) and name.tag != _MERGE:
            if name.value in first:
                return first[name.value], name
            first[name.value] = name
    return None


def _lines_of_duplicate(text: str) -> tuple[int, int]:
    """The lines of two equal names in a text of JSON, which is YAML, too; zeros where they are not found."""
    with suppress(yaml.YAMLError, RecursionError):
        pending = [yaml.compose(text, Loader=_Yaml)]
        while pending:
            node = pending.pop(0)
            if isinstance(node, yaml.MappingNode):
                if duplicate := _duplicate_name(node):
                    return duplicate[0].start_mark.line + 1, duplicate[1].start_mark.line + 1
                pending += [value for _, value in node.value]
            elif isinstance(node, yaml.SequenceNode):
                pending += node.value
    return 0, 0


def _describe_duplicate(name: str, first_line: int) -> str:
    return f"the name {shorten(name)!r} is stated twice{f', first in line {first_line}' if first_line else ''}"


def _to_json(value: Any) -> Any:
    """YAML values as JSON values: all keys are strings, and no value contains itself. Raises ValueError, TypeError."""
    remaining, pending = _MAX_VALUES, [value]
    while pending:  # aliases of aliases may stand for billions
        part = pending.pop()
        children = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        remaining -= len(children)
        if remaining < 0:
            raise ValueError(f"its aliases stand for more than {_MAX_VALUES:,} values, or for themselves")
        pending += children
    return json.loads(json.dumps(value))


def _find_schemas(document: dict[str, Any], where: str) -> tuple[str, dict[str, Any]]:
    components = document.get("components")
    for base, holder in (
        ("/components/schemas", components.get("schemas") if isinstance(components, dict) else None),
        ("/schemas", document.get("schemas") if "openapi" not in document else None),
        ("/$defs", document.get("$defs")),
        ("", None if "openapi" in document else document),
    ):
        if isinstance(holder, dict):
            return base, holder
    raise ProfileError("has no components.schemas", where=where)


def component_pointer(ref: str) -> str:
    """The pointer of the definition in a file that `ref` is, or leads into."""
    tokens = pointer.tokens(ref)
    return pointer.join(*tokens[: 3 if tokens[0] == "components" else 2 if tokens[0] in ("schemas", "$defs") else 1])


def _put(bundle: dict[str, Any], path: list[str], part: Any) -> None:
    for name in path[:-1]:
        bundle = bundle.setdefault(name, {})
    bundle[path[-1]] = part


def _refs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for item in value.values():
            yield from _refs(item)
    elif isinstance(value, list):
        for item in value:
            yield from _refs(item)


def _with_known_dialects(schema: Any, name: str, where: str) -> Any:
    """A schema without the `$schema` of OpenAPI 3.1, whose dialect is JSON Schema 2020-12 and some annotations.

    Raises ProfileError on an unknown `$schema`, which the validator would request from its address.
    """
    if isinstance(schema, list):
        return [_with_known_dialects(item, name, where) for item in schema]
    if not isinstance(schema, dict):
        return schema
    dialect = schema.get("$schema")
    if isinstance(dialect, str) and dialect.startswith(_OPENAPI_DIALECT):
        schema = {member: item for member, item in schema.items() if member != "$schema"}
    elif isinstance(dialect, str) and not _JSON_SCHEMA_DIALECT.fullmatch(dialect):
        problem = f"schema {name} has the $schema {dialect}, which is not known"
        raise ProfileError(problem, where=where, hint="leave it out: JSON Schema 2020-12 is assumed")
    return with_subschemas(schema, lambda item: _with_known_dialects(item, name, where))


def _translate(schema: Any) -> Any:
    """OpenAPI 3.0's dialect as JSON Schema 2020-12: `nullable`, and exclusive bounds that are true or false."""
    if isinstance(schema, list):
        return [_translate(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out = with_subschemas(schema, _translate)
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(out.get(exclusive), bool) and out.pop(exclusive) and bound in out:
            out[exclusive] = out.pop(bound)
    if not isinstance(out.get("nullable"), bool) or not out.pop("nullable"):
        return out
    return {"anyOf": [out, {"type": "null"}]}

"""The types with which `model.py` declares the facts of a profile: bounds and documentation.

Keywords of JSON Schema that begin with `x-` are the suite's own: `x-expected` describes the valid values, `x-refers-to`
says what a name refers to, `x-placeholders` when placeholders are filled in (`run`; `never`: braces are literal),
`x-excludable` which part of the schema describes an exclusion in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

from msgspec import Meta

from conformance.core.defaults import DEPTHS, MAX_CONCURRENCY, MIN_RATE

JsonValue = Any


def fact(
    description: str,
    *,
    key: str = "",
    table: str = "",
    placeholders: str = "",
    exclusion: bool | None = None,
    required: bool = False,
) -> Meta:
    """The documentation of a fact. `key` is its dotted key where it is not the attribute's name, `table` the
    description of the table that such a key begins with.

    `exclusion`: whether `none = "..."` is allowed instead; by default, for each table and each fact of a table.
    `required`: it must be stated, although its attribute has a default.
    """
    marks: dict[str, Any] = {"x-placeholders": placeholders} if placeholders else {}
    if exclusion is not None:
        marks["x-excludable"] = "exclusion" if exclusion else ""
    extra = {"key": key, "table": table, "required": required}
    return Meta(description=description, extra_json_schema=marks, extra=extra)


def describe_values(text: str) -> Meta:
    """A description of the valid values."""
    return Meta(extra_json_schema={"x-expected": text})


def excludable(exclusion: str = "exclusion") -> Meta:
    """Marks the members of a table: an exclusion is allowed instead of each."""
    return Meta(extra_json_schema={"x-excludable": exclusion})


def _file_schema(**schema: Any) -> Meta:
    """The schema of a fact whose type in the file differs from that of the attribute."""
    return Meta(extra_json_schema={"x-schema": schema})


def one_or_several() -> Meta:
    """For an array of tables that may be a single table in the file."""
    return Meta(
        min_length=1,
        extra_json_schema={
            "x-schema": {"type": ["object", "array"], "x-expected": "at least one table", "x-table": True}
        },
    )


def _one_of(*options: str) -> Meta:
    return Meta(extra_json_schema={"enum": list(options)})


def _one_of_statuses(*options: int) -> Meta:
    return Meta(extra_json_schema={"enum": list(options)})


def _refers_to(referent: str) -> Meta:
    return Meta(extra_json_schema={"x-refers-to": referent})


def _placeholders(phase: str) -> Meta:
    return Meta(extra_json_schema={"x-placeholders": phase})


_T = TypeVar("_T")
Excludable = Annotated[_T, excludable()]
Text = Annotated[str, Meta(min_length=1), describe_values("not empty")]
OperationId = Annotated[Text, _refers_to("operation")]
OptionalOperation = Annotated[str, _refers_to("operation")]
RequirementId = Annotated[Text, _refers_to("requirement")]
CredentialName = Annotated[Text, _refers_to("credential")]
FileName = Annotated[Text, _refers_to("file")]
PathName = Annotated[Path, _refers_to("file")]
FixtureName = Annotated[str, Meta(pattern=r"^[^.]+\.[^.]+$"), describe_values("KIND.STATE")]
Command = Annotated[tuple[str, ...], Meta(min_length=1), describe_values("a program and its arguments")]
Positive = Annotated[float, Meta(gt=0), describe_values("more than 0")]
Rate = Annotated[float, Meta(ge=MIN_RATE), describe_values(f"{MIN_RATE:g} or more")]
Duration = Annotated[float, Meta(gt=0, le=2**32), describe_values("more than 0, and at most 4294967296")]
Seconds = Annotated[float, Meta(ge=0), describe_values("0 or more")]
Factor = Annotated[float, Meta(ge=1), describe_values("a number from 1 up")]
Count = Annotated[int, Meta(ge=1), describe_values("1 or more")]
Concurrency = Annotated[int, Meta(ge=1, le=MAX_CONCURRENCY), describe_values(f"from 1 to {MAX_CONCURRENCY}")]
Pointer = Annotated[
    str,
    Meta(pattern="^(/([^~/]|~[01])*)*$"),
    describe_values("a JSON pointer (RFC 6901), such as /data/id"),
    _placeholders("never"),
]
MemberPointer = Annotated[
    str,
    Meta(pattern="^(/([^~/]|~[01])*)+$"),
    describe_values("a JSON pointer (RFC 6901) of a member, such as /data/id"),
    _placeholders("never"),
]
"""Not the whole value, whose pointer is the empty text: that stands for what is not stated."""
Pointers = tuple[Pointer, ...]
Members = Mapping[str, Pointer]
Strings = Mapping[str, str]
Template = Annotated[JsonValue, _placeholders("run")]
TextTemplate = Annotated[Text, _placeholders("run")]
Templates = Annotated[Strings, _placeholders("run")]
TemplateTable = Annotated[Mapping[str, JsonValue], _placeholders("run")]
CommandTemplate = Annotated[Command, _placeholders("run")]
Entries = Annotated[
    tuple[Mapping[str, JsonValue], ...], Meta(min_length=1), describe_values("at least one entry"), _placeholders("run")
]
Method = Annotated[str, Meta(pattern="^[A-Z]+$"), describe_values("an HTTP method in capitals")]
FunctionName = Annotated[
    str, Meta(pattern="^[^:]+:[A-Za-z_][A-Za-z0-9_.]*$"), describe_values('"module:function" or "file.py:function"')
]
ProfileName = Annotated[
    str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$"), describe_values("letters, digits and - _ . only")
]
KeyFormat = Annotated[
    str,
    describe_values('"uuid", "any" or { pattern = "..." }'),
    _file_schema(
        type=["string", "object"],
        pattern="^(uuid|any)$",
        additionalProperties=False,
        required=["pattern"],
        properties={
            "pattern": {
                "description": "A regular expression that matches the whole key.",
                "type": "string",
                "minLength": 1,
                "x-expected": "not empty",
            }
        },
    ),
]
Tier = Annotated[str, _one_of("stable", "candidate", "all")]
Carrier = Annotated[str, _one_of("header", "query", "body")]
MissingKey = Annotated[str, _one_of("refused", "accepted")]
OtherFormat = Annotated[str, _one_of("refused", "accepted")]
ApiKeyCase = Annotated[str, _one_of("sensitive", "any")]
KeyCase = Annotated[str, _one_of("sensitive", "insensitive")]
InFlight = Annotated[str, _one_of("waits", "conflict")]
KeyParts = tuple[Annotated[str, _one_of("credential", "installation", "operation", "path")], ...]
KeptStatuses = tuple[Annotated[int, Meta(extra_json_schema={"enum": [200, 400, 404, 409]})], ...]
PageSizeTreatment = Annotated[str, _one_of("refused", "clamped")]
PastTheEnd = Annotated[str, _one_of("empty", "refused", "not_found")]
EmptyText = Annotated[str, _one_of("refused", "everything", "nothing")]
UnknownFilter = Annotated[str, _one_of("refused", "not_found", "empty", "ignored")]
UnknownValue = Annotated[str, _one_of("refused", "ignored")]
Order = Annotated[str, _one_of("ascending", "descending")]
SortedValues = Annotated[str, _one_of("numbers", "times")]
ProofReuse = Annotated[str, _one_of("refused", "retry", "accepted")]
EXCHANGE_DEFECTS = ("verifier", "redirect_uri", "client", "proof")
"""What may be wrong with a token exchange that fails."""
FailureBurns = Annotated[
    bool | tuple[str, ...],
    describe_values("true, false, or a list of " + ", ".join(EXCHANGE_DEFECTS)),
    _file_schema(type=["boolean", "array"], minItems=1, items={"enum": list(EXCHANGE_DEFECTS)}),
]
NonceUse = Annotated[str, _one_of("required", "never")]
ExchangeStatus = Annotated[int, _one_of_statuses(400, 401)]
ForeignStatus = Annotated[int, _one_of_statuses(403, 404)]
TicketStatus = Annotated[int, _one_of_statuses(400, 401, 403, 404)]
CountedBy = Annotated[str, _one_of("key", "installation", "operation", "address")]
SchemeUse = Annotated[str, _one_of("required", "optional")]
SchemeCase = Annotated[str, _one_of("exact", "any")]
UnknownMembers = Annotated[str, _one_of("refused", "ignored", "kept")]
MediaRange = Annotated[
    str,
    Meta(pattern=r"^[!-)+-.0-~]+/([!-)+-.0-~]+|\*\+[!-)+-.0-~]+)$"),
    describe_values('a media type, or one suffix, as in "application/*+json"'),
]
FurtherMembers = Annotated[str, _one_of("allowed", "never")]
HeaderName = Annotated[
    str, Meta(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"), describe_values("a header name (RFC 9110, section 5.1)")
]
Acceptance = Annotated[str, _one_of("accepted", "refused")]
RefusalStatus = Annotated[int, Meta(ge=400, le=409), describe_values("400, 401, 403, 404 or 409")]
BadCredential = Annotated[str, _one_of("ignored", "checked")]
Status = Annotated[str, _one_of("active", "revoked", "expired")]
Depth = Annotated[str, _one_of(*DEPTHS)]
Scopes = frozenset[Annotated[str, _one_of("webhooks:write", "webhooks:read", "catalog:read", "checkout:quote")]]
Algorithm = Annotated[
    str,
    _one_of(
        "ES256", "ES384", "ES512", "ES256K", "EdDSA", "Ed25519", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512"
    )
]  # fmt: skip
Algorithms = Annotated[tuple[Algorithm, ...], Meta(min_length=1), describe_values("at least one algorithm")]


@dataclass(frozen=True, slots=True)
class Declaration:
    """One fact: the attribute of a frozen value, and the path of its key in the table of that value."""

    attribute: str
    path: tuple[str, ...]
    table: str
    required: bool


@cache
def declarations(kind: type) -> tuple[Declaration, ...]:
    """The facts that a dataclass declares, in its order. An attribute without `fact` is not one."""
    return tuple(_declarations(kind))


def _declarations(kind: type) -> Iterator[Declaration]:
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        meta = next((part for part in get_args(hints[field.name])[:0:-1] if isinstance(part, Meta)), None)
        if meta is not None and (extra := meta.extra):
            path = tuple((extra["key"] or field.name).split("."))
            has_default = field.default is not MISSING or field.default_factory is not MISSING
            yield Declaration(field.name, path, extra["table"], extra["required"] or not has_default)


def attributes_of(kind: type, table: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a table, by the attributes of the frozen value that is built from it."""
    pairs = ((fact.attribute, _look_up(table, fact.path)) for fact in declarations(kind))
    return {attribute: value for attribute, value in pairs if value is not None}


def _look_up(table: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        table = table.get(name) if table is not None else None
    return table

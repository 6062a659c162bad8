"""The shapes of a drawn target's errors, each with its JSON Schema and the places that differ from answer to answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.reference.call import Answer, Call, JsonObject, Refusal
from conformance.reference.drawn.boundary import Boundary, pointed
from conformance.reference.drawn.choices import Drawn

Schema = Mapping[str, Any]
_TEXT: Schema = {"type": "string", "minLength": 1}


def _closed(**properties: Schema) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True)
class Shape:
    """`write` gets the call, the refusal and its status; `volatile` holds pointers."""

    write: Callable[[Call, Refusal, int], JsonObject]
    schema: Schema
    volatile: tuple[str, ...]
    media_type: str = "application/json"
    renamed: bool = True
    """Whether its members follow the target's own style; a standard's do not."""


def _nested(call: Call, refusal: Refusal, _status: int) -> JsonObject:
    return {"error": {"code": refusal.kind, "message": refusal.message}, "requestId": call.request_id}


def _flat(_call: Call, refusal: Refusal, status: int) -> JsonObject:
    return {"status": status, "code": refusal.kind.upper(), "message": refusal.message, "servedAt": time.time_ns()}


def _problem(call: Call, refusal: Refusal, status: int) -> JsonObject:
    kind = f"https://errors.example/{refusal.kind.replace('_', '-')}"
    return {"type": kind, "title": refusal.message, "status": status, "instance": f"urn:{call.request_id}"}


def _listed(call: Call, refusal: Refusal, status: int) -> JsonObject:
    one = {"id": call.request_id, "status": str(status), "code": refusal.kind, "title": refusal.message}
    return {"errors": [one], "context": {"servedAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(call.now))}}


def _terse(_call: Call, refusal: Refusal, _status: int) -> JsonObject:
    return {"error": refusal.kind}


SHAPES: Mapping[str, Shape] = {
    "nested": Shape(_nested, _closed(error=_closed(code=_TEXT, message=_TEXT), requestId=_TEXT), ("/requestId",)),
    "flat": Shape(
        _flat,
        _closed(status={"type": "integer"}, code=_TEXT, message=_TEXT, servedAt={"type": "integer"}),
        ("/servedAt",),
    ),
    "problem": Shape(
        _problem,
        _closed(type=_TEXT, title=_TEXT, status={"type": "integer"}, instance=_TEXT),
        ("/instance",),
        "application/problem+json",
        renamed=False,
    ),
    "listed": Shape(
        _listed,
        _closed(
            errors={"type": "array", "items": _closed(id=_TEXT, status=_TEXT, code=_TEXT, title=_TEXT), "minItems": 1},
            context=_closed(servedAt=_TEXT),
        ),
        ("/errors/*/id", "/context/servedAt"),
    ),
    "terse": Shape(_terse, _closed(error=_TEXT), ()),
}


def volatile_of(drawn: Drawn, names: Mapping[str, str]) -> list[str]:
    shape = SHAPES[drawn.error]
    return [pointed(names, where) if shape.renamed else where for where in shape.volatile]


def writer(drawn: Drawn, boundary: Boundary) -> Callable[[Call, Refusal], Answer]:
    """`Policy.error`."""
    shape = SHAPES[drawn.error]

    def error(call: Call, refusal: Refusal) -> Answer:
        status = call.policy.statuses[refusal.kind]
        value = shape.write(call, refusal, status)
        return Answer(boundary.renamed(value) if shape.renamed else value, status, refusal.headers)

    return error

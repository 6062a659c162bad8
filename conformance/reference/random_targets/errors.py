"""The shapes of a random target's errors, each with its JSON Schema and its volatile members."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.reference.call import Answer, Call, JsonObject, Refusal
from conformance.reference.random_targets.boundary import Boundary, translate_pointer
from conformance.reference.random_targets.choices import RandomTarget

Schema = Mapping[str, Any]
_TEXT: Schema = {"type": "string", "minLength": 1}


def _closed_object(**properties: Schema) -> dict[str, Any]:
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
    follows_style: bool = True
    """Whether its members follow the target's own style; those of a standard do not."""


def _write_nested(call: Call, refusal: Refusal, _status: int) -> JsonObject:
    return {"error": {"code": refusal.kind, "message": refusal.message}, "requestId": call.request_id}


def _write_flat(_call: Call, refusal: Refusal, status: int) -> JsonObject:
    return {"status": status, "code": refusal.kind.upper(), "message": refusal.message, "servedAt": time.time_ns()}


def _write_problem(call: Call, refusal: Refusal, status: int) -> JsonObject:
    kind = f"https://errors.example/{refusal.kind.replace('_', '-')}"
    return {"type": kind, "title": refusal.message, "status": status, "instance": f"urn:{call.request_id}"}


def _write_list(call: Call, refusal: Refusal, status: int) -> JsonObject:
    item = {"id": call.request_id, "status": str(status), "code": refusal.kind, "title": refusal.message}
    return {"errors": [item], "context": {"servedAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(call.now))}}


def _write_terse(_call: Call, refusal: Refusal, _status: int) -> JsonObject:
    return {"error": refusal.kind}


SHAPES: Mapping[str, Shape] = {
    "nested": Shape(
        _write_nested, _closed_object(error=_closed_object(code=_TEXT, message=_TEXT), requestId=_TEXT), ("/requestId",)
    ),
    "flat": Shape(
        _write_flat,
        _closed_object(status={"type": "integer"}, code=_TEXT, message=_TEXT, servedAt={"type": "integer"}),
        ("/servedAt",),
    ),
    "problem": Shape(
        _write_problem,
        _closed_object(type=_TEXT, title=_TEXT, status={"type": "integer"}, instance=_TEXT),
        ("/instance",),
        "application/problem+json",
        follows_style=False,
    ),
    "listed": Shape(
        _write_list,
        _closed_object(
            errors={
                "type": "array",
                "items": _closed_object(id=_TEXT, status=_TEXT, code=_TEXT, title=_TEXT),
                "minItems": 1,
            },
            context=_closed_object(servedAt=_TEXT),
        ),
        ("/errors/*/id", "/context/servedAt"),
    ),
    "terse": Shape(_write_terse, _closed_object(error=_TEXT), ()),
}


def volatile_of(target: RandomTarget, names: Mapping[str, str]) -> list[str]:
    shape = SHAPES[target.error]
    return [translate_pointer(names, pointer) if shape.follows_style else pointer for pointer in shape.volatile]


def writer(target: RandomTarget, boundary: Boundary) -> Callable[[Call, Refusal], Answer]:
    """`Policy.error`."""
    shape = SHAPES[target.error]

    def error(call: Call, refusal: Refusal) -> Answer:
        status = call.policy.statuses[refusal.kind]
        value = shape.write(call, refusal, status)
        return Answer(boundary.rename(value) if shape.follows_style else value, status, refusal.headers)

    return error

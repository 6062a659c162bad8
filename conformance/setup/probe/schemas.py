"""The schemas of a draft: those of the OpenAPI document, or schemas inferred from answers."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from conformance.client.response import Answer
from conformance.contract import Contract
from conformance.core.errors import ProfileError
from conformance.judge.validators import Validators
from conformance.profile.model import Schemas
from conformance.profile.schemas import load_schemas
from conformance.setup.probe.context import Bench
from conformance.setup.probe.infer_schema import envelope, error_schema, response_schema
from conformance.setup.probe.openapi import ERROR, Described

_MOST_BYTES = 512 * 1024
_MOST_ANSWERS = 60


def loaded(described: Described, contract: Contract, folder: Path) -> Schemas:
    """The schemas of the OpenAPI document, as the profile loads them."""
    if not described.document:
        return Schemas()
    path = folder / "described.json"
    path.write_text(json.dumps(described.document), encoding="utf-8")
    return Schemas(load_schemas(path, described.names, contract.schema_names))


def drafted(bench: Bench) -> dict[str, Any]:
    """The schema document to write beside the profile; states [schemas] in the draft, without the file name."""
    document = copy.deepcopy(dict(bench.described.document)) or {"components": {"schemas": {}}}
    names, schemas = dict(bench.described.names), _holder(document)
    error = _error_name(bench)
    if error is not None:
        names[ERROR] = error
    told = sorted(bench.described.why.keys() - ({ERROR} if error == "" else set()))
    if error == "":
        names.pop(ERROR, None)
        schemas.pop(ERROR, None)
    inferred = dict(_inferred(bench, told))
    schemas.update(inferred)
    if names.get(ERROR) and ERROR not in told:
        names.pop(ERROR)
    _say(bench, told, inferred, names)
    return document


def _holder(document: dict[str, Any]) -> dict[str, Any]:
    components = document.get("components")
    for holder in (components.get("schemas") if isinstance(components, dict) else None, document.get("schemas")):
        if isinstance(holder, dict):
            return holder
    defs = document.get("$defs")
    return defs if isinstance(defs, dict) else document


def _error_name(bench: Bench) -> str | None:
    """None: keep the schema of the document. A name: this schema fits the errors instead. Empty: no schema fits."""
    bodies = _values(answer for answer in bench.answers if _is_error(answer))
    if ERROR not in bench.described.why or not bodies:
        return None
    if problem := _problem(bench.schemas, ERROR, bodies):
        for called in bench.described.others:
            if re.search("error|problem", called, re.IGNORECASE) and _fits(bench, called, bodies):
                note = f"the errors do not match {ERROR} of the document ({bench.clean(problem)}); {called} matches"
                bench.draft.note("schemas", f"{note} all {len(bodies)}")
                return called
        bench.draft.note("schemas", f"the errors do not match {ERROR} of the document ({bench.clean(problem)})")
        bench.draft.todo("schemas", "", f"{ERROR}: correct the document or the target; inferred until then")
        return ""
    return None


def _fits(bench: Bench, called: str, bodies: list[Any]) -> bool:
    path = bench.directory_of_schemas / "described.json"
    try:
        other = Schemas(load_schemas(path, {ERROR: called}, [ERROR]))
    except ProfileError:
        return False
    return not _problem(other, ERROR, bodies)


def _problem(schemas: Schemas, name: str, bodies: Iterable[Any]) -> str:
    validators = Validators(schemas)
    return next((problem for body in bodies if (problem := validators.problem(name, body))), "")


def _is_error(answer: Answer) -> bool:
    return answer.status is not None and 400 <= answer.status < 500


def _values(answers: Iterable[Answer]) -> list[Any]:
    """Up to `_MOST_ANSWERS` JSON objects; long and truncated bodies are ignored."""
    usable = (answer for answer in answers if len(answer.body) <= _MOST_BYTES and not answer.truncated)
    return [answer.value for answer in usable if isinstance(answer.value, dict)][:_MOST_ANSWERS]


def _inferred(bench: Bench, told: Iterable[str]) -> Iterable[tuple[str, Any]]:
    """(name, schema) for names that the document lacks; only the envelope unless all operations have a control."""
    by_name: dict[str, list[Any]] = {}
    for operation in bench.contract.all:
        by_name.setdefault(operation.response_schema, []).append(operation)
    known = set(told)
    for name, operations in by_name.items():
        if name in known:
            continue
        ids, shape = {operation.id for operation in operations}, operations[0].data_shape
        bodies = _values(a for a in bench.answers if a.ok and a.request.operation.id in ids)
        if bodies and ids <= bench.controls.keys():
            yield name, {"description": f"Inferred from {len(bodies)} answers", **response_schema(bodies, shape)}
        elif bodies:
            yield name, {"description": "The envelope: not all operations were answered 200", **envelope(shape)}
    errors = _values(answer for answer in bench.answers if _is_error(answer))
    if ERROR not in known and errors:
        yield ERROR, {"description": f"Inferred from {len(errors)} errors", **error_schema(errors)}


def _say(bench: Bench, told: list[str], inferred: dict[str, Any], names: dict[str, str]) -> None:
    for name, why in bench.described.left_out.items():
        bench.draft.todo("schemas", "", f"{name} cannot be used: {bench.clean(why)}")
    for name in told:
        bodies = _values(a for a in bench.answers if a.ok and a.request.operation.response_schema == name)
        if problem := _problem(bench.schemas, name, bodies):
            bench.draft.note("schemas", f"{name}: an answer does not match it: {bench.clean(problem)}")
    if names:
        why = "; ".join(dict.fromkeys(bench.described.why.get(name, "see above") for name in names))
        bench.draft.state(("schemas", "names"), names, why)
    if inferred:
        bench.draft.note(
            "schemas", f"inferred: {', '.join(inferred)}. They contain only constraints that are certain: add more"
        )
    lacking = [name for name in bench.contract.schema_names if name not in told and name not in inferred]
    if lacking:
        bench.draft.todo("schemas", "", f"no schema for {', '.join(lacking)}")
    bench.tell(f"  schemas: {len(told)} from the document, {len(inferred)} inferred, {len(lacking)} missing")

"""The schemas of a draft: those of the OpenAPI document, or schemas inferred from answers."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from typing import Any

from conformance.client.response import Answer
from conformance.contract import Contract
from conformance.core.errors import ProfileError
from conformance.judge.validators import Validators
from conformance.profile.model import Schemas
from conformance.profile.schemas import SchemaDocument
from conformance.setup.probe.context import Probe
from conformance.setup.probe.infer_schema import envelope, error_schema, response_schema
from conformance.setup.probe.openapi import ERROR, OpenApiFacts

_MAX_BYTES = 512 * 1024
_MAX_ANSWERS = 60


def load_openapi_schemas(openapi: OpenApiFacts, contract: Contract) -> Schemas:
    """The schemas of the OpenAPI document, as the profile loads them."""
    return _load(openapi, openapi.schema_names, contract.schema_names)


def _load(openapi: OpenApiFacts, names: Mapping[str, str], interface_names: Iterable[str]) -> Schemas:
    if not openapi.document:
        return Schemas()
    return Schemas(SchemaDocument(dict(openapi.document), openapi.source).load(names, interface_names))


def draft_schemas(probe: Probe) -> dict[str, Any]:
    """The schema document to write beside the profile; states [schemas] in the draft, without the file name."""
    document = copy.deepcopy(dict(probe.openapi.document)) or {"components": {"schemas": {}}}
    names, schemas = dict(probe.openapi.schema_names), _schema_container(document)
    error_name = _matching_error_schema(probe)
    if error_name is not None:
        names[ERROR] = error_name
    documented = sorted(probe.openapi.evidence.keys() - ({ERROR} if error_name == "" else set()))
    if error_name == "":
        names.pop(ERROR, None)
        schemas.pop(ERROR, None)
    inferred = dict(_infer_schemas(probe, documented))
    schemas.update(inferred)
    if names.get(ERROR) and ERROR not in documented:
        names.pop(ERROR)
    _add_notes(probe, documented, inferred, names)
    return document


def _schema_container(document: dict[str, Any]) -> dict[str, Any]:
    components = document.get("components")
    for container in (components.get("schemas") if isinstance(components, dict) else None, document.get("schemas")):
        if isinstance(container, dict):
            return container
    defs = document.get("$defs")
    return defs if isinstance(defs, dict) else document


def _matching_error_schema(probe: Probe) -> str | None:
    """None: keep the schema of the document. A name: this schema fits the errors instead. Empty: no schema fits."""
    bodies = _json_objects(answer for answer in probe.answers if _is_error(answer))
    if ERROR not in probe.openapi.evidence or not bodies:
        return None
    if problem := _find_problem(probe.schemas, ERROR, bodies):
        for schema_name in probe.openapi.all_schema_names:
            if re.search("error|problem", schema_name, re.IGNORECASE) and _is_error_schema(probe, schema_name, bodies):
                note = (
                    f"the errors do not match {ERROR} of the document ({probe.clean(problem)}); {schema_name} matches"
                )
                probe.draft.note("schemas", f"{note} all {len(bodies)}")
                return schema_name
        probe.draft.note("schemas", f"the errors do not match {ERROR} of the document ({probe.clean(problem)})")
        probe.draft.todo("schemas", "", f"{ERROR}: correct the document or the target; inferred until then")
        return ""
    return None


def _is_error_schema(probe: Probe, schema_name: str, bodies: list[Any]) -> bool:
    try:
        other = _load(probe.openapi, {ERROR: schema_name}, [ERROR])
    except ProfileError:
        return False
    return not _find_problem(other, ERROR, bodies)


def _find_problem(schemas: Schemas, name: str, bodies: Iterable[Any]) -> str:
    validators = Validators(schemas)
    return next((problem for body in bodies if (problem := validators.problem(name, body))), "")


def _is_error(answer: Answer) -> bool:
    return answer.status is not None and 400 <= answer.status < 500


def _json_objects(answers: Iterable[Answer]) -> list[Any]:
    """Up to `_MAX_ANSWERS` JSON objects; long and truncated bodies are ignored."""
    usable = (answer for answer in answers if len(answer.body) <= _MAX_BYTES and not answer.truncated)
    return [answer.value for answer in usable if isinstance(answer.value, dict)][:_MAX_ANSWERS]


def _infer_schemas(probe: Probe, documented: Iterable[str]) -> Iterable[tuple[str, Any]]:
    """(name, schema) for names that the document lacks; only the envelope unless all operations have a control."""
    by_name: dict[str, list[Any]] = {}
    for operation in probe.contract.all:
        by_name.setdefault(operation.response_schema, []).append(operation)
    known = set(documented)
    for name, operations in by_name.items():
        if name in known:
            continue
        ids, shape = {operation.id for operation in operations}, operations[0].data_shape
        bodies = _json_objects(a for a in probe.answers if a.ok and a.request.operation.id in ids)
        if bodies and ids <= probe.controls.keys():
            yield name, {"description": f"Inferred from {len(bodies)} answers", **response_schema(bodies, shape)}
        elif bodies:
            yield name, {"description": "The envelope: not all operations were answered 200", **envelope(shape)}
    errors = _json_objects(answer for answer in probe.answers if _is_error(answer))
    if ERROR not in known and errors:
        yield ERROR, {"description": f"Inferred from {len(errors)} errors", **error_schema(errors)}


def _add_notes(probe: Probe, documented: list[str], inferred: dict[str, Any], names: dict[str, str]) -> None:
    for problem in probe.openapi.unread:
        probe.draft.note("schemas", f"not read: {probe.clean(problem)}")
        probe.echo(f"  not read: {probe.clean(problem)}")
    for name, reason in probe.openapi.unusable.items():
        probe.draft.todo("schemas", "", f"{name} cannot be used: {probe.clean(reason)}")
    for name in documented:
        bodies = _json_objects(a for a in probe.answers if a.ok and a.request.operation.response_schema == name)
        if problem := _find_problem(probe.schemas, name, bodies):
            probe.draft.note("schemas", f"{name}: an answer does not match it: {probe.clean(problem)}")
    if names:
        reason = "; ".join(dict.fromkeys(probe.openapi.evidence.get(name, "see above") for name in names))
        probe.draft.state(("schemas", "names"), names, reason)
    if inferred:
        probe.draft.note(
            "schemas", f"inferred: {', '.join(inferred)}. They contain only constraints that are certain: add more"
        )
    missing = [name for name in probe.contract.schema_names if name not in documented and name not in inferred]
    if missing:
        probe.draft.todo("schemas", "", f"no schema for {', '.join(missing)}")
    probe.echo(f"  schemas: {len(documented)} from the document, {len(inferred)} inferred, {len(missing)} missing")

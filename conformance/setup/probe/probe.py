"""Drafts a profile from a live target: runs all parts of the probe, adds TODOs, and writes the files."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
import tomllib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from conformance.client.reachability import reach
from conformance.client.redaction.learn import secrets_of
from conformance.contract import Contract, load_contract
from conformance.core.errors import ConformanceError, UsageError
from conformance.engine.options import run_name, suite_version
from conformance.profile.loader import profile_from_document
from conformance.profile.model import Schemas
from conformance.setup.probe import access as probe_access
from conformance.setup.probe import answers as probe_answers
from conformance.setup.probe import idempotency as probe_idempotency
from conformance.setup.probe import openapi as probe_openapi
from conformance.setup.probe import operations as probe_operations
from conformance.setup.probe import schemas as probe_schemas
from conformance.setup.probe import search as probe_search
from conformance.setup.probe.context import Bench, bench, standing_in
from conformance.setup.probe.draft import Draft
from conformance.setup.probe.options import ProbeOptions, fetched, fragment

Tell = Callable[[str], None]
Part = tuple[str, Callable[[Bench], Awaitable[None]]]

_LEFT_TO_A_PERSON: Final = (
    ("fixtures", "[fixtures.KIND.STATE]", "sources of carts, orders, sessions and merchants", ("fixtures",)),
    ("transitions", "operation, fixture, leads_to", "operations that each state allows", ("transitions",)),
    ("hosted", "tickets_single_use = true", "whether a second consume is refused", ("hosted",)),
    ("effects", "[effects.OPERATION]", "how to observe the effect of an operation", ("effects",)),
    ("rate_limit", "provoke = true", "whether a burst may be sent", ("rate_limit",)),
    ("oauth", 'client_id = "..."', "the client, its redirect_uri, [fixtures.oauth.code]", ("oauth",)),
    ("revocation", "propagation_s = 0", "how long a revoked key may stay valid", ("revocation",)),
)


@dataclass(frozen=True)
class Drafted:
    """The result of a probe."""

    profile: Path
    schemas: Path | None
    text: str
    schema_document: Mapping[str, Any]
    open_ends: int
    proven: int
    """Number of operations that were answered 200."""
    operations: int
    requests: int
    seconds: float


def probe(asked: ProbeOptions, tell: Tell) -> Drafted:
    """Sends a limited number of requests, and writes the draft and its schemas.

    Raises UsageError or ProfileError on invalid options or files, Unreachable if the target does not answer.
    """
    asked.check()
    contract, started = load_contract(), time.monotonic()
    directory = asked.output.parent
    draft = _begun(asked)
    keys = {source.name: fetched(source, directory) for source in asked.keys}
    described = probe_openapi.described(asked.openapi, standing_in(draft, directory, Schemas()), contract)
    with tempfile.TemporaryDirectory(prefix="conformance-probe-") as place:
        schemas = probe_schemas.loaded(described, contract, Path(place))
        profile = standing_in(draft, directory, schemas)
        tell(f"probing {profile.base_url}, with at most {asked.max_requests} requests")
        reach(profile)
        opened = bench(
            draft,
            contract=contract,
            described=described,
            schemas=schemas,
            keys=keys,
            directory=directory,
            directory_of_schemas=Path(place),
            run=run_name(),
            max_requests=asked.max_requests + asked.provoke_429,
            tell=tell,
        )
        made, document, requests = asyncio.run(_probed(opened, asked))
        text = _checked(made, document, asked, contract, Path(place), requests)
    _write(asked, text, document)
    return Drafted(
        profile=asked.output,
        schemas=asked.schema_file if _has_schemas(document) else None,
        text=text,
        schema_document=document,
        open_ends=made.draft.open_ends,
        proven=len(made.controls),
        operations=len(contract.all),
        requests=requests,
        seconds=time.monotonic() - started,
    )


def _begun(asked: ProbeOptions) -> Draft:
    """The draft before the first request: options and facts of the user."""
    given = {name: value for name, value in fragment(asked.fixtures).items() if name not in ("name", "base_url")}
    if asked.variables:
        given["variables"] = {**given.get("variables", {}), **asked.variables}
    first = {"name": "", "base_url": ""}
    draft = Draft(first, given, asked.fixtures.name if asked.fixtures else "--var")
    draft.state(("name",), asked.profile_name, "used in reports and folder names")
    draft.state(("base_url",), asked.base_url.rstrip("/"), "from --base-url; the option overrides it in a run")
    for source in asked.keys:
        draft.state(("credentials", source.name, "secret"), dict(source.secret), "from --key")
        draft.state(("credentials", source.name, "scopes"), [], "TODO not probed")
    return draft


async def _probed(opened: Any, asked: ProbeOptions) -> tuple[Bench, dict[str, Any], int]:
    async with opened as made:
        try:
            async with asyncio.timeout(asked.deadline_s):
                for title, work in _parts(asked):
                    if not await made.step(title, work):
                        break
        except TimeoutError:
            made.draft.note("limits", f"the probe ended early, at its deadline of {asked.deadline_s:g} s")
            made.tell(f"  ended early, at the deadline of {asked.deadline_s:g} s")
        if not made.draft.knows("authorization", "format"):
            probe_access.undecided(made, "the probe ended early")
        probe_operations.oauth(made)
        probe_answers.surroundings(made)
        document = probe_schemas.drafted(made)
        return made, made.secrets.redact_json(document), made.flow.requests


def _parts(asked: ProbeOptions) -> list[Part]:
    return [
        ("format of the Authorization header", probe_access.authorization),
        ("identity of each key", _identities),
        ("location of the idempotency key", probe_idempotency.carrier),
        ("search query", probe_search.query),
        ("all operations", probe_operations.controls),
        ("webhook endpoints", probe_operations.webhooks),
        ("scopes of each key", probe_access.scopes_by_asking),
        ("page size limits", probe_search.sizes),
        ("search filters", probe_search.filters),
        ("missing idempotency keys", probe_idempotency.missing_keys),
        ("replays", probe_answers.replays),
        ("order of precedence of errors", probe_answers.precedence),
        ("volatile members of errors", probe_answers.errors),
        ("rate limit", lambda b: probe_answers.limits(b, asked.provoke_429)),
    ]


async def _identities(made: Bench) -> None:
    if made.keys:
        await probe_access.identities(made)


def _checked(
    made: Bench, document: dict[str, Any], asked: ProbeOptions, contract: Contract, place: Path, requests: int
) -> str:
    """The text of the draft. Raises ConformanceError if it is not a valid profile, which is an error of the suite."""
    draft = made.draft
    if _has_schemas(document):
        draft.state(("schemas", "file"), asked.schema_file.name, "written by the probe beside this file")
    else:
        draft.facts.pop("schemas", None)
    _leave_to_a_person(draft, contract)
    draft.clean(made.secrets, secrets_of(made.profile, contract, made.keys))
    text = draft.text(map(made.secrets.clean, _head(asked, requests)))
    read = tomllib.loads(text)
    if _has_schemas(document):
        (place / "drafted.json").write_text(json.dumps(document), encoding="utf-8")
        read = {**read, "schemas": {**read["schemas"], "file": str((place / "drafted.json").resolve())}}
    try:
        profile_from_document(read, directory=asked.output.parent)
    except ConformanceError as error:
        raise ConformanceError(f"the draft is not a valid profile: {error}", where=str(asked.output)) from error
    return text


def _head(asked: ProbeOptions, requests: int) -> list[str]:
    today = datetime.now(UTC).date().isoformat()
    return [
        f"Drafted by `conformance probe` {suite_version()} on {today}, with {requests} requests to {asked.base_url}.",
        "",
        "Each line has its evidence as a comment, each TODO is a fact that you must provide. Review the draft: stated",
        "facts are binding, so remove observed behavior that is not intended. profiles/template.toml shows all keys,",
        "and `conformance explain ID` the facts that a requirement needs.",
    ]


def _leave_to_a_person(draft: Draft, contract: Contract) -> None:
    for table, line, what, facts in _LEFT_TO_A_PERSON:
        if not draft.facts.get(table):
            draft.todo(table, line, f"{what}; it enables {_enabled(contract, facts)}")
    credentials = draft.facts.get("credentials") or {}
    if not any(told.get("status", "active") != "active" for told in credentials.values()):
        draft.todo("credentials", "--key revoked=env:...", "a revoked or expired key; it enables AUTH-4")
    if not any(len(told["scopes"]) == 1 for told in credentials.values()):
        draft.todo("credentials", "--key NAME=env:...", "one key for each single scope; they enable SCO-1 and more")
    if len({told.get("installation", "") for told in credentials.values()}) < 2:
        draft.todo("credentials", "--key other=env:...", "a key of another installation; it enables TEN-1")


def _enabled(contract: Contract, facts: tuple[str, ...]) -> str:
    found = [r.id for r in contract.requirements.values() if any(f.split(".")[0] in facts for f in r.facts)]
    shown = ", ".join(found[:6])
    return f"{shown} and {len(found) - 6} more requirements" if len(found) > 6 else shown


def _has_schemas(document: Mapping[str, Any]) -> bool:
    return document != {"components": {"schemas": {}}}


def _write(asked: ProbeOptions, text: str, document: Mapping[str, Any]) -> None:
    """Writes both files: the schemas first, because the profile refers to them. Raises UsageError."""
    try:
        if _has_schemas(document):
            _replace(asked.schema_file, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        _replace(asked.output, text)
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(asked.output)) from None


def _replace(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, encoding="utf-8", errors="replace")
    beside.replace(path)

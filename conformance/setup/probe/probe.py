"""Drafts a profile from a live target: runs all parts of the probe, adds TODOs, and writes the files."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
import tomllib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from conformance.client.reachability import reach
from conformance.client.redaction.learn import secrets_of
from conformance.client.redaction.secrets import Secrets
from conformance.contract import Contract, load_contract
from conformance.core.errors import ConformanceError, UsageError
from conformance.core.paths import absolute_path
from conformance.engine.options import run_name, suite_version
from conformance.profile.loader import profile_from_document
from conformance.profile.model import Schemas
from conformance.setup.probe import access as probe_access
from conformance.setup.probe import answer_rules as probe_answer_rules
from conformance.setup.probe import answers as probe_answers
from conformance.setup.probe import bodies as probe_bodies
from conformance.setup.probe import cursors as probe_cursors
from conformance.setup.probe import exchange as probe_exchange
from conformance.setup.probe import idempotency as probe_idempotency
from conformance.setup.probe import installations as probe_installations
from conformance.setup.probe import isolation as probe_isolation
from conformance.setup.probe import key_rules as probe_key_rules
from conformance.setup.probe import openapi as probe_openapi
from conformance.setup.probe import operations as probe_operations
from conformance.setup.probe import rate_limit as probe_rate_limit
from conformance.setup.probe import schemas as probe_schemas
from conformance.setup.probe import schemes as probe_schemes
from conformance.setup.probe import search as probe_search
from conformance.setup.probe import search_values as probe_search_values
from conformance.setup.probe import sorts as probe_sorts
from conformance.setup.probe.comments import Comments, read_comments
from conformance.setup.probe.context import Probe, open_probe, provisional_profile
from conformance.setup.probe.draft import Draft, Key, has_key, merge_facts
from conformance.setup.probe.options import ProbeOptions, read_fragment, read_secret

Echo = Callable[[str], None]
Part = tuple[str, Callable[[Probe], Awaitable[None]]]

_USER_TODOS: Final = (
    ("fixtures", "[fixtures.KIND.STATE]", "sources of carts, orders, sessions and merchants", ("fixtures",)),
    ("transitions", "[[transitions]]", "operation, fixture and leads_to: what each state allows", ("transitions",)),
    ("hosted", "tickets_single_use = true", "whether a second consume is refused", ("hosted",)),
    ("effects", "[effects.OPERATION]", "how to observe the effect of an operation", ("effects",)),
    ("rate_limit", "provoke = true", "whether a burst may be sent", ("rate_limit",)),
    ("oauth", 'client_id = "..."', "the client, its redirect_uri, [fixtures.oauth.code]", ("oauth",)),
    ("revocation", "propagation_s = 0", "how long a revoked key may stay valid", ("revocation",)),
)


@dataclass(frozen=True)
class DraftResult:
    """The result of a probe."""

    profile: Path
    schemas: Path | None
    text: str
    schema_document: Mapping[str, Any]
    todo_count: int
    proven_operations: int
    """Number of operations that were answered 200."""
    operations: int
    requests: int
    seconds: float


def draft_profile(options: ProbeOptions, echo: Echo) -> DraftResult:
    """Sends a limited number of requests, and writes the draft and its schemas.

    Raises UsageError or ProfileError on invalid options or files, Unreachable if the target does not answer.
    """
    options.validate()
    options = replace(options, output=absolute_path(options.output))
    contract, started = load_contract(), time.monotonic()
    directory = options.output.parent
    draft = _initial_draft(options)
    keys = {source.name: read_secret(source, directory) for source in options.keys}
    openapi = probe_openapi.read_openapi(options.openapi, provisional_profile(draft, directory, Schemas()), contract)
    with tempfile.TemporaryDirectory(prefix="conformance-probe-") as folder:
        schemas = probe_schemas.load_openapi_schemas(openapi, contract)
        profile = provisional_profile(draft, directory, schemas)
        echo(f"probing {profile.base_url}, with at most {options.max_requests} requests")
        reach(profile)
        session = open_probe(
            draft,
            contract=contract,
            openapi=openapi,
            schemas=schemas,
            keys=keys,
            directory=directory,
            run_name=run_name(),
            max_requests=options.max_requests + options.provoke_429,
            echo=echo,
        )
        probe, document, requests = asyncio.run(_run_parts(session, options))
        text = _render_draft(probe, document, options, contract, Path(folder), requests)
    _write_files(options, text, document)
    return DraftResult(
        profile=options.output,
        schemas=options.schema_file if _has_schemas(document) else None,
        text=text,
        schema_document=document,
        todo_count=probe.draft.todo_count,
        proven_operations=len(probe.controls),
        operations=len(contract.all),
        requests=requests,
        seconds=time.monotonic() - started,
    )


def _initial_draft(options: ProbeOptions) -> Draft:
    """The draft before the first request: options and facts of the user."""
    user_facts = {
        name: value for name, value in read_fragment(options.fixtures).items() if name not in ("name", "base_url")
    }
    sources = {key: "answered in init" for key in _leaf_keys(options.answers) if not has_key(user_facts, key)}
    user_facts = merge_facts(options.answers, user_facts)
    if options.variables:
        user_facts["variables"] = {**user_facts.get("variables", {}), **options.variables}
    draft = Draft(
        facts={"name": "", "base_url": ""},
        user_facts=user_facts,
        source=options.fixtures.name if options.fixtures else "",
        other_sources={**sources, **{("variables", name): "from --var" for name in options.variables}},
        comments=read_comments(options.fixtures.read_text(encoding="utf-8")) if options.fixtures else Comments(),
    )
    draft.state(("name",), options.profile_name, "used in reports and folder names")
    draft.state(("base_url",), options.base_url.rstrip("/"), "from --base-url; the option overrides it in a run")
    for source in options.keys:
        draft.state(("credentials", source.name, "secret"), dict(source.secret), "from --key")
        draft.state(("credentials", source.name, "scopes"), [], "TODO not probed")
    return draft


def _leaf_keys(value: Any, prefix: Key = ()) -> Iterator[Key]:
    for name, item in value.items():
        if isinstance(item, Mapping):
            yield from _leaf_keys(item, (*prefix, name))
        else:
            yield (*prefix, name)


async def _run_parts(
    session: AbstractAsyncContextManager[Probe], options: ProbeOptions
) -> tuple[Probe, dict[str, Any], int]:
    async with session as probe:
        try:
            async with asyncio.timeout(options.deadline_s):
                for title, part in _parts(options):
                    if not await probe.run_part(title, part):
                        break
        except TimeoutError:
            probe.draft.note("limits", f"the probe ended early, at its deadline of {options.deadline_s:g} s")
            probe.echo(f"  ended early, at the deadline of {options.deadline_s:g} s")
        if not probe.draft.has("authorization", "format"):
            probe_access.state_default_format(probe, "the probe ended early")
        probe_operations.state_oauth_members(probe)
        probe_answers.note_headers(probe)
        document = probe_schemas.draft_schemas(probe)
        return probe, probe.secrets.redact_json(document), probe.sender.requests


def _parts(options: ProbeOptions) -> list[Part]:
    return [
        ("format of the Authorization header", probe_access.probe_authorization),
        ("identity of each key", _probe_identities),
        ("location of the idempotency key", probe_idempotency.probe_key_location),
        ("search query", probe_search.probe_query),
        ("all operations", probe_operations.probe_controls),
        ("webhook endpoints", probe_operations.probe_webhooks),
        ("format of the idempotency key", probe_key_rules.probe_key_format),
        ("scopes of each key", probe_access.probe_scopes),
        ("place of the scopes", probe_access.probe_place_of_scopes),
        ("scheme of the Authorization header", probe_schemes.probe_scheme),
        ("case of an API key", probe_schemes.probe_key_case),
        ("bad header on public operations", probe_schemes.probe_public),
        ("page size limits", probe_search.probe_page_sizes),
        ("page sizes outside of the limits", probe_search_values.probe_size_treatments),
        ("search filters", probe_search.probe_filters),
        ("order of items", probe_search_values.probe_order),
        ("unusual search values", probe_search_values.probe_unusual_values),
        ("values of sort", probe_sorts.probe_sorts),
        ("search cursors", probe_cursors.probe_cursors),
        ("missing idempotency keys", probe_idempotency.probe_missing_keys),
        ("replays", probe_answers.probe_replays),
        ("volatile members of errors", probe_answers.probe_errors),
        ("rules of idempotency keys", probe_key_rules.probe_key_rules),
        ("request bodies", probe_bodies.probe_bodies),
        ("other installations", probe_isolation.probe_tenancy),
        ("names of installations", probe_installations.probe_installations),
        ("tickets", probe_isolation.probe_tickets),
        ("token exchange", probe_exchange.probe_exchange),
        ("order of precedence of errors", probe_answers.probe_precedence),
        ("all answers", probe_answer_rules.probe_answers),
        ("rate limit", lambda probe: probe_rate_limit.probe_rate_limit(probe, options.provoke_429)),
    ]


async def _probe_identities(probe: Probe) -> None:
    if probe.keys:
        await probe_access.probe_identities(probe)


def _render_draft(
    probe: Probe, document: dict[str, Any], options: ProbeOptions, contract: Contract, folder: Path, requests: int
) -> str:
    """The text of the draft. Raises ConformanceError if it is not a valid profile, which is an error of the suite."""
    draft = probe.draft
    if _has_schemas(document):
        draft.state(("schemas", "file"), options.schema_file.name, "written by the probe beside this file")
    else:
        draft.facts.pop("schemas", None)
    _add_user_todos(draft, contract)
    credentials = secrets_of(probe.profile, contract, probe.keys)
    _add_masked_headers(draft, credentials)
    draft.redact(probe.secrets, credentials)
    text = draft.to_toml(map(probe.secrets.clean, _header(options, requests)))
    parsed = tomllib.loads(text)
    if _has_schemas(document):
        (folder / "drafted.json").write_text(json.dumps(document), encoding="utf-8")
        parsed = {**parsed, "schemas": {**parsed["schemas"], "file": str((folder / "drafted.json").resolve())}}
    try:
        profile_from_document(parsed, directory=options.output.parent)
    except ConformanceError as error:
        raise ConformanceError(f"the draft is not a valid profile: {error}", where=str(options.output)) from error
    return text


def _header(options: ProbeOptions, requests: int) -> list[str]:
    today = datetime.now(UTC).date().isoformat()
    return [
        f"Drafted by `conformance probe` {suite_version()} on {today}, with {requests} requests to {options.base_url}.",
        "",
        "Each line has its evidence as a comment, each TODO is a fact that you must provide. Review the draft: stated",
        "facts are binding, so remove observed behavior that is not intended. profiles/template.toml shows all keys,",
        "and `conformance explain ID` the facts that a requirement needs.",
    ]


def _add_user_todos(draft: Draft, contract: Contract) -> None:
    for kind in draft.facts.get("fixtures") or ():
        draft.drop_todo("fixtures", f"[fixtures.{kind}.STATE]")
    for table, line, description, facts in _USER_TODOS:
        requirements = _describe_requirements(contract, facts)
        if any(name.partition(".")[0] == table for name in draft.todos):
            draft.note(table, f"[{table}] enables {requirements}")
        elif not draft.facts.get(table):
            draft.todo(table, line, f"{description}; it enables {requirements}")
    credentials = draft.facts.get("credentials") or {}
    if not any(credential.get("status", "active") != "active" for credential in credentials.values()):
        draft.todo("credentials", "--key revoked=env:...", "a revoked or expired key; it enables AUTH-4")
    if not any(len(credential.get("scopes", ())) == 1 for credential in credentials.values()):
        draft.todo("credentials", "--key NAME=env:...", "one key for each single scope; they enable SCO-1 and more")
    if len({credential.get("installation", "") for credential in credentials.values()}) < 2:
        draft.todo("credentials", "--key other=env:...", "a key of another installation; it enables TEN-1")


def _add_masked_headers(draft: Draft, credentials: Secrets) -> None:
    """A TODO for each stated header with a credential in it: the draft has a placeholder there."""
    for operation, facts in (draft.user_facts.get("operations") or {}).items():
        for name, value in (facts.get("headers") or {}).items():
            if credentials.clean(value) != value:
                reason = "write your value again, a draft contains no credential"
                draft.todo(f"operations.{operation}", f'headers = {{{name} = "..."}}', reason)


def _describe_requirements(contract: Contract, facts: tuple[str, ...]) -> str:
    ids = [r.id for r in contract.requirements.values() if any(f.split(".")[0] in facts for f in r.facts)]
    listing = ", ".join(ids[:6])
    return f"{listing} and {len(ids) - 6} more requirements" if len(ids) > 6 else listing


def _has_schemas(document: Mapping[str, Any]) -> bool:
    return document != {"components": {"schemas": {}}}


def _write_files(options: ProbeOptions, text: str, document: Mapping[str, Any]) -> None:
    """Writes both files: the schemas first, because the profile refers to them. Raises UsageError."""
    try:
        if _has_schemas(document):
            _replace_file(options.schema_file, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        _replace_file(options.output, text)
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror}", where=str(options.output)) from None


def _replace_file(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(text, encoding="utf-8", errors="replace")
    temporary.replace(path)

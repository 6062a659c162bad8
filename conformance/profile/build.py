"""From a checked document to the frozen values of `model.py`. Nothing here judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.core.model import Waiver
from conformance.profile.exclusions import Taken
from conformance.profile.model import (
    Credential,
    Effect,
    Fixture,
    Hosted,
    HttpCall,
    Idempotency,
    Identity,
    Limits,
    OAuth,
    OperationFacts,
    Profile,
    RateLimit,
    Schemas,
    Search,
    SecretSource,
    Tls,
    Transition,
    Webhooks,
)

Table = Mapping[str, Any]


def build(
    document: Table, *, directory: Path, path: Path | None, schemas: Table, digest: str, taken: Taken | None = None
) -> Profile:
    """The profile that a document states. It must have passed `structure` and `rules`, its URLs normalized.

    `taken`: the exclusions that were taken out of it.
    """
    taken = taken or Taken()
    return Profile(
        name=document["name"],
        base_url=document["base_url"],
        authorization=document["authorization"]["format"],
        digest=digest,
        path=path,
        directory=directory,
        description=document.get("description", ""),
        variables=dict(document.get("variables", {})),
        tls=_tls(document.get("tls", {}), directory),
        limits=Limits(**document.get("limits", {})),
        credentials=_each(document, "credentials", lambda name, table: _credential(name, table, directory)),
        idempotency=_idempotency(document["idempotency"]) if "idempotency" in document else None,
        errors_volatile=tuple(document.get("errors", {}).get("volatile", ())),
        fixtures=_each(document, "fixtures", lambda kind, states: _states(kind, states, directory)),
        operations=_each(
            document, "operations", lambda _, table: OperationFacts(**_tuples(table, "bodies", "volatile"))
        ),
        schemas=Schemas(dict(schemas), document.get("schemas", {}).get("meta_null", False)),
        identity=Identity(**document.get("identity", {})),
        search=Search(**document.get("search", {})),
        transitions=tuple(Transition(**_tuples(table, "after")) for table in document.get("transitions", ())),
        hosted=Hosted(**document.get("hosted", {})),
        effects=_each(document, "effects", lambda _, table: Effect(**_calls(table, "http"))),
        cleanup=_each(document, "cleanup", lambda _, table: HttpCall(**table["http"])),
        webhooks=Webhooks(**_tuples(document.get("webhooks", {}), "kept")),
        rate_limit=RateLimit(**_calls(document.get("rate_limit", {}), "prepare", "restore")),
        oauth=OAuth(**_tuples(document["oauth"], "algorithms")) if "oauth" in document else None,
        revocation_propagation_s=document.get("revocation", {}).get("propagation_s", 0.0),
        exclusions=dict(taken.exclusions),
        absent_credentials={name: _absent(name, facts) for name, facts in taken.credentials.items()},
        waivers=tuple(Waiver(**table) for table in document.get("waivers", ())),
    )


def _each(document: Table, key: str, make: Any) -> Mapping[str, Any]:
    return {name: make(name, table) for name, table in document.get(key, {}).items()}


def _tuples(table: Table, *keys: str) -> dict[str, Any]:
    return {name: tuple(value) if name in keys else value for name, value in table.items()}


def _calls(table: Table, *keys: str) -> dict[str, Any]:
    return {name: HttpCall(**value) if name in keys else value for name, value in table.items()}


def _tls(table: Table, directory: Path) -> Tls:
    ca_file = table.get("ca_file")
    return Tls(directory / ca_file if ca_file else None, table.get("verify", True))


def _credential(name: str, table: Table, directory: Path) -> Credential:
    secret = table["secret"]
    return Credential(
        name=name,
        source=SecretSource(
            env=secret.get("env", ""),
            file=directory / secret["file"] if "file" in secret else None,
            command=_command(secret.get("command", ()), directory),
            keyring=(secret["keyring"]["service"], secret["keyring"]["username"]) if "keyring" in secret else None,
        ),
        scopes=frozenset(table["scopes"]),
        installation=table.get("installation", ""),
        status=table.get("status", "active"),
    )


def _absent(name: str, facts: Table) -> Credential:
    return Credential(
        name=name,
        source=SecretSource(),
        scopes=frozenset(facts.get("scopes", ())),
        installation=facts.get("installation", ""),
        status=facts.get("status", "active"),
    )


def _command(words: Sequence[str], directory: Path) -> tuple[str, ...]:
    """A program named by a relative path is found from the profile's directory, wherever the run was started."""
    if not words or "/" not in words[0] or words[0].startswith("/"):
        return tuple(words)
    return (str((directory / words[0]).resolve()), *words[1:])


def _idempotency(table: Table) -> Idempotency:
    form = table.get("format", "")
    return Idempotency(
        carrier=table["carrier"],
        name=table.get("name", ""),
        pointer=table.get("pointer", ""),
        format=form if isinstance(form, str) else "pattern",
        pattern="" if isinstance(form, str) else form["pattern"],
        missing_key=table.get("missing_key", ""),
        retention_s=table.get("retention_s"),
        volatile=tuple(table.get("volatile", ())),
    )


def _states(kind: str, states: Table, directory: Path) -> Mapping[str, Fixture]:
    return {state: _fixture(kind, state, table, directory) for state, table in states.items()}


def _fixture(kind: str, state: str, table: Table, directory: Path) -> Fixture:
    facts = {name: value for name, value in table.items() if name not in ("from", "command")}
    return Fixture(
        kind=kind,
        state=state,
        origin=table.get("from", ""),
        command=_command(table.get("command", ()), directory),
        **_calls(_tuples(facts, "values", "via"), "http"),
    )

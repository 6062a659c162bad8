"""Builds requests from the profile: provides fixtures, fills placeholders, adds a new idempotency key."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import count
from typing import Any

from conformance.client.dpop import Proof, ProofKey, challenge_of, new_verifier
from conformance.client.fixtures import Fixtures, Members, oldest_fixture
from conformance.client.redaction.learn import guard_key
from conformance.client.redaction.secrets import Secrets
from conformance.client.request import NO_BODY, Request, RequestFixtures, new_key
from conformance.contract import Contract, Operation
from conformance.core.key_change import KeyChange
from conformance.core.strict_json import whole_number
from conformance.profile.installations import is_of_home
from conformance.profile.model import Credential, Profile
from conformance.profile.render import escape, placeholders, render
from conformance.profile.resources import Fixture, OperationFacts, default_state
from conformance.profile.sample import example


class MissingFact(Exception):
    """The profile does not state a fact that is needed.

    `key` is the dotted profile key that would enable the check; where it is `credentials`, `credential` says which
    credentials would do.
    """

    def __init__(self, key: str, reason: str, credential: Callable[[Credential], bool] | None = None) -> None:
        super().__init__(f"{reason}: state {key}")
        self.key = key
        self.credential = credential


class Arranger:
    """Builds requests that should be answered 200."""

    def __init__(
        self,
        profile: Profile,
        contract: Contract,
        keys: Mapping[str, str],
        secrets: Secrets,
        fixtures: Fixtures,
        run: str,
    ) -> None:
        self.profile = profile
        self.contract = contract
        self.fixtures = fixtures
        self.proof_key = self._proof_key()
        self._keys = keys
        self._secrets = secrets
        self._run = run
        self._counter = count(1)
        self._names: dict[str, frozenset[str]] = {}
        """The placeholders in the profile's path, query and headers of an operation."""
        self._bodies: dict[str, tuple[Any, frozenset[str]]] = {}
        """The profile's body of an operation, and its placeholders."""
        self._open_kinds = frozenset(
            kind for kind, states in profile.fixtures.items() if any(map(_sees_scope, states.values()))
        )
        if self.proof_key is not None:
            guard_key(secrets, self.proof_key)

    def _proof_key(self) -> ProofKey | None:
        if self.profile.oauth is None:
            return None
        return ProofKey.new(next(iter(self.profile.oauth.algorithms), "ES256"))

    # Credentials

    def credentials(self, *, scope: str = "") -> list[Credential]:
        """The active credentials of the home installation that hold a scope, the broadest first."""
        candidates = [
            c
            for c in self.profile.credentials.values()
            if c.active and is_of_home(self.profile, c) and (not scope or scope in c.scopes)
        ]
        spare = self.profile.rate_limit.credential
        return sorted(candidates, key=lambda c: (c.name == spare, -len(c.scopes)))

    def credential_for(self, operation: Operation) -> Credential:
        """The credential of an operation's control. Raises MissingFact."""
        if candidates := self.credentials(scope=operation.scope):
            return candidates[0]
        requirement = f"an active key with the scope {operation.scope}" if operation.scope else "an active key"
        raise MissingFact("credentials", f"{operation.id} needs {requirement}", self._serves(operation))

    def _serves(self, operation: Operation) -> Callable[[Credential], bool]:
        return lambda credential: credential.active and (not operation.scope or operation.scope in credential.scopes)

    def authorization(self, credential: str) -> str:
        """The Authorization header's value for a credential of the profile."""
        return self.profile.authorization.header(self._keys[credential])

    def authorization_evidence(self, credential: str) -> str:
        """The same as evidence shows it, with a placeholder for the key."""
        return self.profile.authorization.header(f"«credential:{credential}»")

    def as_credential(self, request: Request, credential: str) -> Request:
        evidence = (self.authorization_evidence(credential),)
        return request.with_authorization(self.authorization(credential), credential=credential, evidence=evidence)

    def with_changed_key(self, request: Request, change: KeyChange) -> Request:
        """The request with a change of its own key, under no credential's name; evidence states the change."""
        key, header = self._keys[request.credential], self.profile.authorization.header
        evidence = header(change.placeholder(request.credential))
        return request.with_authorization(header(change.apply(key)), evidence=(evidence,))

    def key_of(self, credential: str) -> str:
        return self._keys[credential]

    @property
    def keys(self) -> Collection[str]:
        """The keys of all credentials: similar keys may differ in one character."""
        return self._keys.values()

    # Requests

    def facts(self, operation: Operation) -> OperationFacts:
        return self.profile.operations.get(operation.id, OperationFacts())

    async def arrange(
        self,
        operation: Operation,
        *,
        use: Mapping[str, str] | None = None,
        preset: Mapping[str, Members] | None = None,
        shared: bool = False,
        credential: str = "",
        body: Any = None,
        scope: Mapping[str, Any] | None = None,
    ) -> Request:
        """A request of `operation` on fixtures of its own.

        `use` selects another state of a kind, `preset` supplies fixtures, `shared` uses the fixtures shared by all
        reads. Raises MissingFact where the profile lacks a fact, FixtureError where a provider fails.
        """
        facts = self.facts(operation)
        body, in_body = self._body(operation, facts) if body is None else (body, placeholders(body))
        self._require_path(operation, facts)
        names = in_body | self._placeholder_names(operation, facts)
        known = {**self.constants(), **(scope or {})}
        self._guard_verifier(operation, names, known)
        oldest_fixture.set(time.monotonic())
        fixtures = RequestFixtures(preset or {}, use or {}, shared=shared)
        known |= await self._fixture_values(names, known, fixtures, shared)
        self._guard(operation, facts, in_body, known)
        if operation.auth == "api_key":
            credential = credential or self.credential_for(operation).name
        request = Request(
            operation=operation,
            path={name: str(value) for name, value in render(dict(facts.path), known).items()},
            query=self._query(operation, facts, known),
            headers=tuple((name, str(value)) for name, value in render(dict(facts.headers), known).items()),
            body=body if body is NO_BODY else render(body, known),
            key=new_key(self.profile.idempotency) if operation.idempotent and self.profile.idempotency else None,
            idempotency=self.profile.idempotency if operation.idempotent else None,
            proof=Proof(self.proof_key) if operation.auth == "oauth" and self.proof_key else None,
            scope=known,
            fixtures=fixtures,
            arranged_at=oldest_fixture.get(),
        )
        return self.as_credential(request, credential) if operation.auth == "api_key" else request

    async def render_body(self, request: Request, template: Any) -> Any:
        """Another body for the same fixtures; {unique} keeps its value, and missing fixtures are provided.

        Raises as `arrange` does.
        """
        names = placeholders(template)
        known = await self.extend_scope(request, names)
        self._guard(request.operation, self.facts(request.operation), names, known)
        return render(template, known)

    async def unknown_path_values(self, request: Request) -> dict[str, str]:
        """The path values that name no resource, as the profile states them."""
        declared = dict(self.facts(request.operation).unknown)
        known = await self.extend_scope(request, placeholders(declared))
        return {name: str(value) for name, value in render(declared, known).items()}

    async def extend_scope(
        self, request: Request, names: Iterable[str], *, own_fixtures: bool = False
    ) -> dict[str, Any]:
        """The scope of a request extended by further placeholders, from its own fixtures or from new ones.

        `own_fixtures`: a placeholder without a state refers to the request's own fixture of that kind, in any state.
        Raises as `arrange` does.
        """
        scope = dict(request.scope)
        names = frozenset(names) - scope.keys()
        self._guard_verifier(request.operation, names, scope)
        if own_fixtures:
            scope |= _members_of_fixtures(request.fixtures, names)
        return scope | await self._fixture_values(names, scope, request.fixtures, shared=False)

    def unique(self) -> str:
        """A unique text that is not part of another one, so that a search for it finds only that one."""
        return f"{self._run}-{next(self._counter):06}"

    def _placeholder_names(self, operation: Operation, facts: OperationFacts) -> frozenset[str]:
        if operation.id not in self._names:
            query = self._declared_query(operation, facts)
            self._names[operation.id] = placeholders([dict(facts.path), query, dict(facts.headers)])
        return self._names[operation.id]

    def constants(self) -> dict[str, Any]:
        """The placeholders that the suite itself fills, with new values for each request."""
        known: dict[str, Any] = {"unique": self.unique()}
        if self.profile.oauth is not None and self.proof_key is not None:
            verifier = new_verifier()
            known |= {
                "pkce.verifier": verifier,
                "pkce.challenge": challenge_of(verifier),
                "pkce.method": "S256",
                "oauth.code_age_s": 0,
                "oauth.client_id": self.profile.oauth.client_id,
                "oauth.redirect_uri": self.profile.oauth.redirect_uri,
                "dpop.jkt": self.proof_key.thumbprint,
            }
        return known

    def _body(self, operation: Operation, facts: OperationFacts) -> tuple[Any, frozenset[str]]:
        if operation.id not in self._bodies:
            body = self._body_template(operation, facts)
            self._bodies[operation.id] = body, placeholders(body)
        return self._bodies[operation.id]

    def _body_template(self, operation: Operation, facts: OperationFacts) -> Any:
        if not operation.has_body:
            return NO_BODY
        if facts.body is not None:
            return facts.body
        schema = self.profile.body_schema(operation.request_schema)
        sample_body = example(schema) if schema is not None else None
        if sample_body is None and operation.auth == "oauth" and "oauth" in self.profile.exclusions:
            raise MissingFact("oauth", f"{operation.id} needs a client")  # a body would not help
        if sample_body is None:
            raise MissingFact(f"operations.{operation.id}.body", f"{operation.id} needs a valid body")
        return escape(sample_body)  # braces in a schema example are not placeholders

    def _require_path(self, operation: Operation, facts: OperationFacts) -> None:
        for name in operation.path_parameters:
            if name not in facts.path:
                raise MissingFact(f"operations.{operation.id}.path", f"{operation.id} needs a value for {{{name}}}")
        takes_key = operation.idempotent and "idempotency" not in self.profile.exclusions
        if takes_key and self.profile.idempotency is None:
            raise MissingFact("idempotency", f"{operation.id} must be called with an idempotency key")
        if operation.auth == "oauth" and self.profile.oauth is None:
            raise MissingFact("oauth", f"{operation.id} needs a client")
        if operation.query_parameters and not self.profile.search.query:
            raise MissingFact("search.query", f"{operation.id} needs a query that is answered 200")

    def _declared_query(self, operation: Operation, facts: OperationFacts) -> dict[str, Any]:
        declared = self.profile.search.query if operation.query_parameters else {}
        return _of_first_page({**declared, **facts.query}, self.profile.search.page_base)

    def _query(
        self, operation: Operation, facts: OperationFacts, known: Mapping[str, Any]
    ) -> tuple[tuple[str, str], ...]:
        query = render(self._declared_query(operation, facts), known)
        return tuple((name, _text(value)) for name, value in query.items())

    async def _fixture_values(
        self, names: Iterable[str], known: Mapping[str, Any], fixtures: RequestFixtures, shared: bool
    ) -> dict[str, Any]:
        """The values of fixture placeholders; `fixtures` keeps the fixtures that were provided for them."""
        values: dict[str, Any] = {}
        for name in sorted(names):
            if name in known:
                continue
            kind, state, member = _split_placeholder(name)
            members = fixtures.preset.get(kind)
            if members is None:
                fixture = self._fixture(kind, fixtures.use.get(kind) or state or None)
                if fixture.name not in fixtures.members:
                    draw = self.fixtures.get_shared if shared else self.fixtures.get_fresh
                    fixtures.members[fixture.name] = await draw(fixture, known)
                members = fixtures.members[fixture.name]
            if member not in members:
                state = fixtures.use.get(kind) or state or default_state(self.profile.fixtures.get(kind, {})) or "STATE"
                raise MissingFact(f"fixtures.{kind}.{state} (with {member})", f"a fixture with {member!r} is needed")
            values[name] = members[member]
        return values

    def _fixture(self, kind: str, state: str | None) -> Fixture:
        fixture = self.fixtures.find(kind, state)
        if fixture is None:
            raise MissingFact(f"fixtures.{kind}.{state or 'STATE'}", "a fixture is needed")
        return fixture

    def _guard_verifier(self, operation: Operation, names: Iterable[str], known: Mapping[str, Any]) -> None:
        """Adds the PKCE verifier to the secrets if this operation, or a fixture provider, can see it."""
        shows = operation.auth == "oauth" or any(
            name.startswith("pkce.") or name.partition(".")[0] in self._open_kinds for name in names
        )
        if shows and "pkce.verifier" in known:
            self._secrets.add_ephemeral_secrets("pkce.verifier", [known["pkce.verifier"]])

    def _guard(
        self, operation: Operation, facts: OperationFacts, in_body: frozenset[str], known: Mapping[str, Any]
    ) -> None:
        """Tickets and codes in the body are secrets of the run; values that also occur in the path are public."""
        if operation.auth == "api_key" or not in_body:
            return
        open_names = placeholders(dict(facts.path)) | {"unique", "pkce.challenge", "pkce.method", "dpop.jkt"}
        for name in in_body - open_names:
            kind, _, member = _split_placeholder(name)
            if kind != "oauth" or member == "code":
                self._secrets.add_ephemeral_secrets(name, [str(known[name])])


def _sees_scope(fixture: Fixture) -> bool:
    """Whether the fixture's provider receives the whole scope, or refers to the verifier."""
    call = fixture.http
    if not (fixture.values or call):
        return True
    templates = [list(fixture.values), [call.url, call.json, dict(call.headers)] if call else []]
    return "pkce.verifier" in placeholders(templates)


def _split_placeholder(name: str) -> tuple[str, str, str]:
    """Kind, state and member of `{kind.member}` or `{kind.state.member}`; the state may be empty."""
    kind, _, suffix = name.partition(".")
    state, _, member = suffix.rpartition(".")
    return kind, state, member


def _members_of_fixtures(fixtures: RequestFixtures, names: Iterable[str]) -> dict[str, Any]:
    """The values of names without a state, from the request's first fixture of that kind."""
    values: dict[str, Any] = {}
    for name in names:
        kind, state, member = _split_placeholder(name)
        kind_members = [members for known, members in fixtures.members.items() if known.partition(".")[0] == kind]
        if not state and kind_members and member in kind_members[0]:
            values[name] = kind_members[0][member]
    return values


def _of_first_page(query: dict[str, Any], page_base: int | None) -> dict[str, Any]:
    """A query for a later page, for the first one: with another value of a parameter there may be no later one."""
    page = query.get("page")
    if page_base is None or not re.fullmatch("[0-9]{1,9}", str(page)) or int(str(page)) <= page_base:
        return query
    return {**query, "page": page_base}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(whole_number(value))

"""Profile and contract -> the facts that the laws need, which the first line of a journal carries."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from conformance.contract import Contract, Operation
from conformance.core import json_pointer as pointer
from conformance.core.law_facts import (
    AnswerRule,
    BodyRule,
    ConflictRule,
    CredentialRule,
    KeyRule,
    LawFacts,
    OperationRule,
    SearchRule,
)
from conformance.profile.behavior import Idempotency
from conformance.profile.model import Profile
from conformance.profile.render import placeholders
from conformance.profile.resources import OperationFacts

_TICKET: Final = "consumeHostedCheckoutBrowserTicket"
_UUID: Final = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
"""Of any version and variant: whether others than those of RFC 4122 are of the format is debatable."""
_RFC_UUID: Final = "[0-9a-f]{8}-[0-9a-f]{4}-[1345][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
"""Of the versions of RFC 4122, in lower case."""


def law_facts(profile: Profile, contract: Contract) -> LawFacts:
    """All facts that the profile states. `is_current` and `is_all_traffic` are the recording's, not the profile's."""
    return LawFacts(
        operations={operation.id: _operation(profile, operation) for operation in contract.all},
        credentials={
            name: CredentialRule(tuple(sorted(key.scopes)), key.installation, key.status)
            for name, key in profile.credentials.items()
        },
        idempotency=_keys(profile.idempotency) if profile.idempotency else None,
        search=_search(profile, contract),
        bodies=BodyRule(
            profile.bodies.media_types,
            profile.bodies.absent_media_type == "refused",
            profile.bodies.absent_media_type == "accepted",
            profile.bodies.max_bytes,
            profile.bodies.max_depth,
        ),
        answers=tuple(_answers(profile)),
        conflicts=tuple(_conflicts(profile)),
        verifier=profile.oauth.code_verifier if profile.oauth else "",
        foreign_status=profile.tenancy.status,
        public_ignores_keys=profile.authorization.public == "ignored",
        propagation_s=profile.revocation_propagation_s,
        retry_after=profile.rate_limit.retry_after,
        recovery_s=profile.rate_limit.longest_recovery_s,
    )


def _operation(profile: Profile, operation: Operation) -> OperationRule:
    facts = profile.operations.get(operation.id, OperationFacts())
    return OperationRule(
        method=operation.method,
        path=operation.path,
        auth=operation.auth,
        scope=operation.scope,
        idempotent=operation.idempotent,
        has_body=operation.has_body,
        is_catalog=operation.auth == "none" and not operation.idempotent,
        meaningful=_meaningful(profile, facts) if operation.idempotent else (),
        single_use=_single_use(profile, operation, facts),
    )


def _meaningful(profile: Profile, facts: OperationFacts) -> tuple[str, ...]:
    """The leaves of the profile's bodies that are not placeholders as a whole, and not the idempotency key."""
    key = profile.idempotency.place if profile.idempotency else ""
    found = [
        where
        for body in (facts.body, *facts.bodies)
        for where, leaf in pointer.leaves(body)
        if where and where != key and leaf is not None and not _is_placeholder(leaf)
    ]
    return tuple(
        dict.fromkeys("/".join("*" if name.isdecimal() else name for name in where.split("/")) for where in found)
    )


def _is_placeholder(leaf: Any) -> bool:
    return isinstance(leaf, str) and leaf.startswith("{") and leaf.endswith("}") and leaf.count("{") == 1


def _single_use(profile: Profile, operation: Operation, facts: OperationFacts) -> str:
    if operation.auth == "oauth":
        return profile.oauth.code if profile.oauth and profile.oauth.codes_single_use else ""
    if operation.id != _TICKET or not profile.hosted.tickets_single_use:
        return ""
    leaves = pointer.leaves(facts.body)
    return next((where for where, leaf in leaves if _is_placeholder(leaf) and leaf.endswith(".ticket}")), "")


def _keys(stated: Idempotency) -> KeyRule:
    return KeyRule(
        carrier=stated.carrier,
        name=stated.name,
        pointer=stated.pointer,
        volatile=stated.volatile or (),
        retention_s=stated.retention_s,
        stores_success=stated.kept is None or 200 in stated.kept,
        namespace=stated.namespace,
        in_flight=stated.in_flight,
        is_case_insensitive=stated.case == "insensitive",
        missing_is_refused=stated.missing_key == "refused",
        format=_key_format(stated),
        accepted=_accepted_keys(stated),
    )


def _key_format(stated: Idempotency) -> str:
    """What a key must match as it is written; empty unless every other one is stated as refused."""
    form = stated.pattern if stated.format == "pattern" else _UUID if stated.format == "uuid" else ""
    if not form or stated.other_format != "refused" or stated.written != "{key}":
        return ""
    return f"(?i:{form})" if stated.case != "sensitive" else form


def _accepted_keys(stated: Idempotency) -> str:
    if stated.written != "{key}" or stated.format not in ("pattern", "uuid"):
        return ""
    return stated.pattern if stated.format == "pattern" else _RFC_UUID


def _search(profile: Profile, contract: Contract) -> SearchRule:
    stated = profile.search
    parameters = contract.operations["searchPublicProducts"].query_parameters
    query = {name: str(value) for name, value in stated.query.items() if not list(placeholders(value))}
    return SearchRule(
        required=tuple(parameter.name for parameter in parameters if parameter.required),
        known=tuple(dict.fromkeys([*(parameter.name for parameter in parameters), *stated.query])),
        query=query if len(query) == len(stated.query) else {},
        page_base=stated.page_base,
        page_size_min=stated.page_size_min,
        page_size_max=stated.page_size_max,
        page_size_above=stated.page_size_above,
        page_size_below=stated.page_size_below,
        past_the_end=stated.past_the_end,
        page_max=stated.page_max,
        empty_q=stated.empty_q,
        q_max=stated.q_max,
        unknown_category=stated.unknown_category,
        unknown_merchant=stated.unknown_merchant,
        unknown_parameter=stated.unknown_parameter,
        sorts={name: (order.by, order.order) for name, order in stated.sorts.items()},
        locales=stated.locales,
        markets=stated.markets,
        unlisted=stated.unlisted,
        category=stated.category,
        item_category=stated.item_category,
        item_merchant=stated.item_merchant,
        item_id=stated.item_id,
        stable_sort=bool(stated.stable_sort),
        cursor_parameter=stated.cursor_parameter,
    )


def _answers(profile: Profile) -> Iterator[AnswerRule]:
    oauth, tenancy = profile.oauth, profile.tenancy
    if oauth and oauth.token_type and oauth.token_type_value:
        yield AnswerRule("exchangeOAuthToken", "OA-17", oauth.token_type, "text", oauth.token_type_value)
    if oauth and oauth.expires_in and oauth.token_lifetime_s is not None:
        yield AnswerRule("exchangeOAuthToken", "OA-17", oauth.expires_in, "seconds", str(oauth.token_lifetime_s))
    if profile.identity.scopes:
        yield AnswerRule("getApiKeyIdentity", "IDN-1", profile.identity.scopes, "scopes")
    if tenancy.installation_in_identity:
        yield AnswerRule("getApiKeyIdentity", "TEN-2", tenancy.installation_in_identity, "installation")
    if tenancy.installation_in_readiness:
        place = tenancy.installation_in_readiness
        yield AnswerRule("getInstallationCredentialReadiness", "TEN-2", place, "installation")


def _conflicts(profile: Profile) -> Iterator[ConflictRule]:
    """What conflicts with the state that a success of an operation leads to, where no operation leads out of it.

    Of other states the profile does not say whether each success leads there.
    """
    stated = profile.transitions
    for after in dict.fromkeys(chain.from_iterable((t.operation, *t.after) for t in stated)):
        states = {t.leads_to for t in stated if t.operation == after and t.leads_to}
        begins = {t.fixture for t in stated if t.operation == after and t.leads_to}
        if len(states) != 1 or any(t.fixture in states and t.leads_to for t in stated):
            continue
        for transition in stated:
            is_there = transition.fixture in states and not transition.after
            is_reached = transition.after == (after,) and transition.fixture in begins
            if not transition.leads_to and (is_there or is_reached):
                yield ConflictRule(transition.operation, after, transition.status)

"""All laws. Another one is a function in this folder and a row here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from conformance.core.law_facts import LawFacts, OperationRule
from conformance.core.outcomes import Level
from conformance.judge.laws import access, answers, bodies, limits, repeats, resources, reused_keys, searches
from conformance.judge.laws.judgement import Law

_Applies = Callable[[OperationRule], bool]


def _idempotent(rule: OperationRule) -> bool:
    return rule.idempotent and rule.auth != "oauth"


def _api_key(rule: OperationRule) -> bool:
    return rule.auth == "api_key"


def _has_scope(rule: OperationRule) -> bool:
    return bool(rule.scope)


def _body(rule: OperationRule) -> bool:
    return rule.has_body


def _search(rule: OperationRule) -> bool:
    return rule.path.endswith("/search")


def _needs(key: str, is_stated: Callable[[LawFacts], object]) -> Callable[[LawFacts], str]:
    return lambda facts: "" if is_stated(facts) else key


_KEYS = _needs("idempotency", lambda facts: facts.idempotency)
_CREDENTIALS = _needs("credentials", lambda facts: facts.credentials)


def _answer(requirement: str) -> Callable[[LawFacts], object]:
    return lambda facts: any(rule.requirement == requirement for rule in facts.answers)


LAWS: Final = (
    Law(
        "IDEM-1",
        repeats.same_call_same_answer,
        _idempotent,
        "send a call that was answered 200 again, byte for byte, with its idempotency key",
        needs=_KEYS,
    ),
    Law(
        "IDEM-4",
        repeats.other_payload_conflicts,
        _idempotent,
        "send another value of a member of the body with an idempotency key that was answered 200",
        needs=_KEYS,
    ),
    Law(
        "IDEM-5",
        reused_keys.a_key_elsewhere_is_another_call,
        _idempotent,
        "send an idempotency key that was answered 200 to another resource or operation",
        needs=_KEYS,
    ),
    Law(
        "IDEM-6",
        reused_keys.a_key_of_another_installation_is_another_call,
        lambda rule: rule.idempotent and bool(rule.scope),
        "send a call with a used idempotency key, and with a key of another installation",
        Level.DECLARED,
        _needs("credentials", lambda f: len({c.installation for c in f.credentials.values()} - {""}) > 1),
    ),
    Law(
        "IDEM-7",
        repeats.calls_at_once_settle,
        _idempotent,
        "send the same call with one idempotency key several times at once",
        needs=_KEYS,
    ),
    Law(
        "IDEM-9",
        reused_keys.a_known_key_gives_no_access,
        lambda rule: rule.idempotent and bool(rule.scope),
        "send a call that was answered 200 again without credential, or with a key that has not the scope",
        needs=_KEYS,
    ),
    Law(
        "IDEM-15",
        repeats.a_duplicate_in_flight_waits,
        _idempotent,
        "send the same call with one idempotency key several times at once",
        Level.DECLARED,
        _needs("idempotency.in_flight", lambda f: f.idempotency and f.idempotency.in_flight),
    ),
    Law(
        "IDEM-10",
        bodies.a_key_of_the_format_is_accepted,
        _idempotent,
        "send a call with an idempotency key",
        Level.DECLARED,
        _needs("idempotency.format", lambda f: f.idempotency and f.idempotency.accepted),
    ),
    Law(
        "IDEM-14",
        reused_keys.a_key_belongs_to_what_is_stated,
        _idempotent,
        "send a used idempotency key under another credential, operation or path",
        Level.DECLARED,
        _needs("idempotency.namespace", lambda f: f.idempotency and f.idempotency.namespace is not None),
    ),
    Law(
        "IDEM-3",
        bodies.a_missing_key_is_refused,
        lambda rule: rule.idempotent,
        "send a call without idempotency key",
        Level.RECOMMENDED,
        _needs("idempotency.missing_key", lambda f: f.idempotency and f.idempotency.missing_is_refused),
        violation_level=Level.DECLARED,
    ),
    Law(
        "IDEM-13",
        bodies.keys_are_as_stated,
        lambda rule: rule.idempotent,
        "send an idempotency key of another format, or one in capitals that was used in small letters",
        Level.DECLARED,
        _needs(
            "idempotency.other_format",
            lambda f: f.idempotency and (f.idempotency.format or f.idempotency.is_case_insensitive),
        ),
    ),
    Law("AUTH-1", access.no_credential_no_answer, _api_key, "send a call without Authorization header"),
    Law(
        "AUTH-2",
        access.a_key_counts_in_its_header_only,
        _api_key,
        "send a key in the query or in another header only",
        Level.RECOMMENDED,
        _CREDENTIALS,
    ),
    Law(
        "AUTH-4",
        access.a_revoked_key_is_refused,
        _api_key,
        "send a call with a key that the profile states as revoked",
        Level.DECLARED,
        _needs("credentials", lambda f: any(c.status != "active" for c in f.credentials.values())),
    ),
    Law(
        "AUTH-5",
        access.a_public_read_ignores_keys,
        lambda rule: rule.is_catalog,
        "send a public call with an Authorization header",
        Level.DECLARED,
        _needs("authorization.public", lambda f: f.public_ignores_keys),
    ),
    Law("PUB-1", access.a_public_read_needs_no_key, lambda rule: rule.is_catalog, "send a call without a key"),
    Law(
        "SCO-1",
        access.a_key_needs_the_scope,
        _has_scope,
        "send a call with a key without the scope",
        needs=_CREDENTIALS,
    ),
    Law("SCO-2", access.a_scope_is_sufficient, _has_scope, "send a call with a key with the scope", needs=_CREDENTIALS),
    Law(
        "SCO-3",
        access.identity_needs_no_scope,
        lambda rule: _api_key(rule) and not rule.scope,
        "send a call with a key without scopes",
        needs=_CREDENTIALS,
    ),
    Law(
        "TEN-1",
        access.installations_are_separate,
        lambda rule: _api_key(rule) and "{" in rule.path,
        "send the id of an object with keys of two installations",
        Level.DECLARED,
        _needs("credentials", lambda f: len({c.installation for c in f.credentials.values()} - {""}) > 1),
    ),
    Law(
        "TEN-2",
        answers.an_installation_is_that_of_the_key,
        lambda rule: _api_key(rule) and not rule.scope,
        "send a call with keys of one installation, and of two",
        Level.DECLARED,
        _needs("tenancy.installation_in_identity", lambda f: any(rule.kind == "installation" for rule in f.answers)),
    ),
    Law(
        "IDN-1",
        answers.identity_shows_the_scopes,
        lambda rule: rule.path.endswith("/identity"),
        "read the identity of a key",
        needs=_needs("identity.scopes", _answer("IDN-1")),
    ),
    Law("BODY-1", bodies.a_body_is_sent, _body, "send a call without its body"),
    Law("BODY-2", bodies.a_body_is_json, _body, "send a body that is not JSON"),
    Law(
        "BODY-9",
        bodies.a_body_is_as_stated,
        _body,
        "send a body of another media type, or a larger or deeper one than stated",
        Level.DECLARED,
        _needs(
            "bodies",
            lambda f: (
                f.bodies.media_types
                or f.bodies.absent_media_type_is_refused
                or f.bodies.absent_media_type_is_accepted
                or f.bodies.max_bytes
                or f.bodies.max_depth
            ),
        ),
    ),
    Law(
        "CONF-1",
        resources.a_conflicting_transition_is_refused,
        lambda rule: rule.idempotent and "{" in rule.path,
        "send what conflicts with the state that a call has led to",
        Level.DECLARED,
        _needs("transitions", lambda f: f.conflicts),
    ),
    Law(
        "OA-4",
        resources.a_code_is_exchanged_once,
        lambda rule: rule.auth == "oauth",
        "exchange a code twice, with two idempotency keys",
        Level.DECLARED,
        _needs(
            "oauth.codes_single_use", lambda f: any(r.single_use and r.auth == "oauth" for r in f.operations.values())
        ),
    ),
    Law(
        "OA-2",
        bodies.an_exchange_has_a_verifier,
        lambda rule: rule.auth == "oauth",
        "exchange a code without its verifier",
        needs=_needs("oauth.code_verifier", lambda f: f.verifier),
    ),
    Law(
        "OA-10",
        bodies.a_token_is_not_cached,
        lambda rule: rule.auth == "oauth",
        "exchange a code",
        Level.RECOMMENDED,
    ),
    Law("OA-6", bodies.an_exchange_has_a_proof, lambda rule: rule.auth == "oauth", "exchange a code without a proof"),
    Law(
        "OA-17",
        answers.a_token_is_as_stated,
        lambda rule: rule.auth == "oauth",
        "exchange a code",
        Level.DECLARED,
        _needs("oauth.token_lifetime_s", _answer("OA-17")),
    ),
    Law(
        "HO-2",
        resources.a_ticket_is_consumed_once,
        lambda rule: rule.path.endswith("/ticket"),
        "consume a ticket twice, with two idempotency keys",
        Level.DECLARED,
        _needs(
            "hosted.tickets_single_use", lambda f: any(r.single_use and r.auth == "none" for r in f.operations.values())
        ),
    ),
    Law(
        "RATE-7",
        limits.a_limit_says_when_it_ends,
        lambda _: True,
        "until a 429, then nothing for the time in its Retry-After, then the same call; observe with --all-traffic",
        Level.DECLARED,
        _needs("rate_limit.retry_after", lambda f: f.retry_after is not None),
    ),
    Law(
        "RATE-3",
        limits.a_limit_ends,
        lambda _: True,
        "after a 429 nothing for the stated recovery time, and then the same call; observe with --all-traffic",
        Level.DECLARED,
        _needs("rate_limit.recovery_s", lambda f: f.recovery_s is not None),
    ),
    Law("SRCH-1", searches.a_required_parameter_is_not_left_out, _search, "leave a required parameter out"),
    Law("SRCH-3", searches.a_page_is_an_integer, _search, "send a page or pageSize that is not an integer"),
    Law(
        "SRCH-4",
        searches.a_page_is_no_longer_than_asked,
        _search,
        "read a page of a small pageSize",
        Level.RECOMMENDED,
    ),
    Law(
        "SRCH-5",
        searches.a_filter_holds,
        _search,
        "search with a category or merchant",
        Level.DECLARED,
        _needs("search.item_category", lambda f: f.search.item_category or f.search.item_merchant),
    ),
    Law(
        "SRCH-6",
        searches.pages_differ,
        _search,
        "read two pages of one search",
        Level.DECLARED,
        _needs("search.stable_sort", lambda f: f.search.stable_sort and f.search.item_id is not None),
    ),
    Law(
        "SRCH-8",
        searches.stated_values_are_treated_as_stated,
        _search,
        "search with the values that the profile states as refused or accepted",
        Level.DECLARED,
        _needs("search.unlisted", lambda f: f.search.unlisted or f.search.page_size_above or f.search.empty_q),
    ),
    Law(
        "SRCH-9",
        searches.pages_are_in_order,
        _search,
        "search with a sort whose order is stated",
        Level.DECLARED,
        _needs("search.sorts", lambda f: any(place for place, _ in f.search.sorts.values())),
    ),
)

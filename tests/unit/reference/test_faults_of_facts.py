"""Each fact that a profile states of a target's behaviour has at least two faults, and each of its words has one.

`FAULTS` is a line for each word, `fact = word: faults`; a fault is seeded in a target whose profile states that word.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_type_hints

import pytest
from msgspec import Meta

from conformance.engine.in_process import merge_patch
from conformance.profile import behavior
from conformance.profile.facts import declarations
from conformance.reference.registry import Fault, faults
from conformance.runner.embedded_reference import bundled_profiles

FAULTS = """
authorization.scheme = required: F390 F391 F392 F842
authorization.scheme = optional: F470
authorization.scheme_case = any: F393 F394
authorization.scheme_case = exact: F472
authorization.key_case = sensitive: F980
authorization.key_case = any: F981 F982
authorization.public = ignored: F395 F396 F397
authorization.public = checked: F473
bodies.unknown_members = ignored: F400 F401 F402
bodies.unknown_members = refused: F475 F476
bodies.unknown_members = kept: F477
bodies.media_types = *: F403 F404 F479
bodies.absent_media_type = accepted: F405
bodies.absent_media_type = refused: F480
bodies.max_bytes = *: F406 F407 F408
bodies.max_depth = *: F409 F410
idempotency.format = *: F336 F338 F340 F484 F485 F486
idempotency.kept = *: F330 F331 F332 F333 F334 F481 F483 F810 F811 F812
idempotency.namespace = *: F341 F342 F343 F344 F494 F495 F496 F497 F498 F813
idempotency.in_flight = waits: F345 F346 F347
idempotency.in_flight = conflict: F499 F500
idempotency.other_format = refused: F337 F339 F487
idempotency.other_format = accepted: F489 F490
idempotency.case = insensitive: F335
idempotency.case = sensitive: F488
idempotency.written = *: F491 F492
search.page_size_above = refused: F300
search.page_size_above = clamped: F501
search.page_size_below = refused: F301
search.page_size_below = clamped: F502
search.past_the_end = empty: F302 F303 F819
search.past_the_end = refused: F504
search.past_the_end = not_found: F503
search.page_max = *: F303 F897
search.empty_q = refused: F304 F305
search.empty_q = everything: F505
search.empty_q = nothing: F506
search.q_max = *: F306 F307
search.unknown_category = empty: F308 F309
search.unknown_category = ignored: F507
search.unknown_category = refused: F508
search.unknown_category = not_found: F509
search.unknown_merchant = empty: F310 F311 F818
search.unknown_merchant = ignored: F510
search.unknown_merchant = not_found: F511
search.unknown_merchant = refused: F512
search.unknown_parameter = ignored: F312 F313
search.unknown_parameter = refused: F513
search.sorts = *: F316 F321 F322 X212
search.locales = *: F315 F317
search.markets = *: F314 F515
search.unlisted = refused: F314 F315 X221
search.unlisted = ignored: F514 F515
search.stable_sort = *: F318 F319 F320
search.cursor = *: F450 F451 F453 F455
search.cursor_parameter = *: F452 F454
transitions.status = *: F412 F413 F516
transitions.leads_to = *: F414 F415 F416 F417 F822 F849
tenancy.status = 404: F418 F419
tenancy.status = 403: F517
tenancy.installation_in_identity = *: F446 F447
tenancy.installation_in_readiness = *: F446 F447
answers.fresh_headers = *: F440 F441 F442
answers.further_members = never: F443 F444
hosted.unknown_ticket_status = 404: F387 F388
hosted.unknown_ticket_status = 400: F518
hosted.unknown_ticket_status = 401: F519
hosted.unknown_ticket_status = 403: F520
hosted.ticket_lifetime_s = *: F806 F807
effects.absent = *: F433 F434 F435 F439 F482
effects.within_s = *: F478 F482
effects.http = *: F430 F431 F432 F436 F437
idempotency.retention_s = *: F592 F593
rate_limit.limit = *: F200 F201
rate_limit.window_s = *: F201 F599
rate_limit.tolerance = *: F594 F595
rate_limit.per = key: F202
rate_limit.per = installation: F597
rate_limit.per = operation: F598
rate_limit.retry_after = True: F203 F204
rate_limit.retry_after = False: F596
rate_limit.recovery_s = *: F110 F206
rate_limit.run_limit = *: F590 F591
rate_limit.run_window_s = *: F590 F591
oauth.other_client_redirect_uri = *: F384 F385 F386
oauth.clock_behind_s = *: F366 F367
oauth.clock_ahead_s = *: F368 F369
oauth.proof_reuse = retry: F370 F371 F372
oauth.proof_reuse = refused: F526
oauth.proof_reuse = accepted: F527
oauth.nonce = never: F381 F382
oauth.nonce = required: F528
oauth.code_lifetime_s = *: F375 F376 F377 F471 F820
oauth.failure_burns_code = False: F373 F374 F823 F844
oauth.failure_burns_code = True: F529
oauth.failure_burns_code = ['verifier', 'redirect_uri', 'client', 'proof']: F874 F875
oauth.status.missing_proof = 401: F360
oauth.status.missing_proof = 400: F521
oauth.status.bad_proof = 401: F361
oauth.status.bad_proof = 400: F522
oauth.status.unknown_client = 400: F362
oauth.status.unknown_client = 401: F523
oauth.status.bad_grant = 400: F363 F365
oauth.status.bad_grant = 401: F524
oauth.status.bad_body = 400: F364
oauth.status.bad_body = 401: F525
oauth.token_type_value = *: F389 F474
oauth.token_lifetime_s = *: F378 F379 F380
"""
"""`*`: any value, of a fact that is not a word of a list."""
OTHERS = """
authorization.format
idempotency.carrier idempotency.name idempotency.pointer idempotency.missing_key idempotency.volatile
rate_limit.provoke rate_limit.credential rate_limit.max_requests rate_limit.prepare rate_limit.restore
search.query search.page_base search.page_size_min search.page_size_max search.item_id search.item_category
search.item_merchant search.category search.merchant
transitions.operation transitions.fixture transitions.after transitions.single_winner
hosted.tickets_single_use hosted.projection_shared
effects.pointer effects.operation effects.path effects.step
oauth.client_id oauth.redirect_uri oauth.other_client_id oauth.other_redirect_uri oauth.algorithms oauth.token_url
oauth.clock_allowance_s oauth.codes_single_use oauth.code_verifier oauth.code oauth.client_id_member
oauth.redirect_uri_member oauth.access_token oauth.token_type oauth.expires_in
"""
"""The facts that say where something is, and those whose requirements stand in the catalogue of faults."""
TABLES = {
    "authorization": behavior.Authorization,
    "answers": behavior.Answers,
    "bodies": behavior.Bodies,
    "idempotency": behavior.Idempotency,
    "search": behavior.Search,
    "transitions": behavior.Transition,
    "tenancy": behavior.Tenancy,
    "hosted": behavior.Hosted,
    "effects": behavior.Effect,
    "rate_limit": behavior.RateLimit,
    "oauth": behavior.OAuth,
    "oauth.status": behavior.ExchangeStatuses,
}


def rows() -> Iterator[tuple[str, str, list[str]]]:
    """(fact, word, ids)"""
    for line in FAULTS.strip().splitlines():
        statement, _, ids = line.partition(":")
        fact, word = statement.split(" = ")
        yield fact, word, ids.split()


def words(hint: Any) -> tuple[Any, ...]:
    """The words of an enumeration, at any depth of a type hint that is not a collection."""
    for part in get_args(hint):
        if isinstance(part, Meta):
            if "enum" in (part.extra_json_schema or {}):
                return tuple(part.extra_json_schema["enum"])
        elif found := words(part):
            return found
    return ()


def facts_of_behaviour() -> Mapping[str, tuple[str, ...]]:
    """Each fact of the tables -> its words; none where it has no list of them."""
    found = {}
    for table, kind in TABLES.items():
        hints = get_type_hints(kind, include_extras=True)
        for declared in declarations(kind):
            is_list = declared.attribute in ("kept", "namespace", "algorithms")
            of_a_list = () if is_list else words(hints[declared.attribute])
            found[".".join((table, *declared.path))] = tuple(map(str, of_a_list))
    return found


def stated_values(document: Any, fact: str) -> list[Any]:
    """The values of a fact in a profile; of arrays of tables, those of each."""
    values = [document]
    for name in fact.split("."):
        tables = [table for value in values for table in (value if isinstance(value, list) else [value])]
        if name == fact.split(".")[-1] and fact.startswith("effects."):
            tables = [sign for by_name in tables for signs in by_name.values() for sign in _tables(signs)]
        values = [table[name] for table in tables if isinstance(table, dict) and name in table]
    return values


def _tables(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def profile_of(fault: Fault) -> dict[str, Any]:
    document = tomllib.loads((bundled_profiles() / "reference.toml").read_text(encoding="utf-8"))
    return merge_patch(document, fault.profile)


def test_every_fact_of_behaviour_is_in_one_of_the_lists() -> None:
    """So that a new fact is not without faults because nobody thought of them."""
    listed = [*{fact for fact, _, _ in rows()}, *OTHERS.split()]
    assert sorted(listed) == sorted(facts_of_behaviour().keys() - {"oauth.status"})


def test_every_fact_has_two_faults() -> None:
    numbers = Counter[str]()
    for fact, _, ids in rows():
        numbers[fact] += len(ids)
    assert {fact for fact, number in numbers.items() if number < 2} == set()


def test_every_word_has_a_fault() -> None:
    missing = []
    permissive = {  # a word that forbids nothing has none
        "answers.further_members = allowed",
        "rate_limit.per = address",  # a run has one address
    }
    for fact, options in facts_of_behaviour().items():
        with_fault = {word for name, word, _ in rows() if name == fact}
        missing += [f"{fact} = {word}" for word in options if with_fault and word not in with_fault]
    assert set(missing) - permissive == set()


@pytest.mark.parametrize(("fact", "word", "ids"), rows(), ids=str)
def test_a_fault_is_seeded_where_the_word_is_stated(fact: str, word: str, ids: list[str]) -> None:
    for name in ids:
        values = stated_values(profile_of(faults()[name]), fact)
        assert values, (name, fact)
        assert word == "*" or word in map(str, values), (name, values)

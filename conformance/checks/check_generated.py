"""Properties: generated requests, bounded in number, from the run's seed, shrunk to the smallest violation.

They apply the general laws to unforeseen requests; the invariants judge every answer too.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Hashable
from functools import partial
from typing import Any, Final

from conformance.checks.support.case import Case
from conformance.checks.support.case_sampling import part_by_schema
from conformance.checks.support.crisp_formats import format_validator
from conformance.checks.support.forged_secrets import changes_label_only, end_of_secret
from conformance.checks.support.invalid_bodies import fixed_places, refusals, schema_of
from conformance.checks.support.properties import draw, explore, seed_of
from conformance.checks.support.registry import check
from conformance.checks.support.replays import KEY_ENDS, PLAIN_REPLAY, expect_same, fix_proof_id, replay
from conformance.checks.support.sample_body import SampleBody
from conformance.checks.support.schema_bounds import BoundViolation, last_upper_bound, values_beyond_bounds
from conformance.checks.support.schema_breaks import PlaceSchemas, draw_edits, select_edits, trim_texts
from conformance.checks.support.signals import Inconclusive, Violation
from conformance.checks.support.stored_values import StoredValues
from conformance.checks.support.strategies import Edit, ExtraInputs
from conformance.checks.support.survival import expect_survival, require_other_alone
from conformance.checks.support.unknown_ids import may_exist
from conformance.checks.support.value_pools import SMALL_SIZE, Pool
from conformance.client.request import Request, is_well_formed
from conformance.core.key_change import KeyChange

_MAX_BOUNDS = 60
_KEY_ATTEMPTS = 50
"""Keys generated to find one with a well-formed neighbour."""
_BASE64 = re.compile("[A-Za-z0-9+/]+")
_MARK = re.compile("[^A-Za-z0-9]")
"""Behind it the part of a key may begin that is base64."""
_TO_CROCKFORD = str.maketrans("oil", "011", "-")
_TO_BASE64 = str.maketrans("-_", "+/")
_PLACE_OF_VERSION = 14
_FIXTURE_SHARE = 3
"""Properties whose examples consume fixtures have this share of the examples."""


@check("STA-1")
async def odd_but_harmless_company_changes_no_status(case: Case) -> None:
    """With any unknown headers and query parameters the answer has a declared status."""
    from conformance.checks.support.strategies import extra_inputs

    request = await case.arrange()

    async def law(inputs: ExtraInputs) -> None:
        headers, query = inputs
        odd = request.with_fresh_key().with_query(**query)
        for name, text in headers.items():
            odd = odd.with_header(name, text)
        expect_survival(
            case,
            "a request with unknown headers and parameters",
            await case.send_with_retry(odd, "unknown headers and parameters"),
            oversize=False,
        )

    await explore(case, Pool(ExtraInputs, extra_inputs), law, examples=case.examples // 8, show=_company_in_words)


@check("BODY-5")
async def no_generated_body_breaks_the_answer(case: Case) -> None:
    """A generated JSON body is accepted or refused with a declared status."""
    from conformance.checks.support.strategies import hostile_edits, places

    request = await case.arrange()
    fixed = fixed_places(case)
    free = tuple(where for where in places(request.document) if where not in fixed)

    async def law(edit: Edit) -> None:
        content = edit.apply(request.document)
        answer = await case.send_with_retry(request.with_raw_body(content).with_fresh_key(), "generated body")
        try:
            expect_survival(case, "a generated body", answer, oversize=False)
        except Violation:  # an earlier body may have changed the state of the resource
            await require_other_alone(case, answer, "a generated body broke the answer", request)
            raise

    edits = Pool(Edit, hostile_edits, (free,), SMALL_SIZE)
    # few of them: what breaks parsers is sent by name, and NUL to each operation
    await explore(case, edits, law, examples=case.examples // 4, show=lambda edit: edit.words)


@check("BODY-4")
async def a_generated_body_that_breaks_its_schema_is_answered_400(case: Case) -> None:
    """A body that violates the profile's schema at any place is refused."""
    schema, name = schema_of(case), case.operation.request_schema
    case.need(schema is not None, f"schemas.{name}", "a schema of the body is needed")
    request = await case.arrange()
    case.require_applicable(isinstance(request.body, dict), "the profile's body is not a JSON object")
    _expect_fit(case, name, request)

    places = PlaceSchemas(request.body, schema, fixed_places(case), closed=_refuses_unknown_members(case))
    edits = await _breaking_edits(case, request, places)
    case.require_case(edits, f"no change of a good body breaks {name}")

    async def law(edit: Edit) -> None:
        bad = request.with_body(edit.change(request.body)).with_fresh_key()
        await case.refusal(bad, refusals(case), f"a body that breaks {name}", any_refusal=True)

    await explore(
        case, edits, law, examples=len(edits), show=lambda edit: edit.words,
        final_check=lambda: case.reprove_control(request),
    )  # fmt: skip


async def _breaking_edits(case: Case, request: Request, places: PlaceSchemas) -> list[Edit]:
    """Edits after which the body is against the profile's schema, stored ones if there are any.

    Not those that fit where every text is trimmed first, as many implementations do.
    """
    seed = case.runtime.settings.seed
    stored = StoredValues(Edit, places.origin)
    edits = stored.load(seed)
    if edits is None:
        edits = await draw(partial(stored.load_or_generate, seed, partial(draw_edits, places)))
    name, problem = request.operation.request_schema, case.runtime.validators.problem

    def kind(edit: Edit) -> Hashable:
        found = places.kind(request.document, edit)
        if found is None or places.breaks_format(edit):
            return found
        document = request.with_body(edit.change(request.body)).document
        return found if problem(name, document) and problem(name, trim_texts(document)) else None

    return select_edits(edits, kind, max(1, case.examples // 2 - 1), seed_of(case))


def _expect_fit(case: Case, name: str, request: Request) -> None:
    if problem := case.runtime.validators.problem(name, request.document):
        message = f"the profile's body of {case.operation.id} breaks its own schema {name}: {problem}"
        raise Inconclusive(message, cause=f"schemas.{name}")


@check("BODY-4")
async def nothing_beyond_a_bound_is_accepted(case: Case) -> None:
    """Values just beyond each bound of the schema (length, number, count) are refused.

    Operations with one schema share the bounds, but for the last upper one, with which BODY-8 asks each of them.
    """
    schema, name = schema_of(case), case.operation.request_schema
    case.need(schema is not None, f"schemas.{name}", "a schema of the body is needed")
    request = await case.arrange()
    violations = values_beyond_bounds(request.body, schema, fixed_places(case), request.scope.values())
    bounds = [example for example in violations if _is_violation(case, request, example)][:_MAX_BOUNDS]
    _expect_fit(case, name, request)
    case.require_case(bounds, f"{name} has no bound that a good body keeps")
    part, exposed = part_by_schema(bounds, case.profile, case.operation), last_upper_bound(bounds)
    for example in (*part, *([exposed] if exposed is not None and exposed not in part else ())):
        bad = request.with_body(example.body).with_fresh_key()
        await case.refusal(
            bad, refusals(case), f"a body beyond {example.bound} of {name} at {example.where}", any_refusal=True
        )
    await case.reprove_control(
        request if case.operation.auth == "api_key" else await case.arrange()
    )  # a code may be used up


def _is_violation(case: Case, request: Request, example: BoundViolation) -> bool:
    if example.bound == "additionalProperties" and not _refuses_unknown_members(case):
        return False
    body = request.with_body(example.body).document
    if example.bound == "format":
        return not format_validator(schema_of(case)).is_valid(body)
    name, problem = request.operation.request_schema, case.runtime.validators.problem
    if not problem(name, body):
        return False
    return not example.bound.startswith("pattern") or bool(problem(name, trim_texts(body)))


def _refuses_unknown_members(case: Case) -> bool:
    """Whether what the profile says of unknown members leaves it to the schemas to allow them."""
    return case.profile.bodies.unknown_members in ("", "refused")


@check("IDEM-1", rests_on=PLAIN_REPLAY)
async def a_generated_call_is_repeated_alike(case: Case) -> None:
    """For any valid body the same call again gets the same answer."""
    case.need_unlimited_fixtures()
    sample = SampleBody(await case.arrange(), schema_of(case), fixed_places(case))

    async def law(body: Any) -> None:
        request = fix_proof_id(await case.arrange())
        first = await case.send(sample.adapt(body, request), "generated call")
        if first.ok:
            expect_same(case, first, await replay(case, first.request))

    await explore(
        case, sample.fitting, law, examples=case.examples // (2 * _FIXTURE_SHARE), show=sample.change_in_words,
        needs="the body has no member that may vary",
    )  # fmt: skip


@check("IDEM-4", rests_on=PLAIN_REPLAY)
async def a_generated_change_under_the_same_key_is_answered_409(case: Case) -> None:
    """A payload that is valid alone and differs in a meaningful leaf conflicts with the key's first payload."""
    case.need_unlimited_fixtures()
    sample = SampleBody(await case.arrange(), schema_of(case), fixed_places(case))

    async def law(body: Any) -> None:

        async def change(request: Request) -> Request:
            return sample.adapt(body, request)

        first, repeat = await case.repeat_changed(change, "generated change under the same key")
        if repeat.is_refused:
            return
        lone_answer = await case.send(await change(await case.arrange()), "generated change with a key of its own")
        if lone_answer.ok:
            message = "a changed payload under a used key was not answered 409"
            raise case.violation(message, lone_answer, first, repeat, expected="409")

    await explore(
        case, sample.meaningful, law, examples=case.examples // _FIXTURE_SHARE, show=sample.change_in_words,
        needs="the body has no member that may vary",
    )  # fmt: skip


@check("AUTH-1")
async def no_neighbour_of_a_key_is_accepted(case: Case) -> None:
    """A key with any small change is not accepted: generated ones, and its last character cut off or replaced.

    Not where the label before it is changed, as `sk_`: a service may read, and hash, what comes behind that alone.
    """
    from conformance.checks.support.strategies import key_changes

    request = await case.arrange()
    arranger = case.runtime.arranger
    key = arranger.key_of(request.credential)

    async def law(change: KeyChange) -> None:
        other = change.apply(key)
        if changes_label_only(key, other):
            return
        if any(_spelled_alike(other, existing_key) for existing_key in arranger.keys):
            return
        bad = arranger.with_changed_key(request, change).with_fresh_key()
        message = f"{case.operation.id} with a neighbour of the key was not answered 401"
        await case.refusal(bad, {401}, f"the key {request.credential!r}, {change.words}", message=message)

    end = end_of_secret(key) if changes_label_only(key, key[:-1]) else len(key)
    await law(KeyChange("drop", 1) if end == len(key) else KeyChange("delete", end - 1))
    last = "7" if key[end - 1] in "Aa" else "A"  # not the other case, and as base64 another one
    await law(KeyChange("replace", end - 1, last))
    await explore(
        case, Pool(KeyChange, key_changes, (len(key),)), law, examples=max(1, case.examples // 2 - 2),
        show=lambda change: f"the key {request.credential!r}, {change.words}",
        final_check=lambda: case.reprove_control(request),
    )  # fmt: skip


def _spelled_alike(first: str, second: str) -> bool:
    """Whether two keys are equal but for case and hyphens, in Crockford's base32, or as base64 that is decoded."""
    if first.casefold().translate(_TO_CROCKFORD) == second.casefold().translate(_TO_CROCKFORD):
        return True
    starts = {0, *(mark.end() for mark in _MARK.finditer(second))}
    return any(first[:at] == second[:at] and _decode_base64(first[at:]) == _decode_base64(second[at:]) for at in starts)


def _decode_base64(key: str) -> bytes:
    """The bytes of a lenient base64 decoder (RFC 4648), which ignores spare bits and text after the padding."""
    text = key.partition("=")[0].translate(_TO_BASE64)
    if not _BASE64.fullmatch(text):
        return key.encode()
    return base64.b64decode(text[: len(text) - (len(text) % 4 == 1)] + "=" * (-len(text) % 4 % 3))


@check("NF-1", on=("api-key path", "catalog path"))
async def a_generated_id_names_nothing(case: Case) -> None:
    """A generated id is refused, in any format."""
    from conformance.checks.support.strategies import unknown_ids

    request = await case.arrange()
    name = case.operation.path_parameters[0]
    known_id = request.path[name]

    async def law(value: str) -> None:
        if may_exist(value, known_id):
            return
        unknown = request.with_path(**{name: value}).with_fresh_key()
        answer = await case.send_with_retry(unknown, "generated id", request)
        expect_survival(case, "a generated id", answer, oversize=False)
        if answer.ok and answer.data != []:  # PUB-3 judges an empty list
            raise case.violation("a generated id was answered 200", answer, expected="404")

    ids = Pool(str, unknown_ids, (len(known_id), known_id.isdigit()), SMALL_SIZE)
    await explore(
        case, ids, law, examples=max(1, case.examples // 4), show=lambda text: f"the id {_as_json(text)}",
        final_check=lambda: case.reprove_control(request),
    )  # fmt: skip


@check("SRCH-3", cases={"page": "page", "pageSize": "pageSize"})
async def a_generated_text_is_no_integer(case: Case, name: str) -> None:
    """A page or pageSize that no parser reads as an integer is answered 400."""
    from conformance.checks.support.strategies import no_integers

    request = await case.arrange()

    async def law(text: str) -> None:
        await case.refusal(
            request.with_query(**{name: text}), {400}, f"{name} that is not an integer", any_refusal=True
        )

    await explore(
        case, Pool(str, no_integers), law, examples=case.examples, show=lambda text: f"{name} {_as_json(text)}",
        final_check=lambda: case.reprove_control(request),
    )  # fmt: skip


@check("SRCH-7")
async def a_generated_search_is_answered(case: Case) -> None:
    """Any search text gets a declared status; the numbers of accepted and refused ones are recorded."""
    from conformance.checks.support.strategies import search_words

    request = await case.arrange()
    outcomes: list[bool] = []

    async def law(text: str) -> None:
        answer = await case.send_with_retry(request.with_query(q=text), "generated search")
        expect_survival(case, "a generated search", answer, oversize=False)
        outcomes.append(answer.ok)

    await explore(case, Pool(str, search_words), law, examples=case.examples, show=lambda text: f"q {_as_json(text)}")
    case.note(f"{sum(outcomes)} of {len(outcomes)} generated searches were answered 200")


_PLACES: Final = {"first": 0, "last": -1, "generated": None}


@check("IDEM-10", on="createInstallationWebhook", deep_on="idempotent", cases=_PLACES, rests_on=KEY_ENDS)
async def keys_that_differ_are_different_calls(case: Case, position: int | None) -> None:
    """Two well-formed keys that differ in one character are different calls."""
    from conformance.checks.support.strategies import neighbour_of, positions

    where = "first" if position == 0 else "last"

    async def law(at: int) -> None:
        request, other = await case.arrange(), await case.arrange()
        for _ in range(_KEY_ATTEMPTS):
            key = request.key or ""
            almost = neighbour_of(key, at) if key else ""
            if almost != key and is_well_formed(case.profile.idempotency, almost) and not _is_version(case, key, at):
                break
            request = request.with_fresh_key()
        else:
            return
        first = await case.control(request, "a well-formed key")
        second = await case.send(other.with_key(almost), "a key that is almost the same")
        if not second.ok:
            await case.control(other.with_fresh_key())
            raise case.violation("two different keys were treated as equal", first, second, expected="200")

    if position is not None:
        await law(position)
        case.require_case(case.answers, f"no key of the stated format has another {where} character")
    else:
        await explore(
            case,
            Pool(int, positions),
            law,
            examples=case.examples // 2,
            show=lambda at: f"another character at place {at + 1} of the key",
        )
        case.require_case(case.answers, "no key of the stated format has a neighbour")


def _is_version(case: Case, key: str, at: int) -> bool:
    """Whether the version of a UUID is at that place (RFC 9562): a target may take those of one version only."""
    idempotency = case.profile.idempotency
    return idempotency is not None and idempotency.format == "uuid" and at % len(key) == _PLACE_OF_VERSION


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _company_in_words(inputs: ExtraInputs) -> str:
    headers, query = (", ".join(f"{name} = {_as_json(text)}" for name, text in pairs.items()) for pairs in inputs)
    parts = [*([f"the headers {headers}"] if headers else []), *([f"the parameters {query}"] if query else [])]
    return "; ".join(parts) or "nothing more"
